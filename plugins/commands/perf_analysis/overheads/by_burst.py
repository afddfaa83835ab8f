"""Which bursts between calls lost the computation scalability of a larger run.

Computation scalability is the computing time of the smallest run over that of a larger one, so what was lost, 1 minus
it, is a sum over the classes of bursts: what each class took more, as a share of the larger run's computing time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from perf_analysis.overheads.profile import OverheadProfile
from perf_traces.messages.bursts import BurstClasses
from perf_views.file_names import told_apart
from perfcore.data.units import readable

_MOST_CLASSES = 20
_FACTORS = ("instruction", "IPC", "frequency")


@dataclass(frozen=True)
class ClassLoss:
    """What one class of bursts took in the smallest and in a larger run."""

    name: str
    small_ns: int  # of all locations
    large_ns: int
    lost: float  # what it took more, as a share of the larger run's computing time
    factors: tuple[float | None, ...]  # instruction, IPC and frequency scalability of the class


def counted_factors(
    small: tuple[int, int] | None, large: tuple[int, int] | None, small_ns: int, large_ns: int
) -> tuple[float | None, ...]:
    """Instruction, IPC and frequency scalability, whose product is that of computing; None where not counted."""
    if small is None or large is None or not all((*small, *large, small_ns, large_ns)):
        return (None,) * len(_FACTORS)
    ipc = (large[0] / large[1]) / (small[0] / small[1])
    return small[0] / large[0], ipc, (large[1] / large_ns) / (small[1] / small_ns)


def losses(small: BurstClasses, large: BurstClasses) -> list[ClassLoss]:
    """Every class of two runs; the one that lost most comes first."""
    before, after = small.total_ns, large.total_ns
    total = sum(after.values())
    class_losses = []
    for name in {**after, **before}:
        times = before.get(name, 0), after.get(name, 0)
        lost = (times[1] - times[0]) / total if total else 0.0
        factors = counted_factors(small.counted(name), large.counted(name), *times)
        class_losses.append(ClassLoss(name, *times, lost, factors))
    return sorted(class_losses, key=lambda each: -each.lost)


def burst_table(profile: OverheadProfile) -> tuple[str, list[str], list[list[str]]] | None:
    """Title, header and rows of one run's classes, the longest first; None where it has none."""
    if profile.bursts is None:
        return None
    bursts = profile.bursts
    total = max(1, int(bursts.time_ns.sum()))
    rows = []
    for name, class_ns in sorted(bursts.total_ns.items(), key=lambda item: -item[1])[:_MOST_CLASSES]:
        times = bursts.time_ns[bursts.names.index(name)]
        counted = bursts.counted(name)
        ipc = f"{counted[0] / counted[1]:.3f}" if counted and counted[1] else "-"
        gigahertz = f"{counted[1] / class_ns:.3f}" if counted and class_ns else "-"
        rows.append(
            [
                name,
                readable(class_ns, "ns"),
                f"{class_ns / total:.2%}",
                readable(int(times.max()), "ns"),
                ipc,
                gigahertz,
            ]
        )
    more = len(bursts.names) - len(rows)
    left = f" (the longest {len(rows)}; {more} more by --json)" if more else ""
    header = ["burst", "time of all", "share", "longest location", "IPC", "GHz"]
    if bursts.instructions is None:
        header, rows = header[:-2], [row[:-2] for row in rows]
    return f"Computing by burst between two calls{left}", header, rows


def burst_tables(profiles: Sequence[OverheadProfile]) -> list[tuple[str, list[str], list[list[str]]]]:
    """Title, header and rows of a table for each larger run against the smallest; none of runs without bursts."""
    tables = []
    for smallest, profile, class_losses in _against_smallest(profiles):
        listed = sorted(class_losses, key=lambda each: -abs(each.lost))[:_MOST_CLASSES]
        rows = [
            _cells(each, sum(row.large_ns for row in class_losses))
            for each in sorted(listed, key=lambda each: -each.lost)
        ]
        if len(class_losses) > len(listed):
            rest = [each for each in class_losses if each not in listed]
            times = sum(each.small_ns for each in rest), sum(each.large_ns for each in rest)
            other = ClassLoss(f"{len(rest)} others", *times, sum(each.lost for each in rest), (None,) * len(_FACTORS))
            rows.append(_cells(other, sum(row.large_ns for row in class_losses)))
        times = sum(each.small_ns for each in class_losses), sum(each.large_ns for each in class_losses)
        rows.append(
            ["sum", *(readable(time, "ns") for time in times), "100.00%", _share(sum(e.lost for e in class_losses))]
        )
        rows[-1] += [_share(times[0] / times[1] if times[1] else None), *[""] * len(_FACTORS)]
        header = ["burst", *told_apart([smallest.source, profile.source]), "share", "lost", "scalability", *_FACTORS]
        columns = [k for k in range(len(header)) if k < 6 or any(row[k] not in ("-", "") for row in rows)]
        tables.append(
            (
                f"Computing by burst between two calls: what of the scalability was lost in each, from "
                f"{len(smallest.locations)} to {len(profile.locations)} locations",
                [header[k] for k in columns],
                [[row[k] for k in columns] for row in rows],
            )
        )
    return tables


def losses_as_data(profiles: Sequence[OverheadProfile]) -> list[dict[str, Any]]:
    """The same of all classes, as plain data."""
    return [
        {
            "run": profile.source,
            "against": smallest.source,
            "classes": [
                {
                    "burst": each.name,
                    "small_ns": each.small_ns,
                    "large_ns": each.large_ns,
                    "lost": each.lost,
                    **{f"{name} scalability": factor for name, factor in zip(_FACTORS, each.factors, strict=True)},
                }
                for each in class_losses
            ],
        }
        for smallest, profile, class_losses in _against_smallest(profiles)
    ]


def _against_smallest(
    profiles: Sequence[OverheadProfile],
) -> Iterator[tuple[OverheadProfile, OverheadProfile, list[ClassLoss]]]:
    """The smallest run, each larger one, and what its classes lost; nothing of runs without bursts."""
    smallest = min(profiles, key=lambda each: len(each.locations))
    for profile in profiles:
        is_larger = len(profile.locations) > len(smallest.locations)
        if is_larger and profile.bursts is not None and smallest.bursts is not None:
            yield smallest, profile, losses(smallest.bursts, profile.bursts)


def _cells(each: ClassLoss, total: int) -> list[str]:
    scalability = each.small_ns / each.large_ns if each.large_ns and each.small_ns else None
    times = [readable(time, "ns") for time in (each.small_ns, each.large_ns)]
    share = f"{each.large_ns / total:.2%}" if total else "-"
    return [each.name, *times, share, _share(each.lost), _share(scalability), *map(_share, each.factors)]


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.2%}"
