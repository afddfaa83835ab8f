"""How long a run of host and GPU takes with a faster GPU, host, collectives or kernels: ``perf whatif trace.json``."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from perf_analysis.gpu_path import GAP, GPU, LAUNCH, RETURN, UNKNOWN, CriticalPath, HostGpuRun, HostGpuTrace
from perf_io.traces.gpu_activity import GpuActivity
from perf_traces.windows import families
from perf_views.names import plain_name
from perfcore.base.arrays import Floats, Ints
from perfcore.base.errors import OptionError, UnknownNameError
from perfcore.data.units import readable
from perfcore.results import Result

_TARGETS = ("gpu", "host", "collectives")
_COLLECTIVE = re.compile(r"nccl|rccl", re.IGNORECASE)
_USUAL = (float("inf"), 2.0)
_MOST_STEPS = 200


@dataclass(frozen=True)
class Scenario:
    """Parts of a run that are so many times as fast, and how long it takes then."""

    faster: dict[str, float]
    runtime_ns: int

    @property
    def text(self) -> str:
        """What is different, in words."""
        names = {name: "GPU" if name == "gpu" else name for name in self.faster}
        return ", ".join(
            f"zero-time {names[name]}" if times == np.inf else f"{names[name]} {times:g}x faster"
            for name, times in self.faster.items()
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        times = {name: "inf" if times == np.inf else times for name, times in self.faster.items()}
        return {"question": self.text, "faster": times, "runtime_ns": self.runtime_ns}


@dataclass(frozen=True)
class Saving:
    """What one scenario saves in each step."""

    text: str
    lengths_ns: tuple[int, ...]
    savings_ns: tuple[int, ...]


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
    least_ns: int
    least_of: str
    steps: tuple[Saving, ...]
    full_queue: dict[str, int]
    notes: tuple[str, ...]
    uncertain: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; times in whole nanoseconds."""
        return {
            "source": self.source, "region": self.region, "runtime_ns": self.runtime_ns,
            "critical_path": {
                "by_class_ns": self.path.by_class, "by_kernel_ns": self.path.by_kernel, "pieces": self.path.n_pieces,
                "by_host_activity_ns": self.path.by_host, "collectives_ns": self.collectives_ns},
            "answers": [each.to_dict() for each in self.scenarios],
            "least_ns": self.least_ns, "least_of": self.least_of, "steps": [asdict(each) for each in self.steps],
            "full_queue": self.full_queue, "notes": list(self.notes), "uncertain": list(self.uncertain),
        }  # fmt: skip


def gpu_answers(activity: GpuActivity, region: str | None, faster: Mapping[str, float]) -> GpuAnswers:
    """What `perfcore.whatif` says of a trace of host and GPU."""
    questions = [dict(faster)] if faster else [
        {name: times} for name in _TARGETS for times in _USUAL
        if name != "collectives" or _fitting(activity, name).any()
    ]  # fmt: skip
    divisors = [_divisors(activity, each) for each in questions]
    marks = None if region is None else _spans(activity, region)
    window = None if marks is None else (int(marks[0].min()), int(marks[1].max()))
    trace = HostGpuTrace(activity)
    run = HostGpuRun(trace, window)
    path, error, replays = run.path(), run.largest_error_ns(), []
    if not error:
        replays = [run.runtime_with(*each) for each in divisors]
    alone, busiest = run.runtime_with(gpu=np.inf), run.busiest_stream_ns()
    limit = "the host beside a zero-time GPU" if alone >= busiest else "the work of the busiest stream"
    return GpuAnswers(
        activity.source, region or "", run.runtime_ns, path,
        sum(time for name, time in path.by_kernel.items() if _COLLECTIVE.search(name)),
        tuple(Scenario(question, runtime) for question, runtime in zip(questions, replays, strict=False)),
        max(alone, busiest), limit, () if error else _steps(trace, marks, questions, divisors),
        trace.full_queue(run.begin, run.end), tuple(_notes(trace)), tuple(_uncertain(run, error)),
    )  # fmt: skip


def _fitting(activity: GpuActivity, name: str) -> Any:
    """Which pieces are meant: all, collectives of NCCL and RCCL, or kernels that a pattern fits."""
    if name == "gpu":
        return np.ones(len(activity.time_ns), bool)
    if name == "collectives":
        fits = [bool(_COLLECTIVE.search(each)) for each in activity.names]
    else:
        pattern = name.lower()
        fits = [any(fnmatch.fnmatchcase(each.lower(), pattern) for each in (full, plain_name(full)))
                for full in activity.names]  # fmt: skip
    return np.array(fits, bool)[activity.pieces["name"]]


def _divisors(activity: GpuActivity, faster: Mapping[str, float]) -> tuple[float, Floats]:
    """How many times as fast the host and each piece are."""
    host, pieces = 1.0, np.ones(len(activity.time_ns))
    for name, times in faster.items():
        if not times > 0:
            raise OptionError(f"faster {name}={times:g}: a number above 0 is expected, such as 2 for twice as fast")
        if name == "host":
            host = times
            continue
        chosen = _fitting(activity, name)
        if not chosen.any():
            kernels = {plain_name(activity.names[k]) for k in np.unique(activity.pieces["name"]).tolist()}
            raise UnknownNameError("kernel, or gpu, host, collectives,", name, sorted(kernels | set(_TARGETS)))
        if (pieces[chosen] != 1.0).any():
            raise OptionError(f"{name}: two options change the same kernels; ask them one after the other")
        pieces[chosen] = times
    return host, pieces


def _spans(activity: GpuActivity, region: str) -> tuple[Ints, Ints]:
    """Begins and ends of the markers of a name, of one occurrence ``NAME#2``, or of a family such as ProfilerStep."""
    spans: dict[str, list[tuple[int, int]]] = {}
    for name, start, end in sorted(activity.markers, key=lambda marker: marker[1:]):
        spans.setdefault(name, []).append((start, end))
    base, _, number = region.rpartition("#")
    chosen = spans.get(region, [])
    if not chosen and base in spans and number.isdecimal():
        chosen = spans[base][int(number) - 1 : int(number)]
    if not chosen:
        chosen = sorted(span for name in families(spans).get(region, {}).values() for span in spans[name])
    if not chosen:
        raise UnknownNameError(f"marker of {activity.source}", region, {*spans, *families(spans)})
    starts, ends = np.array(chosen, np.int64).T
    return starts, ends


def _steps(
    trace: HostGpuTrace,
    marks: tuple[Ints, Ints] | None,
    questions: list[dict[str, float]],
    divisors: list[tuple[float, Floats]],
) -> tuple[Saving, ...]:
    """Savings in each occurrence of the marker, or else in each step of the run; not of a single one."""
    starts, ends = trace.activity.step_spans() if marks is None else marks
    if not 1 < len(starts) <= _MOST_STEPS:
        return ()
    runs = [HostGpuRun(trace, window) for window in zip(starts.tolist(), ends.tolist(), strict=True)]
    lengths = tuple(run.runtime_ns for run in runs)
    asked = [k for k, each in enumerate(questions) if len(questions) == 1 or 2.0 in each.values()]
    return tuple(
        Saving(Scenario(questions[k], 0).text, lengths,
               tuple(run.runtime_ns - run.runtime_with(*divisors[k]) for run in runs)) for k in asked
    )  # fmt: skip


def _notes(trace: HostGpuTrace) -> list[str]:
    """What the trace lacks, and what would record it."""
    activity, notes = trace.activity, list(trace.activity.notes)
    called = {activity.names[k] for k in np.unique(activity.host["name"]).tolist()}
    if not len(activity.host["start"]):
        notes.append("host events: what the GPU waits for is unknown (activities=[CPU, CUDA] records them)")
    elif not trace.launched.any():
        notes.append("launches of GPU work: what it waits for is unknown (activities=[CPU, CUDA] records them)")
    if not activity.syncs and called & {"cudaStreamWaitEvent", "hipStreamWaitEvent", "cudaEventSynchronize"}:
        notes.append(
            "event waits of streams (enable_cuda_sync_events=True in the profiler's experimental_config records them)"
        )
    return notes


def _uncertain(run: HostGpuRun, error_ns: int) -> list[str]:
    trace, lines = run.trace, []
    if error_ns:
        lines.append(f"the replay misses recorded moments by up to {readable(error_ns, 'ns')}: no what-if answers")
    if trace.n_early:
        lines.append(f"{trace.n_early:,} pieces of GPU work begin before their launch: clocks of host and GPU differ")
    if run.n_beyond:
        lines.append(
            f"{run.n_beyond:,} pieces launched here end up to {readable(run.beyond_ns, 'ns', 4)} after it and count as "
            "not waited for"
        )
    if _fitting(trace.activity, "collectives").any():
        lines.append("collectives of one rank include waiting for other ranks")
    return lines


PATH_ROWS = {
    "GPU": (GPU,),
    "host": (),
    GAP: (GAP,),
    "launch latency": (LAUNCH,),
    RETURN: (RETURN,),
    UNKNOWN: (UNKNOWN,),
}
