"""What is done with one part of very many paths, here or in another process: gather its runs, and fit its laws."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import numpy.typing as npt

from perf_scaling.data import Note, gathered
from perf_scaling.options import LawOptions
from perf_scaling.runs import Runs
from perfcore.base.files import atomic_path, write_bytes

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
