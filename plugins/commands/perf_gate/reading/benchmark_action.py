"""Data of github-action-benchmark: ``data.js``, which its page shows.

Source: benchmark-action/github-action-benchmark, README, "How to add new benchmark tool support"; ``src/write.ts``.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from perf_gate.reading.asv import COMMIT
from perf_gate.reading.long_table import LongTable
from perfcore.base.errors import InputError
from perfcore.data.units import is_rate


_BEGINS = b"window.BENCHMARK_DATA"


class _Commit(msgspec.Struct):
    id: str


class _Bench(msgspec.Struct):
    name: str
    value: float
    unit: str = ""


class _Entry(msgspec.Struct):
    commit: _Commit
    date: float
    benches: list[_Bench]
    tool: str = ""


class _Data(msgspec.Struct):
    entries: dict[str, list[_Entry]]


def is_benchmark_action(path: Path) -> bool:
    """Whether a file is such data."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(64).lstrip().startswith(_BEGINS)


def read_benchmark_action(path: Path) -> LongTable:
    """Read all entries.

    Raises
    ------
    InputError
        No such document, a value that is not positive, or nothing was measured.
    """
    import pandas as pd

    content = path.read_bytes().partition(b"=")[2].strip().removesuffix(b";")
    try:
        data = msgspec.json.decode(content, type=_Data)
    except (UnicodeDecodeError, msgspec.MsgspecError) as error:
        raise InputError(path, f"is not data of github-action-benchmark: {error}") from None
    rows = [
        {
            **{"suite": suite, "benchmark": bench.name, COMMIT: entry.commit.id, "value": bench.value},
            **{"order": entry.date, "unit": bench.unit, "better": _better(bench.unit, entry.tool)},
        }
        for suite, entries in data.entries.items()
        for entry in entries
        for bench in entry.benches
    ]
    if not rows:
        raise InputError(path, "holds no benchmarks")
    table = pd.DataFrame(rows)
    bad = ~(table["value"] > 0.0)
    if bad.any():
        row = table[bad].iloc[0]
        raise InputError(path, f"{row['benchmark']} at {row[COMMIT]} is {row['value']}; a positive number is expected")
    runs = table[["value", "order", "unit", "better"]].assign(session=0, round=float("nan"), metric="value", machine="")
    keys = ("suite", "benchmark") if table["suite"].nunique() > 1 else ("benchmark",)
    return LongTable(runs, table[["suite", "benchmark", COMMIT]], keys, str(path), "benchmark-action", 1, False)


def _better(unit: str, tool: str) -> str:
    """Which values are better, as the tool or the unit says; empty where neither does."""
    if tool in ("customBiggerIsBetter", "customSmallerIsBetter"):
        return "larger" if "Bigger" in tool else "smaller"
    return "larger" if is_rate(unit) else "smaller" if unit.endswith(("/iter", "/op")) else ""
