"""What a projection says at its targets."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from perf_views.names import unique_suffixes
from perfcore.base.arrays import Floats
from perfcore.results import Result

_SIDES = (0.5, 0.025, 0.975)
_CALLER = "->"  # between the functions of a call path
Bounds = tuple[float, float, float]  # estimate, and the 95 % interval


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
    counters: dict[str, Bounds]  # growth from the smallest run: of instructions (total), IPC and frequency

    @property
    def limits(self) -> ComponentAt:
        """The largest loss."""
        return max(self.components, key=lambda each: each.lost)

    @property
    def labels(self) -> dict[str, str]:
        """Component names; of call paths the ends that tell them apart."""
        paths = [each.name for each in self.components if _CALLER in each.name and f" {_CALLER} " not in each.name]
        ends = unique_suffixes([name.replace(_CALLER, "/") for name in paths])
        labels = {path: end.replace("/", _CALLER) for path, end in zip(paths, ends, strict=True)}
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
            **({"counters": {name: _plain(b) for name, b in self.counters.items()}} if self.counters else {}),
        }  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Projection(Result):
    """The answer of `perf project`."""

    json_kind: ClassVar[str] = "projection"

    model: Any  # the projection, whose module imports this one
    at: tuple[At, ...]  # in the order of the targets

    def to_dict(self) -> dict[str, Any]:
        """The last target; with several all of them under ``projections``."""
        model = self.model
        several = {"projections": [each.to_dict(model.unit) for each in self.at]} if len(self.at) > 1 else {}
        check = model.check
        return {
            **self.at[-1].to_dict(model.unit),
            **several,
            "measured": [
                {model.symbol: p, "elapsed": time}
                for p, time in zip(model.sizes.tolist(), model.elapsed.tolist(), strict=True)
            ],
            "check": None if check is None else {name: getattr(check, name) for name in check.__struct_fields__},
            "scaling": model.scaling,
            "unfitted": dict(model.unfitted),
            "notes": {label: list(texts) for label, texts in model.notes.items()},
        }

    def save(self, path: str | os.PathLike[str]) -> list[str]:
        """Write the model."""
        self.model.save(path)
        return [f"model: {os.fspath(path)}"]


def projection_of(model: Any) -> Projection:
    """Predict everything at the model's targets."""
    places = np.array([[point[symbol] for symbol in model.points] for point in model.targets])
    drawn, laws = model.component_draws(places), model.laws
    counted = _counted(model, places)
    return Projection(model, tuple(_at(model, k, place, drawn, laws, counted) for k, place in enumerate(places)))


def _at(
    model: Any, k: int, place: Floats, drawn: Mapping[str, Floats], laws: Mapping[str, str],
    counted: Mapping[str, Floats],
) -> At:  # fmt: skip
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
    return At(
        dict(model.targets[k]),
        _bounds(elapsed, whole),
        _bounds(sum(reference.values()) / elapsed, sum(reference.values()) / whole),
        {name: _bounds(draws, values[name]) for name, draws in efficiencies.items()},
        tuple(sorted(components, key=lambda each: -each.time[0])),
        float(sum(map(np.median, unchanged.values()))) if model.factors else None,
        {name: _bounds(draws[:, k]) for name, draws in counted.items()},
    )


def _counted(model: Any, places: Floats) -> dict[str, Floats]:
    """Growth of instructions, IPC and frequency from the smallest run to each target, (N, T) draws."""
    law: Any = model.counters
    if law is None:
        return {}
    runs = law.draws(places).runs()
    first = law.means[:, int(np.argmin(law.points[model.symbol]))]
    growth = {name: runs[k] / first[k] for k, name in enumerate(law.paths)}
    return {
        "instructions": growth["instructions"],
        "IPC": 1.0 / growth["cycles per instruction"],
        "frequency": 1.0 / growth["seconds per cycle"],
    }


def _bounds(draws: Floats, value: Any = None) -> Bounds:
    """Median, or another estimate, and the ends of the interval."""
    median, lower, upper = np.quantile(draws, _SIDES).tolist()
    estimate = median if value is None else float(value)
    return estimate, min(lower, estimate), max(upper, estimate)


def _plain(bounds: Bounds) -> dict[str, float]:
    return dict(zip(("median", "lower", "upper"), bounds, strict=True))
