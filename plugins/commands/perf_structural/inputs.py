"""The inputs of a structural model: numbers and stochastic values, alone or one for each processor."""

from __future__ import annotations

import itertools
import math
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy.typing as npt

from perf_structural.algebra import Place
from perf_structural.bounds import check_within, within
from perf_structural.composition import parse_unit, places
from perf_structural.samples import read_samples, read_text
from perf_tables.arguments import parse_named
from perf_tables.series import DEFAULT_WINDOW
from perfcore.base.errors import DataError, InputError, OptionError, UnknownNameError, key_first, listing
from perfcore.data.units import is_time
from perfcore.hooks.options import build
from perfcore.hooks.registry import registry
from perfcore.stochastic import StochasticValue, default_name, from_dict, from_text, representation_named

# A plain list is one value for each processor.
_DEFAULT_INDEX = "processor"
_SOURCES = ("value", "samples", "file")
_OF_FILES = ("column", "where", "window")
Quantity = StochasticValue | float


def as_quantities(inputs: Mapping[str, Any] | Sequence[str] | None) -> Mapping[str, Any]:
    """Return inputs of a structural model as a mapping; those of the command line are ``NAME=QUANTITY`` words."""
    if isinstance(inputs, Mapping):
        return inputs
    named = parse_named(inputs or (), "--with", "NAME=QUANTITY, such as a=3 or a=normal:10,2,")
    return {name: _typed(text) for name, text in named.items()}


def with_words(inputs: Any) -> str:
    """Return inputs as the options that a suggested command repeats, with a space before each; of a mapping none."""
    if inputs is None or isinstance(inputs, Mapping):
        return ""
    return "".join(f" --with {shlex.quote(word)}" for word in inputs)


def _typed(text: str) -> Any:
    """Return a number, the words of a representation or a file; a file called ``a:b`` is given as ``./a:b``."""
    try:
        return float(text)
    except ValueError:
        name, colon, _ = text.partition(":")
    if colon and name.strip().replace("-", "_").isidentifier():
        return text
    return {"file": text}


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"representation": "as"}):
    """One input as a table; exactly one of value, samples, file and each is given, or the name of a representation."""

    value: float | None = None
    samples: list[float] | None = None
    file: str | None = None
    column: str | None = None
    where: str | None = None
    window: str | None = None
    within: tuple[float, float] | None = None
    each: list[Any] | None = None
    representation: str | None = None
    options: dict[str, Any] = {}
    over: str = _DEFAULT_INDEX
    replicate: dict[str, int] = {}
    unit: str | None = None


@dataclass(frozen=True)
class Input:
    """One input, read and checked."""

    cells: Mapping[Place, Quantity]  # one for each place along the indices, counted from 0
    sizes: Mapping[str, int]  # its indices, with the number of copies along each
    unit: str | None = None


def read_input(entry: Any, folder: Path) -> Input:
    """Return an input as a model file or a program gives it."""
    if isinstance(entry, StochasticValue):
        return Input({(): entry}, {})
    if isinstance(entry, (list, tuple)):
        return _each(entry, _Table(), folder)
    if isinstance(entry, Mapping):
        known = registry().entries("representations")
        keys = [field.encode_name for field in msgspec.structs.fields(_Table)]
        for key in entry:
            if key not in known and key not in keys:
                raise UnknownNameError("key or representation", str(key), [*keys, *known])
        named = {key: content for key, content in entry.items() if key in known}
        rest = {key: content for key, content in entry.items() if key not in known}
        try:
            table = msgspec.convert(rest, _Table)
        except msgspec.ValidationError as error:
            raise DataError(key_first(error)) from None
        for index, copies in table.replicate.items():
            if copies < 1:
                raise DataError(f"replicate.{index} is {copies}; at least 1 is expected")
        named = {name: content for name in _SOURCES if (content := getattr(table, name)) is not None} | named
        return _copied(rest, named, table, folder) if table.each is None else _each(table.each, table, folder, named)
    if isinstance(entry, str) and ":" in entry:
        return Input({(): from_text(entry)}, {})
    return Input({(): _number(entry)}, {})


def _number(entry: Any) -> float:
    if isinstance(entry, bool) or not isinstance(entry, (int, float)) or not math.isfinite(entry):
        raise DataError(f"{entry!r} is neither a finite number nor a table such as {{normal = [10, 2]}}")
    return float(entry)


def _each(entries: Sequence[Any], table: _Table, folder: Path, named: Collection[str] = ()) -> Input:
    """Return one value for each place of an index, each perhaps copied over further ones."""
    if not entries:
        raise DataError("the list is empty; one value for each copy is expected")
    if named:
        raise DataError(f"each = [...] excludes {', '.join(named)}")
    parts = []
    for number, element in enumerate(entries, start=1):
        try:
            parts.append(read_input(element, folder))
        except (DataError, OptionError) as error:
            raise DataError(f"value {number} of {len(entries)}: {error}") from None
    if any(part.sizes for part in parts):
        raise DataError("a value of a list cannot be a list or replicated itself; write replicate next to each")
    units = {table.unit if part.unit is None else part.unit for part in parts}
    units |= {table.unit} if table.unit is not None else set()
    if len(units) > 1:
        raise DataError(f"the values are in different units: {listing(sorted(map(str, units)))}")
    sizes = {table.over: len(parts), **table.replicate}
    if table.over in table.replicate:
        raise DataError(f"the list is already one over {table.over}; replicate needs another name")
    cells = {place: parts[place[0]].cells[()] for place in places(list(sizes), sizes)}
    return Input(cells, sizes, units.pop())


def _copied(entry: Mapping[str, Any], named: Mapping[str, Any], table: _Table, folder: Path) -> Input:
    """Return one quantity, copied as often as the table says."""
    if len(named) != 1:
        known = f"a representation ({', '.join(registry().entries('representations'))})"
        found = ", ".join(named) or "none of them"
        raise DataError(f"one of {', '.join((*_SOURCES, 'each'))} or {known} is expected, found {found}")
    for name in ("as", "options"):
        if name in entry and table.samples is None and table.file is None:
            raise DataError(f"{name!r} belongs to samples, or to a file of samples")
    for name in _OF_FILES:
        if name in entry and table.file is None:
            raise DataError(f"{name!r} belongs to file")
    if "over" in entry:
        raise DataError("'over' belongs to each; copies of one value are named by replicate")
    ((kind, content),) = named.items()
    if table.unit is not None:
        parse_unit(table.unit)
    sizes = table.replicate
    quantity = _quantity(kind, content, table, folder)
    if table.within is not None:
        quantity = within(quantity, *table.within)
    return Input(dict.fromkeys(itertools.product(*map(range, sizes.values())), quantity), sizes, table.unit)


def _quantity(kind: str, content: Any, table: _Table, folder: Path) -> Quantity:
    match kind:
        case "value":
            return _number(content)
        case "file":  # a value that was written down, or samples that were measured
            path = folder / content
            measured = table.representation is not None or any(getattr(table, name) is not None for name in _OF_FILES)
            if not measured and path.suffix == ".json":
                return read_value(path)
            samples, warnings = read_samples(
                path, table.window or DEFAULT_WINDOW, table.column, where=table.where, within=table.within
            )
            check_within(samples.values, table.within, f"{samples.column}_s" if is_time(table.unit) else "")
            value = _of_samples(samples.values, table)
            return replace(value, notes=(*value.notes, *warnings))
        case "samples":
            check_within(content, table.within, "samples_s" if is_time(table.unit) else "")  # lengths of time
            return _of_samples(content, table)
    representation = representation_named(kind)
    if isinstance(content, Mapping):
        return representation.from_dict(content)
    return representation.from_values(content if isinstance(content, list | tuple) else [content])


def _of_samples(samples: npt.ArrayLike, table: _Table) -> StochasticValue:
    representation = representation_named(table.representation or default_name("samples"))
    options = build(representation.Options, table.options, representation.name)
    return representation.from_samples(samples, options)


def read_value(path: Path) -> StochasticValue:
    """Return the stochastic value in a JSON file of ``perf stochastic summarize`` or ``perf stochastic eval``."""
    try:
        content = msgspec.json.decode(read_text(path))
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(str(path), f"not JSON: {error}") from None
    if isinstance(content, dict) and isinstance(content.get("value"), dict):
        content = content["value"]
    if not isinstance(content, dict):
        raise InputError(str(path), "holds no stochastic value; `perf stochastic summarize SERIES -o FILE` writes one")
    try:
        return from_dict(content)
    except (DataError, OptionError) as error:
        raise InputError(str(path), str(error)) from None
