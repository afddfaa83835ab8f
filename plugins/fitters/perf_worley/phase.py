"""What a model of phases consists of: the phases, how often the run repeats itself, and why there are so many."""

from __future__ import annotations

import msgspec

from perf_worley.names.activity import Activity

__all__ = ["Evidence", "Phase", "Repetition", "SequenceEntry"]


class Phase(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One phase.

    Attributes
    ----------
    start, end : float
        In the model's time unit.
    degree : int
        Degree of the polynomial; for other functions the number of them.
    coefficients : tuple of float
        Of powers of ``t - start``, constant first; for other functions the constant and one for each.
    error : float
        Local L2 error: square root of the integral of (curve - model)^2 over the phase.
    kept : int or None
        In how many of the models with more phases the break at ``start`` stays; None where none were made.
    standard_errors : tuple of float or None
        Of the coefficients, by the long-run variance of the curve; None where too few cells tell, and for functions.
    level_error : float or None
        Standard error of the phase's mean.
    break_interval : pair of float or None
        95 % interval of when the program changed, at the break at ``start``; None for the first phase.
    activity : Activity or None
        What runs in it, and its name; None where the data were no trace.
    marker : str or None
        The marker that it lasts as long as, or ``"outside"`` of all; None where no markers say the phases.
    """

    start: float
    end: float
    degree: int
    coefficients: tuple[float, ...]
    error: float
    kept: int | None = None
    standard_errors: tuple[float, ...] | None = None
    level_error: float | None = None
    break_interval: tuple[float, float] | None = None
    activity: Activity | None = None
    marker: str | None = None


class Repetition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Iterations of the run; see `perf_worley.iterations.iterations.Iterations`.

    Attributes
    ----------
    count : int
    period : float
        Mean duration, in the model's time unit.
    spread : float
        Standard deviation of durations, as a share of the mean.
    start, end : float
        Of the first and the last one, in the model's time unit.
    text : str
        All of it in a line, with the iteration that differs.
    """

    count: int
    period: float
    spread: float
    start: float
    end: float
    text: str


class Evidence(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the rule ``auto`` found; see `perf_worley.choice.number_of_phases.Choice`.

    Attributes
    ----------
    degree : int
        Highest degree of a phase.
    gain : float
        What the phases gain over one, in units of the noise.
    needed : float or None
        What noise alone may gain; None where the curve is constant.
    stretches : float
        How many independent stretches the curve is worth.
    noise : float
        Long-run variance of a cell, in processors squared.
    cell : float
        Duration of a cell, in the model's time unit.
    reason : str
        Why it is one phase; empty where it is several, or the number was given.
    period : float
        In the model's time unit, that the curve was averaged over; 0 where it does not repeat itself every few cells.
    """

    degree: int
    gain: float
    needed: float | None
    stretches: float
    noise: float
    cell: float
    reason: str
    period: float = 0.0


class SequenceEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One model of a sequence of numbers of phases: Worley's Figures 6, 7 and 18, and the persistence of its breaks.

    Attributes
    ----------
    n_phases : int
        Phases asked for; ``len(breaks) + 1`` may be fewer.
    epsilon : float
        Largest local L2 error.
    tolerance : float or None
        Worley's epsilon: what bounded the errors; larger than `epsilon` with the mixed basis, whose errors are
        weighted. None for other segmenters.
    sum_of_squares : float
        Squared L2 error of the whole model.
    breaks : tuple of float
        Inner breakpoints, in the model's time unit.
    kept : tuple of int
        For each break in how many of the following models it stays.
    following : int
        How many models follow.
    evaluations, updates : int or None
        Evaluations of f and least-squares updates.
    gain : float or None
        What the phases gain over one, in units of the noise; None for other rules than ``auto``.
    """

    n_phases: int
    epsilon: float
    tolerance: float | None
    sum_of_squares: float
    breaks: tuple[float, ...]
    kept: tuple[int, ...]
    following: int
    evaluations: int | None
    updates: int | None
    gain: float | None = None

    @property
    def bound(self) -> float:
        """What falls with the number of phases: the tolerance where there is one, else the sum of squares."""
        return self.sum_of_squares if self.tolerance is None else self.tolerance

    @property
    def bound_name(self) -> str:
        """Name of `bound`, for a heading."""
        return "sum of squared errors" if self.tolerance is None else "tolerance of local errors"
