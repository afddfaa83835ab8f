"""The likeliest law of each path by least squares: coefficients, their errors, and leave-one-out errors."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perf_laws.evidence.hypotheses import Hypotheses
from perf_laws.evidence.law_arrays import laws_of
from perf_laws.evidence.noise import Runs
from perf_laws.evidence.path_data import PathData
from perf_laws.evidence.posterior import Laws
from perf_least_squares.batched import fit_subsets
from perf_least_squares.nonnegative import fit_nonnegative

__all__ = ["LeadingLaw", "leading_laws"]

Ints = npt.NDArray[np.int64]


class LeadingLaw(NamedTuple):
    """The likeliest law of a path.

    Attributes
    ----------
    path : str
    terms : tuple of str
        Beside the constant, as formulas; behind the last break, if there is one.
    coefficients : tuple of float
        Of the constant and of these, in the unit of the data; >= 0.
    standard_errors : tuple of float
        NaN where a coefficient is 0 or the points leave no degree of freedom.
    probability : float
    leave_one_out : float
        Root mean square of the relative errors of predicting each point from the others; NaN where they do not
        determine it.
    before : tuple of (float, LeadingLaw)
        Breaks, and the law that holds before each.
    """

    path: str
    terms: tuple[str, ...]
    coefficients: tuple[float, ...]
    standard_errors: tuple[float, ...]
    probability: float
    leave_one_out: float
    before: tuple[tuple[float, LeadingLaw], ...] = ()

    @property
    def text(self) -> str:
        """The law as a formula, with the one before each break."""
        return "; then ".join([*(f"{law.text} up to {until:.4g}" for until, law in self.before), self._formula])

    @property
    def _formula(self) -> str:
        parts = [f"{c:.4g}*{t}" for c, t in zip(self.coefficients[1:], self.terms, strict=True) if c > 0.0]
        parts = [f"{part.split('*', 1)[0]}{part.split('*', 1)[1][1:]}" if "*1/" in part else part for part in parts]
        constant = self.coefficients[0]
        return " + ".join([f"{constant:.4g}", *parts] if constant > 0.0 or not parts else parts)


def leading_laws(
    names: Sequence[str],
    data: Sequence[PathData],
    arrays: tuple[Runs, Hypotheses, Laws],
    law_text: Callable[[int], tuple[str, ...]],
) -> tuple[LeadingLaw, ...]:
    """Fit the likeliest law of each path, coefficients >= 0; all paths of as many terms at once.

    Parameters
    ----------
    names : sequence of str
        Of the paths (K).
    data : sequence of PathData
        Of each path.
    arrays : Runs, Hypotheses and Laws
        See `perf_laws.evidence.law_arrays.arrays_of`.
    law_text : callable
        Terms of a law by its number.
    """
    runs, hypotheses, laws = arrays
    found = _fitted(names, (runs, hypotheses), np.arange(len(names)), laws, law_text)
    breaks = [(k, segment) for k, own in enumerate(data) for segment in own.before]
    if breaks:
        paths = np.array([k for k, _ in breaks])
        before = laws_of([segment for _, segment in breaks])
        earlier = _fitted(names, (runs, hypotheses), paths, before, law_text)
        for k in np.unique(paths).tolist():
            own = [law for law, path in zip(earlier, paths.tolist(), strict=True) if path == k]
            untils = [segment.until for segment in data[k].before]
            found[k] = found[k]._replace(before=tuple(zip(untils, own, strict=True)))
    return tuple(found)


def _fitted(
    names: Sequence[str],
    arrays: tuple[Runs, Hypotheses],
    paths: Ints,
    laws: Laws,
    law_text: Callable[[int], tuple[str, ...]],
) -> list[LeadingLaw]:
    """The likeliest of each row of some laws, which are those of these paths."""
    runs, hypotheses = arrays
    first = laws.kept[:, 0]
    sizes = (hypotheses.members[first] >= 0).sum(axis=1)
    found: list[LeadingLaw] = [None] * len(first)  # type: ignore[list-item]
    texts = {law: law_text(law) for law in np.unique(first).tolist()}
    measured = laws.root_weights > 0.0
    values = np.nan_to_num(runs.means[paths]) * laws.root_weights
    n = measured.sum(axis=1)
    # Root weights are of runs of a relative noise of 1: what is left over them, over this, is relative to the mean.
    runs_each = np.where(measured, runs.counts[paths], 0.0).sum(axis=1) / n
    for size in np.unique(sizes).tolist():
        mine = np.flatnonzero(sizes == size)
        members = hypotheses.members[first[mine], :size]
        design = np.ones((len(mine), values.shape[1], size + 1))
        if size:
            design[:, :, 1:] = hypotheses.columns[members].transpose(0, 2, 1)
        design *= laws.root_weights[mine][:, :, None]
        subsets = [list(itertools.combinations(range(size + 1), count)) for count in range(1, size + 2)]
        fits = [fit_subsets(design, np.arange(len(mine)), values[mine], subset) for subset in subsets]
        fit = fit_nonnegative(fits, values[mine])
        scales = np.concatenate([np.ones((len(mine), 1)), hypotheses.scales[members]], axis=1)
        coefficients = fit.coefficients[:, 0] / scales
        errors = fit.standard_errors[:, 0] / scales
        misses = np.sqrt(fit.leave_one_out[:, 0] / n[mine] / runs_each[mine])
        for row, k in enumerate(mine.tolist()):
            found[k] = LeadingLaw(
                path=names[int(paths[k])],
                terms=texts[int(first[k])],
                coefficients=tuple(coefficients[row].tolist()),
                standard_errors=tuple(errors[row].tolist()),
                probability=float(laws.probability[k, 0]),
                leave_one_out=float(misses[row]) if np.isfinite(misses[row]) else float("nan"),
            )
    return found
