"""Options of the segmenters."""

from __future__ import annotations

from dataclasses import dataclass

from perfcore.hooks.options import option


@dataclass(frozen=True)
class MinimaxOptions:
    """Options of `Minimax`."""

    epsilon_tolerance: float | None = option(
        None,
        "absolute error allowed in epsilon, Worley's xi_1 (default: relative 1e-12)",
        above=0.0,
    )
    break_tolerance: float | None = option(
        None, "absolute error allowed in a breakpoint, Worley's xi_2 (default: rounding)", above=0.0
    )


@dataclass(frozen=True)
class HillClimbOptions:
    """Options of `HillClimb`."""

    start: str = option(
        "likely", "partition to start from: the best at likely edges, Worley's, inserted one by one, or equal widths",
        choices=("likely", "minimax", "greedy", "equal"),
    )  # fmt: skip
