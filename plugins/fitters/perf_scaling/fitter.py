"""The fitter `scaling`: how each call path grows, as sure as the data allow, and a law where they determine one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perf_scaling.data import scaling_data
from perf_scaling.options import ScalingOptions
from perfcore.base.errors import PerfError
from perfcore.data.measurements import Measurements
from perfcore.models.fitting import Fitter

if TYPE_CHECKING:
    from perf_scaling.model import ScalingModel

_SHARE = "share"  # unit of efficiencies


class ScalingFitter(Fitter):
    """Fits a scaling model of up to four parameters to each call path and metric.

    Choose it to see which functions grow, and how fast. Models of powers and logarithms are averaged by how well they
    explain the runs. The slope may drift and one value may deviate from a model: the intervals allow for both.

    Source: the terms are those of A. Calotoiu et al., "Using automated performance modeling to find scalability bugs in
    complex codes", SC 2013. Deviations: models are averaged by probability (J. A. Hoeting et al., Statistical Science
    14, 1999), and the misfit is a Gaussian process (M. Kennedy and A. O'Hagan, J. R. Statist. Soc. B 63, 2001).

    Examples
    --------
    >>> import pandas as pd, perfcore
    >>> rows = [(p, "solve", 10 + 1000 / p) for p in (4, 8, 16, 32, 64)]
    >>> rows += [(p, "exchange", 2 + 0.5 * p) for p in (4, 8, 16, 32, 64)]
    >>> model = perfcore.fit(pd.DataFrame(rows, columns=["p", "callpath", "time_s"]), fitter="scaling")
    >>> print(model.formula)
    solve = 10 + 1000/p
    exchange = 2 + 0.5*p
    """

    Options = ScalingOptions
    model_type = "perf_scaling.model:ScalingModel"
    takes = (Measurements,)

    @classmethod
    def suits(cls, data: Any) -> bool:
        """Return whether some path was measured at enough points, and is no efficiency; see `Fitter.suits`.

        Efficiencies are at most 1 and multiply; laws are those of the times that they are made of.
        """
        if data.roles.unit == _SHARE:
            return False
        try:
            scaling_data(data, ScalingOptions(duplicates="drop"))
        except PerfError:
            return False
        return True

    def fit(self, data: Any, options: ScalingOptions, **parts: Any) -> ScalingModel:
        from perf_scaling.build import fitted  # what `perf info` does without

        return fitted(scaling_data(data, options), options)

    def fit_series(self, source: str, output: str, options: ScalingOptions, parallel: str | None = None) -> Any:
        """Fit each series of a table that may not fit into memory; see `perf_scaling.many.fit_series`."""
        from perf_scaling.many import fit_series

        return fit_series(source, output, options, parallel)
