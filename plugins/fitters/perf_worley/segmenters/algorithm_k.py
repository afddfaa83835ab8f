"""Worley's Algorithm K: the phases that one error tolerance gives, from left to right.

Source: P. H. Worley, "Modeling Histogram Data with Piecewise Polynomials", Figure 1 and equation (5); the mixed
constant, linear and quadratic heuristic with its rules for the final element is section 5.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol


class ErrorTree(Protocol):
    """What computes local errors: the moment tree, the factor tree, or Worley's linear update."""

    duration: float
    n_steps: int

    def reach(self, begin: float, step: int, limit: float, degree: int, gap: float) -> Any:
        """Longest phase from ``begin`` in ``step`` with squared error at most ``limit``: a `Reach`."""

    def rest(self, begin: float, step: int) -> Any:
        """Summary from ``begin`` to the end of the curve."""

    def error(self, summary: Any, degree: int) -> float:
        """Squared error of a summary."""


class Element(NamedTuple):
    """One element of the partition; ``error`` is what the tolerance bounds."""

    end: float
    step: int
    degree: int
    error: float
    updates: int


class PhaseRule(Protocol):
    """How far a phase goes and which degree it has."""

    def extend(self, tree: ErrorTree, begin: float, step: int, tolerance: float, gap: float) -> Element:
        """The next phase under a tolerance."""

    def finish(self, tree: ErrorTree, begin: float, step: int) -> Element:
        """The phase that must go to the end of the curve, whatever its error."""


@dataclass(frozen=True)
class Uniform:
    """Polynomials of one degree."""

    degree: int

    def extend(self, tree: ErrorTree, begin: float, step: int, tolerance: float, gap: float) -> Element:
        """Step b) of Algorithm K."""
        end, last_step, summary, updates = tree.reach(begin, step, tolerance * tolerance, self.degree, gap)
        return Element(end, last_step, self.degree, math.sqrt(tree.error(summary, self.degree)), updates)

    def finish(self, tree: ErrorTree, begin: float, step: int) -> Element:
        """The last element of the partition."""
        error = math.sqrt(tree.error(tree.rest(begin, step), self.degree))
        return Element(tree.duration, tree.n_steps - 1, self.degree, error, 1)


# Worley's measure of simplicity: a constant takes two parameters (place and value), a line three, a quadratic four.
# Each degree may have the share parameters/4 of the squared tolerance and must win time in the same proportion.
_SHARE = (0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Mixed:
    """Constant, linear or quadratic, whichever is simplest for the time that it covers (section 5.1)."""

    def extend(self, tree: ErrorTree, begin: float, step: int, tolerance: float, gap: float) -> Element:
        """Rules 1 to 6, and the rules for an element that reaches the end of the curve."""
        squared = tolerance * tolerance
        reaches = [tree.reach(begin, step, share * squared, degree, gap) for degree, share in enumerate(_SHARE)]
        updates = sum(reach.updates for reach in reaches)
        constant, linear, quadratic = (reach.end - begin for reach in reaches)
        final = self.finish(tree, begin, step) if reaches[2].end == tree.duration else None
        if final is not None:
            # At the end of the curve the errors decide, since no degree can win more time.
            if reaches[final.degree].end == tree.duration:
                return final._replace(updates=updates + final.updates)
            degree = 1 if linear > 1.5 * constant and reaches[1].end < tree.duration else 0
        elif quadratic > 2.0 * constant and quadratic > 4.0 * linear / 3.0:
            degree = 2
        else:
            degree = 1 if linear > 1.5 * constant else 0
        end, last_step, summary, _ = reaches[degree]
        error = math.sqrt(tree.error(summary, degree) / _SHARE[degree])
        return Element(end, last_step, degree, error, updates)

    def finish(self, tree: ErrorTree, begin: float, step: int) -> Element:
        """Quadratic and linear must each be better by the share that their parameters cost."""
        summary = tree.rest(begin, step)
        errors = [tree.error(summary, degree) for degree in range(3)]
        degree = 0
        if errors[2] < 0.5 * errors[0] and errors[2] < 0.75 * errors[1]:
            degree = 2
        elif errors[1] < errors[0] * (2.0 / 3.0):
            degree = 1
        error = math.sqrt(errors[degree] / _SHARE[degree])
        return Element(tree.duration, tree.n_steps - 1, degree, error, 1)


@dataclass
class Partition:
    """Result of Algorithm K."""

    tolerance: float  # the error tolerance that made it
    breaks: list[float] = field(default_factory=lambda: [0.0])  # from 0 to the duration
    degrees: list[int] = field(default_factory=list)
    objective: float = 0.0  # worley's f of equation (5): negative where the tolerance is too small for n phases
    updates: int = 0  # least-squares updates that it took


def partition(tree: ErrorTree, n_phases: int, tolerance: float, rule: PhaseRule, gap: float = 0.0) -> Partition:
    """Run Algorithm K."""
    result = Partition(tolerance)
    begin, step = 0.0, 0
    for number in range(1, n_phases + 1):
        if number < n_phases:
            element = rule.extend(tree, begin, step, tolerance, gap)
        else:
            element = rule.finish(tree, begin, step)
        result.breaks.append(element.end)
        result.degrees.append(element.degree)
        result.updates += element.updates
        if element.end >= tree.duration:
            break
        begin, step = element.end, element.step
    result.objective = (n_phases - len(result.degrees) + 1) - element.error / tolerance
    return result
