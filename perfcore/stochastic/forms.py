"""How the fields of a dataclass are read and written: as a table, as numbers in a row, as words."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from perfcore.base.errors import DataError

_SCALARS = {"float": float, "int": int, "str": str}
_BETWEEN_NUMBERS, _BETWEEN_ROWS = ",", "/"


@functools.cache
def _fields(cls: type) -> tuple[dataclasses.Field[Any], ...]:
    if not dataclasses.is_dataclass(cls):
        raise TypeError(f"{cls.__name__} must be a frozen dataclass, so that its fields can be read and written")
    return tuple(field for field in dataclasses.fields(cls) if not field.kw_only)


def field_names(cls: type) -> tuple[str, ...]:
    """What a value of this class is made of, in order."""
    return tuple(field.name for field in _fields(cls))


def _scalar(field: dataclasses.Field[Any]) -> type | None:
    """Its type; None of a row of numbers."""
    name = field.type if isinstance(field.type, str) else getattr(field.type, "__name__", "")
    return _SCALARS.get(name)


def _is_optional(field: dataclasses.Field[Any]) -> bool:
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


@functools.cache
def _layout(cls: type) -> type:
    import msgspec

    fields: list[Any] = []
    for field in _fields(cls):
        kind: Any = _scalar(field) or list[float]
        # What a value is made of is written down whole; a row may be left out where the class has a default for it.
        optional = not _scalar(field) and _is_optional(field)
        fields.append((field.name, kind | None, None) if optional else (field.name, kind))
    return msgspec.defstruct(cls.__name__, fields, forbid_unknown_fields=True, kw_only=True)


def from_table(cls: Any, content: Mapping[str, Any], owner: str) -> Any:
    """A value from its fields by name."""
    import msgspec

    layout = _layout(cls)
    try:
        read = msgspec.structs.asdict(msgspec.convert(dict(content), layout))
    except msgspec.ValidationError as error:
        raise DataError(f"{owner}: {error}") from None
    for name, value in read.items():
        for number in value if isinstance(value, list) else [value]:
            if isinstance(number, float) and not math.isfinite(number):
                raise DataError(f"{owner}: {name}: {number} is not finite; finite numbers are expected")
    return cls(**{name: value for name, value in read.items() if value is not None})


def from_row(cls: Any, values: Sequence[Any], owner: str) -> Any:
    """A value from its fields in order."""
    fields = _fields(cls)
    required = sum(bool(_scalar(field)) or not _is_optional(field) for field in fields)
    if not required <= len(values) <= len(fields):
        between = _BETWEEN_NUMBERS if all(map(_scalar, fields)) else _BETWEEN_ROWS
        expected = between.join(name.upper() for name in field_names(cls))
        raise DataError(f"{owner}: {expected} is expected, {len(values)} of these are given")
    return from_table(cls, dict(zip(field_names(cls), values, strict=False)), owner)


def row_from_words(cls: type, words: str, owner: str) -> list[Any]:
    """``1,0.2`` as the fields in order; where one is a row of numbers, ``/`` stands between fields."""
    fields = _fields(cls)
    if all(map(_scalar, fields)):
        return [_read(word, field, owner) for word, field in _paired(words.split(_BETWEEN_NUMBERS), fields)]
    row: list[Any] = []
    for part, field in _paired(words.split(_BETWEEN_ROWS), fields):
        numbers = [_read(word, field, owner) for word in part.split(_BETWEEN_NUMBERS)]
        row.append(numbers[0] if _scalar(field) and len(numbers) == 1 else numbers)
    return row


def _paired(words: list[str], fields: Sequence[dataclasses.Field[Any]]) -> list[tuple[str, dataclasses.Field[Any]]]:
    """Words with their fields; of too many the last field, which `from_row` then refuses."""
    return [(word.strip(), fields[min(place, len(fields) - 1)]) for place, word in enumerate(words)]


def _read(word: str, field: dataclasses.Field[Any], owner: str) -> Any:
    kind = _scalar(field) or float
    if kind is str:
        return word
    try:
        return int(word) if kind is int else float(word)
    except ValueError:
        raise DataError(f"{owner}: {field.name.upper()}: {word!r} is no number") from None


def words_of(value: Any) -> str:
    """What `row_from_words` reads again, without loss."""
    cls: type = type(value)
    fields = _fields(cls)
    texts = []
    for field in fields:
        item = getattr(value, field.name)
        texts.append(_BETWEEN_NUMBERS.join(map(number_text, item)) if not _scalar(field) else number_text(item))
    return (_BETWEEN_NUMBERS if all(map(_scalar, fields)) else _BETWEEN_ROWS).join(texts)


def number_text(number: Any) -> str:
    """A number in as few digits as it needs to be read again."""
    return repr(float(number)).removesuffix(".0") if isinstance(number, float) else str(number)
