"""The univariate step of `modgen`: the best default model of each category along each line of one factor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_lost_cycles.modgen.forms import Form, FormList
from perf_lost_cycles.modgen.scores import TIE, Grid, Scores, criterion, weighted_r2
from perf_statistics.least_squares.batched import fit_subsets


Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# A line of fewer levels fits a constant and one function exactly and says nothing about which one.
FEWEST_LEVELS = 3


@dataclass(frozen=True)
class Lines:
    """Lines of points along one factor, all other factors held."""

    factor: int
    points: tuple[Ints, ...]  # points of each line, by the factor's value
    through: Ints  # the line on which each point lies; -1 where it has too few levels
    too_short: int  # lines left out for that


def lines_of(points: Sequence[Floats], factor: int) -> Lines:
    """The lines along a factor that have enough levels."""
    others = [values for k, values in enumerate(points) if k != factor]
    group = np.unique(np.stack(others, axis=1), axis=0, return_inverse=True)[1].ravel() if others else None
    group = np.zeros(len(points[factor]), dtype=np.int64) if group is None else group
    order = np.lexsort((points[factor], group))
    runs = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
    kept = [run for run in runs if len(run) >= FEWEST_LEVELS]
    through = np.full(len(group), -1, dtype=np.int64)
    for number, run in enumerate(kept):
        through[run] = number
    return Lines(factor, tuple(kept), through, len(runs) - len(kept))


def univariate_forms(
    grid: Grid, lines: Lines, defaults: Sequence[Sequence[tuple[Form, ...]]], forms: FormList, name: str
) -> tuple[Ints, Floats]:
    """The best default model of each category on each line, and its R^2 (number of lines, K)."""
    n_categories = len(grid.values)
    chosen = np.full((len(lines.points), n_categories), -1, dtype=np.int64)
    r2 = np.full(chosen.shape, np.nan)
    sets: dict[tuple[Form, ...], list[int]] = {}
    for category, of_category in enumerate(defaults):
        sets.setdefault(of_category[lines.factor], []).append(category)
    lengths = np.array([len(points) for points in lines.points])
    of_factor, stride = grid.functions[lines.factor], grid.terms.strides[lines.factor]
    for length in np.unique(lengths).tolist():
        same_length = np.flatnonzero(lengths == length)
        rows = np.stack([lines.points[line] for line in same_length.tolist()])
        root = grid.root_weight[rows]
        designs = of_factor[rows] * root[:, :, None]
        for models, members in sets.items():
            values = grid.values[np.array(members)[None, :, None], rows[:, None, :]]
            targets = (values * root[:, None, :]).reshape(-1, length)
            group = np.repeat(np.arange(len(same_length)), len(members))
            score, squares = _judge_models(designs, group, targets, [[t // stride for t in m] for m in models], name)
            best = score.argmin(axis=1)
            has_model = np.isfinite(score.min(axis=1))
            index = np.array([forms.index(model) for model in models])
            place = np.ix_(same_length, np.array(members))
            chosen[place] = np.where(has_model, index[best], -1).reshape(len(same_length), -1)
            kept = np.where(has_model, squares[np.arange(len(best)), best], np.nan)
            r2[place] = weighted_r2(kept.reshape(len(same_length), -1), values, root[:, None, :])
    return chosen, r2


def _judge_models(
    designs: Floats, group: Ints, targets: Floats, models: list[list[int]], name: str
) -> tuple[Floats, Floats]:
    """Criterion and squared residuals of every series with every model (B, H); simple models win ties."""
    score, squares = np.empty((len(targets), len(models))), np.empty((len(targets), len(models)))
    total = np.einsum("bn,bn->b", targets, targets)
    sizes = np.array([len(model) for model in models])
    for size in np.unique(sizes).tolist():
        of_size = np.flatnonzero(sizes == size)
        fits = fit_subsets(designs, group, targets, [models[k] for k in of_size.tolist()])
        rank, shape = fits.rank[group], fits.sum_of_squares.shape
        judged = criterion(
            Scores(
                fits.sum_of_squares.ravel(), fits.leave_one_out.ravel(), np.repeat(total, len(of_size)), rank.ravel(),
                np.full(rank.size, size), np.full(rank.size, targets.shape[1]),
            ),
            name,
        ).reshape(shape)  # fmt: skip
        score[:, of_size] = np.where(rank == size, judged, np.inf)
        squares[:, of_size] = fits.sum_of_squares
    # Of equal scores the shortest; the factor is far below any difference between fits that are not exact.
    return score * (1.0 + TIE * sizes), squares
