"""Pajé traces: states of containers, or the variables of a file without states.

Read are states and variables with the definitions of types, containers and values, by alias or by name; links and
events are counted. The innermost state counts; ``SetState`` ends all that were pushed before. Source: B. de Oliveira
Stein, J. Chassin de Kergommeaux, G. Mounié, "Pajé trace file format", 2003; where it is silent, what pajeng does:
states end with their container, or with the trace.
"""

from __future__ import annotations

import functools
import math
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from perf_io.options import PajeOptions
from perf_io.text import parse_ns
from perf_io.traces.intervals import NestedStates
from perfcore.base import progress
from perfcore.base.arrays import Floats
from perfcore.base.errors import InputError, UnknownNameError
from perfcore.data.selection import is_number
from perfcore.data.series import Series
from perfcore.data.trace import Trace
from perfcore.data.units import nanoseconds_per
from perfcore.reading.source import Reader, Source

# What StarPU calls the states of its workers; its other types describe threads, memory nodes and schedulers.
STARPU_STATES = "Worker State"
_MOST_VALUES = 20_000_000  # that the columns of single containers may hold together: 160 MB
_WORD = re.compile(r'"([^"]*)"|(\S+)')
_Named = TypeVar("_Named")
_ROOT = "0"  # the container and the type that every trace has without defining it
_LINES_PER_REPORT = 50_000


def choose_state_type(types: Sequence[str], state_type: str | None, source: str) -> str:
    """Return the type that was asked for, the only one, or StarPU's workers."""
    if not types:
        raise InputError(source, "contains no state intervals")
    if state_type is not None:
        if state_type not in types:
            raise UnknownNameError(f"state type of {source}", state_type, types)
        return state_type
    if len(types) == 1:
        return types[0]
    if STARPU_STATES in types:
        return STARPU_STATES
    raise InputError(source, f"has states of several types: {', '.join(types)}; name one with the option state_type")


class VariableSamples:
    """Changes of all variables in 20 bytes each; decimals, so that what is added and subtracted again leaves
    nothing.
    """

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str], int] = {}
        self._latest: list[Decimal] = []
        self._column, self._time, self._value = array("i"), array("q"), array("d")

    def __len__(self) -> int:
        return len(self._time)

    @property
    def types(self) -> Mapping[str, int]:
        """Return how many containers have each type, in the order of their first change."""
        return Counter(of_type for _, of_type in self._codes)

    def change(self, container: str, of_type: str, event: str, amount: str, at_ns: int, line: int, source: str) -> None:
        if not (is_number(amount) and math.isfinite(float(amount))):
            problem = f"the value of {container} {of_type} is {amount[:40]!r}; expected a finite number"
            raise InputError(source, problem, line=line)
        number = Decimal(amount)
        code = self._codes.setdefault((container, of_type), len(self._codes))
        if code == len(self._latest):
            self._latest.append(Decimal(0))
        base = Decimal(0) if event == "SetVariable" else self._latest[code]
        self._latest[code] = base - number if event == "SubVariable" else base + number
        self._column.append(code)
        self._time.append(at_ns)
        self._value.append(float(self._latest[code]))

    def series(self, time_unit: str, source: str, notes: tuple[str, ...]) -> Series:
        """Return a column for each type, the sum over its containers; if it has several, also one for each."""
        times, row = np.unique(np.frombuffer(self._time, np.int64), return_inverse=True)
        code, value = np.frombuffer(self._column, np.int32), np.frombuffer(self._value, np.float64)
        order = np.argsort(code, kind="stable")
        bounds = np.searchsorted(code[order], np.arange(len(self._codes) + 1))
        types = self.types
        each = {name for name, count in types.items() if count > 1}
        if len(times) * sum(types[name] for name in each) > _MOST_VALUES:
            notes = (*notes, f"only the sums over containers, as there are {len(self._codes)} variables")
            each = set()
        sums = {name: np.zeros(len(times)) for name in types}
        single: dict[str, Floats] = {}
        late = 0
        for (container, of_type), number in self._codes.items():
            selected = order[bounds[number] : bounds[number + 1]]
            # Each value is held until the next; 0 counts before the first, and of several at one time the last.
            latest = np.zeros(len(times), np.int64)
            latest[row[selected]] = np.arange(1, len(selected) + 1)  # the last of equal indices stays
            values = np.append(0.0, value[selected])[np.maximum.accumulate(latest)]
            late += int(row[selected].min() > 0)
            sums[of_type] += values
            if of_type in each:
                single[f"{container} {of_type}"] = values
        if several := [name for name in types if types[name] > 1]:
            notes = (*notes, f"sums over containers: {', '.join(several)}")
        if late:
            notes = (*notes, f"{late} variables have no value at first, which counts as 0")
        scaled: Any = times if time_unit == "ns" else times / nanoseconds_per(time_unit)
        return Series(scaled, {**sums, **single}, time_unit, source=source, notes=notes)


class PajeEvent(NamedTuple):
    """One event."""

    name: str  # without the prefix ``Paje``
    fields: dict[str, str]  # texts by field name
    line: int  # where it is


def paje_events(lines: Iterable[bytes], source: str) -> Iterator[PajeEvent]:
    """Read definitions and give events."""
    definitions: dict[str, tuple[str, tuple[str, ...]]] = {}  # the name and the fields of each %EventDef
    open_id: str | None = None
    event, fields = "", [""]
    for number, raw in enumerate(lines, start=1):
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            text = raw.decode("latin-1")  # older tracers write names so; every byte is a character
        if text.startswith("%"):
            words = text[1:].split()
            match words:
                case ["EventDef", name, identity, *_]:
                    open_id, event, fields = identity, name.removeprefix("Paje"), []
                case ["EndEventDef", *_]:
                    if open_id is None:
                        raise InputError(source, "%EndEventDef without %EventDef", line=number)
                    definitions[open_id] = event, tuple(fields)
                    open_id = None
                case [field, _, *_] if open_id is not None:
                    fields.append(field)
                case []:
                    pass
                case _:
                    raise InputError(source, f"{text.strip()[:60]!r} is no line of an event's definition", line=number)
            continue
        words = _words(text)
        if not words or text.startswith("#"):
            continue
        if words[0] not in definitions:
            raise InputError(source, f"event {words[0][:40]!r} has no %EventDef before it", line=number)
        name, names = definitions[words[0]]
        if len(words) <= len(names):
            counts = f"{len(words) - 1} fields, its definition has {len(names)}"
            raise InputError(source, f"{name} has {counts}; the file is truncated or corrupt", line=number)
        yield PajeEvent(name, dict(zip(names, words[1:], strict=False)), number)


def _words(text: str) -> list[str]:
    if '"' not in text:
        return text.split()
    return [quoted if word is None or not word else word for quoted, word in _WORD.findall(text)]


class _Aliases(dict[str, _Named], Generic[_Named]):
    """Things by alias; where no alias fits, by name, which a later alias may be the same text as."""

    def __init__(self) -> None:
        super().__init__()
        self._by_name: dict[str, _Named] = {}

    def add(self, alias: str, name: str, thing: _Named) -> None:
        self[alias] = thing
        self._by_name.setdefault(name, thing)

    def __missing__(self, name: str) -> _Named:
        return self._by_name[name]


@dataclass
class _Container:
    name: str
    path: str
    code: int


@dataclass
class _StateType:
    intervals: NestedStates
    codes: dict[str, int] = field(default_factory=dict)  # of the names of the states


class PajeModel:
    """Takes the events of a trace one by one."""

    def __init__(self, source: str, options: PajeOptions) -> None:
        self._source, self._options = source, options
        self._types: _Aliases[str] = _Aliases()
        self._values: defaultdict[str, _Aliases[str]] = defaultdict(_Aliases)  # by type
        root = _Container(_ROOT, _ROOT, 0)
        self._containers: _Aliases[_Container] = _Aliases()
        self._containers.add(_ROOT, _ROOT, root)
        self._all_containers = [root]
        self._states: dict[str, _StateType] = {}
        self._variables = VariableSamples()
        self._passed_over: Counter[str] = Counter()
        self._end = 0
        self._handlers: dict[str, Callable[[PajeEvent], None]] = {
            **{f"Define{what}Type": self._define_type for what in ("Container", "State", "Variable", "Event", "Link")},
            "DefineEntityValue": self._define_value,
            "CreateContainer": self._create_container,
            "DestroyContainer": self._destroy_container,
            **{f"{change}State": self._change_state for change in ("Set", "Push", "Pop", "Reset")},
            **{f"{change}Variable": self._change_variable for change in ("Set", "Add", "Sub")},
        }

    def take(self, event: PajeEvent) -> None:
        if (handler := self._handlers.get(event.name)) is not None:
            handler(event)
            return
        self._passed_over[event.name] += 1
        if "Time" in event.fields:
            self._time(event)

    @functools.cached_property
    def _time_unit(self) -> str:
        """Return the unit of the times, asked for at the first of them, when all types are defined."""
        return self._options.time_unit or ("ms" if STARPU_STATES in self._types.values() else "s")

    def result(self) -> Trace | Series:
        """Return the states of one type; the variables where there are no states, or where they are asked for."""
        notes = tuple(f"{count} {name} events passed over" for name, count in sorted(self._passed_over.items()))
        if STARPU_STATES in self._types.values() and self._options.time_unit is None:
            notes = ("times are taken in ms, as StarPU writes them; if not: -r time_unit=s|us|ns", *notes)
        for of_type in self._states.values():
            of_type.intervals.finish(self._end)
        lasting = {name: of_type for name, of_type in self._states.items() if len(of_type.intervals)}
        by_count = sorted(lasting, key=lambda name: -len(lasting[name].intervals))
        kind, state_type = self._options.kind, self._options.state_type
        if len(self._variables) and (kind == "variables" or (kind == "auto" and not lasting and state_type is None)):
            return self._variables.series(self._time_unit, self._source, notes)
        if kind == "variables" or not lasting:
            counted = ", ".join([*(f"states of type {name}" for name in by_count), *notes]) or "only containers"
            missing = {"auto": "states and no variables", "states": "states", "variables": "variables"}[kind]
            raise InputError(self._source, f"contains no {missing} to read ({counted})")
        chosen = choose_state_type(by_count, state_type, self._source)
        others = [f"states of type {name} passed over" for name in by_count if name != chosen]
        if len(self._variables):
            others.append(f"variables, which -r kind=variables reads: {', '.join(self._variables.types)}")
        return self._trace(lasting[chosen], (f"states of type {chosen}", *others, *notes))

    def _trace(self, chosen: _StateType, notes: tuple[str, ...]) -> Trace:
        used = [self._all_containers[code] for code in chosen.intervals.locations]
        unique = Counter(container.name for container in used)
        names = [c.name if unique[c.name] == 1 else c.path for c in used]
        return chosen.intervals.trace(names, list(chosen.codes), time_unit=self._time_unit, notes=notes)

    def _time(self, event: PajeEvent) -> int:
        time = parse_ns(self._field(event, "Time"), self._time_unit, self._source, event.line)
        self._end = max(self._end, time)
        return time

    def _field(self, event: PajeEvent, *names: str) -> str:
        for name in names:
            if name in event.fields:
                return event.fields[name]
        problem = f"the definition of {event.name} has no field {' or '.join(names)}"
        raise InputError(self._source, problem, line=event.line)

    def _define_type(self, event: PajeEvent) -> None:
        name = self._field(event, "Name", "Alias")
        self._types.add(event.fields.get("Alias", name), name, name)

    def _define_value(self, event: PajeEvent) -> None:
        name, of_type = self._field(event, "Name", "Alias"), self._type(event, "Type", "EntityType")
        self._values[of_type].add(event.fields.get("Alias", name), name, name)

    def _type(self, event: PajeEvent, *fields: str) -> str:
        return self._known(self._types, event, fields, "type {!r} was not defined")

    def _container(self, event: PajeEvent, *fields: str) -> _Container:
        return self._known(self._containers, event, fields, "container {!r} was not created")

    def _known(self, things: _Aliases[_Named], event: PajeEvent, fields: Sequence[str], problem: str) -> _Named:
        alias = self._field(event, *fields)
        try:
            return things[alias]
        except KeyError:
            raise InputError(self._source, problem.format(alias[:40]), line=event.line) from None

    def _create_container(self, event: PajeEvent) -> None:
        self._time(event)
        parent = self._container(event, "Container")
        name = self._field(event, "Name", "Alias")
        path = name if parent.path == _ROOT else f"{parent.path}/{name}"
        container = _Container(name, path, len(self._all_containers))
        self._all_containers.append(container)
        self._containers.add(event.fields.get("Alias", name), name, container)

    def _destroy_container(self, event: PajeEvent) -> None:
        time, container = self._time(event), self._container(event, "Name", "Container")
        for of_type in self._states.values():
            if container.code in of_type.intervals.locations:
                of_type.intervals.clear(container.code, time, event.line)

    def _change_state(self, event: PajeEvent) -> None:
        time, container, name = self._time(event), self._container(event, "Container"), self._type(event, "Type")
        if name not in self._states:
            self._states[name] = _StateType(NestedStates(self._source))
        intervals, codes = self._states[name].intervals, self._states[name].codes
        if event.name in ("SetState", "ResetState"):
            intervals.clear(container.code, time, event.line)
        if event.name in ("SetState", "PushState"):
            code = codes.setdefault(self._value(event, name), len(codes))
            intervals.push(container.code, code, time, event.line)
        elif event.name == "PopState" and not intervals.pop(container.code, time, event.line):
            problem = f"PopState of {container.path} that is in no state; a PushState is missing"
            raise InputError(self._source, problem, line=event.line)

    def _value(self, event: PajeEvent, of_type: str) -> str:
        alias = self._field(event, "Value")
        try:
            return self._values[of_type][alias]
        except KeyError:
            return alias  # values need no definition

    def _change_variable(self, event: PajeEvent) -> None:
        time, container, name = self._time(event), self._container(event, "Container"), self._type(event, "Type")
        value = self._field(event, "Value")
        self._variables.change(container.path, name, event.name, value, time, event.line, self._source)


class PajeReader(Reader):
    """Read states, or variables, of a Pajé trace, as StarPU and SimGrid write them.

    A container with states is a location; containers of the same name are identified by their parents.
    """

    Options = PajeOptions

    @classmethod
    def options_for(cls, wanted: Sequence[type]) -> Mapping[str, Any]:
        return {"kind": "variables"} if Series in wanted and Trace not in wanted else {}

    def read(self, source: Source, options: PajeOptions) -> Trace | Series:
        model = PajeModel(source.name, options)
        with progress.bar(f"reading {source.name}") as advance:
            for count, event in enumerate(paje_events((raw for _, raw in source.lines()), source.name)):
                model.take(event)
                if count % _LINES_PER_REPORT == 0:
                    advance(_LINES_PER_REPORT)
        return model.result()
