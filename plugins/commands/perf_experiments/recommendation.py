"""Which points to measure next: those that make a model's prediction at a target surest."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec
import numpy as np
import numpy.typing as npt

from perf_experiments import design as designs
from perf_experiments.points import Level, Point, duration_text, is_number, point_text
from perf_experiments.run_records import Run
from perf_statistics.outcomes import DrawnOutcomes
from perf_tables.arguments import levels_at
from perfcore.base import grouped
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, OptionError, UnknownNameError
from perfcore.data.units import seconds_per
from perfcore.models.model import Model
from perfcore.models.points import DesignRows
from perfcore.report import Result

Places = str | Iterable[str] | Mapping[str, Any]

_ROUNDING_VARIANCE = 1e-8  # share of a row outside of what the observations span that rounding leaves
_MOST_RIVALS = 3
_REACH = 2.0  # times the largest measured level, which most people can measure
_ROUNDING = 1e-9

_COVERAGE = 0.95
# Weight of the spread that all points share, in runs: two runs at a point hardly determine its spread.
_SHARED_RUNS = 4.0


def target_point(model: Model, places: Places) -> Point:
    """Return one level of each variable: as named, else of the model's target and of its largest part there."""
    levels = levels_at(model, places, "--target")
    for name, several in levels.items():
        if len(several) > 1:
            raise OptionError(f"--target {name}: one level is expected, not {len(several)}")
    point = {name: designs.level_of(name, one) for name, (one,) in levels.items()}
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
    texts = [candidates] if isinstance(candidates, (str, os.PathLike)) else candidates
    is_file = isinstance(candidates, os.PathLike)
    if is_file or any(isinstance(item, str) and item.lower().endswith(".toml") for item in texts):
        if len(texts) > 1:
            raise OptionError("--candidates: one design, or levels of each variable, are expected")
        candidates = designs.read_design(texts[0])
    if isinstance(candidates, designs.Design):
        points = candidates.chosen()
    elif isinstance(candidates, Mapping) or (texts and all(isinstance(item, str) for item in texts)):
        levels = designs.check_factors(levels_at(model, candidates, "--candidates"))
        # Constraints may name a variable as the model does or as its column is called.
        points = [
            {**{model.variables[symbol]: level for symbol, level in point.items()}, **point}
            for point in designs.full_factorial(levels)
        ]
    else:
        points = list(candidates)
    return designs.meeting(points, constraints)[0]


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

    reporter: ClassVar[str] = "perf_experiments.answers:report_of_recommendation"
    json_kind: ClassVar[str] = "advice"

    def save(self, path: str | os.PathLike[str]) -> list[str]:
        """Write the design; gives what the command line says of it."""
        return designs.save_points(self.design, path)

    def to_dict(self) -> dict[str, Any]:
        choices = [{**vars(choice), "gain_per_s": choice.gain_per_s} for choice in self.choices]
        return {**vars(self), "choices": choices, "rivals": [vars(rival) for rival in self.rivals]}

    @property
    def design(self) -> designs.Design:
        """The chosen points, each with the runs that it has already and the further ones."""
        runs = {tuple(choice.point.items()): (choice.point, choice.in_all) for choice in self.choices}
        return designs.design_of_points(list(runs.values()))


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
            raise UnknownNameError("factor, which is a variable of the model", symbol, point)
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
    points = designs.full_factorial(designs.check_factors(levels))
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
    if not (rivals := model.rivals(columns)):
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


def costs_by_model(model: Model, points: Sequence[Point], seconds_per_unit: float = 1.0) -> Floats:
    """Return the time of one run at each point, as a model predicts it."""
    coordinates = _columns(model, [_named(model, point) for point in points])
    seconds = np.asarray(model.predict(coordinates), dtype=np.float64).reshape(len(points), -1)[:, 0] * seconds_per_unit
    for point, value in zip(points, seconds.tolist(), strict=True):
        if not 0.0 < value < float("inf"):
            raise DataError(f"the model predicts {value:g} s at {point_text(point)}; a positive time is expected")
    return seconds


def costs_by_runs(measured: Sequence[tuple[Point, float]], points: Sequence[Point]) -> Floats:
    """Return the time of one run at each point, from runs of some."""
    if not measured:
        raise DataError("there are no runs to estimate from yet")
    names = list(points[0])
    measured_points = [point for point, _ in measured]
    logs = np.log([seconds for _, seconds in measured])
    features = _features([*measured_points, *points], names)
    # Centred, so that the smallest norm leaves the level free and shrinks the slopes alone.
    middle = features[: len(measured_points)].mean(axis=0)
    slopes = _clear_slopes(features[: len(measured_points)] - middle, logs - logs.mean())
    seconds = np.exp(logs.mean() + (features[len(measured_points) :] - middle) @ slopes)
    for number, point in enumerate(points):
        point_seconds = [value for other, value in measured if dict(other) == dict(point)]
        if point_seconds:
            seconds[number] = np.median(point_seconds)
    return np.asarray(seconds, dtype=np.float64)


def _clear_slopes(features: Floats, logs: Floats) -> Floats:
    """Return slopes of smallest norm (n_features,); those within two standard errors are 0, the least clear first."""
    slopes = np.zeros(features.shape[1])
    used = np.flatnonzero(np.ptp(features, axis=0) > 0.0)
    while len(used):
        chosen = features[:, used]
        slopes[used] = np.linalg.lstsq(chosen, logs, rcond=None)[0]
        freedom = len(logs) - int(np.linalg.matrix_rank(chosen)) - 1
        if freedom <= 0:  # the noise is unknown
            break
        noise = float(np.sum((logs - chosen @ slopes[used]) ** 2)) / freedom
        errors = np.sqrt(noise * np.diag(np.linalg.pinv(chosen.T @ chosen, hermitian=True)))
        unclear = np.abs(slopes[used]) - 2.0 * errors
        worst = int(np.argmin(unclear))
        if unclear[worst] >= 0.0:
            break
        slopes[used[worst]] = 0.0
        used = np.delete(used, worst)
    return slopes


def _features(points: Sequence[Point], names: Sequence[str]) -> Floats:
    """Return logarithms of positive factors, and an indicator for each level of the others (n_points, n_features)."""
    columns = []
    for name in names:
        levels = [point[name] for point in points]
        if all(is_number(level) and float(level) > 0.0 for level in levels):
            columns.append(np.log(np.array(levels, dtype=np.float64)))
        else:
            columns += [np.array([level == one for level in levels], dtype=np.float64) for one in dict.fromkeys(levels)]
    return np.stack(columns, axis=1)


class Budgeted(designs.Design, frozen=True, forbid_unknown_fields=True):
    """A design whose runs have a price, and that is within its budget where there is one."""

    total_s: float = 0.0  # what its runs take, all repetitions
    too_dear_s: dict[str, float] = msgspec.field(default_factory=dict)


def within_budget(design: designs.Design, costs: Floats, budget_s: float | None) -> Budgeted:
    """Leave out the dearest points until the rest fits."""
    points = design.chosen()
    each = costs * np.array(design.counts(points))
    total = float(each.sum())
    dropped: list[int] = []
    if budget_s is not None:
        for number in np.argsort(-each, kind="stable").tolist():
            if total <= budget_s:
                break
            dropped.append(number)
            total -= float(each[number])
        if len(dropped) == len(points):
            cheapest = int(np.argmin(each))
            raise OptionError(
                f"the budget of {duration_text(budget_s)} does not suffice for one point: "
                f"{point_text(points[cheapest])} alone takes {duration_text(float(each[cheapest]))}"
            )
    left_out = [*design.left_out, *(dict(points[number]) for number in dropped)]
    return Budgeted(
        **{**msgspec.structs.asdict(design), "left_out": left_out},
        total_s=float(np.delete(each, dropped).sum()),
        too_dear_s={point_text(points[number]): float(costs[number]) for number in dropped},
    )


@dataclass(frozen=True)
class Needed:
    """One point of a study."""

    point: Point
    runs: int  # that succeeded
    replications: int  # the largest number of a replication, failed ones included: from there a design counts on
    spread: float  # relative standard deviation of a run, its own and the shared one weighed
    precision: float  # half the width of the 95 % interval of the mean now, as a share of the mean
    needed: int  # runs for the precision that is asked for, at most as many as was allowed
    seconds: float  # wall time of one run, the median

    @property
    def more(self) -> int:
        return max(self.needed - self.runs, 0)


@dataclass(frozen=True, repr=False)
class Replications(Result):
    """How many runs the points of a store need."""

    reporter: ClassVar[str] = "perf_experiments.answers:report_of_replications"

    points: tuple[Needed, ...]  # all points of the store, in the order of their levels
    precision: float  # what was asked for: half the width of the 95 % interval of each mean, as a share of the mean
    store: str  # its file

    def save(self, path: str | os.PathLike[str]) -> list[str]:
        """Write the design, where there is one; gives what the command line says of it."""
        if self.design is None:
            return [f"no design is written: all {len(self.points)} points are precise enough"]
        return designs.save_points(self.design, path)

    def to_dict(self) -> dict[str, Any]:
        return {"rows": [{**vars(point), "more": point.more} for point in self.points]}

    @property
    def wanting(self) -> tuple[Needed, ...]:
        """Return the points that need further runs."""
        return tuple(point for point in self.points if point.more)

    @property
    def design(self) -> designs.Design | None:
        """Return the points that need further runs, with all their runs; None if none does."""
        points = [(each.point, each.replications + each.more) for each in self.wanting]
        return designs.design_of_points(points) if points else None


def needed_replications(
    runs: Sequence[Run], precision: float, most: int = 30, value: str | None = None
) -> list[Needed]:
    """Return what each point needs, in the order of the points' levels.

    Run times spread in proportion to themselves, more or less: the relative spread that all points share is estimated
    from all, and each point's own, with the degrees of freedom that it has, is weighed against it as four runs would
    be. Two runs of a point are then enough to say that it needs five, which by themselves they would not be.

    Source: R. Jain, "The art of computer systems performance analysis", 1991, section 13.9.1, with t for the normal
    quantile.
    """
    from scipy.special import stdtrit

    if not 0.0 < precision < 1.0:
        raise OptionError(f"precision {precision:g}: a share between 0 and 1 is expected, 0.02 for 2 %")
    of_points = grouped((designs.point_key(run.point), run) for run in runs).values()
    points = [point_runs for point_runs in of_points if any(run.succeeded for run in point_runs)]
    points.sort(key=lambda point_runs: [(isinstance(level, str), level) for level in point_runs[0].point.values()])
    if not points:
        raise DataError("the store holds no run that counts")
    name = value or next((each for run in runs for each in run.values), "wall_s")
    try:
        values = [np.array([run.value(name) for run in point_runs if run.succeeded]) for point_runs in points]
    except KeyError:
        raise OptionError(f"no value {name!r} in a run; `perf experiment list STORE` shows what was reported") from None
    spreads = [float(v.var(ddof=1) / v.mean() ** 2) if len(v) > 1 and v.mean() else 0.0 for v in values]
    freedom = np.array([len(measured) - 1 for measured in values])
    if not freedom.any():
        raise DataError("no point was measured twice, so the spread is unknown; make two repetitions first")
    shared = float(np.dot(freedom, spreads) / freedom.sum())
    needs = []
    for point_runs, measured, point_spread, own_freedom in zip(points, values, spreads, freedom.tolist(), strict=True):
        total_freedom = own_freedom + min(_SHARED_RUNS, float(freedom.sum()))
        spread = float(np.sqrt((own_freedom * point_spread + (total_freedom - own_freedom) * shared) / total_freedom))
        half_width = float(stdtrit(total_freedom, 0.5 + 0.5 * _COVERAGE)) * spread
        reach = min(half_width / precision, 1e6)
        needs.append(
            Needed(
                point=point_runs[0].point,
                runs=len(measured),
                replications=max(run.replication for run in point_runs),
                spread=spread,
                precision=half_width / float(np.sqrt(len(measured))),
                needed=int(min(max(np.ceil(reach**2 * (1.0 - 1e-12)), 1), most)),
                seconds=float(np.median([run.wall_ns / 1e9 for run in point_runs if run.succeeded])),
            )
        )
    return needs
