"""The multivariate step of `modgen`: for each cross-tuple a sum or product of its lines' forms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perf_lost_cycles.modgen.combination import held_back, on_all_points
from perf_lost_cycles.modgen.forms import Candidate, FormList, candidates
from perf_lost_cycles.modgen.lines import Lines
from perf_lost_cycles.modgen.scores import TIE, Grid, criterion, score_forms, weighted_r2


Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Below 80 tuples none is passed over: with 64 of real data, doing so made predictions worse by one part in thirteen.
_SHARE_OF_TUPLES = 0.025


def tuple_forms(
    grid: Grid, lines: Sequence[Lines], instances: Sequence[Ints], tuples: Ints, forms: FormList, name: str
) -> tuple[Ints, Floats]:
    """The best combination for each tuple and category, and its R^2 (T, K)."""
    univariate = np.stack(
        [of_factor[line.through[tuples]] for of_factor, line in zip(instances, lines, strict=True)], axis=2
    )
    usable = common(np.all(univariate >= 0, axis=2), univariate)
    best_forms, r2 = np.full(usable.shape, -1, dtype=np.int64), np.full(usable.shape, np.nan)
    tuple_index, category = np.nonzero(usable)
    if not len(tuple_index):
        return best_forms, r2
    chosen = univariate[usable]
    _, first, kind = np.unique(_keys(chosen), return_index=True, return_inverse=True)
    kind = kind.ravel()
    full, cross, cross_forms = _numbered(
        [candidates([forms.forms[k] for k in row]) for row in chosen[first].tolist()], forms
    )
    sets = [np.unique(np.concatenate([line.points[line.through[point]] for line in lines])) for point in tuples]
    scores, r2[tuple_index, category] = _on_lines(
        grid, sets, (tuple_index, category), (full[kind], cross[kind]), cross_forms, name
    )
    best = scores.min(axis=1, keepdims=True)
    tied = (scores <= best * (1.0 + TIE)) & np.isfinite(best)
    row, way = np.nonzero(tied)
    pair, place = np.unique(category[row] * len(forms.forms) + full[kind[row], way], return_inverse=True)
    pairs = np.stack(np.divmod(pair, len(forms.forms)))
    settled = held_back(on_all_points(grid, forms, pairs, name), forms.sizes()[pairs[1]], grid.values.shape[1], name)
    everywhere = np.full(tied.shape, np.inf)
    everywhere[row, way] = settled[place.ravel()]
    decided = np.isfinite(everywhere.min(axis=1))
    best_forms[tuple_index, category] = np.where(decided, full[kind, everywhere.argmin(axis=1)], -1)
    return best_forms, r2


def _on_lines(
    grid: Grid, sets: Sequence[Ints], jobs: tuple[Ints, Ints], ways: tuple[Ints, Ints], cross_forms: FormList, name: str
) -> tuple[Floats, Floats]:
    """Criterion of each candidate of B jobs on the points of its tuple (B, W), and R^2 of the best (B,).

    Jobs are pairs of tuple and category; their ways (B, W) are indices of forms and of what these span on lines.
    """
    (tuple_index, category), (full, cross) = jobs, ways
    lengths = np.array([len(points) for points in sets])[tuple_index]
    scores, squares, r2 = np.full(full.shape, np.inf), np.full(full.shape, np.nan), np.empty(len(tuple_index))
    for length in np.unique(lengths).tolist():
        same_length = np.flatnonzero(lengths == length)
        used, of_set = np.unique(tuple_index[same_length], return_inverse=True)
        points, of_set = np.stack([sets[k] for k in used.tolist()]), of_set.ravel()
        for way in range(full.shape[1]):
            new = full[same_length, way] >= 0
            for earlier in range(way):
                # A candidate that spans what an earlier one spans has its score.
                same = new & (cross[same_length, earlier] == cross[same_length, way])
                copied = same_length[same]
                scores[copied, way], squares[copied, way] = scores[copied, earlier], squares[copied, earlier]
                new &= ~same
            new_jobs = same_length[new]
            fits = score_forms(grid, cross_forms.forms, points, (cross[new_jobs, way], of_set[new], category[new_jobs]))
            scores[new_jobs, way], squares[new_jobs, way] = criterion(fits, name), fits.sum_of_squares
        job_points = points[of_set]
        values = grid.values[category[same_length, None], job_points]
        r2[same_length] = weighted_r2(
            squares[same_length, scores[same_length].argmin(axis=1)], values, grid.root_weight[job_points]
        )
    return scores, r2


def common(usable: npt.NDArray[np.bool_], univariate: Ints) -> npt.NDArray[np.bool_]:
    """Tuples of each category (T, K) whose univariate forms are not rare among the tuples that can be used."""
    tuple_index, category = np.nonzero(usable)
    if not len(tuple_index):
        return usable
    _, pair, counts = np.unique(
        _keys(np.column_stack([category, univariate[tuple_index, category]])), return_inverse=True, return_counts=True
    )
    count = counts[pair.ravel()]
    most = np.zeros(usable.shape[1], dtype=np.int64)
    np.maximum.at(most, category, count)
    enough = np.minimum(most, np.floor(_SHARE_OF_TUPLES * usable.sum(axis=0)))
    is_common = usable.copy()
    is_common[tuple_index, category] = count >= enough[category]
    return is_common


def _keys(rows: Ints) -> Ints:
    """One number for each different row; numbers sort ten times as fast as rows."""
    return np.asarray(np.ravel_multi_index(tuple(rows.T), tuple(rows.max(axis=0) + 1)))


def _numbered(ways: Sequence[Sequence[Candidate]], forms: FormList) -> tuple[Ints, Ints, FormList]:
    """Candidates of each kind as indices of forms, and of what they span on lines; -1 beyond a kind's own number."""
    cross_forms, most = FormList(), max(map(len, ways))
    full, cross = np.full((len(ways), most), -1, dtype=np.int64), np.full((len(ways), most), -1, dtype=np.int64)
    for row, of_kind in enumerate(ways):
        for column, candidate in enumerate(of_kind):
            full[row, column] = forms.index(candidate.form)
            cross[row, column] = cross_forms.index(candidate.on_cross)
    return full, cross, cross_forms
