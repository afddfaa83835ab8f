"""Sums over the files of a run, and the files that hold them.

A file is a zip of a JSON document, by which it is recognized, and of Parquet tables with whole numbers: file, location,
state, bucket -> sum, count; -1 if a row is not of one. Cells have a bucket, windows a bucket and a state, locations a
file, a location and a state. Buckets are 2^bits nanoseconds wide and begin at multiples of that: any two sums become
comparable by shifting their numbers, so that parts of a run need not agree beforehand on where it begins and ends.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import numpy.typing as npt

from perf_statistics.kernels import kernel
from perf_traces.nesting import Columns
from perf_traces.ranks import YEAR_2000_NS, is_near_0
from perf_traces.scratch_arrays import chunks, zeros
from perf_traces.summaries.run import DOCUMENT, Run, Whole, is_summary
from perfcore.base.arrays import Ints
from perfcore.base.errors import DataError, InputError, OptionError, listing
from perfcore.base.files import atomic_path
from perfcore.data.trace import Trace

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Array = npt.NDArray[Any]

VERSION = 5
MOST_MARKERS = 1 << 12
LARGEST = 1 << 62  # nanoseconds of all locations together; also of times, so that shifted ones stay within 64 bits
_MOST_WINDOWS, _MOST_WINDOW_CELLS = 1 << 10, 1 << 22
_MOST_STATES_AT_LOCATIONS = 1 << 26  # of 16 bytes, of one file
_BEFORE = np.iinfo(np.int64).min
_COLUMNS = ("file", "location", "state", "bucket", "sum", "count")
_TABLE = "sums-{:04}.parquet"
# A document may be so many times as large as it is packed beyond so many bytes: little text may stand for much.
_FREELY_BYTES, _LARGEST_GROWTH = 1 << 26, 300


def n_buckets(span_ns: tuple[int, int], bits: int) -> int:
    """Return how many buckets of 2^bits nanoseconds a span touches."""
    return (max(span_ns[1] - 1, span_ns[0]) >> bits) - (span_ns[0] >> bits) + 1


def bucket_bits(span_ns: tuple[int, int], most: int) -> int:
    """Return the least bits with which a span touches at most so many buckets."""
    bits = max(0, ((span_ns[1] - span_ns[0]) // most).bit_length() - 1)
    while n_buckets(span_ns, bits) > most:
        bits += 1
    return bits


class FileFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Facts of one file other than its intervals."""

    at: Whole  # its position among the files of the run
    time_unit: str
    span_ns: tuple[int, int]  # on the clock of the file
    shift_ns: int  # added to its times, they are times on the clock of the summary
    n_intervals: Whole
    n_markers: Whole
    locations: tuple[str, ...]
    levels: dict[str, tuple[str, ...]]
    facts: dict[str, int | float | str | bool]
    notes: tuple[str, ...]

    @property
    def shifted_ns(self) -> tuple[int, int]:
        """The span on the clock of the summary."""
        return self.span_ns[0] + self.shift_ns, self.span_ns[1] + self.shift_ns


class Facts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """All of a summary but its sums; it depends on the files alone, not on how they were divided."""

    run: Run
    files: tuple[FileFacts, ...]  # of those that are in it, in their order
    left_out: dict[int, str]  # why files, by their position, are left out
    states: tuple[str, ...]  # sorted
    busy: tuple[bool, ...]  # which of them compute
    markers: tuple[tuple[int, int, str, int], ...]  # start, end, name and file: the first ones in this order
    part: tuple[int, int] | None = None
    n_tables: Whole = 1
    version: int = VERSION

    @functools.cached_property
    def span_ns(self) -> tuple[int, int]:
        """From the first beginning to the last end, on the clock of the summary."""
        firsts, lasts = zip(*(file.shifted_ns for file in self.files), strict=True)
        return min(firsts), max(lasts)

    @functools.cached_property
    def bits(self) -> tuple[int, int]:
        """Bits of the nanoseconds of a cell and of a window."""
        cell_bits = bucket_bits(self.span_ns, self.run.cells)
        n_windows = max(1, min(_MOST_WINDOWS, _MOST_WINDOW_CELLS // max(1, len(self.states))))  # fewer of many states
        return cell_bits, max(cell_bits, bucket_bits(self.span_ns, n_windows))  # windows are made of whole cells

    @property
    def positions(self) -> frozenset[int]:
        """Positions of the files that are in it, or left out on purpose."""
        return frozenset([*(file.at for file in self.files), *self.left_out])

    def missing(self) -> list[int]:
        """Return positions of the files of the run that are neither."""
        return sorted(set(range(len(self.run.files))) - self.positions)

    def check(self) -> None:
        """Raise ValueError if its parts do not fit together."""
        count, positions = len(self.run.files), [file.at for file in self.files]
        sound = (
            positions == sorted(set(positions))
            and all(file.at < count and file.span_ns[0] <= file.span_ns[1] for file in self.files)
            and max(map(abs, self.span_ns)) < LARGEST
            and all(0 <= position < count and position not in positions for position in self.left_out)
            and all(len(names) == len(file.locations) for file in self.files for names in file.levels.values())
            and self.states == tuple(sorted(set(self.states)))
            and len(self.busy) == len(self.states)
            and len(self.markers) <= MOST_MARKERS
            and (self.part is None or 1 <= self.part[0] <= self.part[1])
        )
        if not sound:
            raise ValueError("its numbers do not fit together")


def joined(parts: Sequence[Facts], source: str = "parts of the run") -> Facts:
    """Return the facts of all files of parts; refuse times that do not fit and states that are of two kinds."""
    busy: dict[str, bool] = {}
    torn: dict[str, None] = {}
    for facts in parts:
        for state, is_busy in zip(facts.states, facts.busy, strict=True):
            if busy.setdefault(state, is_busy) != is_busy:
                torn[state] = None
    if torn:
        raise DataError(
            f"{source}: {listing(map(repr, torn), 3)} computes in some files of the run and not in others; one "
            "table of classes (PERF_STATES) for all of them decides"
        )
    files = sorted((file for facts in parts for file in facts.files), key=lambda file: file.at)
    total = sum((file.span_ns[1] - file.span_ns[0]) * len(file.locations) for file in files)
    if max([total, *(abs(time) for file in files for time in file.shifted_ns)]) >= LARGEST:
        raise DataError(f"{source}: its times do not fit into 64 bits of nanoseconds")
    left_out = {position: text for facts in parts for position, text in facts.left_out.items()}
    markers = sorted(itertools.chain.from_iterable(facts.markers for facts in parts))[:MOST_MARKERS]
    states = tuple(sorted(busy))
    return Facts(
        parts[0].run, tuple(files), dict(sorted(left_out.items())), states, tuple(busy[state] for state in states),
        tuple(markers),
    )  # fmt: skip


@dataclass(frozen=True)
class Summary:
    """Sums over some files of a run, all of them whole nanoseconds."""

    facts: Facts
    cells: Ints  # time that all locations compute in each cell
    windows: Ints  # time of each state in each window
    places: Ints  # file, its location, and state of each location and state that occurs, sorted
    times: Ints
    entries: Ints  # how often the state began


@kernel(small=20_000)
def in_order(location: Array, start: Array, end: Array, last_end: Array) -> bool:  # pragma: no cover
    """Return whether the intervals of each location follow one another; ``last_end`` (n_locations,) is overwritten."""
    for row in range(len(location)):
        if end[row] > start[row]:
            if start[row] < last_end[location[row]]:
                return False
            last_end[location[row]] = end[row]
    return True


@kernel(small=20_000)
def add_intervals(
    columns: tuple[Array, Array, Array, Array], shift: int, busy: Array,
    cell_bits: int, first_cell: int, cells: Array, full_cells: Array,
    window_bits: int, first_window: int, windows: Array, full_windows: Array,
    times: Array, entries: Array, last_end: Array, last_state: Array,
) -> None:  # pragma: no cover  # fmt: skip
    """Add intervals to all sums; ``full`` are changes of how many fill a bucket."""
    location, states, start, end = columns
    for row in range(len(location)):
        place, state = location[row], states[row]
        first, last = start[row], end[row]
        times[place, state] += last - first
        if not (last_end[place] == first and last_state[place] == state):
            entries[place, state] += 1
        if last == first:
            continue
        last_end[place], last_state[place] = last, state
        first += shift
        last += shift
        begin, stop = first >> window_bits, (last - 1) >> window_bits
        if begin == stop:
            windows[begin - first_window, state] += last - first
        else:
            windows[begin - first_window, state] += ((begin + 1) << window_bits) - first
            windows[stop - first_window, state] += last - (stop << window_bits)
            full_windows[begin + 1 - first_window, state] += 1
            full_windows[stop - first_window, state] -= 1
        if not busy[state]:
            continue
        begin, stop = first >> cell_bits, (last - 1) >> cell_bits
        if begin == stop:
            cells[begin - first_cell] += last - first
        else:
            cells[begin - first_cell] += ((begin + 1) << cell_bits) - first
            cells[stop - first_cell] += last - (stop << cell_bits)
            full_cells[begin + 1 - first_cell] += 1
            full_cells[stop - first_cell] -= 1


def sums_of(run: Run, position: int, trace: Trace, columns: Columns) -> Summary:
    """Return the sums of the file at a position, whose columns are those of `ordered_columns`."""
    n_states, n_locations = len(trace.states), len(trace.locations)
    if n_states * n_locations > _MOST_STATES_AT_LOCATIONS:
        raise DataError(f"{trace.source}: {n_states:,} states of {n_locations:,} locations are too many")
    span = min(trace.span_ns[0], int(columns[2].min())), max(trace.span_ns[1], int(columns[3].max()))
    shift = _shift(run, trace, span)
    file = FileFacts(
        position, trace.time_unit, span, shift, trace.n_intervals, len(trace.markers), tuple(trace.locations),
        {level: tuple(names) for level, names in trace.levels.items()},
        {name: value for name, value in trace.facts.items() if _is_plain(value)}, tuple(trace.notes),
    )  # fmt: skip
    states = sorted(set(trace.states))
    code = np.array([states.index(state) for state in trace.states], np.int32)
    markers = tuple((int(start) + shift, int(end) + shift, name, position) for name, start, end in trace.markers)
    busy = tuple(state in set(trace.busy_states) for state in states)
    facts = joined([Facts(run, (file,), {}, tuple(states), busy, markers)], trace.source)
    buckets = []
    for bits, shape in zip(facts.bits, ((), (len(states),)), strict=True):
        count = n_buckets(facts.span_ns, bits)
        sums, full = zeros((count, *shape), np.int64), zeros((count + 1, *shape), np.int64)
        buckets.append((bits, facts.span_ns[0] >> bits, sums, full))
    times, entries = np.zeros((2, n_locations, len(states)), np.int64)
    last = np.full(n_locations, _BEFORE), np.full(n_locations, -1, np.int64)
    location, state, start, end = columns
    arguments = *buckets[0], *buckets[1], times, entries, *last
    add_intervals((location, code[state], start, end), shift, np.array(busy), *arguments)
    for bits, _, sums, full in buckets:
        level = np.zeros(sums.shape[1:], np.int64)
        for rows in chunks(len(sums)):
            levels = np.cumsum(full[rows], axis=0) + level
            sums[rows] += levels << bits
            level = levels[-1]
    where = np.nonzero(entries)
    places = np.column_stack([np.full(len(where[0]), position), *where])
    return Summary(facts, buckets[0][2], buckets[1][2], places, times[where], entries[where])


def ordered_columns(trace: Trace) -> Columns:
    """Return the location, state, start and end in the order of time for each location."""
    location, state, start, end = trace.location, trace.state, trace.start_ns, trace.end_ns
    if in_order(location, start, end, np.full(len(trace.locations), _BEFORE)):
        return location, state, start, end
    order = np.lexsort((end > start, start, location))
    return location[order], state[order], start[order], end[order]


def _shift(run: Run, trace: Trace, span: tuple[int, int]) -> int:
    """Return what makes times of a file times of the run."""
    if len(run.files) == 1:
        return 0
    if run.clocks == "unaligned":
        return -span[0]
    epoch = int(trace.facts.get("epoch_ns", 0))
    begin, end = (epoch + time for time in span)
    if run.clocks == "auto" and begin < YEAR_2000_NS and not is_near_0(begin, end):
        raise OptionError(
            f"{trace.source}: its times are no times since 1970, so that nothing says that the files share a clock; "
            "-r clocks=recorded takes them as they are written, -r clocks=unaligned counts each from its first event"
        )
    return epoch


def _is_plain(value: object) -> bool:
    """Return whether JSON gives it back as it is."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, (bool, str)) or (isinstance(value, int) and abs(value) < LARGEST)


def save(summary: Summary, path: str | os.PathLike[str], part: tuple[int, int] | None = None) -> None:
    """Write a summary, whole or not at all."""
    with atomic_path(path) as target, _connected() as (connection, folder):
        tables = [folder / _TABLE.format(number) for number, _ in enumerate(_tables(summary))]
        for table, columns in zip(tables, _tables(summary), strict=True):
            connection.register("sums", dict(zip(_COLUMNS, np.broadcast_arrays(*columns), strict=True)))
            connection.execute(f"COPY sums TO {_literal(table)} (FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2)")
        facts = msgspec.structs.replace(summary.facts, part=part, n_tables=len(tables))
        with zipfile.ZipFile(target, "w") as archive:
            # Members are dated 1980, as `ZipInfo` is: the same runs give the same bytes at any time.
            archive.writestr(zipfile.ZipInfo(DOCUMENT), msgspec.json.encode(facts), zipfile.ZIP_DEFLATED)
            for table in tables:
                with table.open("rb") as rows, archive.open(zipfile.ZipInfo(table.name), "w") as member:
                    shutil.copyfileobj(rows, member)


def _tables(summary: Summary) -> Iterator[tuple[Any, ...]]:
    """Yield columns of tables: cells in several, windows, locations."""
    (cell_bits, window_bits), begin = summary.facts.bits, summary.facts.span_ns[0]
    for rows in chunks(len(summary.cells)):
        part = summary.cells[rows]
        used = np.flatnonzero(part)
        yield -1, -1, -1, (begin >> cell_bits) + rows.start + used, part[used], 0
    window, state = np.nonzero(summary.windows)
    yield -1, -1, state, (begin >> window_bits) + window, summary.windows[window, state], 0
    yield *summary.places.T, -1, summary.times, summary.entries


def add_up(paths: Sequence[str | os.PathLike[str]], name: str | None = None) -> Summary:
    """Return the sum of summaries of different files of a run; `facts_of` reads what they are of."""
    with _connected() as (connection, folder):
        parts = []
        for number, path in enumerate(paths):
            within = folder / str(number)
            within.mkdir()
            with _named_errors(os.fspath(path) if name is None else name):
                parts.append(_unpacked(path, within))
        with _named_errors(os.fspath(paths[0]) if name is None else name):
            facts = joined(parts) if len(parts) > 1 else parts[0]
            selections = [_selection(part, facts, folder / str(number)) for number, part in enumerate(parts)]
            most_rows = 0
            for part in parts:
                n_cells, n_windows = (n_buckets(part.span_ns, bits) for bits in part.bits)
                most_rows += n_cells + (n_windows + sum(len(file.locations) for file in part.files)) * len(part.states)
            return _summed(connection, facts, selections, most_rows)


def facts_of(path: str | os.PathLike[str]) -> Facts:
    """Return what is in a summary but its sums."""
    with _named_errors(os.fspath(path)):
        return _unpacked(path, None)


@contextlib.contextmanager
def _connected() -> Iterator[tuple[DuckDBPyConnection, Path]]:
    """A database in memory, which goes on in a folder for temporary files if memory is short."""
    import duckdb

    with tempfile.TemporaryDirectory(prefix="perf-sums-") as folder:
        limits: dict[str, str | bool | int | float | list[str]] = {"threads": 1, "memory_limit": "512MB"}
        with duckdb.connect(":memory:", config={**limits, "temp_directory": folder}) as connection:
            connection.execute("SET enable_progress_bar = false")
            try:
                yield connection, Path(folder)
            except duckdb.Error as error:
                raise ValueError(str(error).partition("\n")[0]) from None


@contextlib.contextmanager
def _named_errors(name: str) -> Iterator[None]:
    """What a damaged file may raise, as one line about it."""
    import duckdb

    try:
        yield
    except OSError as error:
        raise InputError(name, f"cannot be read: {error.strerror or error}") from error
    except (
        *(zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError, RuntimeError, ValueError),
        *(MemoryError, OverflowError, IndexError, TypeError, duckdb.Error),
    ) as error:
        problem = " ".join(str(error).split())[:200] or "cut short"
        raise InputError(name, f"the summary is damaged: {problem}; make it again") from None


def _unpacked(path: str | os.PathLike[str], folder: Path | None) -> Facts:
    """Return the facts of a file; its tables are put into a folder."""
    with Path(path).open("rb") as file:
        if not is_summary(file.read(30 + len(DOCUMENT))):
            raise InputError(path, "is no summary; perf summarize makes one")
        archive = zipfile.ZipFile(file)
        info = archive.getinfo(DOCUMENT)
        if info.file_size > max(_FREELY_BYTES, _LARGEST_GROWTH * info.compress_size):
            raise ValueError(f"{DOCUMENT} says that its {info.compress_size} bytes are {info.file_size}")
        content = archive.read(info)
        if (version := msgspec.json.decode(content, type=dict[str, Any]).get("version")) != VERSION:
            problem = f"is a summary of version {version}, and this program reads {VERSION}; summarize again"
            raise InputError(path, problem)
        facts = msgspec.json.decode(content, type=Facts)
        facts.check()
        expected = [DOCUMENT, *(_TABLE.format(number) for number in range(facts.n_tables))]
        if (names := archive.namelist()) != expected:
            wrong = next((n for n in expected if n not in names), None)
            raise ValueError(f"{wrong} is missing" if wrong else f"it has other members than {listing(expected, 3)}")
        if folder is None:
            return facts
        for table in expected[1:]:
            if archive.getinfo(table).compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"{table} is packed")
            with archive.open(table) as member, (folder / table).open("wb") as target:
                shutil.copyfileobj(member, target)
        return facts


def _literal(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def _selection(part: Facts, facts: Facts, folder: Path) -> str:
    """Return the rows of a part, with states and buckets of the whole."""
    states = {state: code for code, state in enumerate(facts.states)}
    codes = [-1, *(states[state] for state in part.states)]
    cell_shift, window_shift = (bits - own for bits, own in zip(facts.bits, part.bits, strict=True))
    paths = ", ".join(_literal(folder / _TABLE.format(number)) for number in range(part.n_tables))
    return (
        f"SELECT file, location, {codes}[state + 2] AS state, bucket >> "  # noqa: S608
        f"(CASE WHEN state < 0 THEN {cell_shift} WHEN file < 0 THEN {window_shift} ELSE 0 END) AS bucket, sum, count "
        f"FROM read_parquet([{paths}])"
    )


def _summed(connection: DuckDBPyConnection, facts: Facts, selections: Sequence[str], most: int) -> Summary:
    n_states, begin = len(facts.states), facts.span_ns[0]
    cell_bits, window_bits = facts.bits
    n_cells, n_windows = (n_buckets(facts.span_ns, bits) for bits in facts.bits)
    if n_cells > facts.run.cells:
        raise ValueError(f"it says that it has {n_cells} cells, and may have {facts.run.cells}")
    n_locations = np.zeros(len(facts.run.files), np.int64)
    for file in facts.files:
        n_locations[file.at] = len(file.locations)
    rows = " UNION ALL ".join(selections)
    (count,) = connection.execute(f"SELECT count(*) FROM ({rows})").fetchall()[0]  # noqa: S608
    if count > most:
        raise ValueError(f"it has {count} rows, and may have {most}")
    added = "file, location, state, bucket, sum(sum)::BIGINT AS sum, sum(count)::BIGINT AS count"
    joint = f"TABLE sums AS SELECT {added} FROM ({rows}) GROUP BY ALL"  # noqa: S608
    connection.execute(f"CREATE {joint if len(selections) > 1 else f'VIEW sums AS {rows}'}")
    cells, windows = zeros((n_cells,), np.int64), zeros((n_windows, n_states), np.int64)
    first = begin >> cell_bits
    for part in chunks(n_cells):
        span = f"bucket >= {first + part.start} AND bucket < {first + part.stop}"
        found = connection.execute(f"SELECT bucket, sum FROM sums WHERE state < 0 AND {span}").fetchnumpy()  # noqa: S608
        cells[np.asarray(found["bucket"], np.int64) - first] = _counts(found["sum"])
    windows_rows = connection.execute(
        f"SELECT bucket - {begin >> window_bits} AS at, state, sum FROM sums WHERE state >= 0 AND file < 0"  # noqa: S608
    ).fetchnumpy()
    where = _counts(windows_rows["at"], n_windows), _counts(windows_rows["state"], n_states)
    windows[where] = _counts(windows_rows["sum"])
    located = connection.execute(
        "SELECT file, location, state, sum, count FROM sums WHERE file >= 0 ORDER BY ALL"
    ).fetchnumpy()
    limits = {"file": len(n_locations), "location": int(n_locations.max(initial=0)), "state": n_states}
    places = np.column_stack([_counts(located[name], limit) for name, limit in limits.items()])
    if (places[:, 1] >= n_locations[places[:, 0]]).any():
        raise ValueError("its numbers do not fit together")
    return Summary(facts, cells, windows, places, _counts(located["sum"]), _counts(located["count"]))


def _counts(values: Any, limit: int | None = None) -> Ints:
    """Return whole numbers that are not negative, and less than a limit."""
    if np.ma.is_masked(values):
        raise ValueError("a number is missing")
    numbers = np.asarray(values, np.int64)
    if numbers.min(initial=0) < 0:
        raise ValueError("a number is negative")
    if limit is not None and numbers.max(initial=-1) >= limit:
        raise ValueError("its numbers do not fit together")
    return numbers
