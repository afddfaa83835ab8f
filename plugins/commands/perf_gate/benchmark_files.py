"""What is compared as long tables: files, folders, patterns, results of asv, JSON lines, and data in memory."""

from __future__ import annotations

import datetime
import functools
import itertools
import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from perf_gate.benchmark_runs import BUILD, HOST, LongTable, long_table, with_better
from perf_io.text import decode_json, json_problem
from perfcore.base import pd
from perfcore.base.errors import DataError, InputError
from perfcore.data.measurements import Measurements
from perfcore.reading import Read
from perfcore.reading.recognise import Reading, named_files, read_named

_JSON_LINES = (".jsonl", ".ndjson")
_QUARTILES = 1.349  # distance of a normal distribution's quartiles, in standard deviations
_NOT_RESULTS = ("machine.json", "benchmarks.json")  # of asv
# What files of benchmark tools say of their machine and build.
_MACHINE = {
    "context": ("num_cpus", "mhz_per_cpu", "caches", BUILD, HOST),
    "machine_info": ("machine", "system", "cpu.brand_raw", "cpu.count"),
    "params": ("machine", "cpu", "num_cpu", "arch"),
}


def opened(
    side: Any,
    value: str | Iterable[str] = (),
    read: Read | None = None,
    better: str | Iterable[str] | None = None,
) -> LongTable:
    """Return runs of a version, or of several, as a long table."""
    if isinstance(side, LongTable):
        return side
    values = [value] if isinstance(value, str) else list(value)
    if isinstance(side, (str, os.PathLike)):
        read = read or (lambda path, wanted: read_named(path, wanted=wanted))
        return with_better(read_set(os.fspath(side), read, values), better)
    if isinstance(side, (list, tuple, np.ndarray, pd.Series)):
        if not len(side):
            raise DataError("a list of runs is empty; give at least 3 numbers of each version")
        side = pd.DataFrame({"value": np.asarray(side)})
    data = Measurements(side) if isinstance(side, pd.DataFrame) else side
    return with_better(long_table(Reading(data, "", 1), values), better)


def read_set(name: str, read: Read, values: Sequence[str] = ()) -> LongTable:
    """Read a file, or the files of a folder or pattern, each of which is a session."""
    folder = Path(name)
    if folder.is_dir() and (any(folder.glob("*/machine.json")) or (folder / "machine.json").is_file()):
        results = sorted([*folder.glob("*/*.json"), *folder.glob("*.json")])
        return _asv_table([file for file in results if file.name not in _NOT_RESULTS], folder, name, is_history=True)
    files = named_files(name) or [folder]
    contents = (file.read_bytes() if file.suffix == ".json" and file.is_file() else b"" for file in files)
    if all(b'"commit_hash"' in each and b'"env_name"' in each and b'"results"' in each for each in contents):
        return _asv_table(files, files[0].parent.parent, name, is_history=False)
    readings = [_json_lines(file) or read(str(file), (Measurements,)) for file in files]
    tables = [long_table(reading, values, session) for session, reading in enumerate(readings)]
    about = [_about(file) for file in files]
    known = all(when is not None for _, when, _ in about)  # else the clock of the file system counts
    for table, file, (_, when, _) in zip(tables, files, about, strict=True):
        table.runs["written"] = when if known else file.stat().st_mtime if file.is_file() else math.nan
    joined = tables[0]
    if len(tables) > 1:
        runs, labels = (
            pd.concat([getattr(one, part) for one in tables], ignore_index=True) for part in ("runs", "labels")
        )
        keys = tuple(dict.fromkeys(key for table in tables for key in table.keys))
        joined = replace(joined, runs=runs, labels=labels, keys=keys, files=len(tables))
    machines = tuple(machine for machine, *_ in about if machine)
    return replace(joined, source=name, machines=machines, program=about[-1][2])


def names_of(first: str | os.PathLike[str], second: str | os.PathLike[str]) -> tuple[str, str]:
    """Return what two files or patterns are called: without folders and endings if that keeps them distinct."""
    first, second = os.fspath(first), os.fspath(second)
    for names in ((_short(first), _short(second)), (first, second)):
        if names[0] != names[1]:
            return names
    return "A", "B"


def _short(name: str) -> str:
    """Return the last part of a path that says something: of a pattern or list what all its files have."""
    paths = [Path(part.strip()) for part in name.split(",")]
    letters = itertools.takewhile(lambda each: len(set(each)) == 1, zip(*(path.stem for path in paths), strict=False))
    for part in ("".join(each[0] for each in letters), *reversed(paths[0].parent.parts)):
        if words := re.split(r"[*?]|\[[^]]*\]", part)[0].rstrip("_-. "):
            return words
    return name


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


def _json_lines(path: Path) -> Reading | None:
    """Return a table of JSON lines as measurements; None of other files: lines of other shapes are other formats'."""
    if path.suffix.lower() not in _JSON_LINES or not path.is_file():
        return None
    with path.open("rb") as file:
        first = next((line for line in file if line.strip()), b"")
    try:
        row = decode_json(first)
    except (UnicodeDecodeError, msgspec.MsgspecError):
        return None
    if not row or not _is_flat(row):
        return None
    lines, objects = zip(*rows_of(path), strict=True)
    return Reading(Measurements(pd.DataFrame(list(objects)), source=str(path), lines=lines), "json-lines", 1)


def rows_of(path: Path) -> list[tuple[int, dict[str, Any]]]:
    """Return number and object of each line."""
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
# Source: asv, "Developer docs", "Benchmark suite layout and file formats": ``results/MACHINE/COMMIT-ENVIRONMENT.json``,
# of version 1 (a number or a mapping for each benchmark) and 2 (a list by ``result_columns``).


class _Results(msgspec.Struct):
    commit_hash: str
    date: float
    params: dict[str, Any] = {}
    env_name: str = ""
    result_columns: list[str] = []
    results: dict[str, Any] = {}


def _asv_table(files: Sequence[Path], folder: Path, name: str, is_history: bool) -> LongTable:
    """Read results of asv: a history, in the order of its commits' dates, or a session of each file."""
    units, rows = _asv_units(folder), []
    for session, file in enumerate(files):
        try:
            document = decode_json(file.read_bytes(), _Results)
        except (OSError, UnicodeDecodeError, msgspec.MsgspecError) as error:
            raise InputError(file, f"is not a result of asv: {error}") from None
        about = {
            "commit": document.commit_hash,
            "environment": document.env_name,
            "machine": str(document.params.get("machine", file.parent.name)),
            "order": document.date if is_history else math.nan,
            "session": 0 if is_history else session,
        }
        rows += [
            about | row | {"unit": units.get(row["benchmark"].partition("(")[0], "s")} for row in _asv_rows(document)
        ]
    if not rows:
        raise InputError(name, "holds no results of asv that were measured")
    table = pd.DataFrame(rows).assign(better="", metric="value", round=math.nan, written=math.nan, row=math.nan)
    labels = ["benchmark", "environment", "commit", "machine"]
    keys = labels[:2] if is_history and table["environment"].nunique() > 1 else labels[:1]
    runs = table.drop(columns=labels[:3])
    machines = () if is_history else tuple(_about(file)[0] for file in files)
    return LongTable(
        runs, table[labels], tuple(keys), name, "asv", 1 if is_history else len(files), False, machines=machines
    )


def _asv_units(path: Path) -> dict[str, str]:
    """Return the unit of each benchmark, as ``benchmarks.json`` says it."""
    try:
        benchmarks = decode_json((path / "benchmarks.json").read_bytes(), dict[str, Any])
    except (OSError, UnicodeDecodeError, msgspec.MsgspecError):
        return {}
    units = {name: str(about.get("unit", "")) for name, about in benchmarks.items() if isinstance(about, dict)}
    return {name: "s" if unit == "seconds" else unit for name, unit in units.items()}


def _asv_rows(document: _Results) -> Iterator[dict[str, Any]]:
    """Return name with parameters, value, and by quartiles the standard deviation and number of its runs."""
    for name, raw in document.results.items():
        about: Any = dict(zip(document.result_columns, raw, strict=False)) if isinstance(raw, list) else raw
        about = about if isinstance(about, dict) else {"result": raw}
        values = about.get("result")
        values = values if isinstance(values, list) else [values]
        quartiles = [about.get(column) for column in ("stats_q_25", "stats_q_75", "stats_repeat")]
        points = list(itertools.product(*(about.get("params") or [])))
        for index, value in enumerate(values):
            if not (isinstance(value, (int, float)) and value > 0.0):
                continue
            found = [each[index] if isinstance(each, list) and index < len(each) else None for each in quartiles]
            low, high, number = (float(x) if isinstance(x, (int, float)) else math.nan for x in found)
            known = number > 1.0 and math.isfinite(high - low)
            yield {
                "benchmark": f"{name}({', '.join(map(str, points[index]))})" if points and len(values) > 1 else name,
                "value": float(value),
                "deviation": (high - low) / _QUARTILES if known else math.nan,
                "number": number if known else 1.0,
            }
