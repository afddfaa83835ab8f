"""How the paths of a model add up: their call trees, and which values hold those of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perf_scaling.call_tree import CallTree, callers_of, tree_of

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

_ROUNDED = 1e-3  # sums in files are rounded


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
        if self.inclusive:
            return f"share of the outermost paths{of}, each value with all that it calls"
        return f"share of the sum of all paths{of}"


def whole_of(paths: Sequence[str], metrics: Sequence[str], value_name: str, means: Floats) -> Whole:
    """How paths add up."""
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
    """Number of each path's metric (K,), which paths add up to the whole of it (K,), and whether values are inclusive.

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
    return metric, (callers < 0) if inclusive else np.ones(len(callers), dtype=np.bool_), inclusive


def _looks_inclusive(means: Floats, callers: Ints) -> bool:
    """Whether every path that calls several is at least their sum, at every point where all were measured."""
    called = np.flatnonzero(callers >= 0)
    sums = np.zeros_like(means)
    np.add.at(sums, callers[called], means[called])
    has_several = np.bincount(callers[called], minlength=len(means)) > 1
    if not has_several.any():
        return False
    excess = (1.0 + _ROUNDED) * means[has_several] - sums[has_several]
    return bool((excess[np.isfinite(excess)] >= 0.0).all())


def _without_metric(path: str, metric: str) -> str:
    """A path's name without the metric that stands behind or before it; names are joined by blanks or bars."""
    for joint in (" | ", " "):
        if metric and path.endswith(joint + metric):
            return path.removesuffix(joint + metric)
        if metric and path.startswith(metric + joint):
            return path.removeprefix(metric + joint)
    return path
