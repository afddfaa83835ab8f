"""Amdahl's law: T(p) = serial + parallel/p (G. M. Amdahl, 1967)."""

from typing import Any, ClassVar

import numpy as np
from scipy.stats import t as student

from perf_tables.points import named_points
from perfcore import Measurements, Model, __version__
from perfcore.base.errors import DataError
from perfcore.contracts import Fitter
from perfcore.models.model import Origin, Parameter
from perfcore.models.points import DesignRows, check_coverage


class AmdahlModel(Model, frozen=True, forbid_unknown_fields=True):
    """Serial and parallel time, their covariance, and the error of one run relative to its time."""

    kind: ClassVar[str] = "amdahl"
    serial: float
    parallel: float
    covariance: list[list[float]]
    noise: float
    n_points: int
    column: str
    time_unit: str | None
    variables = property(lambda self: {"p": self.column})
    unit = property(lambda self: self.time_unit)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Both times with their standard errors."""
        serial, parallel = np.sqrt(np.diag(self.covariance)).tolist()
        return Parameter("serial", self.serial, serial), Parameter("parallel", self.parallel, parallel)

    def predict_array(self, points: Any, interval: float | None = None) -> Any:
        """Times, with prediction intervals of a single run."""
        terms = _terms(named_points(points, self.variables, {})[0]["p"])
        value = terms @ [self.serial, self.parallel]
        if interval is None:
            return value
        check_coverage(interval)
        variance = np.einsum("ni,ij,nj->n", terms, self.covariance, terms) + (self.noise * value) ** 2
        width = student.ppf(0.5 + 0.5 * interval, self.n_points - 2) * np.sqrt(variance)
        return np.stack([value, value - width, value + width], axis=1)

    def design_rows(self, points: Any) -> DesignRows:
        """What `perf experiment next` asks: both terms relative to the times, measured and at further points."""
        terms = _terms(named_points(points, self.variables, {})[0]["p"])
        value, errors = terms @ [self.serial, self.parallel], np.array([[self.noise**2]])
        known = np.linalg.cholesky(self.noise**2 * np.linalg.inv(self.covariance)).T
        rows = (known,), (terms / value[:, None],)
        return DesignRows(*rows, errors, value, {}, np.ones(len(known), dtype=np.int64), self.unit)


def _terms(p: Any) -> Any:
    return np.stack([np.ones(len(p)), 1 / p], axis=1)


class AmdahlFitter(Fitter):
    """Fits the law to the times of one program, by least squares of relative errors."""

    model_type, takes = AmdahlModel, (Measurements,)

    def fit(self, data: Any, options: Any, **parts: Any) -> AmdahlModel:
        """Fit one code on one system."""
        seen = data.observations()
        column, p = next(iter(seen.columns.values())), next(iter(seen.points.values()))
        if len(seen) < 3 or len(set(seen.cell)) > 1:
            raise DataError(f"{seen.source}: amdahl needs one code on one system at 3 or more {column}")
        terms = _terms(p) / seen.value[:, None]
        times = np.linalg.lstsq(terms, np.ones(len(p)))[0]
        noise = float(np.sqrt(((terms @ times - 1) ** 2).sum() / (len(p) - 2)))
        covariance = noise**2 * np.linalg.inv(terms.T @ terms)
        origin = Origin("amdahl", {}, seen.source, seen.fingerprint(), __version__)
        return AmdahlModel(origin, *times.tolist(), covariance.tolist(), noise, len(p), column, seen.unit)
