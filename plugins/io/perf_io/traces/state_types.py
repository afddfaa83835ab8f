"""Which states are meant where a Pajé trace has several types of them for one container."""

from __future__ import annotations

from collections.abc import Sequence

from perfcore.base.errors import InputError, UnknownNameError

# What StarPU calls the states of its workers; its other types describe threads, memory nodes and schedulers.
STARPU_STATES = "Worker State"


def choose_state_type(types: Sequence[str], state_type: str | None, source: str) -> str:
    """The type that was asked for, the only one, or StarPU's workers."""
    if not types:
        raise InputError(source, "contains no state intervals")
    if state_type is not None:
        if state_type not in types:
            raise UnknownNameError(f"state type of {source}", state_type, types)
        return state_type
    if len(types) == 1:
        return types[0]
    if STARPU_STATES in types:
        return STARPU_STATES
    raise InputError(source, f"has states of several types: {', '.join(types)}; name one with the option state_type")
