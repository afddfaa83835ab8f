"""The fitter `forecast`: distributions of a series' next values, by whichever predictors have scored best."""

from __future__ import annotations

import contextlib
import hashlib
import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
import numpy as np

import perfcore
from perf_forecast.options import COVERAGE, JUDGED_COVERAGES, LEVELS, NOTEWORTHY, Bounds, ForecastOptions, support_of
from perf_tables.arguments import parse_duration
from perf_tables.series import check_durations, take_window
from perfcore import Series, UtilizationCurve
from perfcore.base import progress
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, OptionError, UnknownNameError
from perfcore.contracts import Fitter
from perfcore.data.units import NANOSECONDS, nanoseconds_per
from perfcore.hooks.options import to_dict
from perfcore.models.model import Model, Origin, Parameter
from perfcore.models.points import by_symbol, check_coverage, of_one_length

if TYPE_CHECKING:
    from perfcore.stochastic import StochasticValue


_SEPARATED = re.compile(r"(.+) \((\S+) (.+)\)")  # "cpu (host a)": quantity, column, value
_FEWEST = 3  # samples: two errors, the least that have a spread
_KEPT = 3000  # samples whose forecasts are looked at: those that judge, and the thousand before each of them
# Samples from which seasons and predictors are learned: a day of a sample every two seconds. Earlier ones say little of
# the next, and time and memory would grow with them.
_LEARNED = 43_200
_FAR, _STEPS_TO_FAR = 240, 60  # steps; farther ahead means of so many samples are forecast that it takes fewer
# And every 12 from there: what is chosen for one serves those up to the next.
_CHOSEN_STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 24)


class Ahead(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The value some steps ahead."""

    quantiles: tuple[float, ...]  # at `perf_forecast.options.LEVELS`, not decreasing
    chosen: tuple[str, ...]  # the predictors, each with what is carried over from its past, that are mixed evenly
    judged: int  # past forecasts that had no say in what was chosen to make them
    judged_at: int  # how many steps ahead these looked, which is as many as here or somewhat fewer
    held: tuple[float, ...] | None  # share of them whose value was within the central 50, 80 and 95% intervals
    crps: float | None  # their mean continuous ranked probability score, in the unit of the values
    # Mean absolute errors of their medians, of the last value, and of the value one season before if there is one.
    errors: tuple[float, ...] | None = None


class ForecastModel(Model, frozen=True, forbid_unknown_fields=True):
    """The next values of a series."""

    column: str  # what is forecast
    time_unit: str  # of `last_time` and `step`
    last_time: float  # of the last sample
    step: float  # median time between samples
    n_samples: int  # with a value, and without
    n_missing: int
    lower: float | None  # bounds that no value is beyond
    upper: float | None
    support: str  # where these bounds are from
    seasons: tuple[int, ...]  # after how many samples the series repeats itself; empty if it does not
    ahead: tuple[Ahead, ...]  # 1, 2, ... steps ahead
    averaged: int = 1  # samples of which each value is the mean
    at: int = 1  # steps ahead of the answer
    naive_error: float | None = None  # mean absolute difference from one value to the next, in units of which MASE is
    assumed: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET  # by the reader, such as the unit of times

    reporter: ClassVar[str] = "perf_forecast.answers:report_of"
    kind: ClassVar[str] = "forecast"
    variables: ClassVar[Mapping[str, str]] = {"steps": "steps"}
    bounds_meaning: ClassVar[str] = "of the value itself, from what the predictors' past says of so many steps"

    def __post_init__(self) -> None:
        if not self.ahead:
            raise ValueError("a forecast is of one step at least")
        if self.time_unit not in NANOSECONDS:
            raise ValueError(f"time_unit {self.time_unit!r} is none of {', '.join(NANOSECONDS)}")
        for steps, ahead in enumerate(self.ahead, start=1):
            quantiles = list(ahead.quantiles)
            is_finite = len(quantiles) == len(LEVELS) and all(map(math.isfinite, quantiles))
            if not is_finite or quantiles != sorted(quantiles):
                raise ValueError(
                    f"quantiles {steps} steps ahead: {len(LEVELS)} numbers in increasing order are expected"
                )
            if ahead.held is not None and len(ahead.held) != len(JUDGED_COVERAGES):
                raise ValueError(f"held {steps} steps ahead: {len(JUDGED_COVERAGES)} shares are expected")
            if not ahead.chosen:
                raise ValueError(f"{steps} steps ahead: what was chosen is missing")

    @property
    def variable_units(self) -> Mapping[str, str]:
        return {"steps": f"steps of {self.step:.15g} {self.time_unit} after {self.last_time:.15g} {self.time_unit}"}

    @property
    def ranges(self) -> Mapping[str, tuple[float, float]]:
        return {"steps": (1, len(self.ahead))}

    @property
    def target(self) -> Mapping[str, float]:
        return {"steps": self.at}

    def mases(self, steps: int) -> tuple[float, ...]:
        """Return the mean absolute scaled errors of the forecast, of persistence and of a seasonal naive one.

        Source: R. J. Hyndman and A. B. Koehler, "Another look at measures of forecast accuracy", 2006.
        """
        errors = self.ahead[steps - 1].errors
        return tuple(error / self.naive_error for error in errors) if errors and self.naive_error else ()

    @property
    def forecast(self) -> float:
        """The median of the next value."""
        return float(self.predict([1])[0])

    def predict_array(self, points: Any, interval: float | None = None) -> Floats:
        rows = [self._quantiles(steps) for steps in np.atleast_1d(np.asarray(points, dtype=np.float64))]
        if interval is None:
            return np.array([np.interp(0.5, LEVELS, row) for row in rows])
        check_coverage(interval)
        levels = np.round([0.5, 0.5 - 0.5 * interval, 0.5 + 0.5 * interval], 12)  # a bound stays one
        return np.array([np.interp(levels, LEVELS, row) for row in rows])

    def value(self, steps: int) -> StochasticValue:
        """The value so many steps ahead as a stochastic value: a histogram, or a point."""
        from perfcore.stochastic import as_value, from_dict

        edges = self._quantiles(steps)
        if edges[0] == edges[-1]:
            return as_value(float(edges[0]))
        return from_dict({"representation": "histogram", "edges": edges.tolist(), "masses": np.diff(LEVELS).tolist()})

    def _quantiles(self, steps: float) -> Floats:
        if not 1 <= steps <= len(self.ahead) or steps != int(steps):
            raise OptionError(
                f"steps {steps:g}: whole numbers from 1 to {len(self.ahead)} are expected; "
                "fit with a longer --horizon, which needs as many samples, to look farther ahead"
            )
        return np.array(self.ahead[int(steps) - 1].quantiles)

    def likeliest(self, steps: int) -> tuple[float, float]:
        """The single value with the largest probability so many steps ahead, and how much; NaN and 0 where none
        has.
        """
        quantiles = self._quantiles(steps)
        values, first, counts = np.unique(quantiles, return_index=True, return_counts=True)
        probabilities = np.array(LEVELS)[first + counts - 1] - np.array(LEVELS)[first]
        most = int(probabilities.argmax())
        return (float(values[most]), float(probabilities[most])) if probabilities[most] > 0.0 else (math.nan, 0.0)

    def remarks(self, points: Any) -> list[str]:
        """Of steps that no past forecast judged: that they were not; and of values with a probability of their own."""
        steps_ahead = np.atleast_1d(np.asarray(points, dtype=np.float64)).astype(int).tolist()
        lines = [""] * len(steps_ahead)
        for place, steps in enumerate(steps_ahead):
            value, probability = self.likeliest(steps)
            if not self.ahead[steps - 1].judged:
                lines[place] = f"too few samples to judge forecasts of {steps} steps"
            elif NOTEWORTHY <= probability < 1.0:
                lines[place] = f"{value:.6g} with probability {probability:.2g}"
        return lines if any(lines) else []

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        middle, lower, upper = self.predict_array([1], 0.5)[0]
        return Parameter("forecast", float(middle)), Parameter("interquartile_range", float(upper - lower))

    @property
    def statistics(self) -> dict[str, float | int | str | None]:
        following = self.ahead[0]
        return {
            "predictor": following.chosen[0],
            "n_samples": self.n_samples,
            "n_missing": self.n_missing,
            "seasons": ", ".join(map(str, self.seasons)) or None,
            "judged": following.judged,
            "crps": following.crps,
            **{
                f"held_by_{coverage * 100:.0f}": None if following.held is None else following.held[place]
                for place, coverage in enumerate(JUDGED_COVERAGES)
            },
        }

    @property
    def formula(self) -> str:
        middle, lower, upper = self.predict_array([1], COVERAGE)[0]
        return f"{self.column} = {middle:.6g} ({COVERAGE:.0%}: {lower:.6g} .. {upper:.6g})"


class SeriesForecasts(Model, frozen=True, forbid_unknown_fields=True):
    """The next values of several series of one quantity."""

    by: str  # what separates the series, such as ``host``
    forecasts: dict[str, ForecastModel]  # by its values
    failures: dict[str, str]  # series without a forecast, and why

    reporter: ClassVar[str] = "perf_forecast.answers:report_of_several"
    kind: ClassVar[str] = "forecasts"
    bounds_meaning: ClassVar[str] = ForecastModel.bounds_meaning

    def __post_init__(self) -> None:
        if not self.forecasts:
            raise ValueError("the forecast of one series at least is expected")

    @property
    def variables(self) -> Mapping[str, str]:
        return {"steps": "steps", self.by: self.by}

    @property
    def levels(self) -> Mapping[str, tuple[str, ...]]:
        return {self.by: tuple(self.forecasts)}

    @property
    def ranges(self) -> Mapping[str, tuple[float, float]]:
        return {"steps": (1, min(len(model.ahead) for model in self.forecasts.values()))}

    @property
    def target(self) -> Mapping[str, float]:
        return next(iter(self.forecasts.values())).target

    @property
    def unfitted(self) -> Mapping[str, str]:
        return self.failures

    def predict_array(self, points: Any, interval: float | None = None) -> Floats:
        columns = of_one_length(by_symbol(points, {"steps": "steps"}, {self.by}))
        rows = []
        for steps, name in zip(columns["steps"].tolist(), columns[self.by].astype(np.str_).tolist(), strict=True):
            if name not in self.forecasts:
                raise UnknownNameError(self.by, name, self.forecasts)
            rows.append(self.forecasts[name].predict_array([steps], interval)[0])
        return np.array(rows)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(
            msgspec.structs.replace(parameter, name=f"{name}: {parameter.name}")
            for name, model in self.forecasts.items()
            for parameter in model.parameters
        )


class ForecastFitter(Fitter):
    """Forecasts the next values of a series, each as a distribution.

    Choose it where a run will start soon and what a machine does now says more than what it did on average. Many
    simple predictors compete at each number of steps ahead (last value, means, medians, trimmed means, smoothings,
    damped trends, seasons that the samples show, autoregressions), together with what is carried over from their
    past: all of their errors, those made when the forecast was much the same, or what followed then. The three that
    scored best on samples that were held out are mixed, and the mixture is made as wide as held what it says there.

    Missing samples are left out; a step is the time between samples.

    Sources: R. Wolski, "Dynamically Forecasting Network Performance Using the Network Weather Service", 1998; those
    named in `perf_forecast.predictors`.

    Examples
    --------
    >>> series = Series([0, 1, 2, 3, 4], {"cpu": [0.5, 0.5, 0.5, 0.5, 0.5]}, "s")
    >>> perfcore.fit(series, fitter="forecast").predict([1, 2])
    array([0.5, 0.5])
    """

    Options = ForecastOptions
    model_type = ForecastModel
    takes = (Series, UtilizationCurve)

    @classmethod
    def facts(cls, data: Any) -> dict[str, Any]:
        columns = [None, *(data.columns if isinstance(data, Series) else ())]
        for column in columns:
            with contextlib.suppress(DataError), progress.collected():
                if len(take_window(data, ForecastOptions().window, column).values) >= _FEWEST:
                    match = _SEPARATED.fullmatch(column or next(iter(getattr(data, "columns", ())), ""))
                    chosen = "" if column is None else f" --column {shlex.quote(column)}"
                    chosen = f" --by {match[2]}" if match else chosen
                    return {"next": [f"--fitter forecast{chosen} --plot forecast.png"]}
        return {"next": []}

    def fit(self, data: Any, options: ForecastOptions, **parts: Any) -> ForecastModel | SeriesForecasts:
        if options.by is None:
            return self._forecast(data, options)
        forecasts: dict[str, ForecastModel] = {}
        failures: dict[str, str] = {}
        for name, column in _columns_by(data, options.by, options.column).items():
            try:
                forecasts[name] = self._forecast(data, replace(options, column=column, by=None))
            except DataError as error:
                failures[name] = str(error)
        if not forecasts:
            raise DataError(next(iter(failures.values())))
        digest = hashlib.sha256("".join(model.origin.fingerprint for model in forecasts.values()).encode())
        fingerprint = f"sha256:{digest.hexdigest()[:32]}"
        origin = Origin("forecast", to_dict(options), data.source, fingerprint, perfcore.__version__)
        return SeriesForecasts(origin, options.by, forecasts, failures)

    def _forecast(self, data: Any, options: ForecastOptions) -> ForecastModel:
        window = take_window(data, options.window, options.column)
        values = window.values
        if len(values) < _FEWEST:
            raise DataError(
                f"{window.source}: {len(values)} samples of {window.column!r}; a forecast needs {_FEWEST} or more, "
                "since its spread comes from past errors"
            )
        try:
            if options.within == "auto":
                check_durations(values, window.column, window.source)
            bounds, reason = support_of(values, options.within, f"{window.column} {Path(window.source).name}")
        except DataError as error:
            raise DataError(f"{window.source}: {window.column!r}: {error}") from None
        # Imported here, with pandas and scipy: help and completion ask this module for its options only.
        from perf_forecast.predictors import find_seasons

        step = float(np.median(np.diff(window.times)))
        target, factor = _steps_of(options.at, step * nanoseconds_per(window.time_unit))
        if factor > 1:
            values = _means_of(values, factor)
            progress.note(f"{window.source}: means over {factor} samples are forecast, {target} steps ahead")
        if len(values) > _LEARNED:
            values = values[-_LEARNED:]
            progress.note(f"{window.source}: the last {_LEARNED:,} samples are looked at")
        most = min(len(values), _KEPT) - 2
        if most < target:
            raise DataError(
                f"{window.source}: --at {options.at} is {target} steps, and {len(values)} samples tell {most}"
            )
        seasons, horizon = find_seasons(values), min(max(options.horizon, target), most)
        if horizon < options.horizon != ForecastOptions().horizon:
            told_by = (
                f"{len(values)} samples" if len(values) < _KEPT else f"the last {_KEPT} samples, which are looked at,"
            )
            progress.note(f"{window.source}: {told_by} tell {horizon} steps ahead, and not {options.horizon}")
        digest = hashlib.sha256(f"{window.column} {window.time_unit}".encode())
        digest.update(np.ascontiguousarray(window.times).tobytes())
        digest.update(np.ascontiguousarray(window.values).tobytes())
        return ForecastModel(
            origin=Origin(
                "forecast", to_dict(options), window.source, f"sha256:{digest.hexdigest()[:32]}", perfcore.__version__
            ),
            column=window.column,
            time_unit=window.time_unit,
            last_time=float(window.times[-1]),
            step=step * factor,
            n_samples=len(window.values),
            n_missing=window.missing,
            lower=None if math.isinf(bounds[0]) else bounds[0],
            upper=None if math.isinf(bounds[1]) else bounds[1],
            support=reason,
            seasons=seasons,
            ahead=tuple(distributions_ahead(values, range(1, horizon + 1), seasons, bounds)),
            averaged=factor,
            at=target,
            naive_error=float(np.abs(np.diff(values)).mean()),
            assumed=tuple(note for note in data.notes if "; if not: " in note) or msgspec.UNSET,
        )


def _columns_by(data: Any, by: str, column: str | None) -> dict[str, str]:
    """Return the columns of the series that a column of the table separated, by its values."""
    names = [match for name in getattr(data, "columns", ()) if (match := _SEPARATED.fullmatch(name))]
    matches = [match for match in names if match[2] == by and column in (None, match[1], match[0])]
    if not matches:
        raise UnknownNameError("column that separates the series", by, {match[2] for match in names})
    return {match[3]: match[0] for match in matches if match[1] == matches[0][1]}


def _steps_of(at: str | None, step_ns: float) -> tuple[int, int]:
    """Return how many steps ahead the answer looks, 1 by default, and over how many samples a step is a mean."""
    if at is None:
        return 1, 1
    steps = max(1, round(parse_duration(at[1:]) / step_ns))
    factor = 1 if steps <= _FAR else math.ceil(steps / _STEPS_TO_FAR)
    return round(steps / factor), factor


def _means_of(values: Floats, count: int) -> Floats:
    """Return means of so many values after each other, the last of which ends with the last value."""
    means: Floats = values[len(values) % count :].reshape(-1, count).mean(axis=1)
    return means


def distributions_ahead(
    values: Floats, steps_ahead: Sequence[int], seasons: Sequence[int], bounds: Bounds
) -> Iterator[Ahead]:
    """Yield the distribution of the value so many steps after the last.

    Predictors are chosen again every few steps. Between two choices their quantiles go over into one another.
    """
    from perf_forecast.predictors import PERSISTENCE, Mixer, forecasts_ahead, resolution_of

    first, horizon = max(0, len(values) - _KEPT), steps_ahead[-1]
    recent, paths = values[first:], forecasts_ahead(values, horizon, seasons, first)
    resolution = resolution_of(recent)
    selected = {steps_ahead[0], *_CHOSEN_STEPS, *range(_CHOSEN_STEPS[-1], horizon + 1, 12)}
    baselines = [PERSISTENCE, *(f"season of {length}, mean of 1" for length in seasons[-1:])]

    def mixer(steps: int) -> Mixer:
        outcomes = np.append(recent[steps:], np.full(steps, np.nan))
        return Mixer({name: path[steps - 1] for name, path in paths.items()}, outcomes, steps, resolution, bounds)

    choices = {steps: mixer(steps).choose(baselines) for steps in steps_ahead if steps in selected}
    for steps in steps_ahead:
        before = max(chosen for chosen in choices if chosen <= steps)
        after = min((chosen for chosen in choices if chosen >= steps), default=before)
        choice, mixed = choices[before], mixer(steps)
        quantiles = mixed.now(choice)
        if after > before:
            share = (steps - before) / (after - before)
            quantiles = (1.0 - share) * quantiles + share * mixed.now(choices[after])
        members = [*choice.candidates, *(choices[after].candidates if after > before else ())]
        yield Ahead(
            quantiles=tuple(quantiles.tolist()),
            chosen=tuple(dict.fromkeys(candidate.name for candidate in members)),
            judged=choice.judged,
            judged_at=before,
            held=choice.held if choice.judged else None,
            crps=choice.crps if choice.judged else None,
            errors=tuple(choice.errors.values()) if choice.judged else None,
        )


def mean_ahead(values: Floats, count: int, bounds: Bounds) -> tuple[Floats, Floats]:
    """Return levels and quantiles of the mean of the next values, so many, given all before them.

    What is carried over from the past are errors of, and outcomes after, forecasts of such means: blocks of so many
    values that began when the forecast was much as it is now.
    """
    from perf_forecast.predictors import LEVELS, Mixer, find_seasons, forecasts_ahead, resolution_of

    if len(values) < max(_FEWEST, 2 * count + 1):
        raise DataError(
            f"a run of {count} samples needs {max(_FEWEST, 2 * count + 1)} samples before it: {len(values)}"
        )
    factor = max(1, count // _STEPS_TO_FAR)
    values, steps = (_means_of(values, factor) if factor > 1 else values), round(count / factor)
    values = values[-_LEARNED:]
    first = max(0, len(values) - _KEPT)
    paths = forecasts_ahead(values, steps, find_seasons(values), first)
    sums = np.concatenate([[0.0], np.cumsum(values[first:])])
    outcomes = np.append((sums[steps + 1 :] - sums[1:-steps]) / steps, np.full(steps, np.nan))
    forecasts = {name: path.mean(axis=0) for name, path in paths.items()}
    resolution = resolution_of(values[first:]) / steps
    mixer = Mixer(forecasts, outcomes, steps, resolution, bounds)
    return LEVELS, mixer.now(mixer.choose())
