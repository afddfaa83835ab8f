"""The points of a comparison: those that were asked for, and those of its gates."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from perf_gate.compare.gate.conditions import Gate
from perf_tables.points.places import levels_at
from perfcore.base.errors import OptionError
from perfcore.models.model import Model

__all__ = ["points_with_gates"]


def points_with_gates(
    model: Model, at: str | Iterable[str] | Mapping[str, Any], gates: Sequence[Gate]
) -> tuple[dict[str, list[Any]], list[int]]:
    """A column for each variable of all points, in order where gates add some; and the point of each gate.

    Parameters
    ----------
    model : Model
    at : mapping, str, or iterable of str
        As of `perf_tables.points.places.levels_at`.
    gates : sequence of Gate

    Raises
    ------
    UnknownNameError
        A variable, or a name of one, that the model does not have.
    OptionError
        There are no points, they are of different variables, or it is not clear which a gate is about.
    """
    requested_levels = levels_at(model, at)
    missing = [name for name in model.variables if name not in requested_levels and name not in model.levels]
    if missing and not any(gate.at for gate in gates):
        if not requested_levels:
            raise OptionError(f"Missing option '--at': where to compare, such as --at {missing[0]}=1024")
        raise OptionError(f"the models are of {', '.join(model.variables)}; give --at {missing[0]}=...")
    rows = (
        []
        if missing
        else [dict(zip(requested_levels, row, strict=True)) for row in itertools.product(*requested_levels.values())]
    )
    of_gates = [_point_of(gate, model, requested_levels) if gate.at else None for gate in gates]
    added = [row for row in of_gates if row is not None and row not in rows]
    rows += [row for number, row in enumerate(added) if row not in added[:number]]
    if any(row.keys() != rows[0].keys() for row in rows):
        raise OptionError("the points of --at and of --fail-if are of different variables; give each the same")
    if added:  # what tables look at is the last point, which should be the largest scale
        rows = sorted(rows, key=lambda row: tuple(row.values()))
    places = []
    for gate, row in zip(gates, of_gates, strict=True):
        if row is None and gate.word and len(rows) > 1:
            raise OptionError(f"--fail-if {gate.text!r}: there are {len(rows)} points; say 'at NAME=LEVEL,...'")
        places.append(len(rows) - 1 if row is None else rows.index(row))
    return {name: [row[name] for row in rows] for name in rows[0]}, places


def _point_of(gate: Gate, model: Model, requested_levels: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """The point of a gate; a variable that it does not name has the one level of --at."""
    option = f"--fail-if {gate.text!r}:"
    named = levels_at(model, gate.at, option)
    for name, levels in named.items():
        if len(levels) > 1:
            raise OptionError(f"{option} one value of {name} is expected, not {len(levels)}")
    levels_of = {**{name: levels for name, levels in requested_levels.items() if len(levels) == 1}, **named}
    for name in model.variables:
        if name not in levels_of and name not in model.levels:
            raise OptionError(f"{option} the models are of {', '.join(model.variables)}; name {name} too")
    return {name: levels_of[name][0] for name in model.variables if name in levels_of}
