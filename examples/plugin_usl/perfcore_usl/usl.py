"""The Universal Scalability Law: T(p) = T(1) * (1 + a*(p - 1) + b*p*(p - 1)) / p (N. J. Gunther, 1993)."""

from typing import Any, ClassVar

import numpy as np
from scipy.optimize import curve_fit
from scipy.stats import t as student

from perf_tables.points import check_coverage, named_points
from perfcore import Measurements, Model, __version__
from perfcore.base.errors import DataError
from perfcore.contracts import Fitter
from perfcore.models.design_rows import DesignRows
from perfcore.models.model import Origin, Parameter


def law(p: Any, single: float, contention: float, coherency: float) -> Any:
    """Time on p processors."""
    return single * (1 + contention * (p - 1) + coherency * p * (p - 1)) / p


class UslModel(Model, frozen=True, forbid_unknown_fields=True):
    """Time on one processor, contention, coherency, and how sure they are."""

    kind: ClassVar[str] = "usl"
    single: float
    contention: float
    coherency: float
    covariance: list[list[float]]
    noise: float  # of one run, relative
    n_points: int
    column: str
    time_unit: str | None
    variables = property(lambda self: {"p": self.column})
    unit = property(lambda self: self.time_unit)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The three numbers."""
        names, errors = ("single", "contention", "coherency"), np.sqrt(np.diag(self.covariance)).tolist()
        return tuple(Parameter(name, getattr(self, name), error) for name, error in zip(names, errors, strict=True))

    def predict(self, points: Any, interval: float | None = None) -> Any:
        """Times, with bounds of a single run by the delta method."""
        p = named_points(points, self.variables, {})[0]["p"]
        value = law(p, self.single, self.contention, self.coherency)
        if interval is None:
            return value
        check_coverage(interval)
        slopes = self._slopes(p)
        variance = np.einsum("in,ij,jn->n", slopes, self.covariance, slopes) + (self.noise * value) ** 2
        width = student.ppf(0.5 + 0.5 * interval, self.n_points - 3) * np.sqrt(variance)
        return np.stack([value, np.maximum(value - width, 0.0), value + width], axis=1)

    def _slopes(self, p: Any) -> Any:
        """Derivatives of the law with respect to the three numbers."""
        value = law(p, self.single, self.contention, self.coherency)
        return np.stack([value / self.single, self.single * (p - 1) / p, self.single * (p - 1)])

    def design_rows(self, points: Any) -> DesignRows | None:
        """What `perf experiment next` asks: the law as a line about its numbers, relative to the times."""
        p = named_points(points, self.variables, {})[0]["p"]
        value, covariance = law(p, self.single, self.contention, self.coherency), np.array(self.covariance)
        if not np.isfinite(covariance).all() or np.linalg.matrix_rank(covariance) < len(covariance):
            return None
        known = np.linalg.cholesky(self.noise**2 * np.linalg.inv(covariance)).T
        errors, runs = np.array([[self.noise**2]]), np.ones(len(known), dtype=np.int64)
        return DesignRows((known,), ((self._slopes(p) / value).T,), errors, value, {}, runs, self.unit)


class UslFitter(Fitter):
    """Fits the law to times over processors, by least squares of relative errors with coefficients of at least 0."""

    model_type, takes = UslModel, (Measurements,)

    def fit(self, data: Any, options: Any, **parts: Any) -> UslModel:
        """Fit one code on one system."""
        seen = data.observations()
        column, p = next(iter(seen.columns.values())), next(iter(seen.points.values()))
        if len(seen) < 4 or len(set(seen.cell)) > 1:
            raise DataError(f"{seen.source}: usl needs one code on one system at 4 or more {column}")
        start = (float(seen.value[p.argmin()] * p.min()), 0.01, 1e-4)
        fit = curve_fit(law, p, seen.value, start, sigma=seen.value, bounds=([0, 0, 0], np.inf), x_scale=start)
        noise = float(np.sqrt(((law(p, *fit[0]) / seen.value - 1) ** 2).sum() / (len(seen) - 3)))
        origin = Origin("usl", {}, seen.source, seen.fingerprint(), __version__)
        return UslModel(origin, *map(float, fit[0]), fit[1].tolist(), noise, len(seen), column, seen.unit)
