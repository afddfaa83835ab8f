"""What runs cost: the time of each point, what a budget leaves out, and how many runs a precision needs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
import numpy as np

from perf_experiments.design import Design, design_of_points, point_key, save_points
from perf_experiments.points import Point, duration_text, is_number, point_text
from perf_experiments.run_records import Run
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, OptionError, UnknownNameError
from perfcore.results import Result

if TYPE_CHECKING:
    from perfcore.models.model import Model

_COVERAGE = 0.95
# Weight of the spread that all points share, in runs: two runs at a point hardly determine its spread.
_SHARED_RUNS = 4.0


def costs_by_model(model: Model, points: Sequence[Point], seconds_per_unit: float = 1.0) -> Floats:
    """Return the time of one run at each point, as a model predicts it."""
    columns: dict[str, list[Any]] = {}
    for symbol, column in model.variables.items():
        name = next((name for name in (symbol, column) if name in points[0]), None)
        if name is None and symbol in model.levels:  # the model takes the only one, the total, or says what is missing
            continue
        if name is None:
            raise UnknownNameError("factor, which is a variable of the model", symbol, points[0])
        columns[symbol] = [point[name] for point in points]
    coordinates: Any = next(iter(columns.values())) if len(model.variables) == 1 else columns
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


class Budgeted(Design, frozen=True, forbid_unknown_fields=True):
    """A design whose runs have a price, and that is within its budget where there is one."""

    total_s: float = 0.0  # what its runs take, all repetitions
    too_dear_s: dict[str, float] = msgspec.field(default_factory=dict)


def within_budget(design: Design, costs: Floats, budget_s: float | None) -> Budgeted:
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

    answers: ClassVar[str] = "perf_experiments.answers:report_of_replications"

    points: tuple[Needed, ...]  # all points of the store, in the order of their levels
    precision: float  # what was asked for: half the width of the 95 % interval of each mean, as a share of the mean
    store: str  # its file

    def save(self, path: str | os.PathLike[str]) -> list[str]:
        """Write the design, where there is one; gives what the command line says of it."""
        if self.design is None:
            return [f"no design is written: all {len(self.points)} points are precise enough"]
        return save_points(self.design, path)

    def to_dict(self) -> dict[str, Any]:
        return {"rows": [{**vars(point), "more": point.more} for point in self.points]}

    @property
    def wanting(self) -> tuple[Needed, ...]:
        """The points that need further runs."""
        return tuple(point for point in self.points if point.more)

    @property
    def design(self) -> Design | None:
        """The points that need further runs, with all their runs; None where none does."""
        wanting = self.wanting
        return design_of_points([(each.point, each.replications + each.more) for each in wanting]) if wanting else None


def runs_for_precision(spread: float, freedom: float, precision: float, most: int) -> int:
    """Return the smallest number of runs whose mean is known to a relative precision.

    Source: R. Jain, "The art of computer systems performance analysis", 1991, section 13.9.1, with t for the normal
    quantile.
    """
    reach = _half_width(spread, freedom) / precision
    return int(min(max(np.ceil(min(reach, 1e6) ** 2 * (1.0 - 1e-12)), 1), most))


def needed_replications(
    runs: Sequence[Run], precision: float, most: int = 30, value: str | None = None
) -> list[Needed]:
    """Return what each point needs, in the order of the points' levels.

    Run times spread in proportion to themselves, more or less: the relative spread that all points share is estimated
    from all, and each point's own, with the degrees of freedom that it has, is weighed against it as four runs would
    be. Two runs of a point are then enough to say that it needs five, which by themselves they would not be.
    """
    if not 0.0 < precision < 1.0:
        raise OptionError(f"precision {precision:g}: a share between 0 and 1 is expected, 0.02 for 2 %")
    grouped: dict[object, list[Run]] = {}
    for run in runs:
        grouped.setdefault(point_key(run.point), []).append(run)
    points = [point_runs for point_runs in grouped.values() if any(run.succeeded for run in point_runs)]
    points.sort(key=lambda point_runs: [(isinstance(level, str), level) for level in point_runs[0].point.values()])
    if not points:
        raise DataError("the store holds no run that counts")
    name = value or next((each for run in runs for each in run.values), "wall_s")
    try:
        values = [np.array([run.value(name) for run in point_runs if run.succeeded]) for point_runs in points]
    except KeyError:
        raise OptionError(f"no value {name!r} in a run; `perf experiment list STORE` shows what was reported") from None
    spreads = [
        float(measured.var(ddof=1) / measured.mean() ** 2) if len(measured) > 1 and measured.mean() else 0.0
        for measured in values
    ]
    freedom = np.array([len(measured) - 1 for measured in values])
    if not freedom.any():
        raise DataError("no point was measured twice, so the spread is unknown; make two repetitions first")
    shared = float(np.dot(freedom, spreads) / freedom.sum())
    needs = []
    for point_runs, measured, point_spread, own_freedom in zip(points, values, spreads, freedom.tolist(), strict=True):
        total_freedom = own_freedom + min(_SHARED_RUNS, float(freedom.sum()))
        spread = float(np.sqrt((own_freedom * point_spread + (total_freedom - own_freedom) * shared) / total_freedom))
        needs.append(
            Needed(
                point=point_runs[0].point,
                runs=len(measured),
                replications=max(run.replication for run in point_runs),
                spread=spread,
                precision=_half_width(spread, total_freedom) / float(np.sqrt(len(measured))),
                needed=runs_for_precision(spread, total_freedom, precision, most),
                seconds=float(np.median([run.wall_ns / 1e9 for run in point_runs if run.succeeded])),
            )
        )
    return needs


def _half_width(spread: float, freedom: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + 0.5 * _COVERAGE)) * spread
