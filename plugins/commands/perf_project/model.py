"""The elapsed time over the scale as a sum of components, with their joint uncertainty.

Each component has its own scaling model, averaged over the posterior. Efficiencies are made
of the components at the scale that is asked for, never modelled themselves, so that they multiply exactly. What is
moved from one component of a run to another, such as from computing to waiting, makes their errors correlated: draws
are put together by a Gaussian copula with the correlation of the residuals, shrunk towards none where runs are few.
The estimate of the elapsed time is the sum of the components' medians, so that tables add up; medians of sums of skewed
draws were larger, and farther from held-out runs.

Two things make intervals hold and yet not too wide. Draws beyond the largest run that fall faster than perfect scaling
or rise faster than the scale, and than the component did between runs, count less. Categories of tables take time
from each other when a code changes its method: some of their draws, half without a hold-out check, are scaled to those
of a model of the elapsed time, ranks paired, so that uncertain components give most. Parts of traces have no such gaps.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import msgspec
import numpy as np

from perf_tables.points import check_coverage, named_points
from perf_traces.pop_steps import factors_of
from perfcore.base.arrays import Floats
from perfcore.models.design_rows import N_DRAWS, Drawn, PartDraws
from perfcore.models.model import Model, Origin, Parameter, Points, model_of

TOTAL, MEAN = "total", "mean"  # what the law of a component is of: all locations together, or one
_DRAWS, _SEED = 8192, 0
_PRIOR_RUNS = 0.5  # as many runs say that residuals are not correlated
_MODELS = ("law", "whole", "counters")
_SLACK, _FASTEST_RISE, _STEEPEST = 0.05, 1.0, 2.0  # exponents beyond the largest run
_UNLIKELY = (0.1, 0.3)  # weight of other exponents: of traces, and of tables, whose categories were seen to have them
_SPREAD = 0.8  # standard deviation of the exponent of a component without a law: that of waiting in other codes


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


class _Plain(Model, frozen=True, forbid_unknown_fields=True, kw_only=True, dict=True):
    """Everything in the file but the models of the components."""

    points: dict[str, tuple[float, ...]]  # R measured points, by symbol
    measured: dict[str, tuple[float, ...]]  # seconds of a location in each component at these
    kinds: dict[str, str]  # of each component that has a law: `TOTAL` or `MEAN`
    alone: dict[str, int]  # of what is lost: up to how many locations it is nothing
    targets: tuple[dict[str, float], ...]
    scaling: str  # "strong" or "weak"
    factors: dict[str, float] = msgspec.field(
        default_factory=dict
    )  # what-if: by what the time of a component is multiplied
    unfitted: dict[str, str] = msgspec.field(default_factory=dict)  # components that no law fits, held constant
    check: Check | None = None
    weight: float = 0.5  # of the sum of components beside the model of the elapsed time: by the hold-out check
    notes: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)  # by label: Assumed, Uncertain


class ProjectionModel(_Plain, frozen=True, forbid_unknown_fields=True, kw_only=True, dict=True):
    """The elapsed time over the scale, in seconds; made by `perfcore.project`."""

    law: Model  # of each component
    whole: Model | None = None  # of the elapsed time of tables
    counters: Model | None = None  # of instructions, cycles per instruction and seconds per cycle

    kind: ClassVar[str] = "projection"

    def __post_init__(self) -> None:
        """Refuse what a file edited by hand may hold."""
        n = {len(values) for values in (*self.points.values(), *self.measured.values())}
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
        return self.law.unit

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
    def answer(self) -> Any:
        """The components and efficiencies at the targets."""
        from perf_project.projection import projection_of

        return projection_of(self)

    @functools.cached_property
    def _scores(self) -> Floats:
        """Places of joint draws in those of each component, which ascend: (K, D), in [0, 1)."""
        law: Any = self.law
        logs = np.log(np.where(law.means > 0.0, law.means, np.nan)) - np.log(law.fitted)
        logs = np.nan_to_num(logs - np.nanmean(logs, axis=1, keepdims=True))
        deviation = np.sqrt((logs**2).sum(axis=1))
        logs /= np.where(deviation > 0.0, deviation, 1.0)[:, None]
        count = max(0.0, logs.shape[1] - 2.0)  # a level and a slope are fitted
        share = count / (count + _PRIOR_RUNS)
        normal = np.random.default_rng(_SEED).standard_normal((len(logs) + logs.shape[1], _DRAWS))
        own, shared = normal[: len(logs)], normal[len(logs) :]
        joint = np.sqrt(1.0 - share * (deviation > 0.0))[:, None] * own + np.sqrt(share) * (logs @ shared)
        return np.asarray((joint.argsort(axis=1).argsort(axis=1) + 0.5) / _DRAWS)

    def component_draws(self, places: Floats) -> dict[str, Floats]:
        """Joint draws of a location's time in each component at points (T, q), without changes: (D, T) each."""
        law: Any = self.law
        ascending = np.concatenate([np.sort(law.draws(place[None]).runs(), axis=1) for place in places], axis=2)
        size, drawn = places[:, 0], dict[str, Floats]()
        for name, measured in self.measured.items():
            if name in self.kinds:
                k = law.paths.index(name)
                times = ascending[k] / size if self.kinds[name] == TOTAL else ascending[k]
                times = self._at_scores(name, times, size, self._scores[k])
                times = np.where(size <= self.alone.get(name, 0), 0.0, times)
            else:
                ratio = np.maximum(size / self.sizes.max(), 1.0)
                own = self._exponents(name)[-1:].sum()  # of the last step, or 0
                exponents = own + _SPREAD * np.random.default_rng([_SEED, len(drawn)]).standard_normal((_DRAWS, 1))
                times = measured[self.largest] * ratio**exponents
            drawn[name] = times
        if self.whole is not None:
            whole: Any = self.whole
            elapsed = np.sum(list(drawn.values()), axis=0)
            total = whole.draws(places).runs()[0]
            chosen = np.flatnonzero(np.diff(np.floor(np.arange(_DRAWS + 1) * (1.0 - self.weight))))
            order, ranks = np.argsort(elapsed, axis=0)[chosen], (chosen + 0.5) / _DRAWS
            scale = np.ones_like(elapsed)
            moved = np.quantile(total, ranks, axis=0) / np.take_along_axis(elapsed, order, axis=0)
            np.put_along_axis(scale, order, moved, axis=0)
            drawn = {name: times * scale for name, times in drawn.items()}
        return drawn

    def _exponents(self, name: str) -> Floats:
        """Exponents of a component's time between scales at which it takes any."""
        times = np.array(self.measured[name])
        kept = np.flatnonzero((times > 0.0) & (self.sizes > self.alone.get(name, 0)) & (len(self.points) == 1))
        kept = kept[np.argsort(self.sizes[kept])]
        steps = np.diff(np.log(times[kept])) / np.diff(np.log(self.sizes[kept]))
        return np.asarray(np.clip(steps, -_STEEPEST, _STEEPEST))

    def _at_scores(self, name: str, ascending: Floats, size: Floats, scores: Floats) -> Floats:
        """Draws (N, T) of a component in the order of its scores; those with unlikely exponents count less."""
        times = ascending[(scores * len(ascending)).astype(np.int64)]
        measured, largest = self.measured[name][self.largest], self.sizes.max()
        if len(self.points) > 1 or not measured:
            return times
        own = self._exponents(name)
        low, high = min(float(self.scaling == "weak") - 1.0 - _SLACK, *own), max(_FASTEST_RISE, *own)
        unlikely = _UNLIKELY[0 if self.alone else 1]
        for t in np.flatnonzero(size > largest):
            with np.errstate(divide="ignore"):
                exponent = np.log(ascending[:, t] / measured) / math.log(size[t] / largest)
            weight = np.cumsum(np.where((exponent < low) | (exponent > high), unlikely, 1.0))
            times[:, t] = ascending[np.searchsorted(weight, scores * weight[-1]), t]
        return times

    def places(self, points: Points) -> Floats:
        """Points as a user gives them as an array (T, q)."""
        levels, _ = named_points(points, dict(self.variables), {})
        return np.stack([levels[symbol] for symbol in self.points], axis=1)

    def predict(self, points: Points, interval: float | None = None) -> Floats:
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
        return self.law.parameters

    def to_dict(self) -> dict[str, Any]:
        models = {name: getattr(self, name) for name in _MODELS}
        names = [name for name in _Plain.__struct_fields__ if name not in Origin.__struct_fields__ and name != "origin"]
        content = {name: msgspec.to_builtins(getattr(self, name)) for name in names}
        content |= {name: model.to_dict() for name, model in models.items() if model is not None}
        return {"schema": self.law.to_dict()["schema"], "kind": self.kind, **msgspec.to_builtins(self.origin),
                "model": content}  # fmt: skip

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        written = dict(content["model"])
        fields: dict[str, Any] = {name: model_of(written.pop(name)) for name in _MODELS if name in written}
        if "law" not in fields:
            raise msgspec.ValidationError("law: the field is missing")
        origin = {name: content[name] for name in Origin.__struct_fields__ if name in content}
        plain = msgspec.convert({"origin": origin, **written}, type=_Plain)
        try:
            return cls(**{name: getattr(plain, name) for name in _Plain.__struct_fields__}, **fields)
        except ValueError as error:
            raise msgspec.ValidationError(str(error)) from None
