"""What the views of models by category look at, the same for one factor (`LcaModel`) and several (`ModgenModel`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_formulas.formula import renamed
from perf_lost_cycles.default_models.sets import formula_over
from perf_lost_cycles.lca.model import LcaModel
from perf_lost_cycles.modgen.forms import weighted_r2
from perf_lost_cycles.modgen.model import Generation, ModgenModel
from perf_views.contents import Cell, Link, ViewPath
from perfcore.base.arrays import Floats, Ints

CATEGORY, OVER, FORMULAE = "category", "over", "formulae"

_DARKEST = 0.5  # a model that leaves half of the variance is as bad as none
SHADES = f"R^2 centered; color scale {_DARKEST:g} (dark) to 1 (bright); - = no variation"


def category_path(category: str) -> ViewPath:
    """The view of a category's model."""
    return (CATEGORY, category)


def fitting_path(category: str, symbol: str) -> ViewPath:
    """The view of all lines of a category over a factor."""
    return (CATEGORY, category, OVER, symbol)


def fit_path(category: str, symbol: str, line: int) -> ViewPath:
    """The view of one of them."""
    return (CATEGORY, category, OVER, symbol, str(line))


def formulae_path(category: str, symbol: str) -> ViewPath:
    """The view that changes what is fitted to them."""
    return (CATEGORY, category, OVER, symbol, FORMULAE)


def r2_text(value: float | None) -> str:
    """A determination coefficient as it is shown."""
    return "-" if value is None else f"{value:.4f}"


def r2_cell(value: float | None, link: Link | None = None) -> Cell:
    """A determination coefficient with its colour."""
    shade = None if value is None else min(max((value - _DARKEST) / (1.0 - _DARKEST), 0.0), 1.0)
    return Cell(r2_text(value), link, shade)


_ALL, _LEFT_OUT = "all points", "leave-one-out"


@dataclass(frozen=True)
class Instance:
    """One line of points along a factor, the others held."""

    label: str  # what is held, such as ``P=24``
    points: Ints
    r2: float | None  # centered, of the form that was chosen on it; None where the category is constant along it
    form: str  # that form; empty where none could be judged


@dataclass(frozen=True)
class Candidate:
    """A default model fitted along one line."""

    formula: str  # of the default model
    text: str  # the formula with its factor as texts call it
    origin: str
    terms: tuple[str, ...]  # in the factor's symbol
    coefficients: tuple[float | None, ...]
    standard_errors: tuple[float | None, ...]
    r2: float | None  # centered; of the fit, and of predicting each point from the others
    r2_leave_one_out: float | None
    is_chosen: bool
    note: str = ""  # what stands against the fit


class ModgenSubject:
    """A model by category over several factors, down to each default model on each line."""

    spread: Floats | None = None

    def __init__(self, model: ModgenModel) -> None:
        self._model = model
        self.points = {symbol: np.array(levels) for symbol, levels in model.observations.points.items()}
        self.values = np.array(model.observations.values, dtype=np.float64)
        self.total = np.array(model.observations.total)
        self.fitted = model.fitted

    @property
    def model(self) -> ModgenModel:
        return self._model

    @property
    def names(self) -> Mapping[str, str]:
        """What texts call each factor."""
        return self._model.shown_names

    def averages(self) -> dict[str, list[float | None]]:
        """R^2 of each category (C,): by factor over its lines, and of the models of all points."""
        fits = self._model.categories
        chosen = {_ALL: [fit.r2_centered for fit in fits], _LEFT_OUT: [fit.r2_leave_one_out for fit in fits]}
        return {**self._model.overview(), **chosen}

    def formulas(self) -> tuple[str, ...]:
        """The model of each category as a person reads it (C,)."""
        return tuple(fit.text(self.names) for fit in self._model.categories)

    def generation(self, category: str) -> tuple[Generation, int]:
        """How a category came about, and its place among the categories of that."""
        number = self._model.names.index(category)
        history = next(each for each in self._model.generations if number in each.categories)
        return history, history.categories.index(number)

    def instances(self, category: str, symbol: str) -> tuple[Instance, ...]:
        """The lines of a category over a factor."""
        generation, place = self.generation(category)
        factor = next(each for each in generation.factors if each.symbol == symbol)
        return tuple(
            Instance(
                label=held_text(self, self.points, line[0], symbol) or "all points",
                points=np.array(line),
                r2=r2[place],
                form=form_text(generation.forms[chosen[place]], self.names) if chosen[place] >= 0 else "",
            )
            for line, chosen, r2 in zip(factor.lines, factor.chosen, factor.r2, strict=True)
        )

    def candidates(self, category: str, symbol: str, line: int) -> tuple[Candidate, ...]:
        """The default models on one line, the chosen one first, then the best."""
        points = self.instances(category, symbol)[line].points
        values = self.values[self._model.names.index(category), points]
        root = np.array(self._model.root_weights)[points]
        fits = [
            Candidate(
                candidate.formula,
                formula_over(candidate.formula, candidate.terms, symbol, self.names[symbol]),
                candidate.origin,
                candidate.terms,
                candidate.coefficients,
                candidate.standard_errors,
                candidate.r2,
                None
                if candidate.leave_one_out is None
                else _known(weighted_r2(np.array(candidate.leave_one_out), values, root)),
                candidate.chosen,
            )
            for candidate in self._model.instance(category, symbol, line)
        ]
        return tuple(sorted(fits, key=_order))


class LcaSubject:
    """A model over one factor: each category has one line, which is all of its points."""

    def __init__(self, model: LcaModel) -> None:
        self._model = model
        self.points = model.fitted_points
        self.values = model.fitted_values
        self.spread: Floats | None = np.array([fit.spread for fit in model.fits], dtype=np.float64)
        self.total = np.array(model.total)
        self.fitted = np.ones(len(model.total), dtype=np.bool_)

    @property
    def model(self) -> LcaModel:
        return self._model

    @property
    def names(self) -> Mapping[str, str]:
        """What texts call each factor."""
        return self._model.shown_names

    def averages(self) -> dict[str, list[float | None]]:
        """R^2 of each category (C,): by factor over its lines, and of the models of all points."""
        chosen = [fit.model for fit in self._model.fits]
        return {self._model.factor: [one.r2 for one in chosen], _LEFT_OUT: [one.r2_leave_one_out for one in chosen]}

    def formulas(self) -> tuple[str, ...]:
        """The model of each category as a person reads it (C,)."""
        return tuple(fit.model.text(self._model.factor_name) for fit in self._model.fits)

    def instances(self, category: str, symbol: str) -> tuple[Instance, ...]:
        """The lines of a category over a factor."""
        number = self._model.names.index(category)
        chosen = self._model.fits[number].model
        held_factors = ", ".join(f"{name}={value:g}" for name, value in self._model.held.items())
        points = np.flatnonzero(np.isfinite(self.values[number]))
        form = form_text(tuple(map(self._model.in_factor, chosen.terms)), self.names)
        return (Instance(held_factors or "all points", points, chosen.r2, form),)

    def candidates(self, category: str, symbol: str, line: int) -> tuple[Candidate, ...]:
        """The default models on one line, the chosen one first, then the best."""
        fits = self._model.fits[self._model.names.index(category)].candidates
        return tuple(
            Candidate(
                one.formula,
                one.form(self._model.factor_name),
                one.origin,
                tuple(map(self._model.in_factor, one.terms)),
                one.coefficients,
                one.standard_errors,
                one.r2,
                one.r2_leave_one_out,
                number == 0,
                one.note,
            )
            for number, one in enumerate(fits)
        )


Subject = ModgenSubject | LcaSubject


def subject_of(model: ModgenModel | LcaModel) -> Subject:
    """What the views look at."""
    return ModgenSubject(model) if isinstance(model, ModgenModel) else LcaSubject(model)


def form_text(terms: Sequence[str], names: Mapping[str, str]) -> str:
    """A form without its constants, its factors as texts call them."""
    shown = [renamed(term, names) for term in terms]
    return " + ".join(f"({term})" if " " in term else term for term in shown)


def held_text(subject: Subject, points: Mapping[str, Floats], index: int, varied: str = "") -> str:
    """The factors but the varied one, at one of the points: those that are held on a line, or all."""
    held = {symbol: float(values[index]) for symbol, values in points.items() if symbol != varied}
    return ", ".join(f"{subject.names[symbol]}={value:g}" for symbol, value in held.items())


def _known(value: npt.ArrayLike) -> float | None:
    number = float(np.asarray(value))
    return number if np.isfinite(number) else None


def _order(one: Candidate) -> tuple[bool, float]:
    r2 = one.r2_leave_one_out
    return not one.is_chosen, float("inf") if r2 is None else -r2
