"""What would help a run most without other hardware, and its longest operators or functions, for one first answer.

Replays are those of `perf whatif`. They are left out where a run has so many intervals that they would take longer
than reading it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_analysis.categories import NO_STATE
from perf_analysis.concurrency import devices_of
from perf_analysis.efficiencies import of_gpus
from perf_traces.levels import parts_of
from perfcore.base.errors import PerfError
from perfcore.data.trace import Trace
from perfcore.data.units import readable

if TYPE_CHECKING:
    from perf_analysis.overhead_profile import OverheadProfile

_MOST_INTERVALS, _MOST_CALLS = 1_000_000, 300_000
_LONGEST = 3
_LEAST_USED = 0.05  # of the locations, from which on more of it is an advice
_MUCH = 1.05  # times the span of the GPUs, from which on that of host and GPU is named


@dataclass(frozen=True)
class Gain:
    """What a run would take if something were different."""

    question: str
    runtime_ns: int
    recorded_ns: int
    option: str  # of the command that asks more
    is_bound: bool = False  # whether no more than this can be saved
    command: str = "whatif"
    of: str = ""  # the runtime that is saved of, if it is another than that of the sentence

    @property
    def share(self) -> float:
        """What is saved, of the runtime."""
        return 1.0 - self.runtime_ns / self.recorded_ns

    def text(self, verb: str) -> str:
        """Return what a sentence says of it."""
        option = f" (whatif {self.option})" if self.command == "whatif" else ""
        return f"{self.question} {verb}{self.share:.1%}{self.of}{option}"


@dataclass(frozen=True)
class Remedies:
    """Replays, those that save most first, and what takes longest."""

    gains: tuple[Gain, ...] = ()
    kind: str = "function"  # of the longest
    longest: tuple[tuple[str, int, int | None], ...] = ()  # name, time in nanoseconds, calls
    whole_ns: int = 1  # what the times of all of them sum to
    where: str = ""  # of which part of the run they are the longest
    note: str = ""  # what makes the numbers uncertain
    steps: int = 0  # that the trace marks, and their mean length
    step_ns: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        gains = [{**asdict(each), "share": each.share} for each in self.gains]
        names = ("name", "time_ns", "calls")
        return {"gains": gains, "kind": self.kind, "longest": [dict(zip(names, each, strict=True)) for each in
                self.longest], "steps": self.steps, "step_ns": self.step_ns}  # fmt: skip


def remedies_of(trace: Trace, profile: OverheadProfile) -> Remedies | None:
    """Return what would help a run, and its longest operators or functions; None where that would take too long."""
    if trace.n_intervals > _MOST_INTERVALS:
        return None
    try:
        if devices_of(trace) is not None:
            return _of_gpus(trace, profile.elapsed_ns) if of_gpus(profile) else None
        kind, longest, whole = _longest_functions(trace)
        gains = _gains_of_calls(trace, profile) or _bounds(trace, profile)
        return Remedies(gains, kind, longest, whole)
    except PerfError:  # the commands of their own say why
        return None


def _of_gpus(trace: Trace, elapsed_ns: int) -> Remedies | None:
    from perf_analysis.gpu_path import silence
    from perf_analysis.gpu_whatif import gpu_answers
    from perf_analysis.operators import rows_of
    from perf_io.traces.gpu_activity import read_gpu_activity

    paths = [part.source for _, part in parts_of(trace)]
    if not os.path.exists(paths[0]):  # noqa: PTH110 - the names of data may be too long for a path
        return None
    activity = read_gpu_activity(paths[0], with_shapes=False)
    if activity is None:
        return None
    note = silence(activity)
    answers = None if note else gpu_answers(trace.source, paths, None, [], lambda *_: trace, first=activity)
    gains = []
    for each in () if answers is None else answers.scenarios:
        if answers is not None and each.zero_time == (each.part == "collectives"):
            whole = answers.runtime_ns
            of = (
                ""
                if whole < _MUCH * elapsed_ns
                else f" of the {readable(whole, 'ns', 4)} since the first event of the host"
            )
            option = f"--compute {each.part}={'inf' if each.zero_time else '2x'}"
            gains.append(Gain(each.question, each.runtime_ns, whole, option, of=of))
    by = "operator" if activity.has_operators else "kernel"
    rows = sorted(rows_of(activity, by), key=lambda row: -row["own_ns"])
    longest = tuple((row["name"], row["own_ns"], row["calls"]) for row in rows[:_LONGEST] if row["own_ns"])
    starts, ends = activity.step_spans()
    whole = max(sum(row["own_ns"] for row in rows), 1)
    where = " (first rank)" if len(paths) > 1 else ""
    length = float((ends - starts).mean()) if len(starts) else 0.0
    return Remedies(_sorted(gains), by, longest, whole, where, note, len(starts), length)


def _gains_of_calls(trace: Trace, profile: OverheadProfile) -> tuple[Gain, ...]:
    """Balanced computing, and messages that take no time."""
    from perf_analysis.whatif import balanced
    from perf_traces.messages.bursts import BurstTimes
    from perf_traces.messages.communication import communication_of
    from perf_traces.messages.replay import Replay
    from perfcore.data.trace import busy_mask

    communication = None if profile.replayed is None or profile.threads else communication_of(trace)
    if communication is None or profile.replayed is None or len(communication.calls) > _MOST_CALLS:
        return ()
    elapsed, gains, replay = profile.elapsed_ns, [], Replay(communication, keeps_startup=True)
    silent = max(0, elapsed - replay.runtime_ns())
    if profile.replayed.definition == "strict":
        ideal = replay.runtime_ns(0) + silent
        gains.append(Gain("hiding all transfers", ideal, elapsed, "--network 0", is_bound=True))
    if int((np.diff(communication.first_call) > 0).sum()) > 1:
        times = BurstTimes(trace, communication)
        busy = busy_mask(trace.states, trace.busy_states, None, None)
        inside = np.minimum(times.within(busy), replay.burst_ns)
        after, _ = balanced(replay.burst_ns, inside, communication, times)
        runtime = replay.runtime_ns(burst_ns=after) + silent
        gains.append(Gain("balancing computing", runtime, elapsed, "--balance computing", is_bound=True))
    return _sorted(gains)


def _bounds(trace: Trace, profile: OverheadProfile) -> tuple[Gain, ...]:
    """What no schedule can save more of, without knowing what waits for what.

    All computing takes at least its mean over the locations, and what is not computed in one state goes on.
    """
    from perfcore.data.trace import busy_mask

    elapsed, n = profile.elapsed_ns, len(trace.locations)
    busy = busy_mask(trace.states, trace.busy_states, None, None)
    times = np.where(busy, trace.state_times(), 0)
    gains = []
    mean = round(int(times.sum()) / n)
    if n > 1 and mean >= _LEAST_USED * elapsed:
        every = "both" if n == 2 else f"all {n}"
        gains.append(Gain(f"keeping {every} locations computing", mean, elapsed, "--by location", True, "overheads"))
    if np.count_nonzero(times) > 1:
        name = trace.states[int(times.argmax())]
        curve = trace.utilization([name])
        within = np.diff(curve.edges)[curve.heights > 0].sum() / (curve.end - curve.start)
        gains.append(Gain(f"{name} twice as fast", round(elapsed * (1.0 - within / 2)), elapsed, "", True, "profile"))
    return _sorted(gains)


def _sorted(gains: Sequence[Gain]) -> tuple[Gain, ...]:
    return tuple(sorted(gains, key=lambda each: each.runtime_ns))


def _longest_functions(trace: Trace) -> tuple[str, tuple[tuple[str, int, int | None], ...], int]:
    from perf_analysis.profile import profile_of

    run = profile_of(trace)
    order = np.argsort(-run.by_function_ns, kind="stable").tolist()
    named = [k for k in order if run.functions[k] != NO_STATE and run.by_function_ns[k]][:_LONGEST]
    calls = run.calls.sum(axis=(1, 2)).tolist()
    longest = tuple((run.functions[k], int(run.by_function_ns[k]), (run.has_calls and calls[k]) or None) for k in named)
    return "function", longest, run.total_ns
