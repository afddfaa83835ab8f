"""How the critical path through host and GPU is shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from perf_analysis.gpu_path import GAP, GPU, LATE, LAUNCH, NO_OPERATOR, OPERATOR, RETURN, RUNTIME_CALL, UNKNOWN
from perf_analysis.gpu_whatif import GpuAnswers, Scenario
from perf_views.names import existing_file, plain_names, shortened
from perfcore.data.units import readable
from perfcore.results import Column, Presenter, Table, Tables

_MOST_KERNELS, _MOST_ACTIVITIES, _MOST_RANKS, _LETTERS = 3, 2, 4, 34
_BOUND = "an ideal part has zero duration, a lower bound; recording slows calls of the host"


class GpuAnswersPresenter(Presenter):
    """The path by class with what-if runtimes next to each."""

    def title(self, result: GpuAnswers) -> str:
        return f"What if: {result.source}"

    def answer(self, result: GpuAnswers) -> str:
        whole, gpu, host = result.runtime_ns, result.path.by_class[GPU], result.path.host_ns
        of = f"{Path(result.source).name}{f', {result.region}' if result.region else ''}"
        subject = "GPU kernels are" if gpu >= host else "the host is"
        text = f"{of}: {subject} {max(gpu, host) / whole:.1%} of the critical path of {_time(whole)}"
        saved = [(each.question, whole - each.runtime_ns) for each in _asked(result)]
        gains = [f"{name} saves {f'{_time(time)} ({time / whole:.0%})' if time else 'nothing'}" for name, time in saved]
        return f"{text}; {', '.join(gains)}" if gains else text

    def caveats(self, result: GpuAnswers) -> dict[str, Sequence[str]]:
        path = result.path
        lines: dict[str, Sequence[str]] = {}
        kernels = list(path.by_kernel.items())[:_MOST_KERNELS]
        names = plain_names([name for name, _ in kernels])
        lines["Kernels"] = [_listed((name, time) for name, (_, time) in zip(names, kernels, strict=True))]
        activities = _listed(list(path.by_host.items())[:_MOST_ACTIVITIES])
        classes = [("no operator (Python?)", NO_OPERATOR), (OPERATOR, OPERATOR), (RUNTIME_CALL, RUNTIME_CALL)]
        parts = _listed((label, path.by_class[name]) for label, name in classes)
        lines["Host"] = [f"{parts}{f'; most: {activities}' if activities else ''}"]
        if queue := result.full_queue:
            waiting = f"{queue['launches']:,} launch calls ({_time(queue['time_ns'])})"
            lines["Queue"] = [f"{waiting} wait for a place in it, which is no cost of the host"]
        by = max(result.least_ns, key=lambda name: result.least_ns[name])
        rest = ", ".join(f"{name} {_time(time)}" for name, time in result.least_ns.items() if name != by and time)
        lines["Lower bound"] = [f"{_time(result.least_ns[by])}, {by}{f' ({rest})' if rest else ''}"]
        if len(result.ranks) > 1:
            on_path = sorted(zip(path.by_rank, result.ranks, strict=True), key=lambda each: -each[0])[:_MOST_RANKS]
            parts = ", ".join(f"{rank} {time / result.runtime_ns:.1%}" for time, rank in on_path if time)
            lines["Ranks"] = [f"{parts} of the path; {result.n_met:,} collectives join them"]
        if lengths := result.step_lengths_ns:
            saved = [(each.question, sorted(each.step_savings_ns)) for each in _asked(result)]
            gains = [f"{name} saves {_time(sum(times) / len(times))} ({_time(times[0])} to {_time(times[-1])})"
                     for name, times in saved if times[-1]]  # fmt: skip
            mean = _time(sum(lengths) / len(lengths))
            lines["Steps"] = [", ".join([f"{len(lengths)} of {mean} on average", *gains])]
        lines |= {"Assumed": [_BOUND], "Uncertain": result.uncertain, "Not recorded": result.notes}
        return {name: texts for name, texts in lines.items() if any(texts)}

    def next_command(self, result: GpuAnswers) -> str:
        file, by = existing_file(result.source), result.details
        return f"perf {'overheads' if by == 'launch' else 'profile'} {file} --by {by}" if file else ""

    def tables(self, result: GpuAnswers) -> Tables:
        whole, path = result.runtime_ns, result.path
        usual = {(each.part, each.zero_time): each.runtime_ns for each in result.scenarios if each.part}
        times = {"GPU": path.by_class[GPU], "collectives": result.collectives_ns, "host": path.host_ns,
                 **{name: path.by_class.get(name, 0) for name in (GAP, LAUNCH, RETURN, UNKNOWN, LATE)}}  # fmt: skip
        rows = [(name, time, usual.get((name.lower(), True)), usual.get((name.lower(), False)))
                for name, time in times.items() if time or (name.lower(), True) in usual]  # fmt: skip
        share = Column("share", lambda row: row[1] / whole, format=".1%")
        columns = [
            Column("critical path", 0), Column("time", 1, "ns", "time"), share,
            Column("ideal", 2, "ns", "time"), Column("2x faster", 3, "ns", "time"),
        ]  # fmt: skip
        scenarios = [
            Column("scenario", "question"), Column("runtime", "runtime_ns", "ns", "time"),
            Column("change", lambda each: each.runtime_ns / whole - 1.0, format="+.1%", key=()),
        ]  # fmt: skip
        baseline = Scenario("baseline", "", False, whole, ())
        tables = [Table(columns, rows), Table(scenarios, result.scenarios, importance="data")]
        if result.scenarios and not usual:
            tables.insert(0, Table(scenarios, [baseline, *result.scenarios]))
        for heading, spent in (("kernel", path.by_kernel), ("host activity", path.by_host)):
            named = list(zip(plain_names(list(spent)), spent.values(), strict=True))
            title = f"Critical path by {heading}"
            tables.append(Table([Column(heading, 0), Column("time", 1, "ns", "time"), share], named, title, "verbose"))
        return tables


def _asked(result: GpuAnswers) -> list[Scenario]:
    """What was asked, or else the GPU and the host twice as fast."""
    return [each for each in result.scenarios if not each.part or (each.part != "collectives" and not each.zero_time)]


def _listed(times: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{shortened(name, _LETTERS)} {_time(time)}" for name, time in times if time)


def _time(time_ns: float) -> str:
    return readable(time_ns, "ns", 4)
