"""The class of each state, by the user's table, those of plugins, and the standard one."""

from __future__ import annotations

import fnmatch
import functools
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from perf_formulas.formula import read_toml
from perfcore.base.errors import InputError, UnknownNameError, key_first
from perfcore.hooks.registry import Entry, registry

COMPUTING, OTHER, MARKER = "computing", "other", "marker"
CLASSES = (
    COMPUTING, "communicating", "waiting", "synchronizing", "transferring", "io", "contending", "runtime", "idle",
    "not_running", "unknown", MARKER,
)  # fmt: skip
_WILD = re.compile(r"[*?\[]")

STANDARD = Path(__file__).with_name("states.toml")
VARIABLE = "PERF_STATES"  # names the user's own table
_KIND, _STANDARD_NAME = "class_tables", "states"


class NamedStates(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"name": "class"}):
    """One ``[[states]]`` of a table."""

    name: str  # the class; ``class`` in the file
    names: tuple[str, ...]  # names of states, with ``*`` and ``?`` for any text and any letter
    why: str  # why they belong to it


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    states: list[NamedStates]


@dataclass(frozen=True)
class ClassTable:
    """Classes of states by name.

    Parameters
    ----------
    groups : tuple of NamedStates
        In the order of the file.
    """

    groups: tuple[NamedStates, ...]

    @classmethod
    def rows(cls, entry: Entry) -> list[dict[str, str]]:
        """Return the patterns of a registered table, as ``perf plugins NAME`` lists them."""
        groups = read_table(entry.load()).groups
        return [{"class": each.name, "state": name, "why": each.why} for each in groups for name in each.names]

    def class_of(self, state: str) -> str | None:
        """Return the class that a name has here: a name before a pattern, a long pattern before a short one."""
        exact, classes, pattern = self._lookup
        key = state.strip().lower()
        match = None if key in exact else pattern.fullmatch(key)
        return exact.get(key) if match is None else classes[(match.lastindex or 1) - 1]

    @functools.cached_property
    def _lookup(self) -> tuple[dict[str, str], list[str], re.Pattern[str]]:
        """Return the classes of names, those of patterns from the longest on, and all patterns as one."""
        pairs = [(name.strip().lower(), group.name) for group in self.groups for name in group.names]
        wild = sorted((pair for pair in pairs if _WILD.search(pair[0])), key=lambda pair: -len(pair[0]))
        pattern = re.compile("|".join(f"({fnmatch.translate(name)})" for name, _ in wild) or "(?!)")
        return {name: kind for name, kind in pairs if not _WILD.search(name)}, [kind for _, kind in wild], pattern


def matches(name: str, pattern: str) -> bool:
    """Return whether a name fits a pattern with ``*`` and ``?``, in whatever case."""
    return fnmatch.fnmatchcase(name.strip().lower(), pattern.strip().lower())


@functools.cache
def read_table(path: str | os.PathLike[str]) -> ClassTable:
    """Read a table of classes."""
    document: Any = read_toml(path, "`perf plugins states` shows the one that is in use without it")
    try:
        file = msgspec.convert(document, _File)
    except msgspec.ValidationError as error:
        raise InputError(path, key_first(error)) from None
    owner: dict[str, str] = {}
    for index, group in enumerate(file.states):
        if group.name not in CLASSES:
            raise InputError(path, f"states[{index}].class: {UnknownNameError('class of states', group.name, CLASSES)}")
        for pattern in group.names:
            if owner.setdefault(pattern.strip().lower(), group.name) != group.name:
                raise InputError(
                    path, f"states[{index}].names: {pattern!r} is in two classes, {owner[pattern.strip().lower()]} and "
                    f"{group.name}; leave one of them out"
                )  # fmt: skip
    return ClassTable(tuple(file.states))


def state_classes(states: Sequence[str], busy: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the class of each state; ``other`` if no table names it, or ``computing`` if it is a busy one."""
    # A state of no known class that counts as busy, such as a function, is work.
    work = dict.fromkeys(busy, COMPUTING)
    classes = zip(states, map(class_of, states), strict=True)
    return tuple(work.get(state, name) if name == OTHER else name for state, name in classes)


def class_of(state: str) -> str:
    """Return the class of one state; see `state_classes`."""
    return _class_of(state, os.environ.get(VARIABLE, ""))


def computing_states(states: Sequence[str]) -> tuple[str, ...]:
    """Return those of the states in which a location computes: those of the class computing, and those of none.

    Examples
    --------
    >>> computing_states(["dgemm", "Idle", "Running"])
    ('dgemm', 'Running')
    """
    return tuple(state for state in states if class_of(state) in (COMPUTING, OTHER))


@functools.lru_cache(maxsize=1 << 16)
def _class_of(state: str, table_path: str) -> str:
    return next((name for table in _tables(table_path) if (name := table.class_of(state)) is not None), OTHER)


@functools.cache
def _tables(table_path: str) -> tuple[ClassTable, ...]:
    entries = registry().entries(_KIND)
    names = sorted(entries, key=lambda name: name == _STANDARD_NAME)
    return tuple(
        read_table(path) for path in [*([table_path] if table_path else []), *(entries[name].load() for name in names)]
    )
