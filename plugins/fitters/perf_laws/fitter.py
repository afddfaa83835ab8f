"""The fitter `scaling`: a law of n^i log2(n)^j for each call path, as sure as the data allow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from math import isnan, sqrt
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

import perfcore
from perf_laws.breaks.search import find_breaks
from perf_laws.breaks.segment_laws import Segment
from perf_laws.data import LawData, law_data
from perf_laws.evidence.hypotheses import Hypotheses, hypotheses_of
from perf_laws.evidence.path_data import Factor, LawsBefore, PathData
from perf_laws.evidence.posterior import Laws, fit_laws
from perf_laws.model import LawModel
from perf_laws.options import LawOptions
from perf_points.ranges import parse_values
from perfcore.base.errors import OptionError, PerfError, UnknownNameError
from perfcore.contracts import Fitter
from perfcore.data.measurements import Measurements
from perfcore.hooks.options import to_dict
from perfcore.models.model import Origin

__all__ = ["LawFitter"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_BEYOND = 4.0  # the scale to look at where none is given, times the largest level


class LawFitter(Fitter):
    """Fits a scaling law to every call path and metric: a constant and terms n^i log2(n)^j of up to four parameters.

    Choose it to see which functions grow, how fast, and how sure that is. Every law is weighed by how well it explains
    all runs, and predictions are averages over the laws that are left, so that bounds hold what the data leave open.

    Source: the generic terms are those of A. Calotoiu et al., "Using automated performance modeling to find scalability
    bugs in complex codes", SC 2013. Deviation: laws are averaged by their probability (J. A. Hoeting et al., "Bayesian
    model averaging: a tutorial", Statistical Science 14, 1999) instead of chosen by the least error.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [(p, "solve", 10 + 1000 / p) for p in (4, 8, 16, 32, 64)]
    >>> rows += [(p, "exchange", 2 + 0.5 * p) for p in (4, 8, 16, 32, 64)]
    >>> model = perfcore.fit(pd.DataFrame(rows, columns=["p", "callpath", "time_s"]), fitter="scaling")
    >>> print(model.formula)
    solve = 10 + 1000/p
    exchange = 2 + 0.5*p
    """

    Options = LawOptions
    model_type = LawModel
    takes = (Measurements,)

    @classmethod
    def suits(cls, data: Any) -> bool:
        """Whether some path was measured at enough points; see `Fitter.suits`."""
        try:
            law_data(data, LawOptions(duplicates="drop"))
        except PerfError:
            return False
        return True

    def fit(self, data: Any, options: LawOptions, **parts: Any) -> LawModel:
        """Fit; see `perfcore.fit`.

        Raises
        ------
        PerfError
            Data or options that do not go together, in one line.
        """
        seen = law_data(data, options)
        points = np.stack(list(seen.points.values()), axis=1)
        hypotheses = hypotheses_of(points, tuple(map(Fraction, options.exponents)), options.logarithms)
        laws = fit_laws(seen.runs, hypotheses)
        notes = list(seen.notes)
        segments: tuple[Segment, ...] = ()
        if options.breaks and points.shape[1] == 1:
            segments = find_breaks(points[:, 0], seen.runs, laws, hypotheses).segments
        elif options.breaks and points.shape[1] > 1:
            notes.append("breaks are looked for in laws of one parameter only")
        kept = np.concatenate([laws.kept.ravel(), *(segment.laws.kept.ravel() for segment in segments)])
        numbers = np.unique(kept[kept >= 0])
        place = np.full(len(hypotheses) + 1, -1, dtype=np.int64)
        place[numbers] = np.arange(len(numbers))
        return LawModel(
            origin=Origin(
                fitter="scaling",
                options=to_dict(options),
                source=seen.source,
                fingerprint=seen.fingerprint,
                version=perfcore.__version__,
            ),
            columns=dict(seen.columns),
            value_name=seen.value_name,
            unit=seen.unit,
            notes=tuple(notes),
            points={symbol: tuple(values.tolist()) for symbol, values in seen.points.items()},
            paths=seen.paths,
            metrics=seen.metrics,
            laws=_law_factors(hypotheses, numbers.tolist(), tuple(seen.points)),
            data=_with_breaks(_path_data(seen, laws, place), segments, place, points[:, 0]),
            unfitted=dict(seen.unfitted),
            target=_target(options.at, seen),
        )


def _law_factors(
    hypotheses: Hypotheses, numbers: list[int], symbols: tuple[str, ...]
) -> tuple[tuple[tuple[Factor, ...], ...], ...]:
    columns = [
        tuple(Factor(symbols[parameter], str(term.exponent), term.logarithm) for parameter, term in column)
        for column in hypotheses.terms
    ]
    return tuple(tuple(columns[f] for f in hypotheses.members[number].tolist() if f >= 0) for number in numbers)


def _path_data(seen: LawData, laws: Laws, place: Any) -> tuple[PathData, ...]:
    kept = place[laws.kept].tolist()
    count = (laws.kept >= 0).sum(axis=1).tolist()
    means = seen.runs.means.tolist()
    for row in np.flatnonzero(np.isnan(seen.runs.means).any(axis=1)).tolist():
        means[row] = [None if isnan(mean) else mean for mean in means[row]]
    columns = zip(
        means,
        seen.runs.counts.tolist(),
        laws.root_weights.tolist(),
        laws.within.tolist(),
        laws.freedom.tolist(),
        laws.scattered.tolist(),
        kept,
        laws.probability.tolist(),
        count,
        strict=True,
    )
    return tuple(
        PathData(tuple(r), w, f, s, tuple(k[:size]), tuple(p[:size]), means=tuple(m), counts=tuple(c))
        for m, c, r, w, f, s, k, p, size in columns
    )


def _with_breaks(
    data: tuple[PathData, ...], segments: Sequence[Segment], place: Ints, levels: Floats
) -> tuple[PathData, ...]:
    """Paths with breaks have the laws of their last segment, and those before; segments come in order."""
    before: dict[int, list[LawsBefore]] = defaultdict(list)
    found = list(data)
    for segment in segments:
        last = segment.end == len(levels)
        until = levels[-1] if last else sqrt(levels[segment.end - 1] * levels[segment.end])
        roots = np.zeros((len(segment.paths), len(levels)))
        roots[:, segment.begin : segment.end] = segment.laws.root_weights
        for row, k in enumerate(segment.paths.tolist()):
            laws = segment.laws
            size = int((laws.kept[row] >= 0).sum())
            own = LawsBefore(
                until=float(until),
                root_weights=tuple(roots[row].tolist()),
                within=float(laws.within[row]),
                freedom=float(laws.freedom[row]),
                scattered=bool(laws.scattered[row]),
                laws=tuple(place[laws.kept[row, :size]].tolist()),
                probabilities=tuple(laws.probability[row, :size].tolist()),
            )
            if last:
                facts = {name: getattr(own, name) for name in own.__struct_fields__ if name != "until"}
                found[k] = msgspec.structs.replace(data[k], before=tuple(before[k]), **facts)
            else:
                before[k].append(own)
    return tuple(found)


def _target(given: tuple[str, ...], seen: LawData) -> dict[str, float]:
    """The scale to look at.

    Raises
    ------
    UnknownNameError
        A name that is no parameter.
    OptionError
        A parameter is missing, or its level not positive.
    """
    symbols = {**{column: symbol for symbol, column in seen.columns.items()}, **{s: s for s in seen.columns}}
    found = {symbol: _BEYOND * float(values.max()) for symbol, values in seen.points.items()}
    named = {}
    for word in given:
        name, _, level = word.partition("=")
        if name not in symbols:
            raise UnknownNameError("parameter", name, seen.columns)
        named[symbols[name]] = parse_values(level)[0]
        if not named[symbols[name]] > 0.0:
            raise OptionError(f"--at {word}: a positive level is expected")
    missing = [symbol for symbol in found if symbol not in named] if named else []
    if missing:
        raise OptionError(f"--at {','.join(given)}: {missing[0]} is missing; give a level of each parameter")
    return {**found, **named}
