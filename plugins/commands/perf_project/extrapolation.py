"""Times of components beyond the largest scale of runs at a few scales.

A component goes on between two forms: the power law of its last scales, and Amdahl's form a + b/p through all of them
(non-negative, by relative errors). A category of a table whose time has grown much goes on between that and the same
with a + b/p + cp for Amdahl's form, as both predicted its own scales from the smaller ones; one that grew between two
scales, with no third, goes on at that rate, at most in proportion to p. Categories that take turns, such as two kinds
of waiting, are smoother in sum than alone: the less a table's categories are predicted by their smaller scales, the
more they are scaled towards the elapsed time, extrapolated as a category is. From four scales on the estimate is the
geometric mean of that and of the component's scaling model, which counts the more the better it predicts the largest
scale from the others. Load imbalance is also taken to tend to its measured share of computation. Held-out scales
usually take longer than the forms say: a component drifts by the mean of that usual drift and of the errors of its
own scales, each predicted from the smaller ones. The forms, drifts and spreads below are those with the smallest
errors, and the stated coverage, if the last scales of runs of GROMACS, AMBER, LULESH, Castro, EPOCH, of a particle
mesh, of MPI collectives and of the examples are left out (`benchmarks/projections.py`).

Errors of the logarithm have a Student's t distribution whose scale grows with the doublings beyond the largest run.
Each scale that the smaller ones predict makes it smaller or larger: its error counts as one observation beside the
number that the typical spread counts for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls
from scipy.special import stdtrit

from perfcore.base.arrays import Floats

PRIOR_DRIFTS = 4.0  # as many scales that are predicted count the usual drift
TRACE_DRIFT, TABLE_DRIFT = 0.01, 0.05  # by which log times exceed the two forms for a doubling
_OWN_WEIGHT = 0.75  # of a table's elapsed time, extrapolated like a component, beside the sum of erratic components
_ERRATIC = 0.1  # sum of the components' errors at a scale, of its elapsed time, at which that counts half as much
LAW_SCALES = 4  # from which scaling models count
_STEEPEST = 2.0  # exponent of a power law
_STEEPEST_OF_TWO = 1.0  # the same of a category that grew between the only two scales
_LEAST_TIME = 0.01  # of a component's longest: what is shorter counts with that relative error
_LEAST_DOUBLINGS, _LARGEST_ERROR = 0.5, 1.0  # of a check: nearer scales differ by noise
_LEAST_ERROR = 0.1  # of a form at a scale that is predicted from the smaller ones: less is chance
_GROWN, _GROWTH = 3.0, 0.5  # times that a time has grown by; what the form that grows counts before any check
_NOISE = 0.1  # doublings that the noise of a run is like
IMBALANCE = "load imbalance"


class Spread(NamedTuple):
    """The usual errors of log times."""

    deviation: float  # standard deviation for a doubling of the scale
    runs: float = 5.0  # as many scales that are predicted it counts
    unchecked: float = 1.3  # as much wider it is if no scale can be predicted from the smaller ones


# Of the elapsed time of traces and of tables, whose categories leave more out; of components that compute, of those of
# tables, and of losses.
TRACES, TABLES = Spread(0.06), Spread(0.22, 20.0, 1.6)
COMPUTING, CATEGORY, LOSS = Spread(0.1), Spread(0.35), Spread(0.4)


def power_of_scales(sizes: Sequence[float]) -> tuple[int, str]:
    """Return 3 and "cube", or 2 and "square", if all scales are that and they are not powers of two; else 1."""
    distinct = set(sizes)
    for power, name in ((3, "cube"), (2, "square")):
        roots = [round(p ** (1.0 / power)) for p in distinct]
        is_power = all(root**power == p for root, p in zip(roots, distinct, strict=True))
        if len(distinct) > 1 and is_power and not all(math.log2(root).is_integer() for root in roots):
            return power, name
    return 1, ""


def slope(sizes: Floats, times: Floats) -> float:
    """Return the exponent of a component's time at its last scales; 0 if it takes none at two of them."""
    kept = times > 0.0
    if kept.sum() < 2:
        return 0.0
    x, y, weight = np.log(sizes[kept]), np.log(times[kept]), sizes[kept] ** 2.0
    x, y = x - np.average(x, weights=weight), y - np.average(y, weights=weight)
    return float(np.clip((weight * x * y).sum() / (weight * x * x).sum(), -_STEEPEST, _STEEPEST))


def extrapolate(sizes: Floats, times: Floats, targets: Floats, drift: float = 0.0, grows: bool = False) -> Floats:
    """Return times of a component (T,) at targets beyond the scales (n,), which ascend, of its measured times (n,).

    ``drift`` is by how much the log time usually exceeds the forms for each doubling; with ``grows`` a time that grows
    may go on growing.
    """
    if grows and len(sizes) == 2 and (exponent := min(slope(sizes, times), _STEEPEST_OF_TWO)) > 0.0:
        return np.asarray(times[-1] * (targets / sizes[-1]) ** exponent)
    has_grown = slope(sizes, times) > 0.0 and times[-1] > _GROWN * times[times > 0.0].min()
    forms = (False, True) if grows and has_grown else (False,)
    estimates = np.array([between_forms(sizes, times, targets, form) for form in forms])
    held_out = []
    for n in range(2, len(sizes)):
        smaller = (between_forms(sizes[:n], times[:n], sizes[n : n + 1], form)[0] for form in forms)
        held_out.append([log_error(estimate, times[n], sizes[n] / sizes[n - 1]) for estimate in smaller])
    errors = np.array([row for row in held_out if None not in row], float).reshape(-1, len(forms))
    weights = np.array([1.0, _GROWTH][: len(forms)])
    if len(errors):
        weights /= _LEAST_ERROR**2 + (errors**2).mean(axis=0)
    weights /= weights.sum()
    if drift:
        drift = (PRIOR_DRIFTS * drift + float((errors @ weights).sum())) / (PRIOR_DRIFTS + len(errors))
    estimate = np.prod(estimates ** weights[:, None], axis=0)
    return np.asarray(estimate * (targets / sizes[-1]) ** (drift / math.log(2.0)))


def between_forms(sizes: Floats, times: Floats, targets: Floats, grows: bool = False) -> Floats:
    """Return the geometric mean of the power law of the last scales and of a + b/p, or of a + b/p + cp."""
    last, ratio = times[-1], targets / sizes[-1]
    if not last > 0.0 or len(sizes) < 2:
        return np.full(len(targets), last)

    def terms(p: Floats) -> Floats:
        return np.column_stack([1.0 / p, np.ones(len(p)), *([p / sizes[-1]] if grows else [])])

    weight = sizes / np.maximum(times, _LEAST_TIME * times.max())
    coefficients = nnls(terms(sizes) * weight[:, None], times * weight)[0]
    form = last * (terms(targets) @ coefficients) / (terms(sizes[-1:]) @ coefficients)
    return np.asarray(np.sqrt(last * ratio ** slope(sizes, times) * form))


def extrapolate_all(
    sizes: Floats, measured: Mapping[str, Floats], alone: Mapping[str, int], targets: Floats
) -> dict[str, Floats]:
    """Return the times of all components (T,) at targets; those of tables scaled towards their elapsed time's own."""
    times = _extrapolate_each(sizes, measured, alone, targets)
    if alone or len(times) < 2:
        return times
    elapsed = np.sum(list(measured.values()), axis=0)
    erratic = [
        sum(abs(float(time[0]) - measured[name][n]) for name, time in earlier.items())
        / elapsed[n] / max(math.log2(sizes[n] / sizes[n - 1]), _LEAST_DOUBLINGS)
        for n in range(2, len(sizes))
        for earlier in [
            _extrapolate_each(sizes[:n], {name: v[:n] for name, v in measured.items()}, alone, sizes[n : n + 1])
        ]
    ]  # fmt: skip
    square = float(np.mean(erratic)) ** 2 if erratic else _ERRATIC**2
    whole, summed = extrapolate(sizes, elapsed, targets, TABLE_DRIFT, grows=True), sum(times.values())
    ratio = np.divide(whole, summed, out=np.ones(len(targets)), where=summed > 0.0)
    return {name: values * ratio ** (_OWN_WEIGHT * square / (square + _ERRATIC**2)) for name, values in times.items()}


def _extrapolate_each(
    sizes: Floats, measured: Mapping[str, Floats], alone: Mapping[str, int], targets: Floats
) -> dict[str, Floats]:
    """Return the times of all components (T,) at targets; those of losses from scales at which there can be any."""
    times = {}
    for name, values in measured.items():
        kept = sizes > alone.get(name, 0)
        drift = TRACE_DRIFT if alone else TABLE_DRIFT
        times[name] = np.zeros(len(targets))
        if kept.any():
            times[name] = extrapolate(sizes[kept], values[kept], targets, drift, grows=not alone)
    computing = [name for name in measured if name not in alone]
    before = sum(measured[name][-1] for name in computing)
    if before > 0.0:
        growth = sum((times[name] for name in computing), np.zeros(len(targets))) / before
        for name, values in times.items():
            if name in alone and name.endswith(IMBALANCE):
                times[name] = np.sqrt(values * measured[name][-1] * growth)
    return {name: np.where(targets <= alone.get(name, 0), 0.0, values) for name, values in times.items()}


def check_errors(
    sizes: Floats, measured: Mapping[str, Floats], alone: Mapping[str, int], names: Sequence[str]
) -> list[float]:
    """Return errors for a doubling of the log of the sum of some components, each scale predicted from the smaller."""
    errors = []
    for n in range(2, len(sizes)):
        smaller = {name: values[:n] for name, values in measured.items()}
        predicted = extrapolate_all(sizes[:n], smaller, alone, sizes[n : n + 1])
        estimate, true = (sum(float(times[name][k]) for name in names) for times, k in ((predicted, 0), (measured, n)))
        if (error := log_error(estimate, true, sizes[n] / sizes[n - 1])) is not None:
            errors.append(error)
    return errors


def log_error(estimate: float, true: float, ratio: float) -> float | None:
    """Return the error of a log time for a doubling of the scale, bounded; None if a time is 0."""
    if not (estimate > 0.0 and true > 0.0):
        return None
    error = math.log(true / estimate) / max(math.log2(ratio), _LEAST_DOUBLINGS)
    return min(max(error, -_LARGEST_ERROR), _LARGEST_ERROR)


def log_errors(errors: Sequence[float], spread: Spread, ranks: Floats, doublings: Floats) -> Floats:
    """Return errors of a log time (D, T) at ranks (D,) of their distribution, so many doublings beyond a run (T,)."""
    degrees, usual = spread.runs + len(errors), spread.deviation * (1.0 if errors else spread.unchecked)
    scale = math.sqrt((spread.runs * usual**2 + sum(error**2 for error in errors)) / degrees)
    return np.asarray(scale * stdtrit(degrees, ranks)[:, None] * np.hypot(doublings, _NOISE))
