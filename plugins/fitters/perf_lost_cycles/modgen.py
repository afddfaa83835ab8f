"""The model of an application over several factors: the sum of models of its categories."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import msgspec
import numpy as np

import perfcore
from perf_formulas.formula import Formula, renamed, sum_of_terms
from perf_lost_cycles.default_models import DefaultModel
from perf_lost_cycles.forms import DefaultFit, UsedModel, fit_default_models, term_values, terms_in
from perf_statistics.goodness import finite, r_squared
from perf_statistics.model_average import GatheredShapes, Shapes, expected_runs, shape_weights
from perf_tables.category_table import CategoryTable, by_category
from perf_tables.points import describe_outside, named_points
from perfcore.base import grouped
from perfcore.base.arrays import Booleans, Floats, Ints
from perfcore.base.errors import DataError, OptionError, PerfError, UnknownNameError
from perfcore.data.columns import shown_names
from perfcore.hooks.options import to_dict
from perfcore.models.model import Model, Origin, Parameter, Points
from perfcore.models.points import DesignRows, Observed, check_coverage, measurements_for

CATEGORY = "category"  # the variable that names one
TOTAL = "total"  # the sum of all categories, which is what a model predicts by default
ALL_POINTS, LEFT_OUT = "all points", "leave-one-out"

_NUMBERS_AT_ONCE = 1 << 22  # in the arrays of one part of a prediction, 32 MB
_MOST_NAMED = 3  # categories in a remark

_DRAWS = 64  # sums of formulas that the total is averaged over
_MOST_FORMULAS = 12  # of a category
_MOST_DRAWN = 24  # categories whose formulas are drawn, those with the largest share; the others keep their chosen one
_TILTED = 3  # categories, the largest, whose share of the total may be another one
_TILT = 0.5  # standard deviation of the logarithm of such a share
_MOST_LEVERAGE = 0.9  # of a point on its own prediction: one that alone decides a coefficient has no hold-out check
_FEWEST = 3  # points that are not 0
_POINTS_AT_ONCE = 128


def category_points(
    user_points: Any, columns: Mapping[str, str], categories: Sequence[str]
) -> tuple[dict[str, Floats], Ints]:
    """Check points at which to predict."""
    points, index = named_points(user_points, columns, {CATEGORY: (TOTAL, *categories)}, usual=TOTAL)
    return points, index[CATEGORY] - 1


def one_category(
    points: Points, columns: Mapping[str, str], categories: Sequence[str]
) -> tuple[dict[str, Floats], int | None]:
    """Checked points of one category; None for the total."""
    coordinates, which = category_points(points, columns, categories)
    numbers = np.unique(which).tolist()
    if len(numbers) > 1:
        raise OptionError("points of several categories: one, or the total, is expected")
    return coordinates, None if numbers[0] < 0 else int(numbers[0])


class Measured(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The measurements, those set aside included."""

    points: dict[str, tuple[float, ...]]  # factors by symbol
    values: tuple[tuple[float | None, ...], ...]  # for each category its times; None if it was not measured
    total: tuple[float, ...]
    repetitions: tuple[int, ...]
    spread: tuple[tuple[float | None, ...], ...] = ()  # standard deviations of repeated runs, as `values`

    def __post_init__(self) -> None:
        columns = (*self.points.values(), *self.values, *self.spread, self.repetitions)
        if not self.total or any(len(column) != len(self.total) for column in columns):
            raise ValueError("the observations have columns of different lengths, or none")

    @classmethod
    def of(cls, table: CategoryTable, has_spread: bool = False) -> Measured:
        """Return the observations of a table by category."""
        return cls(
            points={symbol: tuple(values.tolist()) for symbol, values in table.points.items()},
            values=finite_rows(table.values.T),
            total=tuple(table.total.tolist()),
            repetitions=tuple(table.repetitions.tolist()),
            spread=finite_rows(table.spread.T) if has_spread else (),
        )


def finite_rows(table: Floats) -> tuple[tuple[float | None, ...], ...]:
    """Return the rows of a table, None instead of what is not finite."""
    return tuple(tuple(map(finite, row)) for row in table.tolist())


@dataclass(frozen=True)
class Line:
    """One line of points along a factor, the others held."""

    label: str  # what is held, such as ``P=24``
    points: Ints
    r2: float | None  # centered, of the form that was chosen on it; None if the category is constant along it
    form: str  # that form without its constants, as texts call the factors; empty if none could be judged


class CategoryFit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The model of one category."""

    name: str
    terms: tuple[str, ...]  # formulas of the factors
    coefficients: tuple[float, ...]  # in the unit of the data
    standard_errors: tuple[float | None, ...]  # none if the data do not determine them
    n_points: int  # to which it was fitted
    sum_of_squares: float  # weighted residuals
    r2_centered: float | None  # centered, weighted; of the fit, and of predicting each point from the others
    r2_leave_one_out: float | None

    def __post_init__(self) -> None:
        if len({len(self.terms), len(self.coefficients), len(self.standard_errors)}) > 1 or not self.terms:
            raise ValueError(f"category {self.name!r} has not as many coefficients as terms")

    def text(self, names: Mapping[str, str], digits: int = 6) -> str:
        """Return the model as a person reads it, in other names of factors; sums within terms have parentheses."""
        # A product with a sum is written with parentheses around it.
        terms = [Formula(f"1*({renamed(term, names)})").canonical.removeprefix("1*") for term in self.terms]
        return sum_of_terms(self.coefficients, terms, digits)


class FactorLines(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The univariate models of one factor."""

    symbol: str
    lines: tuple[tuple[int, ...], ...]  # points of each line, the other factors held
    left_out: int  # lines of too few levels
    chosen: tuple[tuple[int, ...], ...]
    r2: tuple[tuple[float | None, ...], ...]  # centered, also; None if the category is constant along the line


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """One step of combining the tuples' forms of one category."""

    category: int  # place in `Generation.categories`
    form: int  # the tuples' form that was taken, or added to what was at hand; -1 where a term was dropped
    n_tuples: int  # how many tuples chose it
    result: int  # the form after the step
    score: float  # criterion of the result on all points, smaller is better


class Generation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every step from the measurements to the forms of categories that were measured at the same points.

    It has what was decided, not every candidate's numbers: the observations and the default models are in the same
    file, and one line is fitted again in microseconds (`ModgenModel.fits_on`). Categories that share points share the
    table of their lines, so 1,000 categories on 125 points take some megabytes.
    """

    categories: tuple[int, ...]  # which of the model's categories
    points: tuple[int, ...]  # which of the model's observations
    forms: tuple[tuple[str, ...], ...]  # the forms that occur below, as terms
    factors: tuple[FactorLines, ...]
    tuples: tuple[int, ...]  # observations through which every factor has a line
    tuple_forms: tuple[tuple[int, ...], ...]
    tuple_r2: tuple[tuple[float | None, ...], ...]  # centered, on the points of the tuple's lines
    steps: tuple[Step, ...]


class ModgenModel(Model, frozen=True, forbid_unknown_fields=True, dict=True):
    """The sum of the models of an application's categories, each linear in terms of the factors.

    A category that its formula makes negative, outside of the data, counts as 0; `remarks` names it.
    """

    value_name: str
    unit: str | None
    notes: tuple[str, ...]  # what a user should know about the rows of the data
    columns: dict[str, str]  # parameters: symbol in formulas to the column's name in the data
    observations: Measured
    root_weights: tuple[float, ...]  # square roots of the points' weights
    set_aside: tuple[int, ...]  # observations that the model was not fitted to
    categories: tuple[CategoryFit, ...]
    default_models: tuple[UsedModel, ...]
    generations: tuple[Generation, ...]  # how the models came about; of categories measured at the same points together

    reporter: ClassVar[str] = "perf_lost_cycles.answers:report_of"
    kind: ClassVar[str] = "sum of categories"

    def __post_init__(self) -> None:
        n = len(self.observations.total)
        names = [category.name for category in self.categories]
        if not names or len(set(names)) < len(names) or len(names) != len(self.observations.values):
            raise ValueError("there are not as many categories as columns of observations, or one of them twice")
        if not self.columns or set(self.observations.points) != set(self.columns) or len(self.root_weights) != n:
            raise ValueError("the observations are not those of the model's factors")
        if self.set_aside and not 0 <= min(self.set_aside) <= max(self.set_aside) < n:
            raise ValueError("a point is set aside that is not among the observations")
        forms = [*(each.terms for each in self.categories), *(form for g in self.generations for form in g.forms)]
        try:
            strange = {name for text in {t for form in forms for t in form} for name in Formula(text).names}
        except PerfError as error:
            raise ValueError(str(error)) from None
        if strange - set(self.columns):
            raise ValueError("a term is not one of the model's factors")
        if {number for each in self.generations for number in each.categories} != set(range(len(names))):
            raise ValueError("a category was generated in no step, or in several")

    @classmethod
    def of(
        cls,
        fitter: str,
        table: CategoryTable,
        options: Any,
        root: Floats,
        categories: Sequence[CategoryFit],
        tried: Mapping[tuple[str, DefaultModel], Sequence[str]],
        generations: Sequence[Generation],
        aside: Sequence[int] = (),
        has_spread: bool = False,
    ) -> Self:
        """Return the model of a table; ``tried`` has the categories that a default model of a factor was tried for."""
        return cls(
            origin=Origin(fitter, to_dict(options), table.source, table.fingerprint(), perfcore.__version__),
            value_name=table.value_name,
            unit=table.unit,
            notes=table.notes,
            columns=dict(table.columns),
            observations=Measured.of(table, has_spread),
            root_weights=tuple(root.tolist()),
            set_aside=tuple(aside),
            categories=tuple(categories),
            default_models=tuple(
                UsedModel(tuple(names), symbol, model.formula, model.terms, model.coefficients, model.origin)
                for (symbol, model), names in tried.items()
                if names
            ),
            generations=tuple(generations),
        )

    def views(self, data: Any = None, file: Path | None = None) -> Any:
        """Return the page that judges and edits the model; it fits models again, and is loaded when it is shown."""
        return importlib.import_module("perf_lost_cycles.views").LostCyclesViews(self, file)

    @property
    def names(self) -> tuple[str, ...]:
        """The categories (C)."""
        return tuple(category.name for category in self.categories)

    @property
    def formula(self) -> str:
        return "\n".join(f"{name} = {text}" for name, text in zip(self.names, self.texts(), strict=True))

    @property
    def factors(self) -> Mapping[str, str]:
        """Parameters that formulas have: symbol to the column's name in the data."""
        return self.columns

    @property
    def held(self) -> Mapping[str, float]:
        """Parameters that formulas do not have, as texts call them, each at its only level."""
        return {}

    @property
    def fitted(self) -> Booleans:
        """Which observations the model was fitted to (n,)."""
        is_fitted = np.ones(len(self.observations.total), dtype=np.bool_)
        is_fitted[list(self.set_aside)] = False
        return is_fitted

    @property
    def fitted_points(self) -> dict[str, Floats]:
        """Points that the model was fitted to, by factor (n,)."""
        return {symbol: np.array(self.observations.points[symbol])[self.fitted] for symbol in self.factors}

    @property
    def fitted_values(self) -> Floats:
        """Measured times of each category at these points (C, n); NaN if there are none."""
        return np.array(self.observations.values, dtype=np.float64)[:, self.fitted]

    @property
    def fitted_repetitions(self) -> Ints:
        """Runs that each of these points stands for (n,)."""
        return np.array(self.observations.repetitions)[self.fitted]

    def category_table(self) -> CategoryTable:
        """Return the observations as the model was fitted to them."""
        points, values = self.observations.points, np.array(self.observations.values, dtype=np.float64).T
        spread = np.array(self.observations.spread, dtype=np.float64).T
        return CategoryTable(
            points={symbol: np.array(column) for symbol, column in points.items()},
            columns=self.columns,
            categories=self.names,
            values=values,
            repetitions=np.array(self.observations.repetitions),
            spread=spread if spread.size else np.full(values.shape, np.nan),
            total=np.array(self.observations.total),
            unit=self.unit,
            value_name=self.value_name,
            source=self.origin.source,
        )

    def finite_terms(self, terms: tuple[str, ...], points: Mapping[str, Floats]) -> Floats | None:
        """Return values of terms (n, F); None if one is not finite."""
        values = term_values(terms, points)
        return values if np.isfinite(values).all() else None

    @property
    def variables(self) -> Mapping[str, str]:
        return {**self.factors, CATEGORY: CATEGORY}

    @property
    def levels(self) -> Mapping[str, tuple[str, ...]]:
        return {CATEGORY: (TOTAL, *self.names)}

    @property
    def ranges(self) -> Mapping[str, tuple[float, float]]:
        return {symbol: (float(v.min()), float(v.max())) for symbol, v in self.fitted_points.items()}

    @functools.cached_property
    def terms(self) -> tuple[str, ...]:
        """All terms that occur (F)."""
        return tuple(dict.fromkeys(term for category in self.categories for term in category.terms))

    @functools.cached_property
    def coefficients(self) -> Floats:
        """Coefficients of each category in all terms (F, C)."""
        place = {text: k for k, text in enumerate(self.terms)}
        matrix = np.zeros((len(place), len(self.names)))
        for number, category in enumerate(self.categories):
            matrix[[place[text] for text in category.terms], number] = category.coefficients
        return matrix

    def predict_array(self, points: Points, interval: float | None = None) -> Floats:
        if interval is not None:
            check_coverage(interval)
        coordinates, which = category_points(points, self.factors, self.names)
        values = np.empty(len(which))
        length = max(1, _NUMBERS_AT_ONCE // sum(self.coefficients.shape))
        for begin in range(0, len(which), length):
            part = slice(begin, begin + length)
            design = self.design(self.terms, {symbol: column[part] for symbol, column in coordinates.items()})
            of_categories, chosen = np.maximum(design @ self.coefficients, 0.0), which[part]
            of_chosen = of_categories[np.arange(len(chosen)), chosen]
            values[part] = np.where(chosen < 0, of_categories.sum(axis=1), of_chosen)
        if interval is None:
            return values
        return np.column_stack([values, run_bounds(self, coordinates, which, values, interval)])

    def observed(self, data: Any, where: str | None = None) -> Observed:
        options, names = self.origin.options, self.names
        roles = {role: options.get(role) for role in ("value", "category", "unit")}
        runs = measurements_for(self, data, options.get("where") if where is None else where, roles)
        is_zero = options.get("absent") == "zero"
        joining = {name: options[name] for name in ("total", "aggregate", "duplicates") if name in options}
        table = by_category(runs, absent="zero" if is_zero else "unknown", **joining)
        if not set(names) & set(table.categories):
            raise DataError(f"{table.source}: has none of the model's categories ({', '.join(names[:5])})")
        of_part = np.full((len(table), len(names)), 0.0 if is_zero else np.nan)
        for number, name in enumerate(names):
            if name in table.categories:
                of_part[:, number] = table.values[:, table.categories.index(name)]
        return Observed(
            points={**table.points, CATEGORY: np.full(len(table), TOTAL)},
            labels=tuple(table.describe(number) for number in range(len(table))),
            value=table.total,
            unit=table.unit,
            source=table.source,
            parts=tuple(names),
            of_part=of_part,
        )

    def design(self, terms: tuple[str, ...], points: Mapping[str, Floats]) -> Floats:
        """Return values of terms (n, F), at factors by symbol (n,)."""
        values = term_values(terms, points)
        wrong = ~np.isfinite(values)
        if wrong.any():
            place, term = (int(number) for number in np.argwhere(wrong)[0])
            point = ", ".join(f"{self.shown_names[symbol]}={numbers[place]:g}" for symbol, numbers in points.items())
            raise DataError(f"term {renamed(terms[term], self.shown_names)!r} is {values[place, term]} at {point}")
        return values

    def design_rows(self, points: Points) -> DesignRows:
        """Return rows of the categories' models; those that have the same terms and points are one.

        The covariance of the errors is estimated from the residuals, so that the variance of the total at hand is the
        one of its prediction bounds.
        """
        coordinates, chosen = one_category(points, self.factors, self.names)
        total = np.maximum(self.design(self.terms, coordinates) @ self.coefficients, 0.0).sum(axis=1)
        relative = self.origin.options["weights"] == "relative"
        with np.errstate(divide="ignore"):
            weights = 1.0 / total if relative else np.ones(len(total))
        measured, values, categories = self.fitted_points, self.fitted_values, self.categories
        root = np.array(self.root_weights)[self.fitted]
        members_of = range(len(categories)) if chosen is None else (chosen,)
        together = grouped(((categories[k].terms, np.isfinite(values[k]).tobytes()), k) for k in members_of)
        rows, new, errors = [], [], []
        for (terms, pattern), members in together.items():
            is_measured = np.frombuffer(pattern, dtype=np.bool_)
            freedom = int(is_measured.sum()) - len(terms)
            if freedom <= 0:
                raise DataError("the data leave no degree of freedom, so the noise is unknown; measure more points")
            # A term may be infinite where none of these categories was measured.
            design = np.where(is_measured[:, None], term_values(terms, measured), 0.0) * root[:, None]
            of_members = np.where(is_measured, values[members].sum(axis=0), 0.0) * root
            coefficients = np.sum([categories[category].coefficients for category in members], axis=0)
            rows.append(design)
            new.append(self.design(terms, coordinates) * weights[:, None])
            errors.append((of_members - design @ coefficients) / np.sqrt(freedom))
        return DesignRows(
            measured=tuple(rows),
            asked=tuple(new),
            errors=np.asarray(np.array(errors) @ np.array(errors).T),
            scale=1.0 / weights,
            points=measured,
            repetitions=self.fitted_repetitions,
            unit=self.unit,
        )

    def remarks(self, points: Points) -> list[str]:
        coordinates, which = category_points(points, self.factors, self.names)
        each = self.design(self.terms, coordinates) @ self.coefficients
        tiny = 1e-9 * np.abs(each).sum(axis=1)  # what rounding makes of a 0
        negative = (each < -tiny[:, None]) & ((which < 0)[:, None] | (which[:, None] == np.arange(each.shape[1])))
        lines = describe_outside(coordinates, self.ranges, self.shown_names)
        for place in np.flatnonzero(negative.any(axis=1)).tolist():
            below = np.flatnonzero(negative[place]).tolist()
            names = ", ".join(self.names[k] for k in below[:_MOST_NAMED])
            text = f"negative, taken as 0: {names}{', ...' if len(below) > _MOST_NAMED else ''}"
            lines[place] = "; ".join(filter(None, (lines[place], text)))
        return lines

    def candidate_terms(self, category: int) -> tuple[tuple[str, ...], ...]:
        """Return terms of each form that a tuple suggested for a category or a step led to, the chosen one first."""
        generation, place = self._generation(self.names[category])
        steps = [step.result for step in reversed(generation.steps) if step.category == place]
        suggested, counts = np.unique([row[place] for row in generation.tuple_forms], return_counts=True)
        often = suggested[np.argsort(-counts, kind="stable")].tolist()
        numbers = dict.fromkeys(number for number in (*steps, *often) if number >= 0)
        return tuple(dict.fromkeys((self.categories[category].terms, *(generation.forms[k] for k in numbers))))

    def measured(self) -> tuple[Floats, Floats]:
        """Return measured times of each category (n, C), NaN if there are none, and of the total (n,)."""
        return np.array(self.observations.values, dtype=np.float64).T, np.array(self.observations.total)

    def predicted(self) -> tuple[Floats, Floats]:
        """Return the model at the measured points: each category (n, C), and the sum of those measured there (n,)."""
        points = {symbol: np.array(values) for symbol, values in self.observations.points.items()}
        # A term may be infinite if none of its categories was measured at a point.
        design = np.nan_to_num(term_values(self.terms, points), posinf=0.0, neginf=0.0)
        each = np.maximum(design @ self.coefficients, 0.0)
        return each, np.where(np.isfinite(self.measured()[0]), each, 0.0).sum(axis=1)

    def lines(self, category: str, symbol: str) -> tuple[Line, ...]:
        """Return the lines of a category over a factor."""
        generation, place = self._generation(category)
        factor = next(factor for factor in generation.factors if factor.symbol == symbol)
        names, points = {**shown_names(self.columns), **self.shown_names}, self.observations.points
        lines = []
        for line, chosen, r2 in zip(factor.lines, factor.chosen, factor.r2, strict=True):
            held = ", ".join(f"{names[s]}={points[s][line[0]]:g}" for s in points if s != symbol) or ALL_POINTS
            terms = [renamed(t, names) for t in generation.forms[chosen[place]]] if chosen[place] >= 0 else []
            form = " + ".join(f"({term})" if " " in term else term for term in terms)
            lines.append(Line(held, np.array(line), r2[place], form))
        return tuple(lines)

    def fits_on(self, category: str, symbol: str, line: int) -> tuple[tuple[DefaultFit, bool], ...]:
        """Return default models fitted along one line, and whether each was chosen: that one first, then the best."""
        if category not in self.names:
            raise UnknownNameError("category", category, self.names)
        if symbol not in self.columns:
            raise UnknownNameError("factor", symbol, self.columns)
        generation, place = self._generation(category)
        factor = next(factor for factor in generation.factors if factor.symbol == symbol)
        if not 0 <= line < len(factor.lines):
            raise OptionError(f"{self.shown_names[symbol]} has lines 0 to {len(factor.lines) - 1}, not {line}")
        points, best = np.array(factor.lines[line]), factor.chosen[line][place]
        values = np.array(self.observations.values[generation.categories[place]], dtype=np.float64)
        fits, _ = fit_default_models(
            [each for each in self.default_models if each.factor == symbol and category in each.categories],
            np.array(self.observations.points[symbol])[points],
            values[points],
            np.array(self.root_weights)[points],
            str(self.origin.options["criterion"]),
        )
        form = set(generation.forms[best]) if best >= 0 else set()
        chosen = [set(terms_in(fit.model.terms, symbol)) == form for fit in fits]
        return tuple(sorted(zip(fits, chosen, strict=True), key=lambda pair: not pair[1]))

    def _generation(self, category: str) -> tuple[Generation, int]:
        """Return how a category came about, and its place among the categories of that."""
        number = self.names.index(category)
        generation = next(each for each in self.generations if number in each.categories)
        return generation, generation.categories.index(number)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(
            Parameter(f"{category.name}: {renamed(term, self.shown_names)}", coefficient, error, self.unit)
            for category in self.categories
            for term, coefficient, error in zip(
                category.terms, category.coefficients, category.standard_errors, strict=True
            )
        )

    @property
    def statistics(self) -> dict[str, float | int | str | None]:
        """Figures of the total, at the points of the fit and at those set aside; R^2 centered and unweighted."""
        aside = ~self.fitted
        total, model = self.measured()[1], self.predicted()[1]
        figures: dict[str, float | int | str | None] = {
            "n_points": int((~aside).sum()),
            "n_categories": len(self.categories),
            "n_parameters": sum(len(category.terms) for category in self.categories),
            "criterion": str(self.origin.options["criterion"]),
            **figures_of_total(total[~aside], model[~aside]),
        }
        if aside.any():
            figures |= {"n_set_aside": int(aside.sum()), **figures_of_total(total[aside], model[aside], "set_aside_")}
        return figures

    def overview(self) -> dict[str, list[float | None]]:
        """Return the average R^2 of categories (C,): by factor over its lines, and under ``tuples`` over these."""
        averages: dict[str, list[float | None]] = {
            name: [None] * len(self.categories) for name in [*self.columns, "tuples"]
        }
        for each in self.generations:
            tables = {**{factor.symbol: factor.r2 for factor in each.factors}, "tuples": each.tuple_r2}
            for name, rows in tables.items():
                table = np.array(rows, dtype=np.float64).reshape(len(rows), -1)
                for category, column in zip(each.categories, table.T, strict=True):
                    defined = column[np.isfinite(column)]
                    averages[name][category] = float(defined.mean()) if len(defined) else None
        return averages

    def averages(self) -> dict[str, list[float | None]]:
        """R^2 of each category (C,): by factor over its lines, and of the models of all points."""
        fits = self.categories
        of_all = {ALL_POINTS: [fit.r2_centered for fit in fits], LEFT_OUT: [fit.r2_leave_one_out for fit in fits]}
        return {**self.overview(), **of_all}

    def texts(self) -> tuple[str, ...]:
        """Return the model of each category as a person reads it (C,)."""
        return tuple(category.text(self.shown_names) for category in self.categories)


def figures_of_total(measured: Floats, predicted: Floats, prefix: str = "") -> dict[str, float | None]:
    """Return the relative errors and R^2 of totals (n,), unweighted; a point whose total is 0 has no relative error."""
    squares = float(((measured - predicted) ** 2).sum())
    total = float((measured**2).sum())
    centered = float(((measured - measured.mean()) ** 2).sum())
    errors = np.abs(predicted - measured)[measured > 0.0] / measured[measured > 0.0]
    return {
        f"{prefix}median_relative_error": float(np.median(errors)) if len(errors) else None,
        f"{prefix}max_relative_error": float(errors.max()) if len(errors) else None,
        # A statistic that begins with r2 ends with its kind.
        f"r2_{prefix}uncentered": float(r_squared(squares, total)) if total > 0.0 else None,
        f"r2_{prefix}centered": float(r_squared(squares, centered)) if centered > 0.0 else None,
    }


def run_bounds(
    model: ModgenModel, points: Mapping[str, Floats], which: Ints, values: Floats, interval: float
) -> Floats:
    """Return lower and upper bounds of single runs (k, 2), with the predictions between them.

    A category's chosen formula is one of several that its points hardly distinguish, and none of them is quite right.
    So each category is averaged over its formulas, about which measurements scatter and from which they drift away with
    the distance; see `perf_statistics.model_average`. The total is averaged over sums of formulas, drawn for the
    categories, each as likely as its points make it; the totals that were measured say which sums are right, and how
    far they are off: what categories have in common needs no separate model.
    """
    bounds = np.full((len(which), 2), np.nan)
    shares = (0.5 - 0.5 * interval, 0.5 + 0.5 * interval)
    for number in np.unique(which).tolist():
        rows = np.flatnonzero(which == number)
        for begin in range(0, len(rows), _POINTS_AT_ONCE):
            part = rows[begin : begin + _POINTS_AT_ONCE]
            new_points = {symbol: column[part] for symbol, column in points.items()}
            shapes, measured, used = (
                _of_total(model, new_points) if number < 0 else _of_category(model, number, new_points, values[part])
            )
            if shapes is None:
                continue
            measured_points = {symbol: column[used] for symbol, column in model.fitted_points.items()}
            repetitions = model.fitted_repetitions[used].astype(np.float64)
            unknown = np.full(len(measured), np.nan)  # spread of repeated runs
            runs = expected_runs(measured, repetitions, unknown, measured_points, new_points, shapes)
            ends = runs.ratio_quantiles(shares)
            bounds[part, 0] = np.minimum(ends[0], values[part])
            bounds[part, 1] = np.maximum(ends[1], values[part])
    return bounds


@dataclass(frozen=True)
class _Category:
    """A category where it is not 0."""

    used: Ints  # measured points
    measured: Floats
    shapes: Shapes | None  # of its formulas that are positive; None if it has too few points, or no such formula
    left_out: Floats  # each point predicted from the others, by each of these formulas


def _category(model: ModgenModel, number: int, new_points: Mapping[str, Floats]) -> _Category:
    measured = np.nan_to_num(model.fitted_values[number])
    used = np.flatnonzero(measured > 0.0)
    measured = measured[used]
    measured_points = {symbol: column[used] for symbol, column in model.fitted_points.items()}
    gathered, left_out = GatheredShapes(), []
    for terms in list(model.candidate_terms(number))[:_MOST_FORMULAS] if len(used) >= _FEWEST else ():
        columns, columns_new = model.finite_terms(terms, measured_points), model.finite_terms(terms, new_points)
        if columns is None or columns_new is None or len(terms) >= len(used):
            continue
        if gathered.about_fit(measured, columns, columns_new, 0.0):
            # Each value predicted from the others by least relative squares.
            design = columns / measured[:, None]
            basis = np.linalg.svd(design / np.linalg.norm(design, axis=0), full_matrices=False)[0]
            residuals = 1.0 - basis @ basis.sum(axis=0)
            leverage = np.minimum((basis**2).sum(axis=1), _MOST_LEVERAGE)
            left_out.append(measured * np.maximum(1.0 - residuals / (1.0 - leverage), 0.0))
    return _Category(used, measured, gathered.shapes(), np.array(left_out))


def _of_category(
    model: ModgenModel, number: int, new_points: Mapping[str, Floats], values: Floats
) -> tuple[Shapes | None, Floats, Ints]:
    """Return the shapes of one category, its measured values that are not 0, and where these are."""
    fitted = _category(model, number, new_points)
    shapes = fitted.shapes
    if shapes is None and len(fitted.used) >= _FEWEST:
        measured_points = {symbol: column[fitted.used] for symbol, column in model.fitted_points.items()}
        columns = model.finite_terms(model.terms, measured_points)
        gathered = GatheredShapes()
        expected = fitted.measured if columns is None else columns @ model.coefficients[:, number]
        gathered.last_resort(fitted.measured, expected, values)
        shapes = gathered.shapes()
    return shapes, fitted.measured, fitted.used


def _of_total(model: ModgenModel, new_points: Mapping[str, Floats]) -> tuple[Shapes | None, Floats, Ints]:
    """Return sums of formulas, the measured totals, and where these are.

    At measured points each category is predicted from its other points: dozens of coefficients fit the totals better
    than they predict them.
    """
    measured = np.isfinite(model.fitted_values)
    every = np.where(measured, model.fitted_values, 0.0)
    total = every.sum(axis=0)
    used = np.flatnonzero(total > 0.0)
    measured_points = {symbol: column[used] for symbol, column in model.fitted_points.items()}
    columns, columns_new = model.finite_terms(model.terms, measured_points), model.finite_terms(model.terms, new_points)
    if len(used) < _FEWEST or columns is None or columns_new is None:
        return None, total[used], used
    chosen = np.maximum(columns @ model.coefficients, 0.0).T * measured[:, used]
    chosen_new = np.maximum(columns_new @ model.coefficients, 0.0).T
    sums, sums_new = np.tile(chosen.sum(axis=0), (_DRAWS, 1)), np.tile(chosen_new.sum(axis=0), (_DRAWS, 1))
    rng = np.random.default_rng(0)
    largest = np.argsort(-every.sum(axis=1), kind="stable")[:_MOST_DRAWN].tolist()
    for number in sorted(largest, key=lambda category: model.names[category]):
        uniform = rng.random(_DRAWS)
        fitted = _category(model, number, new_points)
        if fitted.shapes is None:
            continue
        points = {symbol: column[fitted.used] for symbol, column in model.fitted_points.items()}
        repetitions = model.fitted_repetitions[fitted.used].astype(np.float64)
        weights = shape_weights(fitted.measured, repetitions, np.full(len(fitted.used), np.nan), points, fitted.shapes)
        drawn = np.minimum(np.searchsorted(np.cumsum(weights), uniform), len(weights) - 1)
        place = np.searchsorted(used, fitted.used)
        sums[:, place] += fitted.left_out[drawn] - chosen[number, place]
        sums_new += np.exp(fitted.shapes.log_asked[drawn]) - chosen_new[number]
    gathered = GatheredShapes()
    tilts, tilts_new = (
        np.stack([np.divide(part[k], whole, out=np.zeros_like(whole), where=whole > 0.0) for k in largest[:_TILTED]], 1)
        for part, whole in ((chosen, sums), (chosen_new, sums_new))
    )
    gathered.add(sums, sums_new, tilts, tilts_new, _TILT, 0.0)
    if gathered.shapes() is None:
        gathered.last_resort(total[used], chosen.sum(axis=0), chosen_new.sum(axis=0))
    return gathered.shapes(), total[used], used
