"""POP's efficiencies at unmeasured numbers of locations, with intervals.

Each part of the runs' times gets a scaling model; factors are made of the parts at the scale that is asked for, never
modelled themselves, so that they multiply to the global efficiency exactly. Parts are taken as independent: draws of
what the data leave open about each are put together at random.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_analysis.efficiencies import COMPUTING, LOST, factors_of, is_of_mpi, losses_of
from perf_analysis.overhead_profile import OverheadProfile
from perf_tables.arguments import parse_places, parse_values
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, OptionError
from perfcore.data.measurements import Measurements
from perfcore.results import Column, Table

# Computing is a total over all locations, by class of burst: a constant is perfect scaling. What is lost is a mean
# over
# locations, by the steps of `perf_analysis.efficiencies`. Computing over the locations plus what is lost is the
# elapsed time,
# exactly. Locations are not repetitions: a run is one row. One location never waits, so p = 1 is no point for
# what
# is lost, nor is a run of one process for what is lost by MPI.

OTHERS = "other bursts"
_MOST_CLASSES = 12  # the rest together is one part, as each law takes time to fit and adds to the table


def time_components(profiles: Sequence[OverheadProfile]) -> dict[str, npt.NDArray[np.float64]]:
    """Seconds of every part in each run: computing of all locations by class, then what is lost, a mean over
    locations.
    """
    if any(COMPUTING not in each.classes for each in profiles):
        raise DataError(f"--at needs a class of states called {COMPUTING}, which the categories have not")
    if any(each.replayed is not None and each.replayed.definition == "bsc" for each in profiles):
        raise OptionError("--at is of parts of the run's time, which those of --pop bsc are not; leave it out")
    useful = [each.class_cycles_ns[each.classes.index(COMPUTING)].sum(axis=1) for each in profiles]
    parts = _computing(profiles, useful)
    with_network = all(each.replayed is not None for each in profiles)
    lost = [losses_of(each, with_network)[1] for each in profiles]
    several = [run_losses for run_losses, each in zip(lost, profiles, strict=True) if len(each.locations) > 1] or lost
    if any(list(run_losses) != list(several[0]) for run_losses in several):
        raise DataError("--at needs runs that all have threads in their processes, or all have GPUs, or neither")
    _one_way_to_grow(profiles)
    for name in several[0]:
        alone = [len(each.locations) <= waits_for_nobody(profiles, name) for each in profiles]
        alone = [no or (len(each.threads) == 1 and is_of_mpi(name)) for no, each in zip(alone, profiles, strict=True)]
        parts[name] = np.array([np.nan if no else run_losses[name] for no, run_losses in zip(alone, lost, strict=True)])
    return {name: times * 1e-9 for name, times in parts.items()}


def waits_for_nobody(profiles: Sequence[OverheadProfile], part: str) -> int:
    """Up to how many locations nothing is lost in a part: one, or those of one process where MPI loses it."""
    threads = {each.n_threads for profile in profiles for each in profile.threads}
    return threads.pop() if len(threads) == 1 and is_of_mpi(part) else 1


def _one_way_to_grow(profiles: Sequence[OverheadProfile]) -> None:
    """Refuse runs that differ in threads of a process as well as in processes."""
    kinds = {(len(each.threads), tuple(sorted({one.n_threads for one in each.threads}))) for each in profiles}
    kinds -= {(0, ())}  # of one location
    if len({processes for processes, _ in kinds}) > 1 and len({threads for _, threads in kinds}) > 1:
        sizes = ", ".join(f"{n} x {'/'.join(map(str, threads))}" for n, threads in sorted(kinds))
        raise DataError(
            f"--at is over the number of locations, but both processes and their threads differ ({sizes}); give runs "
            "with as many threads in each process, or as many processes"
        )


def _computing(
    profiles: Sequence[OverheadProfile], useful: Sequence[npt.NDArray[np.int64]]
) -> dict[str, npt.NDArray[np.float64]]:
    """Computing of all locations, by those classes that all runs have which are the largest in any of them."""
    totals = np.array([int(times.sum()) for times in useful], float)
    by_class = [{} if each.bursts is None else each.bursts.total_ns for each in profiles]
    shared = [name for name in by_class[0] if all(name in class_ns for class_ns in by_class)]
    parts = {name: np.array([class_ns[name] for class_ns in by_class], float) for name in shared}
    parts = dict(sorted(parts.items(), key=lambda item: -float((item[1] / totals).max()))[:_MOST_CLASSES])
    rest = totals - sum(parts.values())
    if not parts or (rest <= 0).all():
        return parts or {COMPUTING: totals}
    return {**parts, OTHERS: rest}


_FITTER = "scaling"
_LAWS = "(laws in seconds: of computing the total, else the mean)"
_COVERAGE = 0.95
_ROUNDS = 32  # in which draws of independent parts are put together; quantiles are then steady to two digits
_SEED = 0
_MOST_SIZES = 64  # each has two tables
_LARGEST = 1e9  # a hundred times as many as any machine has


@dataclass(frozen=True, eq=False)
class Predicted:
    """Parts and factors at one number of locations."""

    p: float  # locations
    factors: Mapping[str, tuple[float, float, float]]
    parts: Mapping[str, tuple[float, float, float]]
    lost: Mapping[str, tuple[float, float]]
    laws: Mapping[str, str]  # the likeliest of each part over p; computing as a total over locations

    @property
    def dominant(self) -> str:
        """The part by which most is lost, by the values."""
        return max(self.lost, key=lambda name: self.lost[name][0])

    def summary(self) -> str:
        """Which part will dominate."""
        seconds, probability = self.lost[self.dominant]
        share = seconds / self.parts["elapsed"][0]
        low, high = self.factors["global"][1:]
        lost = (
            f"most is lost by {self.dominant}, {share:.2%} of the elapsed time (the largest loss with "
            f"probability {_rounded(probability)})"
            if seconds > 0
            else "nothing is lost against the smallest run"
        )
        return (
            f"at p={self.p:g}: {lost}; global efficiency {self.factors['global'][0]:.2%}, "
            f"{f'{low:.2%} to {high:.2%}' if np.isfinite(low + high) else '-'}"
        )

    def tables(self) -> list[Table]:
        """Factors, and parts with their laws."""
        factors = [(name, row[0], row[1:]) for name, row in self.factors.items()]
        parts = [(name, row[0], row[1:], *self.lost.get(name, (None, None))) for name, row in self.parts.items()]
        elapsed = self.parts["elapsed"][0]
        return [
            Table([
                Column("factor", 0),
                Column("value", 1, format=".2%"),
                Column("95% interval", 2, format=".2%", key=("lower", "upper")),
            ], factors, f"POP efficiencies at p={self.p:g}"),
            Table([
                Column("part", 0),
                Column("law", lambda row: self.laws.get(row[0], "")),
                Column("time", 1, "s", "time"),
                Column("95% interval", 2, "s", "time", key=("lower", "upper")),
                Column("lost", lambda row: None if row[3] is None else row[3] / elapsed, format=".2%"),
                Column("is the largest loss", 4, format=".0%"),
            ], parts, f"Parts of a location's time at p={self.p:g} {_LAWS}"),
        ]  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """As plain data: values with bounds, seconds; None where there are no bounds."""
        keys = ("value", "lower", "upper")
        return {
            "p": self.p,
            "factors": [{"factor": name, **_plain(keys, row)} for name, row in self.factors.items()],
            "parts": [
                {
                    "part": name,
                    "law": self.laws.get(name),
                    **_plain(keys, row),
                    **(_plain(("lost", "probability_largest"), self.lost[name]) if name in self.lost else {}),
                }
                for name, row in self.parts.items()
            ],
        }


def sizes_at(text: str) -> list[float]:
    """Numbers of locations as the user types them."""
    places = parse_places(text)
    try:
        sizes = parse_values(places["p"]) if set(places) == {"p"} else []
    except (ValueError, ZeroDivisionError):
        sizes = []
    if not sizes or not 1 <= min(sizes) <= max(sizes) <= _LARGEST:
        raise OptionError(
            f"--at {text}: p=N with numbers of locations from 1 to {_LARGEST:.0e} is expected, such as p=4096 or "
            "p=64..4096*4"
        )
    if len(sizes) > _MOST_SIZES:
        raise OptionError(f"--at {text}: these are {len(sizes)} numbers of locations; give at most {_MOST_SIZES}")
    return sizes


def predicted_efficiencies(profiles: Sequence[OverheadProfile], sizes: Sequence[float]) -> list[Predicted]:
    """Model each part of some runs over their locations, and put the parts together at others."""
    import pandas as pd

    from perfcore.models.fitting import fit

    locations = np.array([len(each.locations) for each in profiles], float)
    measured = time_components(profiles)
    columns = np.nan_to_num(np.array([locations, *measured.values()])).T.tolist()
    for run, times in enumerate(columns):  # bounds from repetitions would be too narrow
        if (first := columns.index(times)) < run:
            raise DataError(
                f"{profiles[run].source} has the times of {profiles[first].source} to the nanosecond; give each run "
                "once where --at predicts"
            )
    lasting = {name: times for name, times in measured.items() if np.nansum(np.abs(times))}  # others stay nothing
    rows = [
        (size, name, time, run)
        for name, times in lasting.items()
        for run, (size, time) in enumerate(zip(locations.tolist(), times.tolist(), strict=True), start=1)
        if not np.isnan(time)
    ]
    try:
        model = fit(
            Measurements(pd.DataFrame(rows, columns=["p", "path", "time_s", "run"]), source="of these runs"), _FITTER
        )
    except DataError as error:
        raise _too_few(str(error)) from None
    drawn = model.part_draws({"p": np.array(sizes, float)})
    growth = model.growth_draws({"p": float(sizes[-1])})
    if drawn is None or set(drawn.names) != set(lasting):
        reasons = [f"{name}: {why}" for name, why in model.unfitted.items()]
        raise _too_few("; ".join(reasons[:3]))
    laws = {} if growth is None else dict(zip(drawn.names, growth.laws, strict=True))
    smallest = locations == locations.min()
    base = {name: float(times[smallest].mean()) for name, times in measured.items() if name not in LOST}
    generator = np.random.default_rng(_SEED)
    predictions = []
    for k, size in enumerate(sizes):
        values, draws = {}, {}
        for name in measured:
            if name not in lasting or (name in LOST and size <= waits_for_nobody(profiles, name)):
                values[name], draws[name] = np.zeros(1), np.zeros(1)
                continue
            row = drawn.names.index(name)
            scale = 1.0 if name in LOST else size
            values[name] = np.array([max(0.0, drawn.parts.values[row, k])]) / scale
            ascending = np.maximum(drawn.parts.draws[row, k], 0.0) / scale
            draws[name] = np.concatenate([generator.permutation(ascending) for _ in range(_ROUNDS)])
        with np.errstate(all="ignore"):  # draws of no time, and of more than numbers reach
            predictions.append(_put_together(size, values, draws, base, laws))
    return predictions


def _put_together(
    size: float, values: Mapping[str, Floats], draws: Mapping[str, Floats], base: Mapping[str, float],
    laws: Mapping[str, str],
) -> Predicted:  # fmt: skip
    value_factors, draw_factors = (_factors(each, size, base) for each in (values, draws))
    value_lost, draw_lost = (  # beyond those of a run that scales perfectly from the smallest one
        {name: times if name in LOST else times - base[name] / size for name, times in each.items()}
        for each in (values, draws)
    )
    drawn = np.array(np.broadcast_arrays(*draw_lost.values()))
    largest = drawn[:, np.isfinite(drawn).all(axis=0)].argmax(axis=0)
    shares = np.bincount(largest, minlength=len(draw_lost)) / len(largest)  # NaN where a law has no bounds
    elapsed = {"elapsed": sum(values.values())}, {"elapsed": sum(draws.values())}
    return Predicted(
        size,
        _with_bounds(value_factors, draw_factors),
        _with_bounds({**values, **elapsed[0]}, {**draws, **elapsed[1]}),
        {name: (float(each[0]), float(share)) for (name, each), share in zip(value_lost.items(), shares, strict=True)},
        laws,
    )


def _factors(parts: Mapping[str, Floats], size: float, base: Mapping[str, float]) -> dict[str, Any]:
    """Efficiencies from the seconds of a location in each part."""
    computing = sum(times for name, times in parts.items() if name not in LOST)
    lost = {name: times for name, times in parts.items() if name in LOST}
    factors = factors_of(computing, lost)
    scalability = sum(base.values()) / (computing * size)
    return {"global": factors["parallel"] * scalability, **factors, "computation scalability": scalability}


def _with_bounds(values: Mapping[str, Any], draws: Mapping[str, Any]) -> dict[str, tuple[float, float, float]]:
    bounded = {}
    for name, value in values.items():
        low, high = np.quantile(draws[name], [0.5 - 0.5 * _COVERAGE, 0.5 + 0.5 * _COVERAGE])
        bounded[name] = float(value[0]), float(low), float(high)
    return bounded


def _rounded(probability: float) -> str:
    return f"{probability:.0%}" if np.isfinite(probability) else "-"


def _plain(keys: Sequence[str], row: Sequence[float]) -> dict[str, float | None]:
    return {key: value if np.isfinite(value) else None for key, value in zip(keys, row, strict=True)}


def _too_few(reason: str) -> DataError:
    return DataError(
        f"--at needs a model over p of every part of the time, but {reason}; give traces at more numbers of locations "
        "(p = 1 is none for what is lost by waiting)"
    )
