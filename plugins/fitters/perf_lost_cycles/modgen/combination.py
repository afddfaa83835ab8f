"""The last step of `modgen`: the tuples' forms of each category combined into one, judged on all measured points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_lost_cycles.modgen.forms import FormList, union
from perf_lost_cycles.modgen.scores import TIE, Grid, criterion, score_forms


Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Leaving one out favours a needless term when its F statistic is above about 2, one time in six. With this it must be
# above 8, one time in two hundred, so that some dozens of forms can be tried.
_CHANCE = 6.0

MOST_TERMS = 16  # two products of three forms of two terms each


@dataclass(frozen=True)
class Steps:
    """How the tuples' forms of all categories were combined; one entry for each step of each category, in order."""

    category: Ints  # increasing
    form: Ints  # the tuples' form that was taken or added; -1 where a term was dropped
    n_tuples: Ints  # how many tuples chose it
    result: Ints  # the category's form after the step
    score: Floats  # criterion of the result on all points, without what longer forms are held back by


def on_all_points(grid: Grid, forms: FormList, pairs: Ints, name: str) -> Floats:
    """Criterion of categories with forms (2, B) on all points; infinite where these do not determine a fit."""
    every = np.arange(grid.values.shape[1])[None]
    scores = score_forms(grid, forms.forms, every, (pairs[1], np.zeros(pairs.shape[1], dtype=np.int64), pairs[0]))
    return np.where(scores.rank == scores.n_terms, criterion(scores, name), np.inf)


def held_back(scores: Floats, n_terms: Ints, n_points: int, name: str) -> Floats:
    """Scores by which longer forms compete: with leave-one-out errors they must be better by more than chance."""
    chance = _CHANCE if name == "loo" else TIE
    return scores * (1.0 + chance * n_terms / n_points)


def combine(grid: Grid, tuple_forms: Ints, forms: FormList, name: str) -> tuple[Steps, Ints]:
    """Combine the tuples' forms of each category.

    Each category starts with the form that fits all points best; then that form is added that helps most, while one
    does; then terms are dropped without which the points are predicted no worse.
    """
    n_categories, n_points = grid.values.shape
    tuple_index, category = np.nonzero(tuple_forms >= 0)
    n_forms = len(forms.forms)
    keys, counts = np.unique(category * n_forms + tuple_forms[tuple_index, category], return_counts=True)
    category, form = np.divmod(keys, n_forms)
    scores = on_all_points(grid, forms, np.stack([category, form]), name)
    judged = held_back(scores, forms.sizes()[form], n_points, name)
    order = np.lexsort((form, -counts, judged, category))
    category, form, counts = category[order], form[order], counts[order]
    scores, judged = scores[order], judged[order]
    first = _leaders(category)
    chosen, best = np.full(n_categories, -1, dtype=np.int64), np.full(n_categories, np.inf)
    chosen[category[first]], best[category[first]] = form[first], judged[first]
    steps = [(category[first], form[first], counts[first], form[first], scores[first])]
    most = min(MOST_TERMS, n_points // 2)
    open_ = np.ones(len(form), dtype=np.bool_)
    while open_.any():
        rows = np.flatnonzero(open_)
        pairs = zip(chosen[category[rows]].tolist(), form[rows].tolist(), strict=True)
        sums = np.array([forms.index(union([forms.forms[a], forms.forms[b]])) for a, b in pairs], dtype=np.int64)
        allowed = (sums != chosen[category[rows]]) & (forms.sizes()[sums] <= most)
        open_[rows[~allowed]] = False
        rows, sums = rows[allowed], sums[allowed]
        scores = on_all_points(grid, forms, np.stack([category[rows], sums]), name)
        judged = held_back(scores, forms.sizes()[sums], n_points, name)
        order = np.lexsort((judged, category[rows]))
        lead = order[_leaders(category[rows][order])]
        lead = lead[judged[lead] < best[category[rows[lead]]]]
        joined = category[rows[lead]]
        chosen[joined], best[joined] = sums[lead], judged[lead]
        steps.append((joined, form[rows[lead]], counts[rows[lead]], sums[lead], scores[lead]))
        open_ &= np.isin(category, joined)
    steps += _shorten(grid, forms, chosen, name)
    flat = [np.concatenate(column) for column in zip(*steps, strict=True)]
    return Steps(*(column[np.argsort(flat[0], kind="stable")] for column in flat)), chosen


def _shorten(grid: Grid, forms: FormList, chosen: Ints, name: str) -> list[tuple[Any, ...]]:
    """Drop the term without which a category does best, while it does no worse; ``chosen`` is updated."""
    steps: list[tuple[Any, ...]] = []
    left = np.flatnonzero(chosen >= 0)
    best = np.full(len(chosen), np.inf)
    best[left] = on_all_points(grid, forms, np.stack([left, chosen[left]]), name)
    while len(left):
        shorter = [
            (category, forms.index(tuple(term for term in form if term != dropped)))
            for category in left.tolist()
            if len(form := forms.forms[chosen[category]]) > 1
            for dropped in form
        ]
        if not shorter:
            break
        category, form = np.array(shorter, dtype=np.int64).T
        scores = on_all_points(grid, forms, np.stack([category, form]), name)
        order = np.lexsort((scores, category))
        lead = order[_leaders(category[order])]
        lead = lead[scores[lead] <= best[category[lead]] * (1.0 + TIE)]
        left = category[lead]
        chosen[left], best[left] = form[lead], scores[lead]
        none = np.zeros(len(left), dtype=np.int64)
        steps.append((left, none - 1, none, form[lead], scores[lead]))
    return steps


def _leaders(category: Ints) -> Ints:
    """Where each category begins, in order of categories."""
    return np.flatnonzero(np.diff(category, prepend=-1))
