"""Two models become a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_gate.compare.comparison.comparison import Comparison
from perf_gate.compare.comparison.crossings import Crossing, crossings_between, crossings_of
from perf_gate.compare.comparison.growth import growth_changes
from perf_gate.compare.points import CATEGORY, points_of
from perf_tables.names import plain_name
from perfcore.base.errors import DataError, OptionError, PerfError
from perfcore.hooks.registry import registry
from perfcore.models.model import Model
from perfcore.models.part_draws import N_DRAWS, Drawn, PartDraws

Columns = Mapping[str, npt.NDArray[Any]]

_SUMS = 8  # ways to put the draws of independent parts together, for smooth tails of their sum
_COVERAGE = 0.95  # of the bounds that stand for draws where a model has none


def draws_of(model: Model, points: Columns) -> PartDraws:
    """What a model says of its parts, or else what its bounds say."""
    drawn = model.part_draws(points)
    return draws_by_interval(model, points) if drawn is None else drawn


def draws_by_interval(model: Model, points: Columns) -> PartDraws:
    """Draws of a model that has none of its own: two halves of normal distributions with its bounds."""
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
        bounds = model.predict(points, interval=_COVERAGE)[:, 1:]
    except PerfError:  # models of this kind, or of these data, have no bounds
        return Drawn(values, np.full((len(values), N_DRAWS), np.nan))
    places = ndtri((np.arange(N_DRAWS) + 0.5) / N_DRAWS)
    below, above = (values - bounds[:, 0])[:, None], (bounds[:, 1] - values)[:, None]
    spread = np.where(places < 0.0, below, above) / ndtri(0.5 + 0.5 * _COVERAGE)
    draws = values[:, None] + places * spread
    # Bounds of times are cut off at 0, and so are these.
    return Drawn(values, np.where((values > 0.0)[:, None], np.maximum(draws, 0.0), draws))


def sum_of_parts(parts: Drawn, chosen: npt.NDArray[np.bool_], seed: int) -> Drawn:
    """The sum of independent parts."""
    rng = np.random.default_rng(seed)
    n_draws = parts.draws.shape[-1]
    sums = np.empty((parts.draws.shape[1], _SUMS * n_draws))
    for place, row in enumerate(sums):
        draws = parts.draws[chosen, place]
        row[:] = np.concatenate([rng.permuted(draws, axis=1).sum(axis=0) for _ in range(_SUMS)])
    sums.sort(axis=1)
    if chosen.sum() == 1:
        return Drawn(parts.values[chosen][0], sums)
    return Drawn(np.median(sums, axis=1), sums)


Floats = npt.NDArray[np.float64]


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
    along = next((s for s in one.variables if s in numeric[0] and np.ptp(columns[s]) > 0.0), "")
    crossings: tuple[Crossing, ...] = ()
    if along and all(part.total is not None for part in drawn):
        crossings = crossings_of(
            lambda point_columns: np.stack([_total(model, point_columns) for model in (one, other)]), columns, along
        )
    elif along:  # sums of thousands of parts take too long for a search
        crossings = crossings_between(totals.values, columns, along)
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
        crossings=crossings,
        growth=growth_changes((one.growth_draws(last), other.growth_draws(last)), numbers, called) if parts else {},
        left_out=(drawn[0].left_out, drawn[1].left_out),
        predicted=np.stack([_is_predicted(model, columns) for model in (one, other)]),
        single_runs=any(part.single_runs for part in drawn),
    )


def _totals(drawn: tuple[PartDraws, PartDraws]) -> Drawn:
    """Totals of both models (2, n), of parts that neither had to leave out."""
    totals = []
    for which, part_draws in enumerate(drawn):
        if part_draws.total is not None:
            totals.append(part_draws.total)
            continue
        unknown = drawn[1 - which].left_out
        chosen = np.array([key not in unknown for key in part_draws.keys])
        if not chosen.any():
            raise DataError("the models have nothing in common: what one has, the other could not fit")
        # Different seeds: what is left open about one model does not depend on the other.
        totals.append(sum_of_parts(part_draws.parts, chosen, seed=which))
    width = max(total.draws.shape[1] for total in totals)
    draws = [np.repeat(total.draws, width // total.draws.shape[1], axis=1) for total in totals]
    return Drawn(np.stack([total.values for total in totals]), np.stack(draws))


def _matched(drawn: tuple[PartDraws, PartDraws]) -> tuple[str, tuple[str, ...], npt.NDArray[np.int64]]:
    """What the parts of both are, their names, and the number of each in both models (2, K), -1 where it has none."""
    if drawn[0].what != drawn[1].what or not drawn[0].what:
        return "", (), np.empty((2, 0), dtype=np.int64)
    names: dict[str, str] = {}
    for part_draws in drawn:
        for key, name in zip(part_draws.keys, part_draws.names, strict=True):
            names.setdefault(key, name)
    orders = [{key: number for number, key in enumerate(part_draws.keys)} for part_draws in drawn]
    numbers = np.array([[order.get(key, -1) for key in names] for order in orders], dtype=np.int64)
    return drawn[0].what, tuple(names.values()), numbers


def _by_part(drawn: tuple[PartDraws, PartDraws], numbers: npt.NDArray[np.int64]) -> Drawn:
    n, n_draws = (drawn[0].parts.draws if drawn[0].names else drawn[1].parts.draws).shape[1:]
    values = np.zeros((*numbers.shape, n))
    draws = np.full((*numbers.shape, n, n_draws), np.nan)
    for which, (part_draws, number) in enumerate(zip(drawn, numbers, strict=True)):
        values[which, number >= 0] = part_draws.parts.values[number[number >= 0]]
        draws[which, number >= 0] = part_draws.parts.draws[number[number >= 0]]
    return Drawn(values, draws)


def _total(model: Model, columns: Mapping[str, npt.NDArray[Any]]) -> Floats:
    """The model at points (n,), of all categories together."""
    if CATEGORY in model.levels:
        columns = {**columns, CATEGORY: np.full(len(next(iter(columns.values()))), model.levels[CATEGORY][0])}
    return model.predict(points_of(model, columns))


def _is_predicted(model: Model, columns: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.bool_]:
    """Whether points (n,) lie beyond what was measured, as the model remarks of its first part."""
    n = len(next(iter(columns.values())))
    first = {name: np.full(n, levels[0]) for name, levels in model.levels.items()}
    remarks = model.remarks(points_of(model, {**first, **columns})) or [""] * n
    return np.array([remark != "" for remark in remarks])
