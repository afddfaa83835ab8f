"""Two models of the same parameters beside each other: ratios and how sure they are, crossings, and what differs."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perf_gate.compare.comparison.crossings import Crossing
from perf_gate.compare.comparison.growth import GrowthChange
from perf_gate.compare.comparison.ratios import probability_above, ratio_bounds
from perfcore.models.part_draws import Drawn
from perfcore.results import Result

Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]

_PLURALS = {"category": "categories"}
_LIKE = 0.7  # of the letters of two names agree: one may be the other, renamed
_MOST_RENAMED = 100  # names are compared letter by letter, which takes its time


class RatioDraws(NamedTuple):
    """Draws of both models of K things at one point (K, N) and (K, M), each ascending; NaN where there are none."""

    first: Floats
    second: Floats

    def rows(self, chosen: Sequence[int]) -> RatioDraws:
        """Of some of them."""
        return RatioDraws(self.first[chosen], self.second[chosen])

    def bounds(self, coverage: float = 0.95) -> Floats:
        """Of the second over the first (K, 2)."""
        return ratio_bounds(self.first, self.second, coverage)

    def above(self, factor: float) -> Floats:
        """Probability that the second is above a factor times the first (K,)."""
        return probability_above(self.first, self.second, factor)


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """Two models at n points.

    Parameters
    ----------
    names : pair of str
    unit : str or None
    along : str
        Parameter along which crossings were looked for: the first that varies, empty where none does.
    points : mapping of str to (n,) float or str
        By symbol.
    totals : Drawn
        Values (2, n), draws (2, n, M).
    what : str
        What a part is, such as ``"category"``; empty where the models have no parts to compare.
    parts : tuple of str
        Of either model (K).
    of_part : Drawn
        Values (2, K, n), 0 for a part that a model does not have; draws (2, K, n, N), NaN for such a part.
    has : (2, K) bool
        Which model has which part.
    crossings : tuple of Crossing
    growth : mapping of int to GrowthChange
        At the last point, of the parts that both have, by number; empty where the models do not say.
    left_out : pair of mappings of str to str
        Parts that could not be fitted, and why. They, and what the other model says of them, are not in the totals.
    predicted : (2, n) bool
        Which model says something beyond what was measured, at which point.
    single_runs : bool
        The bounds of a model are of single runs and not of means, and so those of ratios are too wide.
    called : mapping of str to str
        What texts call symbols that are not called by themselves.
    """

    names: tuple[str, str]
    unit: str | None
    along: str
    points: Mapping[str, npt.NDArray[Any]]
    totals: Drawn
    what: str
    parts: tuple[str, ...]
    of_part: Drawn
    has: Booleans
    crossings: tuple[Crossing, ...]
    growth: Mapping[int, GrowthChange]
    left_out: tuple[Mapping[str, str], Mapping[str, str]]
    predicted: Booleans
    single_runs: bool
    called: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        """How many points."""
        return int(self.totals.values.shape[1])

    @property
    def ratio(self) -> Floats:
        """The second model over the first (n,)."""
        return np.asarray(self.totals.values[1] / self.totals.values[0])

    @property
    def both(self) -> Booleans:
        """The parts that both models have (K,)."""
        return np.asarray(self.has.all(axis=0))

    def part_ratio(self, place: int) -> Floats:
        """The second model over the first, part by part (K,); NaN where one does not have it."""
        first, second = self.of_part.values[:, :, place]
        return np.asarray(np.divide(second, first, out=np.full(len(first), np.nan), where=self.both & (first > 0.0)))

    def difference(self, place: int) -> Floats:
        """The second model less the first, part by part (K,)."""
        return np.asarray(np.diff(self.of_part.values[:, :, place], axis=0)[0])

    def total_draws(self) -> RatioDraws:
        """Draws of the totals, at all points."""
        return RatioDraws(*self.totals.draws)

    def part_draws(self, place: int) -> RatioDraws:
        """Draws of the parts at one point."""
        return RatioDraws(*self.of_part.draws[:, :, place])

    def share(self, place: int) -> Floats:
        """Part of the total that each part has at a point (K,): the larger of both."""
        return np.asarray((self.of_part.values[:, :, place] / self.totals.values[:, place, None]).max(axis=0))

    def largest(self, place: int) -> tuple[str, float] | None:
        """The part that makes most of the difference at a point, and its part of it, second less first."""
        if not self.parts:
            return None
        difference = self.difference(place)
        towards = difference * np.sign(self.totals.values[1, place] - self.totals.values[0, place])
        which = int(towards.argmax())
        return self.parts[which], float(difference[which])

    def only_in(self, which: int) -> list[str]:
        """Parts that one of the models (0 or 1) has alone, those that the other could not fit among them."""
        alone = self.has[which] & ~self.has[1 - which]
        return [part for part, chosen in zip(self.parts, alone.tolist(), strict=True) if chosen]

    @property
    def renamed(self) -> dict[str, str]:
        """Parts of the first alone with the part of the second alone whose name is most like theirs."""
        new = self.only_in(1)
        pairs: dict[str, str] = {}
        for part in self.only_in(0)[:_MOST_RENAMED]:
            near = difflib.get_close_matches(part, [name for name in new if name not in pairs.values()], 1, _LIKE)
            if near:
                pairs[part] = near[0]
        return pairs

    def by_name(self, levels: Mapping[str, Any]) -> dict[str, Any]:
        """Levels by symbol, under what texts call the symbols."""
        return {self.called.get(symbol, symbol): level for symbol, level in levels.items()}

    def to_dict(self) -> dict[str, Any]:
        """Everything, JSON-ready but for NaN."""
        draws = self.total_draws()
        bounds, larger = draws.bounds(), draws.above(1.0)
        columns = self.by_name({symbol: values.tolist() for symbol, values in self.points.items()})
        points = []
        for place, row in enumerate(zip(*columns.values(), strict=True)):
            entry = {**dict(zip(columns, row, strict=True)), "values": self.totals.values[:, place].tolist()}
            entry.update(ratio=float(self.ratio[place]), bounds=bounds[place].tolist(), larger=float(larger[place]))
            if self.parts:
                entry[plural_of(self.what)] = self._parts_at(place)
            points.append(entry)
        return {
            "models": self.names,
            "unit": self.unit,
            "along": self.called.get(self.along, self.along),
            "crossings": [
                {
                    "at": c.at,
                    "value": c.value,
                    "smaller_before": self.names[c.below],
                    "held": self.by_name(c.held),
                }
                for c in self.crossings
            ],
            "points": points,
            "laws": {self.parts[k]: change._asdict() for k, change in self.growth.items()},
            "left_out": dict(zip(self.names, map(dict, self.left_out), strict=True)),
            "perhaps_renamed": self.renamed,
            "gates": [],  # `perf gate` judges; whoever reads it finds none
        }

    def _parts_at(self, place: int) -> dict[str, Any]:
        draws, ratio = self.part_draws(place), self.part_ratio(place).tolist()
        bounds, larger = draws.bounds().tolist(), draws.above(1.0).tolist()
        return {
            name: {
                "values": [v if has else None for v, has in zip(values, owned, strict=True)],
                "ratio": ratio[k],
                "bounds": bounds[k],
                "larger": larger[k],
            }
            for k, (name, values, owned) in enumerate(
                zip(self.parts, self.of_part.values[:, :, place].T.tolist(), self.has.T.tolist(), strict=True)
            )
        }


def plural_of(part_kind: str) -> str:
    """Several of what parts are."""
    return _PLURALS.get(part_kind, f"{part_kind}s")
