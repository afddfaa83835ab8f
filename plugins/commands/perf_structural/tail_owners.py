r"""Which input makes a result late: shares of the variance of being in the tail.

Whether a result lies above its quantile q is a number that is 0 or 1, with the variance q (1 - q). The share of an
input is what is left of that variance after averaging over everything else, Var(P(late | input)) / (q (1 - q)): Sobol's
first index, of the tail instead of the result. What the shares miss of 1 is late only by several inputs together.

Source: A. Marrel and V. Chabridon, "Statistical developments for target and conditional sensitivity analysis",
Reliability Engineering and System Safety 214, 2021, section 2.2. Conditional probabilities come from the sample in
cells of an input's own quantiles; the variance that chance gives to so many cells is taken off.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from perf_structural.correlation import Pair
from perf_structural.drawing import Formula
from perf_structural.expression import Expression, Leaf, ordered
from perf_structural.sampling import draw_together, points_for
from perfcore.base.errors import OptionError
from perfcore.stochastic import StochasticValue


Floats = npt.NDArray[np.float64]

_CELLS = 256
_MOST_NUMBERS = 2**25  # of all inputs together
_FEWEST = 1024  # points


def tail_owners(
    root: Expression,
    values: Mapping[str, StochasticValue],
    correlations: Mapping[Pair, float],
    level: float,
    samples: int | None,
    seed: int,
) -> dict[str, float]:
    """For each uncertain input its share, the largest first."""
    inputs = [node for node in ordered(root) if isinstance(node, Leaf)]
    for node in inputs:
        if not values[node.name].has_distribution:
            raise OptionError(
                f"--tail: {node.name!r} has bounds and no distribution, so nobody knows how late it makes"
            )
    points = max(_FEWEST, min(points_for(samples, len(inputs)), _MOST_NUMBERS // (len(inputs) + 1)))
    formulas = [Formula(node, values, correlations) for node in (root, *inputs)]
    result, *columns = (sample.values.ravel() for sample in draw_together(formulas, points, seed))
    # Between a number and infinity there is neither; then what is infinite is late.
    with np.errstate(invalid="ignore"):
        place = np.nan_to_num(np.quantile(result, level, method="hazen"), nan=np.finfo(np.float64).max)
    late = (result > place) if level >= 0.5 else (result < place)
    shares = {node.name: share_of_tail(late, column) for node, column in zip(inputs, columns, strict=True)}
    return dict(sorted(shares.items(), key=lambda each: -each[1]))


def share_of_tail(late: npt.NDArray[np.bool_], column: Floats) -> float:
    """Share of the variance of ``late`` (n,) that one input (n,) explains by itself, 0 to 1."""
    total = float(late.var())
    if total == 0.0:
        return 0.0
    # Half of the cells divide the last part of each end, where a tail begins.
    ends = np.geomspace(1e-3, 0.1, _CELLS // 4)
    levels = np.unique(np.concatenate([[0.0], ends, np.linspace(0.1, 0.9, _CELLS // 2), 1.0 - ends, [1.0]]))
    ranks = (np.argsort(np.argsort(column, kind="stable"), kind="stable") + 0.5) / len(column)
    cells = np.clip(levels.searchsorted(ranks) - 1, 0, len(levels) - 2)
    counts = np.bincount(cells, minlength=len(levels) - 1)
    sums = np.bincount(cells, weights=late, minlength=len(levels) - 1)
    kept = counts > 1
    rates, weights = sums[kept] / counts[kept], counts[kept] / len(late)
    between = float(weights @ (rates - late.mean()) ** 2)
    by_chance = float(weights @ (rates * (1.0 - rates) / (counts[kept] - 1)))
    return min(max((between - by_chance) / total, 0.0), 1.0)
