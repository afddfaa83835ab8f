"""Folders of results of airspeed velocity (asv).

Source: asv, "Developer docs", "Benchmark suite layout and file formats": ``results/MACHINE/COMMIT-ENVIRONMENT.json``,
of version 1 (a number or a mapping for each benchmark) and 2 (a list by ``result_columns``).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from perf_gate.reading.long_table import LongTable
from perfcore.base.errors import InputError


COMMIT = "commit"
_NOT_RESULTS = ("machine.json", "benchmarks.json")


class _Results(msgspec.Struct):
    commit_hash: str
    date: float
    params: dict[str, Any] = {}
    env_name: str = ""
    result_columns: list[str] = []
    results: dict[str, Any] = {}


def is_asv(path: Path) -> bool:
    """Whether a folder holds results of asv."""
    return path.is_dir() and any(path.glob("*/machine.json"))


def read_asv(path: Path) -> LongTable:
    """Read all results below a folder.

    Raises
    ------
    InputError
        A file that is no such document, or nothing was measured.
    """
    import pandas as pd

    units = _units(path)
    rows = []
    for file in sorted(path.glob("*/*.json")):
        if file.name in _NOT_RESULTS:
            continue
        try:
            document = msgspec.json.decode(file.read_bytes(), type=_Results)
        except (OSError, UnicodeDecodeError, msgspec.MsgspecError) as error:
            raise InputError(file, f"is not a result of asv: {error}") from None
        machine = str(document.params.get("machine", file.parent.name))
        for name, value in _values(document):
            benchmark = name.partition("(")[0]
            rows.append(
                {
                    **{"benchmark": name, COMMIT: document.commit_hash, "environment": document.env_name},
                    **{"value": value, "order": document.date, "machine": machine, "unit": units.get(benchmark, "s")},
                }
            )
    if not rows:
        raise InputError(path, "holds no results of asv that were measured")
    table = pd.DataFrame(rows)
    keys = ("benchmark", "environment") if table["environment"].nunique() > 1 else ("benchmark",)
    runs = table[["value", "order", "machine", "unit"]].assign(session=0, round=float("nan"), metric="value", better="")
    return LongTable(runs, table[["benchmark", "environment", COMMIT, "machine"]], keys, str(path), "asv", 1, False)


def _units(path: Path) -> dict[str, str]:
    """Unit of each benchmark, as ``benchmarks.json`` says it."""
    file = path / "benchmarks.json"
    try:
        benchmarks = msgspec.json.decode(file.read_bytes(), type=dict[str, Any])
    except (OSError, UnicodeDecodeError, msgspec.MsgspecError):
        return {}
    units = {name: str(about.get("unit", "")) for name, about in benchmarks.items() if isinstance(about, dict)}
    return {name: "s" if unit == "seconds" else unit for name, unit in units.items()}


def _values(document: _Results) -> Iterator[tuple[str, float]]:
    """Name with parameters, and value, of what was measured."""
    for name, raw in document.results.items():
        about: Any = raw
        if isinstance(raw, list):
            about = dict(zip(document.result_columns, raw, strict=False))
        if not isinstance(about, dict):
            about = {"result": [raw]}
        values = about.get("result")
        if not isinstance(values, list):
            values = [values]
        points = list(itertools.product(*(about.get("params") or [])))
        for index, value in enumerate(values):
            if isinstance(value, (int, float)) and value > 0.0:
                yield (
                    (f"{name}({', '.join(map(str, points[index]))})" if points and len(values) > 1 else name),
                    float(value),
                )
