"""Which states the user means, and what each state counts as on a path."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perf_traces.states.classes import state_classes
from perf_traces.states.table import COMPUTING, OTHER
from perfcore.base.errors import UnknownNameError
from perfcore.data.trace import Trace


def classes_of(trace: Trace) -> tuple[str, ...]:
    """The class of each state of a trace; what the trace counts as busy computes, so that no two commands disagree."""
    busy = frozenset(trace.busy_states)
    named = state_classes(trace.states)
    return tuple(
        COMPUTING if state in busy else OTHER if name == COMPUTING else name
        for state, name in zip(trace.states, named, strict=True)
    )


def meant(trace: Trace, classes: Sequence[str], name: str) -> npt.NDArray[np.bool_]:
    """The states of a class, or those that a name or a pattern with * and ? fits."""
    of_class = np.array([each == name for each in classes])
    named = np.array([fnmatch.fnmatchcase(state.lower(), name.lower()) for state in trace.states])
    matches = of_class if of_class.any() else named
    if not matches.any():
        raise UnknownNameError("class or state", name, [*dict.fromkeys(classes), *trace.states])
    return matches
