"""Cycles by category of a run whose intervals are summed up: of what needs no count of locations at one moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from perf_analysis.overheads.category_set import WAITING, Category, CategorySet
from perf_analysis.overheads.profile import OverheadProfile
from perf_analysis.overheads.state_classes import StateClasses, classify
from perf_traces.summaries.summarized_trace import SummarizedTrace
from perfcore.base.errors import DataError, OptionError, listing

Integers = npt.NDArray[np.int64]


def profile_of_summary(
    trace: SummarizedTrace, rules: CategorySet, classes: Mapping[str, Sequence[str]] | None
) -> tuple[OverheadProfile, StateClasses]:
    """Cycles of a summarized run by category and location, to the nanosecond, and its states as the set sees them.

    Categories that share a class of states, and are told apart by what other locations do at the same moment, are one
    here: sums over time do not know it.
    """
    start, end = trace.span_ns
    if end <= start:
        raise DataError(f"{trace.source}: the trace has no duration")
    names = classify(trace, rules, classes)
    joined = without_counts(rules)
    category_of = _category_of(joined, names)
    times, _ = trace.times_and_entries()  # by location and state
    by_state = np.column_stack([times, end - start - times.sum(axis=1)])
    edges, windows = trace.windows()
    over_time = np.column_stack([windows, len(trace.locations) * np.diff(edges) - windows.sum(axis=1)])
    lost = np.flatnonzero((category_of < 0) & (by_state.sum(axis=0) > 0))
    if len(lost):
        states = listing([repr(names.states[index]) for index in lost.tolist()], 4)
        raise DataError(f"{trace.source}: {states} is in a class that no category of {rules.source} takes")
    counted = np.where(category_of < 0, 0, category_of)  # states that never last
    profile = OverheadProfile(
        categories=tuple(category.name for category in joined.categories),
        texts=tuple(category.text for category in joined.categories),
        classes=names.classes,
        locations=trace.locations,
        cycles_ns=_summed(by_state, counted, len(joined.categories))[:, :, None],
        class_cycles_ns=_summed(by_state, names.class_of, len(names.classes))[:, :, None],
        edges_ns=np.array([start, end]),
        timeline_ns=_summed(over_time, counted, len(joined.categories)),
        timeline_edges_ns=edges,
        states={name: names.states_of(name) for name in names.classes},
        source=trace.source,
        notes=_notes(rules, joined),
    )
    return profile, names


def whole_run_only(trace: SummarizedTrace) -> OptionError:
    """What is said where more is asked for."""
    return OptionError(
        f"{trace.source}: a summary has cycles of the whole run only; leave out --phases, --by marker and --ready, or "
        "give the traces"
    )


def without_counts(rules: CategorySet) -> CategorySet:
    """The set in which categories that only their predicates tell apart are one."""
    groups: list[list[Category]] = []
    for category in rules.categories:
        shares = [group for group in groups if any(set(category.classes) & set(each.classes) for each in group)]
        merged = [*(each for group in shares for each in group), category]
        if shares:
            groups[groups.index(shares[0])] = merged
            groups = [group for group in groups if not any(group is other for other in shares[1:])]
        else:
            groups.append(merged)
    return replace(rules, categories=tuple(map(_united, groups)))


def _united(group: Sequence[Category]) -> Category:
    classes = tuple(dict.fromkeys(name for category in group for name in category.classes))
    texts = "; ".join(category.text for category in group if category.text)
    return Category(" or ".join(category.name for category in group), classes, None, texts)


def _category_of(joined: CategorySet, names: StateClasses) -> Integers:
    """The category of each state, -1 where its class is in none."""
    of_class = [
        next((index for index, category in enumerate(joined.categories) if name in category.classes), -1)
        for name in names.classes
    ]
    categories: Integers = np.array(of_class, np.int64)[names.class_of]
    return categories


def _summed(times: Integers, to: Integers, count: int) -> Integers:
    """Times (n, n_states) as (count, n), states of one kind together."""
    sums = np.zeros((count, len(times)), np.int64)
    np.add.at(sums, to, times.T)
    return sums


def _notes(rules: CategorySet, joined: CategorySet) -> tuple[str, ...]:
    names = {category.name for category in rules.categories}
    united = [category.name for category in joined.categories if category.name not in names]
    notes = ["of a summary: serialisation and transfer, phases and markers need the traces themselves"]
    if WAITING in rules.classes:
        notes.append("waiting for other ranks in collectives counts as communication")
    if united:
        one = "is one category" if len(united) == 1 else "are one category each"
        notes.append(
            f"{listing(map(repr, united), 3)} {one} here: how many locations compute at one moment is not in a summary"
        )
    return tuple(notes)
