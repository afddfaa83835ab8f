"""What ``perf overheads`` says of a trace as a page, with a form for the classes of states."""

from __future__ import annotations

import glob
import hashlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from perf_analysis.categories import NO_STATE, CategorySet, classify, named_classes, read_categories, time_by_state
from perf_analysis.concurrency import usual_categories
from perf_analysis.overhead_profile import OverheadProfile
from perf_analysis.overheads import OverheadRuns, Question, overheads_of
from perf_traces.joined_trace import run_of
from perf_traces.levels import parts_of
from perf_traces.summaries.summarized_trace import SummarizedTrace
from perf_views import contents as page
from perf_views.drawable import model_blocks
from perfcore.base.errors import PerfError
from perfcore.data.trace import Trace
from perfcore.reading import read_file
from perfcore.results import Presenter

CATEGORIES = "categories"
_PREFIX = "class."  # before a state's name in the address
_LONGEST = 60  # letters of a state in the address, which servers and browsers take a limited length of
_MOST_FIELDS = 100
_MOST_ROWS = 100  # of a table of locations that is not folded: in their order, since none matters more than others
_TITLE = "Lost cycles"
_WHERE = (
    "A category leads to its longest interval on the timeline; one that depends on what other locations do, to where "
    "there is most of it."
)


def class_stretches(trace: Trace, profile: OverheadProfile) -> dict[str, page.RunStretch]:
    """The longest interval of each class of states that lasts at all; none of a summary, which has no intervals."""
    if isinstance(trace, SummarizedTrace):
        return {}
    code_of = {state: code for code, name in enumerate(profile.classes) for state in profile.states[name]}
    class_of = np.array([code_of[state] for state in trace.states], dtype=np.int64)
    longest: dict[str, page.RunStretch] = {}
    for first, part in parts_of(trace):
        lasting, classes = part.end_ns - part.start_ns, class_of[part.state]
        for code in np.unique(classes[lasting > 0]).tolist():
            rows = np.flatnonzero(classes == code)
            row = rows[np.argmax(lasting[rows])]
            name = profile.classes[code]
            location = trace.locations[first + int(part.location[row])]
            stretch = page.RunStretch(
                int(part.start_ns[row]), int(part.end_ns[row]), location, _states(profile, (name,))
            )
            if name not in longest or stretch.duration_ns > longest[name].duration_ns:
                longest[name] = stretch
    return longest


def category_stretches(
    profile: OverheadProfile, rules: CategorySet, of_classes: dict[str, page.RunStretch]
) -> dict[str, page.RunStretch]:
    """The longest interval of each category; of one that depends on other locations, where there is most of it.

    This includes what no state records, such as a location that is idle since it is in no state.
    """
    stretches = {}
    for index in np.flatnonzero(profile.by_category_ns).tolist():
        category = rules.categories[index]
        states = _states(profile, category.classes)
        present = [of_classes[name] for name in category.classes if name in of_classes]
        if category.predicate is None and present:
            longest = max(present, key=lambda each: each.duration_ns)
            stretches[category.name] = page.RunStretch(longest.start_ns, longest.end_ns, longest.location, states)
        elif of_classes:
            most = int(np.argmax(profile.timeline_ns[index]))
            start, end = profile.timeline_edges_ns[most : most + 2].tolist()
            stretches[category.name] = page.RunStretch(start, end, states=states)
    return stretches


def _states(profile: OverheadProfile, classes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(state for name in classes for state in profile.states[name] if state != NO_STATE)


@dataclass(frozen=True)
class Classes:
    """Classes of states, as a set of categories has them and as an address says otherwise."""

    rules: CategorySet
    file: str  # where it is from; empty for the standard set
    own: dict[str, list[str]]  # patterns by class, for what is chosen otherwise than the set says
    chosen: dict[str, str]  # class of each state; empty where it has none
    given: frozenset[str]  # states that the address gives a class

    def without(self, trace: Trace) -> list[str]:
        """States that have no class."""
        return [state for state in trace.states if not self.chosen[state]]


def given_classes(trace: Trace, query: page.Query) -> Classes:
    """Classes as an address has them."""
    file = query.get(CATEGORIES, "").strip()
    rules = read_categories(file) if file else usual_categories(trace)
    named = {state: name or "" for state, name in zip(trace.states, named_classes(trace, rules), strict=True)}
    chosen = {state: query.get(_key(state)) or named[state] for state in trace.states}
    user_classes: dict[str, list[str]] = {}
    for state, name in chosen.items():
        if name != named[state]:
            user_classes.setdefault(name, []).append(glob.escape(state))
    return Classes(rules, file, user_classes, chosen, frozenset(s for s in trace.states if query.get(_key(s))))


def class_form(trace: Trace, classes: Classes) -> page.Form:
    """A field for each state, by time; as long as some have no class, for these and what was chosen for others."""
    share = _shares(trace)
    missing = set(classes.without(trace))
    listed = missing | classes.given if missing else set(trace.states)
    states = sorted(listed, key=lambda name: (name not in missing, -share[name], name))
    hidden = classes.given.intersection(states[_MOST_FIELDS:])
    fields = [page.Field(_key(name), value=classes.chosen[name], kind="hidden") for name in sorted(hidden)]
    for name in states[:_MOST_FIELDS]:
        value = classes.chosen[name]
        choices = (*(() if value else ("",)), *classes.rules.classes)
        fields.append(
            page.Field(_key(name), name, value, "choice", choices, help=f"{share[name]:.2%} of the states' time")
        )
    more = f" Of {len(states):,} states the first {_MOST_FIELDS} are here." if len(states) > _MOST_FIELDS else ""
    fields.append(_file_field(classes.file, more))
    title = "State classification" if not missing else f"Choose classes of {len(missing)} of {len(trace.states)} states"
    return page.Form(tuple(fields), (), "Show the time breakdown", title, is_folded=not missing)


def _file_field(value: str, more: str = "") -> page.Field:
    text = f"TOML file with categories of your own; empty for the standard ones.{more}"
    return page.Field(CATEGORIES, CATEGORIES, value, help=text)


def _key(state: str) -> str:
    """What a state is called in the address."""
    if len(state) <= _LONGEST:
        return _PREFIX + state
    return f"{_PREFIX}{state[: _LONGEST // 2]}~{hashlib.sha256(state.encode()).hexdigest()[:12]}"


def _shares(trace: Trace) -> dict[str, float]:
    """Time in each state over that in all of them."""
    times, _ = time_by_state(trace)
    return dict(zip(trace.states, (times / max(times.sum(), 1.0)).tolist(), strict=True))


def _view(trace: Trace, model: Any, query: page.Query, breakdowns: dict[Any, OverheadRuns]) -> page.View:
    """What ``perf overheads`` says by the classes and categories that the address chooses, and a form for these."""
    try:
        classes = given_classes(trace, query)
        form = class_form(trace, classes)
        if missing := classes.without(trace):
            text = (
                f"No pattern of {classes.rules.source} names {len(missing)} of {len(trace.states)} states of the "
                "trace, so it is not known what is lost in them; choose what each of them is."
            )
            return page.View(_TITLE, (page.Notice(text, "warning"), form))
        key = (classes.file, tuple(classes.chosen.items()))
        if key not in breakdowns:
            question = Question(phases=model, categories=classes.file or None, classes=classes.own)
            breakdowns[key] = overheads_of([trace], question, read_file)
        runs = breakdowns[key]
    except PerfError as error:
        form = page.Form((_file_field(query.get(CATEGORIES, "")),), ())
        return page.View(_TITLE, (page.Notice(str(error), "error"), form))
    return page.View(runs.title, (*_blocks(trace, runs, classes.rules), form))


def _blocks(trace: Trace, runs: OverheadRuns, rules: CategorySet) -> Iterator[page.Block]:
    """The report, whose categories and phases lead to stretches of the run; then states by class."""
    profile = runs[0]
    of_classes = class_stretches(trace, profile) if len(runs) == 1 else {}
    of_categories = category_stretches(profile, rules, of_classes)
    edges = profile.edges_ns.tolist()
    of_phases = {str(number): page.RunStretch(*ends) for number, ends in enumerate(itertools.pairwise(edges), 1)}
    for block in model_blocks(runs):
        if not isinstance(block, page.Table) or not block.header:
            yield block
            continue
        stretches = {"category": of_categories, "phase": of_phases}.get(str(block.header[0]), {})
        rows = tuple(tuple(_linked(row, stretches)) for row in block.rows)
        note = _WHERE if stretches is of_categories and of_categories else ""
        is_folded = block.header[0] == "location" and len(rows) > _MOST_ROWS
        yield replace(block, rows=rows, note=note, is_folded=is_folded)
    states = [(name, "\n".join(names)) for name, names in profile.states.items() if names]
    yield page.Table.of("States by class", ("class", "states"), (_linked(row, of_classes) for row in states))


def _linked(row: Sequence[page.Cell | str], stretches: Mapping[str, page.RunStretch]) -> list[page.Cell | str]:
    """A row, whose first cell stands for a stretch of the run where there is one."""
    first = row[0]
    if isinstance(first, str) and first in stretches:
        return [page.Cell(first, stretch=stretches[first]), *row[1:]]
    return list(row)


class TracePresenter(Presenter):
    """What the page of a trace, and that of a model of it, have of lost cycles."""

    def title(self, result: Trace) -> str:
        return _TITLE

    def views(self, result: Trace, data: Any = None, file: Path | None = None) -> page.Viewable:
        model = data if getattr(data, "phases", None) else None
        breakdowns: dict[Any, OverheadRuns] = {}
        return page.OneView(_TITLE, lambda query: _view(result, model, query, breakdowns))

    def commands(self, result: Trace, file: str) -> list[str]:
        """Where the cycles go, if the trace lasts and its usual categories have a class for every state."""
        try:
            classify(result, usual_categories(result))
            run_of(result)
        except PerfError:
            return []
        return [f"perf overheads {file}"]
