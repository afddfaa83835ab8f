"""A table by category and default models to the model of an application, with every step kept; the fitter `modgen`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import perfcore
from perf_formulas.formula import Formula
from perf_lost_cycles.default_models import DefaultModel, find_models, models_for
from perf_lost_cycles.forms import Form, Grid, Terms, weighted_r2
from perf_lost_cycles.generate import Generated, generate
from perf_lost_cycles.modgen import CategoryFit, FactorLines, Generation, Measured, ModgenModel, Step, UsedModel
from perf_lost_cycles.options import ModgenOptions
from perf_lost_cycles.table import category_table, root_weights
from perf_statistics.batched import fit_subsets
from perf_statistics.goodness import finite
from perf_tables.category_table import CategoryTable
from perfcore.base.arrays import Floats, Ints
from perfcore.base.errors import DataError, listing
from perfcore.contracts import Fitter
from perfcore.data.measurements import Measurements
from perfcore.hooks.options import to_dict
from perfcore.models.model import Origin

_R2_DIGITS = 5


@dataclass(frozen=True)
class FormFit:
    """One form fitted to several series on the same points."""

    series: Ints
    coefficients: Floats
    standard_errors: Floats
    residuals: Floats  # weighted
    leave_one_out: Floats


def fit_forms(grid: Grid, forms: Sequence[Form], of_series: Ints) -> list[FormFit]:
    """Fit each series with its own form on all points; one fit for each form that occurs.

    Forms of one size are one call of `perf_statistics.batched.fit_subsets`.
    """
    form_fits = []
    numbers, group = np.unique(of_series, return_inverse=True)
    sizes = np.array([len(forms[number]) for number in numbers.tolist()])
    for size in np.unique(sizes).tolist():
        chosen = np.flatnonzero(sizes == size)
        columns = grid.terms.columns(grid.functions, np.array([forms[number] for number in numbers[chosen].tolist()]))
        designs = (columns * grid.root_weight).swapaxes(1, 2)
        series = np.flatnonzero(sizes[group] == size)
        targets = grid.values[series] * grid.root_weight
        design_of = np.searchsorted(chosen, group[series])
        fits = fit_subsets(designs, design_of, targets, [list(range(size))])
        for number, design in enumerate(designs):
            rows = np.flatnonzero(design_of == number)
            coefficients = fits.coefficients[rows, 0]
            form_fits.append(
                FormFit(
                    series=series[rows],
                    coefficients=coefficients,
                    standard_errors=fits.standard_errors[rows, 0],
                    residuals=targets[rows] - coefficients @ design.T,
                    leave_one_out=fits.leave_one_out[rows, 0],
                )
            )
    return form_fits


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
    fitted, generations = _fit(table, np.flatnonzero(~aside), root, terms, defaults, options)
    return _model(table, aside, root, terms, fitted, generations, defaults, options, notes)


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
) -> tuple[list[tuple[Generated, list[int], Ints, list[FormFit]]], list[Generation]]:
    """Generate and fit the categories, those that were measured at the same points together."""
    as_forms = [
        [
            tuple(tuple(sorted(functions.index(text) * stride for text in model.terms)) for model in of_factor)
            for of_factor, functions, stride in zip(of_category, terms.functions, terms.strides, strict=True)
        ]
        for of_category in defaults
    ]
    measured = ~np.isnan(table.values[used])
    patterns, pattern = np.unique(measured.T, axis=0, return_inverse=True)
    fitted, generations = [], []
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
        fitted.append((generated, categories, points, fit_forms(grid, generated.forms.forms, generated.chosen)))
        generations.append(generation_of(generated, terms, categories, points))
    return fitted, generations


def _model(
    table: CategoryTable,
    aside: npt.NDArray[np.bool_],
    root: Floats,
    terms: Terms,
    fitted: Sequence[tuple[Generated, list[int], Ints, list[FormFit]]],
    generations: Sequence[Generation],
    defaults: Sequence[Sequence[tuple[DefaultModel, ...]]],
    options: ModgenOptions,
    notes: Sequence[str],
) -> ModgenModel:
    numbers = sorted({term for made, *_ in fitted for form in made.chosen for term in made.forms.forms[form]})
    texts = {term: terms.text(term) for term in numbers}
    categories: dict[int, CategoryFit] = {}
    for generated, members, points, fits in fitted:
        for fit in fits:
            form: Form = generated.forms.forms[int(generated.chosen[fit.series[0]])]
            squares = np.einsum("kn,kn->k", fit.residuals, fit.residuals)
            values = table.values[points][:, [members[k] for k in fit.series.tolist()]].T
            r2 = weighted_r2(squares, values, root[points])
            loo = weighted_r2(np.where(np.isfinite(fit.leave_one_out), fit.leave_one_out, np.nan), values, root[points])
            for row, series in enumerate(fit.series.tolist()):
                categories[members[series]] = CategoryFit(
                    name=table.categories[members[series]],
                    terms=tuple(map(texts.__getitem__, form)),
                    coefficients=tuple(fit.coefficients[row].tolist()),
                    standard_errors=tuple(map(finite, fit.standard_errors[row].tolist())),
                    n_points=len(points),
                    sum_of_squares=float(squares[row]),
                    r2_centered=finite(float(r2[row])),
                    r2_leave_one_out=finite(float(loo[row])),
                )
    tried: dict[tuple[str, DefaultModel], list[str]] = {}  # categories that each default model was tried for
    for category, of_category in zip(table.categories, defaults, strict=True):
        for symbol, models in zip(table.points, of_category, strict=True):
            for model in models:
                tried.setdefault((symbol, model), []).append(category)
    return ModgenModel(
        origin=Origin("modgen", to_dict(options), table.source, table.fingerprint(), perfcore.__version__),
        columns=dict(table.columns),
        value_name=table.value_name,
        unit=table.unit,
        notes=tuple(notes),
        categories=tuple(categories[k] for k in range(len(table.categories))),
        observations=Measured.of(table),
        root_weights=tuple(root.tolist()),
        set_aside=tuple(np.flatnonzero(aside).tolist()),
        default_models=tuple(
            UsedModel(tuple(names), symbol, model.formula, model.terms, model.coefficients, model.origin)
            for (symbol, model), names in tried.items()
        ),
        generations=tuple(generations),
    )


def generation_of(generated: Generated, terms: Terms, categories: Sequence[int], points: Ints) -> Generation:
    """Return the steps as a file keeps them."""
    arrays = [*generated.instances, generated.tuple_forms, generated.steps.form, generated.steps.result]
    used = np.unique(np.concatenate([array.ravel() for array in arrays]))
    used = used[used >= 0]
    renumber = np.full(len(generated.forms.forms) + 1, -1, dtype=np.int64)  # the last place answers for -1
    renumber[used] = np.arange(len(used))
    numbers = {number for form in used.tolist() for number in generated.forms.forms[form]}
    texts = {number: terms.text(number) for number in numbers}
    factors = tuple(
        FactorLines(
            symbol=terms.symbols[lines.factor],
            lines=tuple(tuple(points[line].tolist()) for line in lines.points),
            left_out=lines.too_short,
            chosen=_rows(renumber[chosen]),
            r2=_r2_rows(r2),
        )
        for lines, chosen, r2 in zip(generated.lines, generated.instances, generated.instance_r2, strict=True)
    )
    steps = generated.steps
    columns = (steps.category, renumber[steps.form], steps.n_tuples, renumber[steps.result], steps.score)
    return Generation(
        categories=tuple(categories),
        points=tuple(points.tolist()),
        forms=tuple(tuple(texts[number] for number in generated.forms.forms[form]) for form in used.tolist()),
        factors=factors,
        tuples=tuple(points[generated.tuples].tolist()),
        tuple_forms=_rows(renumber[generated.tuple_forms]),
        tuple_r2=_r2_rows(generated.tuple_r2),
        steps=tuple(Step(*row) for row in zip(*(column.tolist() for column in columns), strict=True)),
    )


def _rows(array: Ints) -> tuple[tuple[int, ...], ...]:
    return tuple(map(tuple, array.tolist()))


def _r2_rows(array: Floats) -> tuple[tuple[float | None, ...], ...]:
    rounded = np.round(array, _R2_DIGITS).tolist()
    return tuple(tuple(None if math.isnan(value) else value for value in row) for row in rounded)


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
