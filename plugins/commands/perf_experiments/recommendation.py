"""Which points to measure next: those that make a model's prediction at a target surest."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from perf_experiments.costs import costs_by_model
from perf_experiments.design import (
    Design,
    check_factors,
    design_of_points,
    full_factorial,
    level_of,
    meeting,
    read_design,
    save_points,
)
from perf_experiments.points import Level, Point
from perf_statistics.outcomes import DrawnOutcomes
from perf_tables.arguments import levels_at
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, OptionError, UnknownNameError
from perfcore.data.units import seconds_per
from perfcore.models.model import Model
from perfcore.models.points import DesignRows
from perfcore.results import Result

Places = str | Iterable[str] | Mapping[str, Any]

_ROUNDING_VARIANCE = 1e-8  # share of a row outside of what the observations span that rounding leaves
_MOST_RIVALS = 3
_REACH = 2.0  # times the largest measured level, which most people can measure
_ROUNDING = 1e-9


def target_point(model: Model, places: Places) -> Point:
    """Return one level of each variable: as named, else of the model's target and of its largest part there."""
    levels = levels_at(model, places, "--target")
    for name, several in levels.items():
        if len(several) > 1:
            raise OptionError(f"--target {name}: one level is expected, not {len(several)}")
    point = {name: level_of(name, one) for name, (one,) in levels.items()}
    point = {**{name: int(v) if v == int(v) else v for name, v in model.target.items()}, **point}
    open_levels = {name: names for name, names in model.levels.items() if name not in point}
    if open_levels and set(point) | set(open_levels) == set(model.variables):
        rows = list(itertools.product(*open_levels.values()))
        columns = dict(zip(open_levels, map(list, zip(*rows, strict=True)), strict=True))
        point |= zip(open_levels, rows[int(model.predict({**point, **columns}).argmax())], strict=True)
    return {name: point[name] for name in model.variables if name in point}


def largest_levels(model: Model, places: Places | None) -> dict[str, float]:
    """Return limits by variable."""
    limits = {}
    for name, levels in ({} if places is None else levels_at(model, places, "--max")).items():
        try:
            (limit,) = map(float, levels)
        except (TypeError, ValueError):
            limit = 0.0
        if not limit > 0.0:
            raise OptionError(f"--max {name}: one positive number is expected")
        limits[name] = limit
    return limits


def candidate_points(model: Model, candidates: Any, constraints: Sequence[str]) -> list[Point] | None:
    """Return points that can be measured; None for those that the model knows."""
    if candidates is None:
        if constraints:
            raise OptionError("--constraint needs --candidates")
        return None
    texts = [candidates] if isinstance(candidates, str) else candidates
    if isinstance(candidates, os.PathLike) or any(
        isinstance(item, str) and item.lower().endswith(".toml") for item in texts
    ):
        if not isinstance(candidates, os.PathLike) and len(texts) > 1:
            raise OptionError("--candidates: one design, or levels of each variable, are expected")
        candidates = read_design(candidates if isinstance(candidates, os.PathLike) else texts[0])
    if isinstance(candidates, Design):
        points = candidates.chosen()
    elif isinstance(candidates, Mapping) or (texts and all(isinstance(item, str) for item in texts)):
        levels = check_factors(levels_at(model, candidates, "--candidates"))
        # Constraints may name a variable as the model does or as its column is called.
        points = [
            {**{model.variables[symbol]: level for symbol, level in point.items()}, **point}
            for point in full_factorial(levels)
        ]
    else:
        points = list(candidates)
    return meeting(points, constraints)[0]


def refuse(options: Mapping[str, Any], belongs_to: str) -> None:
    """Refuse options that are given and mean nothing here."""
    flags = sorted(name for name, value in options.items() if value is not None)
    if flags:
        raise OptionError(f"--{flags[0]} is for {belongs_to}")


# The variance of a least-squares prediction, and what one more measurement does to it. A prediction at a target is
# linear in the measured values. For a model of K parts that are fitted separately to the same weighted observations,
# its variance is
#
#     V = sum_i  h_i' S h_i,    h_ik = x_ik' A_k t_k,    A_k = (X_k' X_k)^-1,
#
# where x_ik is row i of part k, t_k the target's row, h_i how much observation i moves each part's prediction, and S
# the covariance of the weighted errors between parts. With one part it is the usual s^2 t' A t. One more row x changes
# A_k by Sherman and Morrison's formula:
#
#     A_k x x' A_k
#     ------------ ,    d = 1 + x' A_k x,    so that h_ik falls by x_ik' A_k x (x' A_k t_k) / d,
#          d
#
# and the new observation itself has h = x' A_k t_k / d. No model is fitted again.


@dataclass(frozen=True)
class PartialFit:
    """The design so far, ready to be asked what each candidate would add."""

    rows: tuple[Floats, ...]
    inverses: tuple[Floats, ...]  # A_k
    target: tuple[Floats, ...]
    candidates: tuple[Floats, ...]
    errors: Floats  # S
    determined: bool  # whether the observations determine the prediction

    @classmethod
    def of(cls, rows: DesignRows) -> PartialFit:
        """Return the design of a model; of the points asked for, the first is the target, the others are candidates.

        Columns are scaled to unit length, since the functions of a model differ by many orders of magnitude.
        """
        measured, inverses, targets, candidates = [], [], [], []
        determined = True
        for design, prediction_rows in zip(rows.measured, rows.asked, strict=True):
            norms = np.linalg.norm(design, axis=0)
            norms[norms == 0.0] = 1.0
            scaled, scaled_rows = design / norms, prediction_rows / norms
            inverse = np.linalg.pinv(scaled.T @ scaled, hermitian=True)
            outside = scaled_rows[0] - scaled_rows[0] @ inverse @ (scaled.T @ scaled)
            determined &= bool(np.linalg.norm(outside) <= _ROUNDING_VARIANCE * np.linalg.norm(scaled_rows[0]))
            measured.append(scaled)
            inverses.append(inverse)
            targets.append(scaled_rows[0])
            candidates.append(scaled_rows[1:])
        return cls(tuple(measured), tuple(inverses), tuple(targets), tuple(candidates), rows.errors, determined)

    @property
    def variance(self) -> float:
        """V, of the weighted prediction at the target."""
        parts = zip(self.rows, self.inverses, self.target, strict=True)
        moved = np.stack([rows @ inverse @ target for rows, inverse, target in parts], axis=1)
        return float(np.einsum("ik,kl,il->", moved, self.errors, moved))

    def variances_with_one(self) -> Floats:
        """V after one more measurement at each candidate (n,)."""
        moved, new = [], []
        for rows, inverse, target, candidates in zip(
            self.rows, self.inverses, self.target, self.candidates, strict=True
        ):
            reach = inverse @ candidates.T  # (P, n): A x
            toward = candidates @ inverse @ target
            grown = 1.0 + np.einsum("np,pn->n", candidates, reach)
            moved.append((rows @ inverse @ target)[:, None] - (rows @ reach) * (toward / grown))
            new.append(toward / grown)
        old = np.einsum("kin,kl,lin->n", np.stack(moved), self.errors, np.stack(moved))
        return np.asarray(old + np.einsum("kn,kl,ln->n", np.stack(new), self.errors, np.stack(new)))

    def with_one(self, number: int) -> PartialFit:
        """Return the design after a measurement at one candidate."""
        rows, inverses = [], []
        for before, inverse, candidates in zip(self.rows, self.inverses, self.candidates, strict=True):
            row = candidates[number]
            reach = inverse @ row
            rows.append(np.vstack([before, row]))
            inverses.append(inverse - np.outer(reach, reach) / (1.0 + row @ reach))
        return PartialFit(tuple(rows), tuple(inverses), self.target, self.candidates, self.errors, self.determined)


@dataclass(frozen=True)
class Choice:
    """One further measurement."""

    point: Point  # by the names of the data's columns
    repetitions: int  # runs that this measurement stands for: as many as the model's measurements have in the middle
    error: float
    gain: float  # share by which this one lowers the variance that the choices before have left
    cost_s: float | None  # of its runs, as the model predicts them; None where the model is not one of time
    in_all: int  # runs of this point, those in the model's data and those of choices up to this one

    @property
    def gain_per_s(self) -> float | None:
        """Share of the variance for a second of runs."""
        return None if self.cost_s is None else self.gain / self.cost_s


@dataclass(frozen=True)
class Disagreement:
    """Another model that fits about as well, and what it says."""

    name: str  # what it is made of; how well it fits
    figure: str
    value: float  # its prediction at the target
    point: Point
    distance: float  # how many standard deviations of a measurement that is


@dataclass(frozen=True, repr=False)
class Recommendation(Result):
    """What to measure next."""

    target: Point
    value: float  # prediction at the target and its standard error
    error: float
    noise: float  # standard deviation of one measurement there, which no further measurement lowers
    unit: str | None
    choices: tuple[Choice, ...]
    # those that disagree most at the target; none where the model was not chosen from others, or its kind does not fit
    # them again
    rivals: tuple[Disagreement, ...]
    is_averaged: bool = False  # over models: no single one is taken as correct

    answers: ClassVar[str] = "perf_experiments.answers:report_of_recommendation"
    json_kind: ClassVar[str] = "advice"

    def save(self, path: str | os.PathLike[str]) -> list[str]:
        """Write the design; gives what the command line says of it."""
        return save_points(self.design, path)

    def to_dict(self) -> dict[str, Any]:
        choices = [{**vars(choice), "gain_per_s": choice.gain_per_s} for choice in self.choices]
        return {**vars(self), "choices": choices, "rivals": [vars(rival) for rival in self.rivals]}

    @property
    def design(self) -> Design:
        """The chosen points, each with the runs that it has already and the further ones."""
        runs = {tuple(choice.point.items()): (choice.point, choice.in_all) for choice in self.choices}
        return design_of_points(list(runs.values()))


def recommend(
    model: Model,
    target: Point,
    candidates: Sequence[Point] | None = None,
    count: int = 1,
    *,
    per_second: bool = False,
    largest: Mapping[str, float] | None = None,
    most_seconds: float | None = None,
) -> Recommendation:
    """Choose further points by the expected reduction of the prediction's variance at a target.

    A linear model's variance does not depend on what will be measured, so the reduction is known beforehand (V. V.
    Fedorov, "Theory of optimal experiments", 1972; the criterion is c-optimality). Several points are chosen greedily:
    each is the best after those before it. The noise is taken to stay what the fit found, and the model to be right;
    where it was chosen from a ranking, `Recommendation.rivals` says how far models that fit about as well are from it.
    """
    target = _named(model, target)
    if candidates is None:
        candidates = _within_reach(model, target, largest or {})
    elif largest:
        raise OptionError("--max is for default candidates; omit it, or --candidates")
    points = [_named(model, point) for point in candidates]
    if not points or count < 1:
        raise OptionError("a candidate and at least one point to choose are needed")
    fixed = {name: level for name, level in target.items() if name in model.levels}
    rows = _design_rows(model, [target, *({**fixed, **point} for point in points)])
    fit: PartialFit | DrawnOutcomes = PartialFit.of(rows) if rows.outcomes is None else rows.outcomes
    if isinstance(fit, PartialFit) and not fit.determined:
        raise DataError(
            "the data do not determine the prediction at the target; first measure points that tell the terms of the "
            "model apart"
        )
    seconds = _seconds(model, rows, points, fixed)
    if seconds is None and (per_second or most_seconds is not None):
        what = "gain per second" if per_second else "--max-cost"
        raise OptionError(f"{what}: the model is not one of time, so the cost of runs is unknown")
    typical = round(float(np.median(rows.repetitions)))
    affordable = np.ones(len(points), dtype=np.bool_)
    if most_seconds is not None and seconds is not None:
        affordable = seconds * typical <= most_seconds
        if not affordable.any():
            cheapest = float(seconds.min()) * typical
            raise OptionError(f"--max-cost: no candidate takes so little; the cheapest takes {cheapest:.3g} s")
    scale = float(rows.scale[0])
    before, choices = fit.variance, list[Choice]()
    run_counts = _runs_at(rows, model, points)
    for _ in range(count):
        after = fit.variances_with_one()
        gains = 1.0 - after / fit.variance if fit.variance > 0.0 else np.zeros(len(points))
        worth = gains / seconds if per_second and seconds is not None else gains
        best = int(np.argmax(np.where(affordable, worth, -np.inf)))
        run_counts[best] += typical
        choices.append(
            Choice(
                point=points[best],
                repetitions=typical,
                error=float(np.sqrt(after[best])) * scale,
                gain=float(gains[best]),
                cost_s=None if seconds is None else float(seconds[best]) * typical,
                in_all=int(run_counts[best]),
            )
        )
        fit = fit.with_one(best)
    value = float(rows.scale[0] if rows.outcomes else np.asarray(model.predict(_columns(model, [target])))[0])
    return Recommendation(
        target=target,
        value=value,
        error=float(np.sqrt(before)) * scale,
        noise=float(np.sqrt(rows.errors.sum())) * scale,
        unit=rows.unit,
        choices=tuple(choices),
        rivals=_rivals(model, rows, fixed, target, points, value),
        is_averaged=rows.outcomes is not None,
    )


def _design_rows(model: Model, points: Sequence[Point]) -> DesignRows:
    rows = model.design_rows(_columns(model, points))
    if rows is None:
        raise OptionError(
            f"a model of the kind {model.kind!r} does not say how sure its terms are; no point can be chosen by it"
        )
    return rows


def _named(model: Model, point: Point) -> dict[str, Level]:
    """Return the point by the names of the columns, without what is no variable; one that is a word may be left out."""
    columns = {**{column: column for column in model.variables.values()}, **model.variables}
    levels = {columns[name]: level for name, level in point.items() if name in columns}
    for symbol, column in model.variables.items():
        if column not in levels and symbol not in model.levels:
            raise UnknownNameError("factor of the point, which the model needs,", symbol, point)
    return levels


def _columns(model: Model, points: Sequence[Point]) -> Any:
    """Return points as columns by the model's symbols; a variable that none of them has is left to the model."""
    columns = {}
    for symbol, column in model.variables.items():
        values = [point.get(column) for point in points]
        if any(value is not None for value in values):
            columns[symbol] = values
    # A model of one variable need not take columns.
    return next(iter(columns.values())) if len(model.variables) == len(columns) == 1 else columns


def _within_reach(model: Model, target: Point, largest: Mapping[str, float]) -> list[Point]:
    """Return combinations of measured levels and of larger ones that can be measured, without the target.

    A model of draws has the target, too, and nothing beyond it, as the next measurement of its fit.
    """
    rows = _design_rows(model, [target])
    if not rows.points:
        raise OptionError(
            "the model does not keep what was measured; name the points that can be: --candidates p=1..64*2"
        )
    numeric = {symbol: values for symbol, values in rows.points.items() if symbol not in model.levels}
    levels = {model.variables[symbol]: np.unique(values).tolist() for symbol, values in numeric.items()}
    limits = {name: _REACH * max(values) for name, values in levels.items()}
    columns = {**{column: column for column in levels}, **{s: c for s, c in model.variables.items() if c in levels}}
    for name, limit in largest.items():
        if name not in columns:
            raise UnknownNameError("variable", name, columns)
        limits[columns[name]] = limit
    for name, values in levels.items():
        level = _REACH * max(values)
        while level <= limits[name] * (1.0 + _ROUNDING):
            values.append(level)
            level *= _REACH
        levels[name] = [value for value in values if value <= limits[name] * (1.0 + _ROUNDING)]
        if not levels[name]:
            raise OptionError(f"--max {name}={limits[name]:g}: all that was measured lies above")
    points = full_factorial(check_factors(levels))
    target_levels = {name: float(level) for name, level in target.items() if name in levels}
    if rows.outcomes is not None:
        measured = {model.variables[s]: max(map(float, v)) for s, v in rows.points.items() if s not in model.levels}
        ends = {name: max(level, measured[name]) for name, level in target_levels.items()}
        return [point for point in points if all(float(point[name]) <= end for name, end in ends.items())]
    return [point for point in points if {name: float(level) for name, level in point.items()} != target_levels]


def _seconds(model: Model, rows: DesignRows, points: Sequence[Point], fixed: Point) -> Floats | None:
    """Return the time of one run at each candidate; None where the model is not one of time."""
    seconds = seconds_per((rows.unit or "").split(" ")[0])
    if seconds is None:
        return None
    if rows.outcomes is not None:
        return rows.scale[1:] * seconds
    of_run = {name: level for name, level in fixed.items() if name != "category"}  # a run measures all of them
    return costs_by_model(model, [{**of_run, **point} for point in points], seconds)


def _runs_at(rows: DesignRows, model: Model, points: Sequence[Point]) -> npt.NDArray[np.int64]:
    """Return runs that the model's data have at each candidate."""
    numbers = {model.variables[symbol]: values for symbol, values in rows.points.items() if symbol not in model.levels}
    counts = np.zeros(len(points), dtype=np.int64)
    for number, point in enumerate(points if numbers else ()):  # the model may not keep them
        same = np.ones(len(rows.repetitions), dtype=np.bool_)
        for name, values in numbers.items():
            same &= values == point[name]
        counts[number] = rows.repetitions[same].sum()
    return counts


def _rivals(
    model: Model, rows: DesignRows, fixed: Point, target: Point, points: Sequence[Point], value: float
) -> tuple[Disagreement, ...]:
    """Return those models near the chosen one that are farthest from it at the target."""
    columns = _columns(model, [target, *({**fixed, **point} for point in points)])
    rivals = model.rivals(columns)
    if not rivals:
        return ()
    predictions = np.asarray(model.predict(columns)).reshape(len(points) + 1, -1)[1:, 0]
    noise = np.sqrt(rows.errors.sum()) * rows.scale[1:]
    disagreements = []
    for rival in sorted(rivals, key=lambda rival: -abs(rival.values[0] - value))[:_MOST_RIVALS]:
        with np.errstate(divide="ignore", invalid="ignore"):
            distances = np.nan_to_num(np.abs(rival.values[1:] - predictions) / noise, posinf=np.inf)
        best = int(np.argmax(distances))
        disagreements.append(
            Disagreement(rival.name, rival.figure, float(rival.values[0]), points[best], float(distances[best]))
        )
    return tuple(disagreements)
