"""The fitter `modgen`: one model of the application, the sum of models of its categories over several factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from perf_lost_cycles.categories.data import category_facts, category_table, root_weights
from perf_lost_cycles.default_models.sets import find_models
from perf_lost_cycles.modgen.generation import generate_model
from perf_lost_cycles.modgen.model import ModgenModel
from perf_lost_cycles.options import ModgenOptions
from perf_tables.category_table import CategoryTable
from perfcore.base.errors import DataError, PerfError, listing
from perfcore.contracts import Fitter
from perfcore.data.measurements import Measurements


class ModgenFitter(Fitter):
    """Generates the model of an application: for each category of its time one over all factors, and their sum.

    Choose it for times by category (overheads, routines, call paths) over two or more factors, such as processors and
    data size. With one factor it makes the same choice as `lca`, which shows every default model.

    Source: the chapter "Model Generation" of the Lost Cycles Toolkit; deviations in `perf_lost_cycles.modgen.generate`.

    Examples
    --------
    >>> import pandas as pd
    >>> import perfcore
    >>> runs = [(p, n, "work", 3.0 * n / p) for p in (1, 2, 4, 8) for n in (10, 20, 40, 80)]
    >>> runs += [(p, n, "start", 2.0 + p) for p, n, *_ in runs]
    >>> table = pd.DataFrame(runs, columns=["P", "N", "category", "time_s"])
    >>> model = perfcore.fit(table, fitter="modgen", parameter="P,N")
    >>> print(model.formula)
    work = 3 (1/P*N)
    start = 2 + 1 P
    >>> model.predict({"P": 16, "N": 160})
    array([48.])
    """

    Options = ModgenOptions
    model_type = ModgenModel
    takes = (Measurements,)

    @classmethod
    def facts(cls, data: Any) -> dict[str, Any]:
        """Points, categories and totals; see `Fitter.facts`."""
        return category_facts(data)

    @classmethod
    def suits(cls, data: Any) -> bool:
        """Whether a model can be generated, which is quick enough to be tried; see `Fitter.suits`."""
        try:
            cls().fit(data, ModgenOptions(duplicates="drop"))
        except PerfError:
            return False
        return True

    def fit(self, data: Any, options: ModgenOptions, **parts: Any) -> ModgenModel:
        """Fit; see `perfcore.fit`.

        Raises
        ------
        PerfError
            Data or options that do not go together, in one line.
        """
        table = _table(data, options)
        aside = np.zeros(len(table), dtype=np.bool_)
        chosen = np.random.default_rng(options.seed).permutation(len(table))
        aside[chosen[: round(options.set_aside * len(table))]] = True
        return generate_model(table, find_models(options.models), options, root_weights(table, options.weights), aside)


def _table(data: Any, options: ModgenOptions) -> CategoryTable:
    """The data by category, and as the options say."""
    table, _ = category_table(data, options, "modgen", "zero" if options.absent == "zero" else "unknown")
    for symbol, values in table.points.items():
        if (values == values[0]).all():
            raise DataError(
                f"{table.source}: {table.columns[symbol]} is {values[0]:g} throughout; leave it out of --parameter"
            )
    missing = np.isnan(table.values)
    if missing.any() and options.absent == "refuse":
        names = [table.categories[k] for k in np.flatnonzero(missing.any(axis=0)).tolist()]
        point = table.describe(int(np.argmax(missing.any(axis=1))))
        raise DataError(
            f"{table.source}: {listing(names, 5)}: not measured at every point, such as {point}; --absent zero if a "
            "category that is not listed took no time, --absent skip to model it where it was measured"
        )
    return table
