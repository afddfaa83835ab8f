"""A file, or all files of a folder or pattern, as one long table."""

from __future__ import annotations

import datetime
import functools
import itertools
import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from perf_gate.benchmark_runs import LongTable, long_table
from perf_io.text import decode_json, json_problem
from perfcore.base.errors import InputError
from perfcore.data.measurements import Measurements
from perfcore.reading.recognise import Reading

if TYPE_CHECKING:
    import pandas as pd

_ENDINGS = (".jsonl", ".ndjson")


def is_json_lines(path: Path) -> bool:
    """Whether a file is such a table; lines of other shapes are other formats'."""
    if path.suffix.lower() not in _ENDINGS or not path.is_file():
        return False
    with path.open("rb") as file:
        first = next((line for line in file if line.strip()), b"")
    try:
        row = decode_json(first)
    except (UnicodeDecodeError, msgspec.MsgspecError):
        return False
    return bool(row) and _is_flat(row)


def read_json_lines(path: Path) -> Reading:
    """Read all lines as measurements."""
    import pandas as pd

    rows = rows_of(path)
    if not rows:
        raise InputError(path, "holds no rows")
    lines, objects = zip(*rows, strict=True)
    return Reading(Measurements(pd.DataFrame(list(objects)), source=str(path), lines=lines), "json-lines", 1)


def rows_of(path: Path) -> list[tuple[int, dict[str, Any]]]:
    """Number and object of each line."""
    rows = []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = decode_json(line)
        except (UnicodeDecodeError, msgspec.MsgspecError) as error:
            raise InputError(path, f"is not JSON: {json_problem(line, error)[0]}", line=number) from None
        if not _is_flat(row):
            raise InputError(path, "an object of numbers and texts is expected", line=number)
        rows.append((number, row))
    return rows


def _is_flat(row: Any) -> bool:
    return isinstance(row, dict) and not any(isinstance(value, (dict, list)) for value in row.values())


# Folders of results of airspeed velocity (asv).
#
# Source: asv, "Developer docs", "Benchmark suite layout and file formats":
# ``results/MACHINE/COMMIT-ENVIRONMENT.json``,
# of version 1 (a number or a mapping for each benchmark) and 2 (a list by ``result_columns``).

COMMIT = "commit"
_QUARTILES = 1.349  # distance of a normal distribution's quartiles, in standard deviations
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
    return path.is_dir() and (any(path.glob("*/machine.json")) or (path / "machine.json").is_file())


def _is_asv_result(path: Path) -> bool:
    content = path.read_bytes() if path.suffix == ".json" and path.is_file() else b""
    return b'"commit_hash"' in content and b'"env_name"' in content and b'"results"' in content


def read_asv(path: Path) -> LongTable:
    """Read all results below a folder, or of one machine's folder."""
    files = sorted([*path.glob("*/*.json"), *path.glob("*.json")])
    table = _asv_results([file for file in files if file.name not in _NOT_RESULTS], path, _units(path))
    keys = ("benchmark", "environment") if table["environment"].nunique() > 1 else ("benchmark",)
    return _of_commits(table, ["benchmark", "environment", COMMIT, "machine"], keys, path, "asv")


def _asv_versions(files: list[Path], name: str) -> LongTable:
    table = _asv_results(files, Path(name), _units(files[0].parent.parent)).assign(order=float("nan"))
    long = _of_commits(table, ["benchmark", "environment", COMMIT, "machine"], ("benchmark",), Path(name), "asv")
    machines = tuple(_about(file)[0] for file in files)
    return replace(long, runs=long.runs.assign(session=table["session"]), files=len(files), machines=machines)


def _asv_results(files: list[Path], path: Path, units: dict[str, str]) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for session, file in enumerate(files):
        try:
            document = decode_json(file.read_bytes(), _Results)
        except (OSError, UnicodeDecodeError, msgspec.MsgspecError) as error:
            raise InputError(file, f"is not a result of asv: {error}") from None
        machine = str(document.params.get("machine", file.parent.name))
        for name, value, deviation, number in _values(document):
            benchmark = name.partition("(")[0]
            rows.append(
                {
                    **{"benchmark": name, COMMIT: document.commit_hash, "environment": document.env_name},
                    **{"value": value, "order": document.date, "machine": machine, "unit": units.get(benchmark, "s")},
                    **{"session": session, "deviation": deviation, "number": number},
                }
            )
    if not rows:
        raise InputError(path, "holds no results of asv that were measured")
    return pd.DataFrame(rows).assign(better="")


def _of_commits(table: pd.DataFrame, labels: list[str], keys: tuple[str, ...], path: Path, reader: str) -> LongTable:
    """One value for each benchmark and commit."""
    nothing = float("nan")
    runs = table.reindex(columns=["value", "order", "machine", "unit", "better", "deviation", "number"])
    runs = runs.assign(session=0, metric="value", number=runs["number"].fillna(1.0))
    runs = runs.assign(**dict.fromkeys(("round", "written", "row"), nothing))
    return LongTable(runs, table[labels], keys, str(path), reader, 1, False)


def _units(path: Path) -> dict[str, str]:
    """Unit of each benchmark, as ``benchmarks.json`` says it."""
    file = path / "benchmarks.json"
    try:
        benchmarks = decode_json(file.read_bytes(), dict[str, Any])
    except (OSError, UnicodeDecodeError, msgspec.MsgspecError):
        return {}
    units = {name: str(about.get("unit", "")) for name, about in benchmarks.items() if isinstance(about, dict)}
    return {name: "s" if unit == "seconds" else unit for name, unit in units.items()}


def _values(document: _Results) -> Iterator[tuple[str, float, float, float]]:
    """Name with parameters, value, and by quartiles the standard deviation and number of its runs."""
    for name, raw in document.results.items():
        about: Any = raw
        if isinstance(raw, list):
            about = dict(zip(document.result_columns, raw, strict=False))
        if not isinstance(about, dict):
            about = {"result": [raw]}
        values = about.get("result")
        if not isinstance(values, list):
            values = [values]
        quartiles = [about.get(column) for column in ("stats_q_25", "stats_q_75", "stats_repeat")]
        points = list(itertools.product(*(about.get("params") or [])))
        for index, value in enumerate(values):
            if isinstance(value, (int, float)) and value > 0.0:
                full = f"{name}({', '.join(map(str, points[index]))})" if points and len(values) > 1 else name
                found = [each[index] if isinstance(each, list) and index < len(each) else None for each in quartiles]
                low, high, number = (float(x) if isinstance(x, (int, float)) else math.nan for x in found)
                known = number > 1.0 and math.isfinite(high - low)
                yield full, float(value), (high - low) / _QUARTILES if known else math.nan, number if known else 1.0


ReadFile = Callable[[str], "Reading"]


def read_set(path: str | os.PathLike[str], read_file: ReadFile, values: Sequence[str] = ()) -> LongTable:
    """Read a file, or the files of a folder or pattern, each of which is a session."""
    import pandas as pd

    name = os.fspath(path)
    if is_asv(Path(name)):
        return read_asv(Path(name))
    files = list(map(Path, files_of(name)))
    if files and all(map(_is_asv_result, files)):
        return _asv_versions(files, name)

    def read_one(file: Path) -> Reading:
        return read_json_lines(file) if is_json_lines(file) else read_file(str(file))

    tables = [long_table(reading, values, session) for session, reading in enumerate(map(read_one, files))]
    about = [_about(file) for file in files]
    known = all(when is not None for _, when, _ in about)  # else the clock of the file system counts
    for table, file, (_, when, _) in zip(tables, files, about, strict=True):
        table.runs["written"] = when if known else file.stat().st_mtime if file.is_file() else float("nan")
    machines, program = tuple(machine for machine, *_ in about if machine), about[-1][2] if about else ""
    keys = tuple(dict.fromkeys(key for table in tables for key in table.keys))
    if len(tables) == 1:
        return replace(tables[0], source=name, machines=machines, program=program)
    runs, labels = (pd.concat([getattr(one, part) for one in tables], ignore_index=True) for part in ("runs", "labels"))
    local = tables[0].local, tables[0].local_rounds
    return LongTable(runs, labels, keys, name, tables[0].reader, len(tables), *local, machines, program)


# What files of benchmark tools say of their machine, and when they were written.
_MACHINE = {
    "context": ("num_cpus", "mhz_per_cpu", "caches"),
    "machine_info": ("machine", "system", "cpu.brand_raw", "cpu.count"),
    "params": ("machine", "cpu", "num_cpu", "arch"),
}


def _about(file: Path) -> tuple[dict[str, str], float | None, str]:
    """Return what a file says of its machine, its date in seconds, and the program that ran the benchmarks."""
    try:
        document = decode_json(file.read_bytes()) if file.suffix == ".json" else None
    except (OSError, ValueError, RecursionError, msgspec.MsgspecError):
        return {}, None, ""
    if not isinstance(document, dict):
        return {}, None, ""
    machine: dict[str, str] = {}
    for part, names in _MACHINE.items():
        about = document.get(part)
        for name in names if isinstance(about, dict) else ():
            found = functools.reduce(lambda d, key: d.get(key) if isinstance(d, dict) else None, name.split("."), about)
            if found:
                machine[name.rpartition(".")[2]] = json.dumps(found).strip('"')
    context = document.get("context")
    program = str(context.get("executable") or "") if isinstance(context, dict) else ""
    date = document.get("datetime") or (context.get("date") if isinstance(context, dict) else None)
    try:
        return machine, datetime.datetime.fromisoformat(str(date)).timestamp() if date else None, program
    except ValueError:
        return machine, None, program


def files_of(name: str) -> list[str]:
    """The files that a folder, a pattern or a list with commas names, or the one file."""
    from perfcore.reading.many_files import named_files

    parts = [name] if Path(name).exists() or "," not in name else [part.strip() for part in name.split(",")]
    return [str(file) for part in parts for file in named_files(part) or [Path(part)]]
