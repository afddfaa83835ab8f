"""The lines of a Pajé trace as events, by the field order that its own header defines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from perfcore.base.errors import InputError


_WORD = re.compile(r'"([^"]*)"|(\S+)')


class _Definition(NamedTuple):
    """One ``%EventDef``: the event's name and its fields in order."""

    event: str
    fields: tuple[str, ...]


class PajeEvent(NamedTuple):
    """One event."""

    name: str  # without the prefix ``Paje``
    fields: dict[str, str]  # texts by field name
    line: int  # where it is


def paje_events(lines: Iterable[bytes], source: str) -> Iterator[PajeEvent]:
    """Read definitions and give events."""
    definitions: dict[str, _Definition] = {}
    open_id: str | None = None
    event, fields = "", [""]
    for number, raw in enumerate(lines, start=1):
        text = _decode(raw)
        if text.startswith("%"):
            words = text[1:].split()
            match words:
                case ["EventDef", name, identity, *_]:
                    open_id, event, fields = identity, name.removeprefix("Paje"), []
                case ["EndEventDef", *_]:
                    if open_id is None:
                        raise InputError(source, "%EndEventDef without %EventDef", line=number)
                    definitions[open_id] = _Definition(event, tuple(fields))
                    open_id = None
                case [field, _, *_] if open_id is not None:
                    fields.append(field)
                case []:
                    pass
                case _:
                    raise InputError(
                        source,
                        f"{text.strip()[:60]!r} is no line of an event's definition",
                        line=number,
                    )
            continue
        words = _words(text)
        if not words or text.startswith("#"):
            continue
        definition = definitions.get(words[0])
        if definition is None:
            raise InputError(source, f"event {words[0][:40]!r} has no %EventDef before it", line=number)
        if len(words) <= len(definition.fields):
            raise InputError(
                source,
                f"{definition.event} has {len(words) - 1} fields, its definition has {len(definition.fields)}; "
                "the file is cut short or damaged",
                line=number,
            )
        yield PajeEvent(definition.event, dict(zip(definition.fields, words[1:], strict=False)), number)


def _words(text: str) -> list[str]:
    if '"' not in text:
        return text.split()
    return [quoted if word is None or not word else word for quoted, word in _WORD.findall(text)]


def _decode(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")  # older tracers write names so; every byte is a character
