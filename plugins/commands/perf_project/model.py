"""The elapsed time over the scale as a sum of components, with their joint uncertainty, and what it says at targets.

Each component has its own scaling model. Efficiencies are made of the components at the scale that is asked for, never
modelled themselves, so that they multiply exactly. What is moved from one component of a run to another, such as from
computing to waiting, makes their errors correlated: draws are put together by a Gaussian copula with the correlation of
the residuals, shrunk towards none where runs are few. The estimate of the elapsed time is the sum of the components'
medians, so that tables add up.

Beyond the largest run a scaling model of few scales says little: components go on as `perf_project.extrapolation` says,
and draws are scaled so that the elapsed time has the spread of held-out runs, ranks paired. A table with a single
component is predicted by its scaling model alone, as `perf fit` does.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import msgspec
import numpy as np

from perf_project import extrapolation
from perf_tables.category_table import by_category
from perf_tables.points import named_points
from perf_traces.messages.bursts import factors_of
from perf_views.names import unique_suffixes
from perfcore.base.arrays import Floats
from perfcore.data.columns import is_processors
from perfcore.models.model import Model, Parameter, Points, model_of
from perfcore.models.points import N_DRAWS, Drawn, Observed, PartDraws, check_coverage, measurements_for
from perfcore.report import Report, Result

TOTAL, MEAN = "total", "mean"  # what the law of a component is of: all locations together, or one
_DRAWS, _SEED = 8192, 0
_PRIOR_RUNS = 0.5  # as many runs say that residuals are not correlated
_SPREAD = 0.8  # standard deviation of the exponent of what no model fits, if there are several parameters
_SIDES = (0.5, 0.025, 0.975)
Bounds = tuple[float, float, float]  # estimate, and the 95 % interval


def step_of(name: str) -> str:
    """The step from computing to the elapsed time that a component is a part of."""
    return name.partition(": ")[0]


class Check(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The largest scale, predicted from the others."""

    p: float
    measured: float
    median: float
    lower: float
    upper: float


class ProjectionModel(Model, frozen=True, forbid_unknown_fields=True, kw_only=True, dict=True):
    """The elapsed time over the scale, in seconds; made by `perfcore.project`."""

    points: dict[str, tuple[float, ...]]  # R measured points, by symbol
    measured: dict[str, tuple[float, ...]]  # seconds of a location in each component at these
    kinds: dict[str, str]  # of each component that has a law: `TOTAL` or `MEAN`
    alone: dict[str, int]  # of what is lost: up to how many locations it is nothing
    targets: tuple[dict[str, float], ...]
    scaling: str  # "strong" or "weak"
    factors: dict[str, float] = msgspec.field(default_factory=dict)  # of a what-if: on the time of a component
    unfitted: dict[str, str] = msgspec.field(default_factory=dict)  # components that no law fits, held constant
    check: Check | None = None
    law_weight: float = 0.0  # of scaling models beyond the largest run, beside the forms of few scales
    notes: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)  # by label: Assumed, Uncertain
    law: Any  # the scaling models of the components, a `Model`

    kind: ClassVar[str] = "projection"

    def __post_init__(self) -> None:
        """Refuse what a file edited by hand may hold."""
        n = {len(values) for values in (*self.points.values(), *self.measured.values())}
        if not isinstance(self.law, Model):
            raise ValueError("law: a model is expected")
        if len(n) != 1 or not self.kinds or not self.kinds.keys() <= self.measured.keys():
            raise ValueError("the components are not those of the measured points")
        if self.scaling not in ("strong", "weak") or not set(self.kinds.values()) <= {TOTAL, MEAN}:
            raise ValueError("the scaling or the kind of a component is not known")

    @property
    def variables(self) -> Mapping[str, str]:
        return {symbol: column for symbol, column in self.law.variables.items() if symbol in self.points}

    @property
    def symbol(self) -> str:
        """The scale: the number of locations, of nodes or of ranks."""
        return next(iter(self.points))

    @property
    def unit(self) -> str | None:
        return self.law.unit  # type: ignore[no-any-return]

    @property
    def ranges(self) -> Mapping[str, tuple[float, float]]:
        return {symbol: (min(values), max(values)) for symbol, values in self.points.items()}

    @property
    def target(self) -> Mapping[str, float]:
        return self.targets[-1]

    @property
    def sizes(self) -> Floats:
        return np.array(self.points[self.symbol])

    @property
    def largest(self) -> int:
        """Number of the run at the largest scale, of several with the largest other parameters."""
        return max(range(len(self.sizes)), key=list(zip(*self.points.values(), strict=True)).__getitem__)

    def reference(self, place: Floats) -> dict[str, float]:
        """Times at the smallest scale: measured, or predicted where other parameters are those of a point (q,)."""
        if len(self.points) == 1:
            return {name: values[int(self.sizes.argmin())] for name, values in self.measured.items()}
        drawn = self.component_draws(np.array([[self.sizes.min(), *place[1:]]]))
        return {name: float(np.median(times)) for name, times in drawn.items()}

    def changed(self, times: Mapping[str, Any]) -> dict[str, Any]:
        """Times of components with the changes of a what-if."""
        return {name: time * self.factors.get(name, 1.0) for name, time in times.items()}

    @property
    def elapsed(self) -> Floats:
        """Measured elapsed time at each scale: the sum of the components."""
        return np.asarray(np.sum(list(self.measured.values()), axis=0))

    @property
    def fitted_points(self) -> Mapping[str, Any]:
        """Measured points (R,), by symbol."""
        return self.points

    def totals_measured(self, points: Floats) -> Floats:
        """Elapsed time and its relative standard error, that of the scaling model, at points (T, q): (T, 2) or NaN."""
        totals = np.full((len(points), 2), np.nan)
        if not self.factors and hasattr(self.law, "totals_measured"):  # a what-if was not measured
            totals[:, 1] = self.law.totals_measured(points)[:, 1]
            same = (points[:, None] == np.array(list(self.points.values())).T).all(axis=2)
            totals[:, 0] = np.where(same.any(axis=1), self.elapsed[same.argmax(axis=1)], np.nan)
        return np.where(np.isfinite(totals).all(axis=1)[:, None], totals, np.nan)

    @property
    def answer(self) -> Projection:
        """The components and efficiencies at the targets."""
        places = np.array([[point[symbol] for symbol in self.points] for point in self.targets])
        drawn, laws = self.component_draws(places), self.laws
        return Projection(self, tuple(_at(self, k, place, drawn, laws) for k, place in enumerate(places)))

    def report(self, data: Any = None) -> Report:
        """Return the elapsed time, components and efficiencies at the targets."""
        return self.answer.report(data)

    @property
    def is_single(self) -> bool:
        """Whether the elapsed time is not divided: then its scaling model says all."""
        return len(self.measured) == 1 and not self.alone and self.kinds.get(next(iter(self.measured))) == MEAN

    @functools.cached_property
    def _scores(self) -> Floats:
        """Places of joint draws in those of each component, which ascend: (K, D), in [0, 1)."""
        means, fitted = self.law.means, self.law.fitted
        logs = np.log(np.where((means > 0.0) & (fitted > 0.0), means / fitted, np.nan))
        logs = np.nan_to_num(logs - np.nanmean(logs, axis=1, keepdims=True))
        deviation = np.sqrt((logs**2).sum(axis=1))
        deviates = deviation > 0.0
        logs /= np.where(deviates, deviation, 1.0)[:, None]
        count = max(0.0, logs.shape[1] - 2.0)  # a level and a slope are fitted
        share = count / (count + _PRIOR_RUNS)
        normal = np.random.default_rng(_SEED).standard_normal((len(logs) + logs.shape[1], _DRAWS))
        own, shared = normal[np.argsort(np.argsort(self.law.paths))], normal[len(logs) :]  # in any order of the rows
        joint = np.sqrt(1.0 - share * deviates)[:, None] * own + np.sqrt(share) * (logs @ shared)
        return np.asarray((joint.argsort(axis=1).argsort(axis=1) + 0.5) / _DRAWS)

    @functools.cached_property
    def _number_of(self) -> dict[str, int]:
        """Return the number that chooses random numbers of each component: the same in any order of the rows."""
        return {name: number for number, name in enumerate(sorted(self.measured))}

    def component_draws(self, places: Floats) -> dict[str, Floats]:
        """Joint draws of a location's time in each component at points (T, q), without changes: (D, T) each."""
        ascending = np.concatenate([np.sort(self.law.draws(place[None]).runs(), axis=1) for place in places], axis=2)
        size, drawn, number = places[:, 0], dict[str, Floats](), self._number_of
        for name, measured in self.measured.items():
            if name in self.kinds:
                k = self.law.paths.index(name)
                times = ascending[k] / size if self.kinds[name] == TOTAL else ascending[k]
                times = times[(self._scores[k] * len(times)).astype(np.int64)]
            elif len(self.points) == 1:
                times = np.tile(np.interp(np.log(size), np.log(self.sizes), measured), (_DRAWS, 1))
            else:
                ratio = np.maximum(size / self.sizes.max(), 1.0)
                exponents = np.random.default_rng([_SEED, number[name]]).normal(0.0, _SPREAD, (_DRAWS, 1))
                times = measured[self.largest] * ratio**exponents
            drawn[name] = np.where(size <= self.alone.get(name, 0), 0.0, times)
        beyond = np.flatnonzero(size > self.sizes.max())
        if len(beyond) and len(self.points) == 1 and not self.is_single and is_processors(self.variables[self.symbol]):
            for name, times in self._beyond(drawn, size, beyond).items():
                drawn[name][:, beyond] = times
        return drawn

    def _beyond(self, drawn: Mapping[str, Floats], size: Floats, beyond: Any) -> dict[str, Floats]:
        """Draws of the components at scales beyond the largest run."""
        order = np.argsort(self.sizes)
        sizes, measured = self.sizes[order], {name: np.array(times)[order] for name, times in self.measured.items()}
        targets, names = size[beyond], list(self.measured)
        doublings = np.log2(targets / sizes[-1])
        times = extrapolation.extrapolate_all(sizes, measured, self.alone, targets)
        shifted = {}
        for name in times:
            law = np.median(drawn[name][:, beyond], axis=0)
            if name in self.kinds:
                times[name] = times[name] ** (1.0 - self.law_weight) * law**self.law_weight
            spread = extrapolation.LOSS if name in self.alone else (
                extrapolation.COMPUTING if self.alone else extrapolation.CATEGORY)  # fmt: skip
            errors = extrapolation.check_errors(sizes, measured, self.alone, [name])
            if name in self.kinds:  # of the joint draws in those of the component
                ranks = self._scores[self.law.paths.index(name)]
            else:
                ranks = (np.random.default_rng([_SEED, self._number_of[name]]).permutation(_DRAWS) + 0.5) / _DRAWS
            shifted[name] = times[name] * np.exp(extrapolation.log_errors(errors, spread, ranks, doublings))
        elapsed, total = np.sum(list(shifted.values()), axis=0), np.sum(list(times.values()), axis=0)
        errors = extrapolation.check_errors(sizes, measured, self.alone, names)
        spread = extrapolation.TRACES if self.alone else extrapolation.TABLES
        ranks = (np.arange(_DRAWS) + 0.5) / _DRAWS
        ascending = total * np.exp(extrapolation.log_errors(errors, spread, ranks, doublings))
        # Of the joint draws those with such elapsed times are taken, so that certain components remain certain.
        drawn_beyond = {name: np.empty_like(elapsed) for name in names}
        for t in range(len(targets)):
            order = np.argsort(elapsed[:, t])
            near = np.searchsorted(elapsed[order, t], ascending[:, t])
            chosen = order[np.minimum(near, _DRAWS - 1)]
            for name, values in shifted.items():
                drawn_beyond[name][:, t] = values[chosen, t] * ascending[:, t] / elapsed[chosen, t]
        return {name: values * np.divide(times[name], middle, out=np.ones_like(middle), where=middle > 0.0)
                for name, values in drawn_beyond.items() for middle in [np.median(values, axis=0)]}  # fmt: skip

    def places(self, points: Points) -> Floats:
        """Points as a user gives them as an array (T, q)."""
        levels, _ = named_points(points, dict(self.variables), {})
        return np.stack([levels[symbol] for symbol in self.points], axis=1)

    def predict_array(self, points: Points, interval: float | None = None) -> Floats:
        if self.is_single and not self.factors:
            return np.asarray(self.law.predict_array(points, interval))
        drawn = self.changed(self.component_draws(self.places(points)))
        value = np.sum([np.median(draws, axis=0) for draws in drawn.values()], axis=0)
        if interval is None:
            return np.asarray(value)
        check_coverage(interval)
        bounds = np.quantile(sum(drawn.values()), [0.5 - 0.5 * interval, 0.5 + 0.5 * interval], axis=0)
        return np.column_stack([value, np.minimum(bounds[0], value), np.maximum(bounds[1], value)])

    def efficiencies(self, times: Mapping[str, Any], size: Any, reference: Mapping[str, float]) -> dict[str, Any]:
        """POP's factors of the components at some scales; of tables only the efficiency of the scaling."""
        ideal = self.ideal_share(size)
        computing = [name for name in times if name not in self.alone]
        if not self.alone:
            return {"scaling": ideal * sum(reference.values()) / sum(times.values())}
        computed = sum(times[name] for name in computing)
        lost: dict[str, Any] = {}
        for name in times.keys() & self.alone.keys():
            lost[step_of(name)] = lost.get(step_of(name), 0.0) + times[name]
        factors = factors_of(computed, {step_of(name): lost[step_of(name)] for name in self.alone if name in times})
        scalability = ideal * sum(reference[name] for name in computing) / computed
        return {"global": factors["parallel"] * scalability, **factors, "computation scalability": scalability}

    def ideal_share(self, size: Any) -> Any:
        """What a perfectly scaling run takes of the time of the smallest one."""
        return np.ones_like(size) if self.scaling == "weak" else self.sizes.min() / size

    def remarks(self, points: Points) -> list[str]:
        low, high = self.ranges[self.symbol]
        return [
            "" if low <= p <= high else f"extrapolated: {self.symbol} was {low:g} to {high:g}"
            for p in self.places(points)[:, 0].tolist()
        ]

    def observed(self, data: Any, where: str | None = None) -> Observed:
        if self.is_single:
            seen: Observed = self.law.observed(data, where)
            return replace(seen, points={name: seen.points[name] for name in self.variables})
        runs = measurements_for(self, data, where)
        if not runs.roles.category:
            return super().observed(data, where)
        table = by_category(runs)
        labels = tuple(table.describe(row) for row in range(len(table)))
        return Observed(table.points, labels, table.total, table.unit, table.source, (), np.empty((len(table), 0)))

    def part_draws(self, points: Mapping[str, Any]) -> PartDraws:
        """Draws of each component and of the elapsed time; see `Model.part_draws`."""
        drawn = self.changed(self.component_draws(self.places({name: points[name] for name in self.points})))
        quantiles = (np.arange(N_DRAWS) + 0.5) / N_DRAWS
        draws = np.quantile(np.array([*drawn.values(), sum(drawn.values())]), quantiles, axis=1).transpose(1, 2, 0)
        middle = np.median(np.array(list(drawn.values())), axis=1)
        names = tuple(drawn)
        parts, total = Drawn(middle, draws[:-1]), Drawn(middle.sum(axis=0), draws[-1])
        return PartDraws("component", names, names, parts, total, single_runs=True)

    @property
    def laws(self) -> dict[str, str]:
        """The most probable law of each component over the scale, of the time of a location."""
        growth = self.law.growth_draws(self.target)
        names: tuple[str, ...] = getattr(self.law, "paths", ())
        laws = {} if growth is None else dict(zip(names, growth.laws, strict=True))
        return {name: f"({law})/{self.symbol}" if self.kinds.get(name) == TOTAL else law for name, law in laws.items()}

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.law.parameters  # type: ignore[no-any-return]

    def _content(self) -> dict[str, Any]:
        content = super()._content()
        content["model"]["law"] = self.law.to_dict()
        return content

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        written = {name: value for name, value in content["model"].items() if name != "counters"}  # of older files
        if isinstance(written.get("law"), dict):
            written["law"] = model_of(written["law"])
        return super().from_dict({**content, "model": written})


@dataclass(frozen=True)
class ComponentAt:
    """One component at the target."""

    name: str
    model: str  # its most probable law
    measured: float  # time of a location in the largest run
    time: Bounds
    share: float  # of the elapsed time
    lost: float  # against perfect scaling, as a share of the elapsed time
    probability_largest: float  # of being the largest loss


@dataclass(frozen=True)
class At:
    """Everything at one target."""

    point: dict[str, float]
    elapsed: Bounds
    speedup: Bounds  # over the smallest run
    efficiencies: dict[str, Bounds]
    components: tuple[ComponentAt, ...]  # the largest first
    baseline: float | None  # elapsed without the changes of a what-if

    @property
    def limits(self) -> ComponentAt:
        """The largest loss."""
        return max(self.components, key=lambda each: each.lost)

    @property
    def labels(self) -> dict[str, str]:
        """Component names; of call paths the ends that tell them apart."""
        paths = [each.name for each in self.components if "->" in each.name and " -> " not in each.name]
        ends = unique_suffixes([name.replace("->", "/") for name in paths])
        labels = {path: end.replace("/", "->") for path, end in zip(paths, ends, strict=True)}
        return {each.name: labels.get(each.name, each.name) for each in self.components}

    def to_dict(self, unit: str | None) -> dict[str, Any]:
        return {
            "at": self.point,
            "elapsed": {**_plain(self.elapsed), "unit": unit},
            "speedup": _plain(self.speedup),
            "efficiencies": {name: _plain(bounds) for name, bounds in self.efficiencies.items()},
            "components": [
                {
                    "name": each.name, "model": each.model, "measured": each.measured, **_plain(each.time),
                    "share": each.share, "lost": each.lost, "probability_largest": each.probability_largest,
                }
                for each in self.components
            ],
            "limits": self.limits.name,
            **({} if self.baseline is None else {"baseline": self.baseline}),
        }  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Projection(Result):
    """The answer of `perf project`."""

    reporter: ClassVar[str] = "perf_project.answers:report_of"
    json_kind: ClassVar[str] = "projection"

    model: ProjectionModel
    at: tuple[At, ...]  # in the order of the targets

    def to_dict(self) -> dict[str, Any]:
        """The last target; with several all of them under ``projections``."""
        model = self.model
        several = {"projections": [each.to_dict(model.unit) for each in self.at]} if len(self.at) > 1 else {}
        return {
            **self.at[-1].to_dict(model.unit),
            **several,
            "measured": [
                {model.symbol: p, "elapsed": time}
                for p, time in zip(model.sizes.tolist(), model.elapsed.tolist(), strict=True)
            ],
            "check": msgspec.to_builtins(model.check),
            "scaling": model.scaling,
            "unfitted": dict(model.unfitted),
            "notes": {label: list(texts) for label, texts in model.notes.items()},
        }

    def save(self, path: str | os.PathLike[str]) -> list[str]:
        """Write the model."""
        self.model.save(path)
        return [f"model: {os.fspath(path)}"]


def _at(model: Any, k: int, place: Floats, drawn: Mapping[str, Floats], laws: Mapping[str, str]) -> At:
    unchanged = {name: draws[:, k] for name, draws in drawn.items()}
    times = model.changed(unchanged)
    middle = {name: np.median(draws) for name, draws in times.items()}
    elapsed, whole = np.sum(list(times.values()), axis=0), sum(middle.values())
    reference, largest = model.changed(model.reference(place)), model.largest
    ideal = float(model.ideal_share(place[0]))
    perfect = {name: 0.0 if name in model.alone else ideal * reference[name] for name in times}
    lost = np.array([time - perfect[name] for name, time in times.items()])
    values, efficiencies = (model.efficiencies(each, place[0], reference) for each in (middle, times))
    winners = np.bincount(lost.argmax(axis=0), minlength=len(times)) / lost.shape[1]
    components = [
        ComponentAt(
            name, laws.get(name, "constant"), model.measured[name][largest], _bounds(time),
            float(middle[name] / whole), float((middle[name] - perfect[name]) / whole), float(winner),
        )
        for (name, time), winner in zip(times.items(), winners, strict=True)
    ]  # fmt: skip
    first = sum(reference.values())
    bounds, speedup = _bounds(elapsed, whole), _bounds(first / elapsed, first / whole)
    shares = {name: _bounds(draws, values[name]) for name, draws in efficiencies.items()}
    if model.is_single and not model.factors:  # as the scaling model itself says
        middle_time, lower, upper = model.predict_array(dict(model.targets[k]), 0.95)[0].tolist()
        bounds = middle_time, lower, upper
        speedup = first / middle_time, first / upper, first / lower
        shares = dict.fromkeys(shares, (ideal * speedup[0], ideal * speedup[1], ideal * speedup[2]))
    components.sort(key=lambda each: -each.time[0])
    baseline = float(sum(map(np.median, unchanged.values()))) if model.factors else None
    return At(dict(model.targets[k]), bounds, speedup, shares, tuple(components), baseline)


def _bounds(draws: Floats, value: Any = None) -> Bounds:
    """Median, or another estimate, and the ends of the interval."""
    median, lower, upper = np.quantile(draws, _SIDES).tolist()
    estimate = median if value is None else float(value)
    return estimate, min(lower, estimate), max(upper, estimate)


def _plain(bounds: Bounds) -> dict[str, float]:
    return dict(zip(("median", "lower", "upper"), bounds, strict=True))
