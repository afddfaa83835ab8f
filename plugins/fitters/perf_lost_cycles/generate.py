"""From measurements of categories over several factors to one form for each category.

Source: the chapter "Model Generation" of the Lost Cycles Toolkit (M. J. Clement, M. E. Crovella, T. J. LeBlanc,
W. Meira Jr. and others): a univariate model for each factor through each cross-tuple; sums and products of these,
refitted to the points of the tuple; the tuples' models combined by taking either or their sum, judged on all points.

Deviations, and why:

- A tuple is a measured point through which every factor has a line of enough levels: in a full grid these are all
  combinations of levels, in other designs those that can be judged.
- On the lines of one tuple a sum and a product may span the same functions (see `perf_lost_cycles.forms.candidates`).
  Candidates that its lines cannot separate are separated by all points.
- The tuples' forms are not combined as they come but best first: the one that fits all points best, then the one that
  improves it most, and so on. So the order of the levels does not decide. Univariate forms that hardly any tuple
  suggests together are passed over (`common`), and sums end at `MOST_TERMS`.
- At the end terms are dropped that do not earn their place: the product of a form with and one without a constant is
  part of the product that the lines suggest, since a line shows the constant of the other factors' terms.
- With leave-one-out errors a longer form must be better by more than chance (`held_back`) to be taken or added: many
  forms are tried, and of many needless terms one helps by chance. A term of the result stays as soon as the points are
  predicted better with it: of these few are tried.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from perf_formulas.formula import Formula
from perf_lost_cycles.default_models import DefaultModel, find_models, models_for
from perf_lost_cycles.forms import (
    TIE,
    Form,
    FormList,
    Grid,
    Terms,
    candidates,
    category_table,
    criterion,
    root_weights,
    score_forms,
    union,
    weighted_r2,
)
from perf_lost_cycles.modgen import CategoryFit, FactorLines, Generation, ModgenModel, Step, finite_rows
from perf_lost_cycles.options import ModgenOptions
from perf_statistics.batched import fit_subsets
from perf_statistics.goodness import finite
from perf_tables.category_table import CategoryTable
from perfcore.base import grouped
from perfcore.base.arrays import Floats, Ints
from perfcore.base.errors import DataError, listing
from perfcore.contracts import Fitter
from perfcore.data.measurements import Measurements

# A line of fewer levels fits a constant and one function exactly and says nothing about which one.
FEWEST_LEVELS = 3

# Below 80 tuples none is passed over: with 64 of real data, doing so made predictions worse by one part in thirteen.
_SHARE_OF_TUPLES = 0.025

# Leaving one out favours a needless term when its F statistic is above about 2, one time in six. With this it must be
# above 8, one time in two hundred, so that some dozens of forms can be tried.
_CHANCE = 6.0
MOST_TERMS = 16  # two products of three forms of two terms each

_R2_DIGITS = 5


@dataclass(frozen=True)
class Lines:
    """Lines of points along one factor, all other factors held."""

    factor: int
    points: tuple[Ints, ...]  # points of each line, by the factor's value
    through: Ints  # the line on which each point lies; -1 where it has too few levels
    too_short: int  # lines left out for that


def lines_of(points: Sequence[Floats], factor: int) -> Lines:
    """Return the lines along a factor that have enough levels."""
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
    """Return the best default model of each category on each line, and its R^2 (number of lines, K)."""
    chosen = np.full((len(lines.points), len(grid.values)), -1, dtype=np.int64)
    r2 = np.full(chosen.shape, np.nan)
    sets = grouped((of_category[lines.factor], category) for category, of_category in enumerate(defaults))
    lengths = np.array([len(points) for points in lines.points])
    for length in np.unique(lengths).tolist():
        same_length = np.flatnonzero(lengths == length)
        rows = np.stack([lines.points[line] for line in same_length.tolist()])
        for models, members in sets.items():
            index = np.array([forms.index(model) for model in models])
            form, line, category = np.meshgrid(index, np.arange(len(rows)), members, indexing="ij")
            scores, squares = judge(grid, forms, rows, (form.ravel(), line.ravel(), category.ravel()), name)
            # Of equal scores the shortest; the factor is far below any difference between fits that are not exact.
            scores = scores.reshape(form.shape) * (1.0 + TIE * forms.sizes()[index])[:, None, None]
            best, has_model = scores.argmin(axis=0)[None], np.isfinite(scores.min(axis=0))
            place = np.ix_(same_length, np.array(members))
            chosen[place] = np.where(has_model, index[best[0]], -1)
            kept = np.where(has_model, np.take_along_axis(squares.reshape(scores.shape), best, axis=0)[0], np.nan)
            values = grid.values[np.array(members)[None, :, None], rows[:, None, :]]
            r2[place] = weighted_r2(kept, values, grid.root_weight[rows][:, None, :])
    return chosen, r2


def judge(grid: Grid, forms: FormList, sets: Ints, which: tuple[Ints, Ints, Ints], name: str) -> tuple[Floats, Floats]:
    """Return criterion and squares of `score_forms`; the criterion is infinite where points do not determine a fit."""
    scores = score_forms(grid, forms.forms, sets, which)
    is_determined = scores.rank == forms.sizes()[which[0]]
    return np.where(is_determined, criterion(scores, name), np.inf), scores.sum_of_squares


def on_all_points(grid: Grid, forms: FormList, pairs: Ints, name: str) -> Floats:
    """Return criterion of categories with forms (2, B) on all points; see `judge`."""
    every = np.arange(grid.values.shape[1])[None]
    return judge(grid, forms, every, (pairs[1], np.zeros(pairs.shape[1], dtype=np.int64), pairs[0]), name)[0]


def held_back(scores: Floats, n_terms: Ints, n_points: int, name: str) -> Floats:
    """Return scores by which longer forms compete: with leave-one-out errors they must win by more than chance."""
    chance = _CHANCE if name == "loo" else TIE
    return scores * (1.0 + chance * n_terms / n_points)


def combine(grid: Grid, tuple_forms: Ints, forms: FormList, name: str) -> tuple[list[Step], Ints]:
    """Combine the tuples' forms of each category, and return the steps of one category after another, and its form.

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
    columns = [np.concatenate(column).tolist() for column in zip(*steps, strict=True)]
    return sorted((Step(*row) for row in zip(*columns, strict=True)), key=lambda step: step.category), chosen


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
    """Return where each category begins, in order of categories."""
    return np.flatnonzero(np.diff(category, prepend=-1))


def tuple_forms(
    grid: Grid, lines: Sequence[Lines], instances: Sequence[Ints], tuples: Ints, forms: FormList, name: str
) -> tuple[Ints, Floats]:
    """Return the best combination for each tuple and category, and its R^2 (T, K)."""
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
    """Return the criterion of each candidate of B jobs on the points of its tuple (B, W), and R^2 of the best (B,).

    Jobs are pairs of tuple and category; their ways (B, W) are indices of forms and of what these span on lines.
    """
    (tuple_index, category), (full, cross) = jobs, ways
    lengths = np.array([len(points) for points in sets])[tuple_index]
    scores, squares, r2 = np.full(full.shape, np.inf), np.full(full.shape, np.nan), np.empty(len(tuple_index))
    for length in np.unique(lengths).tolist():
        same_length = np.flatnonzero(lengths == length)
        used, of_set = np.unique(tuple_index[same_length], return_inverse=True)
        points, of_set = np.stack([sets[k] for k in used.tolist()]), of_set.ravel()
        row, way = np.nonzero(full[same_length] >= 0)
        span = cross[same_length[row], way]
        # Candidates that span the same on the lines of a job have the same score.
        _, first, place = np.unique(row * len(cross_forms.forms) + span, return_index=True, return_inverse=True)
        new_jobs = span[first], of_set[row[first]], category[same_length[row[first]]]
        fits = score_forms(grid, cross_forms.forms, points, new_jobs)
        scores[same_length[row], way] = criterion(fits, name)[place]
        squares[same_length[row], way] = fits.sum_of_squares[place]
        job_points = points[of_set]
        values = grid.values[category[same_length, None], job_points]
        r2[same_length] = weighted_r2(
            squares[same_length, scores[same_length].argmin(axis=1)], values, grid.root_weight[job_points]
        )
    return scores, r2


def common(usable: npt.NDArray[np.bool_], univariate: Ints) -> npt.NDArray[np.bool_]:
    """Return tuples of each category (T, K) whose univariate forms are not rare among the tuples that can be used."""
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
    """Return one number for each different row; numbers sort ten times as fast as rows."""
    return np.asarray(np.ravel_multi_index(tuple(rows.T), tuple(rows.max(axis=0) + 1)))


def _numbered(ways: Sequence[Mapping[Form, Form]], forms: FormList) -> tuple[Ints, Ints, FormList]:
    """Return candidates of each kind as indices of forms, and of their spans on lines; -1 beyond a kind's number."""
    cross_forms, most = FormList(), max(map(len, ways))
    full, cross = np.full((len(ways), most), -1, dtype=np.int64), np.full((len(ways), most), -1, dtype=np.int64)
    for row, of_kind in enumerate(ways):
        for column, (form, on_cross) in enumerate(of_kind.items()):
            full[row, column] = forms.index(form)
            cross[row, column] = cross_forms.index(on_cross)
    return full, cross, cross_forms


@dataclass(frozen=True)
class Generated:
    """Every step from the measurements to the forms of K categories."""

    forms: FormList
    lines: tuple[Lines, ...]  # for each factor
    instances: tuple[Ints, ...]  # for each factor the form that fits each line best; -1 where none can be judged
    instance_r2: tuple[Floats, ...]  # centered R^2 of these
    tuples: Ints  # points through which every factor has a line
    tuple_forms: Ints  # -1 where a factor has no form, or where the univariate forms are rare among the tuples
    tuple_r2: Floats  # centered R^2 on the points of the tuple's lines
    steps: list[Step]  # with forms by their index in `forms`
    chosen: Ints  # the form of each category


def generate(
    grid: Grid,
    points: Sequence[Floats],
    defaults: Sequence[Sequence[tuple[Form, ...]]],
    name: str,
    shown_names: Mapping[str, str] | None = None,
) -> Generated:
    """Find the form of each category."""
    lines = tuple(lines_of(points, factor) for factor in range(len(points)))
    tuples = np.flatnonzero(np.all([of_factor.through >= 0 for of_factor in lines], axis=0))
    if not len(tuples):
        missing = [grid.terms.symbols[of_factor.factor] for of_factor in lines if not of_factor.points]
        short = [(shown_names or {}).get(symbol, symbol) for symbol in missing]
        cure = (
            f"{', '.join(short)} never takes {FEWEST_LEVELS} values while the other factors stay; "
            "hold it with --where, or measure more"
            if short
            else "measure lines of every factor through one point, or name fewer factors with --parameter"
        )
        raise DataError(f"no point has {FEWEST_LEVELS} levels along every factor: {cure}")
    forms = FormList()
    fitted = [univariate_forms(grid, of_factor, defaults, forms, name) for of_factor in lines]
    instances = tuple(chosen for chosen, _ in fitted)
    of_tuples, tuple_r2 = tuple_forms(grid, lines, instances, tuples, forms, name)
    steps, chosen = combine(grid, of_tuples, forms, name)
    return Generated(forms, lines, instances, tuple(r2 for _, r2 in fitted), tuples, of_tuples, tuple_r2, steps, chosen)


def fit_category(grid: Grid, series: int, form: Form, name: str, text: Callable[[int], str]) -> CategoryFit:
    """Return the model of a category: its form fitted to all points; `text` writes a term by its number."""
    columns = grid.terms.columns(grid.functions, np.array(form)) * grid.root_weight
    values = grid.values[series]
    fit = fit_subsets(columns.T[None], [0], (values * grid.root_weight)[None], [list(range(len(form)))])
    left_out = np.where(np.isfinite(fit.leave_one_out[0]), fit.leave_one_out[0], np.nan)
    r2, r2_leave_one_out = weighted_r2(np.append(fit.sum_of_squares[0], left_out), values, grid.root_weight).tolist()
    return CategoryFit(
        name=name,
        terms=tuple(map(text, form)),
        coefficients=tuple(fit.coefficients[0, 0].tolist()),
        standard_errors=tuple(map(finite, fit.standard_errors[0, 0].tolist())),
        n_points=len(values),
        sum_of_squares=float(fit.sum_of_squares[0, 0]),
        r2_centered=finite(r2),
        r2_leave_one_out=finite(r2_leave_one_out),
    )


def generate_model(
    table: CategoryTable,
    models: Sequence[DefaultModel],
    options: ModgenOptions,
    root: Floats,
    aside: npt.NDArray[np.bool_],
) -> ModgenModel:
    """Generate the model of a table by category from default models."""
    notes = list(table.notes)
    defaults = [
        [models_for(models, category, symbol, table.columns[symbol]) for symbol in table.points]
        for category in table.categories
    ]
    terms = _terms(table, defaults, notes)
    categories, generations = _fit(table, np.flatnonzero(~aside), root, terms, defaults, options)
    tried = grouped(  # categories that each default model was tried for
        ((symbol, model), category)
        for category, of_category in zip(table.categories, defaults, strict=True)
        for symbol, of_factor in zip(table.points, of_category, strict=True)
        for model in of_factor
    )
    table, left_out = replace(table, notes=tuple(notes)), np.flatnonzero(aside).tolist()
    return ModgenModel.of("modgen", table, options, root, categories, tried, generations, left_out)


def _terms(table: CategoryTable, defaults: list[list[tuple[DefaultModel, ...]]], notes: list[str]) -> Terms:
    """Return the functions of all default models; models that are not finite at a measured point are taken out."""
    functions = []
    left_out: dict[str, None] = {}
    for number, (symbol, values) in enumerate(table.points.items()):
        is_finite: dict[str, bool] = {"1": True}
        for category, of_category in zip(table.categories, defaults, strict=True):
            for model in of_category[number]:
                for text in model.terms:
                    if text not in is_finite:
                        is_finite[text] = bool(np.isfinite(Formula(text).evaluate({"x": values})).all())
                        if not is_finite[text]:
                            left_out[f"{model.formula} of {table.shown_names[symbol]}"] = None
            of_category[number] = tuple(model for model in of_category[number] if all(map(is_finite.get, model.terms)))
            if not of_category[number]:
                raise DataError(
                    f"there is no default model of {category!r} over {table.shown_names[symbol]}; add one to a file "
                    "of --models"
                )
        functions.append(tuple(text for text, finite in is_finite.items() if finite))
    if left_out:
        notes.append(f"default models left out, not finite at a measured point: {listing(left_out, 5)}")
    return Terms(tuple(table.points), tuple(functions))


def _fit(
    table: CategoryTable,
    used: Ints,
    root: Floats,
    terms: Terms,
    defaults: Sequence[Sequence[tuple[DefaultModel, ...]]],
    options: ModgenOptions,
) -> tuple[list[CategoryFit], list[Generation]]:
    """Generate and fit the categories, those that were measured at the same points together."""
    text = functools.cache(terms.text)
    as_forms = [
        [
            tuple(tuple(sorted(functions.index(text) * stride for text in model.terms)) for model in of_factor)
            for of_factor, functions, stride in zip(of_category, terms.functions, terms.strides, strict=True)
        ]
        for of_category in defaults
    ]
    measured = ~np.isnan(table.values[used])
    patterns, pattern = np.unique(measured.T, axis=0, return_inverse=True)
    fitted, generations = dict[int, CategoryFit](), []
    for number, is_measured in enumerate(patterns):
        categories = np.flatnonzero(pattern.ravel() == number).tolist()
        points = used[is_measured]
        coordinates = [values[points] for values in table.points.values()]
        grid = Grid(terms, terms.values(coordinates), table.values[points][:, categories].T.copy(), root[points])
        names = listing([table.categories[k] for k in categories], 3)
        try:
            generated = generate(
                grid, coordinates, [as_forms[k] for k in categories], options.criterion, table.shown_names
            )
        except DataError as error:
            raise DataError(f"{table.source}: {names}: {error}") from None
        lost = [table.categories[k] for k, form in zip(categories, generated.chosen.tolist(), strict=True) if form < 0]
        if lost:
            raise DataError(
                f"{table.source}: {listing(lost, 3)}: no default model has fewer coefficients than the lines have "
                "levels; measure more levels, or give --models with shorter formulas"
            )
        for series, (category, form) in enumerate(zip(categories, generated.chosen.tolist(), strict=True)):
            name, chosen = table.categories[category], generated.forms.forms[form]
            fitted[category] = fit_category(grid, series, chosen, name, text)
        generations.append(generation_of(generated, terms, text, categories, points))
    return [fitted[category] for category in range(len(table.categories))], generations


def generation_of(
    generated: Generated, terms: Terms, text: Callable[[int], str], categories: Sequence[int], points: Ints
) -> Generation:
    """Return the steps as a file keeps them."""
    steps = np.array([(step.form, step.result) for step in generated.steps], dtype=np.int64)
    used = np.unique(np.concatenate([array.ravel() for array in (*generated.instances, generated.tuple_forms, steps)]))
    used = used[used >= 0]
    renumber = np.full(len(generated.forms.forms) + 1, -1, dtype=np.int64)  # the last place answers for -1
    renumber[used] = np.arange(len(used))
    factors = tuple(
        FactorLines(
            symbol=terms.symbols[lines.factor],
            lines=tuple(tuple(points[line].tolist()) for line in lines.points),
            left_out=lines.too_short,
            chosen=_rows(renumber[chosen]),
            r2=finite_rows(np.round(r2, _R2_DIGITS)),
        )
        for lines, chosen, r2 in zip(generated.lines, generated.instances, generated.instance_r2, strict=True)
    )
    return Generation(
        categories=tuple(categories),
        points=tuple(points.tolist()),
        forms=tuple(tuple(map(text, generated.forms.forms[form])) for form in used.tolist()),
        factors=factors,
        tuples=tuple(points[generated.tuples].tolist()),
        tuple_forms=_rows(renumber[generated.tuple_forms]),
        tuple_r2=finite_rows(np.round(generated.tuple_r2, _R2_DIGITS)),
        steps=tuple(
            msgspec.structs.replace(step, form=form, result=result)
            for step, (form, result) in zip(generated.steps, renumber[steps].tolist(), strict=True)
        ),
    )


def _rows(array: Ints) -> tuple[tuple[int, ...], ...]:
    return tuple(map(tuple, array.tolist()))


class ModgenFitter(Fitter):
    """Generates the model of an application: for each category of its time one over all factors, and their sum.

    Choose it for times by category (overheads, routines, call paths) over two or more factors, such as processors and
    data size. With one factor it makes the same choice as `lca`, which shows every default model.

    Source: the chapter "Model Generation" of the Lost Cycles Toolkit; deviations in `perf_lost_cycles.generate`.

    Examples
    --------
    >>> import pandas as pd
    >>> import perfcore
    >>> runs = [(p, n, "work", 3.0 * n / p) for p in (1, 2, 4, 8) for n in (10, 20, 40, 80)]
    >>> runs += [(p, n, "start", 2.0 + p) for p, n, *_ in runs]
    >>> table = pd.DataFrame(runs, columns=["P", "N", "category", "time_s"])
    >>> model = perfcore.fit(table, fitter="modgen", parameter="P,N")
    >>> print(model.formula)
    work = 3 (1/P*N)
    start = 2 + 1 P
    >>> model.predict({"P": 16, "N": 160})
    array([48.])
    """

    Options = ModgenOptions
    model_type = ModgenModel
    takes = (Measurements,)

    def fit(self, data: Any, options: ModgenOptions, **parts: Any) -> ModgenModel:
        table, _ = category_table(data, options, "modgen", "zero" if options.absent == "zero" else "unknown")
        if len(table) == 1:
            raise DataError(
                f"{table.source}: its runs are at one point, {table.describe(0)}; give the files of several runs "
                "together, as in perf fit 'run*.log'"
            )
        for symbol, values in table.points.items():
            if (values == values[0]).all():
                given = options.parameter is not None
                cure = "leave it out of --parameter" if given else "name the columns that vary with --parameter"
                raise DataError(f"{table.source}: {table.columns[symbol]} is {values[0]:g} throughout; {cure}")
        missing = np.isnan(table.values)
        if missing.any() and options.absent == "refuse":
            names = [table.categories[k] for k in np.flatnonzero(missing.any(axis=0)).tolist()]
            point = table.describe(int(np.argmax(missing.any(axis=1))))
            raise DataError(
                f"{table.source}: {listing(names, 5)}: not measured at every point, such as {point}; --absent zero if "
                "a category that is not listed took no time, --absent skip to model it where it was measured"
            )
        aside = np.zeros(len(table), dtype=np.bool_)
        chosen = np.random.default_rng(options.seed).permutation(len(table))
        aside[chosen[: round(options.set_aside * len(table))]] = True
        return generate_model(table, find_models(options.models), options, root_weights(table, options.weights), aside)
