"""What a model of phases consists of: the phases, how often the run repeats itself, and why there are so many."""

from __future__ import annotations

import msgspec

from perf_worley.names.activity import Activity


class Phase(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One phase."""

    start: float  # in the model's time unit
    end: float
    degree: int  # degree of the polynomial; for other functions the number of them
    coefficients: tuple[float, ...]  # of powers of ``t - start``, constant first
    error: float  # local L2 error: square root of the integral of (curve - model)^2 over the phase
    kept: int | None = None  # in how many of the models with more phases the break at ``start`` stays
    standard_errors: tuple[float, ...] | None = None  # of the coefficients, by the long-run variance of the curve
    level_error: float | None = None  # standard error of the phase's mean
    break_interval: tuple[float, float] | None = None
    activity: Activity | None = None  # what runs in it, and its name; None where the data were no trace
    marker: str | None = None  # the marker that it lasts as long as, or ``"outside"`` of all


class Repetition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Iterations of the run; see `perf_worley.iterations.iterations.Iterations`."""

    count: int
    period: float  # mean duration, in the model's time unit
    spread: float  # standard deviation of durations, as a share of the mean
    start: float  # of the first and the last one, in the model's time unit
    end: float
    text: str  # all of it in a line, with the iteration that differs


class Evidence(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the rule ``auto`` found; see `perf_worley.choice.number_of_phases.Choice`."""

    degree: int  # highest degree of a phase
    gain: float  # what the phases gain over one, in units of the noise
    needed: float | None  # what noise alone may gain; None where the curve is constant
    stretches: float  # how many independent stretches the curve is worth
    noise: float  # long-run variance of a cell, in processors squared
    cell: float  # duration of a cell, in the model's time unit
    reason: str  # why it is one phase; empty where it is several, or the number was given
    period: float = 0.0  # in the model's time unit, that the curve was averaged over


class SequenceEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One model of a sequence of numbers of phases: Worley's Figures 6, 7 and 18, and the persistence of its breaks."""

    n_phases: int  # phases asked for; ``len(breaks) + 1`` may be fewer
    epsilon: float  # largest local L2 error
    tolerance: float | None  # worley's epsilon: what bounded the errors
    sum_of_squares: float  # squared L2 error of the whole model
    breaks: tuple[float, ...]  # inner breakpoints, in the model's time unit
    kept: tuple[int, ...]  # for each break in how many of the following models it stays
    following: int  # how many models follow
    evaluations: int | None  # evaluations of f and least-squares updates
    updates: int | None
    gain: float | None = None  # what the phases gain over one, in units of the noise

    @property
    def bound(self) -> float:
        """What falls with the number of phases: the tolerance where there is one, else the sum of squares."""
        return self.sum_of_squares if self.tolerance is None else self.tolerance

    @property
    def bound_name(self) -> str:
        """Name of `bound`, for a heading."""
        return "sum of squared errors" if self.tolerance is None else "tolerance of local errors"
