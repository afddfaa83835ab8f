"""One instance of the univariate step, fitted again: what a page shows of the candidates for one line."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np
import numpy.typing as npt

from perf_formulas.formula import Formula
from perf_lost_cycles.modgen.history import InstanceCandidate
from perf_lost_cycles.modgen.parts import UsedModel
from perf_lost_cycles.modgen.scores import weighted_r2
from perf_statistics.least_squares.batched import fit_subsets


Floats = npt.NDArray[np.float64]


def instance_candidates(
    models: Iterable[UsedModel], x: Floats, values: Floats, root: Floats, chosen: Collection[str]
) -> tuple[InstanceCandidate, ...]:
    """Default models fitted along one line."""
    candidates = []
    for default in models:
        terms = [Formula(text).substituted({"x": Formula(default.factor)}).canonical for text in default.terms]
        design = np.stack([Formula(text).evaluate({"x": x}) for text in default.terms], axis=1)
        fits = fit_subsets((design * root[:, None])[None], [0], (values * root)[None], [list(range(len(terms)))])
        candidates.append(
            InstanceCandidate(
                formula=default.formula,
                origin=default.origin,
                terms=tuple(terms),
                coefficients=tuple(fits.coefficients[0, 0].tolist()),
                standard_errors=tuple(map(_finite, fits.standard_errors[0, 0].tolist())),
                r2=_finite(float(weighted_r2(fits.sum_of_squares[0], values[None], root)[0])),
                leave_one_out=_finite(float(fits.leave_one_out[0, 0])),
                chosen=set(terms) == set(chosen),
            )
        )
    return tuple(candidates)


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
