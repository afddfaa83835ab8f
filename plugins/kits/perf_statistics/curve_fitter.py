"""A fitter of one curve, for authors of plugins: two functions make a model that works in every command.

The author writes how coefficients are estimated and what the curve is; `CurveFitter` brings points as a mapping,
intervals by bootstrap, the leave-one-out error, tables, plots, and the model file.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, OptionError, PluginError
from perfcore.data.measurements import Measurements
from perfcore.hooks.registry import registry
from perfcore.models.fitting import CurveOptions, Fitter
from perfcore.models.model import Model, Origin, Parameter, Points
from perfcore.models.points import by_symbol, check_coverage, of_one_length

__all__ = ["CurveFitter", "CurveModel", "CurveOptions"]

_DRAWS, _SEED = 400, 1  # of the bootstrap
_MOST_LEFT_OUT = 50  # points of a leave-one-out error; more fits take too long


def _point(text: str, columns: Mapping[str, str]) -> dict[str, float]:
    """Return levels by symbol of a text such as ``p=64,n=100``; of one variable the number suffices."""
    point = {}
    for word in filter(None, text.split(",")):
        name, equals, level = word.rpartition("=")
        symbols = [symbol for symbol, column in columns.items() if name in (symbol, column) or not equals]
        try:
            point[symbols[0]] = float(level)
        except (IndexError, ValueError):
            known = ", ".join(columns.values())
            raise OptionError(f"--at {word!r}: NAME=NUMBER is expected, with a name of {known}") from None
    return point


class CurveModel(Model, frozen=True, forbid_unknown_fields=True):
    """Coefficients of a curve, draws of them, and what they were fitted to; made by a `CurveFitter`.

    Intervals are those of a single further measurement: the curve of each draw with one of the residuals.
    """

    kind: ClassVar[str] = "curve"

    columns: dict[str, str]  # by variable, the column of the data
    estimates: dict[str, float]  # by coefficient
    draws: list[list[float]]  # (draws, coefficients)
    residuals: list[float]  # (n,), relative to the fitted values if `is_relative`
    is_relative: bool
    extent: dict[str, tuple[float, float]]  # smallest and largest measured point of each variable
    leave_one_out: float | None  # root mean square error
    value_unit: str | None

    variables = property(lambda self: self.columns)
    unit = property(lambda self: self.value_unit)
    ranges = property(lambda self: self.extent)

    @property
    def target(self) -> dict[str, float]:
        """Point of ``--at``; by default the largest measured level of each variable."""
        largest = {symbol: high for symbol, (_, high) in self.extent.items()}
        return largest | _point(self.origin.options.get("at") or "", self.columns)

    @property
    def _fitter(self) -> CurveFitter:
        fitter: CurveFitter = registry().load("fitters", self.origin.fitter)()
        return fitter

    @property
    def formula(self) -> str:
        """The curve as the fitter writes it, with the names of its coefficients."""
        return self._fitter.formula

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Coefficients with the standard deviations of their draws."""
        errors = np.std(self.draws, axis=0, ddof=1).tolist()
        pairs = zip(self.estimates.items(), errors, strict=True)
        return tuple(Parameter(name, value, error) for (name, value), error in pairs)

    @property
    def statistics(self) -> dict[str, float | int | str | None]:
        """Number of points, error of the fit (root mean square), and leave-one-out error."""
        name = "relative_error" if self.is_relative else "error"
        error = float(np.sqrt(np.mean(np.square(self.residuals))))
        left_out = {} if self.leave_one_out is None else {f"leave_one_out_{name}": self.leave_one_out}
        return {"n_points": len(self.residuals), name: error, **left_out}

    def predict_array(self, points: Points, interval: float | None = None) -> Floats:
        """Return values (n,), or (n, 3) with the interval of a single measurement; see `Model.predict_array`."""
        value, curves = self._curves(points, 0 if interval is None else len(self.draws))
        if interval is None:
            return value
        noise = np.random.default_rng(_SEED).choice(self.residuals, (len(curves), 1))
        return _with_ends(value, curves * (1.0 + noise) if self.is_relative else curves + noise, interval)

    def mean_array(self, points: Points, interval: float) -> Floats:
        """Return values with the interval of the curve itself (n, 3)."""
        return _with_ends(*self._curves(points, len(self.draws)), interval)

    def _curves(self, points: Points, n_draws: int) -> tuple[Floats, Floats]:
        """Return the curve at points (n,), and curves of as many bootstrap draws."""
        named = of_one_length(by_symbol(points, self.columns, ()))
        places = {name: np.asarray(column, dtype=np.float64) for name, column in named.items()}
        value = self._fitter.values(np.array([*self.estimates.values()]), places)
        curves = [self._fitter.values(np.array(draw), places) for draw in self.draws[:n_draws]]
        return value, np.reshape(curves, (n_draws, len(value)))


def _with_ends(value: Floats, samples: Floats, interval: float) -> Floats:
    """Return values with the quantiles (n, 3) of samples (k, n)."""
    check_coverage(interval)
    low, high = np.quantile(samples, [0.5 - 0.5 * interval, 0.5 + 0.5 * interval], axis=0)
    return np.stack([value, np.minimum(low, value), np.maximum(high, value)], axis=1)


class CurveFitter(Fitter):
    """Base of a fitter of one code on one system: values over parameters, by a function of a few coefficients.

    Attributes
    ----------
    coefficients : tuple of str
        Their names, in the order of `estimate`.
    variables : tuple of str
        Symbols of the parameters, as many as the data must have: ``("p",)``.
    formula : str
        The curve as a person reads it, such as ``"serial + parallel/p"``.
    is_relative : bool
        Whether errors are relative to the values (times, rates), or equal everywhere.
    """

    Options = CurveOptions
    model_type = CurveModel
    takes = (Measurements,)
    coefficients: ClassVar[tuple[str, ...]]
    variables: ClassVar[tuple[str, ...]] = ("p",)
    formula: ClassVar[str] = ""
    is_relative: ClassVar[bool] = True

    @abstractmethod
    def estimate(self, points: Mapping[str, Floats], values: Floats, options: Any) -> Sequence[float]:
        """Return the coefficients that fit best.

        Parameters
        ----------
        points : mapping of str to (n,) float
            Measured points by symbol, in the units of the data.
        values : (n,) float
            Measured values, repeated runs averaged.
        options : instance of `Options`
        """

    @abstractmethod
    def curve(self, coefficients: Floats, points: Mapping[str, Floats]) -> Floats:
        """Return the values (n,) of the curve with the given coefficients (k,) at points."""

    def values(self, coefficients: Floats, points: Mapping[str, Floats]) -> Floats:
        """Return the values of `curve`, checked: as many numbers as there are points."""
        return self._checked("curve", self.curve(coefficients, points), next(iter(points.values())).shape)

    def _checked(self, method: str, numbers: Any, expected: tuple[int, ...]) -> Floats:
        found = np.asarray(numbers, dtype=np.float64)
        if found.shape != expected:
            name = f"{type(self).__module__}.{type(self).__name__}.{method}"
            raise PluginError(f"{name} returned an array of shape {found.shape}; {expected} is expected")
        return found

    def _estimated(self, points: Mapping[str, Floats], values: Floats, options: Any) -> Floats:
        return self._checked("estimate", self.estimate(points, values, options), (len(self.coefficients),))

    def fit(self, data: Measurements, options: Any, **parts: Any) -> CurveModel:
        """Return the model of one code on one system.

        Raises
        ------
        DataError
            The data have other parameters, several codes or systems, or too few points.
        """
        import perfcore
        from perfcore.hooks.options import to_dict

        seen = data.observations()
        target = f"{type(self).__module__}:{type(self).__qualname__}"
        name = next((e.name for e in registry().entries("fitters").values() if e.target == target), "")
        if len(seen.points) != len(self.variables):
            wanted, found = ", ".join(self.variables), ", ".join(seen.columns.values())
            raise DataError(f"{seen.source}: {name} is a function of {wanted}; the data have parameters {found}")
        n_points = len(seen)
        if n_points <= len(self.coefficients) or len(set(seen.cell.tolist())) > 1:
            least = len(self.coefficients) + 1
            raise DataError(f"{seen.source}: {name} needs one code on one system at {least} or more points")
        _point(getattr(options, "at", None) or "", dict(zip(self.variables, seen.columns.values(), strict=True)))
        points = dict(zip(self.variables, seen.points.values(), strict=True))
        best = self._estimated(points, seen.value, options)
        fitted = self.values(best, points)
        scale = fitted if self.is_relative else np.ones(n_points)
        residuals = (seen.value - fitted) / scale * np.sqrt(n_points / (n_points - len(best)))
        rng = np.random.default_rng(_SEED)
        draws = [
            self._estimated(points, fitted + scale * rng.choice(residuals, n_points), options).tolist()
            for _ in range(_DRAWS)
        ]
        origin = Origin(name, to_dict(options), seen.source, seen.fingerprint(), perfcore.__version__)
        extent = {symbol: (float(column.min()), float(column.max())) for symbol, column in points.items()}
        columns = dict(zip(self.variables, seen.columns.values(), strict=True))
        estimates = dict(zip(self.coefficients, best.tolist(), strict=True))
        left_out = self._left_out(points, seen.value, options)
        return CurveModel(
            origin, columns, estimates, draws, residuals.tolist(), self.is_relative, extent, left_out, seen.unit
        )

    def _left_out(self, points: Mapping[str, Floats], values: Floats, options: Any) -> float | None:
        """Return the root mean square error at each point, predicted from the others."""
        count = len(values)
        if count > _MOST_LEFT_OUT or count < len(self.coefficients) + 2:
            return None
        errors = np.empty(count)
        for k in range(count):
            others = np.arange(count) != k
            best = self._estimated({name: each[others] for name, each in points.items()}, values[others], options)
            predicted = self.values(best, {name: each[[k]] for name, each in points.items()})[0]
            errors[k] = (values[k] - predicted) / (predicted if self.is_relative else 1.0)
        return float(np.sqrt(np.mean(errors**2)))
