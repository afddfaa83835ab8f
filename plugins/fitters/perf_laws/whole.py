"""How the paths of a model add up: their call trees, and which values hold those of others."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perf_laws.call_tree import CallTree, tree_of

__all__ = ["Whole", "whole_of"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

_ROUNDED = 1e-3  # sums in files are rounded


class Whole(NamedTuple):
    """How paths add up.

    Attributes
    ----------
    trees : tuple of CallTree
        One for each metric.
    metric : (K,) int
        Number of each path's tree.
    counted : (K,) bool
        Paths whose values add up to the whole of their metric.
    inclusive : bool
        Values hold what a path calls; the whole is then the sum of the outermost paths.
    """

    trees: tuple[CallTree, ...]
    metric: Ints
    counted: Booleans
    inclusive: bool

    @property
    def several(self) -> bool:
        """There are several metrics."""
        return len(self.trees) > 1

    @property
    def shares_text(self) -> str:
        """What shares of paths are shares of."""
        of = " of a metric" if self.several else ""
        if self.inclusive:
            return f"share of the outermost paths{of}, each value with all that it calls"
        return f"share of the sum of all paths{of}"


def whole_of(paths: Sequence[str], metrics: Sequence[str], value_name: str, means: Floats) -> Whole:
    """How paths add up.

    Profiles tell what was spent in a path itself (exclusive) or with all that it calls (inclusive). Values are taken
    to be inclusive where their name says so, or where every path that calls two or more others is at least their sum
    at every point, which exclusive values are only by chance.

    Parameters
    ----------
    paths : sequence of str
        Names (K).
    metrics : sequence of str
        What was measured of each; empty where it is the same.
    value_name : str
    means : (K, n) float
        NaN where a path was not measured.

    Examples
    --------
    >>> whole = whole_of(["main", "main->solve", "main->io"], [], "time_s", np.ones((3, 4)))
    >>> whole.trees[0].names, whole.inclusive
    (('main', 'solve', 'io'), False)
    """
    numbers = {name: number for number, name in enumerate(dict.fromkeys(metrics))} or {"": 0}
    metric = np.array([numbers[name] for name in metrics] or [0] * len(paths), dtype=np.int64)
    callers = np.full(len(paths), -1, dtype=np.int64)
    trees = []
    for name, number in numbers.items():
        own = np.flatnonzero(metric == number).tolist()
        tree = tree_of([_without_metric(paths[k], name) for k in own], own, name if len(numbers) > 1 else "")
        trees.append(tree)
        for path, caller in tree.fitted_callers().items():
            callers[path] = caller
    inclusive = bool((callers >= 0).any()) and (
        value_name.lower().startswith("inclusive") or _looks_inclusive(means, callers)
    )
    return Whole(
        trees=tuple(dataclasses.replace(tree, is_inclusive=inclusive) for tree in trees),
        metric=metric,
        counted=(callers < 0) if inclusive else np.ones(len(callers), dtype=np.bool_),
        inclusive=inclusive,
    )


def _looks_inclusive(means: Floats, callers: Ints) -> bool:
    """Whether every path that calls several is at least their sum, at every point where all were measured."""
    called = np.flatnonzero(callers >= 0)
    sums = np.zeros_like(means)
    np.add.at(sums, callers[called], means[called])
    several = np.bincount(callers[called], minlength=len(means)) > 1
    if not several.any():
        return False
    left = (1.0 + _ROUNDED) * means[several] - sums[several]
    return bool((left[np.isfinite(left)] >= 0.0).all())


def _without_metric(path: str, metric: str) -> str:
    """A path's name without the metric that stands behind or before it; names are joined by blanks or bars."""
    for joint in (" | ", " "):
        if metric and path.endswith(joint + metric):
            return path.removesuffix(joint + metric)
        if metric and path.startswith(metric + joint):
            return path.removeprefix(metric + joint)
    return path
