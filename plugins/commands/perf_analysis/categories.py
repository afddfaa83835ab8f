"""Which class each state of a trace belongs to, and which states a count counts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from perf_formulas.formula import Formula, read_toml
from perf_formulas.parser import FormulaError
from perf_traces.levels import parts_of
from perf_traces.states import COMPUTING, MARKER, OTHER, matches, state_classes
from perf_traces.summaries.summarized_trace import SummarizedTrace
from perfcore.base.errors import DataError, InputError, UnknownNameError, key_first, listing
from perfcore.data.trace import Trace
from perfcore.data.units import readable

STANDARD = Path(__file__).with_name("standard.toml")
GPU = Path(__file__).with_name("gpu.toml")
STREAMS = Path(__file__).with_name("streams.toml")

LOCATIONS, READY, WORK_EXISTS = "locations", "ready", "work_exists"
WAITING = "waiting_for_ranks"  # the class of a set with waiting in collectives
UNSEEN = "not observable in this trace: "  # before the names of categories, in notes
_MOST_CATEGORIES = 62  # one bit of an int64 for each
NO_STATE = "(no state)"


@dataclass(frozen=True)
class Category:
    """One kind of cycles."""

    name: str
    classes: tuple[str, ...]  # classes of states whose cycles belong to it while the predicate holds
    predicate: Formula | None  # over counts of locations; None holds always
    text: str  # what it means, in a few words


@dataclass(frozen=True)
class CategorySet:
    """Categories and the classes of states that they are made of."""

    categories: tuple[Category, ...]
    classes: dict[str, tuple[str, ...]]  # patterns of state names by class
    counts: dict[str, tuple[str, ...]]  # patterns of state names by the name that predicates use
    computing_states: str | None  # class of states that no pattern names but the trace counts as computing
    without_state: str  # class of a location that is in no state
    needs: tuple[str, ...]  # classes and counts that a trace must have
    source: str  # the file, for messages
    counts_over: str = "run"  # whose locations predicates count: all, or those of the same GPU

    @property
    def variables(self) -> tuple[str, ...]:
        """Names that the predicates use, each once."""
        names = (name for category in self.categories if category.predicate for name in category.predicate.names)
        return tuple(dict.fromkeys(names))


class _CategoryTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    of: str | list[str]
    when: str | None = None
    text: str = ""


class _CategoryFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    classes: dict[str, list[str]]
    category: list[_CategoryTable]
    counts: dict[str, list[str]] = {}
    computing_states: str | None = None
    without_state: str = "idle"
    needs: list[str] | None = None
    counts_over: Literal["run", "device"] = "run"


def read_categories(path: str | os.PathLike[str] | None = None) -> CategorySet:
    """Read a set of categories."""
    chosen = path or STANDARD
    source = Path(chosen).name if chosen in (STANDARD, GPU, STREAMS) else os.fspath(chosen)
    try:
        file = msgspec.convert(read_toml(chosen, "`perf overheads --print-categories` prints one"), _CategoryFile)
    except msgspec.ValidationError as error:
        raise InputError(source, key_first(error)) from None
    _check_names(file, source)
    categories = tuple(_category(file, table, f"category[{k}]", source) for k, table in enumerate(file.category))
    classes, counts = ({name: tuple(each) for name, each in group.items()} for group in (file.classes, file.counts))
    used = (name for category in categories if category.predicate for name in category.predicate.names)
    used = ("computing" if name == WORK_EXISTS else name for name in dict.fromkeys(used))
    needs = [name for name in used if name in classes or name in counts] if file.needs is None else file.needs
    return CategorySet(
        categories, classes, counts, file.computing_states, file.without_state, tuple(needs), source, file.counts_over
    )


def _check_names(file: _CategoryFile, source: str) -> None:
    """Refuse names that a predicate could not use, that mean two things, or that nothing is defined under."""
    if not file.category:
        raise InputError(source, "category: there is none; write a [[category]] table for each")
    if len(file.category) > _MOST_CATEGORIES:
        raise InputError(source, f"category: {len(file.category)} are defined; at most {_MOST_CATEGORIES} can be")
    for group, names in (("classes", file.classes), ("counts", file.counts)):
        for name in names:
            try:
                is_variable = Formula(name).names == (name,)
            except FormulaError:
                is_variable = False
            if not is_variable:
                raise InputError(source, f"{group}.{name}: a name of letters, digits and _ is expected")
            if name in (LOCATIONS, READY, WORK_EXISTS) or (group == "counts" and name in file.classes):
                raise InputError(source, f"{group}.{name}: the name has a meaning already; choose another")
    _check_known(file.without_state, file.classes, "class", "without_state", source)
    if file.computing_states is not None:
        _check_known(file.computing_states, file.classes, "class", "computing_states", source)
    for name in file.needs or ():
        _check_known(name, [*file.classes, *file.counts], "class or count", "needs", source)
    names_of_categories = [table.name for table in file.category]
    for name in names_of_categories:
        if names_of_categories.count(name) > 1:
            raise InputError(source, f"category: two are named {name!r}")


def _category(file: _CategoryFile, table: _CategoryTable, key: str, source: str) -> Category:
    classes = (table.of,) if isinstance(table.of, str) else tuple(table.of)
    for name in classes:
        _check_known(name, file.classes, "class", f"{key}.of", source)
    try:
        return Category(table.name, classes, None if table.when is None else Formula(table.when), table.text)
    except FormulaError as error:
        raise InputError(source, f"{key}.when: {error}") from None


def _check_known(name: str, names: list[str] | dict[str, list[str]], kind: str, key: str, source: str) -> None:
    if name not in names:
        raise InputError(source, f"{key}: {UnknownNameError(kind, name, names)}")


@dataclass(frozen=True)
class StateClasses:
    """The states of a trace as a set of categories sees them; the last state is `NO_STATE`."""

    states: tuple[str, ...]  # the trace's, and `NO_STATE`
    classes: tuple[str, ...]
    class_of: npt.NDArray[np.int64]  # index into ``classes``
    counted: tuple[str, ...]  # what the predicates count
    member: npt.NDArray[np.int64]  # 1 where a location in the state adds to the count
    unnamed: tuple[str, ...]  # states that no table names, and that count as computing
    unmet: tuple[str, ...] = ()  # patterns of the user's that no state fits

    def states_of(self, name: str) -> tuple[str, ...]:
        return tuple(self.states[k] for k in np.flatnonzero(self.class_of == self.classes.index(name)))


def classify(
    trace: Trace,
    rules: CategorySet,
    user_classes: Mapping[str, Sequence[str]] | None = None,
    *,
    also: Sequence[str] = (),
) -> StateClasses:
    """Give each state of a trace its class."""
    user_classes, of_trace = user_classes or {}, (*trace.states, *also)
    for name in user_classes:
        if name not in rules.classes:
            raise UnknownNameError("class", name, rules.classes)
    patterns = [pattern for group in user_classes.values() for pattern in group]
    unmet = tuple(p for p in patterns if not any(matches(state, p) for state in of_trace))
    chosen = named_classes(trace, rules, user_classes, also=also)
    lost = [state for state, name in zip(of_trace, chosen, strict=True) if name is None]
    if lost:
        raise DataError(f"{trace.source}: {_in_no_class(trace, lost)}; say which with --class NAME=STATE,... "
                        f"(classes: {', '.join(rules.classes)})")  # fmt: skip
    classes = tuple(rules.classes)
    states = (*of_trace, NO_STATE)
    class_of = np.array([classes.index(name) for name in [*chosen, rules.without_state] if name], dtype=np.int64)
    counted, member = _counts(states, classes, class_of, rules)
    unnamed = tuple(
        state
        for state, name, kind in zip(of_trace, chosen, state_classes(of_trace), strict=True)
        if kind == OTHER and name == rules.computing_states and _by_patterns(state, trace, rules, user_classes) is None
    )
    classified = StateClasses(states, classes, class_of, counted, member, unnamed, unmet)
    for name in rules.needs:
        if name in classes:
            present, hint = bool(classified.states_of(name)), f"say which with --class {name}=STATE,..."
        else:
            present = any(matches(state, p) for state in states for p in rules.counts[name])
            hint = f"correct counts.{name} in {rules.source}, or leave it out of `needs`"
        if not present:
            raise DataError(
                f"{trace.source}: no state of the trace is in {name!r}, which the predicates of {rules.source} need; "
                f"{hint} (states: {listing(map(repr, states))})"
            )
    return classified


def time_by_state(trace: Trace) -> tuple[npt.NDArray[np.int64], int]:
    """Time of each state, and how many locations are in none."""
    if isinstance(trace, SummarizedTrace):
        by_location, _ = trace.times_and_entries()
        return by_location.sum(axis=0), int((by_location.sum(axis=1) == 0).sum())
    times, without = np.zeros(len(trace.states), np.int64), 0
    for _, part in parts_of(trace):
        lasting = part.end_ns - part.start_ns
        times += np.bincount(part.state, lasting, len(times)).astype(np.int64)
        without += len(part.locations) - len(np.unique(part.location[lasting > 0]))
    return times, without


def named_classes(
    trace: Trace,
    rules: CategorySet,
    user_classes: Mapping[str, Sequence[str]] | None = None,
    *,
    also: Sequence[str] = (),
) -> list[str | None]:
    """The class of each state of a trace and of each further one, None where the set has none for it.

    The patterns of ``user_classes`` go before those of the set. Of the others those compute that the trace counts as
    busy, so that no two commands mean different states by it, and the rest is what the table of classes says.
    """
    busy, states = frozenset(trace.busy_states), (*trace.states, *also)
    named: list[str | None] = []
    for state, kind in zip(states, state_classes(states), strict=True):
        name = _by_patterns(state, trace, rules, user_classes or {})
        if name is None and state in busy:
            name = rules.computing_states
        if name is None and kind in rules.classes and (kind != COMPUTING or state in busy):
            name = kind
        if name is None and state not in busy and kind in (COMPUTING, OTHER, MARKER) and rules.computing_states:
            name = rules.without_state  # the trace says only that it does not compute
        named.append(name)
    return named


def _by_patterns(state: str, trace: Trace, rules: CategorySet, user_classes: Mapping[str, Sequence[str]]) -> str | None:
    """The class whose patterns name a state; None where none does."""
    for patterns in (user_classes, rules.classes):
        rated = [
            (not any(letter in pattern for letter in "*?["), len(pattern), name)
            for name, group in patterns.items()
            for pattern in group
            if matches(state, pattern)
        ]
        if rated:
            best = max(rated)[:2]
            names = list(dict.fromkeys(name for *rate, name in rated if tuple(rate) == best))
            if len(names) > 1:
                raise DataError(
                    f"{trace.source}: state {state!r} is in two classes, {names[0]} and {names[1]}; "
                    f"name it in one of them, or say --class {names[0]}={state!r}"
                )
            return names[0]
    return None


def _in_no_class(trace: Trace, lost: Sequence[str]) -> str:
    """Which states are in no class, for how long, and from when on."""
    if isinstance(trace, SummarizedTrace):
        sums = dict(zip(trace.states, trace.times_and_entries()[0].sum(axis=0).tolist(), strict=True))
        parts = [f"{state!r} ({readable(sums[state], 'ns')})" for state in lost if state in sums]
    else:
        times, first = np.zeros(len(lost), np.int64), [trace.span_ns[1]] * len(lost)
        for _, part in parts_of(trace):
            for index, state in enumerate(lost):
                in_state = part.state == trace.states.index(state) if state in trace.states else np.zeros(0, bool)
                if in_state.any():
                    times[index] += (part.end_ns[in_state] - part.start_ns[in_state]).sum()
                    first[index] = min(first[index], int(part.start_ns[in_state].min()))
        parts = [
            f"{state!r} ({readable(time, 'ns')}, first at {begun} ns)" if time else f"{state!r} (never)"
            for state, time, begun in zip(lost, times.tolist(), first, strict=True)
        ]
    return f"{len(lost)} of its states {'is' if len(lost) == 1 else 'are'} in no class: {listing(parts, 6)}"


def _counts(
    states: tuple[str, ...], classes: tuple[str, ...], class_of: npt.NDArray[np.int64], rules: CategorySet
) -> tuple[tuple[str, ...], npt.NDArray[np.int64]]:
    """Names of what the predicates count, and the states that add to each."""
    names, columns = [], []
    for name in rules.variables:
        if name in (LOCATIONS, READY):
            continue
        if name == WORK_EXISTS:
            name = "computing"  # noqa: PLW2901 - what decides it where no ready work is given
            if name not in classes:
                raise DataError(f"{rules.source}: {WORK_EXISTS} needs a class 'computing' in [classes]")
        if name in names:
            continue
        if name in classes:
            column = class_of == classes.index(name)
        elif name in rules.counts:
            column = np.array([any(matches(state, p) for p in rules.counts[name]) for state in states])
        elif name in states:
            column = np.array([state == name for state in states])
        else:
            valid_names = [*classes, *rules.counts, LOCATIONS, READY, WORK_EXISTS, *states[:-1]]
            raise UnknownNameError(f"class, count or state in the predicates of {rules.source}", name, valid_names)
        names.append(name)
        columns.append(column)
    member = np.array(columns, dtype=np.int64).reshape(len(names), len(states)).T
    return tuple(names), np.ascontiguousarray(member)
