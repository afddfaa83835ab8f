"""Whether runs can be of one program: what they call says so where they have no functions."""

from __future__ import annotations

from collections.abc import Sequence

from perfcore.base.errors import DataError


def refuse_different_programs(called: Sequence[tuple[str, frozenset[str]]], noun: str = "call") -> None:
    """Runs that have calls, or functions, must share some of them with the first that has any."""
    having = [(source, calls) for source, calls in called if calls]
    for source, calls in having[1:]:
        first, its_calls = having[0]
        if not calls & its_calls:
            raise DataError(
                f"{first} and {source} have no {noun} in common, such as {min(its_calls)} and {min(calls)}; runs that "
                "are compared must be of one program"
            )
