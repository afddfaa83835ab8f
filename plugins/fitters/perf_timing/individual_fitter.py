"""The fitter `individual`: a separate model for every code on every system."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perf_tables.confounders import refuse_unnamed_of_codes
from perf_timing.options import IndividualOptions
from perfcore.base.errors import PerfError
from perfcore.contracts import Fitter
from perfcore.data.measurements import Measurements

if TYPE_CHECKING:
    from perf_timing.individual_model import IndividualModel
    from perfcore.models.ranking import Ranking

_LEAST_POINTS = 4  # of a pair, for two functions and two degrees of freedom


class IndividualFitter(Fitter):
    """Fits every code on every system separately: linear least squares with one to three characteristic functions.

    Choose it to see which functions suit, and as the yardstick for a joint model. It has many parameters and cannot
    predict a code on a system where it never ran; `strohmaier` can.

    Source: E. Strohmaier, "Statistical Performance Modeling: Case Study of the NPB 2.1 Results", section 4.

    Examples
    --------
    >>> import pandas as pd, perfcore
    >>> runs = pd.DataFrame({"p": [1, 2, 4, 8, 16], "time_s": [8.2, 4.4, 2.4, 1.45, 0.93]})
    >>> model = perfcore.fit(runs, fitter="individual", functions="1/p,1")
    >>> print(model.formula)
    time_s = 7.86667 1/p + 0.443441
    """

    Options = IndividualOptions
    model_type = "perf_timing.individual_model:IndividualModel"
    takes = (Measurements,)

    @classmethod
    def suits(cls, data: Any) -> bool:
        """Return whether some code on some system was measured often enough for two functions; see `Fitter.suits`.

        The usual functions are of the first parameter alone: where others were varied, functions of them must be named.
        """
        try:
            observed = data.observations(duplicates="drop")
            refuse_unnamed_of_codes(data)
        except PerfError:
            return False
        return len(observed.points) == 1 and bool(np.bincount(observed.cell).max() >= _LEAST_POINTS)

    def fit(self, data: Any, options: IndividualOptions, **parts: Any) -> IndividualModel:
        from perf_timing.individual_comparison import fit_individual  # what `perf info` does without

        return fit_individual(data, options)

    def rank(self, data: Any, options: IndividualOptions, **parts: Any) -> Ranking:
        from perf_timing.individual_comparison import Comparison
        from perf_timing.prepared import prepare

        return Comparison(prepare(data, options, "individual"), options).ranking()
