"""The fitter `individual`: a model of its own for every code on every system."""

from __future__ import annotations

from typing import Any

import numpy as np

import perfcore
from perf_tables.categories.unnamed_factors import refuse_unnamed_of_codes
from perf_timing.individual.comparison import Comparison
from perf_timing.individual.model import IndividualModel
from perf_timing.individual.options import IndividualOptions
from perf_timing.prepared import prepare
from perf_timing.scaling_model import FittedObservations
from perfcore.base.errors import PerfError
from perfcore.contracts import Fitter
from perfcore.data.measurements import Measurements
from perfcore.hooks.options import to_dict
from perfcore.models.model import Origin
from perfcore.models.ranking import Ranking


_LEAST_POINTS = 4  # of a pair, for two functions and two degrees of freedom


class IndividualFitter(Fitter):
    """Fits every code on every system by itself: linear least squares with one to three characteristic functions.

    Choose it to see which functions suit, and as the yardstick for a joint model. It has many parameters and cannot
    predict a code on a system where it never ran; `strohmaier` can.

    Source: E. Strohmaier, "Statistical Performance Modeling: Case Study of the NPB 2.1 Results", section 4.

    Examples
    --------
    >>> import pandas as pd
    >>> runs = pd.DataFrame({"p": [1, 2, 4, 8, 16], "time_s": [8.2, 4.4, 2.4, 1.45, 0.93]})
    >>> model = perfcore.fit(runs, fitter="individual", functions="1/p,1")
    >>> print(model.formula)
    time_s = 7.86667 1/p + 0.443441
    """

    Options = IndividualOptions
    model_type = IndividualModel
    takes = (Measurements,)

    @classmethod
    def suits(cls, data: Any) -> bool:
        """Whether some code on some system was measured often enough for two functions; see `Fitter.suits`.

        The usual functions are of the first parameter alone: where others were varied, functions of them must be named.
        """
        try:
            observed = data.observations(duplicates="drop")
            refuse_unnamed_of_codes(data)
        except PerfError:
            return False
        return len(observed.points) == 1 and bool(np.bincount(observed.cell).max() >= _LEAST_POINTS)

    def fit(self, data: Any, options: IndividualOptions, **parts: Any) -> IndividualModel:
        """Fit; see `perfcore.fit`.

        Raises
        ------
        PerfError
            Data or options that do not go together, in one line.
        """
        compared = Comparison(prepare(data, options, "individual"), options)
        observed = compared.prepared.seen
        return IndividualModel(
            origin=Origin(
                fitter="individual",
                options=to_dict(options),
                source=observed.source,
                fingerprint=observed.fingerprint(),
                version=perfcore.__version__,
            ),
            columns=dict(observed.columns),
            value_name=observed.value_name,
            unit=observed.unit,
            preparation=compared.prepared.preparation,
            relative=options.weights == "relative",
            codes=observed.codes,
            systems=observed.systems,
            functions=compared.names,
            notes=observed.notes,
            observations=FittedObservations.of(observed),
            root_weights=tuple(compared.prepared.root_weight.tolist()),
            pairs=compared.pairs(compared.chosen()),
            ranking=() if compared.is_named else compared.ranking().candidates,
        )

    def rank(self, data: Any, options: IndividualOptions, **parts: Any) -> Ranking:
        """Compare all combinations of functions, each used for all pairs; see `perfcore.rank`."""
        return Comparison(prepare(data, options, "individual"), options).ranking()
