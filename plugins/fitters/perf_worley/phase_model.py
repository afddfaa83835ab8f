"""The model of a run's phases: one simple function each, the figures of the fit, and the sequence it came from."""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from pathlib import Path
from statistics import NormalDist
from typing import Any, ClassVar

import msgspec
import numpy as np

from perf_formulas.formula import Formula, functions_of
from perf_statistics.goodness import r_squared
from perf_worley.activity import Activity
from perfcore.base.arrays import Floats
from perfcore.base.errors import OptionError
from perfcore.contracts import Function
from perfcore.data.units import NANOSECONDS, readable
from perfcore.hooks.registry import registry
from perfcore.models.model import Model, Parameter, Points
from perfcore.models.points import DesignRows, check_coverage
from perfcore.report import Result

_FEWEST_SHOWN = 2  # iterations of a phase
_NEARLY_ALL = 0.8  # of the time of the iterations
WORTH = 0.05  # of the sum of squares, that phases at the knee must explain; `worley` takes the fewest otherwise


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
    """Iterations of the run; see `perf_worley.iterations.Iterations`."""

    count: int
    period: float  # mean duration, in the model's time unit
    spread: float  # standard deviation of durations, as a share of the mean
    start: float  # of the first and the last one, in the model's time unit
    end: float
    text: str  # all of it in a line, with the iteration that differs

    def text_within(self, phase: Phase, unit: str) -> str:
        """Return how many iterations have their middle in a phase, and how long they are; empty if fewer than two."""
        length = (self.end - self.start) / self.count  # with what lies between two of them
        inside = min(phase.end, self.end) - max(phase.start, self.start)
        is_long_enough = phase.end - phase.start > length * (self.count - 0.5)
        if is_long_enough and inside >= _NEARLY_ALL * (self.end - self.start):
            number = self.count  # where an iteration begins is known to a part of it only
        else:
            middles = self.start + length * (np.arange(self.count) + 0.5)
            number = int(np.sum((middles >= phase.start) & (middles < phase.end)))
        return f"{number} x {readable(float(f'{self.period:.4g}'), unit)}" if number >= _FEWEST_SHOWN else ""


class Evidence(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the rule ``auto`` found; see `perf_worley.phase_maker.Choice`."""

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


def function_of_time(name: str, elapsed: Floats, scale: float) -> Floats:
    """Return a registered function at times since the start of the curve (n,), counted in units of ``scale``."""
    function: Function = registry().load("functions", name)()
    return function({"t": elapsed / scale})


class PhaseModel(Model, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Phases of a processor-utilization curve."""

    reporter: ClassVar[str] = "perf_worley.answers:phase_report"
    worth: ClassVar[float] = WORTH
    time_unit: str  # of all times
    phases: tuple[Phase, ...]
    sequence: tuple[SequenceEntry, ...]  # all numbers of phases that were tried; empty for a single one
    rule: str | None  # how the number of phases was chosen
    objective: str  # what the breakpoints minimise
    functions: tuple[str, ...]  # next to the constant; empty for polynomials
    scale: float  # time scale of the functions
    cost: dict[str, int | float]  # evaluations, updates and the like of the search for this model
    n_steps: int  # of the curve, neighbours of equal height joined
    sum_of_squares: float  # integral of (curve - model)^2
    total_squares: float  # integrals of curve^2 and of (curve - mean)^2
    centered_squares: float
    n_locations: int | None  # processors, if known
    evidence: Evidence | None = None  # what the rule ``auto`` found; None for other rules
    iterations: Repetition | None = None  # sections that repeat; None where there are none
    assumed: tuple[str, ...] = ()  # what was assumed of the data, such as the unit of their times

    def __post_init__(self) -> None:
        if not self.phases:
            raise ValueError("a model has at least one phase")
        if self.time_unit not in NANOSECONDS:
            raise ValueError(f"time_unit {self.time_unit!r} is none of {', '.join(NANOSECONDS)}")
        unknown = set(self.functions) - set(functions_of(("t",)))
        if unknown:
            raise ValueError(f"function {sorted(unknown)[0]!r} is not installed")
        for number, phase in enumerate(self.phases):
            expected = len(self.functions) + 1 if self.functions else phase.degree + 1
            if len(phase.coefficients) != expected:
                count = len(phase.coefficients)
                raise ValueError(f"phase {number + 1} has {count} coefficients, {expected} are expected")
            if not phase.start <= phase.end or (number and phase.start != self.phases[number - 1].end):
                problem = "does not begin where the one before ends, or ends before it begins"
                raise ValueError(f"phase {number + 1} {problem}")

    kind: ClassVar[str] = "phases"
    variables: ClassVar[Mapping[str, str]] = {"t": "t"}
    bounds_meaning: ClassVar[str] = "prediction interval of the utilization at one time, not of the mean of a phase"

    @property
    def variable_units(self) -> Mapping[str, str]:
        return {"t": self.time_unit}

    @property
    def ranges(self) -> Mapping[str, tuple[float, float]]:
        return {"t": (self.start, self.end)}

    @property
    def epsilon(self) -> float:
        """Largest local L2 error, in processors times the square root of the time unit."""
        return max(phase.error for phase in self.phases)

    @property
    def start(self) -> float:
        return self.phases[0].start

    @property
    def end(self) -> float:
        return self.phases[-1].end

    @property
    def breaks(self) -> tuple[float, ...]:
        return tuple(phase.start for phase in self.phases[1:])

    def predict_array(self, points: Any, interval: float | None = None) -> Floats:
        times = np.atleast_1d(np.asarray(points, dtype=np.float64))
        starts = np.array([phase.start for phase in self.phases])
        which = np.clip(np.searchsorted(starts, times, side="right") - 1, 0, len(starts) - 1)
        inside = (times >= self.start) & (times <= self.end)
        values = np.full(times.shape, np.nan)
        for number in np.unique(which[inside]):
            in_phase = inside & (which == number)
            values[in_phase] = self.evaluate(self.phases[number], times[in_phase])
        if interval is None:
            return values
        check_coverage(interval)
        spread = np.array([p.error / math.sqrt(p.end - p.start) for p in self.phases])[which]
        half = NormalDist().inv_cdf(0.5 + 0.5 * interval) * spread
        return np.column_stack([values, values - half, values + half])

    def design_rows(self, points: Points) -> DesignRows:
        """Return none: phases are those of one run."""
        raise OptionError("phases are those of one run, of which no single point can be measured")

    def views(self, data: Any = None, file: Path | None = None) -> Any:
        """Return the page with sliders that fit anew; it is loaded when it is shown."""
        return importlib.import_module("perf_worley.answers").PhaseViews(self, data)

    def compared_with(self, other: Model, names: tuple[str, str]) -> Result | None:
        """Compare two runs phase by phase; utilization at the same time of two runs says nothing."""
        if not isinstance(other, PhaseModel):
            return None
        from perf_worley.comparison import compare_phases

        return compare_phases(self, other, names)

    def evaluate(self, phase: Phase, times: Floats) -> Floats:
        """Return one phase's function at times (n,), also outside of the phase and at its end."""
        if self.functions:
            values = np.full(times.shape, phase.coefficients[0])
            for name, coefficient in zip(self.functions, phase.coefficients[1:], strict=True):
                values += coefficient * function_of_time(name, times - self.start, self.scale)
            return values
        values = np.zeros(times.shape)
        for coefficient in reversed(phase.coefficients):
            values = values * (times - phase.start) + coefficient
        return values

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Coefficients with standard errors by the long-run variance, and breakpoints, see `Phase.break_interval`."""
        unit = self.time_unit
        estimates = [Parameter(f"break{i}", phase.start, unit=unit) for i, phase in enumerate(self.phases[1:], 1)]
        for i, phase in enumerate(self.phases, 1):
            for k, coefficient in enumerate(phase.coefficients):
                per = "" if k == 0 or self.functions else f"/{unit}" if k == 1 else f"/{unit}^{k}"
                error = phase.standard_errors[k] if phase.standard_errors else None
                estimates.append(Parameter(f"phase{i}.c{k}", coefficient, error, f"processors{per}"))
        return tuple(estimates)

    @property
    def statistics(self) -> dict[str, float | int | str | None]:
        total, centered = self.total_squares, self.centered_squares
        return {
            "n_phases": len(self.phases),
            "n_steps": self.n_steps,
            "epsilon": self.epsilon,
            "sum_of_squares": self.sum_of_squares,
            "r2_uncentered": float(r_squared(self.sum_of_squares, total)) if total > 0.0 else None,
            "r2_centered": float(r_squared(self.sum_of_squares, centered)) if centered > 0.0 else None,
            "objective": self.objective,
            "rule": self.rule,
            **({} if self.evidence is None else {"gain": self.evidence.gain, "stretches": self.evidence.stretches}),
            **self.cost,
        }

    @property
    def formula(self) -> str:
        return "\n".join(
            f"{self._formula_of(phase)}  for {phase.start:.10g} <= t < {phase.end:.10g} {self.time_unit}"
            for phase in self.phases
        )

    def _formula_of(self, phase: Phase) -> str:
        if self.functions:
            elapsed = {"t": Formula(f"(t - {self.start:g})/{self.scale:g}")}
            formulas = (Formula(registry().load("functions", name).formula) for name in self.functions)
            shapes = [str(formula.substituted(elapsed)) for formula in formulas]
        else:
            local = f"(t - {phase.start:.10g})"
            shapes = [local if k == 1 else f"{local}^{k}" for k in range(1, len(phase.coefficients))]
        text = f"{phase.coefficients[0]:.6g}"
        for coefficient, shape in zip(phase.coefficients[1:], shapes, strict=True):
            text += f" {'-' if coefficient < 0 else '+'} {abs(coefficient):.6g} {shape}"
        return text
