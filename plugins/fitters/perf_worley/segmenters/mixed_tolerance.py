"""The least tolerance that n phases of the mixed basis can meet.

Worley's heuristic takes for each phase the simplest degree that wins enough time, so that a larger tolerance may take
another degree, end a phase earlier and need more phases: what is feasible has gaps. A search that halves a bracket
ends at one edge of one gap, and at another one where it starts elsewhere. Here tolerances are scanned upwards on a grid
that depends on the curve alone, from the least one of quadratics, below which no mixed partition can be; the first
feasible one is then narrowed down to the edge below it. So the answer for n does not depend on what else is asked for.
Only where the feasible tolerances make an island narrower than the grid's 0.1 % can it be missed.
"""

from __future__ import annotations

import math

from perf_worley.segmenters.algorithm_k import ErrorTree, Mixed, Partition, partition
from perf_worley.segmenters.bracketing import close_in


_RATIO = 1.001  # between two tolerances of the grid
_RELATIVE = 1e-12


class MixedTolerances:
    """Least tolerances of one curve."""

    def __init__(self, tree: ErrorTree, most: int, gap: float = 0.0) -> None:
        self.tree, self.most, self.gap, self.rule = tree, most, gap, Mixed()
        self.largest = self.rule.finish(tree, 0.0, 0).error
        self.evaluations = self.updates = 0
        self._needed: dict[int, int] = {}

    def least(self, n_phases: int, below: float, absolute: float | None = None) -> Partition:
        """The partition of the least tolerance."""
        if self.largest <= 0.0:
            result = partition(self.tree, 1, 1.0, self.rule, self.gap)
            result.tolerance = 0.0
            return result
        place = 0 if below <= 0.0 else max(math.ceil(math.log(self.largest / below) / math.log(_RATIO)), 0)
        while place > 0 and self._phases(place) > n_phases:
            place -= 1
        upper = self._tolerance(place)
        best = self._partition(n_phases, upper)
        while best.objective < 0.0:  # one phase, up to rounding
            upper *= 1.0 + 4.0 * _RELATIVE
            best = self._partition(n_phases, upper)
        if n_phases == 1:
            return best

        def objective(tolerance: float) -> float:
            nonlocal best
            result = self._partition(n_phases, tolerance)
            f = result.objective
            if f >= 0.0 and tolerance < best.tolerance:
                best = result
            return f if f >= 0.0 else -math.log1p(-f)

        lower = self._tolerance(place + 1)
        f_lower = objective(lower)
        if f_lower < 0.0:
            width = 0.5 * absolute if absolute is not None else _RELATIVE * upper
            close_in(objective, lower, f_lower, upper, objective(upper), width)
        return best

    def _tolerance(self, place: int) -> float:
        return self.largest * _RATIO**-place

    def _partition(self, n_phases: int, tolerance: float) -> Partition:
        result = partition(self.tree, n_phases, tolerance, self.rule, self.gap)
        self.evaluations += 1
        self.updates += result.updates
        return result

    def _phases(self, place: int) -> int:
        """How many phases a tolerance of the grid needs; more never do worse."""
        if place in self._needed:
            return self._needed[place]
        tolerance = self._tolerance(place)
        begin, step, count = 0.0, 0, 1
        self.evaluations += 1
        while count <= self.most:
            if self.rule.finish(self.tree, begin, step).error <= tolerance:
                break
            element = self.rule.extend(self.tree, begin, step, tolerance, self.gap)
            self.updates += element.updates
            if element.end >= self.tree.duration:
                break
            begin, step, count = element.end, element.step, count + 1
        self._needed[place] = count
        return count
