"""What a forecast answers: what comes next, how sure that is, and which simpler forecast it beats."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_forecast.options import COVERAGE, JUDGED_COVERAGES, NOTEWORTHY
from perf_tables.series import take_window
from perfcore.base.arrays import Floats
from perfcore.base.errors import listing
from perfcore.data.units import nanoseconds_per, readable
from perfcore.report import RANGE, Axis, Band, Column, Figure, Line, Note, Plot, Report, Table

if TYPE_CHECKING:
    from perf_forecast.model import Ahead, ForecastModel, SeriesForecasts

_MOST_DRAWN = 120  # samples before the forecast in a plot: more would squeeze the forecast
_MOST_SERIES = 6  # drawn side by side
_BANDS = (0.95, 0.8, 0.5)
_OPACITY = 0.15  # of each
_BASELINES = ("persistence", "the value one season before")
_UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"))  # seconds
_EQUAL = 0.01  # share of the error by which a forecast must be better


def report_of(model: ForecastModel, data: Any = None) -> Report:
    """Report the value at the target, its interval, and by how much its error is below that of simpler forecasts."""
    figure, text = _stated("forecast", model.predict_array([model.at], COVERAGE)[0])
    figures = [figure]
    column = model.column if model.column not in ("value", "values") else Path(model.origin.source).stem
    answer = f"{column} in {_later(model)}: {text}"
    notes, mases = [Note("Assumed", text) for text in model.assumed or ()], model.mases(model.at)
    if mases:
        figures += [
            Figure("MASE", mases[0]),
            *(Figure(f"MASE of {n}", v) for n, v in zip(_BASELINES, mases[1:], strict=False)),
        ]
        gain, best = _gain(mases)
        against = f"(MASE {mases[0]:.2f} against {mases[best]:.2f})"
        if gain >= _EQUAL:
            answer += f"; error {gain:.0%} below that of {_BASELINES[best - 1]} {against}"
        else:
            notes.append(Note("Uncertain", f"no better than {_BASELINES[best - 1]} {against}"))
    ahead = model.ahead[model.at - 1]
    value, probability = model.likeliest(model.at)
    if NOTEWORTHY <= probability < 1.0:  # a value that recurs
        text = f"point mass of {probability:.2g} at {value:.6g}: intervals that include it cover more"
        notes.append(Note("Uncertain", text))
    notes.append(Note("Check" if ahead.held else "Uncertain", _record(ahead)))
    if model.averaged > 1:
        notes.append(Note("Assumed", f"values are means over {model.averaged} samples"))
    gaps = f", {model.n_missing} missing" if model.n_missing else ""
    seasons = ", ".join(f"{n} samples ({readable(n * model.step, model.time_unit)})" for n in model.seasons)
    last = len(model.ahead)
    steps = sorted({2**power for power in range(last.bit_length())} | {last, model.at})
    chosen = [(step, name) for step in steps for name in model.ahead[step - 1].chosen]
    return Report(
        title=f"Forecast of {model.column} from {Path(model.origin.source).name}",
        answer=answer,
        figures=figures,
        tables=[
            Table(_columns(model, np.array(steps)), title="Next values"),
            Table([Column("steps", 0), Column("predictor; error model", 1)], chosen, "Ensemble members", "verbose"),
            Table(_columns(model, np.arange(1, last + 1)), importance="data"),
        ],
        draw=partial(_plots, model, data),
        notes=notes,
        # The command tells what a run meets that begins now.
        next=_next(model, "stochastic summarize", "--column", model.column, "--run", _later(model)),
        details=[
            f"{model.n_samples:,} samples{gaps}, a step is {readable(model.step, model.time_unit)}",
            f"predictor: {ahead.chosen[0]}",
            f"seasons: {seasons or 'none found'}; {_support(model)}",
        ],
        formula=model.formula,
    )


def report_of_several(result: SeriesForecasts, data: Any = None) -> Report:
    """Report the series whose forecast is highest, and the forecasts of all."""
    by, first = result.by, next(iter(result.forecasts.values()))
    at = {name: model.predict_array([model.at], COVERAGE)[0] for name, model in result.forecasts.items()}
    names = sorted(at, key=lambda name: -float(at[name][0]))
    models = [result.forecasts[name] for name in names]
    mases = [model.mases(model.at) for model in models]
    quantity = first.column.removesuffix(f" ({by} {next(iter(result.forecasts))})")
    figure, text = _stated(f"forecast of {names[0]}", at[names[0]])
    several = f"highest of {len(names)} for" if len(names) > 1 else "of"
    answer = f"{quantity} in {_later(first)}, {several} {by} {names[0]}: {text}"
    weak = [name for name, of_one in zip(names, mases, strict=True) if of_one and _gain(of_one)[0] < _EQUAL]
    notes = [Note("Not fitted", f"{name}: {reason}") for name, reason in result.failures.items()]
    if weak:
        text = f"{len(weak)} of {len(names)} no better than the simplest forecast: {listing(weak, 4)}"
        notes.append(Note("Uncertain", text))
    held = [ahead for model in models if (ahead := model.ahead[model.at - 1]).held]
    if held:
        shares = np.average([ahead.held or () for ahead in held], axis=0, weights=[ahead.judged for ahead in held])
        text = ", ".join(f"{share:.0%} for {c:.0%}" for c, share in zip(JUDGED_COVERAGES, shares, strict=True))
        notes.append(Note("Check", f"backtest coverage {text} (held-out samples of {len(held)} series)"))
    columns = [Column(by, names), *_medians(np.array([at[name] for name in names])), *_scaled_errors(mases)]
    steps = [np.arange(1, len(model.ahead) + 1) for model in models]
    each_step = [
        Column(by, np.repeat(names, [len(ahead) for ahead in steps]).tolist()),
        Column("steps", np.concatenate(steps)),
        *_medians(np.concatenate([m.predict_array(ahead, COVERAGE) for m, ahead in zip(models, steps, strict=True)])),
    ]
    at_words = ["--at", str(first.origin.options["at"])] if first.origin.options.get("at") else []

    def draw() -> list[Plot]:
        marks: list[Any] = []
        for number, (name, model, ahead) in enumerate(zip(names[:_MOST_SERIES], models, steps, strict=False)):
            values, low, high = model.predict_array(ahead, COVERAGE).T
            marks.append(Band(ahead, low, high, "", f"series:{number}", _OPACITY))
            marks.append(Line(ahead, values, name, f"series:{number}"))
        x = Axis(f"steps of {readable(first.step, first.time_unit)} from the last sample")
        return [Plot("forecast", marks, x, Axis(quantity))]

    return Report(
        title=f"Forecasts of {quantity} by {by} from {Path(result.origin.source).name}",
        answer=answer,
        figures=[figure],
        tables=[Table(columns, title=f"In {_later(first)}"), Table(each_step, importance="data")],
        draw=draw,
        notes=notes,
        next=_next(first, "fit", "--fitter", "forecast", "--column", models[0].column, *at_words),
        formula=f"{len(names)} forecasts of {quantity}",
    )


def _gain(mases: Sequence[float]) -> tuple[float, int]:
    """Return the share by which a forecast's error is below that of the best simpler one, and which that is."""
    best = min(range(1, len(mases)), key=mases.__getitem__)
    return (1.0 - mases[0] / mases[best] if mases[best] else 0.0), best


def _stated(name: str, values: Floats) -> tuple[Figure, str]:
    """A median and its bounds (3,), as a figure and as the answer says it."""
    middle, *ends = values.tolist()
    kind = f"{COVERAGE:.0%} prediction interval"
    text = f"{_number(middle)}, {COVERAGE:.0%} interval {RANGE.join(map(_number, ends))}"
    return Figure(name, middle, "", tuple(ends), kind, ".4g", key="forecast"), text


def _number(number: float) -> str:
    """Return a number in three digits, without an exponent up to a million."""
    rounded = float(f"{number:.3g}")
    return f"{rounded:,.0f}" if 1000.0 <= abs(rounded) < 1e6 else f"{rounded:.3g}"


def _later(model: ForecastModel) -> str:
    """Return how far ahead the answer looks, as it was asked for or in the largest whole unit."""
    if (asked := model.origin.options.get("at")) is not None:
        return str(asked)[1:]
    seconds = model.at * model.step * nanoseconds_per(model.time_unit) / 1e9
    for size, unit in _UNITS:
        if seconds >= size and seconds % size == 0.0:
            return f"{seconds / size:.0f}{unit}"
    return readable(model.at * model.step, model.time_unit).replace(" ", "")


def _next(model: ForecastModel, command: str, *words: str) -> str:
    """Return a command on the series' file; none for data that are no file."""
    source = model.origin.source
    # Names too long for a file raise in pathlib.
    return shlex.join(["perf", *command.split(), source, *words]) if os.path.isfile(source) else ""  # noqa: PTH113


def _medians(values: Floats) -> list[Column]:
    """Medians with their bounds (n, 3)."""
    median = Column("median", values[:, 0], format=".6g", key="value")
    return [median, Column("95% interval", values[:, 1:], format=".5g", key=("lower", "upper"))]


def _scaled_errors(mases: Sequence[Sequence[float]]) -> list[Column]:
    """Of the forecast and of persistence, where they are known."""
    own, simplest = zip(*(each[:2] or (None, None) for each in mases), strict=True)
    return [
        Column("MASE", own, format=".2f"),
        Column("persistence", simplest, format=".2f", key="mase_of_persistence"),
    ]


def _columns(model: ForecastModel, steps: np.ndarray[Any, Any]) -> list[Column]:
    ahead, mases = zip(*((model.ahead[step - 1], model.mases(step)) for step in steps.tolist()), strict=True)
    time_unit = model.time_unit
    return [
        Column("steps", steps),
        Column("time", steps * model.step, time_unit, "time", key=()),
        Column("time", model.last_time + steps * model.step, time_unit, importance="data"),
        *_medians(model.predict_array(steps, COVERAGE)),
        Column("50% interval", model.predict_array(steps, 0.5)[:, 1:], format=".5g", key=("lower_50", "upper_50")),
        Column("CRPS", [each.crps for each in ahead], importance="data"),
        *_scaled_errors(mases),
        *(
            Column(f"{c:.0%} coverage", [each.held and each.held[k] for each in ahead], "", ".0%", importance="verbose")
            for k, c in enumerate(JUDGED_COVERAGES)
        ),
    ]


def _record(ahead: Ahead) -> str:
    if ahead.held is None:
        return "too few samples for a backtest"
    shares = ", ".join(f"{share:.0%} for {c:.0%}" for c, share in zip(JUDGED_COVERAGES, ahead.held, strict=True))
    return f"backtest coverage {shares} ({ahead.judged} held-out samples), mean CRPS {ahead.crps:.4g}"


def _support(model: ForecastModel) -> str:
    if model.lower is None and model.upper is None:
        return f"no bounds ({model.support})"
    lower = "-inf" if model.lower is None else f"{model.lower:g}"
    upper = "inf" if model.upper is None else f"{model.upper:g}"
    return f"values from {lower} to {upper} ({model.support})"


def _plots(model: ForecastModel, data: Any) -> list[Plot]:
    steps = np.arange(1, len(model.ahead) + 1)
    marks: list[Any] = []
    for coverage in _BANDS:
        values, lower, upper = model.predict_array(steps, coverage).T
        marks.append(Band(steps, lower, upper, f"{coverage:.0%}", opacity=_OPACITY))
    marks.append(Line(steps, values, "median"))
    if data is not None and model.averaged == 1:
        recent = take_window(data, model.origin.options.get("window", "all"), model.column).values[-_MOST_DRAWN:]
        marks.append(Line(np.arange(1 - len(recent), 1), recent, "samples", "dark", width=0.8))
    x = Axis(f"steps of {readable(model.step, model.time_unit)} from the last sample")
    return [Plot("forecast", marks, x, Axis(model.column))]
