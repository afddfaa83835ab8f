"""Scaling laws of very many call paths: in parts, with bounded memory, to a table on disk."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from perf_io.tables.parted import PartedMeasurements, read_part
from perf_io.tables.path_table import PathTable, column_of, write_path_table
from perf_scaling.chunk import at_points, path_columns
from perf_scaling.columns import with_values
from perf_scaling.data import Note, gathered, merged_notes
from perf_scaling.fitter import target_of
from perf_scaling.options import LawOptions
from perf_scaling.runs import Runs
from perf_scaling.whole import counted_paths
from perf_statistics.executors.tasks import as_they_end
from perfcore.base import progress
from perfcore.base.errors import DataError, OptionError
from perfcore.base.files import atomic_path, check_folder, write_bytes
from perfcore.data.measurements import Measurements
from perfcore.data.roles import shown_names
from perfcore.data.selection import parse_conditions, rows_that_meet
from perfcore.hooks.options import build, to_dict

if TYPE_CHECKING:
    import pandas as pd

_RUNS, _PATHS, LAWS = "runs.npz", "paths.json", "laws.parquet"
METRIC = "perfcore_metric"  # column of the parts, by which shares are told

Floats = npt.NDArray[np.float64]


class Facts(msgspec.Struct):
    """What is told of a part that was gathered."""

    points: list[list[float]]  # where its paths were measured
    paths: int  # how many can be fitted, and how many not
    unfitted: int
    first_unfitted: str  # one of these, and why
    value_name: str
    unit: str | None
    notes: list[Note]


class Gathered(msgspec.Struct):
    """What is kept of a part that was gathered, beside its runs."""

    points: list[list[float]]
    columns: dict[str, str]  # symbol of each parameter to its column
    paths: list[str]  # those that can be fitted; metrics only where a column names them
    metrics: list[str]
    unfitted: dict[str, str]  # the others, and why
    reciprocal: bool  # the values are rates, and laws are of one over them


def law_options(fields: Mapping[str, Any]) -> LawOptions:
    """Options that crossed to another process as JSON."""
    arguments: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()
    }
    return LawOptions(**arguments)


def gather_part(folder: str, source: str, roles: str, options: str) -> bytes:
    """Gather the runs of a part at its points, and keep them beside it."""
    from perf_io.tables.parted import read_part

    chosen = law_options(msgspec.json.decode(options))
    data = read_part(Path(folder), source, msgspec.json.decode(roles))
    if chosen.where:  # which parameters it holds was settled of all parts
        data, chosen = data.where(chosen.where), dataclasses.replace(chosen, where=())
    path_runs = gathered(data, chosen)
    points = np.stack(list(path_runs.points.values()), axis=1).tolist()
    with atomic_path(Path(folder, _RUNS)) as target:
        np.savez(
            target, means=path_runs.runs.means, counts=path_runs.runs.counts, variances=path_runs.runs.variances,
            outliers=path_runs.runs.outliers,
        )  # fmt: skip
    kept = Gathered(
        points,
        dict(path_runs.columns),
        list(path_runs.paths),
        list(path_runs.metrics),
        dict(path_runs.unfitted),
        path_runs.reciprocal,
    )
    write_bytes(Path(folder, _PATHS), msgspec.json.encode(kept))
    first = next((f"{name}: {reason}" for name, reason in path_runs.unfitted.items()), "")
    return msgspec.json.encode(
        Facts(
            points,
            len(path_runs.paths),
            len(path_runs.unfitted),
            first,
            path_runs.value_name,
            path_runs.unit,
            list(path_runs.notes),
        )
    )


def gathered_paths(folder: Path) -> tuple[Gathered, Runs]:
    """What `gather_part` kept of a part."""
    facts = msgspec.json.decode(Path(folder, _PATHS).read_bytes(), type=Gathered)
    with np.load(Path(folder, _RUNS), allow_pickle=False) as arrays:
        runs = Runs(*(arrays[name] for name in ("means", "counts", "variances", "outliers")))
    return facts, runs


def fit_part(folder: str, points: Sequence[Sequence[float]], target: str, options: str) -> bytes:
    """Fit the paths of a part that was gathered, and keep what is said of each beside it."""
    import pandas as pd

    from perf_io.tables.duck import Database
    from perf_scaling.chunk import at_points, laws_of_chunk

    facts, runs = gathered_paths(Path(folder))
    frame = pd.DataFrame({"path": list(facts.unfitted), "note": [f"not fitted: {r}" for r in facts.unfitted.values()]})
    if facts.paths:
        chosen = law_options(msgspec.json.decode(options))
        every = np.array(points)
        means, counts, variances = (
            at_points(facts.points, each, every) for each in (runs.means, runs.counts, runs.variances)
        )
        runs = Runs(means, counts, variances, runs.outliers)
        target_point = msgspec.json.decode(target)
        laws = laws_of_chunk(facts.paths, facts.columns, runs, every, target_point, chosen, facts.reciprocal)
        laws[METRIC] = facts.metrics or ""
        frame = pd.concat([laws, frame], ignore_index=True)
    database = Database(folder)
    database.add_arrays("laws", {name: _array(frame[name]) for name in frame.columns})
    database.copy("SELECT * FROM laws", Path(folder, LAWS), "parquet")
    return b""


def _array(column: pd.Series[Any]) -> npt.NDArray[Any]:
    """Numbers as they are; texts as objects, None where there is none."""
    if column.dtype.kind in "iuf":
        return column.to_numpy()
    return column.astype(object).where(column.notna(), None).to_numpy()


_KINDS = ("code", "system", "category")
_ROWS_OF_PART = 500_000  # some 30 MB as arrays of numbers and texts

Named = str | os.PathLike[str]


def fit_many_paths(
    data: Named,
    output: Named,
    *,
    executor: Executor | None = None,
    how: Mapping[str, Any] | None = None,
    **options: Any,
) -> PathTable:
    """Fit a scaling law to each path of a table that may be larger than memory, and write a table of them.

    Take it from some 10,000 paths on: a model that answers everything, as `perfcore.fit` makes it, takes 50 KB for each
    path. Bounds of both differ by some hundredths of their width: `perf_scaling.posterior.sparse_kernels`.
    """
    chosen = build(LawOptions, options, "scaling")
    check_folder(output)
    name = os.fsdecode(data)
    parted = PartedMeasurements(
        name, lambda sample: path_columns(sample, chosen), _ROWS_OF_PART, Path(output).resolve().parent,
        {"wanted": (Measurements,), **(how or {})},
    )  # fmt: skip
    roles, chosen, parts, notes = _settled(parted, chosen)
    options_json = msgspec.json.encode(to_dict(chosen)).decode()
    answers = _each(executor, gather_part, parts, "gathering", name, msgspec.json.encode(roles).decode(), options_json)
    part_facts = [msgspec.json.decode(answer, type=Facts) for answer in answers]
    fitted, unfitted = (sum(getattr(one, count_name) for one in part_facts) for count_name in ("paths", "unfitted"))
    if not fitted:
        raise DataError(f"{name}: none of {unfitted} paths can be fitted; {part_facts[0].first_unfitted}")
    points = np.unique(np.concatenate([np.array(one.points) for one in part_facts if one.points]), axis=0)
    levels = dict(zip(roles["parameters"], points.T, strict=True))
    target = target_of(chosen.at, roles["parameters"], levels)
    _each(executor, fit_part, parts, "fitting", points.tolist(), msgspec.json.encode(target).decode(), options_json)
    names = shown_names(roles["parameters"])  # of columns of the table
    facts = {
        "source": name, "value": part_facts[0].value_name, "unit": part_facts[0].unit,
        "columns": {names[symbol]: column for symbol, column in roles["parameters"].items()},
        "points": points.tolist(), "target": {names[symbol]: level for symbol, level in target.items()},
        "options": to_dict(chosen),
        "paths": fitted, "unfitted": unfitted,
        "notes": [*notes, *merged_notes([one.notes for one in part_facts])],
    }  # fmt: skip
    _write(parts, output, facts, part_facts[0].value_name, points)
    return PathTable(output)


def _each(executor: Executor | None, task: Any, parts: Sequence[Path], label: str, *arguments: Any) -> list[bytes]:
    """The answers of a task for each part, in their order."""
    answers: list[bytes] = [b""] * len(parts)
    with progress.bar(label, len(parts)) as advance:
        for index, answer in as_they_end(executor, task, [(str(part), *arguments) for part in parts]):
            answers[index] = answer
            advance(1)
    return answers


class _Settled(NamedTuple):
    """What is the same for every part; which parts have rows; and what is said of that."""

    roles: dict[str, Any]
    options: LawOptions
    parts: list[Path]
    notes: list[str]


def _settled(parted: PartedMeasurements, options: LawOptions) -> _Settled:
    """Roles of the columns and the other options, as all rows say.

    What a part alone would decide otherwise is decided here: which parameters are held by ``--where``, and which of
    the columns that name a path are the same in all rows.
    """
    sample = parted.sample.with_roles(options.parameter)
    several = len(options.value or ()) > 1
    if not several:
        sample = with_values(sample, options.value, options.path)
        options = dataclasses.replace(options, value=None, path=None)
    sample.require_roles()
    roles = sample.roles
    settled_roles: dict[str, Any] = {"parameters": dict(roles.parameters), "value": roles.value}
    settled_roles |= {kind: list(getattr(roles, kind)) for kind in _KINDS}
    options = dataclasses.replace(options, parameter=None)
    if not options.where and sum(bool(settled_roles[kind]) for kind in _KINDS) < 2:
        return _Settled(settled_roles, options, list(parted.parts), [])
    levels: dict[str, set[float]] = {symbol: set() for symbol in settled_roles["parameters"]}
    labels: dict[str, set[Any]] = {kind: set() for kind in _KINDS}
    parts = []
    with progress.bar("looking through", len(parted.parts)) as advance:
        for part in parted.parts:
            table = read_part(part, parted.sample.source, settled_roles).table
            table = table[rows_that_meet(table, parse_conditions(options.where))]
            parts += [part] * bool(len(table))
            for symbol, column in settled_roles["parameters"].items():
                levels[symbol] |= set(table[column].unique())
            for kind in _KINDS:
                if settled_roles[kind]:
                    labels[kind] |= set(table[settled_roles[kind]].drop_duplicates().itertuples(index=False, name=None))
            advance(1)
    if not parts:
        raise OptionError(f"{parted.sample.source}: no row meets {','.join(options.where)!r}")
    fixed = [symbol for symbol, symbol_levels in levels.items() if len(symbol_levels) == 1] if options.where else []
    notes, names = [], shown_names(settled_roles["parameters"])
    if fixed and len(fixed) < len(levels):
        notes.append(f"held: {', '.join(f'{names[symbol]} = {next(iter(levels[symbol])):g}' for symbol in fixed)}")
        settled_roles["parameters"] = {s: column for s, column in settled_roles["parameters"].items() if s not in fixed}
    if any(len(labels[kind]) > 1 for kind in _KINDS):
        settled_roles |= {kind: settled_roles[kind] if len(labels[kind]) > 1 else [] for kind in _KINDS}
    return _Settled(settled_roles, options, parts, notes)


def _write(
    parts: Sequence[Path], output: Named, facts: Mapping[str, Any], value_name: str, points: npt.NDArray[np.float64]
) -> None:
    """The laws of all parts in one file, by their shares."""
    names, metrics, means, predicted = list[str](), list[str](), [], []
    written = [part / LAWS for part in parts]
    for part, file in zip(parts, written, strict=True):
        gathered, runs = gathered_paths(part)
        names += gathered.paths
        metrics += gathered.metrics
        means.append(at_points(gathered.points, runs.means, points))
        if gathered.paths:
            predicted.append(column_of(file, "predicted")[: len(gathered.paths)])
    metric, counted, inclusive = counted_paths(names, metrics, value_name, np.concatenate(means))
    metric_names = list(dict.fromkeys(metrics)) or [""]
    totals = np.bincount(metric, np.where(counted, np.concatenate(predicted), 0.0), len(metric_names))
    with atomic_path(output) as target:
        write_path_table(
            written, target, METRIC, dict(zip(metric_names, totals.tolist(), strict=True)),
            {**facts, "inclusive": inclusive, "several": len(metric_names) > 1},
        )  # fmt: skip
