"""POP's efficiencies of several runs of one program, and which of them limits how it scales.

Source: POP CoE, "POP Standard Metrics for Parallel Performance Analysis": global efficiency is parallel efficiency
times computation scalability, the computing time of all locations in the smallest run over that in another one. With
counters that is the product of the scalabilities of instructions (fewer is better), of instructions per cycle, and of
cycles per second.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_analysis.efficiencies import COMPUTING, level_factors, losses_of, of_gpus
from perf_traces.messages.bursts import BEGIN, FACTORS, BurstClasses, factors_of
from perf_views.names import unique_suffixes
from perfcore.base.errors import DataError
from perfcore.data.measurements import Measurements
from perfcore.report import Column, Figure, Table

if TYPE_CHECKING:
    from perf_analysis.overhead_profile import OverheadProfile

MOST_RUNS = 6  # that tables show side by side, the largest and the smallest
_MOST_CLASSES, _BURST_LETTERS = 20, 34
_FIRST = f"{BEGIN} -> "  # of bursts before the first call
_RUN_COLUMNS = ("region", "run")  # identify runs of one file, with p
_OF_COMPUTATION = FACTORS[-3:]
# Of instructions of two runs; by more the work is hardly the same, as weak scaling or other input has it.
_MOST_INSTRUCTIONS = 1.5
_ALL = 1.005  # what is 100 % in print; of one class more is lost where others gained


def counted_factors(
    small: tuple[int, int] | None, large: tuple[int, int] | None, small_ns: int, large_ns: int
) -> tuple[float | None, ...]:
    """Instruction, IPC and frequency scalability, whose product is that of computing; None where not counted."""
    if small is None or large is None or not all((*small, *large, small_ns, large_ns)):
        return (None,) * len(_OF_COMPUTATION)
    ipc = (large[0] / large[1]) / (small[0] / small[1])
    return small[0] / large[0], ipc, (large[1] / large_ns) / (small[1] / small_ns)


def losses(small: BurstClasses, large: BurstClasses) -> list[dict[str, Any]]:
    """Return each class of bursts of two runs; the one that lost most comes first.

    What was lost is what it took more, as a share of the computing time of the larger run; times are of all locations.
    """
    before, after = small.total_ns, large.total_ns
    total = sum(after.values())
    rows = []
    for name in {**after, **before}:
        times = before.get(name, 0), after.get(name, 0)
        row = {"burst": name, "small_ns": times[0], "large_ns": times[1]}
        row["lost"] = (times[1] - times[0]) / total if total else 0.0
        factors = counted_factors(small.counted(name), large.counted(name), *times)
        rows.append(row | dict(zip(_OF_COMPUTATION, factors, strict=True)))
    return sorted(rows, key=lambda row: -row["lost"])


def burst_label(name: str) -> str:
    """A class of bursts as tables and sentences call it: what is before the first call is start-up."""
    return f"start-up (before {name.removeprefix(_FIRST)})" if name.startswith(f"{_FIRST}MPI_Init") else name


def time_column(name: str, value: Any, key: str | None = None) -> Column:
    """A column of nanoseconds, shown in one unit, whose key has none."""
    return Column(name, value, "ns", "time", key=key or "_".join(re.findall(r"\w+", name.lower())))


def burst_table(profile: OverheadProfile) -> Table | None:
    """One run's classes, the longest first; None where it has none."""
    bursts = profile.bursts
    if bursts is None:
        return None
    total = max(1, int(bursts.time_ns.sum()))

    def ratio(row: tuple[str, int], above: int | None) -> float | None:  # of counts, or of cycles and time
        counted = bursts.counted(row[0])
        below = None if counted is None else row[1] if above else counted[1]
        return None if counted is None or not below else counted[above or 0] / below

    columns = [
        Column("burst", lambda row: burst_label(row[0])),
        time_column("total time", 1),
        Column("share", lambda row: row[1] / total, format=".2%"),
        time_column("longest location", lambda row: int(bursts.time_ns[bursts.names.index(row[0])].max())),
    ]
    if bursts.instructions is not None:
        columns.append(Column("IPC", lambda row: ratio(row, None), format=".3f"))
        columns.append(Column("GHz", lambda row: ratio(row, 1), format=".3f"))
    rows = sorted(bursts.total_ns.items(), key=lambda item: -item[1])
    return Table(columns, rows, "Computing by burst between two calls", limit=_MOST_CLASSES, drops_empty=False)


def burst_tables(profiles: Sequence[OverheadProfile]) -> list[Table]:
    """Return a table for each larger run against the smallest; none of runs without bursts."""
    tables = []
    for smallest, profile, classes in _against_smallest(profiles):
        ranked = sorted(classes, key=lambda row: -abs(row["lost"]))
        listed = sorted(ranked[:_MOST_CLASSES], key=lambda row: -row["lost"])
        rest = ranked[_MOST_CLASSES:]
        groups = [*([(f"{len(rest)} others", rest)] if rest else []), ("sum", classes)]
        rows = [{**row, "burst": burst_label(row["burst"])} for row in listed]
        rows += [{"burst": name, **{key: sum(row[key] for row in group) for key in ("small_ns", "large_ns", "lost")}}
                 for name, group in groups]  # fmt: skip
        total = rows[-1]["large_ns"]
        small, large = unique_suffixes([smallest.source, profile.source])
        columns = [
            Column("burst", "burst", least=_BURST_LETTERS),
            time_column(small, "small_ns"),
            time_column(large, "large_ns"),
            Column("share", lambda row, total=total: row["large_ns"] / total if total else None, format=".2%"),
            Column("lost", "lost", format=".2%"),
            Column("scalability", lambda row: row["small_ns"] / row["large_ns"] if row["large_ns"] and row["small_ns"]
                   else None, format=".2%"),
            *(Column(name.removesuffix(" scalability"), name, format=".2%") for name in _OF_COMPUTATION),
        ]  # fmt: skip
        title = (
            f"Computing by burst between two calls: what of the scalability was lost in each, from "
            f"{len(smallest.locations)} to {len(profile.locations)} locations"
        )
        tables.append(Table(columns, rows, title))
    return [replace(table, importance="verbose") for table in tables[:-1]] + tables[-1:]


def losses_as_data(profiles: Sequence[OverheadProfile]) -> list[dict[str, Any]]:
    """Return the same of all classes, as plain data."""
    return [
        {"run": profile.source, "against": smallest.source, "classes": classes}
        for smallest, profile, classes in _against_smallest(profiles)
    ]


def _against_smallest(
    profiles: Sequence[OverheadProfile],
) -> Iterator[tuple[OverheadProfile, OverheadProfile, list[dict[str, Any]]]]:
    """Yield the smallest run, each larger one, and what its classes lost; nothing of runs without bursts."""
    smallest = min(profiles, key=lambda profile: len(profile.locations))
    for profile in profiles:
        is_larger = len(profile.locations) > len(smallest.locations)
        if is_larger and profile.bursts is not None and smallest.bursts is not None:
            yield smallest, profile, losses(smallest.bursts, profile.bursts)


@dataclass(frozen=True)
class ExternalMetrics:
    """Efficiencies of one run, or of a region of it."""

    source: str  # the file, with the region
    p: int  # locations
    factors: Mapping[str, float]  # shares by name

    def to_dict(self) -> dict[str, Any]:
        return {"source": self.source, "p": self.p, **self.factors}


def runs_of_table(table: Measurements, names: Collection[str]) -> list[ExternalMetrics]:
    """Runs of a table with a row for each factor of each run."""
    frame = table.table
    if "metric" not in frame.columns and table.roles.value in names:
        frame = frame.rename(columns={table.roles.value: "value"}).assign(metric=table.roles.value)
    has_columns = {"p", "metric", "value"} <= set(frame.columns)
    if has_columns:
        frame = frame[frame["metric"].isin(list(names)) & (frame["p"] >= 1)]
    if not has_columns or not len(frame):
        raise DataError(
            f"{table.source} holds measurements, but no efficiencies of runs; give traces, and with them "
            "JSON of TALP or modelfactors.csv"
        )
    key_columns = [column for column in (*_RUN_COLUMNS, "p") if column in frame.columns]
    runs = []
    for key, rows in frame.groupby(key_columns, sort=False):
        labels: dict[str, Any] = dict(zip(key_columns, key, strict=True))
        source = f"{table.source}: {labels['region']}" if "region" in labels else table.source
        if "run" in labels and (frame["p"] == labels["p"]).sum() > len(rows):
            source += f" (run {labels['run']})"
        factors = dict(zip(rows["metric"].astype(str), rows["value"].astype(float), strict=True))
        runs.append(ExternalMetrics(source, int(labels["p"]), factors))
    return runs


def efficiencies_of_runs(profiles: Sequence[OverheadProfile]) -> list[dict[str, float | None]] | None:
    """Global and parallel efficiency and their factors for each run; None where the sets know no computing.

    Factors of MPI x OpenMP, and of GPUs, are those of runs that have such levels.
    """
    run_efficiencies = [profile.efficiencies() for profile in profiles]
    if any(each is None for each in run_efficiencies):
        return None
    computing = [int(each.class_cycles_ns[each.classes.index(COMPUTING)].sum()) for each in profiles]
    counts = [len(each.locations) for each in profiles]
    reference = int(np.argmin(counts))
    smallest, rows = profiles[reference], []
    for profile, efficiencies, time in zip(profiles, run_efficiencies, computing, strict=True):
        assert efficiencies is not None
        row: dict[str, float | None] = {
            name.replace("_", " "): None if column is None or np.isnan(column[0]) else float(column[0])
            for name, column in efficiencies.items()
        }
        scalability = computing[reference] / time if time and len(set(counts)) > 1 else None
        parallel, counted = row["parallel"], (None,) * 3 if scalability is None else _counted(smallest, profile)
        row = {"global": None if scalability is None or parallel is None else parallel * scalability, **row}
        row |= {"computation scalability": scalability, **dict(zip(_OF_COMPUTATION, counted, strict=True))}
        rows.append({**level_factors(profile), **row})
    return rows


def _counted(*profiles: OverheadProfile) -> tuple[float | None, ...]:
    """Return instruction, IPC and frequency scalability of a small and a large run."""
    totals: list[tuple[int, int] | None] = [None, None]
    times = [0, 0]
    for number, bursts in enumerate(profile.bursts for profile in profiles):
        if bursts is not None:
            times[number] = int(bursts.time_ns.sum())
            if bursts.instructions is not None and bursts.cycles is not None:
                totals[number] = int(bursts.instructions.sum()), int(bursts.cycles.sum())
    return counted_factors(totals[0], totals[1], times[0], times[1])


def work_differs(profiles: Sequence[OverheadProfile]) -> list[str]:
    """A line for each run whose instructions are far from those of the smallest; none where nothing was counted."""
    rows = efficiencies_of_runs(profiles)
    smallest = min(profiles, key=lambda each: len(each.locations))
    lines = []
    for profile, row in zip(profiles, rows or (), strict=False):
        share = row["instruction scalability"]
        if share is not None and not 1 / _MOST_INSTRUCTIONS < share < _MOST_INSTRUCTIONS:
            lines.append(
                f"{profile.source} has {1 / share:.3g} times the instructions of {smallest.source}: if the work is not "
                "the same, computation scalability says nothing"
            )
    return lines


def scaling_table(profiles: Sequence[OverheadProfile], others: Sequence[ExternalMetrics] = ()) -> list[Table]:
    """A row for each factor and a column for each run, the smallest first; none without computing."""
    rows = efficiencies_of_runs(profiles)
    if rows is None:
        return []
    runs = [(profile.source, len(profile.locations), row) for profile, row in zip(profiles, rows, strict=True)]
    runs += [(other.source, other.p, dict(other.factors)) for other in others]
    named = unique_suffixes([source for source, *_ in runs])
    about = []
    if any(row["computation scalability"] is not None for row in rows):
        smallest = min(range(len(profiles)), key=lambda index: len(profiles[index].locations))
        about.append(f"computation scalability: against {named[smallest]}, if the work is the same")
    if others:
        about.append("those of other tools as they say them")
    if any(each.replayed is not None and each.replayed.definition == "bsc" for each in profiles):
        about.append("serialisation and transfer by BSC's rules")
    if not (factors := [name for name in FACTORS if any(row.get(name) is not None for *_, row in runs)]):
        return []
    order = sorted(range(len(runs)), key=lambda index: runs[index][1])
    sizes = [p for _, p, _ in runs]
    heads = [f"p={p}" if sizes.count(p) == 1 else f"{name} p={p}" for name, p in zip(named, sizes, strict=True)]
    columns = [Column("POP efficiency", factors)]
    columns += [Column(heads[run], [runs[run][2].get(name) for name in factors], format=".1%") for run in order]
    tables = [Table(columns, title="; ".join(about), importance="verbose")]
    if len(order) > MOST_RUNS:
        order = [order[0], *order[1 - MOST_RUNS :]]
        columns = [columns[0], *(column for column in columns if column.name in {heads[run] for run in order})]
    brief = Table(columns, title="; ".join(about), importance="brief")
    return [brief, *tables, *(replace(table, importance="data") for table in tables)]


def limit(profiles: Sequence[OverheadProfile]) -> tuple[str, list[Figure]] | None:
    """A sentence on the lowest factor of the largest run, and its numbers; None if all runs have as many locations."""
    rows = efficiencies_of_runs(profiles)
    counts = [len(each.locations) for each in profiles]
    if rows is None or len(set(counts)) < 2:
        return None
    largest = int(np.argmax(counts))
    row = rows[largest]
    if row["global"] is None or row["computation scalability"] is None:
        return None
    profile = profiles[largest]
    steps = (*factors_of(*losses_of(profile), products=False), "computation scalability")
    value, name = min((value, name) for name in steps if (value := row[name]) is not None)
    whole, lowest = Figure("global efficiency", row["global"], format=".1%"), Figure(name, value, format=".1%")
    more = _of_computation(profiles, largest, row) if name == "computation scalability" else ""
    locations = "GPUs" if of_gpus(profile) else "locations"
    if profile.threads:
        locations = f"threads in {len(profile.threads)} process{'es' if len(profile.threads) > 1 else ''}"
    size = f"{counts[largest]} {locations}"
    return f"{whole.name} {whole.text} with {size}, limited by {name} ({lowest.text}){more}", [whole, lowest]


def _of_computation(profiles: Sequence[OverheadProfile], largest: int, row: dict[str, float | None]) -> str:
    """Which burst, and which of the counted factors, computation scalability was lost by."""
    text = ""
    small, large = min(profiles, key=lambda each: len(each.locations)).bursts, profiles[largest].bursts
    lost = 1 - (row["computation scalability"] or 1)
    if small is not None and large is not None and len(large.names) > 1 and lost > 0:
        worst = losses(small, large)[0]
        part = worst["lost"] / lost
        share = f"{part:.0%}" if part <= _ALL else "more than all"
        text += f"; {share} of that loss is in {burst_label(worst['burst'])}"
    counted = {name: value for name in _OF_COMPUTATION if (value := row[name]) is not None}
    if counted:
        name, value = min(counted.items(), key=lambda item: item[1])
        text += f"; its lowest factor is {name} ({value:.1%})"
    return text
