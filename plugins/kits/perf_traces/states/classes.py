"""The class of each state, by the user's table, those of plugins, and the standard one."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from pathlib import Path

from perf_traces.states.table import COMPUTING, OTHER, ClassTable, read_table
from perfcore.hooks.registry import registry

STANDARD = Path(__file__).with_name("standard.toml")
VARIABLE = "PERF_STATES"  # names the user's own table
_KIND, _STANDARD_NAME = "class_tables", "states"


def state_classes(states: Sequence[str], busy: Sequence[str] = ()) -> tuple[str, ...]:
    """The class of each state; ``other`` where no table names it, or ``computing`` if it is among the busy ones."""
    # A state of no known class that counts as busy, such as a function, is work.
    work = dict.fromkeys(busy, COMPUTING)
    classes = zip(states, map(class_of, states), strict=True)
    return tuple(work.get(state, name) if name == OTHER else name for state, name in classes)


def class_of(state: str) -> str:
    """The class of one state; see `state_classes`."""
    return _class_of(state, os.environ.get(VARIABLE, ""))


def computing_states(states: Sequence[str]) -> tuple[str, ...]:
    """Those of the states in which a location computes: those of the class computing, and those of none.

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
