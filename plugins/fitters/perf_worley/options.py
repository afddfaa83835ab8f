"""Options of the fitters `worley` and `phases`, and of segmenters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from perf_formulas.formula import functions_of
from perfcore.hooks.options import option
from perfcore.hooks.registry import registry

DEGREES = {"worley": ("0", "1", "2", "3", "mixed"), "phases": ("auto", "0", "1", "2", "3")}

MOST_PHASES = 100_000  # that can be asked for


def parse_phases(raw: Any) -> str:
    """Return the number of phases as ``"9"``, ``"1..20"`` or ``"auto"``."""
    if isinstance(raw, range) and raw.step == 1 and len(raw):
        raw = f"{raw[0]}..{raw[-1]}"
    text = str(raw).strip()
    if text == "auto":
        return text
    first, dots, last = text.partition("..")
    numbers = [part.strip() for part in ((first, last) if dots else (first,))]
    if isinstance(raw, (bool, float)) or not all(n.lstrip("-").isdecimal() and n.isascii() for n in numbers):
        raise ValueError("expected a number (9), a range (1..20) or auto")
    values = [int(number) for number in numbers]
    if values[0] < 1:
        raise ValueError("the number of phases must be at least 1")
    if values[-1] < values[0]:
        raise ValueError("the range must not decrease")
    if values[-1] > MOST_PHASES:
        raise ValueError(f"at most {MOST_PHASES} phases can be asked for")
    return "..".join(map(str, values))


# What both fitters take: which curve of the data is meant, and how much is shown; called, for a field of each.
_busy = partial(option, None, "busy states of a trace, separated by commas", metavar="STATE,...")
_idle = partial(option, None, "or idle states of a trace; all others are busy", metavar="STATE,...")
_column = partial(option, None, "column of a time series", metavar="NAME")
_phases = partial(
    option, "auto", "number of phases: N, A..B, or auto (1..20, selected by --rule)",
    parse=parse_phases, metavar="N|A..B|auto",
)  # fmt: skip


@dataclass(frozen=True)
class WorleyOptions:
    """Options of the fitter `worley`."""

    phases: str = _phases()
    tolerance: float | None = option(None, "largest local error (Worley's epsilon), instead of --phases", above=0.0)
    degree: str = option(
        "mixed", "polynomial degree; mixed: 0, 1 or 2 for each phase",
        choices=DEGREES["worley"],
    )  # fmt: skip
    rule: str = option(
        "knee", "criterion for the number of phases: knee (Satopaa 2011) or penalty (Yao 1988)",
        choices=("knee", "penalty"),
    )  # fmt: skip
    refine: bool | None = option(
        None, "refine breakpoints by least squares (default: of samples whose number of phases is chosen)"
    )
    functions: tuple[str, ...] = option(
        (), "instead of polynomials: the constant and these functions of time, separated by commas",
        choices=lambda: functions_of(("t",)), metavar="NAME,...",
    )  # fmt: skip
    scale: float | None = option(
        None, "time scale of the functions, in the data's unit (default: a tenth of the run)", above=0.0
    )
    busy: tuple[str, ...] | None = _busy()
    idle: tuple[str, ...] | None = _idle()
    column: str | None = _column()


@dataclass(frozen=True)
class PhasesOptions:
    """Options of the fitter `phases`."""

    phases: str = _phases()
    phases_from: tuple[str, ...] = option(
        (), "marker whose begin and end bound the phases (see `perf info`); may be repeated",
        metavar="MARKER", repeats=True,
    )  # fmt: skip
    degree: str = option(
        "auto",
        "polynomial degree of each phase; auto: 0, 1 or 2 by --rule, and 0 for marked phases",
        choices=DEGREES["phases"],
    )  # fmt: skip
    segmenter: str = option(
        "bounded", "segmentation algorithm", selects="segmenters",
        choices=lambda: tuple(registry().entries("segmenters")),
    )  # fmt: skip
    refine: bool = option(True, "refine breakpoints by least squares")
    rule: str = option(
        "auto",
        "criterion for the number of phases: auto (significant and material), knee (Satopaa 2011) or penalty "
        "(Yao 1988)",
        choices=("auto", "knee", "penalty"),
    )  # fmt: skip
    busy: tuple[str, ...] | None = _busy()
    idle: tuple[str, ...] | None = _idle()
    column: str | None = _column()
