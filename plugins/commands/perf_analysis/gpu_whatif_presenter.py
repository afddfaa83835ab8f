"""How the critical path through host and GPU is shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from perf_analysis.gpu_path import GPU, NO_OPERATOR, OPERATOR, RUNTIME_CALL
from perf_analysis.gpu_whatif import PATH_ROWS, GpuAnswers, Scenario
from perf_views.names import existing_file, plain_names, shortened
from perfcore.data.units import readable
from perfcore.results import Column, Presenter, Table, Tables

_MOST_KERNELS, _MOST_ACTIVITIES, _LETTERS = 3, 2, 34
_BOUND = "zero time is a bound; calls of the host take longer while they are recorded"


class GpuAnswersPresenter(Presenter):
    """The path by class with what-if runtimes next to each."""

    def title(self, result: GpuAnswers) -> str:
        return f"What if: {result.source}"

    def answer(self, result: GpuAnswers) -> str:
        whole = result.runtime_ns
        shares = {GPU: result.path.by_class.get(GPU, 0), "host": result.path.host_ns}
        largest = max(shares, key=lambda name: shares[name])
        of = f"{Path(result.source).name}{f', {result.region}' if result.region else ''}"
        subject = "GPU kernels are" if largest == GPU else "The host is"
        text = f"{subject} {shares[largest] / whole:.1%} of the critical path of {_time(whole)} ({of})"
        asked = [each for each in result.scenarios if len(result.scenarios) == 1 or 2.0 in each.faster.values()]
        gains = [f"{each.text} {_gain(whole - each.runtime_ns, whole)}" for each in asked[:2]]
        return f"{text}; would save: {', '.join(gains)}" if gains else text

    def caveats(self, result: GpuAnswers) -> dict[str, Sequence[str]]:
        path, lines = result.path, {}
        if path.by_kernel:
            names = list(path.by_kernel)[:_MOST_KERNELS]
            labels = [shortened(name, _LETTERS) for name in plain_names(names)]
            lines["Kernels"] = [_listed(labels, [path.by_kernel[name] for name in names])]
        if path.host_ns:
            parts = [NO_OPERATOR, OPERATOR, RUNTIME_CALL]
            names = list(path.by_host)[:_MOST_ACTIVITIES]
            lines["Host"] = [
                f"{_listed(['no operator (Python?)', *parts[1:]], [path.by_class[name] for name in parts])}"
                f"; most: {_listed([shortened(name, _LETTERS) for name in names], [path.by_host[n] for n in names])}"
            ]
        if queue := result.full_queue:
            lines["Queue"] = [
                f"{queue['launches']:,} launch calls ({_time(queue['launches_ns'])}) wait for a place in it, which is "
                f"no cost of the host; so do {queue['calls'] - queue['launches']:,} copies and memsets"
            ]
        lines["Lower bound"] = [f"{_time(result.least_ns)}, {result.least_of}"]
        if result.steps:
            lines["Steps"] = [_over_steps(result)]
        missing = list(result.notes)
        return {**lines, "Assumed": [_BOUND], "Uncertain": result.uncertain, "Not recorded": missing}

    def next_command(self, result: GpuAnswers) -> str:
        file = existing_file(result.source)
        view = "profile {} --by operator" if result.path.by_class.get(GPU, 0) >= result.path.host_ns else "overheads {}"
        return f"perf {view.format(file)}" if file else ""

    def tables(self, result: GpuAnswers) -> Tables:
        usual = {
            (name, times): each.runtime_ns
            for each in result.scenarios
            if len(each.faster) == 1 and len(result.scenarios) > 1
            for name, times in each.faster.items()
        }
        rows: list[dict[str, Any]] = []
        for name, classes in PATH_ROWS.items():
            time = result.path.host_ns if name == "host" else sum(result.path.by_class.get(c, 0) for c in classes)
            runtimes = {
                key: usual.get((name.lower(), times)) for key, times in (("free", float("inf")), ("twice", 2.0))
            }
            if time or runtimes["free"]:
                rows.append({"class": name, "time": time, **runtimes})
            if name == "GPU" and ("collectives", 2.0) in usual:
                both = {"free": usual["collectives", float("inf")], "twice": usual["collectives", 2.0]}
                rows.append({"class": "collectives of the GPU", "time": result.collectives_ns, **both})
        whole = result.runtime_ns
        columns = [
            Column("critical path", "class"),
            Column("time", "time", "ns", "time"),
            Column("share", lambda row: row["time"] / whole, format=".1%"),
            Column("if it took no time", "free", "ns", "time"),
            Column("if twice as fast", "twice", "ns", "time"),
        ]
        tables = [Table(columns, rows)]
        if len(result.scenarios) == 1:
            tables.insert(0, _scenarios([Scenario({}, whole), *result.scenarios], whole, "default"))
        else:
            tables.append(_scenarios(list(result.scenarios), whole, "data"))
        kernels = list(result.path.by_kernel.items())
        if kernels:
            named = [
                (name, time) for name, (_, time) in zip(plain_names([k for k, _ in kernels]), kernels, strict=True)
            ]
            tables.append(_parts("kernel", named, whole))
        if result.path.by_host:
            tables.append(_parts("host activity", list(result.path.by_host.items()), whole))
        return tables


def _scenarios(scenarios: list[Scenario], whole: int, importance: Any) -> Table:
    columns = [
        Column("scenario", lambda each: each.text or "baseline"),
        Column("runtime", "runtime_ns", "ns", "time"),
        Column("change", lambda each: each.runtime_ns / whole - 1.0, format="+.1%", key=()),
    ]
    return Table(columns, scenarios, importance=importance)


def _parts(heading: str, rows: list[tuple[str, int]], whole: int) -> Table:
    columns = [
        Column(heading, 0),
        Column("time", 1, "ns", "time"),
        Column("share", lambda row: row[1] / whole, format=".1%"),
    ]
    return Table(columns, rows, f"Critical path by {heading}", "verbose", limit=20)


def _over_steps(result: GpuAnswers) -> str:
    lengths = result.steps[0].lengths_ns
    texts = []
    for each in result.steps[:2]:
        saved = sorted(each.savings_ns)
        texts.append(f"{each.text} saves {_time(sum(saved) / len(saved))} ({_time(saved[0])} to {_time(saved[-1])})")
    return f"{len(lengths)} of {_time(sum(lengths) / len(lengths))} on average; {', '.join(texts)}"


def _listed(names: Sequence[str], times: Sequence[int]) -> str:
    return ", ".join(f"{name} {_time(time)}" for name, time in zip(names, times, strict=True) if time)


def _gain(saved: int, whole: int) -> str:
    return f"{_time(saved)} ({saved / whole:.0%})" if saved else "nothing"


def _time(time_ns: float) -> str:
    return readable(time_ns, "ns", 4)
