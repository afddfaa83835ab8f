"""What is said of replays: scenarios and critical paths of messages, and of host and GPU."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf_analysis.gpu_path import GAP, GPU, LATE, LAUNCH, NO_OPERATOR, OPERATOR, RETURN, RUNTIME_CALL, UNKNOWN
from perf_views.names import existing_file, plain_names, shortened
from perfcore.data.units import readable
from perfcore.report import Axis, Bars, Column, Figure, Line, Mark, Note, Plot, Points, Report, Rule, Table

if TYPE_CHECKING:
    from perf_analysis.gpu_whatif import GpuAnswers, Scenario
    from perf_analysis.replay_answers import Answer, Answers, PathShares

_MOST_NAMES, _MOST_SHARES, _MOST_COLOURS = 8, 3, 7
_MOST_KERNELS, _MOST_ACTIVITIES, _MOST_RANKS, _LETTERS = 3, 2, 4, 34
_OTHERS, _HOST = "others", "host"
_WAITS = (GAP, LAUNCH, RETURN, UNKNOWN, LATE)  # of the critical path, neither GPU nor host
_SUBJECTS = {GPU: "GPU kernels are", _HOST: "the host is", GAP: "gaps of the GPU are", LAUNCH: "launch delays are"}
_MOST_OF = 0.9  # of what a sweep gains, that is enough
_BOUND = "an ideal part has zero duration, a lower bound; recording slows calls of the host"
_MESSAGES = [
    Column("run", 0), Column("from", 2), Column("to", 3), Column("messages", 4), Column("time", 5, "ns", "time"),
    Column("share", lambda row: row[5] / max(row[1].total_ns, 1), format=".2%"),
]  # fmt: skip
_RULES = [
    Column("operation", "operation"), Column("calls", "calls"), Column("returned before", "tested"),
    Column("refuted", "refuted"), Column("blocks on", "waits_for"),
]  # fmt: skip
_SCENARIOS = [Column("scenario", 0), Column("runtime", 1, "ns", "time"), Column("change", 2, format="+.1%")]


def report_of_messages(result: Answers, data: Any = None) -> Report:
    """Return runtimes and critical paths before and after, of a run with messages."""
    best = max(result.answers, key=lambda each: abs(each.runtime_ns - result.runtime_ns))
    before, after = (readable(time, "ns", 4) for time in (result.runtime_ns, best.runtime_ns))
    figures = [Figure("runtime", best.runtime_ns / 1e9, "s", format=".4g"),
               Figure("change", best.runtime_ns / result.runtime_ns - 1.0, format="+.1%")]  # fmt: skip
    answer = f"{best.question} changes the runtime most: {before} to {after}{_gain(best, result)}"
    if best.runtime_ns == result.runtime_ns:
        answer = f"{best.question} leaves the runtime at {before}"
    times = [each.runtime_ns for each in result.answers]
    if result.sweep:
        answer = _sweep_sentence(result.swept, result.sweep, times)
    path = sorted(result.path.by_class_ns.items(), key=lambda each: -each[1])[:_MOST_SHARES]
    shares = [f"{time / max(result.path.total_ns, 1):.0%} {name}" for name, time in path]
    shared = [text for text in result.answers[0].assumptions if all(text in a.assumptions for a in result.answers)]
    violated = f"{result.contradictions} of {result.n_calls} calls violate the inferred synchronisation rules"
    notes = [*(Note("Assumed", text) for text in shared), Note("Uncertain" if result.contradictions else "Check",
             violated), Note("Critical path", ", ".join(shares))]  # fmt: skip
    file = existing_file(result.source)
    return Report(
        f"What if: {result.source}", answer, figures, _tables_of_messages(result),
        lambda: [*_sweep_plots(result, times), _plot_of_paths(result)], notes,
        f"perf profile {file} --by rank" if file else "", _details(result),
    )  # fmt: skip


def _details(result: Answers) -> list[str]:
    """Each scenario with what it assumes."""
    ranks = "1 rank" if result.n_ranks == 1 else f"{result.n_ranks} ranks"
    lines = [
        f"{result.source}: {ranks}, {result.n_calls} calls, {result.n_messages} messages, "
        f"{result.n_collectives} collectives; runtime {readable(result.runtime_ns, 'ns')}",
        "replay of the recorded run reproduces it exactly",
        *([f"estimated network: {result.network}"] if result.network else []),
        *result.remarks,
    ]
    for answer in result.answers:
        lines.append(f"{answer.question}: {readable(answer.runtime_ns, 'ns')}{_gain(answer, result)}")
        lines.append(f"  assumes: {'; '.join(answer.assumptions)}")
        if answer.otherwise_ns and answer.runtime_ns:  # the alternative that moves the answer most
            name, time = max(answer.otherwise_ns.items(), key=lambda item: abs(item[1] - answer.runtime_ns))
            lines.append(f"  sensitivity ({name}): {time / answer.runtime_ns - 1.0:+.2%}")
        if answer.value is not None:
            low, high = (readable(float(answer.value.quantile(share)), "s") for share in (0.025, 0.975))
            lines.append(f"  95% interval [{low}, {high}]")
    return lines


def _tables_of_messages(result: Answers) -> list[Table]:
    paths = _paths(result)
    messages = [(name, path, *row.values()) for name, path in (paths if len(paths) == 2 else paths[:1])
                for row in path.by_message]  # fmt: skip
    runs: list[Any] = [("baseline", result.runtime_ns, None, None)]
    for each in _changing(result.answers, result):
        ends = None if each.value is None else [1e9 * float(each.value.quantile(share)) for share in (0.025, 0.975)]
        runs.append((each.question, each.runtime_ns, each.runtime_ns / result.runtime_ns - 1.0, ends))
    questions = [
        Column("question", "question"), Column("runtime_ns", "runtime_ns"),
        Column("before_ns", lambda _: result.runtime_ns), Column("is_bound", "is_bound"),
    ]  # fmt: skip
    by_class = [(each, *item, result.runtime_ns) for each in result.answers for item in each.path.by_class_ns.items()]
    of_paths = [
        Column("question", lambda row: row[0].question), Column("runtime_ns", lambda row: row[0].runtime_ns),
        Column("before_ns", 3), Column("class", 1), Column("path_ns", 2),
    ]  # fmt: skip
    return [
        Table([*_SCENARIOS, Column("95% interval", 3, "ns", "time")], runs, importance="brief"),
        _path_table("class", paths, [each.by_class_ns for _, each in paths]),
        _path_table("rank", paths, [each.by_rank_ns for _, each in paths]),
        *([Table(_MESSAGES, messages, "Messages on the critical path", "verbose")] if messages else []),
        *([Table(_RULES, result.rules.refutations, "Observed synchronisation rules", "verbose")]
          if result.rules.refutations else []),
        Table(questions, result.answers, importance="data"), Table(of_paths, by_class, importance="data"),
    ]  # fmt: skip


def _changing(answers: Sequence[Any], result: Answers | GpuAnswers) -> list[Any]:
    """Return answers without that of a sweep's factor 1, which is the baseline, unless it differs."""
    return [each for k, each in enumerate(answers)
            if not (result.sweep and result.sweep[k] == 1.0 and each.runtime_ns == result.runtime_ns)]  # fmt: skip


def _sweep_sentence(swept: str, sweep: Sequence[float], times: Sequence[int]) -> str:
    """From the first to the last factor, and from which one on more gains next to nothing."""
    whole = times[0] - times[-1]
    enough = next(k for k, time in enumerate(times) if times[0] - time >= _MOST_OF * whole)
    text = (
        f"{swept} {sweep[0]:g}x to {sweep[-1]:g}x as fast: {_time(times[0])} to {_time(times[-1])} "
        f"({times[-1] / times[0] - 1.0:+.1%})"
    )
    if whole and enough < len(times) - 1:
        text += f", {(times[0] - times[enough]) / whole:.0%} of it by {sweep[enough]:g}x"
    return text


def _sweep_plots(result: Answers | GpuAnswers, times: Sequence[int]) -> list[Plot]:
    """Runtimes of a sweep over the factor."""
    marks: list[Mark] = [Line(result.sweep, times), Points(result.sweep, times)]
    marks.append(Rule([result.runtime_ns], "y", "recorded"))
    factor = Axis(f"{result.swept}, times as fast", scale="log", base=2, ticks=result.sweep, format="g")
    return [Plot("sweep", marks, factor, Axis("runtime", "ns", "time", (0, None)))] if result.sweep else []


def _plot_of_paths(result: Answers) -> Plot:
    """The critical path of each scenario by class."""
    paths = _paths(result)
    totals: Counter[str] = Counter()
    for _, path in paths:
        totals.update(path.by_class_ns)
    names = [name for name, _ in totals.most_common(_MOST_COLOURS - 1)]
    parts = [[path.by_class_ns.get(name, 0) for name in names] for _, path in paths]
    if len(totals) > len(names):
        names.append(_OTHERS)
        parts = [
            [*part, sum(path.by_class_ns.values()) - sum(part)] for part, (_, path) in zip(parts, paths, strict=True)
        ]
    left, bars = [0] * len(paths), []
    for number, name in enumerate(names):
        widths = [part[number] for part in parts]
        bars.append(Bars(range(len(paths)), widths, name, f"series:{number}", left, is_horizontal=True))
        left = [start + width for start, width in zip(left, widths, strict=True)]
    of_runs = Axis(scale="category", names=[label for label, _ in paths], is_reversed=True)
    return Plot("paths", bars, Axis("critical path", "ns", "time"), of_runs)


def _paths(result: Answers) -> list[tuple[str, PathShares]]:
    """The path before, and those after; of noise alone there is none, since each replay has its own."""
    changed = [each for each in result.answers if each.value is None or each.path.total_ns != result.path.total_ns]
    return [("baseline", result.path), *((each.question, each.path) for each in changed)]


def _gain(answer: Answer, result: Answers) -> str:
    change = answer.runtime_ns / result.runtime_ns - 1.0
    return f" ({change:+.2%}{', upper bound' if answer.is_bound else ''})"


def _path_table(heading: str, paths: list[tuple[str, PathShares]], times: list[Any]) -> Table:
    """A row for each name and a column for each path, with the share of the path."""
    totals = {name: max(t.get(name, 0) for t in times) for name in dict.fromkeys(n for t in times for n in t)}
    names = sorted(totals, key=lambda name: -totals[name])[:_MOST_NAMES]
    others = [_OTHERS] if len(totals) > len(names) else []
    columns = [Column(heading, [*names, *others, "sum"])]
    for (title, path), each in zip(paths, times, strict=True):
        spent = [each.get(name, 0) for name in names]
        spent += [path.total_ns - sum(spent)] if others else []
        shares = [f"{time / max(path.total_ns, 1):.2%}" for time in spent]
        columns.append(Column(title, [*shares, readable(path.total_ns, "ns")]))
    return Table(columns, title=f"Critical path by {heading}", importance="verbose")


def report_of_gpu(result: GpuAnswers, data: Any = None) -> Report:
    """Return the critical path through host and GPU by class, with runtimes next to each."""
    whole, path = result.runtime_ns, result.path
    waits = {name: time for name, time in path.by_class.items() if name in _WAITS}
    times_by_class = {GPU: path.by_class[GPU], _HOST: path.host_ns, **waits}
    longest = max(times_by_class, key=lambda name: times_by_class[name])
    of = f"{Path(result.source).name}{f', {result.region}' if result.region else ''}"
    words = _SUBJECTS.get(longest, f"{longest} is")
    name = words.rpartition(" ")[0].removeprefix("the ")
    subject = Figure(name, times_by_class[longest] / whole, format=".1%")
    text = f"{of}: {words} {subject.text} of the critical path of "
    saved = [(each.question, whole - each.runtime_ns) for each in _asked(result)]
    gains = [f"{name} saves {f'{_time(time)} ({time / whole:.0%})' if time else 'nothing'}" for name, time in saved]
    times = [each.runtime_ns for each in result.scenarios]
    gains = [_sweep_sentence(result.swept, result.sweep, times)] if result.sweep else gains
    answer = "; ".join([text + _time(whole), *([", ".join(gains)] if gains else [])])
    figures = [subject, *(Figure(name, time / whole, format=".0%") for name, time in saved)]
    file, by = existing_file(result.source), result.details
    following = f"perf {'overheads' if by == 'launch' else 'profile'} {file} --by {by}" if file else ""
    notes = [Note("Assumed", _BOUND), *(Note("Uncertain", each) for each in result.uncertain),
             *(Note("Not recorded", each) for each in result.notes), *_notes_of_gpu(result)]  # fmt: skip
    return Report(
        f"What if: {result.source}", answer, figures, _tables_of_gpu(result), lambda: _sweep_plots(result, times),
        notes, following,
    )  # fmt: skip


def _notes_of_gpu(result: GpuAnswers) -> list[Note]:
    """What the path consists of."""
    path = result.path
    lines: dict[str, str] = {}
    kernels = list(path.by_kernel.items())[:_MOST_KERNELS]
    names = plain_names([name for name, _ in kernels])
    lines["Kernels"] = _listed((name, time) for name, (_, time) in zip(names, kernels, strict=True))
    activities = _listed(list(path.by_host.items())[:_MOST_ACTIVITIES])
    classes = [("no operator (Python?)", NO_OPERATOR), (OPERATOR, OPERATOR), (RUNTIME_CALL, RUNTIME_CALL)]
    parts = _listed((label, path.by_class[name]) for label, name in classes)
    lines["Host"] = f"{parts}{f'; most: {activities}' if activities else ''}"
    if queue := result.full_queue:
        waiting = f"{queue['launches']:,} launch calls ({_time(queue['time_ns'])})"
        lines["Queue"] = f"{waiting} wait for a place in it, which is no cost of the host"
    by = max(result.least_ns, key=lambda name: result.least_ns[name])
    rest = ", ".join(f"{name} {_time(time)}" for name, time in result.least_ns.items() if name != by and time)
    lines["Lower bound"] = f"{_time(result.least_ns[by])}, {by}{f' ({rest})' if rest else ''}"
    if len(result.ranks) > 1:
        on_path = sorted(zip(path.by_rank, result.ranks, strict=True), key=lambda each: -each[0])[:_MOST_RANKS]
        shares = ", ".join(f"{rank} {time / result.runtime_ns:.1%}" for time, rank in on_path if time)
        lines["Ranks"] = f"{shares} of the path; {result.n_met:,} collectives join them"
    if lengths := result.step_lengths_ns:
        saved = [(each.question, sorted(each.step_savings_ns)) for each in _asked(result)]
        gains = [f"{name} saves {_time(sum(times) / len(times))} ({_time(times[0])} to {_time(times[-1])})"
                 for name, times in saved if times[-1]]  # fmt: skip
        lines["Steps"] = ", ".join([f"{len(lengths)} of {_time(sum(lengths) / len(lengths))} on average", *gains])
    return [Note(label, text) for label, text in lines.items() if text]


def _tables_of_gpu(result: GpuAnswers) -> list[Table]:
    whole, path = result.runtime_ns, result.path
    usual = {(each.part, each.zero_time): each.runtime_ns for each in result.scenarios if each.part}
    copies = {"copies": result.copies_ns} if ("copies", True) in usual else {}
    times = {GPU: path.by_class[GPU], **copies, "collectives": result.collectives_ns, _HOST: path.host_ns,
             **{name: path.by_class.get(name, 0) for name in _WAITS}}  # fmt: skip
    rows = [(name, time, usual.get((name.lower(), True)), usual.get((name.lower(), False)))
            for name, time in times.items() if time or (name.lower(), True) in usual]  # fmt: skip
    share = Column("share", lambda row: row[1] / whole, format=".1%")
    columns = [
        Column("critical path", 0), Column("time", 1, "ns", "time"), share,
        Column("ideal", 2, "ns", "time"), Column("2x faster", 3, "ns", "time"),
    ]  # fmt: skip
    scenarios = [(each.question, each.runtime_ns, each.runtime_ns / whole - 1.0) for each in result.scenarios]
    tables = [Table(columns, rows), Table(_SCENARIOS[:2], scenarios, importance="data")]
    if scenarios and not usual:
        changing = _changing(result.scenarios, result)
        runs = [row for row, each in zip(scenarios, result.scenarios, strict=True) if each in changing]
        tables.insert(0, Table(_SCENARIOS, [("baseline", whole, None), *runs]))
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
