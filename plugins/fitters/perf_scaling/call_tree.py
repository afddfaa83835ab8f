"""Call paths as a tree, from their names alone; what belongs to no call path is a list."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

ARROW = "->"
# C++ has functions of the name operator-> and operator->*. What is looked for comes first: that is ten times as fast.
_ARROW = re.compile(r"->(?<!operator->)(?!\*)")
_OTHERS = (";", "/")  # of folded stacks and of Caliper; both occur in other names too


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
        """Values of regions with all that they call (N,)."""
        sums = np.zeros(len(self.names))
        for node in range(len(self.names) - 1, -1, -1):
            path, caller = self.paths[node], self.callers[node]
            if path >= 0:
                sums[node] = values[path] if self.is_inclusive else sums[node] + values[path]
            if caller >= 0:
                sums[caller] += sums[node]
        return sums

    def above(self, node: int) -> list[int]:
        """Callers of a region, the outermost first."""
        callers: list[int] = []
        while (node := self.callers[node]) >= 0:
            callers.append(node)
        return callers[::-1]

    def below(self, node: int) -> Iterator[int]:
        """A region and all that it calls."""
        waiting = [node]
        while waiting:
            waiting.extend(self.callees[next_one := waiting.pop()])
            yield next_one


def tree_of(names: Sequence[str], paths: Sequence[int], metric: str = "", is_inclusive: bool = False) -> CallTree:
    """One tree of paths."""
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
    """Of each name the number of the nearest that calls it, -1 for none, as of a tree of them (K,)."""
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
    """Each name as the regions from its outermost caller on."""
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
