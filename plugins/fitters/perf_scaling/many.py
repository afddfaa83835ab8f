"""Models of many series: fitted in blocks from a table to a Parquet file, a row for each, and read from it.

A row holds the answer (formula, prediction, interval, growth, notes) and what was measured: means, runs and noise, some
100 bytes. The posterior is not stored, as it follows from these; a model that is read weighs them again.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import perfcore
from perf_scaling.build import fitted, target_of
from perf_scaling.data import gathered, scaling_data
from perf_scaling.engine import fit_posterior
from perf_scaling.growth import DEVIATES, MISSED, growths_at_target
from perf_scaling.model import ScalingModel, path_columns
from perf_scaling.options import Given, ScalingOptions, parse_target
from perf_scaling.posterior import stored
from perf_tables import thread_count
from perf_tables.executors import executor_of, in_order
from perfcore.base import pd, progress
from perfcore.base.errors import DataError, ModelFileError, OptionError, UnknownNameError
from perfcore.base.files import atomic_path
from perfcore.data.measurements import Measurements
from perfcore.hooks.options import to_dict
from perfcore.hooks.registry import registry
from perfcore.models.model import Origin
from perfcore.reading.source import ADDRESS
from perfcore.report import Column, Figure, Note, Report, Result, Table, interval_text, number_format, number_text
from perfcore.tables import point_text

_SCHEMA = "perfcore-series/1"
_HEAD = 10_000  # rows by which columns are recognized
_MOST = 20_000  # series of a file that are read as one model
_SHOWN = 10
_FEW_BLOCKS, _MOST_PROCESSES = 4, 8  # of fewer blocks, processes take longer to start than they save
_ORDERS = {"predicted": "predicted", "growth": "exponent"}  # of a ranking: columns


@dataclass(frozen=True, repr=False)
class SeriesFit(Result):
    """What was fitted and written."""

    json_kind: ClassVar[str] = "series fit"

    output: str
    source: str
    count: int
    unfitted: Mapping[str, str]  # the first of each reason
    n_unfitted: int
    at: str
    unit: str
    largest: tuple[tuple[str, str, float, float, float], ...]  # series, formula, prediction and interval

    def report(self, data: Any = None) -> Report:
        """Return how many series were fitted, and the largest predictions."""
        name, _, value, low, high = self.largest[0]
        amount = f"{number_text(value)} {self.unit}".rstrip()
        ends = interval_text((low, high), number_format(value))
        columns = [
            Column("series", 0), Column("predicted", 2, self.unit, number_text),
            Column("95% interval", lambda row: row[3:], self.unit, number_text, ("low", "high")), Column("model", 1),
        ]  # fmt: skip
        return Report(
            title=f"Scaling of the series in {Path(self.source).name}",
            answer=f"{self.count:,} series fitted; at {self.at} the largest is {name}: {amount}, 95% interval {ends}",
            figures=[Figure("series", self.count, format=","), Figure("predicted", value, self.unit, (low, high))],
            tables=[Table(columns, self.largest, f"Largest at {self.at}")],
            notes=[Note("Not fitted", f"{series}: {reason}") for reason, series in self.unfitted.items()],
            next=f"perf predict {self.output}",
        )


def fit_series(
    source: str | os.PathLike[str], output: str | os.PathLike[str], options: ScalingOptions, parallel: str | None = None
) -> SeriesFit:
    """Fit each series of a Parquet or CSV file, and write a row for each to a Parquet file.

    Blocks of series that are done are kept in a folder beside the output until all are, so that the same call goes on
    after an interruption. Workers fit the blocks, by default of many a process for each core; see
    `perf_tables.executors.executor_of`.
    """
    series = registry().load("readers", "parquet").series()
    name, target = os.fspath(source), Path(output)
    file = Path(source)
    if ADDRESS.match(name):
        from perf_tables.addresses import local_copy

        file = local_copy(name)
    table = series.SeriesTable(file)
    first = Measurements(table.head(_HEAD), source=name)
    chosen = first.with_roles(options.parameter, options.value if options.value is None else options.value[0])
    roles = chosen.with_roles(code=options.path, system=(), category=()).roles if options.path else chosen.roles
    path = (*roles.code, *roles.system, *roles.category)
    if not path or roles.value is None:
        raise OptionError(f"{name}: -o {target.name} is for many series: name the column of a series with --path")
    known = scaling_data(chosen, replace(options, path=path, value=(roles.value,)))
    parameters = tuple(f"{symbol}={column}" for symbol, column in known.columns.items())
    point = target_of(options.at, known.columns, known.points, known.held)
    at = tuple(f"{known.columns[symbol]}={level!r}" for symbol, level in point.items())
    unit = options.unit or roles.unit  # of the column, before rates become those of each processor
    pinned = replace(options, parameter=parameters, value=(roles.value,), path=path, unit=unit, at=at)
    facts = {"schema": _SCHEMA, "version": perfcore.__version__, "options": to_dict(pinned), "source": name,
             "columns": dict(known.columns), "value_name": known.value_name, "unit": known.unit,
             "scaling": known.scaling, "reciprocal": known.reciprocal, "target": point}  # fmt: skip
    blocks = _Blocks(target, file, facts)
    tasks = blocks.undone((columns_of(frame), name, json.dumps(facts["options"])) for frame in table.blocks(path))
    try:
        first_tasks = list(itertools.islice(tasks, _FEW_BLOCKS))
        if parallel is None and len(first_tasks) == _FEW_BLOCKS and (cores := thread_count(_MOST_PROCESSES)) > 1:
            parallel = f"local:{cores}"
        with executor_of(parallel) as executor, progress.bar(f"fitting {name}", None) as advance:
            for content in in_order(executor, fit_block, itertools.chain(first_tasks, tasks)):
                advance(blocks.add(content))
    finally:
        blocks.end()
    count, unfitted = 0, dict[str, str]()
    facts_of_blocks = [series.facts_of(file) for file in blocks.files]
    for block in facts_of_blocks:
        count += block["count"]
        unfitted = {**block["unfitted"], **unfitted}
    if not count:
        blocks.remove()
        raise DataError(f"{name}: no series can be fitted: {next(iter(unfitted), 'the table is empty')}")
    with atomic_path(target) as part:
        used = [file for file, block in zip(blocks.files, facts_of_blocks, strict=True) if block["count"]]
        series.join_answers(used, part, facts)
    blocks.remove()
    largest = series.read_answers(target, "predicted", _SHOWN)[["series", "formula", "predicted", "low", "high"]]
    shown = point_text({known.columns[symbol]: level for symbol, level in point.items()})
    return SeriesFit(os.fspath(output), name, count, unfitted, sum(block["n_unfitted"] for block in facts_of_blocks),
                     shown, known.unit or "", tuple(largest.itertuples(index=False, name=None)))  # fmt: skip


class _Blocks:
    """Blocks of series that are done, each a file of a folder beside the output, for one input and its options."""

    def __init__(self, output: Path, source: Path, facts: Mapping[str, Any]) -> None:
        self.folder = output.with_name(f"{output.name}.blocks")
        status = source.stat()
        identity = json.dumps([status.st_size, status.st_mtime_ns, facts], default=str)
        described = self.folder / "input.json"
        if not described.is_file() or described.read_text(encoding="utf-8") != identity:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir()
            described.write_text(identity, encoding="utf-8")
        self._waiting: list[Path] = []
        self.files: list[Path] = []

    def undone(self, tasks: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        """Yield those tasks whose answers are not there."""
        n_done = 0
        for number, task in enumerate(tasks):
            self.files.append(self.folder / f"{number:08d}.parquet")
            if self.files[-1].is_file():
                n_done += 1
                continue
            self._waiting.append(self.files[-1])
            yield task
        if n_done:
            progress.note(f"{self.folder}: {n_done} blocks of series were fitted before, and are taken from there")

    def add(self, content: bytes) -> int:
        """Write the answer to the first task that has none; returns how many blocks that are."""
        with atomic_path(self._waiting.pop(0)) as part:
            part.write_bytes(content)
        return 1

    def end(self) -> None:
        """Leave no folder if nothing was done."""
        if not any(file.is_file() for file in self.files):
            self.remove()

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def columns_of(frame: Any) -> dict[str, list[Any]]:
    """Return a table as numbers and texts, which go to any worker."""
    return {
        name: column.tolist()
        if column.dtype.kind in "iufb"
        else [v if v is None or isinstance(v, float) else str(v) for v in column]
        for name, column in frame.items()
    }


def fit_block(columns: Mapping[str, list[Any]], source: str, options: str) -> bytes:
    """Fit whole series, and return a Parquet file with a row for each."""
    given: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in json.loads(options).items()}
    own = ScalingOptions(**given)
    measurements = gathered(Measurements(pd.DataFrame(columns), source=source), own)
    unfitted = measurements.unfitted
    facts = {"count": len(measurements.paths), "n_unfitted": len(unfitted),
             "unfitted": {reason: series for series, reason in reversed([*unfitted.items()])}}  # fmt: skip
    rows = _rows(fitted(measurements, own, apart=True)) if measurements.paths else pd.DataFrame({"series": [""]})
    return bytes(registry().load("readers", "parquet").series().answers_bytes(rows, facts))


def _rows(model: ScalingModel) -> Any:
    """Return what is written of each series."""
    columns, named, measured = path_columns(model), model.named, np.isfinite(model.means)
    growth, probability, exponent, *_ = growths_at_target(model)[0]
    notes: list[list[str]] = [[] for _ in named]
    for k in np.flatnonzero(np.abs(columns.missed) > MISSED).tolist():
        notes[k].append(f"model misses a level by {abs(columns.missed[k]):.0%}")
    for k in np.flatnonzero(columns.deviates >= DEVIATES).tolist():
        notes[k].append("the last level may be an exception")
    for k in np.flatnonzero(columns.turns).tolist():
        notes[k].append("another behaviour may begin at the last level")
    for k in np.flatnonzero(columns.changes_at > 0.0).tolist():
        notes[k].append(f"behaviour changes after {columns.changes_at[k]:g}")
    low, predicted, high, likely_low, likely_high = columns.quantiles.T
    is_measured = [slice(None)] * len(named) if measured.all() else list(measured)
    counts = model.posterior.counts
    return pd.DataFrame({
        "series": model.paths, "formula": [candidate.formula for candidate in named], "predicted": predicted,
        "low": low, "high": high, "likely_low": likely_low, "likely_high": likely_high, "growth": growth,
        "growth_probability": probability, "exponent": exponent, "terms": [list(own.terms) for own in named],
        "coefficients": [own.coefficients for own in named],
        "standard_errors": [own.standard_errors for own in named], "fit_error": [own.fit_error for own in named],
        "notes": ["; ".join(texts) for texts in notes],
        **{f"at_{symbol}": [model.measured[own, place].tolist() for own in is_measured]
           for place, symbol in enumerate(model.symbols)},
        "means": [row[own].tolist() for row, own in zip(model.means, is_measured, strict=True)],
        "runs": [row[own].tolist() for row, own in zip(counts, is_measured, strict=True)],
        "run_variance": model.posterior.spread,
    })  # fmt: skip


class SeriesFile:
    """A model that is read from a file with a row for each series."""

    @classmethod
    def is_file(cls, path: Path) -> bool:
        """Return whether `fit_series` wrote this file."""
        with path.open("rb") as file:
            if file.read(4) != b"PAR1":
                return False
        return bool(registry().load("readers", "parquet").series().facts_of(path).get("schema") == _SCHEMA)

    @classmethod
    def read(cls, path: Path) -> ScalingModel:
        """Return the model of the series with the largest predictions."""
        series = registry().load("readers", "parquet").series()
        facts, rows = series.facts_of(path), series.read_answers(path, "predicted", _MOST + 1)
        try:
            return _model(facts, rows[:_MOST], len(rows) > _MOST)
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"{path}: damaged: {error}") from None

    @classmethod
    def rank(cls, path: Path, by: str | None = None, at: Any = None, top: int | None = None) -> SeriesRanking:
        """Return the series with the largest predictions or the steepest growth, at the file's target or another."""
        if by not in (None, *_ORDERS):
            raise UnknownNameError("order", str(by), _ORDERS)
        by = by or "predicted"
        series = registry().load("readers", "parquet").series()
        facts, count = series.facts_of(path), top or _SHOWN
        if at is None:
            rows, target = series.read_answers(path, _ORDERS[by], count), facts["target"]
        else:  # of the series that a model holds
            model = cls.read(path)
            target = target_of(
                parse_target(at), facts["columns"], {s: np.array(p) for s, p in model.points.items()}, {}
            )
            rows = _rows(model.at(target)).nlargest(count, _ORDERS[by])
        shown = point_text({facts["columns"][symbol]: level for symbol, level in target.items()})
        fields = ["series", "predicted", "low", "high", "growth", "growth_probability", "exponent", "formula"]
        ranked = tuple(rows[fields].itertuples(index=False, name=None))
        return SeriesRanking(os.fspath(path), by, shown, facts["unit"] or "", ranked)


@dataclass(frozen=True, repr=False)
class SeriesRanking(Result):
    """The series of a file of models, the largest first."""

    json_kind: ClassVar[str] = "series ranking"

    source: str
    by: str
    at: str
    unit: str
    rows: tuple[tuple[str, float, float, float, str, float, float, str], ...]

    def report(self, data: Any = None) -> Report:
        """Return the first of the series and a table of them."""
        name, value, low, high, growth, probability, exponent, _ = self.rows[0]
        figures = [Figure("predicted", value, self.unit, (low, high))]
        columns = [Column("series", 0), Column("predicted", 1, self.unit, number_text)]
        if self.by == "growth":
            answer = f"{name} grows the most towards {self.at}: {growth} (probability {probability:.0%})"
            figures = [Figure("exponent", exponent), Figure("probability", probability, format=".0%")]
            columns += [Column("growth", 4), Column("probability", 5, format=".0%")]
            columns.append(Column("exponent", 6, format=".2f"))
        else:
            ends = interval_text((low, high), number_format(value))
            answer = f"{name} is the largest at {self.at}: {number_text(value)} {self.unit}".rstrip()
            answer += f", 95% interval {ends}"
            columns.append(Column("95% interval", lambda row: row[2:4], self.unit, number_text, ("low", "high")))
            columns.append(Column("model", 7))
        return Report(
            title=f"Ranking of the series in {Path(self.source).name}", answer=answer, figures=figures,
            tables=[Table(columns, self.rows, f"At {self.at}")],
        )  # fmt: skip


def _model(facts: Mapping[str, Any], rows: Any, is_cut: bool) -> ScalingModel:
    symbols = tuple(facts["columns"])
    columns = [np.concatenate(rows[f"at_{symbol}"].tolist()) for symbol in symbols]
    points, point = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    path = np.repeat(np.arange(len(rows)), [len(means) for means in rows["means"]])
    means, counts = np.full((len(rows), len(points)), np.nan), np.zeros((len(rows), len(points)))
    means[path, point.ravel()] = np.concatenate(rows["means"].tolist())
    counts[path, point.ravel()] = np.concatenate(rows["runs"].tolist())
    given = Given.of(facts["options"], facts["columns"])
    spread = rows["run_variance"].to_numpy(dtype=np.float64)
    posterior = fit_posterior(points, means, counts, spread, given, facts["reciprocal"])
    laws, settings, data = stored(posterior, symbols)
    notes = (f"left out, of smaller predictions than the {_MOST:,} largest: the other series",) if is_cut else ()
    return ScalingModel(
        origin=Origin("scaling", facts["options"], facts["source"], "", facts["version"]), columns=facts["columns"],
        value_name=facts["value_name"], unit=facts["unit"], notes=notes,
        points={symbol: tuple(points[:, k].tolist()) for k, symbol in enumerate(symbols)},
        paths=tuple(rows["series"]), laws=laws, settings=settings, data=data,
        unfitted={}, target=facts["target"], scaling=facts["scaling"], reciprocal=facts["reciprocal"], apart=True,
    )  # fmt: skip
