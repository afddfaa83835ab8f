"""The function behind ``perf whatif``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_analysis.concurrency import threads_beside
from perf_analysis.groups import applications
from perf_analysis.messages import trace_and_calls
from perf_analysis.replay_answers import Answer, Answers, Network, measured, network_from_text, path_shares
from perf_tables.executors import executor_of, in_order
from perf_traces.messages.bursts import BurstTimes, without_helpers
from perf_traces.messages.communication import OUTSIDE_CALLS, Communication, codes_of, numbered, sums_of
from perf_traces.messages.replay import Replay, bsc_rules
from perf_traces.states import COMPUTING, OTHER, matches, state_classes
from perfcore.base.arrays import Ints
from perfcore.base.errors import DataError, OptionError, UnknownNameError
from perfcore.data.trace import Trace
from perfcore.reading.recognise import read
from perfcore.stochastic import default_name, representation_named

_LONGEST_NS = 2.0**62
_MOST_REPLAYS, _FEWEST_REPLAYS = 500, 20
_BURSTS_IN_ALL = 12_000_000  # of all noisy replays together: less than a second
_REPLAYS_AT_ONCE = 8  # as many times of 8 bytes as a line of the processor's cache holds
_BURSTS_AT_ONCE = 1 << 20  # of 24 bytes and more
_USUAL_NOISE = 0.05
_NEARLY_ALL = 0.999


def meant(trace: Trace, classes: Sequence[str], name: str) -> npt.NDArray[np.bool_]:
    """The states of a class, or those that a name or a pattern with * and ? fits."""
    of_class = np.array([each == name for each in classes])
    chosen = of_class if of_class.any() else np.array([matches(state, name) for state in trace.states])
    if not chosen.any():
        raise UnknownNameError("class or state", name, [*dict.fromkeys(classes), *trace.states])
    return chosen


def balanced(
    burst_ns: Ints, inside_ns: Ints, communication: Communication, applications: Sequence[str]
) -> tuple[Ints, float]:
    """Bursts whose part in a class is, occurrence by occurrence, the mean over the ranks of an application.

    Collectives of all these ranks cut the run into stretches. If all make equally many calls in a stretch, the k-th
    burst of one is the k-th of the others; otherwise it is unknown which belong together, and they stay as they are.
    """
    calls, first = communication.calls, communication.first_call
    n_calls, application_of, has_calls = len(calls), np.array(applications), np.diff(first) > 0
    changed, n_moved = burst_ns.copy(), 0
    for application in np.unique(application_of[has_calls]):
        ranks = np.flatnonzero((application_of == application) & has_calls)
        stretch = _stretches(communication, len(ranks))
        of_group = np.isin(calls.location, ranks)
        shape = int(stretch.max()) + 1, len(communication.locations)
        count = sums_of((stretch[of_group], calls.location[of_group]), 1, shape)
        matching = (count[:, ranks] == count[:, ranks[:1]]).all(axis=1)
        number = numbered(codes_of([stretch, calls.location]))
        chosen = np.flatnonzero(matching[stretch] & of_group)
        group = codes_of([stretch[chosen], number[chosen]])
        # The burst after the last call is one more occurrence, of all ranks.
        chosen = np.concatenate([chosen, n_calls + ranks])
        group = np.concatenate([group, np.full(len(ranks), group.max(initial=-1) + 1)])
        mean = np.bincount(group, inside_ns[chosen].astype(np.float64)) / np.bincount(group)
        changed[chosen] += np.rint(mean[group]).astype(np.int64) - inside_ns[chosen]
        n_moved += int(inside_ns[chosen].sum())
    return changed, n_moved / int(inside_ns.sum())


def _stretches(communication: Communication, n_ranks: int) -> Ints:
    """Return the number of each call's stretch at its location, between collectives of as many ranks."""
    together, calls, first = communication.collectives, communication.calls, communication.first_call
    of_all = np.bincount(together.member_of, minlength=len(together)) == n_ranks
    cuts = np.zeros(len(calls), np.int64)
    cuts[together.member_call[of_all[together.member_of]]] = 1
    stretch = np.cumsum(cuts) - cuts  # a cut is the last call of its stretch
    return stretch - stretch[first[calls.location]]


def noisy(burst_ns: Ints, spread: float, rng: np.random.Generator) -> Ints:
    """Bursts each times a lognormal factor of mean 1 and the given standard deviation."""
    variance = np.log1p(spread * spread)
    # In single precision, which is three times as fast: a factor of noise needs no more than seven digits.
    factor = rng.standard_normal(len(burst_ns), dtype=np.float32)
    factor *= np.float32(np.sqrt(variance))
    factor -= np.float32(variance / 2)
    with np.errstate(over="ignore"):
        drawn = burst_ns * np.exp(factor, out=factor)
    if not drawn.max() < _LONGEST_NS:
        raise DataError("the noise makes bursts longer than a clock counts")
    return np.rint(drawn, out=drawn).astype(np.int64)


@dataclass(frozen=True)
class _Question:
    network: Network | None = None
    faster: tuple[tuple[str, float], ...] = ()
    balance: tuple[str, ...] = ()
    noise: float = 0.0

    @property
    def text(self) -> str:
        parts = [self.network.text] if self.network else []
        parts += [f"{name} {times:.4g}x faster" for name, times in self.faster]
        parts += [f"{name} balanced over ranks" for name in self.balance]
        parts += [f"{100 * self.noise:.3g}% noise"] if self.noise else []
        return ", ".join(parts)


def answers_of(
    data: Trace, communication: Communication, asked: Sequence[tuple[str | None, Mapping[str, float]]],
    balance: Sequence[str], noise: float, representation: str | None, seed: int,
) -> Answers:  # fmt: skip
    """Return what `perfcore.whatif` says of a trace and its calls, for each network and classes that are faster."""
    processes = threads_beside(data, communication)
    communication = communication if processes is None else without_helpers(communication, processes)
    run = _Run(data, Replay(communication, keeps_startup=True), representation, seed, processes)
    questions = [
        _Question(
            None if network is None else network_from_text(network),
            tuple((name or COMPUTING, times) for name, times in faster.items()), tuple(balance), noise,
        )
        for network, faster in asked
        if network is not None or faster or balance or noise
    ]  # fmt: skip
    if not questions:
        questions = [_Question(Network(0.0)), _Question(Network(0.5))]
        if COMPUTING in run.classes:
            questions += [_Question(faster=((COMPUTING, 2.0),)), _Question(balance=(COMPUTING,))]
        questions.append(_Question(noise=_USUAL_NOISE))
    replay = run.replay
    speed = measured(replay)
    return Answers(
        data.source, int((np.diff(communication.first_call) > 0).sum()), len(communication.calls),
        len(communication.messages), int(communication.collectives.of_data.sum()),
        replay.runtime_ns() + run.silent_ns,
        path_shares(replay.path(), replay, run.times, run.classes, silent_ns=run.silent_ns),
        tuple(run.answer(each, speed) for each in questions), replay.rules, replay.n_contradictions,
        "" if speed is None else speed.text, tuple(replay.remarks()),
    )  # fmt: skip


def answer_of_worker(trace: str, asked: str, rest: str) -> bytes:
    """Return the answer to one question as JSON; see `answers_elsewhere`."""
    question, reading = json.loads(rest)
    data, communication = trace_and_calls(trace, lambda path, wanted: read(path, wanted=wanted, **reading))
    return json.dumps(answers_of(data, communication, [json.loads(asked)], *question).answers[0].to_dict()).encode()


def answers_elsewhere(
    parallel: str, trace: str, asked: Sequence[tuple[str | None, Mapping[str, float]]], question: Sequence[Any],
    reading: Mapping[str, Any],
) -> list[Answer]:  # fmt: skip
    """Return the answers of workers, each of which reads the trace."""
    rest = json.dumps([question, {name: value for name, value in reading.items() if value is not None}])
    tasks = [(str(Path(trace).resolve()), json.dumps(each), rest) for each in asked]
    with executor_of(parallel) as executor:
        records = list(in_order(executor, answer_of_worker, tasks, [trace] * len(tasks)))
    return [Answer.from_dict(json.loads(record)) for record in records]


class _Run:
    def __init__(
        self, trace: Trace, replay: Replay, representation: str | None, seed: int, processes: Sequence[str] | None
    ) -> None:
        self.replay, self._trace, self._seed = replay, trace, seed
        self._representation = representation_named(representation or default_name("samples"))
        self.times = BurstTimes(trace, replay.communication, processes)
        # What the trace counts as busy computes, so that no two commands disagree.
        named = zip(trace.states, state_classes(trace.states), strict=True)
        busy = frozenset(trace.busy_states)
        self.classes = tuple(COMPUTING if s in busy else OTHER if name == COMPUTING else name for s, name in named)
        elapsed = trace.span_ns[1] - trace.span_ns[0]
        self.silent_ns = max(0, elapsed - replay.runtime_ns())  # after the last record; nothing makes it shorter
        receive = replay.communication.messages.receive_call
        posted = replay.communication.messages.post_call
        n_early = int(((posted != receive) & (replay.waiting_ns[receive] <= 0)).sum())
        n_outside = replay.communication.unmatched.get(OUTSIDE_CALLS, 0)
        self._of_arrivals = [
            f"{count:,} non-blocking messages arrived {when}: no call waits for them, whatever their recorded arrival"
            for count, when in ((n_early, "before a call waited for them"), (n_outside, "outside of all calls"))
            if count
        ]
        self._of_threads = ["a process computes while any of its threads does"] * (processes is not None)
        named_ranks = dict(zip(trace.locations, applications(trace), strict=True))
        self._applications = [named_ranks[name] for name in replay.communication.locations]
        self._other = Replay(replay.communication, bsc_rules(replay.communication), keeps_startup=True)

    def answer(self, question: _Question, speed: Any) -> Answer:
        bursts, changes, shares = self._bursts(question)
        network = question.network or Network()
        replay = self.replay
        how: dict[str, Any] = {"transfer": network.factor, "burst_ns": bursts}

        def options(of: Replay) -> dict[str, Any]:
            costs = network.edge_costs(of, bursts)
            return how if costs is None else {"edge_cost_ns": costs}

        runtime = replay.runtime_ns(**options(replay))
        chain = replay.path(**options(replay))
        path = path_shares(chain, replay, self.times, self.classes, changes, self.silent_ns)
        otherwise = {"Dimemas matching rules": self._other.runtime_ns(**options(self._other))}
        if network.factor and network.latency_ns is None:
            otherwise["zero transfer time"] = replay.runtime_ns(0, burst_ns=bursts)
        value = None
        assumptions = [*([network.assumption] if question.network else ["transfer times unchanged"])]
        if question.faster:
            assumptions.append("everything else unchanged")
        for name, share in shares.items():
            assumptions.append(
                f"{name} is moved freely between ranks at each occurrence (upper bound)"
                + ("" if share > _NEARLY_ALL else f", {share:.0%} of it, which all ranks share")
            )
        if speed is not None and speed.is_far(network):
            assumptions.append(f"far from the recorded {speed.text}: other limits may apply")
        if question.noise:
            drawn = self._noisy(question.noise, bursts, network)
            assumptions.append(f"independent noise per compute burst, {len(drawn)} replays")
            value = self._representation.from_samples((drawn + self.silent_ns) / 1e9)
            runtime = round(float(drawn.mean()))
        assumptions.append(f"message order{' and MPI_Init' if self.replay.kept.any() else ''} unchanged")
        assumptions += [*self._of_threads, *self._of_arrivals]
        return Answer(
            question.text, runtime + self.silent_ns, path, tuple(assumptions),
            {} if question.noise else {name: time + self.silent_ns for name, time in otherwise.items()},
            bool(question.balance), value,
        )  # fmt: skip

    def _bursts(self, question: _Question) -> tuple[Ints, list[tuple[npt.NDArray[np.bool_], Ints]], dict[str, float]]:
        """Bursts as they are then; which states changed by how much in each; which share of them was balanced."""
        bursts = self.replay.burst_ns
        changed = np.zeros(len(self._trace.states), bool)
        changes, shares = [], {}
        for name, times in [*question.faster, *((name, None) for name in question.balance)]:
            states = meant(self._trace, self.classes, name)
            if (states & changed).any():
                raise OptionError(f"{name}: two options change the same states; ask them one after the other")
            changed |= states
            inside = np.minimum(self.times.within(states), self.replay.burst_ns)
            if not inside.any():
                raise OptionError(f"{name}: has zero time between calls of the communication library; try --network")
            if times is None:
                after, shares[name] = balanced(bursts, inside, self.replay.communication, self._applications)
            else:
                after = bursts - inside + np.rint(inside / times).astype(np.int64)
            changes.append((states, after - bursts))
            bursts = after
        return bursts, changes, shares

    def _noisy(self, noise: float, bursts: Ints, network: Network) -> Ints:
        rng = np.random.default_rng(self._seed)
        n_replays = max(_FEWEST_REPLAYS, min(_MOST_REPLAYS, _BURSTS_IN_ALL // len(bursts)))
        drawn = np.empty(n_replays, np.int64)
        at_once = min(_REPLAYS_AT_ONCE, max(_BURSTS_AT_ONCE // len(bursts), 1))
        for first in range(0, n_replays, at_once):
            rows = drawn[first : first + at_once]
            changed = np.array([noisy(bursts, noise, rng) for _ in rows])
            if network.latency_ns is None or network.bytes_per_ns is None:
                rows[:] = self.replay.runtimes_ns(changed, network.factor)
            else:
                costs = (network.edge_costs(self.replay, each) for each in changed)
                rows[:] = [self.replay.runtime_ns(edge_cost_ns=cost) for cost in costs]
        return drawn
