"""The fitters `worley` and `phases`: a trace or a curve to the model of its phases."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

import perfcore
from perf_worley.activity import activities
from perf_worley.options import PhasesOptions, WorleyOptions
from perf_worley.phase_model import WORTH, Phase, PhaseModel, function_of_time
from perfcore import Series, Trace, UtilizationCurve
from perfcore.base.errors import DataError, OptionError
from perfcore.contracts import Fitter, Segmenter
from perfcore.data import type_in_words
from perfcore.data.units import nanoseconds_per
from perfcore.hooks.options import to_dict
from perfcore.models.model import Origin

if TYPE_CHECKING:
    from perf_worley.phase_maker import Found

# Modules that compile are imported where something is fitted: help and completion ask this module for options only.

_AUTO = "1..20"  # Worley's own range (Figures 6 and 18)
_LARGEST = 1e100


class WorleyFitter(Fitter):
    """Worley's method: phases with equal local errors, so that the largest one is least, by Algorithms K and M.

    Choose it for a run at a glance, a bound on every local error, mixed degrees or functions of time. `phases` says
    where the behaviour changes, and how sure that is.

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

    def fit(self, data: Any, options: WorleyOptions, **parts: Any) -> PhaseModel:
        from perf_worley.factor_tree import PhaseBasis
        from perf_worley.minimax import Minimax
        from perf_worley.phase_maker import LEAST_SQUARES, PhaseMaker, by_rule_of_errors

        if options.tolerance is not None and options.phases != "auto":
            raise OptionError("--tolerance says how many phases there are; leave out --phases")
        curve = as_curve(data, options)
        merged = curve.merged()  # with equal neighbours joined
        scale = options.scale if options.scale is not None else curve.duration / 10.0
        functions = tuple(functools.partial(function_of_time, name, scale=scale) for name in options.functions)
        if functions:
            basis = PhaseBasis(functions=functions, names=options.functions)
        else:
            basis = PhaseBasis(mixed=True) if options.degree == "mixed" else PhaseBasis(int(options.degree))
        maker, minimax = PhaseMaker(merged, basis), Minimax(options)
        if options.tolerance is None:
            counts = _counts(options.phases, merged)
            placed = minimax.sequence(merged, counts, maker.basis)
        else:
            placed = [minimax.within(merged, options.tolerance, maker.basis)]
            counts = [len(placed[0].breaks) - 1]
        objective = minimax.objective
        refine = options.refine
        if refine is None:  # epsilon of noisy samples is that of their noise, which moves breaks into long phases
            refine = isinstance(data, Series) and len(counts) > 1
        if refine and not options.functions:
            objective, placed = LEAST_SQUARES, maker.refined(placed)
        found = by_rule_of_errors(maker, counts, placed, objective, options.rule, WORTH)
        rule = options.rule if len(counts) > 1 else None
        chosen = {**to_dict(options), "refine": refine}
        return _model("worley", curve, found, found.phases, chosen, rule=rule, scale=scale)


class PhasesFitter(Fitter):
    """Phases that begin where the behaviour of a run changes: their number, degree, breakpoints and intervals.

    Choose it to see which phases a run has, how the utilization develops within each, and what runs.

    Source: D. M. Hawkins' dynamic programme on cells, and the rule of `perf_worley.phase_maker`.

    Examples
    --------
    >>> curve = UtilizationCurve([0, 4, 10], [2, 8])
    >>> perfcore.fit(curve, fitter="phases", phases=2, degree=0).breaks
    (4.0,)
    """

    Options = PhasesOptions
    model_type = PhaseModel
    takes = (Trace, UtilizationCurve, Series)

    @classmethod
    def suits(cls, data: Any) -> bool:
        """Whether the squares of a curve's values are numbers; see `Fitter.suits`."""
        return not isinstance(data, UtilizationCurve) or float(data.heights.max(initial=0.0)) <= _LARGEST

    def fit(self, data: Any, options: PhasesOptions, **parts: Any) -> PhaseModel:
        from perf_traces.summaries.summarized_trace import SummarizedTrace
        from perf_worley.factor_tree import PhaseBasis
        from perf_worley.iterations import by_markers, merge_repeated_phases, repetition
        from perf_worley.phase_maker import PhaseMaker, by_errors, by_rule_auto

        segmenter: Segmenter = parts["segmenter"]
        curve = as_curve(data, options)
        merged = curve.merged()
        counts = _counts(options.phases, merged)
        if options.phases_from:
            if not isinstance(data, Trace):
                raise OptionError("--phases-from belongs to traces; these data have no markers")
            if options.phases != "auto":
                raise OptionError("--phases-from says where phases begin and end; leave out --phases")
            basis = PhaseBasis(0 if options.degree == "auto" else int(options.degree))
            found = by_markers(data, PhaseMaker(merged, basis), options.phases_from)
            counts = [len(found.phases)]
        else:
            by_rule = by_rule_auto if options.rule == "auto" else by_errors
            found = by_rule(merged, counts, segmenter, options)
        phases = found.phases
        trace = data if isinstance(data, Trace) and not isinstance(data, SummarizedTrace) else None
        repeated = repetition(merged, trace, options.busy, options.idle)
        if repeated is not None and options.rule == "auto" and len(counts) > 1:
            phases = merge_repeated_phases(found.maker, phases, repeated)
        if trace is not None:  # the outermost edges are those of the run, to the nanosecond
            factor, (first, last) = nanoseconds_per(trace.time_unit), trace.span_ns
            edges = [first, *(first + round((phase.start - curve.start) * factor) for phase in phases[1:]), last]
            ran = activities(trace, edges, options.busy, options.idle)
            phases = [replace(phase, activity=each) for phase, each in zip(phases, ran, strict=True)]
        rule = options.rule if len(counts) > 1 else None
        chosen = to_dict(options) | to_dict(segmenter.options)
        scale = curve.duration / 10.0
        return _model("phases", curve, found, phases, chosen, rule=rule, scale=scale, iterations=repeated)

    @classmethod
    def join_runs(cls, parts: Any, fields: Any, name: str) -> Any:
        from perf_worley.comparison import join_runs

        return join_runs(parts, fields, name)


def _model(
    fitter: str, curve: UtilizationCurve, found: Found, phases: Sequence[Phase], options: dict[str, Any], **more: Any
) -> PhaseModel:
    maker = found.maker
    return PhaseModel(
        origin=Origin(fitter, options, curve.source, curve.fingerprint, perfcore.__version__),
        time_unit=curve.time_unit,
        phases=tuple(phases),
        sequence=tuple(found.sequence),
        evidence=found.evidence,
        objective=found.objective,
        functions=maker.basis.names,
        cost=found.cost,
        n_steps=maker.curve.n_steps,
        sum_of_squares=sum(phase.error**2 for phase in phases),
        total_squares=maker.total_squares,
        centered_squares=maker.centered_squares,
        n_locations=curve.n_locations,
        assumed=tuple(note for note in curve.notes if "; if not: " in note),
        **more,
    )


def as_curve(data: Any, options: WorleyOptions | PhasesOptions) -> UtilizationCurve:
    """Return the utilization curve of whatever was given."""
    if options.column is not None and not isinstance(data, Series):
        raise OptionError("--column belongs to time series; these data have no columns to choose from")
    if isinstance(data, Trace):
        return data.utilization(options.busy, idle=options.idle).counted_from_start()
    if options.busy is not None or options.idle is not None:
        raise OptionError("--busy and --idle belong to traces; these data have no states")
    if isinstance(data, Series):
        data = data.curve(options.column)
    if isinstance(data, UtilizationCurve):
        if (largest := float(data.heights.max())) > _LARGEST:
            problem = f"values of {largest:.3g} are above {_LARGEST:g}, where squares overflow; choose another unit"
            raise DataError(f"{data.source}: {problem}")
        return data.counted_from_start()
    raise DataError(f"phases are those of traces, utilization curves and time series, not of {type_in_words(data)}")


def _counts(phases: str, curve: UtilizationCurve) -> list[int]:
    """Return numbers of phases to try; of a range those that the curve has steps for."""
    first, _, last = (_AUTO if phases == "auto" else phases).partition("..")
    return list(range(int(first), max(min(int(last or first), curve.n_steps), int(first)) + 1))
