"""The fitter `usl`: throughput or time over processors by the Universal Scalability Law.

X(p) = gamma p / (1 + sigma (p - 1) + kappa p (p - 1)), with contention sigma and coherency kappa: N. J. Gunther,
"Guerrilla Capacity Planning", 2007, equation 4.31. Times are its reciprocal, in which 1/gamma is the time of p = 1.
"""

from __future__ import annotations

import functools
import re
from typing import Any, ClassVar, NamedTuple

import msgspec
import numpy as np

from perf_formulas.formula import ParametricFormula
from perf_regression.options import RegressionOptions, UslOptions
from perf_regression.regression import Estimates, RegressionModel, fit_group, groups_of, measured, origin_of, regress
from perfcore.base import progress
from perfcore.base.errors import DataError, OptionError, PerfError, listing
from perfcore.contracts import Fitter
from perfcore.data.measurements import Measurements
from perfcore.data.observations import numbers_of, values_of
from perfcore.data.units import is_rate, is_time

_LEAST_POINTS = 4
_NAMES = ("gamma", "sigma", "kappa")
_COSTS = {3: "(1 + sigma*(p - 1) + kappa*p*(p - 1))", 2: "(1 + sigma*(p - 1))", 1: "1"}  # USL, Amdahl, linear
_THROUGHPUTS = (
    *("throughput", "rate", "ops", "mops", "gops", "iops", "flops", "mflops", "gflops", "tflops", "tps", "rps", "qps"),
    *("fps", "bandwidth", "speed", "speedup"),
)
_TIMES = ("time", "times", "runtime", "walltime", "elapsed", "duration", "latency", "seconds")


class Derived(NamedTuple):
    """A quantity that follows from the law."""

    name: str
    value: float
    interval: tuple[float, float]  # 95%


class UslModel(RegressionModel, frozen=True, forbid_unknown_fields=True, dict=True):
    """The law with its coefficients, 0 where they would be negative; intervals are of the law without such bounds."""

    reporter: ClassVar[str] = "perf_regression.answers:usl_report_of"
    kind: ClassVar[str] = "usl"
    quantity: str
    free: tuple[float, ...]  # coefficients without bounds

    @functools.cached_property
    def estimates(self) -> dict[tuple[str, ...], Estimates]:
        return {(): regress(self.parametric, self.groups[0], self.options, np.array(self.free))}

    @property
    def has_peak(self) -> bool:
        """Whether the data exclude kappa = 0, which is Amdahl's law."""
        return float(self.estimates[()].intervals[2, 0]) > 0.0

    def derived(self) -> list[Derived]:
        """Peak, limit without coherency, and efficiency at the largest p, with 95% confidence intervals."""
        from scipy.special import stdtrit

        law, largest = self.estimates[()], self.ranges["p"][1]
        (gamma, sigma, kappa), (top, share, cross) = self.groups[0].estimates, law.params.tolist()
        cov, width, found = law.covariance, float(stdtrit(law.freedom or np.inf, 0.975)), []

        def spread(*slopes: float) -> float:
            return width * float(np.sqrt(max(np.array(slopes) @ cov @ np.array(slopes), 0.0)))

        if kappa > 0.0 and sigma < 1.0:
            low, high = _ratio(1.0 - share, cross, -cov[1, 2], cov[1, 1], cov[2, 2], width)
            found.append(Derived("p* of the peak", float(np.sqrt((1.0 - sigma) / kappa)), (low**0.5, high**0.5)))
        if self.has_peak and sigma < 1.0:
            # 1/X is (sigma - kappa + 2 sqrt(kappa (1 - sigma))) / gamma there.
            root = float(np.sqrt(kappa * (1.0 - sigma)))
            cost = sigma - kappa + 2.0 * root
            slopes = 1.0 / gamma, (kappa / root - 1.0) / cost, (1.0 - (1.0 - sigma) / root) / cost
            value, factor = gamma / cost, float(np.exp(spread(*slopes)))
            found.append(Derived("peak value", *self._in_unit(value, value / factor, value * factor)))
        if sigma > 0.0:
            limits = _ratio(top, share, cov[0, 1], cov[0, 0], cov[1, 1], width)
            found.append(Derived("limit without coherency", *self._in_unit(gamma / sigma, *limits)))
        cost = 1.0 + sigma * (largest - 1.0) + kappa * largest * (largest - 1.0)
        half = spread(0.0, largest - 1.0, largest * (largest - 1.0))
        bounds = (1.0 / (cost + half), 1.0 / (cost - half) if cost > half else np.inf)
        found.append(Derived(f"efficiency at {largest:g}", 1.0 / cost, bounds))
        return [Derived(d.name, float(d.value), (float(d.interval[0]), float(d.interval[1]))) for d in found]

    def _in_unit(self, value: float, low: float, high: float) -> tuple[float, tuple[float, float]]:
        """A throughput with its interval, as a time where times were measured."""
        if self.quantity == "time":
            return 1.0 / value, (1.0 / high, 1.0 / low if low > 0.0 else np.inf)
        return value, (low, high)

    def details(self) -> dict[str, Any]:
        return super().details() | {"derived": [each._asdict() for each in self.derived()]}


def _ratio(a: float, b: float, ab: float, aa: float, bb: float, width: float) -> tuple[float, float]:
    """Interval of a/b > 0 by the variances of both (E. C. Fieller, 1954); open where b may be 0."""
    # All r with (a - r b)^2 <= width^2 (aa - 2 r ab + r^2 bb)
    square, linear, constant = b**2 - width**2 * bb, a * b - width**2 * ab, a**2 - width**2 * aa
    root = float(np.sqrt(max(linear**2 - square * constant, 0.0)))
    if square <= 0.0:
        return max(constant / (linear + root), 0.0) if linear + root > 0.0 else 0.0, np.inf
    return (max((linear - root) / square, 0.0), (linear + root) / square) if b > 0.0 else (np.inf, np.inf)


class UslFitter(Fitter):
    """Fits the Universal Scalability Law to one program over processors, threads or load.

    Choose it to see what limits throughput, contention (sigma) or coherency (kappa), and where it peaks.

    Examples
    --------
    >>> import pandas as pd, perfcore
    >>> runs = pd.DataFrame({"p": [1, 18, 36, 72, 108, 144, 216],
    ...                      "throughput": [64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2]})
    >>> model = perfcore.fit(runs, fitter="usl")
    >>> [float(f"{parameter.estimate:.3g}") for parameter in model.parameters]
    [90.0, 0.0277, 0.000104]
    """

    Options, model_type, takes = UslOptions, UslModel, (Measurements,)

    @classmethod
    def suits(cls, data: Any) -> bool:
        try:
            runs = _measured(data, UslOptions())
            return _quantity(runs, UslOptions()) == "throughput" and bool(_checked(runs))
        except PerfError:
            return False

    def fit(self, data: Any, options: UslOptions, **parts: Any) -> UslModel:
        runs = _measured(data, options)
        quantity = _quantity(runs, options)
        runs = _checked(runs)
        weights = (
            {"throughput": "equal", "time": "relative"}[quantity] if options.weights == "auto" else options.weights
        )
        (group,) = groups_of(runs, RegressionOptions(weights=weights))
        p, value = np.array(group.points["p"]), np.array(group.value)
        # p/X is linear in 1/gamma, sigma/gamma and kappa/gamma; relative errors start the search
        costs = p / value if quantity == "throughput" else p * value
        terms = np.stack([np.ones(len(p)), p - 1.0, p * (p - 1.0)], axis=1)
        first, second, third = np.linalg.lstsq(terms / costs[:, None], np.ones(len(p)), rcond=None)[0].tolist()
        if not first > 0.0 or second >= first:
            other = "time" if quantity == "throughput" else "throughput"
            raise DataError(
                f"{runs.source}: {runs.roles.value} does not scale like a {quantity} (contention above 1); if it is a "
                f"{other}, give --quantity {other}, or choose the column with --value"
            )
        theta = [1.0 / first, second / first, third / first]
        chosen: list[RegressionOptions] = []
        free: tuple[float, ...] = ()
        for count in (3, 2, 1):  # kappa, and then sigma, are 0 where they would be negative
            law = f"gamma*p/{_COSTS[count]}" if quantity == "throughput" else f"{_COSTS[count]}/(gamma*p)"
            start = tuple(f"{name}={number!r}" for name, number in zip(_NAMES[:count], theta, strict=False))
            chosen.append(RegressionOptions(formula=law, start=start, weights=weights))
            try:
                fitted = fit_group(ParametricFormula(law, _NAMES[:count]), group, chosen[-1]).estimates
            except DataError as error:
                raise DataError(f"{runs.source}: {error}") from None
            free = free or fitted
            if fitted[-1] > 0.0:
                break
        group = msgspec.structs.replace(group, estimates=(*fitted, 0.0, 0.0)[:3])
        names = _NAMES, (), dict(runs.roles.parameters), str(runs.roles.value), runs.roles.unit
        return UslModel(origin_of("usl", options, runs), chosen[0], *names, (group,), {}, quantity, free)


def _measured(data: Measurements, options: UslOptions) -> Measurements:
    """The rows that count; a column that is called a throughput is the value, and the other one was varied."""
    numbers = [str(name) for name in data.table.select_dtypes("number").columns]
    rates = [name for name in numbers if set(re.findall("[a-z]+", name.lower())) & set(_THROUGHPUTS)]
    if options.value is None and data.roles.value is None and len(rates) == 1:
        data = data.with_roles(value=rates[0])
    runs = measured(data, options)
    others = [name for name in numbers if name != runs.roles.value]
    if not runs.roles.parameters and len(others) == 1:
        progress.note(f"assumes: {others[0]} was varied (--parameter COLUMN names another)")
        runs = runs.with_roles(parameters=others)
    return runs


def _quantity(runs: Measurements, options: UslOptions) -> str:
    """Throughput or time, by the option, the unit or the name of the value."""
    name, unit = str(runs.roles.value), runs.roles.unit
    words = set(re.findall("[a-z]+", name.lower()))
    by_unit = "time" if is_time(unit) else "throughput" if is_rate(unit) else None
    found = by_unit or ("throughput" if words & set(_THROUGHPUTS) else "time" if words & set(_TIMES) else None)
    if by_unit and options.quantity not in ("auto", by_unit):
        raise OptionError(
            f"--quantity {options.quantity}: {name} is a {by_unit} by its unit {unit}; --value names another"
        )
    if found is None and options.quantity == "auto":
        raise OptionError(
            f"{runs.source}: is {name} a throughput or a time? Give --quantity throughput or --quantity time, a unit "
            "(--unit s, --unit ops/s), or another column with --value"
        )
    return str(found) if options.quantity == "auto" else options.quantity


def _checked(runs: Measurements) -> Measurements:
    """Runs of one program over one parameter, called p, at enough points."""
    runs.require_roles()
    columns = list(runs.roles.parameters.values())
    if len(columns) > 1:
        raise OptionError(
            f"{runs.source}: usl is a law of one parameter, not of {listing(columns)}; --parameter names it"
        )
    for column in (*runs.roles.code, *runs.roles.system):
        if len(names := dict.fromkeys(runs.table[column])) > 1:
            raise DataError(
                f"{runs.source}: usl fits one program; choose one, such as --where {column}={next(iter(names))}"
            )
    kept = ~np.isnan(values_of(runs, []))
    points = len(np.unique(numbers_of(runs, columns[0], kept)[kept]))
    if points < _LEAST_POINTS:
        raise DataError(f"{runs.source}: usl needs {_LEAST_POINTS} or more values of {columns[0]}; there are {points}")
    return runs.with_roles(parameters={"p": columns[0]}, code=(), system=(), category=())
