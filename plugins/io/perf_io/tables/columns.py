"""Roles of the columns of a table: guessed from their names, or given by options."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import NamedTuple

from perf_io.options import TableOptions
from perf_io.tables.duck import Column, Table, one_line
from perf_io.tables.measurement_table import levels_of_columns, numbered_runs, own_times, parts_of_time, ways_of_columns
from perf_tables.meanings import called, meaning_of_name
from perfcore.base.errors import InputError, UnknownNameError, listing
from perfcore.data.columns import (
    alternatives_of,
    existing_column,
    guess_roles,
    is_called_rate,
    is_called_time,
    is_of_spread,
    is_processors,
    is_run_identifier,
    is_size,
    words,
    words_of,
)
from perfcore.data.units import NANOSECONDS, KnownUnit, same_unit, seconds_per, split_unit, unit_in_name

DATES = "times are dates, counted in s since 1970 (UTC where they have no offset)"
TIMES = ("time", "start", "end", "duration")  # the roles whose names may end with a unit of time

_ROLES = ("time", "start", "end", "duration", "change", "state", "value")
SYNONYMS: Mapping[str, tuple[str, ...]] = {role: words("trace", role) for role in _ROLES}
# Of the levels of a location "whole" alone says it all; the others qualify one another.
LEVELS: Mapping[str, tuple[str, ...]] = {
    level: words("levels", level) for level in ("whole", "process", "device", "thread", "core", "node")
}
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ZONE = re.compile(r"\s*[(\[](?:UTC|GMT|local)[)\]]$", re.IGNORECASE)
_GAPS = re.compile(r"[\s.:_-]+")
_SHORT_UNITS = {"millis": "ms", "micros": "us", "nanos": "ns", "secs": "s"}
_OF_ROWS = re.compile(r"(?:task|job|event|state|interval|span|activity|op|operation|kernel|projected)_(?=.)")
# Of what a row is the how-manieth: nothing was varied, and the times are of repeated runs.
_RUNS = frozenset(words("trace", "counts_rows"))
_VERSIONS = frozenset(words("roles", "version"))
_COMMITS = frozenset(words("rows", "hash"))
_RESULTS = frozenset(words("words", "result"))
_NO_TIMES = frozenset((*words("words", "no_time"), *_RESULTS))
_NUMBERING = re.compile(r"_(?:id|no|nr|num|number|index|idx)$")
_MOMENTS = frozenset(("time", "t"))  # of samples, or how long a run took; a timestamp or a date is a moment
_OTHERS = frozenset().union(*(SYNONYMS[role] for role in ("value", "start", "end", "time")), *LEVELS.values())
_NUMBERS = frozenset(("processors", "count"))  # of both kinds: heights of a curve, or what runs were given
_OF_ONE_RUN = frozenset().union(_RUNS, *LEVELS.values())  # of what a row is one
_FIXES = (
    "name what was varied and measured: --parameter {} --value {}; or, of intervals, "
    "-r start=COLUMN -r end=COLUMN, of samples -r time=COLUMN -r value=COLUMN"
)
_SCALARS = ("Wall time", "Step", "Value")  # of TensorBoard, which exports a file for each
_DEVICES = frozenset(words("trace", "device"))
_MOST_VARIED = 4
_NEVER_VARIED = frozenset(words("trace", "not_varied"))


class _SplitName(NamedTuple):
    """A column's name without its unit, and that unit."""

    bare: str
    unit: KnownUnit | None


def plain_name(name: str) -> str:
    """Return a name in lower case with low lines, also for CamelCase."""
    return _GAPS.sub("_", _HUMP.sub("_", _ZONE.sub("", name.strip()))).strip("_").lower()


@functools.lru_cache(1 << 16)  # thousands of files have the same columns, each looked up for each role
def split_name(name: str) -> _SplitName:
    """Return a plain name without its unit, and the unit; also of ``startMs``, ``start/ms`` and ``start_millis``."""
    bare, unit = split_unit(name)
    if unit is not None and unit.kind != "rate":
        return _SplitName(plain_name(bare), unit)
    before, _, over = name.rpartition("/")
    if before and same_unit(over) in NANOSECONDS and any(plain_name(before) in SYNONYMS[role] for role in TIMES):
        return _SplitName(plain_name(before), _time_unit(same_unit(over)))
    if unit is not None:
        return _SplitName(plain_name(bare), unit)
    start, _, last = plain_name(name).rpartition("_")
    if start and last in _SHORT_UNITS:
        return _SplitName(start, _time_unit(_SHORT_UNITS[last]))
    bare, unit = split_unit(plain_name(name))
    return _SplitName(plain_name(bare), unit) if unit and unit.kind == "time" else _SplitName(plain_name(name), None)


def _time_unit(label: str) -> KnownUnit:
    return KnownUnit("time", label, seconds_per(label) or 1.0)


def without_row(bare: str) -> str:
    """Return a plain name without the word for what a row is: ``task_start`` is a start."""
    return _OF_ROWS.sub("", bare, count=1)


# Tables such as ``batch,time_ms``, as opposed to curves, ``time,value``: what was varied stands before its time.


class Sweep(NamedTuple):
    """Two columns of numbers, of which the second is a time or a rate.

    ``counts_runs`` if the first only counts the rows, ``may_be_moments`` if the second may be sampling times,
    ``may_be_log`` if the first counts and shares follow, as in a log of steps at times.
    """

    columns: tuple[Column, Column]
    counts_runs: bool
    may_be_moments: bool
    may_be_log: bool = False


def sweep_of(columns: Sequence[Column]) -> Sweep | None:
    """Return what was varied and how long it took or how fast it was, if a table has these two in this order."""
    numbers = [column for column in columns if column.kind in ("number", "timestamp") and not is_of_spread(column.name)]
    if len(numbers) < 2 or any(column.kind != "number" for column in numbers):
        return None
    # A share behind a time is of the run, such as how busy its processors were.
    measured = [
        k for k, column in enumerate(numbers) if (unit := split_name(column.name).unit) is None or unit.kind != "share"
    ]
    shares = numbers[max(measured, default=0) + 1 :] if len(measured) > 1 else []
    numbers = numbers[: len(numbers) - len(shares)]
    # So are energies, sizes of memory and rates behind it.
    moment = next((k for k, column in enumerate(numbers) if k and split_name(column.name).bare in _MOMENTS), None)
    results = [] if moment is None else numbers[moment + 1 :]
    if results and all(_NO_TIMES & {*words_of(c.name)} or is_called_rate(c.name) for c in results):
        numbers, shares = numbers[: len(numbers) - len(results)], [*shares, *results]
    (first, counting), (last, unit) = (split_name(column.name) for column in (numbers[0], numbers[-1]))
    # Between what was varied and a time that ends the rows stands what was counted of the runs.
    if len(numbers) > 2 and not (last in _MOMENTS and unit is not None):
        return None
    is_time = last in _MOMENTS or last in SYNONYMS["duration"] or (unit is not None and unit.kind == "time")
    is_measured = is_time or is_called_rate(numbers[-1].name)
    if not is_measured or without_row(last) in {*SYNONYMS["start"], *SYNONYMS["end"], *SYNONYMS["time"]} - _MOMENTS:
        return None
    is_result = is_called_rate(numbers[0].name) or (counting is not None and counting.kind in ("time", "rate"))
    if is_result or first in _OTHERS - _NUMBERS:
        return None
    counts_runs = _NUMBERING.sub("", first) in _RUNS or is_run_identifier(numbers[0].name)
    return Sweep((numbers[0], numbers[-1]), counts_runs, last in _MOMENTS, counts_runs and bool(shares))


def _taken_for(column: Column) -> str:
    name = column.name
    if column.kind != "number":
        return {"text": "text", "timestamp": "date"}.get(column.kind, "text")
    bare = without_row(split_name(name).bare)
    if is_processors(name):
        return "processors"
    meaning = meaning_of_name(name, column.kind)
    is_moment = meaning != "spread" and (bare in SYNONYMS["start"] or bare in SYNONYMS["end"])
    return "moment" if is_moment else "number" if meaning == "identifier" else meaning


@dataclass(frozen=True)
class Roles:
    """The meaning of a table; fields that a kind does not use are None or empty.

    A trace has two of ``start``, ``end`` and ``duration``, one of kind "events" a time in ``start`` and ``change``. A
    location is what all its columns name together. ``varied`` and ``values`` are there only if their order decided.
    """

    kind: str
    time_unit: str = ""
    start: Column | None = None
    end: Column | None = None
    duration: Column | None = None
    change: Column | None = None
    location: tuple[Column, ...] = ()
    state: Column | None = None
    values: tuple[Column, ...] = ()
    varied: tuple[Column, ...] = ()
    notes: tuple[str, ...] = ()


def assign_roles(columns: Sequence[Column], options: TableOptions, source: str, rows: Table | None = None) -> Roles:
    """Decide what a table is: by the first rule that applies; without rows by names and options alone."""
    if tuple(column.name for column in columns) == _SCALARS and not (options.time or options.value):
        options = replace(options, kind="series", time=_SCALARS[0], value=_SCALARS[2:])
    table = _UnknownTable(columns, options, source, rows)
    rules = (
        table.runs_by_name, table.swept_runs, table.asked_runs, table.repeated_counts, table.events, table.steps,
        table.intervals, table.samples, table.lone_numbers, table.plain_runs, table.runs_by_texts, table.assumed_runs,
        table.monitored_run, table.refuse_rows_of_one_run,
    )  # fmt: skip
    for rule in rules:
        if (roles := rule()) is not None:
            return roles
    raise table.refusal()


class _UnknownTable:
    """Columns of which some have roles by their names or by options; each rule is asked whether it knows the kind."""

    def __init__(self, columns: Sequence[Column], options: TableOptions, source: str, rows: Table | None) -> None:
        self.columns = columns
        self.options = options
        self.source = source
        self.rows = rows
        self.kind = "auto" if options.kind == "samples" else options.kind
        self.names = [column.name for column in columns]
        self.numbers = [column for column in columns if column.kind == "number"]
        self.texts = [column for column in columns if column.kind == "text"]

    # The rules, in their order.

    def runs_by_name(self) -> Roles | None:
        """Return measurements if the names are those of runs at several scales, and of no curve or trace."""
        return Roles("measurements") if self.kind in ("auto", "measurements") and self._names_are_of_runs() else None

    def swept_runs(self) -> Roles | None:
        """Return measurements of how long runs took over what stands before it, if their order decides."""
        options = self.options
        sweep = sweep_of(self.columns) if options.kind in ("auto", "measurements") else None
        if sweep is None or not (self.kind == "measurements" or self._is_swept(sweep)):
            return None
        if options.parameters or options.value:
            return Roles("measurements")
        counted, timed = sweep.columns
        return Roles("measurements", varied=() if sweep.counts_runs else (counted,), values=(timed,))

    def asked_runs(self) -> Roles | None:
        """Return measurements if an option says that these are some."""
        if self.kind != "measurements":
            return None
        plain = None if self.options.parameters else self.plain_runs()
        return plain or Roles("measurements")

    def repeated_counts(self) -> None:
        """Refuse a count of rows with a time that goes back, as of the ranks of one run."""
        if [*self.columns[1:]] == [self.time] and not self.options.time and self._goes_back(self.columns[1]):
            self.refuse_rows_of_one_run()

    def events(self) -> Roles | None:
        """Return events if the rows are moments at which a state is entered or left."""
        trace = self.trace
        are_moments = trace.end is None and trace.duration is None
        if self.kind not in ("auto", "trace") or self.time is None or trace.change is None or not are_moments:
            return None
        return replace(trace, kind="events", start=self.time, end=None, duration=None, time_unit=self._unit(self.time))

    def steps(self) -> Roles | None:
        """Return a curve if the rows are starts and ends of its steps."""
        start, end = self.trace.start, self.trace.end
        if self.kind not in ("auto", "curve") or self.options.time or start is None or end is None:
            return None
        values = self._heights(start, end)
        return Roles("curve", self._unit(start, end), start, end, values=values) if values else None

    def intervals(self) -> Roles | None:
        """Return a trace if the rows have two of starts, ends and durations."""
        trace = self.trace
        sides = [column for column in (trace.start, trace.end, trace.duration) if column is not None]
        if self.kind not in ("auto", "trace") or len(sides) < 2 or self._are_rows_of_steps():
            return None
        return replace(trace, time_unit=self._unit(*sides))

    def samples(self) -> Roles | None:
        """Return a curve or series of numbers at moments; measurements if texts part them and the moments go back."""
        time, kind, trace = self.time, self.kind, self.trace
        is_of_intervals = self.find("duration", None) and (trace.location or trace.state)
        if kind not in ("auto", "curve", "series") or time is None or is_of_intervals:
            return None
        device = None if kind == "curve" else self._device(time)
        but = {column for column in (time, trace.start, trace.end, trace.duration, trace.change, device) if column}
        values = self._values(self.options.value, but=but, several=kind != "curve")
        texts = [column for column in self.texts if column is not time] if kind == "auto" else []
        goes_back = bool(texts) and device is None and self._goes_back(time)
        is_of_runs = any(map(self._names_rows, texts)) and any(is_size(column.name) for column in values)
        if goes_back or is_of_runs or any(split_name(column.name).bare in _COMMITS for column in texts):
            return Roles("measurements")  # with how long they took, or when they were
        if kind == "auto" and values:
            kind = "curve" if len(values) == 1 and device is None and self.options.kind != "samples" else "series"
        if (kind == "series" and values) or (kind == "curve" and len(values) == 1):
            return Roles(kind, self._unit(time), time, values=values, location=() if device is None else (device,))
        return None

    def lone_numbers(self) -> Roles | None:
        """Return repeated runs if the only column is called a time or a rate, else samples if it has numbers."""
        if self.kind not in ("auto", "series") or len(self.columns) != 1 or not self.numbers:
            return None
        is_of_runs = self.options.kind == "auto" and guess_roles(self.names, {*self.names}).value is not None
        return Roles("measurements" if is_of_runs else "series", values=tuple(self.columns))

    def plain_runs(self) -> Roles | None:
        """Return the last column over the others that look like levels, if all are numbers without moments."""
        options, rows = self.options, self.rows
        named = (options.time, options.start, options.end, options.duration, options.change, options.location)
        if rows is None or self.kind not in ("auto", "measurements") or any(named) or options.value:
            return None
        names_of = [set(plain_name(name).split("_")) for name in self.names]
        if len(self.numbers) < len(self.columns) or any(names & _NEVER_VARIED for names in names_of):
            return None
        if ways_of_columns(self.names) and rows.are_alike(self.columns):
            return Roles("measurements", varied=tuple(self.columns[:1]))
        named_columns = list(zip(self.columns, names_of, strict=True))
        while len(named_columns) > 2 and rows.is_constant(named_columns[-1][0]):
            named_columns.pop()  # such as a status, which is 0 in all runs
        *before, (value, _) = named_columns
        varied = [column for column, names in before if not names & _RUNS]
        counted = guess_roles([c.name for c in varied], {c.name for c in varied}).parameters.values()
        varied = [c for c in varied if c.name in counted or not is_processors(c.name)]  # as nodes follow from ranks
        if any(_taken_for(column) in ("time", "rate") for column in varied):
            return None  # of several times none is what was varied
        if any(rows.are_results(column, [other for other in varied if other is not column]) for column in varied):
            return None
        if not 0 < len(varied) <= _MOST_VARIED or not all(map(rows.holds_levels, varied)):
            return None
        over = listing([one_line(column.name) for column in varied])
        note = f"assumed: {one_line(value.name)}, the last column, is measured over {over} (--value, --parameter)"
        return Roles("measurements", varied=tuple(varied), values=(value,), notes=(note,))

    def runs_by_texts(self) -> Roles | None:
        """Return measurements if texts alone tell the runs apart: benchmarks, or commits."""
        if self.rows is None or self.kind != "auto":
            return None
        measured = [column for column in self.numbers if not is_run_identifier(column.name)]
        is_history = bool(called("commit", self.names)) and [column.name for column in measured] == ["value"]
        is_measured = len(measured) == 1 and (is_called_time(measured[0].name) or is_called_rate(measured[0].name))
        are_described = {column.kind for column in self.columns} == {"number", "text"}
        if is_history or (is_measured and are_described):
            return Roles("measurements", values=tuple(measured))
        value = guess_roles(self.names, {column.name for column in measured}).value
        is_time = value is not None and (is_called_time(value) or unit_in_name(value) is not None)
        is_time &= sum(split_unit(c.name)[0] == "" and is_called_time(c.name) for c in measured) < 2  # ms and seconds
        return Roles("measurements") if is_time and are_described and self._names_rows(*self.texts) else None

    def assumed_runs(self) -> Roles | None:
        """Return the only time or rate over the only number of processors or size."""
        if self.rows is None or self.kind not in ("auto", "measurements"):
            return None
        times, varied = self._taken_for("time", "rate"), self._taken_for("processors", "size")
        if len(times) != 1 or len(varied) != 1:
            return None
        note = f"assumed: {one_line(times[0].name)} is measured over {one_line(varied[0].name)} (--value, --parameter)"
        return Roles("measurements", varied=tuple(varied), values=tuple(times), notes=(note,))

    def monitored_run(self) -> Roles | None:
        """Return a series if the rows are of a program that watched a run, such as psrecord."""
        shares = [c for c in self.columns if (unit := split_name(c.name).unit) is not None and unit.kind == "share"]
        time, *others = self.columns
        is_monitored = bool(shares) and [*map(_taken_for, self.columns)] == ["time", *["number"] * len(others)]
        if self.kind != "auto" or not is_monitored or self.rows is None or self._goes_back(time):
            return None
        time_unit = self._unit(time)
        note = f"{one_line(time.name)} has no unit: its times are taken in s; if not: -r time_unit=ms"
        return Roles("series", time_unit or "s", time, values=(*others,), notes=(note,) * (not time_unit))

    def refuse_rows_of_one_run(self) -> None:
        """Refuse times of each rank, or of each step, of one run, with the command that describes them."""
        first, *others = self.columns
        bare, times = split_name(first.name).bare, [column for column in others if is_called_time(column.name)]
        is_counted = first.kind == "number" and bare in _OF_ONE_RUN and bare not in SYNONYMS["time"]
        if self.kind == "auto" and times and is_counted:
            column = shlex.quote(max(times, key=lambda each: split_name(each.name).bare.startswith(bare)).name)
            problem = f"each row is one {bare} of one run, so nothing was varied that a model could be fitted to"
            command = f"perf stochastic summarize {shlex.quote(self.source)} --column {column}"
            raise InputError(self.source, f"{problem}; {command} describes how these times vary", line=1)

    def refusal(self) -> InputError:
        """Return the error that says what each column was taken for, and which options would decide."""
        source = shlex.quote(self.source)
        subject = "this table" if self.kind == "auto" else f"a {self.kind}"
        times = [column.name for column in self.columns if column.kind != "text" and is_called_time(column.name)]
        given = self._taken_for("processors", "size")[:_MOST_VARIED]
        if not given and self.texts and self.rows is not None and not self._names_rows(*self.texts):
            given = self._taken_for("number")[:1]
        results = self._taken_for("time")[-1:] or self._taken_for("rate")[-1:]
        chosen = ["COLUMN", "COLUMN"]
        if given and results:
            chosen = [shlex.quote(",".join(column.name for column in each)) for each in (given, results)]
        fixes = _FIXES.format(*chosen)
        if times:
            fixes += f"; how the times are spread: perf stochastic summarize {source} --column {shlex.quote(times[0])}"
        shown = listing(f"{one_line(column.name)} ({_taken_for(column)})" for column in self.columns)
        problem = f"the columns {shown} do not say what {subject} is made of; {fixes}"
        return InputError(self.source, problem, line=1)

    # What the rules ask.

    @functools.cached_property
    def time(self) -> Column | None:
        return self.find("time", self.options.time)

    @functools.cached_property
    def trace(self) -> Roles:
        """Return the columns of a trace, as far as there are any."""
        options = self.options
        start = self.find("start", options.start)
        # Next to a rate, `completed` counts work and is no moment, unless one began.
        is_count = start is None and not options.end and self._has_rate()
        end = None if is_count else self.find("end", options.end)
        duration = self.find("duration", options.duration) if (start is None) != (end is None) else None
        change = self.find("change", options.change)
        if change is None and self.rows is not None and self.time is not None and end is None and duration is None:
            change = next((column for column in self.texts if self.rows.tells_changes(column)), None)
        used = {column for column in (self.time, start, end, duration, change) if column}
        location = self._location(options.location, but=used)
        state = self.find("state", options.state, but=used | set(location))
        return Roles("trace", "", start, end, duration, change, location, state)

    def _taken_for(self, *meanings: str) -> list[Column]:
        return [column for column in self.columns if _taken_for(column) in meanings]

    def _goes_back(self, time: Column) -> bool:
        return self.rows is not None and self.rows.goes_back(time)

    def _names_rows(self, *texts: Column) -> bool:
        return self.rows is not None and self.rows.names_rows(*texts)

    def _has_rate(self) -> bool:
        return any(is_called_rate(column.name) for column in self.numbers)

    def _device(self, time: Column) -> Column | None:
        """Return the column that says which of several devices each sample is of."""
        words = _DEVICES.union(*LEVELS.values())
        named = (column for column in self.columns if column is not time and split_name(column.name).bare in words)
        rows = self.rows
        return None if rows is None else next((column for column in named if rows.alternates(column, time)), None)

    def _heights(self, start: Column, end: Column) -> tuple[Column, ...]:
        """Return the one column of the heights of steps; none if the rows are intervals of locations."""
        options, trace = self.options, self.trace
        if options.value or self.kind == "curve":
            values = self._values(options.value, but={start, end})
            return values if len(values) == 1 else ()
        if (trace.location and trace.state) or options.location or options.state:
            return ()
        values = self._values((), but={start, end}, several=False)
        if len(values) != 1 or trace.state == values[0]:
            return ()
        bare = split_name(values[0].name).bare
        if bare in SYNONYMS["value"]:
            return values
        is_place = bool(trace.location) and bare not in LEVELS["core"]
        if trace.state or is_place or (self.rows is not None and not self.rows.steps_follow(start, end)):
            return ()
        return values

    def _are_rows_of_steps(self) -> bool:
        """Return whether rows without a place or a state follow one another and hold several numbers."""
        options, trace, rows = self.options, self.trace, self.rows
        is_explicit = self.kind == "trace" or options.start or options.end or options.duration
        if is_explicit or rows is None or trace.location or trace.state or trace.start is None or trace.end is None:
            return False
        values = self._values((), but={trace.start, trace.end})
        return len(values) > 1 and rows.steps_follow(trace.start, trace.end)

    def _names_are_of_runs(self) -> bool:
        options = self.options
        if options.time or options.start or options.end or options.location or options.state:
            return False
        bare = {without_row(split_name(name).bare) for name in self.names}
        starts, ends = bare & {*SYNONYMS["start"]}, bare & {*SYNONYMS["end"]}
        if starts and ends:
            return False
        numbers = [column.name for column in self.numbers]
        roles = guess_roles(self.names, {*numbers})
        moments = starts | (set() if self._has_rate() and not starts else ends) | (bare & {*SYNONYMS["time"]})
        in_columns = numbered_runs(self.names) or levels_of_columns(self.names)
        is_beside = in_columns is not None and len(in_columns.columns) < len(self.columns)
        if (is_beside and (roles.parameters or not moments)) or (
            in_columns is not None and in_columns.name == "version"
        ):
            return True
        if self.texts and own_times(numbers) is not None:
            return True
        measured = {name for name in numbers if not (is_run_identifier(name) or called("version", [name]))}
        if measured == {roles.value} and bare & _VERSIONS:
            return True
        if "command" in bare and roles.value is not None and not starts and not ends:
            return True
        if not roles.parameters and not moments and any(map(is_size, numbers)):
            return roles.value is not None or bool(alternatives_of(numbers))
        if roles.parameters and parts_of_time(numbers):
            return True
        if not roles.parameters or (roles.value is None and not (roles.code or roles.system)):
            # Several times, and none that counts on: the parts of a run, of which the user names those that are meant.
            times = [name for name in numbers if (unit := unit_in_name(name)) and unit.kind == "time"]
            several = bool(roles.parameters) and len(times) > 1 and not bare & set(SYNONYMS["time"])
            return several or bool(options.parameters)
        # A time and a number of processors could be a curve; the name of a code or of a system decides.
        ambiguous = split_name(next(iter(roles.parameters.values()))).bare in SYNONYMS["value"]
        return not ambiguous or bool(roles.code or roles.system or options.parameters)

    def _is_swept(self, sweep: Sweep) -> bool:
        """Return whether the times are how long runs took, and not when samples were taken."""
        options = self.options
        if options.time or options.start or options.end or options.duration or options.value or options.change:
            return False
        if sweep.may_be_moments and sweep.may_be_log:
            return self._goes_back(sweep.columns[1])
        is_named = bool(guess_roles([column.name for column in self.texts], ()).category)
        follows = is_named or bool(_RESULTS & {*words_of(sweep.columns[0].name)})
        if self.texts and follows and self._names_rows(*self.texts):
            return False  # calls of each function, or iterations that each solver took
        return not sweep.may_be_moments or (self.rows is not None and self.rows.is_sweep(*sweep.columns))

    def _named(self, name: str) -> Column:
        try:
            wanted = existing_column(name.strip(), [column.name for column in self.columns])
        except UnknownNameError:
            raise UnknownNameError(f"column of {self.source}", name, [c.name for c in self.columns]) from None
        return next(column for column in self.columns if column.name == wanted)

    def find(self, role: str, name: str | None, but: AbstractSet[Column | None] = frozenset()) -> Column | None:
        """Return the column that an option names, else the first synonym that is there."""
        if name is not None:
            return self._named(name)
        exact = self._called(SYNONYMS[role], but, timed=role in TIMES)
        if exact is not None or role not in ("start", "end", "duration"):
            return exact
        return self._called(SYNONYMS[role], but, timed=True, of_rows=True)

    def _called(
        self, names: Sequence[str], but: AbstractSet[Column | None], *, timed: bool = False, of_rows: bool = False
    ) -> Column | None:
        for name in names:
            for column in self.columns:
                bare, unit = split_name(column.name)
                if unit is not None and (not timed or unit.kind != "time"):
                    continue
                if column not in but and name == (without_row(bare) if of_rows else bare):
                    return column
        return None

    def _location(self, names: Sequence[str], but: AbstractSet[Column | None]) -> tuple[Column, ...]:
        """Return the columns that an option names; else one that says all, or the levels that qualify one another."""
        if names:
            return tuple(self._named(name) for name in names)
        by_level = {level: self._called(words, but) for level, words in LEVELS.items()}
        if by_level["whole"] is not None:
            return (by_level["whole"],)
        inner = [by_level[level] for level in ("process", "device", "thread") if by_level[level] is not None]
        inner = inner or [by_level["core"]]
        # Ranks count through the whole run; processes, devices and cores count on their node.
        of_node = by_level["process"] is None or split_name(by_level["process"].name).bare.endswith("pid")
        return tuple(column for column in (by_level["node"] if of_node else None, *inner) if column is not None)

    def _values(self, names: Sequence[str], but: AbstractSet[Column], several: bool = True) -> tuple[Column, ...]:
        """Return the columns that an option names; else all numbers; of several the one that is called a value."""
        if names:
            return tuple(self._named(name) for name in names)
        numbers = tuple(column for column in self.numbers if column not in but)
        if len(numbers) > 1 and not several:
            called = [c for c in numbers if c.name.strip().lower() in SYNONYMS["value"]]
            return tuple(called[:1]) if len(called) == 1 else numbers
        return numbers

    def _unit(self, *columns: Column) -> str:
        """Return the unit by option, ending of names, or kind: timestamps are seconds; empty if nothing says it."""
        if self.options.time_unit is not None:
            return self.options.time_unit
        durations = [column for column in columns if column is self.find("duration", self.options.duration)]
        times = [column for column in columns if column not in durations]
        if any(column.kind == "timestamp" for column in times):
            return "s"
        return unit_of_times(times, self.source) or unit_of_times(durations, self.source)


def unit_of_times(columns: Sequence[Column], source: str) -> str:
    """Return the unit that the names of columns of times end with; empty if they say nothing."""
    units = {unit.label if unit and unit.kind == "time" else "" for _, unit in (split_name(c.name) for c in columns)}
    names = " and ".join(one_line(column.name) for column in columns)
    if len(units) > 1:
        raise InputError(source, f"{names} are in different units; rename one or give time_unit", line=1)
    unit = units.pop() if units else ""
    if unit and unit not in NANOSECONDS:
        problem = f"{names}: times of curves and traces are in {', '.join(NANOSECONDS)}, not in {unit}"
        raise InputError(source, f"{problem}; convert them and rename the column", line=1)
    return unit
