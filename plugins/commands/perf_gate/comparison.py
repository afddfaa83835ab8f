"""Two models: where they differ, by how much, and how sure that is."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from perf_tables.arguments import levels_at
from perfcore.base import progress
from perfcore.base.arrays import Booleans, Floats
from perfcore.base.errors import DataError, OptionError, PerfError
from perfcore.data import kind_in_words, kind_of
from perfcore.data.columns import plain_name
from perfcore.hooks.registry import registry
from perfcore.models.fitting import coerce, default_fitter, fit, types_to_read
from perfcore.models.model import Model, is_model_file, load
from perfcore.models.points import N_DRAWS, Drawn, GrowthDraws, PartDraws
from perfcore.reading import Read
from perfcore.report import Result

_SURE = 1.96  # standard errors to the ends of a 95 % interval
CATEGORY = "category"  # the variable of models by category; their first level is the total
# Values that differ by less, relative to them, are equal, and models that differ by less agree.
_SAME = 1e-9
_BLOCKS = 64  # places of each side at which bounds are looked up: pairs of all draws would be far too many
_ROWS_AT_ONCE = 250  # whose ratios take 8 MB
# Exponents that differ by less are alike: with 0.05 more, doubling a parameter costs 3.5 % more than it did.
_ALIKE = 0.05
_SUMS = 8  # ways to put the draws of independent parts together, for smooth tails of their sum
_COVERAGE = 0.95  # of the bounds that stand for draws where a model has none


def model_or_data(side: Any, fitter: str | None, read: Read) -> Any:
    """A model or data."""
    if not isinstance(side, (str, os.PathLike)):
        return side
    return load(side) if is_model_file(side) else read(os.fspath(side), types_to_read(fitter))


def two_models(first: Any, second: Any, fitter: str | None, options: Mapping[str, Any]) -> tuple[Model, Model]:
    """Both sides as models; data are fitted."""
    unfitted = [side for side in (first, second) if not isinstance(side, Model)]
    if fitter is None and unfitted:
        datasets = [coerce(side, options) for side in unfitted]
        if len({kind_of(data) for data in datasets}) > 1:
            kinds = " and ".join(f"{data.source} ({kind_in_words(data)})" for data in datasets)
            raise DataError(f"{kinds} are data of different kinds; name what fits both with --fitter")
        fitter, note = default_fitter(unfitted[0], options)
        progress.note(note)
    one, other = (side if isinstance(side, Model) else fit(side, fitter=fitter, **options) for side in (first, second))
    return one, other


def points_of(model: Model, columns: Mapping[str, Any]) -> Any:
    """Those columns that are variables of a model; of a single variable its values, which every model takes."""
    model_columns = {symbol: values for symbol, values in columns.items() if symbol in model.variables}
    return next(iter(model_columns.values())) if len(model.variables) == 1 and model_columns else model_columns


def comparison_points(model: Model, at: str | Iterable[str] | Mapping[str, Any]) -> dict[str, list[Any]]:
    """A column for each variable of all points, every combination of the levels."""
    named = levels_at(model, at)
    target = {symbol: [level] for symbol, level in model.target.items() if symbol not in named}
    levels = {symbol: {**target, **named}[symbol] for symbol in model.variables if symbol in {**target, **named}}
    missing = [name for name in model.variables if name not in levels and name not in model.levels]
    if missing:
        raise OptionError(f"the models are of {', '.join(model.variables)}; give --at {missing[0]}=...")
    columns = zip(*itertools.product(*levels.values()), strict=True)
    return {name: list(column) for name, column in zip(levels, columns, strict=True)}


# Ratios of what is not known exactly: both sides are equally probable draws and independent of one another, so that
# every draw of the one meets every draw of the other.


def ratio_bounds(old: Floats, new: Floats, coverage: float = 0.95) -> Floats:
    """Return bounds of new / old (K, 2), from ascending draws of both (K, N) and (K, M), NaN where there are none."""
    bounds = np.empty((len(old), 2))
    sides = [0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage]
    for begin in range(0, len(old), _ROWS_AT_ONCE):
        rows = (side[begin : begin + _ROWS_AT_ONCE] for side in (old, new))
        below, above = (row.reshape(-1, _BLOCKS, row.shape[1] // _BLOCKS).mean(axis=2) for row in rows)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = above[:, :, None] / below[:, None, :]
        ratios[(above[:, :, None] == 0.0) & (below[:, None, :] == 0.0)] = 1.0
        ratios = ratios.reshape(len(ratios), _BLOCKS * _BLOCKS)
        bounds[begin : begin + _ROWS_AT_ONCE] = np.quantile(ratios, sides, axis=1, method="inverted_cdf").T
    return bounds


def probability_above(old: Floats, new: Floats, factor: float = 1.0) -> Floats:
    """Return the probability that new is above `factor` times old (K,); draws as in `ratio_bounds`."""
    margin = _SAME * factor * np.abs(old) + np.finfo(np.float64).tiny
    return 0.5 * (_above(factor * old + margin, new) + _above(factor * old - margin, new))


def probability_beyond(old: Floats, new: Floats, difference: float) -> Floats:
    """Probability that new - old is above a difference > 0 (K,); draws as in `ratio_bounds`, of any sign."""
    return _above(old + difference, new)


def _above(old: Floats, new: Floats) -> Floats:
    """Share of all pairs in which new is above old (K,)."""
    order = np.argsort(np.concatenate([old, new], axis=1), axis=1, kind="stable")
    is_old = order < old.shape[1]
    pairs = np.where(is_old, 0, np.cumsum(is_old, axis=1)).sum(axis=1)
    finite = np.isfinite(old).all(axis=1) & np.isfinite(new).all(axis=1)
    return np.where(finite, pairs / (old.shape[1] * new.shape[1]), np.nan)


Columns = Mapping[str, npt.NDArray[Any]]


class GrowthChange(NamedTuple):
    """How a part grows in both models."""

    laws: tuple[str, str]
    parameter: str  # parameter along which growth changed most probably
    classes: tuple[str, str]  # the likeliest class of growth over it
    exponents: tuple[float, float]  # of a power of it that grows as the part does; medians
    worse: float


def growth_changes(
    growths: tuple[GrowthDraws | None, GrowthDraws | None], numbers: npt.NDArray[np.int64], called: Mapping[str, str]
) -> Mapping[int, GrowthChange]:
    """Compare the growth of parts."""
    first, second = growths
    both = np.flatnonzero((numbers >= 0).all(axis=0))
    if first is None or second is None or not len(both):
        return {}
    one, other = numbers[:, both]
    q = len(first.symbols)
    order = [second.symbols.index(symbol) for symbol in first.symbols]
    old, new = first.exponents[one], second.exponents[other][:, order]
    larger = probability_beyond(np.concatenate(old), np.concatenate(new), _ALIKE).reshape(old.shape[:2])
    before, after = first.probabilities[one], second.probabilities[other][:, order]
    # The class before is below: what it was below is summed up, less its own.
    higher = (after * (np.cumsum(before, axis=2) - before)).sum(axis=2)
    surest = np.fmax(larger, higher)
    rows = np.arange(len(both))
    along = np.where(np.isnan(surest), -1.0, surest).argmax(axis=1)
    # The surest of several parameters was chosen, so each may be wrong q times as seldom.
    worse = np.maximum(1.0 - q * (1.0 - surest[rows, along]), 0.0)
    medians = np.median(old, axis=2), np.median(new, axis=2)
    along = np.where(worse > 0.5, along, np.abs(medians[1]).argmax(axis=1))
    named = before[rows, along].argmax(axis=1), after[rows, along].argmax(axis=1)
    return {
        part: GrowthChange(
            laws=(first.laws[one[row]], second.laws[other[row]]),
            parameter=called.get(first.symbols[along[row]], first.symbols[along[row]]),
            classes=(first.classes[named[0][row]], second.classes[named[1][row]]),
            exponents=(float(medians[0][row, along[row]]), float(medians[1][row, along[row]])),
            worse=float(worse[row]),
        )
        for row, part in enumerate(both.tolist())
    }


class Measured(NamedTuple):
    """Means of all parts together that were measured of both models, at N points, and their ratio."""

    along: str  # the first parameter
    points: tuple[tuple[float, ...], ...]
    labels: tuple[str, ...]  # the points as a person reads them
    means: Floats  # (2, N)
    ratio: Floats  # of the second over the first (N,), with the ends of its 95 % confidence interval
    low: Floats
    high: Floats


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """Two models at n points."""

    reporter: ClassVar[str] = "perf_gate.comparison_answers:report_of"

    names: tuple[str, str]
    unit: str | None
    along: str  # the first parameter that varies; empty if none does
    points: Mapping[str, npt.NDArray[Any]]  # by symbol
    totals: Drawn  # values (2, n), draws (2, n, M)
    what: str  # what a part is, such as ``"category"``; empty where the models have no parts to compare
    parts: tuple[str, ...]  # of either model (K)
    of_part: Drawn  # values (2, K, n), 0 for a part that a model does not have; draws (2, K, n, N), NaN for such a part
    has: Booleans  # (2, K), which model has which part
    # at the last point, of the parts that both have, by number; empty where the models do not say
    growth: Mapping[int, GrowthChange]
    # parts that could not be fitted, and why. They, and what the other model says of them, are not in the totals
    left_out: tuple[Mapping[str, str], Mapping[str, str]]
    predicted: Booleans  # (2, n), which model says something beyond what was measured, at which point
    single_runs: bool  # the bounds of a model are of single runs and not of means, and so those of ratios are too wide
    called: Mapping[str, str] = field(default_factory=dict)  # what texts call symbols that are not called by themselves
    measured: Measured | None = None  # None if there is no point that was measured of both
    whole: str = "total"  # what the totals are

    def __len__(self) -> int:
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

    def only_in(self, which: int) -> list[str]:
        """Parts that one of the models (0 or 1) has alone, those that the other could not fit among them."""
        alone = self.has[which] & ~self.has[1 - which]
        return [part for part, chosen in zip(self.parts, alone.tolist(), strict=True) if chosen]

    def by_name(self, levels: Mapping[str, Any]) -> dict[str, Any]:
        """Levels by symbol, under what texts call the symbols."""
        return {self.called.get(symbol, symbol): level for symbol, level in levels.items()}

    @property
    def status(self) -> int:
        """Exit status: 3 where something could not be fitted."""
        return 3 if any(self.left_out) else 0

    def to_dict(self) -> dict[str, Any]:
        return {
            "models": self.names,
            "unit": self.unit,
            "along": self.called.get(self.along, self.along),
            "points": self.to_frame().to_dict("records"),
            "measured": self.measured and {k: np.asarray(v).tolist() for k, v in self.measured._asdict().items()},
            "laws": {self.parts[k]: change._asdict() for k, change in self.growth.items()},
            "left_out": dict(zip(self.names, map(dict, self.left_out), strict=True)),
        }

    @property
    def plural(self) -> str:
        """Several of what parts are, in words."""
        return "categories" if self.what == CATEGORY else f"{self.what}s"


def draws_of(model: Model, points: Columns) -> PartDraws:
    """What a model says of its parts; of one that says nothing two halves of normal distributions with its bounds."""
    if (own := model.part_draws(points)) is not None:
        return own
    count = len(next(iter(points.values())))
    if CATEGORY not in model.levels or model.kind in registry().entries("models"):
        none = Drawn(np.empty((0, count)), np.empty((0, count, N_DRAWS)))
        return PartDraws("", (), (), none, _by_interval(model, points), single_runs=True)
    whole_name, *names = model.levels[CATEGORY]
    whole, *drawn = (_by_interval(model, {**points, CATEGORY: np.full(count, name)}) for name in (whole_name, *names))
    parts = Drawn(np.stack([part.values for part in drawn]), np.stack([part.draws for part in drawn]))
    return PartDraws(CATEGORY, tuple(names), tuple(map(plain_name, names)), parts, whole, single_runs=True)


def _by_interval(model: Model, columns: Columns) -> Drawn:
    from scipy.special import ndtri

    points = points_of(model, columns)
    values = model.predict(points)
    try:
        bounds = model.predict_array(points, interval=_COVERAGE)[:, 1:]
    except PerfError:  # models of this kind, or of these data, have no bounds
        return Drawn(values, np.full((len(values), N_DRAWS), np.nan))
    places = ndtri((np.arange(N_DRAWS) + 0.5) / N_DRAWS)
    below, above = (values - bounds[:, 0])[:, None], (bounds[:, 1] - values)[:, None]
    spread = np.where(places < 0.0, below, above) / ndtri(0.5 + 0.5 * _COVERAGE)
    draws = values[:, None] + places * spread
    # Bounds of times are cut off at 0, and so are these.
    return Drawn(values, np.where((values > 0.0)[:, None], np.maximum(draws, 0.0), draws))


def sum_of_parts(parts: Drawn, chosen: npt.NDArray[np.bool_], seed: int, add_up: bool = True) -> Drawn:
    """Return the sum of independent parts, or the geometric mean of those that do not add up."""
    rng = np.random.default_rng(seed)
    sums = np.empty((parts.draws.shape[1], _SUMS * parts.draws.shape[-1]))
    for place, row in enumerate(sums):
        draws = parts.draws[chosen, place]
        if not add_up:
            draws = np.log(draws) / len(draws)
        row[:] = np.concatenate([rng.permuted(draws, axis=1).sum(axis=0) for _ in range(_SUMS)])
    sums.sort(axis=1)
    if not add_up:
        sums = np.exp(sums)
    if chosen.sum() == 1:
        return Drawn(parts.values[chosen][0], sums)
    return Drawn(np.median(sums, axis=1), sums)


def compare_models(
    one: Model, other: Model, points: Mapping[str, Any], names: tuple[str, str] = ("A", "B")
) -> Comparison:
    """Compare two models at points."""
    numeric = [{s for s in model.variables if s not in model.levels} for model in (one, other)]
    if numeric[0] != numeric[1]:
        lists = [", ".join(sorted(symbols)) for symbols in numeric]
        raise OptionError(f"{names[0]} is a model of {lists[0]}, {names[1]} of {lists[1]}; the same are needed")
    units = [model.unit for model in (one, other)]
    if units[0] != units[1]:
        raise DataError(f"{names[0]} is in {units[0]}, {names[1]} in {units[1]}; convert the values and fit again")
    arrays = {name: np.atleast_1d(np.asarray(values)) for name, values in points.items()}
    columns: dict[str, npt.NDArray[Any]] = dict(zip(arrays, np.broadcast_arrays(*arrays.values()), strict=True))
    drawn = (draws_of(one, columns), draws_of(other, columns))
    for part in drawn:
        if part.what in columns:
            raise OptionError(f"every {part.what} is compared; leave out --at {part.what}")
    totals = _totals(drawn)
    if not np.isfinite(totals.values).all():
        raise DataError("a model has no value at one of the points; see `perf predict`")
    part_kind, parts, numbers = _matched(drawn)
    along = next((s for s in one.variables if s not in one.levels and np.ptp(columns[s])), "")
    # Where both call it the same; a symbol stands for two names.
    same = set(one.shown_names.items()) & set(other.shown_names.items())
    called = {symbol: dict(same).get(symbol, symbol) for symbol in columns}
    last = {name: values[-1] for name, values in columns.items()}
    return Comparison(
        names=names,
        unit=units[0],
        along=along,
        points=columns,
        called=called,
        totals=totals,
        what=part_kind,
        parts=parts,
        of_part=_by_part(drawn, numbers),
        has=numbers >= 0,
        growth=growth_changes((one.growth_draws(last), other.growth_draws(last)), numbers, called) if parts else {},
        left_out=(drawn[0].left_out, drawn[1].left_out),
        predicted=np.stack([_is_predicted(model, columns) for model in (one, other)]),
        single_runs=any(part.single_runs for part in drawn),
        measured=_measured(one, other) if _add_up(drawn) or {*drawn[0].keys} == {*drawn[1].keys} else None,
        whole="total" if _add_up(drawn) else f"geometric mean of {int((numbers >= 0).all(axis=0).sum()):,} series",
    )


def _measured(one: Model, other: Model) -> Measured | None:
    """Compare the means at points that were measured of both, of models that know them (`totals_measured`)."""
    measured_points = [getattr(model, "fitted_points", None) for model in (one, other)]
    if not all(hasattr(model, "totals_measured") for model in (one, other)) or None in measured_points:
        return None
    symbols = [symbol for symbol in one.variables if symbol not in one.levels]
    rows = [list(zip(*(points[symbol] for symbol in symbols), strict=True)) for points in measured_points]  # type: ignore[index]
    points = np.array(sorted({*rows[0]} & {*rows[1]}), dtype=np.float64).reshape(-1, len(symbols))
    totals = np.stack([model.totals_measured(points) for model in (one, other)])  # type: ignore[attr-defined]
    known = np.isfinite(totals[:, :, 0]).all(axis=0)
    if not known.any():
        return None
    means, errors = totals[:, known, 0], totals[:, known, 1]
    ratio, factor = means[1] / means[0], np.exp(_SURE * np.hypot(*errors))
    names = [one.shown_names[symbol] for symbol in symbols]
    labels = (", ".join(f"{n}={v:g}" for n, v in zip(names, point, strict=True)) for point in points[known].tolist())
    places = tuple(tuple(point) for point in points[known].tolist())
    return Measured(names[0], places, tuple(labels), means, ratio, ratio / factor, ratio * factor)


def _add_up(drawn: tuple[PartDraws, PartDraws]) -> bool:
    return all(part.add_up or part.total is not None for part in drawn)


def _totals(drawn: tuple[PartDraws, PartDraws]) -> Drawn:
    """Totals of both models (2, n), of parts that neither had to leave out; or geometric means of those of both."""
    totals, add_up = [], _add_up(drawn)
    for which, part_draws in enumerate(drawn):
        if part_draws.total is not None:
            totals.append(part_draws.total)
            continue
        other = drawn[1 - which]
        chosen = np.array([key not in other.left_out for key in part_draws.keys])
        if not add_up:
            chosen &= np.isin(part_draws.keys, other.keys)
        if not chosen.any():
            raise DataError("the two models share no fitted call path")
        # Different seeds: the posteriors of the models are independent.
        totals.append(sum_of_parts(part_draws.parts, chosen, which, add_up))
    width = max(total.draws.shape[1] for total in totals)
    draws = [np.repeat(total.draws, width // total.draws.shape[1], axis=1) for total in totals]
    return Drawn(np.stack([total.values for total in totals]), np.stack(draws))


def _matched(drawn: tuple[PartDraws, PartDraws]) -> tuple[str, tuple[str, ...], npt.NDArray[np.int64]]:
    """What the parts of both are, their names, and the number of each in both models (2, K), -1 where it has none."""
    what, other = (part_draws.what for part_draws in drawn)
    if what != other or not what:
        return "", (), np.empty((2, 0), dtype=np.int64)
    names: dict[str, str] = {}
    for part_draws in drawn:
        for key, name in zip(part_draws.keys, part_draws.names, strict=True):
            names.setdefault(key, name)
    orders = [{key: number for number, key in enumerate(part_draws.keys)} for part_draws in drawn]
    numbers = np.array([[order.get(key, -1) for key in names] for order in orders], dtype=np.int64)
    return what, tuple(names.values()), numbers


def _by_part(drawn: tuple[PartDraws, PartDraws], numbers: npt.NDArray[np.int64]) -> Drawn:
    n, n_draws = (drawn[0].parts.draws if drawn[0].names else drawn[1].parts.draws).shape[1:]
    values = np.zeros((*numbers.shape, n))
    draws = np.full((*numbers.shape, n, n_draws), np.nan)
    for which, (part_draws, number) in enumerate(zip(drawn, numbers, strict=True)):
        values[which, number >= 0] = part_draws.parts.values[number[number >= 0]]
        draws[which, number >= 0] = part_draws.parts.draws[number[number >= 0]]
    return Drawn(values, draws)


def _is_predicted(model: Model, columns: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.bool_]:
    """Whether points (n,) lie beyond what was measured, as the model remarks of its first part."""
    n = len(next(iter(columns.values())))
    first = {name: np.full(n, levels[0]) for name, levels in model.levels.items()}
    remarks = model.remarks(points_of(model, {**first, **columns})) or [""] * n
    return np.array([remark != "" for remark in remarks])
