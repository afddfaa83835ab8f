"""What is said of lost cycles: the answer, tables and plots of one run and of several."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_analysis import scaling_efficiencies
from perf_analysis.categories import UNSEEN
from perf_analysis.concurrency import WAITING_CATEGORY
from perf_analysis.efficiencies import COMPUTING, DEFINITIONS, factors_in_order, level_factors, meanings, of_gpus
from perf_analysis.groups import LEFT_OUT
from perf_analysis.overhead_profile import OverheadProfile, stacked
from perf_traces.messages.bursts import FACTORS, MPI, SERIALISATION
from perf_views.names import existing_file, plain_names, short_name, shortened, shortened_apart, unique_suffixes
from perfcore.data.units import readable, shown_origin
from perfcore.report import Axis, Bars, Column, Figure, Note, Plot, Report, Rule, Spans, Steps, Table, Text

if TYPE_CHECKING:
    from perf_analysis.overheads import By, OverheadRuns, Remedies

_MOST_MARKERS = 30
_LEAST_SHARE = 5e-5  # what is 0.00% in print
_LEAST_NAMED = 5e-4  # what is 0.0% in a sentence
_LEAST_LISTED = 1e-3  # of all time; categories with less are one row
_NEARLY_ALL = 0.995  # factors above it limit nothing
_MOST_FACTORS, _MOST_GAINS = 3, 2  # that a sentence names
_LEAST_GAIN = 0.005  # of the run, that is worth a word
_DOMINATES = 0.5  # from this share on, start-up is what a run does
_OPTIONS = {"balance": "--balance computing", "transfer": "--network 0"}  # of a replay, by the lowest factor
_HOST_BOUND, _EXPOSED = 0.2, 0.1  # of a GPU's time
_HIDDEN = ["(hidden communication)", "(hidden copies)"]  # in parentheses, as they are parts of computing
_NO_MESSAGES = "serialisation and transfer need messages of a whole run, and the default classes"
_EXPOSED_COPIES, _COMMUNICATION = "exposed copies", "communication loss"
_HOST, _NOT_STARTED, _EXPOSED_COMMUNICATION = "waiting for the host", "launched, not started", "exposed communication"
_WHILE_BUSY = (_EXPOSED_COMMUNICATION, WAITING_CATEGORY, _EXPOSED_COPIES)
_IDLE = (_HOST, _NOT_STARTED, "idle", "other")  # categories in which a GPU does nothing
_MOST_COLUMNS = 16  # whose numbers can be read; of more, some that lie evenly between the first and the last
# Efficiencies below have the darkest colour; POP's own tables are red from 80 % down, but half is not all.
_DARKEST, _LIGHTEST, _BRIGHT = 0.4, 1.0, 0.5
# The class of states whose colour a category has, so that the timeline and this say the same; those of other sets take
# what is left.
_CLASS_OF = {
    "pure computation": "class:computing", "computing": "class:computing", "other": "class:other",
    "load imbalance": "class:waiting", "waiting for other ranks": "class:waiting",
    "insufficient parallelism": "class:idle", "communication loss": "class:communicating",
    "exposed communication": "class:communicating", "synchronization loss": "class:synchronizing",
    _EXPOSED_COPIES: "class:transferring", "input and output": "class:io",
    "resource contention": "class:contending", "runtime overhead": "class:runtime",
    "waiting for the host": "class:runtime", "launched, not started": "class:unknown", "idle": "class:idle",
    "not running": "class:not_running", "hidden communication": "pale:communicating",
    "hidden copies": "pale:transferring",
}  # fmt: skip
_NEARLY_ALL_STEPS = 0.95  # of the elapsed time
_MOST_LETTERS = 24  # of a location's name; longer ones would take the place of the bars
_LONGEST_OPERATOR, _LONGEST_CAUSE = 60, 44
_MOSTLY = 0.5  # of the wait for the host
_BALANCED = 0.9  # of several GPUs
_MOST_TICKS = 8  # of an axis that counts locations
_MOST_BARS, _EXTREME = 40, 12  # by location; of more locations so many at either end have a bar of their own
_BAR, _LEAST_HEIGHT = 0.13, 4.1  # inches of a bar with its name, and of the plot
_DEVICES = [
    Column("GPU", "device"),
    Column("streams", "n_streams"),
    scaling_efficiencies.time_column("span", "span_ns"),
    scaling_efficiencies.time_column("computing", "computing_ns"),
    scaling_efficiencies.time_column("communicating", "communicating_ns"),
    Column("overlapped", lambda row: _ratio(row.hidden_communication_ns, row.communicating_ns), format=".3%",
           key="hidden_communication"),
    scaling_efficiencies.time_column("copying", "copying_ns"),
    Column("overlapped", lambda row: _ratio(row.hidden_copies_ns, row.copying_ns), format=".3%", key="hidden_copies"),
]  # fmt: skip
_RANKS = [
    Column("rank", "rank"),
    scaling_efficiencies.time_column("computing", "computing_ns"),
    scaling_efficiencies.time_column("delay imposed", "held_up_ns", key="held_up_all_others_by"),
    Column("last arrivals", "n_last", key="times_last"),
    scaling_efficiencies.time_column("wait time", "waited_ns", key="waited_for_others"),
]


def report_of(runs: OverheadRuns | OverheadProfile, data: Any = None) -> Report:
    """Return the report of one run, of the groups of a run, or of several runs side by side."""
    if isinstance(runs, OverheadProfile):
        return _single([runs], "category" if runs.n_phases == 1 else "phase", None, stacked([runs]))
    table, several = stacked(runs.profiles, runs.settings), len(runs.profiles) + len(runs.others) > 1
    if several and not any(each.group for each in runs.profiles) and runs.by in (None, "burst"):
        return _comparison(runs, table)
    return _single(list(runs), runs.by or "category", runs.remedies, table)


def _single(profiles: list[OverheadProfile], by: By, remedies: Remedies | None, data_table: Table) -> Report:
    n = len(profiles)
    title = f"Lost cycles of {n} runs" if n > 1 else f"Lost cycles: {_name(profiles[0])}"
    sentences, figures = zip(*[_answer(profile, remedies) for profile in profiles], strict=True)
    is_grouped = len(profiles) > 1 and all(profile.group for profile in profiles)
    groups = "applications" if profiles[0].group.startswith("application") else "groups"
    answer = f"{len(profiles)} {groups}: {'; '.join(sentences)}" if is_grouped else sentences[0]
    brief: list[Table] = []
    full: list[Table] = []
    for profile in profiles:
        run = f"{_name(profile)}: " if len(profiles) > 1 else ""
        first, *others = _brief(profile, by)
        longest = [] if remedies is None or not remedies.longest else [_longest_table(remedies)]
        named = (replace(each, title=f"{run}{each.title}".removesuffix(": ")) for each in [first, *others])
        brief += [next(named), *longest, *named]
        full += [replace(table, title=f"{run}{table.title}") for table in profile_tables(profile, by)]
    notes = _notes(profiles[0].notes if len(profiles) == 1 else common_notes(profiles))
    silent = [] if remedies is None or not remedies.note else [Note("Uncertain", remedies.note)]
    notes = [*silent, *(note for profile in profiles[:1] for note in _about(profile)), *notes]
    return Report(
        title, answer, [each for part in figures for each in part],
        [data_table, *(replace(table, importance="data") for table in full[1:]),
         *(replace(table, importance="brief") for table in brief),
         *(replace(table, importance="verbose") for table in full)],
        lambda: profile_plots(profiles[0]), notes, _next(profiles[0], remedies) if len(profiles) == 1 else "",
        [*(() if is_grouped else sentences[1:]), *(() if of_gpus(profiles[0]) else DEFINITIONS)],
    )  # fmt: skip


def _comparison(runs: OverheadRuns, data_table: Table) -> Report:
    profiles = list(runs)
    check, n = scaling_efficiencies.limit(profiles), len(profiles)
    head = f"{n} run{'s' * (n != 1)}"
    sentence, figures = check or (f"{head}: {_answer(profiles[-1])[0]}", _answer(profiles[-1])[1])
    bursts = scaling_efficiencies.burst_tables(profiles) if runs.by == "burst" else []
    if runs.by == "burst" and not bursts:  # all runs have one size
        bursts = [table for profile in profiles if (table := scaling_efficiencies.burst_table(profile)) is not None]
    tables = [*bursts[::-1], *scaling_efficiencies.scaling_table(profiles, runs.others), *_breakdown_by_run(profiles)]
    files = existing_file(*(profile.source for profile in profiles))
    sizes = {len(profile.locations) for profile in profiles}
    following = ""
    if files and not runs.others:
        following = f"perf project {files} --at p={2 * max(sizes)}" if len(sizes) > 1 else (
            "a run at another number of locations: perf project needs two or more")  # fmt: skip
    return Report(
        f"Lost cycles of {n} runs", f"{head}: {sentence}" if check else sentence, figures, [data_table, *tables],
        lambda: comparison_plots(runs), _notes(common_notes(profiles)), following,
        scaling_efficiencies.work_differs(profiles),
    )  # fmt: skip


def _name(profile: OverheadProfile) -> str:
    return f"{Path(profile.source).name or profile.source}{f', {profile.group}' if profile.group else ''}"


def _answer(profile: OverheadProfile, remedies: Remedies | None = None) -> tuple[str, list[Figure]]:
    """The sentence on one run, and its numbers."""
    n, elapsed = len(profile.locations), Figure("elapsed time", readable(profile.elapsed_ns, "ns", 4), key="elapsed")
    if of_gpus(profile):
        figures = _gpu_figures(profile)
        size = f"{n} GPUs x {elapsed.text}" if n > 1 else elapsed.text
        if remedies is not None and remedies.steps > 1:
            steps = f"{remedies.steps} steps of {readable(remedies.step_ns, 'ns', 4)}"
            covered = remedies.steps * remedies.step_ns / profile.elapsed_ns
            is_all = _NEARLY_ALL_STEPS < covered < 1 / _NEARLY_ALL_STEPS
            size = steps if is_all else f"{size} with {steps}"
        words = {each.name: f"{each.name} {each.text}" for each in figures}
        if _HOST in words and (host := _host_cause(profile, remedies)):
            words[_HOST] += f" ({host[1]:.0%} of it in {shortened(host[0], _LONGEST_CAUSE)})"
        exposed = ", ".join(words.pop(name) for name in _WHILE_BUSY if name in words)
        busy, *others = words.values()
        if (balance := _balance_of_gpus(profile)) < _BALANCED:
            others.append(f"load balance {balance:.1%}")
        text = f"{_name(profile)}, {size}: {', '.join([f'{busy} ({exposed})' if exposed else busy, *others])}"
    else:
        size = f"{n} location{'s' * (n != 1)} x {elapsed.text}"
        parallel, factors = _limits(profile)
        losses = [Figure(name, time / profile.total_ns, format=".1%") for name, time, _ in _losses(profile)]
        losses = [each for each in losses if each.value >= _LEAST_NAMED]
        if parallel is None:
            figures = losses[:2]
            text = f"{_name(profile)}: {', '.join(f'{each.text} {each.name}' for each in figures)} of {size}"
        else:
            lost = factors or [each for each in losses if each.name not in ("pure computation", "computing")][:2]
            figures = [parallel, *lost]
            parts = ", ".join(f"{each.name} {each.text}" for each in lost)
            text = f"{_name(profile)}, {size}: {parallel.name} {parallel.text}{f': {parts}' if parts else ''}"
    dominates = profile.startup_ns >= _DOMINATES * profile.elapsed_ns
    if dominates:  # whose time is in all other factors
        figures = [Figure("start-up", profile.startup_ns / profile.elapsed_ns, format=".1%"), *figures[:1]]
        head, _, tail = text.partition(": ")
        text = f"{head}: start-up {figures[0].text} (until MPI_Init ends); {tail.partition(': ')[0]}"
    known = () if remedies is None or dominates else remedies.gains
    if gains := [each for each in known if each.share >= _LEAST_GAIN][:_MOST_GAINS]:
        savings = [f"{each.share:.1%}" for each in gains]
        savings[0] = f"would save {'at most ' * gains[0].is_bound}{savings[0]}{gains[0].of}"  # all are of the same time
        options = [f" (whatif {g.option})" if g.command == "whatif" and g.option else "" for g in gains]
        remedy_texts = zip(gains, savings, options, strict=True)
        text += f"; {', '.join(f'{gain.question} {saving}{option}' for gain, saving, option in remedy_texts)}"
        figures += [Figure(each.question, each.share, format=".1%") for each in gains]
    return text, figures


def _host_cause(profile: OverheadProfile, remedies: Remedies | None) -> tuple[str, float] | None:
    """Return what the host does for most of the time that GPUs wait for it, if that is much."""
    host = None if remedies is None else remedies.host
    waits = _shares_of_all(profile).get(_HOST, 0.0)
    return host if host is not None and host[1] >= _MOSTLY and waits >= _HOST_BOUND else None


def _balance_of_gpus(profile: OverheadProfile) -> float:
    """Mean over longest computing of several GPUs; 1 of one, or where none computes."""
    efficiencies = profile.efficiencies()
    balance = 1.0 if efficiencies is None else float(efficiencies["load_balance"][0])
    return 1.0 if len(profile.locations) == 1 or np.isnan(balance) else balance


def _gpu_figures(profile: OverheadProfile) -> list[Figure]:
    """Shares of GPUs' time: busy, and what they wait for."""
    shares = _shares_of_all(profile)
    named = {_HOST: _HOST, "launched but not started": _NOT_STARTED, **{name: name for name in ("idle", *_WHILE_BUSY)}}
    parts = [Figure(name, shares.get(category, 0.0), format=".1%") for name, category in named.items()]
    busy = 1.0 - sum(shares.get(name, 0.0) for name in _IDLE)
    return [Figure("device busy", busy, format=".1%"), *(each for each in parts if each.value >= _LEAST_SHARE)]


def _shares_of_all(profile: OverheadProfile) -> dict[str, float]:
    return dict(zip(profile.categories, (profile.by_category_ns / profile.total_ns).tolist(), strict=True))


def _limits(profile: OverheadProfile) -> tuple[Figure | None, list[Figure]]:
    """Parallel efficiency, and the lowest of the factors that the table shows; none of a run without communication."""
    efficiencies = profile.efficiencies()
    if efficiencies is None or np.isnan(efficiencies["parallel"][0]):
        return None, []
    factors = factors_in_order(profile)
    parallel = Figure("parallel efficiency", float(efficiencies["parallel"][0]), format=".1%")
    if not (profile.threads or profile.communicates):
        return parallel, []
    lowest = sorted(factors, key=lambda name: factors[name])[:_MOST_FACTORS]
    limiting = [name for name, value in factors.items() if name in lowest and value < _NEARLY_ALL]
    return parallel, [Figure(name, factors[name], format=".1%") for name in limiting]


def _about(profile: OverheadProfile) -> list[Note]:
    """Notes on how categories and factors go together, and on start-up."""
    notes = []
    efficiencies = profile.efficiencies()
    if efficiencies is not None and not profile.threads and not profile.devices:
        lost = 1.0 - float(efficiencies["load_balance"][0])
        if lost > 1.0 - _NEARLY_ALL:
            in_time = (
                lost * float(efficiencies["parallel"][0]) / (1.0 - lost)
            )  # longest less mean computing, of the run
            text = f"load imbalance ({lost:.1%}) is time inside communication calls, which categories count there"
            if not profile.communicates or in_time > _shares_of_all(profile).get(_COMMUNICATION, 1.0) + 1e-9:
                text = "load balance compares computing times; the category is idle time while work is available"
            notes.append(Note("Note", text))
    if profile.startup_ns and profile.startup_ns < _DOMINATES * profile.elapsed_ns:
        share = profile.startup_ns / profile.elapsed_ns
        notes.append(Note("Note", f"start-up (until MPI_Init ends): {share:.1%} of the run"))
    return notes


def _notes(texts: Sequence[str]) -> list[Note]:
    assumed = [Note("Assumed", text.removeprefix("assumes: ")) for text in texts if text.startswith("assumes: ")]
    left_out = [Note("Left out", text.replace(f" {LEFT_OUT}", "")) for text in texts if LEFT_OUT in text]
    others = [Note("Uncertain", text) for text in texts
              if not text.startswith(("assumes: ", UNSEEN)) and LEFT_OUT not in text]  # fmt: skip
    unseen = [Note("Not recorded", text.removeprefix(UNSEEN)) for text in texts if text.startswith(UNSEEN)]
    return [*assumed, *others, *unseen, *left_out]


def _next(profile: OverheadProfile, remedies: Remedies | None) -> str:
    """The command that follows from what is lost most."""
    file = existing_file(profile.source)
    if not file:
        return ""
    if profile.startup_ns >= _DOMINATES * profile.elapsed_ns:
        return f"perf overheads {file} --from {profile.startup_ns / 1e9:.9g}s"
    shares = _shares_of_all(profile)
    if profile.devices:
        if shares.get(_HOST, 0.0) >= _HOST_BOUND and remedies is not None:  # of whose launches more is known
            return f"perf whatif {file}" if _host_cause(profile, remedies) else f"perf overheads {file} --by launch"
        exposed = shares.get(_EXPOSED_COMMUNICATION, 0.0) + shares.get(WAITING_CATEGORY, 0.0)
        are_recorded = exposed >= _EXPOSED and bool(profile.exposed_ns)
        if remedies is not None and not are_recorded and _balance_of_gpus(profile) < _BALANCED:
            return f"perf overheads {file} --by location"
        return f"perf messages {file}" if are_recorded else f"perf profile {file}"
    factors = {} if profile.replayed is None else factors_in_order(profile)
    lowest = min(factors, key=lambda name: factors[name], default="")
    gain = remedies.gains[0] if remedies is not None and remedies.gains else None
    if gain is not None and lowest.removeprefix(MPI) == SERIALISATION:
        lost = 1.0 - factors[lowest] - profile.startup_ns / profile.elapsed_ns
        gain = gain if gain.share > lost else None  # neither balance nor the network, but the order of the run
    if gain is not None and gain.share >= _LEAST_GAIN:
        return f"perf {gain.command} {file} {gain.option}".strip()
    if lowest and factors[lowest] < _NEARLY_ALL:
        options = _OPTIONS if gain is None else {}  # else the replays of these save next to nothing
        option = next((option for word, option in options.items() if word in lowest), "")
        return f"perf whatif {file} {option}".strip()
    return f"perf profile {file}"


def common_notes(profiles: Sequence[OverheadProfile]) -> list[str]:
    """What must be known about several runs; notes that differ in one number are one."""
    texts: dict[str, set[int]] = {}
    for note in (note for profile in profiles for note in profile.notes):
        number = re.match(r"\d+ ", note)  # a note that counts something begins with the count
        text, counts = (note[number.end() :], {int(number[0])}) if number else (note, set[int]())
        texts.setdefault(text, set()).update(counts)
    ranges = {text: f"{min(counts)} to {max(counts)} " for text, counts in texts.items() if len(counts) > 1}
    return [ranges.get(text, "".join(f"{count} " for count in counts)) + text for text, counts in texts.items()]


def profile_tables(profile: OverheadProfile, by: By = "category") -> list[Table]:
    """Return tables by category, which come always, and as asked; then of GPUs, ranks and efficiencies."""
    known = [
        None if name in profile.untold and not time else int(time)
        for name, time in zip(profile.categories, profile.by_category_ns, strict=True)
    ]
    rows = zip(profile.categories, known, profile.texts, strict=True)
    tables = [_category_table(profile, rows, ".2%", "Lost cycles by category"), *_asked(profile, by)]
    if profile.devices:
        idle = Column("idle", lambda device: device.idle_ns / profile.elapsed_ns, format=".2%")
        title = "GPU overlap (overlapped: concurrent with compute on another stream)"
        tables.append(Table([*_DEVICES, idle], profile.devices, title))
    if profile.ranks:
        ranks = sorted(profile.ranks, key=lambda each: -each.held_up_ns)
        tables.append(Table(_RANKS, ranks, "Wait time in collectives by rank"))
    by_phase = by == "phase" and profile.n_phases > 1
    efficiencies = _gpu_table(profile) if of_gpus(profile) else _efficiency_table(profile, by_phase)
    return [*tables, *efficiencies, *_level_table(profile)]


def _brief(profile: OverheadProfile, by: By) -> list[Table]:
    """Categories that occur, the largest first, the breakdown that was asked for, and efficiencies."""
    rows = _losses(profile)
    small = [row for row in rows if row[1] < _LEAST_LISTED * profile.total_ns]
    if len(small) > 1:
        rows = [*rows[: -len(small)], (f"{len(small)} others", sum(row[1] for row in small), "")]
    tables = [_category_table(profile, rows, ".1%"), *_asked(profile, by)]
    if of_gpus(profile):
        return [*tables, *_gpu_table(profile)]
    efficiencies = [replace(each, title="", drops_empty=True) for each in _efficiency_table(profile, by_phase=False)]
    return [*tables, *efficiencies, *_level_table(profile)]


def _category_table(
    profile: OverheadProfile, rows: Iterable[tuple[str, int | None, str]], digits: str, title: str = ""
) -> Table:
    """Return a row for each category and the total."""
    whole = profile.total_ns
    columns = [
        Column("category", 0),
        scaling_efficiencies.time_column("total time", 1),
        Column("share", lambda row: None if row[1] is None else row[1] / whole, format=digits),
        Column("meaning", 2),
    ]
    return Table(columns, [*rows, ("total", whole, "locations x elapsed time")], title)


def _asked(profile: OverheadProfile, by: By) -> list[Table]:
    """The table next to the categories."""
    if by == "location":
        columns = [Column("location", profile.locations), *_shares(profile.categories, profile.by_location_ns)]
        return [Table(columns, title="Time breakdown by location")]
    table = {"phase": _phase_table, "marker": _marker_table, "burst": scaling_efficiencies.burst_table}.get(by)
    asked = None if table is None else table(profile)
    return [] if asked is None else [asked]


def _losses(profile: OverheadProfile) -> list[tuple[str, int, str]]:
    """Name, time and meaning of the categories that occur, the largest first."""
    rows = zip(profile.categories, profile.by_category_ns.tolist(), profile.texts, strict=True)
    return sorted((row for row in rows if row[1]), key=lambda row: -row[1])


def _longest_table(remedies: Remedies) -> Table:
    names = [name for name, *_ in remedies.longest]
    names = shortened_apart(names, _LONGEST_OPERATOR) if remedies.kind == "operator" else plain_names(names)
    rows = [(name, *row[1:]) for name, row in zip(names, remedies.longest, strict=True)]
    columns = [
        Column(f"longest {remedies.kind}s{remedies.where}", 0, key=remedies.kind),
        Column("time", 1, "ns", "time"),
        Column("share", lambda row: row[1] / remedies.whole_ns, format=".1%"),
        Column("calls", 2),
    ]
    return Table(columns, rows)


def _breakdown_by_run(profiles: Sequence[OverheadProfile]) -> list[Table]:
    """A row for each category and a column for each run, the smallest first."""
    names = unique_suffixes([each.source for each in profiles])
    shares = np.array([each.by_category_ns / each.total_ns for each in profiles]).T
    chosen = [row for row in np.argsort(-shares.max(axis=1), kind="stable").tolist()
              if (shares[row] >= _LEAST_SHARE).any()]  # fmt: skip
    runs = sorted(range(len(profiles)), key=lambda run: len(profiles[run].locations))
    sizes = [len(each.locations) for each in profiles]

    def head(run: int) -> str:
        name = f"p={sizes[run]}" if sizes.count(sizes[run]) == 1 else names[run]
        return f"{name}, {readable(profiles[run].elapsed_ns, 'ns', 4)}"

    columns = [Column(head(run), shares[chosen, run], format=".1%", key=names[run]) for run in runs]
    categories = Column("category", [profiles[0].categories[row] for row in chosen])
    brief = (
        columns
        if len(columns) <= scaling_efficiencies.MOST_RUNS
        else [columns[0], *columns[1 - scaling_efficiencies.MOST_RUNS :]]
    )
    return [Table([categories, *brief], importance="brief"), Table([categories, *columns], importance="verbose")]


def _phase_table(profile: OverheadProfile) -> Table:
    edges = profile.edges_ns
    origin = int(shown_origin(int(edges[0]), int(edges[-1])))
    columns = [
        Column("phase", np.arange(1, len(edges))),
        Column("start", edges[:-1] - origin, "ns", "time"),
        Column("duration", np.diff(edges), "ns", "time"),
        *_shares(profile.categories, profile.by_phase_ns),
    ]
    if profile.devices and "hidden communication" not in profile.categories:  # overlap is no category
        columns += _shares(_HIDDEN, profile.hidden_ns.sum(axis=1), profile.by_phase_ns.sum(axis=0))
    since = f", start since {origin} ns" if origin else ""
    return Table(columns, title=f"Time breakdown by phase{since}")


def _marker_table(profile: OverheadProfile) -> Table:
    markers = profile.markers
    cycles = np.array([each.cycles_ns for each in markers]).T
    columns = [
        Column("marker", [short_name(each.name) for each in markers]),
        Column("times", [each.count for each in markers]),
        scaling_efficiencies.time_column("elapsed", [each.elapsed_ns for each in markers]),
        *_shares(profile.categories, cycles),
    ]
    if profile.devices and "hidden communication" not in profile.categories:  # overlap is no category
        hidden = np.array([(each.hidden_communication_ns, each.hidden_copies_ns) for each in markers]).T
        columns += _shares(_HIDDEN, hidden, cycles.sum(axis=0))
    return Table(columns, title="Time breakdown by marker", limit=_MOST_MARKERS)


def _gpu_table(profile: OverheadProfile) -> list[Table]:
    """What GPUs lose by cause, each as a share of 1; of one GPU the categories say it."""
    efficiencies = profile.efficiencies()
    if len(profile.locations) == 1 or efficiencies is None:
        return []
    shares = _shares_of_all(profile)
    busy = 1.0 - sum(shares.get(name, 0.0) for name in _IDLE)
    rows = [
        ("device busy", busy, "mean time in which a GPU does anything / elapsed"),
        *(
            (name, None if category in profile.untold else 1.0 - shares.get(category, 0.0), f"1 - {category}")
            for name, category in (("host", _HOST), ("launch", _NOT_STARTED))
        ),
        ("communication", _ratio(shares.get(COMPUTING, 0.0), busy), "computing / device busy"),
        ("load balance", _balance_of_gpus(profile), "mean / longest computing of a GPU"),
    ]
    columns = [Column("GPU efficiency", 0), Column("value", 1, format=".1%"), Column("meaning", 2)]
    return [Table(columns, rows)]


def _efficiency_table(profile: OverheadProfile, by_phase: bool) -> list[Table]:
    efficiencies = profile.efficiencies()
    if efficiencies is None:
        return []
    parts = profile.efficiencies(by_phase=True) if by_phase else None
    n_parts = 0 if parts is None else profile.n_phases
    columns = [Column("POP efficiency", ["run", *(f"phase {number}" for number in range(1, n_parts + 1))])]
    for name, shares in efficiencies.items():
        of_parts = None if parts is None else parts[name]
        values = [np.nan] if shares is None else shares.tolist()
        values += [np.nan] * n_parts if of_parts is None else of_parts.tolist()
        is_other = name == "communication" and not (profile.communicates or profile.devices)
        columns.append(Column("busiest location" if is_other else name.replace("_", " "), values, format=".1%"))
    reason = _NO_MESSAGES
    if (replayed := profile.replayed) is not None:
        whose = "inferred from the trace" if replayed.definition == "strict" else "of BSC's tools"
        reason = (
            f"synchronisation rules {whose}, violated by {replayed.contradictions} of {replayed.calls} calls; ideal "
            f"network {readable(replayed.ideal_ns, 'ns')}"
        )
    elif profile.devices:
        reason = "serialisation and transfer: the kernels of collectives both wait and transfer"
    return [Table(columns, title=f"Efficiencies ({reason})", drops_empty=False)]


def _level_table(profile: OverheadProfile) -> list[Table]:
    """Factors of MPI x OpenMP, and what each means."""
    factors, factor_meanings = level_factors(profile), meanings(profile)
    if not factors:
        return []
    title = "Efficiencies of GPUs, as TALP defines them"
    if not of_gpus(profile):
        counts = sorted({each.n_threads for each in profile.threads})
        each = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        n = len(profile.threads)
        title = f"Efficiencies of MPI x OpenMP ({n} process{'es' if n > 1 else ''} of {each} threads)"
    meaning = Column("meaning", lambda row: factor_meanings[row[0]])
    return [Table([Column("factor", 0), Column("value", 1, format=".1%"), meaning], list(factors.items()), title)]


def _shares(names: Sequence[str], times: Any, totals: Any = None) -> list[Column]:
    """Columns of (n_names, n) times as shares of the sum of all; none of those in which nothing is lost."""
    shares = times / (times.sum(axis=0) if totals is None else totals)
    return [
        Column(name, row, format=".2%") for name, row in zip(names, shares, strict=True) if (row >= _LEAST_SHARE).any()
    ]


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def profile_plots(profile: OverheadProfile) -> list[Plot]:
    """Return categories over time, stacked, and by location."""
    edges = profile.timeline_edges_ns
    origin = int(shown_origin(int(edges[0]), int(edges[-1])))
    places = (edges - origin).tolist()
    below = np.zeros(len(edges) - 1)
    areas: list[Any] = []
    for index, label, colour in _present(profile):
        above = below + profile.timeline_ns[index] / np.diff(edges)
        areas.append(Steps(places, above.tolist(), label, colour, is_filled=True, base=below.tolist()))
        below = above
    if profile.n_phases > 1:
        areas.append(Rule((profile.edges_ns[1:-1] - origin).tolist(), label="phases", colour="data"))
    time = Axis(f"time since {origin} ns" if origin else "time", "ns", "time", (places[0], places[-1]))
    height = max(_LEAST_HEIGHT, _BAR * min(len(profile.locations), _MOST_BARS) + 0.5)
    n = len(profile.locations)
    count = Axis("locations", limits=(0.0, n), ticks=range(n + 1) if n <= _MOST_TICKS else ())
    return [Plot("time", areas, time, count, height=height, width=0.75), _by_location(profile)]


def _by_location(profile: OverheadProfile) -> Plot:
    count = len(profile.locations)
    shares, title = profile.by_location_ns / profile.elapsed_ns, "by location"
    members = np.split(np.arange(count), count)
    if count > _MOST_BARS:  # the extreme ones, and the others as means of those that are like them
        category = int(np.argmax(np.ptp(profile.by_location_ns, axis=1)))
        order = np.argsort(-shares[category], kind="stable")
        groups = np.array_split(order[_EXTREME:-_EXTREME], min(count, _MOST_BARS) - 2 * _EXTREME)
        members = [*np.split(order[:_EXTREME], _EXTREME), *groups, *np.split(order[-_EXTREME:], _EXTREME)]
        title = f"by location: most and least\n{shortened(profile.categories[category], _MOST_LETTERS)}"
    shares = np.column_stack([shares[:, group].mean(axis=1) for group in members])
    names = [
        shortened(profile.locations[group[0]], _MOST_LETTERS) if len(group) == 1 else f"mean of {len(group):,}"
        for group in members
    ]
    bars = _stacked_bars(shares, _present(profile), 1.0 if 20 <= len(names) <= _MOST_BARS else 0.9)
    of_time = Axis("share of time", limits=(0.0, 1.0), format=".0%")
    of_rows = Axis(scale="category", names=names, is_reversed=True)
    return Plot("locations", bars, of_time, of_rows, title, width=0.25)


def _stacked_bars(shares: Any, present: Sequence[tuple[int, str, str]], width: float = 0.8) -> list[Bars]:
    """Bars (n,) of each category, one behind the other."""
    left, bars = np.zeros(shares.shape[1]), []
    for index, label, colour in present:
        values = shares[index]
        bars.append(Bars(range(len(left)), values.tolist(), label, colour, left.tolist(), True, width))
        left = left + values
    return bars


def _present(profile: OverheadProfile) -> list[tuple[int, str, str]]:
    """Number, label and colour of each category that has any time."""
    used = set(_CLASS_OF.values())
    others = (colour for colour in itertools.cycle(f"area:{k}" for k in range(10)) if colour not in used)
    colours = [_CLASS_OF.get(name) or next(others) for name in profile.categories]
    present = np.flatnonzero(profile.by_category_ns).tolist()
    return [(index, shortened(profile.categories[index], _MOST_LETTERS), colours[index]) for index in present]


def comparison_plots(runs: OverheadRuns) -> list[Plot]:
    """Return the share of each category in each of several runs, and the table of their efficiencies."""
    profiles = list(runs)
    shares = np.array([profile.by_category_ns / profile.total_ns for profile in profiles]).T
    present = {each for profile in profiles for each in _present(profile)}
    names = [
        f"{shortened(name, _MOST_LETTERS)} ({len(profile.locations)})"
        for name, profile in zip(unique_suffixes([each.source for each in profiles]), profiles, strict=True)
    ]
    of_time = Axis("share of the run's cycles", limits=(0.0, 1.0), format=".0%")
    bars = _stacked_bars(shares, sorted(present))
    of_runs = Axis("run (locations)", scale="category", names=names, is_reversed=True)
    plots = [Plot("categories", bars, of_time, of_runs, height=2.4, width=1.0)]
    rows = scaling_efficiencies.efficiencies_of_runs(profiles) or []
    columns = [(len(each.locations), each.source, row) for each, row in zip(profiles, rows, strict=False)]
    columns += [(other.p, other.source, dict(other.factors)) for other in runs.others]
    columns.sort(key=lambda column: column[0])
    return [*plots, *([_efficiency_plot(columns)] if columns else [])]


def _efficiency_plot(columns: list[tuple[int, str, dict[str, float | None]]]) -> Plot:
    """Numbers in cells, darker for less, so that they can be read without colours."""
    if len(columns) > _MOST_COLUMNS:
        columns = [columns[index] for index in np.unique(np.linspace(0, len(columns) - 1, _MOST_COLUMNS).astype(int))]
    factors = [name for name in FACTORS if any(values.get(name) is not None for *_, values in columns)]
    cells = [(column, row, values.get(name)) for row, name in enumerate(factors)
             for column, (*_, values) in enumerate(columns)]  # fmt: skip
    known = [(column, row, share) for column, row, share in cells if share is not None]
    sizes = [(share - _DARKEST) / (_LIGHTEST - _DARKEST) for *_, share in known]
    spans = Spans(
        [column - 0.48 for column, *_ in known], [column + 0.48 for column, *_ in known], "",
        [f"size:{min(max(size, 0.0), 1.0):.4f}" for size in sizes],
        [row - 0.48 for _, row, _ in known], [row + 0.48 for _, row, _ in known],
    )  # fmt: skip
    texts = []
    for colour, is_bright in (("paper", False), ("data", True)):
        if each := [cell for cell, size in zip(known, sizes, strict=True) if (size >= _BRIGHT) == is_bright]:
            columns_of, rows_of, shares = zip(*each, strict=True)
            texts.append(Text(columns_of, rows_of, [f"{share:.1%}" for share in shares], colour, "center"))
    heads = [f"{p} ({shortened(Path(source).name, _MOST_LETTERS)})" for p, source, _ in columns]
    title = "POP efficiencies (darker is less)"
    runs = Axis("locations", scale="category", names=heads)
    of_factors = Axis(scale="category", names=factors, is_reversed=True)
    return Plot("efficiencies", [spans, *texts], runs, of_factors, title, height=3.2, width=1.0)
