"""The fitter `worley`: a trace or a curve to the model of its phases."""

from __future__ import annotations

import functools
from typing import Any

from msgspec.structs import replace

import perfcore
from perf_worley.activity import activities
from perf_worley.options import WorleyOptions
from perf_worley.phase_model import PhaseModel, function_of_time
from perfcore import Series, Trace, UtilizationCurve
from perfcore.base.errors import DataError, OptionError
from perfcore.contracts import Basis, Fitter, Segmenter
from perfcore.data.kinds import type_in_words
from perfcore.data.units import nanoseconds_per
from perfcore.hooks.options import to_dict
from perfcore.models.model import Origin

_AUTO = "1..20"  # Worley's own range (Figures 6 and 18)


class WorleyFitter(Fitter):
    """Models a processor-utilization curve by phases, each a simple function of time.

    Choose it to see which phases a run has and how the utilization develops within each.

    Source: P. H. Worley, "Modeling Histogram Data with Piecewise Polynomials".

    Examples
    --------
    >>> curve = UtilizationCurve([0, 4, 10], [2, 8])
    >>> perfcore.fit(curve, fitter="worley", phases=2, degree=0).breaks
    (4.0,)
    """

    Options = WorleyOptions
    model_type = PhaseModel
    takes = (Trace, UtilizationCurve, Series)

    @classmethod
    def facts(cls, data: Any) -> dict[str, Any]:
        """What to try; see `Fitter.facts`."""
        return {"next": ["--fitter worley --phases auto --plot phases.png"]}

    def fit(self, data: Any, options: WorleyOptions, **parts: Any) -> PhaseModel:
        """Fit; see `perfcore.fit`."""
        # Imported here, with the compiler: help and completion ask this module for its options only.
        from perf_traces.summaries.summarized_trace import SummarizedTrace
        from perf_worley.iterations.iterations import merge_repeated_phases, repetition
        from perf_worley.search import by_rule_auto, by_rule_of_errors

        segmenter: Segmenter = parts["segmenter"]
        curve = as_curve(data, options)
        merged = curve.merged()  # with equal neighbours joined
        # Numbers of phases to try; of a range those that the curve has steps for.
        first, _, last = (_AUTO if options.phases == "auto" else options.phases).partition("..")
        counts = list(range(int(first), max(min(int(last or first), merged.n_steps), int(first)) + 1))
        # The rule looks for polynomials; with other functions the curve of errors is all there is.
        rule = "knee" if options.rule == "auto" and options.functions else options.rule
        if options.phases_from:
            from perf_worley.iterations.iterations import by_markers
            from perf_worley.search import PhaseMaker

            if not isinstance(data, Trace):
                raise OptionError("--phases-from belongs to traces; these data have no markers")
            if options.phases != "auto" or options.degree == "mixed":
                flag = "--phases" if options.phases != "auto" else "--degree mixed"
                raise OptionError(f"--phases-from says where phases begin and end; leave out {flag}")
            fitted = by_markers(data, PhaseMaker(merged, _basis(options, merged, segmenter, "0")), options.phases_from)
            counts = [len(fitted.phases)]
        elif rule == "auto":
            fitted = by_rule_auto(
                merged, counts, segmenter, functools.partial(_basis, options, merged, segmenter), options
            )
        else:
            basis = _basis(options, merged, segmenter, "mixed" if segmenter.supports_mixed else "2")
            fitted = by_rule_of_errors(merged, counts, segmenter, basis, rule, refine=options.refine)
        maker, result = fitted.maker, fitted.phases
        trace = data if isinstance(data, Trace) and not isinstance(data, SummarizedTrace) else None
        repeated = repetition(merged, trace, options.busy, options.idle)
        if repeated is not None and rule == "auto" and len(counts) > 1:
            result = merge_repeated_phases(maker, result, repeated)
        if trace is not None:  # the outermost edges are those of the run, to the nanosecond
            factor = nanoseconds_per(trace.time_unit)
            edges = [trace.span_ns[0], *(round(phase.start * factor) for phase in result[1:]), trace.span_ns[1]]
            ran = activities(trace, edges, options.busy, options.idle)
            result = [replace(phase, activity=each) for phase, each in zip(result, ran, strict=True)]
        return PhaseModel(
            origin=Origin(
                fitter="worley",
                options=to_dict(options) | to_dict(segmenter.options),
                source=curve.source,
                fingerprint=curve.fingerprint,
                version=perfcore.__version__,
            ),
            time_unit=curve.time_unit,
            phases=tuple(result),
            sequence=tuple(fitted.sequence),
            rule=rule if len(counts) > 1 else None,
            evidence=fitted.evidence,
            objective=fitted.objective,
            functions=maker.basis.names,
            scale=_scale(options, merged),
            cost=fitted.cost,
            n_steps=merged.n_steps,
            sum_of_squares=sum(phase.error**2 for phase in result),
            total_squares=maker.total_squares,
            centered_squares=maker.centered_squares,
            n_locations=curve.n_locations,
            iterations=repeated,
        )


def as_curve(data: Any, options: WorleyOptions) -> UtilizationCurve:
    """The utilization curve of whatever was given."""
    if options.column is not None and not isinstance(data, Series):
        raise OptionError("--column belongs to time series; these data have no columns to choose from")
    if isinstance(data, Trace):
        return data.utilization(options.busy, idle=options.idle)
    if options.busy is not None or options.idle is not None:
        raise OptionError("--busy and --idle belong to traces; these data have no states")
    if isinstance(data, UtilizationCurve):
        return data
    if isinstance(data, Series):
        return data.curve(options.column)
    raise DataError(f"worley fits traces, utilization curves and time series, not {type_in_words(data)}")


def _scale(options: WorleyOptions, curve: UtilizationCurve) -> float:
    return options.scale if options.scale is not None else curve.duration / 10.0


def _basis(options: WorleyOptions, curve: UtilizationCurve, segmenter: Segmenter, degree: str) -> Basis:
    """What a phase may look like; ``degree`` is taken where the user leaves it open."""
    if options.functions:
        if not segmenter.supports_functions:
            raise OptionError(f"segmenter {options.segmenter!r} takes polynomials only; leave out --functions")
        scale = _scale(options, curve)
        return Basis(
            functions=tuple(functools.partial(function_of_time, name, scale=scale) for name in options.functions),
            names=options.functions,
        )
    if options.degree != "auto":
        degree = options.degree
    if degree == "mixed":
        if not segmenter.supports_mixed:
            raise OptionError(
                f"segmenter {options.segmenter!r} takes one degree for all phases; give --degree 0, 1, 2 or 3"
            )
        return Basis(mixed=True)
    return Basis(degree=int(degree))
