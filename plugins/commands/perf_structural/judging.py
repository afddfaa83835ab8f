"""Predictions against what then happened: how often, how far, and by how much they were wrong."""

from __future__ import annotations

import json
import math
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from perf_structural.options import PIT_BINS, ValidationOptions, levels_given, quantile_name
from perf_structural.samples import read_actual, read_predictions, read_text
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, InputError, OptionError, PerfError
from perfcore.base.files import write_json
from perfcore.report import Result
from perfcore.stochastic import StochasticValue, default_representation

_HEAD = 65536  # bytes within which a prediction says what it is: a model or a long trace is not decoded to find out
_SIGNS = (b'"representation"', b'"lower"', b'"upper"')
_CONFIDENCE = 0.95  # of the limits of an observed share
COVERAGES = (0.5, 0.8, 0.9, 0.95)
FEWEST = 40  # runs: four quantiles of their places
_RUNS_A_KNOT, _MOST_KNOTS = 10, 20
_EVIDENCE = 20.0  # runs that weigh as much as the belief that predictions are right as they are
_FOLDS = 5  # stretches of runs, each left out once
_MOST_SCORED = 1000  # runs, evenly over all: enough to tell, and each takes a quantile function
_SCORED_LEVELS: Floats = (np.arange(100, dtype=np.float64) + 0.5) / 100.0
_TAIL = (1e-6, 1e-5, 1e-4, 1e-3, 2.5e-3, 5e-3)
_NEXT_TO_NONE = 1e-12
_EDGES: Floats = np.array([*_TAIL, *np.arange(1, 100) / 100.0, *(1.0 - level for level in reversed(_TAIL))])


@dataclass(frozen=True, repr=False)
class Predictions(Result):
    """Predictions from a file: stochastic values, one for each run, or a single one for all."""

    reporter: ClassVar[str] = "perf_structural.answers:report_of_predictions"
    Options: ClassVar[type] = ValidationOptions

    values: tuple[StochasticValue, ...]
    source: str

    @classmethod
    def is_file(cls, path: Path) -> bool:
        """Return whether a file begins as a number or with a key of a value, and its first prediction can be read."""
        try:
            with path.open("rb") as file:
                head = file.read(_HEAD).removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n[")
        except OSError:
            return False
        if not (head[:1].isdigit() or head[:1] == b"-" or any(sign in head for sign in _SIGNS)):
            return False
        try:
            read_predictions(path, 1)
        except PerfError:
            return False
        return True

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read the values of a file: one JSON document after another, each a value or a list of them."""
        return cls(tuple(read_predictions(path)), os.fspath(path))

    def to_dict(self) -> dict[str, Any]:
        return {"rows": [value.to_dict() for value in self.values]}

    def validate(self, data: Any, output: str | None = None, **options: Any) -> Judgement | Recalibration:
        """Compare the predictions with what happened, or learn from it how later ones are to be corrected."""
        if not options.pop("recalibrate", False):
            if output is not None:
                raise OptionError("-o writes what --recalibrate learned; give --recalibrate with it")
            judged = judge(self.values, data, **options)
            return replace(judged, next=self._next(judged, data))
        for name in ("at", "quantile"):
            if options.get(name) is not None:
                raise OptionError(f"--{name} judges, and --recalibrate learns: give one of them")
        learned = recalibrate(self.values, data, column=options.get("column"))
        if output is not None:
            learned.save(output)
        return learned

    def _next(self, judged: Judgement, data: Any) -> str:
        """Return the command that learns a correction, if the runs teach one."""
        if not isinstance(data, str) or judged.verdict in ("Predictions hold", "Bounds hold"):
            return ""
        try:
            recalibrate(self.values, judged.actual)
        except DataError:
            return f"measure more runs: {len(judged.actual)} do not teach how to correct the predictions"
        files = f"{shlex.quote(self.source)} {shlex.quote(data)} --column {shlex.quote(judged.name)}"
        return f"perf validate {files} --recalibrate -o correction.json"


@dataclass(frozen=True, repr=False)
class Judgement(Result):
    """What `perf_structural.judging.judge` found; a row or a value for each run.

    Where a prediction has no such figure, as an interval has no quantiles, it is NaN, and averages leave it out.
    """

    reporter: ClassVar[str] = "perf_structural.answers:report_of_judgement"

    representations: tuple[str, ...]  # what the predictions are, each name once
    actual: Floats  # in the order of the predictions
    mean: Floats  # predicted means
    support: Floats  # predicted lower and upper bounds; infinite for a normal
    bounds: Mapping[float, Floats]  # by coverage: the central interval's lower and upper quantile
    place: Floats  # probability of at most the actual value, as predicted
    crps: Floats  # continuous ranked probability score, in the unit of the actual values
    quantiles: Mapping[float, Floats] = field(default_factory=dict)
    at: Floats | None = None  # start times or run numbers, for pictures; else runs are counted from 1
    at_name: str = "run"  # what ``at`` and the actual values are called
    name: str = "actual"
    next: str = ""  # the command that follows

    @property
    def verdict(self) -> str:
        """Whether intervals hold what they promise, else in which way they do not."""
        coverage = self.coverage()
        judged = [row for row in coverage if row["interval"] != "bounds"]
        if any(row["high"] < row["promised"] for row in judged):
            return "Predictions are too narrow"
        if any(row["low"] > row["promised"] for row in judged):
            return "Predictions are too wide"
        bias, error = self.bias
        if abs(bias) > 2.0 * error > 0.0:
            return "Predictions are too low" if bias > 0.0 else "Predictions are too high"
        if coverage and not judged:
            return "Bounds hold" if coverage[0]["high"] >= 1.0 else "Bounds do not hold"
        return "Predictions hold"

    @property
    def bias(self) -> tuple[float, float]:
        """Mean of actual less predicted values, and its standard error; NaN if no prediction has a mean."""
        errors = (self.actual - self.mean)[np.isfinite(self.mean)]
        if not len(errors):
            return math.nan, math.nan
        return float(errors.mean()), float(errors.std(ddof=1)) / math.sqrt(len(errors)) if len(errors) > 1 else 0.0

    def coverage(self) -> list[dict[str, Any]]:
        """For the bounds and each central interval: the share of actual values within, with its limits."""
        rows: list[dict[str, Any]] = []
        intervals = {1.0: np.where(np.isfinite(self.support), self.support, np.nan), **self.bounds}
        for promised, limits in intervals.items():
            finite = np.isfinite(limits).all(axis=1)
            if not finite.any():
                continue
            lower, upper, actual = limits[finite, 0], limits[finite, 1], self.actual[finite]
            is_bounds = promised == 1.0
            score = float("nan" if is_bounds else np.mean(interval_score(lower, upper, promised, actual)))
            figures = {"width": float(np.mean(upper - lower)), "score": score, "runs": len(actual)}
            observed = _observed(promised, (lower <= actual) & (actual <= upper))
            rows.append({"interval": "bounds" if is_bounds else f"{promised:.0%}", **observed, **figures})
        return rows

    def quantile_shares(self) -> list[dict[str, Any]]:
        """For each quantile that was asked for: the share of actual values up to it, with its limits."""
        rows: list[dict[str, Any]] = []
        for level, places in self.quantiles.items():
            finite = np.isfinite(places)
            if not finite.any():
                continue
            actual, predicted = self.actual[finite], places[finite]
            loss = float(quantile_loss(predicted, level, actual).mean())
            observed = _observed(level, actual <= predicted)
            rows.append({"quantile": quantile_name(level), **observed, "loss": loss, "runs": len(actual)})
        return rows

    def place_counts(self) -> npt.NDArray[np.int64]:
        """Return how many actual values fell into each tenth of their predicted distribution (`PIT_BINS`,)."""
        return np.histogram(self.place[np.isfinite(self.place)], bins=PIT_BINS, range=(0.0, 1.0))[0]

    @property
    def statistics(self) -> dict[str, float | int | None]:
        """Mean score, and the errors of the predicted means; None where no prediction has one."""
        errors = self.actual - self.mean
        figures = {"crps": self.crps, "mean_error": errors, "mean_absolute_error": np.abs(errors)}
        finite = {name: values[np.isfinite(values)] for name, values in figures.items()}
        means = {name: float(values.mean()) if len(values) else None for name, values in finite.items()}
        return {"runs": len(self.actual), **means}

    def to_dict(self) -> dict[str, Any]:
        names = ("actual", "mean", "lower", "upper", "place", "crps")
        each = np.column_stack([self.actual, self.mean, self.support, self.place, self.crps]).tolist()
        return {
            **self.statistics,
            "representations": self.representations,
            "coverage": self.coverage(),
            **({"quantiles": self.quantile_shares()} if self.quantiles else {}),
            "place_counts": self.place_counts().tolist(),
            "each": [dict(zip(names, row, strict=True)) for row in each],
        }


def _observed(promised: float, hits: npt.NDArray[np.bool_]) -> dict[str, Any]:
    """Return a promised share, and the observed one with its limits."""
    from scipy.stats import binomtest

    limits = binomtest(int(hits.sum()), len(hits)).proportion_ci(_CONFIDENCE)
    observed = int(hits.sum()) / len(hits)
    return {"promised": promised, "observed": observed, "low": float(limits.low), "high": float(limits.high)}


def judge(
    predictions: str | os.PathLike[str] | Sequence[StochasticValue],
    actual: str | os.PathLike[str] | npt.ArrayLike,
    *,
    column: str | None = None,
    at: str | npt.ArrayLike | None = None,
    at_name: str = "run",
    name: str = "actual",
    quantile: str | float | Sequence[float] | None = None,
) -> Judgement:
    """Compare predictions with what happened.

    Choose it before a prediction is trusted: shares that fall short of what was promised mean that the predicted
    distributions are too narrow or biased.

    Parameters
    ----------
    predictions : str, path or sequence of StochasticValue
        A JSON file, or the values: one for each run, or a single one for all.
    actual : str, path or (n,) float, finite
        A CSV table with a row for each run, or the measured values themselves.
    column : str, optional
        Of the table: the one with the measured values. May be left out where only one holds numbers.
    at : str or (n,) float, optional
        Start times or run numbers: the name of a column of the table, or themselves.
    at_name, name : str
        What these and the actual values are called; columns of a table have their names.
    quantile : float or sequence of float, optional
        Levels of quantiles to judge in addition to the intervals.

    Returns
    -------
    Judgement
        Coverage, scores and places; ``to_frame()`` has a row for each run.

    Notes
    -----
    Source: J. M. Schopf, "A Practical Methodology for Defining Histograms for Predictions and Scheduling" (1999),
    Figures 6 to 11; T. Gneiting and A. E. Raftery (2007) for the scores.

    Examples
    --------
    >>> judged = judge(
    ...     "examples/sor/recorded/predictions-normal.json", "examples/sor/recorded/runs.csv", column="time_s"
    ... )
    >>> len(judged.to_frame()) == judged.statistics["runs"]
    True
    """
    levels = () if quantile is None else levels_given(quantile)
    if isinstance(actual, (str, os.PathLike)):
        if at is not None and not isinstance(at, str):
            raise OptionError("'at' names a column of the table; a text is expected")
        name, actual, places = read_actual(actual, column, at)
        at_name = at or at_name
    elif column is not None or isinstance(at, str):
        raise OptionError(f"{column or at!r} is a column of a table; the file is expected, not its values")
    else:
        places = None if at is None else np.asarray(at, dtype=np.float64)
    distributions, values = _paired(predictions, actual)
    return Judgement(
        representations=tuple(dict.fromkeys(value.name for value in distributions)),
        actual=values,
        mean=np.array([value.mean for value in distributions], dtype=np.float64),
        support=np.array([value.support for value in distributions], dtype=np.float64),
        bounds={each: np.array([value.central_interval(each) for value in distributions]) for each in COVERAGES},
        place=np.array([value.place_of(x) for value, x in zip(distributions, values, strict=True)]),
        crps=np.array([value.crps(x) for value, x in zip(distributions, values, strict=True)]),
        quantiles={level: np.array([float(value.quantile(level)) for value in distributions]) for level in levels},
        at=places,
        at_name=at_name,
        name=name,
    )


def recalibrate(
    predictions: str | os.PathLike[str] | Sequence[StochasticValue],
    actual: str | os.PathLike[str] | npt.ArrayLike,
    *,
    column: str | None = None,
) -> Recalibration:
    """Learn a correction of later predictions from past predictions and their outcomes.

    What is learned must make predictions better that it did not see.
    """
    if isinstance(actual, (str, os.PathLike)):
        _, actual, _ = read_actual(actual, column)
    elif column is not None:
        raise OptionError(f"{column!r} is a column of a table; the file is expected, not its values")
    distributions, happened = _paired(predictions, actual)
    places = np.array([value.place_of(x) for value, x in zip(distributions, happened, strict=True)])
    finite = np.flatnonzero(np.isfinite(places))
    if len(finite) < FEWEST:
        raise DataError(
            f"{len(finite)} runs with a predicted distribution; a recalibration needs {FEWEST} or more: "
            "judge more runs, or predict distributions and not bounds or points"
        )
    values, places, happened = [distributions[run] for run in finite.tolist()], places[finite], happened[finite]
    runs = np.arange(len(places))
    scored = np.unique(np.linspace(0, len(places) - 1, min(len(places), _MOST_SCORED)).astype(int))
    before, after, levels = np.zeros(len(places)), np.zeros(len(places)), np.zeros(len(places))
    for fold in range(_FOLDS):
        left_out = runs * _FOLDS // len(places) == fold
        learned = _map_of(places[~left_out])
        levels[left_out] = np.interp(places[left_out], learned.places, learned.levels)
        for run in scored[left_out[scored]].tolist():
            corrected = np.clip(learned.places_of(_SCORED_LEVELS), _NEXT_TO_NONE, 1.0 - _NEXT_TO_NONE)
            for losses, at in ((before, _SCORED_LEVELS), (after, corrected)):
                losses[run] = quantile_loss(values[run].quantile(at), _SCORED_LEVELS, happened[run]).mean()
    gains = before[scored] - after[scored]
    if gains.mean() <= gains.std() / np.sqrt(len(gains)):
        raise DataError(
            f"a recalibration does not help: on runs that it is not learned from, the mean quantile loss goes from "
            f"{before[scored].mean():.6g} to {after[scored].mean():.6g}, within what chance does; "
            "leave the predictions as they are"
        )
    full = _map_of(places)
    low, high = np.array([value.support for value in values]).T
    outside = float(np.mean((happened < low) | (happened > high)))
    scores = float(before[scored].mean()), float(after[scored].mean())
    held = [
        {coverage: float(np.mean(np.abs(2.0 * at - 1.0) <= coverage)) for coverage in COVERAGES}
        for at in (places, levels)
    ]
    return Recalibration(full.levels, full.places, len(places), outside, *scores, *held)


def _paired(
    predictions: str | os.PathLike[str] | Sequence[StochasticValue], actual: npt.ArrayLike
) -> tuple[list[StochasticValue], Floats]:
    if isinstance(predictions, (str, os.PathLike)):
        predictions = read_predictions(predictions)
    values = np.asarray(actual, dtype=np.float64)
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise DataError("actual values: at least one, and all of them finite, are expected")
    distributions = list(predictions) * len(values) if len(predictions) == 1 else list(predictions)
    if len(distributions) != len(values):
        raise DataError(
            f"{len(distributions)} predictions for {len(values)} actual values; give one for each, or one for all"
        )
    return distributions, values


# What past predictions teach later ones: which place in the predicted distribution has been reached how often.
#
# Where 5% of the actual values lay below the predicted 12%-quantile, that quantile is the 5%-quantile from now on. A
# map of probabilities moves no end: what lay outside of all that was predicted stays outside.
#
# Source: A. P. Dawid, "Statistical Theory: The Prequential Approach" (1984) for the places (probability integral
# transforms); V. Kuleshov, N. Fenner and S. Ermon, "Accurate Uncertainties for Deep Learning Using Calibrated
# Regression" (2018) for their distribution as a correction. Theirs is an isotonic regression; ours has a quantile of
# the places for every ten runs, drawn towards no correction where runs are few, and goes on beyond the outermost of
# them as a normal distribution would.

# Source: T. Gneiting and A. E. Raftery, "Strictly Proper Scoring Rules, Prediction, and Estimation", Journal of the
# American Statistical Association 102 (2007). All scores here are losses, in the unit of the quantity: less is better.
# What a single prediction scores, `perfcore.stochastic.StochasticValue.crps`, it knows itself.


def interval_score(lower: npt.ArrayLike, upper: npt.ArrayLike, coverage: float, actual: npt.ArrayLike) -> Floats:
    """Return the score of central intervals (the source's equation 43): width, and a fine for what lies outside."""
    low, high, x = (np.asarray(argument, dtype=np.float64) for argument in (lower, upper, actual))
    fine = 2.0 / (1.0 - coverage)
    return (high - low) + fine * np.maximum(low - x, 0.0) + fine * np.maximum(x - high, 0.0)


def quantile_loss(quantile: npt.ArrayLike, level: float | Floats, actual: npt.ArrayLike) -> Floats:
    """Return the loss of a predicted quantile (the source's equation 42): the distance, by the side's share."""
    distance = np.asarray(actual, dtype=np.float64) - np.asarray(quantile, dtype=np.float64)
    return np.maximum(level * distance, (level - 1.0) * distance)


@dataclass(frozen=True, repr=False)
class Recalibration(Result):
    """A monotone map of probabilities, learned from past predictions and what then happened."""

    reporter: ClassVar[str] = "perf_structural.answers:report_of_recalibration"

    levels: tuple[float, ...]  # probabilities, increasing from 0 to 1
    places: tuple[float, ...]  # by level: the predicted quantile that becomes the quantile of this level
    runs: int  # that it was learned from
    outside: float = 0.0  # share of these whose value lay outside of all that was predicted
    score_before: float = float("nan")
    score_after: float = float("nan")
    held_before: Mapping[float, float] = field(default_factory=dict)
    held_after: Mapping[float, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("levels", "places"):
            row = np.asarray(getattr(self, name), dtype=np.float64)
            good = len(row) >= 2 and row[0] == 0.0 and row[-1] == 1.0 and np.all(np.diff(row) >= 0.0)
            if not good or len(row) != len(self.levels):
                raise DataError(f"{name}: as many numbers as levels are expected, from 0 to 1 and not decreasing")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        name = os.fspath(path)
        try:
            content = json.loads(read_text(path))["recalibration"]
            return cls(tuple(map(float, content["levels"])), tuple(map(float, content["places"])), int(content["runs"]))
        except DataError as error:
            raise InputError(name, f"recalibration: {error}") from None
        except (ValueError, TypeError, KeyError, RecursionError):
            expected = "is no recalibration; a file that `perf validate --recalibrate -o FILE` wrote is expected"
            raise InputError(name, expected) from None

    def to_dict(self) -> dict[str, Any]:
        """Return what `read` takes, and what it was judged by."""
        return {
            "levels": list(self.levels),
            "places": list(self.places),
            "runs": self.runs,
            "outside": self.outside,
            "score": {"before": self.score_before, "after": self.score_after},
            "held": [
                {"promised": coverage, "before": self.held_before[coverage], "after": self.held_after[coverage]}
                for coverage in self.held_before
            ],
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        write_json(path, {"recalibration": self.to_dict()})

    @property
    def statistics(self) -> dict[str, float | int]:
        """How many runs taught it, and what it gains on runs that did not."""
        names = ("runs", "outside", "score_before", "score_after")
        return {name: getattr(self, name) for name in names}

    def corrected(self, value: StochasticValue) -> StochasticValue:
        """Return a prediction after the map, piecewise uniform; what has no distribution stays as it is."""
        low, high = value.support
        if low == high or not value.has_distribution:
            return value
        # A distribution without bounds has none of its quantiles at 0 and 1.
        inner = value.quantile(np.clip(self.places_of(_EDGES), _NEXT_TO_NONE, 1.0 - _NEXT_TO_NONE))
        ends = inner[0] if np.isinf(low) else low, inner[-1] if np.isinf(high) else high
        edges = np.maximum.accumulate([ends[0], *inner, ends[1]])
        masses = np.diff([0.0, *_EDGES, 1.0])
        content = {"edges": edges.tolist(), "masses": masses.tolist()}
        corrected: StochasticValue = default_representation("distributions").from_dict(content)
        return corrected

    def places_of(self, levels: Sequence[float] | Floats) -> Floats:
        """Return which predicted quantiles become those of the given levels (...)."""
        return np.asarray(np.interp(np.asarray(levels), self.levels, self.places))


def _map_of(places: Floats) -> Recalibration:
    """Return the map of the places' normal scores: lines between some quantiles, drawn towards the levels' own."""
    knots = min(_MOST_KNOTS, len(places) // _RUNS_A_KNOT)
    expected_scores = ndtri(np.arange(1, knots) / knots)
    own_scores = ndtri(np.clip(places, _TAIL[0], 1.0 - _TAIL[0]))
    observed_scores = np.quantile(own_scores, np.arange(1, knots) / knots, method="hazen")
    weight = len(places) / (len(places) + _EVIDENCE)
    drawn = weight * observed_scores + (1.0 - weight) * expected_scores
    edge_scores = ndtri(_EDGES)
    slope = (drawn[-1] - drawn[0]) / (expected_scores[-1] - expected_scores[0])
    excess = np.minimum(edge_scores - expected_scores[0], 0.0) + np.maximum(edge_scores - expected_scores[-1], 0.0)
    scores = np.interp(edge_scores, expected_scores, drawn) + slope * excess
    return Recalibration((0.0, *_EDGES.tolist(), 1.0), (0.0, *ndtr(scores).tolist(), 1.0), len(places))
