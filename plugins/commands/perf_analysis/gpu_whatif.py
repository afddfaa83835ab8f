"""How long a run of host and GPU takes with a faster GPU, host, collectives or kernels: ``perf whatif trace.json``."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from perf_analysis.gpu_path import CriticalPath, HostGpuRun, HostGpuTrace
from perf_io.traces.gpu_activity import GpuActivity
from perf_traces.windows import families
from perf_views.names import plain_name
from perfcore.base.arrays import Floats, Ints
from perfcore.base.errors import OptionError, UnknownNameError
from perfcore.data.units import readable
from perfcore.results import Result

_PARTS = ("gpu", "host", "collectives")
_COLLECTIVE = re.compile(r"nccl|rccl", re.IGNORECASE)
_WAITS_OF_STREAMS = {"cudaStreamWaitEvent", "cudaEventSynchronize"}
_MOST_STEPS = 200


@dataclass(frozen=True)
class Scenario:
    """How long a run takes, and how much each step saves, if something is faster."""

    question: str
    part: str  # gpu, host or collectives, where it is one of the usual questions
    zero_time: bool
    runtime_ns: int
    step_savings_ns: tuple[int, ...]  # not of a part that takes no time


@dataclass(frozen=True, eq=False, repr=False)
class GpuAnswers(Result):
    """The critical path through host and GPU, and runtimes with parts of them faster."""

    json_kind: ClassVar[str] = "gpu-whatif"

    source: str
    region: str
    runtime_ns: int
    path: CriticalPath
    collectives_ns: int  # on the path
    scenarios: tuple[Scenario, ...]
    lower_bound_ns: int
    bound_by: str
    step_lengths_ns: tuple[int, ...]
    full_queue: dict[str, int]
    notes: tuple[str, ...]
    uncertain: tuple[str, ...]

    def save(self, path: str) -> list[str]:
        """Refuse: these runtimes are no stochastic value."""
        raise OptionError("--output FILE belongs to --noise SHARE, which a GPU trace does not take; use --json")

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def gpu_answers(activity: GpuActivity, region: str | None, faster: Mapping[str, float]) -> GpuAnswers:
    """What `perfcore.whatif` says of a trace of host and GPU."""
    parts = _PARTS if _fitting(activity, "collectives").any() else _PARTS[:2]
    questions = [faster] if faster else [{part: times} for part in parts for times in (2, np.inf)]
    divisors = [_divisors(activity, each) for each in questions]
    spans = None if region is None else _spans(activity, region)
    trace = HostGpuTrace(activity)
    run = HostGpuRun(trace, None if spans is None else (int(spans[0].min()), int(spans[1].max())))
    path, error = run.path(), run.largest_error_ns()
    starts, ends = activity.step_spans() if spans is None else spans
    windows = zip(starts.tolist(), ends.tolist(), strict=True) if 1 < len(starts) <= _MOST_STEPS else ()
    steps = [HostGpuRun(trace, window) for window in windows]
    scenarios = []
    for question, each in zip(questions, divisors, strict=True):
        free = np.inf in question.values()
        savings = tuple(step.runtime_ns - step.runtime_with(*each) for step in (steps if faster or not free else ()))
        names = [(name.replace("gpu", "GPU") if name in _PARTS else name, times) for name, times in question.items()]
        text = ", ".join(f"ideal {n}" if times == np.inf else f"{n} {times:g}x faster" for n, times in names)
        part = "" if faster else next(iter(question))
        scenarios.append(Scenario(text, part, free, run.runtime_with(*each), savings))
    alone, busiest = run.runtime_with(gpu=np.inf), run.busiest_stream_ns()
    begun = activity.host["start"][trace.full]
    full = trace.full[(begun >= run.begin) & (begun < run.end)]
    full = full[np.char.find(np.array(activity.names)[activity.host["name"][full]], "Launch") >= 0]
    time = int((activity.host["end"] - activity.host["start"])[full].sum())
    return GpuAnswers(
        activity.source, region or "", run.runtime_ns, path,
        sum(time for name, time in path.by_kernel.items() if _COLLECTIVE.search(name)),
        () if error else tuple(scenarios), max(alone, busiest),
        "the host with an ideal GPU" if alone >= busiest else "the work of the busiest stream",
        tuple(step.runtime_ns for step in steps), {"launches": len(full), "time_ns": time} if len(full) else {},
        tuple(_notes(trace)), tuple(_uncertain(run, error)),
    )  # fmt: skip


def _fitting(activity: GpuActivity, name: str) -> Any:
    """Which pieces are meant: all, collectives of NCCL and RCCL, or kernels that a pattern fits."""
    if name == "gpu":
        return np.ones(len(activity.time_ns), bool)
    if name == "collectives":
        fits = [bool(_COLLECTIVE.search(each)) for each in activity.names]
    else:
        fits = [any(fnmatch.fnmatchcase(each.lower(), name.lower()) for each in (full, plain_name(full)))
                for full in activity.names]  # fmt: skip
    return np.array(fits, bool)[activity.pieces["name"]]


def _divisors(activity: GpuActivity, faster: Mapping[str, float]) -> tuple[float, Floats]:
    """How many times as fast the host and each piece are."""
    host, pieces = 1.0, np.ones(len(activity.time_ns))
    for name, times in faster.items():
        if not times > 0:
            raise OptionError(f"faster {name}={times:g}: a number above 0 is expected, such as 2 for twice as fast")
        chosen = _fitting(activity, name)
        if name == "host":
            host = float(times)
        elif not chosen.any():
            kernels = {plain_name(activity.names[k]) for k in np.unique(activity.pieces["name"]).tolist()}
            raise UnknownNameError("kernel, or gpu, host, collectives,", name, kernels.union(_PARTS))
        elif (pieces[chosen] != 1.0).any():
            raise OptionError(f"{name}: two options change the same kernels; ask them one after the other")
        else:
            pieces[chosen] = times
    return host, pieces


def _spans(activity: GpuActivity, region: str) -> tuple[Ints, Ints]:
    """Begins and ends of the markers of a name, of one occurrence ``NAME#2``, or of a family such as ProfilerStep."""
    spans: dict[str, list[tuple[int, int]]] = {}
    for name, start, end in sorted(activity.markers, key=lambda marker: marker[1:]):
        spans.setdefault(name, []).append((start, end))
    groups = {family: [span for name in members.values() for span in spans[name]]
              for family, members in families(spans).items()}  # fmt: skip
    groups |= {f"{name}#{k}": [span] for name, each in spans.items() for k, span in enumerate(each, 1)}
    if region not in spans and region not in groups:
        raise UnknownNameError(f"marker of {activity.source}", region, {*spans, *families(spans)})
    starts, ends = np.array(sorted(spans.get(region) or groups[region]), np.int64).T
    return starts, ends


def _notes(trace: HostGpuTrace) -> list[str]:
    """What the trace lacks, and what would record it."""
    activity = trace.activity
    called = {activity.names[k] for k in np.unique(activity.host["name"]).tolist()}
    if not trace.launched.any():
        lacking = "launches of GPU work" if len(activity.host["start"]) else "host events"
        return [f"{lacking}: what the GPU waits for is unknown (activities=[CPU, CUDA] records them)", *activity.notes]
    if not activity.syncs and (called & _WAITS_OF_STREAMS or len(np.unique(activity.pieces["location"])) > 1):
        option = "enable_cuda_sync_events=True in the profiler's experimental_config"
        return [f"event waits of streams, counted as gaps ({option} records them)", *activity.notes]
    return list(activity.notes)


def _uncertain(run: HostGpuRun, error_ns: int) -> list[str]:
    lines = []
    if error_ns:
        lines.append(f"the replay misses recorded moments by up to {readable(error_ns, 'ns')}: no what-if answers")
    if run.n_beyond:
        beyond = readable(run.beyond_ns, "ns", 4)
        lines.append(f"{run.n_beyond:,} pieces launched here end up to {beyond} after it: nothing here waits for them")
    if _fitting(run.activity, "collectives").any():
        lines.append("collectives of one rank include waiting for other ranks")
    return lines
