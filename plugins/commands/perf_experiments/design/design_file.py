"""Writes a design as a TOML file that a person can read and edit."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from perf_experiments.design.design import Design
from perfcore.base.files import write_bytes

_HEAD = """\
# A design for `perf experiment run`. Edit it at will: what a store holds already is not measured again.
"""
_MEANINGS = {
    "factorial": "every combination of levels",
    "one-at-a-time": "one factor is varied at a time, the others stay at the centre",
    "points": "exactly the points below",
}


def write_design(design: Design, path: str | os.PathLike[str]) -> None:
    """Write the file, whole or not at all."""
    write_bytes(path, design_text(design).encode())


def design_text(design: Design) -> str:
    """The content of the file; `read_design` gives the same design back."""
    lines = [
        _HEAD + f"kind = {_value(design.kind)}  # {_MEANINGS[design.kind]}",
        f"replications = {design.replications}",
        f"seed = {design.seed}  # of the random order",
    ]
    if design.constraints:
        lines.append(f"constraints = [{', '.join(map(_value, design.constraints))}]")
    if design.centre:
        lines.append(f"centre = {_point(design.centre)}")
    if design.points:
        lines += _points("points", design.points)
    if design.left_out:
        lines += [
            "# Too dear for the budget; a point that is removed here is measured.",
            *_points("left_out", design.left_out),
        ]
    lines += ["", "[factors]"]
    lines += [f"{name} = [{', '.join(map(_value, levels))}]" for name, levels in design.factors.items()]
    return "\n".join(lines) + "\n"


def _points(key: str, points: Sequence[Mapping[str, Any]]) -> list[str]:
    return [f"{key} = [", *(f"  {_point(point)}," for point in points), "]"]


def _point(point: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"{name} = {_value(level)}" for name, level in point.items()) + "}"


def _value(value: Any) -> str:
    # TOML's basic strings take the escapes of JSON; control characters are refused before.
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
