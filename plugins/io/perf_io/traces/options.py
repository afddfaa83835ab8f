"""Options of the readers of traces."""

from __future__ import annotations

from dataclasses import dataclass

from perf_traces.options import LEVELS
from perfcore.data.units import NANOSECONDS
from perfcore.hooks.options import option

_WHOSE_EVENTS = "whose events to read: streams of GPUs, threads, or both; auto: streams if there are any, else threads"


@dataclass(frozen=True)
class ChromeOptions:
    """What counts, as the format does not say it."""

    locations: str = option("auto", _WHOSE_EVENTS, choices=LEVELS)
    streams: tuple[str, ...] = option(
        ("kernel", "gpu_*", "memcpy", "memset"),
        "categories of events that happen on GPU streams, as patterns with * and ?",
        metavar="PATTERNS",
    )
    to_the_cut: bool = option(False, "of a file that is cut short, take what stands before its end")


@dataclass(frozen=True)
class NsightOptions:
    """What to read, as a report holds both sides."""

    locations: str = option("auto", _WHOSE_EVENTS, choices=LEVELS)


_KIND = option(
    "auto",
    "what to read: states of locations as a trace, or variables as a series; auto: states if there are any",
    choices=("auto", "states", "variables"),
)


@dataclass(frozen=True)
class PajeOptions:
    """What the format does not say."""

    kind: str = _KIND
    time_unit: str | None = option(
        None, "unit of the times; by default s, and ms of StarPU's traces", choices=tuple(NANOSECONDS)
    )
    state_type: str | None = option(None, "which states to read where a file has several types of them", metavar="TYPE")


@dataclass(frozen=True)
class PjDumpOptions:
    """What the lines do not say."""

    kind: str = _KIND
    time_unit: str | None = option(
        None,
        "unit of the times; by default ms with a header line, as StarPU and StarVZ have it, else s",
        choices=tuple(NANOSECONDS),
    )
    nested: str | None = option(
        None,
        "which of nested states counts; by default the outermost with a header line, since StarVZ counts a task "
        "whole, else the innermost",
        choices=("innermost", "outermost"),
    )
    state_type: str | None = option(None, "which states to read where a file has several types of them", metavar="TYPE")
