"""Two models of the same parameters beside each other: ratios and how sure they are, crossings, and what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perf_compare.comparison.crossings import Crossing, crossings_between, crossings_of
from perf_compare.comparison.growth import GrowthChange, growth_changes
from perf_compare.comparison.ratios import probability_above, ratio_bounds
from perfcore.base.errors import DataError, OptionError
from perfcore.models.model import Model
from perfcore.models.part_draws import CATEGORY, Drawn, PartDraws, sum_of_parts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Comparison", "RatioDraws", "compare"]

Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]


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


@dataclass(frozen=True)
class Comparison:
    """Two models at n points.

    Parameters
    ----------
    names : pair of str
    unit : str or None
    along : str
        Parameter along which crossings were looked for: the first that varies, empty where none does.
    points : mapping of str to (n,) float or str
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
    single_runs : bool
        The bounds of a model are of single runs and not of means, and so those of ratios are too wide.
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
    single_runs: bool

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

    @property
    def title(self) -> str:
        """One line over a picture."""
        return f"{self.names[1]} against {self.names[0]}"

    @property
    def formula(self) -> str:
        """Nothing: a comparison has no formula."""
        return ""

    def summary(self) -> list[str]:
        """The crossings, or which model is smaller throughout, and what could not be compared."""
        from perf_compare.comparison.tables import comparison_summary

        return comparison_summary(self)

    def tables(self) -> list[tuple[str, list[str], list[list[str]]]]:
        """Both models at the points, and their parts at the last of them."""
        from perf_compare.comparison.tables import comparison_tables

        return comparison_tables(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything, JSON-ready."""
        from perf_compare.comparison.tables import comparison_dict

        return comparison_dict(self)

    def draw(self, figure: Figure, data: Any = None) -> None:
        """Draw both models along the parameter, and what differs."""
        from perf_compare.comparison.picture import draw_comparison

        draw_comparison(self, figure)


def compare(one: Model, other: Model, points: Mapping[str, Any], names: tuple[str, str] = ("A", "B")) -> Comparison:
    """Compare two models at points.

    Parameters
    ----------
    one, other : Model
        Of the same parameters, fitted to data that do not depend on each other.
    points : mapping of str to (n,) float or str
        Parameters, and code or system where the models have several; not what names a part.
    names : pair of str

    Raises
    ------
    OptionError
        The models have different parameters, or a part is given.
    DataError
        The units differ, a model has no value at a point, or they have no part in common.

    Examples
    --------
    >>> import pandas as pd, perfcore
    >>> p = [1, 2, 4, 8, 16]
    >>> tables = (pd.DataFrame({"p": p, "time_s": [work / n + 1 for n in p]}) for work in (8, 16))
    >>> old, new = (perfcore.fit(table, fitter="individual", functions="1/p,1") for table in tables)
    >>> [round(float(ratio), 3) for ratio in compare(old, new, {"p": [1, 16]}).ratio]
    [1.889, 1.333]
    """
    numeric = [{s for s in model.variables if s not in model.levels} for model in (one, other)]
    if numeric[0] != numeric[1]:
        lists = [", ".join(sorted(symbols)) for symbols in numeric]
        raise OptionError(f"{names[0]} is a model of {lists[0]}, {names[1]} of {lists[1]}; the same are needed")
    units = [getattr(model, "unit", None) for model in (one, other)]
    if units[0] != units[1]:
        raise DataError(f"{names[0]} is in {units[0]}, {names[1]} in {units[1]}; convert the values and fit again")
    given = {name: np.atleast_1d(np.asarray(values)) for name, values in points.items()}
    columns: dict[str, npt.NDArray[Any]] = dict(zip(given, np.broadcast_arrays(*given.values()), strict=True))
    drawn = (one.part_draws(columns), other.part_draws(columns))
    for part in drawn:
        if part.what in columns:
            raise OptionError(f"every {part.what} is compared; leave out --at {part.what}")
    totals = _totals(drawn)
    if not np.isfinite(totals.values).all():
        raise DataError("a model has no value at one of the points; see `perf predict`")
    what, parts, numbers = _matched(drawn)
    along = next((s for s in one.variables if s in numeric[0] and np.ptp(columns[s]) > 0.0), "")
    crossings: tuple[Crossing, ...] = ()
    if along and all(part.total is not None for part in drawn):
        crossings = crossings_of(lambda at: np.stack([_total(model, at) for model in (one, other)]), columns, along)
    elif along:  # sums of thousands of parts take too long for a search
        crossings = crossings_between(totals.values, columns, along)
    last = {name: values[-1] for name, values in columns.items()}
    return Comparison(
        names=names,
        unit=units[0],
        along=along,
        points=columns,
        totals=totals,
        what=what,
        parts=parts,
        of_part=_by_part(drawn, numbers),
        has=numbers >= 0,
        crossings=crossings,
        growth=growth_changes((one.growth_draws(last), other.growth_draws(last)), numbers) if parts else {},
        left_out=(drawn[0].left_out, drawn[1].left_out),
        single_runs=any(part.single_runs for part in drawn),
    )


def _totals(drawn: tuple[PartDraws, PartDraws]) -> Drawn:
    """Totals of both models (2, n), of parts that neither had to leave out."""
    found = []
    for which, own in enumerate(drawn):
        if own.total is not None:
            found.append(own.total)
            continue
        unknown = drawn[1 - which].left_out
        chosen = np.array([key not in unknown for key in own.keys])
        if not chosen.any():
            raise DataError("the models have nothing in common: what one has, the other could not fit")
        # Different seeds: what is left open about one model does not depend on the other.
        found.append(sum_of_parts(own.parts, chosen, seed=which))
    width = max(total.draws.shape[1] for total in found)
    draws = [np.repeat(total.draws, width // total.draws.shape[1], axis=1) for total in found]
    return Drawn(np.stack([total.values for total in found]), np.stack(draws))


def _matched(drawn: tuple[PartDraws, PartDraws]) -> tuple[str, tuple[str, ...], npt.NDArray[np.int64]]:
    """What the parts of both are, their names, and the number of each in both models (2, K), -1 where it has none."""
    if drawn[0].what != drawn[1].what or not drawn[0].what:
        return "", (), np.empty((2, 0), dtype=np.int64)
    shown: dict[str, str] = {}
    for own in drawn:
        for key, name in zip(own.keys, own.names, strict=True):
            shown.setdefault(key, name)
    orders = [{key: number for number, key in enumerate(own.keys)} for own in drawn]
    numbers = np.array([[order.get(key, -1) for key in shown] for order in orders], dtype=np.int64)
    return drawn[0].what, tuple(shown.values()), numbers


def _by_part(drawn: tuple[PartDraws, PartDraws], numbers: npt.NDArray[np.int64]) -> Drawn:
    n, n_draws = (drawn[0].parts.draws if drawn[0].names else drawn[1].parts.draws).shape[1:]
    values = np.zeros((*numbers.shape, n))
    draws = np.full((*numbers.shape, n, n_draws), np.nan)
    for which, (own, number) in enumerate(zip(drawn, numbers, strict=True)):
        values[which, number >= 0] = own.parts.values[number[number >= 0]]
        draws[which, number >= 0] = own.parts.draws[number[number >= 0]]
    return Drawn(values, draws)


def _total(model: Model, columns: Mapping[str, npt.NDArray[Any]]) -> Floats:
    """The model at points (n,), of all categories together."""
    if len(model.variables) == 1:
        return model.predict(columns[next(iter(model.variables))])
    here = {name: values for name, values in columns.items() if name in model.variables}
    if CATEGORY in model.levels:
        here[CATEGORY] = np.full(len(next(iter(columns.values()))), model.levels[CATEGORY][0])
    return model.predict(here)
