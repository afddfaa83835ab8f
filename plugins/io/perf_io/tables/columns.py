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
from perf_io.tables.measurement_table import levels_of_columns, numbered_runs, parts_of_time, ways_of_columns
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


def _assumed_measurements(columns: Sequence[Column], options: TableOptions, look: Table | None) -> Roles | None:
    """Return measurements of the only time or rate over the only number of processors or size."""
    if look is None or options.kind not in ("auto", "measurements"):
        return None
    taken = [(column, _taken_for(column)) for column in columns]
    times = [column for column, kind in taken if kind in ("time", "rate")]
    varied = [column for column, kind in taken if kind in ("processors", "size")]
    if len(times) != 1 or len(varied) != 1:
        return None
    note = f"assumed: {one_line(times[0].name)} is measured over {one_line(varied[0].name)} (--value, --parameter)"
    return Roles("measurements", varied=tuple(varied), values=tuple(times), notes=(note,))


def assign_roles(columns: Sequence[Column], options: TableOptions, source: str, look: Table | None = None) -> Roles:
    """Decide what a table is."""
    finder = _Finder(columns, source)
    if tuple(column.name for column in columns) == _SCALARS and not (options.time or options.value):
        options = replace(options, kind="series", time=_SCALARS[0], value=_SCALARS[2:])
    may_sweep, one_value = options.kind in ("auto", "measurements"), "curve"
    if options.kind == "samples":
        options, one_value = replace(options, kind="auto"), "series"
    if options.kind in ("auto", "measurements") and _are_measurements(columns, options):
        return Roles("measurements")
    sweep = sweep_of(columns) if may_sweep else None
    is_asked = options.kind == "measurements"
    is_open = is_asked and sweep is None and not options.parameters
    if is_open and (plain := _plain_measurements(columns, options, look)) is not None:
        return plain
    if is_asked or (sweep and _is_swept(sweep, columns, options, look)):
        if sweep is None or options.parameters or options.value:
            return Roles("measurements")
        counted, timed = sweep.columns  # their order decides where names and options do not
        return Roles("measurements", varied=() if sweep.counts_runs else (counted,), values=(timed,))
    time = finder.find("time", options.time)
    if [*columns[1:]] == [time] and not options.time and look is not None and look.goes_back(columns[1]):
        _refuse_rows_of_one_run(columns, options, source)
    start = finder.find("start", options.start)
    # Next to a rate, `completed` counts work and is no moment, unless one began.
    is_count = start is None and not options.end and _has_rate(columns)
    end = None if is_count else finder.find("end", options.end)
    duration = finder.find("duration", options.duration) if (start is None) != (end is None) else None
    are_moments = time is not None and end is None and duration is None
    change = _change(finder, options, look if are_moments else None)
    used = {column for column in (time, start, end, duration, change) if column is not None}
    location = finder.location(options.location, but=used)
    state = finder.find("state", options.state, but=used | set(location))
    roles = Roles("trace", "", start, end, duration, change, location, state)
    if options.kind in ("auto", "trace") and time and change and are_moments:
        return replace(roles, kind="events", start=time, end=None, duration=None, time_unit=finder.unit(options, time))
    may_be_steps = options.kind in ("auto", "curve") and not options.time
    if may_be_steps and start is not None and end is not None and (values := _heights(finder, options, roles, look)):
        return Roles("curve", finder.unit(options, start, end), start, end, values=values)
    sides = [column for column in (start, end, duration) if column is not None]
    if options.kind in ("auto", "trace") and len(sides) > 1 and not _are_rows_of_steps(finder, options, roles, look):
        return replace(roles, time_unit=finder.unit(options, *sides))
    is_of_intervals = finder.find("duration", None) and (location or state)
    if options.kind in ("auto", "curve", "series") and time and not is_of_intervals:
        device = None if options.kind == "curve" or look is None else _device(columns, time, look)
        but = used | ({device} if device else set())
        kind, values = options.kind, finder.values(options.value, but=but, several=options.kind != "curve")
        texts = [c for c in columns if c.kind == "text" and c is not time] if kind == "auto" else []
        goes_back = look is not None and bool(texts) and device is None and look.goes_back(time)
        is_of_runs = look is not None and any(map(look.names_rows, texts)) and any(is_size(c.name) for c in values)
        is_of_runs |= any(split_name(column.name).bare in _COMMITS for column in texts)
        if is_of_runs or goes_back:
            return Roles("measurements")  # with how long they took, or when they were
        if kind == "auto" and values:
            kind = one_value if len(values) == 1 and device is None else "series"
        if (kind == "series" and values) or (kind == "curve" and len(values) == 1):
            location = () if device is None else (device,)
            return Roles(kind, finder.unit(options, time), time, values=values, location=location)
    if len(columns) == 1 and options.kind in ("auto", "series") and columns[0].kind == "number":
        is_of_runs = options.kind == "auto" and guess_roles([columns[0].name], {columns[0].name}).value is not None
        return Roles("measurements" if is_of_runs and one_value == "curve" else "series", values=tuple(columns))
    if (plain := _plain_measurements(columns, options, look)) is not None:
        return plain
    if look is not None and options.kind == "auto":
        names, kinds = [column.name for column in columns], {column.kind for column in columns}
        measured = [c for c in columns if c.kind == "number" and not is_run_identifier(c.name)]
        is_history = bool(called("commit", names)) and [column.name for column in measured] == ["value"]
        is_measured = len(measured) == 1 and (is_called_time(measured[0].name) or is_called_rate(measured[0].name))
        if is_history or (is_measured and kinds == {"number", "text"}):
            return Roles("measurements", values=tuple(measured))  # of runs that texts alone tell apart
        value = guess_roles(names, {column.name for column in measured}).value
        is_time = value is not None and (is_called_time(value) or unit_in_name(value) is not None)
        is_time &= sum(split_unit(c.name)[0] == "" and is_called_time(c.name) for c in measured) < 2  # ms and seconds
        if is_time and kinds == {"number", "text"} and look.names_rows(*(c for c in columns if c.kind == "text")):
            return Roles("measurements")  # of benchmarks, with texts that describe them
    if (assumed := _assumed_measurements(columns, options, look)) is not None:
        return assumed
    shares = [c for c in columns if (unit := split_name(c.name).unit) is not None and unit.kind == "share"]
    is_monitored = shares and [*map(_taken_for, columns)] == ["time", *["number"] * (len(columns) - 1)]
    if options.kind == "auto" and is_monitored and look is not None and not look.goes_back(columns[0]):
        time_unit = finder.unit(options, columns[0])  # of a program that watched a run, such as psrecord
        note = f"{one_line(columns[0].name)} has no unit: its times are taken in s; if not: -r time_unit=ms"
        return Roles("series", time_unit or "s", columns[0], values=(*columns[1:],), notes=(note,) * (not time_unit))
    _refuse_rows_of_one_run(columns, options, source)
    subject = "this table" if options.kind == "auto" else f"a {options.kind}"
    times = [column.name for column in columns if column.kind != "text" and is_called_time(column.name)]
    summarize = f"perf stochastic summarize {shlex.quote(source)} --column {shlex.quote(times[0])}" if times else ""
    taken = {column.name: _taken_for(column) for column in columns}
    given = [name for name, kind in taken.items() if kind in ("processors", "size")][:_MOST_VARIED]
    texts = [column for column in columns if column.kind == "text"]
    if not given and texts and look is not None and not look.names_rows(*texts):
        given = [name for name, kind in taken.items() if kind == "number"][:1]
    results = [name for name, kind in taken.items() if kind in ("time", "rate")][-1:]
    chosen = [shlex.quote(",".join(each)) if given and results else "COLUMN" for each in (given, results)]
    fixes = _FIXES.format(*chosen) + (f"; how the times are spread: {summarize}" if times else "")
    shown = listing(f"{one_line(name)} ({kind})" for name, kind in taken.items())
    problem = f"the columns {shown} do not say what {subject} is made of; {fixes}"
    raise InputError(source, problem, line=1)


def _refuse_rows_of_one_run(columns: Sequence[Column], options: TableOptions, source: str) -> None:
    """Refuse times of each rank, or of each step, of one run, with the command that describes them."""
    bare, times = split_name(columns[0].name).bare, [c for c in columns[1:] if is_called_time(c.name)]
    is_counted = columns[0].kind == "number" and bare in _OF_ONE_RUN and bare not in SYNONYMS["time"]
    if options.kind == "auto" and times and is_counted:
        column = shlex.quote(max(times, key=lambda each: split_name(each.name).bare.startswith(bare)).name)
        problem = f"each row is one {bare} of one run, so nothing was varied that a model could be fitted to"
        command = f"perf stochastic summarize {shlex.quote(source)} --column {column}"
        raise InputError(source, f"{problem}; {command} describes how these times vary", line=1)


def _change(finder: _Finder, options: TableOptions, look: Table | None) -> Column | None:
    """Return the column that says whether a row enters a state or leaves it: by its name, or by its words."""
    by_name = finder.find("change", options.change)
    if by_name is not None or look is None:
        return by_name
    texts = [column for column in finder.columns if column.kind == "text"]
    return next((column for column in texts if look.tells_changes(column)), None)


def _device(columns: Sequence[Column], time: Column, look: Table) -> Column | None:
    """Return the column that says which of several devices each sample is of."""
    words = _DEVICES.union(*LEVELS.values())
    named = (column for column in columns if column is not time and split_name(column.name).bare in words)
    return next((column for column in named if look.alternates(column, time)), None)


def _heights(finder: _Finder, options: TableOptions, roles: Roles, look: Table | None) -> tuple[Column, ...]:
    """Return the one column of the heights of steps; none if the rows are intervals of locations."""
    assert roles.start is not None
    assert roles.end is not None
    if options.value or options.kind == "curve":
        values = finder.values(options.value, but={roles.start, roles.end})
        return values if len(values) == 1 else ()
    if options.kind == "trace" or (roles.location and roles.state) or options.location or options.state:
        return ()
    values = finder.values((), but={roles.start, roles.end}, several=False)
    if len(values) != 1 or roles.state == values[0]:
        return ()
    bare = split_name(values[0].name).bare
    if bare in SYNONYMS["value"]:
        return values
    is_place = bool(roles.location) and bare not in LEVELS["core"]
    if roles.state or is_place or (look is not None and not look.steps_follow(roles.start, roles.end)):
        return ()
    return values


def _are_rows_of_steps(finder: _Finder, options: TableOptions, roles: Roles, look: Table | None) -> bool:
    """Return whether rows without a place or a state follow one another and hold several numbers, any the height."""
    is_explicit = options.kind == "trace" or options.start or options.end or options.duration
    if is_explicit or look is None or roles.location or roles.state or roles.start is None or roles.end is None:
        return False
    return len(finder.values((), but={roles.start, roles.end})) > 1 and look.steps_follow(roles.start, roles.end)


def _has_rate(columns: Sequence[Column]) -> bool:
    return any(column.kind == "number" and is_called_rate(column.name) for column in columns)


def _are_measurements(columns: Sequence[Column], options: TableOptions) -> bool:
    """Return whether the names are those of runs at several numbers of processors, and of no curve or trace."""
    if options.time or options.start or options.end or options.location or options.state:
        return False
    bare = {without_row(split_name(column.name).bare) for column in columns}
    if bare & set(SYNONYMS["start"]) and bare & set(SYNONYMS["end"]):
        return False
    numbers = {c.name for c in columns if c.kind == "number"}
    roles = guess_roles([c.name for c in columns], numbers)
    starts = bare & {*SYNONYMS["start"]}
    ends = set() if _has_rate(columns) and not starts else bare & {*SYNONYMS["end"]}
    moments = starts | ends | (bare & {*SYNONYMS["time"]})
    in_columns = numbered_runs([c.name for c in columns]) or levels_of_columns([c.name for c in columns])
    if in_columns is not None and len(in_columns.columns) < len(columns) and (roles.parameters or not moments):
        return True
    measured = {name for name in numbers if not (is_run_identifier(name) or called("version", [name]))}
    if measured == {roles.value} and bare & _VERSIONS:
        return True
    if "command" in bare and roles.value is not None and not bare & {*SYNONYMS["start"], *SYNONYMS["end"]}:
        return True
    names = [column.name for column in columns if column.name in numbers]
    if not roles.parameters and not moments and any(map(is_size, names)):
        return roles.value is not None or bool(alternatives_of(names))
    if roles.parameters and parts_of_time(names):
        return True
    if not roles.parameters or (roles.value is None and not (roles.code or roles.system)):
        # Several times, and none that counts on: the parts of a run, of which the user names those that are meant.
        times = [c for c in columns if c.kind == "number" and (unit := unit_in_name(c.name)) and unit.kind == "time"]
        several = bool(roles.parameters) and len(times) > 1 and not bare & set(SYNONYMS["time"])
        return several or bool(options.parameters)
    # A time and a number of processors could be a curve; the name of a code or of a system decides.
    ambiguous = split_name(next(iter(roles.parameters.values()))).bare in SYNONYMS["value"]
    return not ambiguous or bool(roles.code or roles.system or options.parameters)


def _is_swept(sweep: Sweep, columns: Sequence[Column], options: TableOptions, look: Table | None) -> bool:
    """Return whether the times are how long runs took, and not when samples were taken."""
    if options.time or options.start or options.end or options.duration or options.value or options.change:
        return False
    if sweep.may_be_moments and sweep.may_be_log:
        return look is not None and look.goes_back(sweep.columns[1])
    texts = [column for column in columns if column.kind == "text"]
    follows = bool(guess_roles([c.name for c in texts], ()).category or _RESULTS & {*words_of(sweep.columns[0].name)})
    if texts and follows and look is not None and look.names_rows(*texts):
        return False  # calls of each function, or iterations that each solver took
    return not sweep.may_be_moments or (look is not None and look.is_sweep(*sweep.columns))


def _plain_measurements(columns: Sequence[Column], options: TableOptions, look: Table | None) -> Roles | None:
    """Return measurements of the last column over the others that look like levels, if all are numbers without
    moments.
    """
    named = (options.time, options.start, options.end, options.duration, options.change, options.location)
    if look is None or options.kind not in ("auto", "measurements") or any(named) or options.value:
        return None
    moments = frozenset(words("trace", "not_varied"))
    names_of = [set(plain_name(column.name).split("_")) for column in columns]
    if any(column.kind != "number" for column in columns) or any(names & moments for names in names_of):
        return None
    if ways_of_columns([column.name for column in columns]) and look.are_alike(columns):
        return Roles("measurements", varied=tuple(columns[:1]))
    named_columns = list(zip(columns, names_of, strict=True))
    while len(named_columns) > 2 and look.is_constant(named_columns[-1][0]):
        named_columns.pop()  # such as a status, which is 0 in all runs
    *before, (value, _) = named_columns
    varied = [column for column, names in before if not names & _RUNS]
    counted = guess_roles([c.name for c in varied], {c.name for c in varied}).parameters.values()
    varied = [c for c in varied if c.name in counted or not is_processors(c.name)]  # as nodes follow from ranks
    if any(_taken_for(column) in ("time", "rate") for column in varied):
        return None  # of several times none is what was varied
    if any(look.are_results(column, [other for other in varied if other is not column]) for column in varied):
        return None
    if not 0 < len(varied) <= _MOST_VARIED or not all(map(look.holds_levels, varied)):
        return None
    over = listing([one_line(column.name) for column in varied])
    note = f"assumed: {one_line(value.name)}, the last column, is measured over {over} (--value, --parameter)"
    return Roles("measurements", varied=tuple(varied), values=(value,), notes=(note,))


class _Finder:
    def __init__(self, columns: Sequence[Column], source: str) -> None:
        self.columns = columns
        self.source = source

    def named(self, name: str) -> Column:
        try:
            wanted = existing_column(name.strip(), [column.name for column in self.columns])
        except UnknownNameError:
            raise UnknownNameError(f"column of {self.source}", name, [c.name for c in self.columns]) from None
        return next(column for column in self.columns if column.name == wanted)

    def find(self, role: str, name: str | None, but: AbstractSet[Column | None] = frozenset()) -> Column | None:
        """Return the column that an option names, else the first synonym that is there."""
        if name is not None:
            return self.named(name)
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

    def location(self, names: Sequence[str], but: AbstractSet[Column | None]) -> tuple[Column, ...]:
        """Return the columns that an option names; else one that says all, or the levels that qualify one another."""
        if names:
            return tuple(self.named(name) for name in names)
        by_level = {level: self._called(words, but) for level, words in LEVELS.items()}
        if by_level["whole"] is not None:
            return (by_level["whole"],)
        inner = [by_level[level] for level in ("process", "device", "thread") if by_level[level] is not None]
        inner = inner or [by_level["core"]]
        # Ranks count through the whole run; processes, devices and cores count on their node.
        of_node = by_level["process"] is None or split_name(by_level["process"].name).bare.endswith("pid")
        return tuple(column for column in (by_level["node"] if of_node else None, *inner) if column is not None)

    def values(self, names: Sequence[str], but: AbstractSet[Column], several: bool = True) -> tuple[Column, ...]:
        """Return the columns that an option names; else all numbers; of several the one that is called a value."""
        if names:
            return tuple(self.named(name) for name in names)
        numbers = tuple(c for c in self.columns if c.kind == "number" and c not in but)
        if len(numbers) > 1 and not several:
            called = [c for c in numbers if c.name.strip().lower() in SYNONYMS["value"]]
            return tuple(called[:1]) if len(called) == 1 else numbers
        return numbers

    def unit(self, options: TableOptions, *columns: Column) -> str:
        """Return the unit by option, ending of names, or kind: timestamps are seconds; empty if nothing says it."""
        if options.time_unit is not None:
            return options.time_unit
        durations = [column for column in columns if column is self.find("duration", options.duration)]
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
