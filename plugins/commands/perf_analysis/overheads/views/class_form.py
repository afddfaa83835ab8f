"""The form that gives the states of a trace their classes; what is chosen stands in the address."""

from __future__ import annotations

import glob
import hashlib
from dataclasses import dataclass

from perf_analysis.overheads.category_set import CategorySet, read_categories
from perf_analysis.overheads.state_classes import named_classes, time_by_state
from perf_views.contents import Field, Form, Query
from perfcore.data.trace import Trace


CATEGORIES = "categories"
_PREFIX = "class."  # before a state's name in the address
_LONGEST = 60  # letters of a state in the address, which servers and browsers take a limited length of
_MOST_FIELDS = 100


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


def given_classes(trace: Trace, query: Query) -> Classes:
    """Classes as an address has them."""
    file = query.get(CATEGORIES, "").strip()
    rules = read_categories(file or None)
    named = {state: name or "" for state, name in zip(trace.states, named_classes(trace, rules), strict=True)}
    chosen = {state: query.get(_key(state)) or named[state] for state in trace.states}
    user_classes: dict[str, list[str]] = {}
    for state, name in chosen.items():
        if name != named[state]:
            user_classes.setdefault(name, []).append(glob.escape(state))
    return Classes(
        rules, file, user_classes, chosen, frozenset(state for state in trace.states if query.get(_key(state)))
    )


def class_form(trace: Trace, classes: Classes) -> Form:
    """A field for each state, by time; as long as some have no class, for these and what was chosen for others."""
    share = _shares(trace)
    missing = set(classes.without(trace))
    listed = missing | classes.given if missing else set(trace.states)
    states = sorted(listed, key=lambda name: (name not in missing, -share[name], name))
    hidden = classes.given.intersection(states[_MOST_FIELDS:])
    fields = [Field(_key(name), value=classes.chosen[name], kind="hidden") for name in sorted(hidden)]
    for name in states[:_MOST_FIELDS]:
        value = classes.chosen[name]
        choices = (*(() if value else ("",)), *classes.rules.classes)
        fields.append(Field(_key(name), name, value, "choice", choices, help=f"{share[name]:.2%} of the states' time"))
    more = f" Of {len(states):,} states the first {_MOST_FIELDS} are here." if len(states) > _MOST_FIELDS else ""
    fields.append(_file_field(classes.file, more))
    title = "Classes of states" if not missing else f"Choose classes of {len(missing)} of {len(trace.states)} states"
    return Form(tuple(fields), (), "Show where the cycles go", title, is_folded=not missing)


def file_form(query: Query) -> Form:
    """A form with nothing but the file of categories, for one that cannot be used."""
    return Form((_file_field(query.get(CATEGORIES, "")),), ())


def _file_field(value: str, more: str = "") -> Field:
    text = f"TOML file with categories of your own; empty for the standard ones.{more}"
    return Field(CATEGORIES, CATEGORIES, value, help=text)


def _key(state: str) -> str:
    """What a state is called in the address."""
    if len(state) <= _LONGEST:
        return _PREFIX + state
    return f"{_PREFIX}{state[: _LONGEST // 2]}~{hashlib.sha256(state.encode()).hexdigest()[:12]}"


def _shares(trace: Trace) -> dict[str, float]:
    """Time in each state over that in all of them."""
    times, _ = time_by_state(trace)
    return dict(zip(trace.states, (times / max(times.sum(), 1.0)).tolist(), strict=True))
