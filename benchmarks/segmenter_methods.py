"""The segmenters that are compared: each takes a curve with steps of width 1 and gives breakpoints.

Every library is used with its defaults. Who takes a number of phases is given the true one; who
takes a penalty is given its library's default, or the same BIC penalty, for noise of variance 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perfcore import UtilizationCurve

__all__ = ["METHODS", "Case", "Method"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """One curve and what is known about it.

    Parameters
    ----------
    curve : UtilizationCurve
    n_phases : int
    degree : int
        0 or 1.
    noise : float
        Standard deviation.
    """

    curve: UtilizationCurve
    n_phases: int
    degree: int
    noise: float

    @property
    def samples(self) -> Floats:
        """Heights with noise of variance 1, which default penalties are made for; shape (n, 1)."""
        return (self.curve.heights / self.noise)[:, None]

    @property
    def regression(self) -> Floats:
        """Samples beside their covariates for ruptures: a constant and the time, (n, 3)."""
        time = np.linspace(-1.0, 1.0, self.curve.n_steps)
        return np.column_stack([self.samples, np.ones_like(time), time])

    @property
    def bic_penalty(self) -> float:
        """Parameters of a phase, its breakpoint included, times log(n)."""
        return (self.degree + 2) * float(np.log(self.curve.n_steps))


@dataclass(frozen=True)
class Method:
    """One way to segment.

    Parameters
    ----------
    find : callable
        A case to its inner breakpoints (n,), counted in steps.
    objective : str
        What is minimised.
    given : str
        What the method is told: the number of phases or a penalty.
    degrees : tuple of int
        Degrees that it can do.
    """

    find: Callable[[Case], npt.ArrayLike]
    objective: str
    given: str
    degrees: tuple[int, ...] = (0, 1)


def _perfcore(name: str) -> Method:
    from perf_worley.minimax import Minimax
    from perfcore.hooks.registry import registry

    segmenter = Minimax if name == "worley" else registry().load("segmenters", name)

    def find(case: Case) -> npt.ArrayLike:
        from perfcore.contracts import Basis

        found = segmenter().segment(case.curve, case.n_phases, Basis(degree=case.degree))
        inner: Floats = found.breaks[1:-1]
        return inner

    return Method(find, segmenter.objective, "n")


def _ruptures(search: str, *, penalised: bool = False) -> Method:
    def find(case: Case) -> npt.ArrayLike:
        import ruptures

        model = ("l2", "linear")[case.degree]
        signal = case.regression if case.degree else case.samples
        fitted = getattr(ruptures, search)(model=model).fit(signal)
        if penalised:
            return np.array(fitted.predict(pen=case.bic_penalty)[:-1])
        return np.array(fitted.predict(n_bkps=case.n_phases - 1)[:-1])

    objective = "sum of squared errors"
    if penalised:
        return Method(find, f"penalised {objective}", "BIC penalty")
    return Method(find, objective, "n")


def _kernel_cpd(case: Case) -> npt.ArrayLike:
    import ruptures

    search = ruptures.KernelCPD(kernel="linear").fit(case.samples)
    return np.array(search.predict(n_bkps=case.n_phases - 1)[:-1])


def _skchange(detector: Callable[[Any, int], Any]) -> Callable[[Case], npt.ArrayLike]:
    def find(case: Case) -> npt.ArrayLike:
        from skchange import detectors

        samples = case.samples
        found: npt.ArrayLike = detector(detectors, case.degree).fit(samples).predict(samples)
        return found

    return find


def _pelt(detectors: Any, degree: int) -> Any:
    from skchange.interval_scorers import L2Cost, LinearTrendCost

    return detectors.PELT(cost=LinearTrendCost() if degree else L2Cost())


def _seeded(detectors: Any, degree: int) -> Any:
    from skchange.interval_scorers import CostChangeScore, LinearTrendCost

    score = CostChangeScore(LinearTrendCost()) if degree else None
    return detectors.SeededBinarySegmentation(change_score=score)


_PENALISED = "penalised sum of squared errors"

METHODS = {
    "perfcore worley": _perfcore("worley"),
    "perfcore greedy": _perfcore("greedy"),
    "perfcore hill-climb": _perfcore("hill-climb"),
    "perfcore least-squares": _perfcore("least-squares"),
    "ruptures Dynp": _ruptures("Dynp"),
    "ruptures BottomUp": _ruptures("BottomUp"),
    "ruptures Pelt": _ruptures("Pelt", penalised=True),
    "ruptures KernelCPD": Method(_kernel_cpd, "sum of squared errors", "n", (0,)),
    "skchange FPOP": Method(_skchange(lambda detectors, degree: detectors.FPOP()), _PENALISED, "BIC penalty", (0,)),
    "skchange PELT": Method(_skchange(_pelt), _PENALISED, "BIC penalty"),
    "skchange SeededBinSeg": Method(
        _skchange(_seeded), "largest gain of one split, above a penalty", "default penalty"
    ),
}
