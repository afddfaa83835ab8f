"""Call paths as trees, from their names alone, and how their values add up."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from perf_tables.meanings import SUM_ROUNDING, whole_of_parts
from perfcore.base.arrays import Booleans, Floats, Ints

ARROW = "->"
# C++ has functions of the name operator-> and operator->*. What is looked for comes first: that is ten times as fast.
_ARROW = re.compile(r"->(?<!operator->)(?!\*)")
_OTHERS = (";", "/")  # of folded stacks and of Caliper; both occur in other names too
_ROUNDED = 1e-3  # sums in files are rounded


@dataclass(frozen=True)
class CallTree:
    """Regions and what they call; a region comes after its caller."""

    metric: str  # what was measured; empty where there is one metric
    is_inclusive: bool  # whether the value of a path holds those of the paths that it calls
    names: tuple[str, ...]  # what a region is called below its caller (N)
    full_names: tuple[str, ...]  # from the outermost caller; no two are the same
    callers: tuple[int, ...]  # -1 for the outermost
    callees: tuple[tuple[int, ...], ...]
    depths: tuple[int, ...]  # 0 for the outermost
    paths: tuple[int, ...]  # number of the region's path in the model

    @property
    def is_flat(self) -> bool:
        """Whether nothing calls anything."""
        return not any(self.depths)

    @property
    def outermost(self) -> tuple[int, ...]:
        """Regions without a caller."""
        return tuple(node for node, caller in enumerate(self.callers) if caller < 0)

    def with_callees(self, values: Floats) -> Floats:
        """Return values of regions with all that they call (N,)."""
        sums = np.zeros(len(self.names))
        for node in range(len(self.names) - 1, -1, -1):
            path, caller = self.paths[node], self.callers[node]
            if path >= 0:
                sums[node] = values[path] if self.is_inclusive else sums[node] + values[path]
            if caller >= 0:
                sums[caller] += sums[node]
        return sums

    def above(self, node: int) -> list[int]:
        """Return callers of a region, the outermost first."""
        callers: list[int] = []
        while (node := self.callers[node]) >= 0:
            callers.append(node)
        return callers[::-1]

    def below(self, node: int) -> Iterator[int]:
        """Yield a region and all that it calls."""
        waiting = [node]
        while waiting:
            waiting.extend(self.callees[next_one := waiting.pop()])
            yield next_one


def tree_of(names: Sequence[str], paths: Sequence[int], metric: str = "", is_inclusive: bool = False) -> CallTree:
    """Return the tree of paths."""
    node_of: dict[tuple[str, ...], int] = {}
    labels, full, callers, depths, node_paths = list[str](), list[str](), list[int](), list[int](), list[int]()
    for name, path, regions in zip(names, paths, _regions(names), strict=True):
        node = -1
        for depth in range(len(regions)):
            start, caller = regions[: depth + 1], node
            is_path = depth == len(regions) - 1
            node = node_of.get(start, -1)
            # Names that differ in blanks only are two paths.
            if node < 0 or (is_path and node_paths[node] >= 0):
                node = len(labels)
                node_of.setdefault(start, node)
                labels.append(regions[depth])
                full.append(ARROW.join(start))
                callers.append(caller)
                depths.append(depth)
                node_paths.append(-1)
            if is_path:
                node_paths[node], full[node] = path, name
    callees: list[list[int]] = [[] for _ in callers]
    for node, caller in enumerate(callers):
        if caller >= 0:
            callees[caller].append(node)
    return CallTree(
        metric=metric,
        is_inclusive=is_inclusive,
        names=tuple(labels),
        full_names=tuple(full),
        callers=tuple(callers),
        callees=tuple(map(tuple, callees)),
        depths=tuple(depths),
        paths=tuple(node_paths),
    )


def callers_of(names: Sequence[str]) -> Ints:
    """Return the number of the nearest caller of each name as in a tree of them, -1 for none (K,)."""
    parted = _regions(names)
    number_of: dict[tuple[str, ...], int] = {}
    for number, regions in enumerate(parted):
        number_of.setdefault(regions, number)
    callers = np.full(len(parted), -1, dtype=np.int64)
    for number, regions in enumerate(parted):
        start = regions[:-1]
        while start and start not in number_of:
            start = start[:-1]
        if start:
            callers[number] = number_of[start]
    return callers


def _regions(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return each name as the regions from its outermost caller on."""
    parted = [tuple(filter(None, map(str.strip, _ARROW.split(name)))) or (name,) for name in names]
    if any(len(regions) > 1 for regions in parted):
        return parted
    for separator in _OTHERS:
        parted = [tuple(part for part in name.split(separator) if part) or (name,) for name in names]
        first = Counter(regions[0] for regions in parted)
        # MB/s alone calls nothing; main/solve does where there is a main or a main/io.
        if any(len(regions) > 1 and first[regions[0]] > 1 for regions in parted):
            return parted
    return [(name,) for name in names]


class Whole(NamedTuple):
    """How paths add up."""

    trees: tuple[CallTree, ...]  # one for each metric
    metric: Ints  # number of each path's tree
    counted: Booleans  # paths whose values add up to the whole of their metric
    inclusive: bool  # values hold what a path calls; the whole is then the sum of the outermost paths

    @property
    def several(self) -> bool:
        """There are several metrics, programs or systems, whose values do not add up."""
        return len(self.trees) > 1

    @property
    def shares_text(self) -> str:
        """What shares of paths are shares of."""
        of = " of a metric, program or system" if self.several else ""
        return f"% of total{of} ({'inclusive' if self.inclusive else 'exclusive'})"


def whole_of(paths: Sequence[str], metrics: Sequence[str], value_name: str, means: Floats) -> Whole:
    """Return how paths add up."""
    metric, counted, inclusive = counted_paths(paths, metrics, value_name, means)
    names = list(dict.fromkeys(metrics)) or [""]
    trees = []
    for number, name in enumerate(names):
        members = np.flatnonzero(metric == number).tolist()
        bare = [_without_metric(paths[k], name) for k in members]
        trees.append(tree_of(bare, members, name if len(names) > 1 else "", inclusive))
    return Whole(tuple(trees), metric, counted, inclusive)


def counted_paths(
    paths: Sequence[str], metrics: Sequence[str], value_name: str, means: Floats
) -> tuple[Ints, Booleans, bool]:
    """Return each path's metric (K,), if it counts to the whole of that (K,), and if values are inclusive.

    Parameters are those of `whole_of`; no tree is made, so that there may be a million paths.
    """
    numbers = {name: number for number, name in enumerate(dict.fromkeys(metrics))} or {"": 0}
    metric = np.array([numbers[name] for name in metrics] or [0] * len(paths), dtype=np.int64)
    callers = np.full(len(paths), -1, dtype=np.int64)
    for name, number in numbers.items():
        members = np.flatnonzero(metric == number)
        member_callers = callers_of([_without_metric(paths[k], name) for k in members.tolist()])
        callers[members] = np.where(member_callers >= 0, members[member_callers], -1)
    inclusive = bool((callers >= 0).any()) and (
        value_name.lower().startswith("inclusive") or _looks_inclusive(means, callers)
    )
    counted = (callers < 0) if inclusive else np.ones(len(callers), dtype=np.bool_)
    whole = whole_of_parts(paths, means.T) if len(numbers) == 1 and len(paths) > 1 and (callers < 0).all() else None
    if whole is not None:
        added = np.nansum(np.delete(means, whole, axis=0), axis=0)
        is_sum = (abs(means[whole] - added) <= SUM_ROUNDING * added).all()
        counted[:] = is_sum  # else it holds what no other path does, or they overlap
        counted[whole] = not is_sum
    return metric, counted, inclusive


def _looks_inclusive(means: Floats, callers: Ints) -> bool:
    """Return whether every path that calls several is at least their sum, wherever all were measured."""
    called = np.flatnonzero(callers >= 0)
    sums = np.zeros_like(means)
    np.add.at(sums, callers[called], means[called])
    has_several = np.bincount(callers[called], minlength=len(means)) > 1
    if not has_several.any():
        return False
    excess = (1.0 + _ROUNDED) * means[has_several] - sums[has_several]
    return bool((excess[np.isfinite(excess)] >= 0.0).all())


def _without_metric(path: str, metric: str) -> str:
    """Return a path's name without the metric before or behind it; blanks or bars join them."""
    for joint in (" | ", " "):
        if metric and path.endswith(joint + metric):
            return path.removesuffix(joint + metric)
        if metric and path.startswith(metric + joint):
            return path.removeprefix(metric + joint)
    return path
