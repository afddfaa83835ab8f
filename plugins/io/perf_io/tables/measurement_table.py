"""Tables of measurements: every column is kept, since any may name a code, select rows, or hold operation counts."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perf_io.options import TableOptions
from perf_io.tables.duck import quoted_name
from perf_io.tables.table import Table, decimal_hint, has_decimal_comma, number_of
from perf_io.tables.tidy import Tidy, numbered_runs, tidied
from perfcore.base import progress
from perfcore.base.errors import InputError, OptionError
from perfcore.data.measurements import Measurements
from perfcore.data.roles import guess_roles

if TYPE_CHECKING:
    import pandas as pd

# Rows of runs that did not complete, by a column of states or of exit codes.
#
# The time of such a run is that until something stopped it: 300 s of a job with a limit of 300 s do not say how long it
# takes.

_WORDS = {
    name: frozenset(words.split())
    for name, words in {
        "states": "state status jobstate jobstatus runstate runstatus outcome result",
        "exits": "exitcode exitstatus returncode exit",
        "good": "completed complete ok okay success successful succeeded pass passed done finished good",
        # Of Slurm, PBS, LSF, Flux, test suites and trackers of experiments; what still runs has not its time yet.
        "bad": "failed fail failure timeout timedout cancelled canceled oom outofmemory nodefail nodefailure bootfail "
        "deadline preempted revoked error errored aborted abort crashed crash killed exited exit bad unsuccessful "
        "incomplete running pending suspended requeued skipped",
    }.items()
}
_LONGEST_LIST = 5


def drop_failed(frame: pd.DataFrame, source: str, keep: bool) -> npt.NDArray[np.bool_]:
    """Which rows (n,) count: all, but for those that a state or an exit code says did not complete."""
    import numpy as np

    good = np.ones(len(frame), dtype=bool)
    if keep:
        return good
    reasons: dict[str, None] = {}
    for column in frame.columns:
        name = _plain(str(column))
        if name not in _WORDS["states"] | _WORDS["exits"]:
            continue
        outcomes = frame[column].map(_outcome if name in _WORDS["states"] else _exit_outcome)
        if (outcomes == "").any():
            continue
        bad = (outcomes == "bad").to_numpy()
        values = dict.fromkeys(str(cell).removesuffix(".0") for cell in frame[column][bad & good])
        reasons.update(dict.fromkeys(values if name in _WORDS["states"] else (f"{column} {cell}" for cell in values)))
        good &= ~bad
    if good.all():
        return good
    listed = ", ".join(list(reasons)[:_LONGEST_LIST])
    if not good.any():
        raise InputError(source, f"none of the {len(good)} runs completed ({listed}); -r failed=yes keeps them")
    progress.note(
        f"{source}: left out, since they did not complete ({listed}): {int((~good).sum())} of {len(good)} rows; "
        "-r failed=yes keeps them"
    )
    return good


def _is_empty(cell: object) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


def _outcome(cell: object) -> str:
    """What a state says: ``good``, ``bad``, ``unknown`` of an empty cell; nothing of any other word."""
    if _is_empty(cell):
        return "unknown"
    word = _plain(re.sub(r" by \w+$|\+$", "", str(cell).strip()))
    return "good" if word in _WORDS["good"] else "bad" if word in _WORDS["bad"] else ""


def _exit_outcome(cell: object) -> str:
    """What an exit code says, also one of Slurm with a signal: ``0:0``."""
    if _is_empty(cell):
        return "unknown"
    match = re.fullmatch(r"(-?[0-9]{1,9})(?:\.0)?(?::([0-9]{1,3}))?", str(cell).strip())
    if match is None:
        return ""
    return "good" if int(match[1]) == 0 and int(match[2] or 0) == 0 else "bad"


def read_measurements(table: Table, options: TableOptions) -> Measurements:
    """Read the whole table; a column is one of numbers where all its values are."""
    import pandas as pd

    runs_named = numbered_runs(options.value) is not None
    if len(options.value) > 1 and not runs_named:
        raise OptionError(f"measurements have one value column, not {', '.join(options.value)}")
    loaded = table.database.columns(f"SELECT {', '.join(sql_fields(table))} FROM {table.relation}")
    count = len(loaded[table.columns[0].name])
    if not count:
        raise InputError(table.source, "has column names but no rows", line=1)
    kept = table.facts.get("roles") or {}
    _refuse_decimal_signs(table, options, loaded)
    frame = pd.DataFrame({name: _as_numbers(values, table.decimal) for name, values in loaded.items()})
    kept_rows = drop_failed(frame, table.source, options.failed)
    lines = np.arange(1, count + 1) if table.lines is None else np.asarray(table.lines())
    frame = frame[kept_rows].reset_index(drop=True)
    tidy = Tidy(frame) if kept else tidied(frame, options)
    frame, made = tidy.frame, tidy.roles
    kept = {**made, **kept}
    named = {"code": options.code, "system": options.system, "category": options.category}
    return Measurements(
        frame.reset_index(drop=True),
        options.parameters or kept.get("parameters"),
        kept.get("value") if runs_named or not options.value else options.value[0],
        **{role: kept.get(role) if columns is None else columns for role, columns in named.items()},
        unit=kept.get("unit"),
        source=table.source,
        lines=lines[kept_rows][frame.index].tolist(),
        notes=table.report(*tidy.notes),
    )


def sql_fields(table: Table) -> list[str]:
    """SQL for each column of a table: numbers as they are, everything else as text."""
    fields = []
    for column in table.columns:
        name = quoted_name(column.name)
        plain = column.kind == "number" and table.types[column.name] in ("integer", "float")
        fields.append(name if plain else f"CAST({name} AS VARCHAR) AS {name}")
    return fields


def _refuse_decimal_signs(table: Table, options: TableOptions, loaded: Mapping[str, npt.NDArray[Any]]) -> None:
    """Refuse numbers with the other decimal sign in what was varied or measured; elsewhere they may be names."""
    numeric = {column.name for column in table.columns if column.kind == "number"}
    roles = guess_roles([column.name for column in table.columns], numeric)
    if table.decimal == ".":
        looked_at = {roles.value or "", *roles.parameters.values(), *options.value}
        looked_at |= {word.rpartition("=")[2].strip() for word in options.parameters}
    else:
        named = ((options.code, roles.code), (options.system, roles.system), (options.category, roles.category))
        looked_at = numeric - {name for chosen, guessed in named for name in (guessed if chosen is None else chosen)}
    for column in table.columns:
        if column.name not in looked_at or table.types[column.name] != "text":
            continue
        for row, text in enumerate(np.ma.filled(loaded[column.name], None).tolist()):
            if text is not None and decimal_hint(text, table.decimal):
                table.refuse(row, column, "; a number is expected")


def _as_numbers(values: npt.NDArray[Any], decimal: str) -> npt.NDArray[Any]:
    """Texts as numbers where all are, and where different texts are different numbers; None for a missing text."""
    missing = np.ma.getmaskarray(values)
    if values.dtype.kind in "iuf":
        return np.ma.filled(values.astype(np.float64), np.nan) if missing.any() else np.asarray(values)
    objects = np.asarray(np.ma.getdata(values), dtype=object)
    numbers = np.full(len(objects), np.nan)
    texts = objects[~missing].tolist()
    try:
        numbers[~missing] = [number_of(text, decimal) for text in texts]
    except (TypeError, ValueError):
        pass
    else:
        different = set(texts)
        if len({number_of(text, decimal) for text in different}) == len(different):
            return numbers
    if decimal == ",":  # a number gets a point, as numbers are read from texts later
        texts = [text.replace(",", ".") if has_decimal_comma(text) else text for text in texts]
    objects[~missing] = texts
    objects[missing] = None
    return objects
