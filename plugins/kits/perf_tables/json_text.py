"""JSON as programs write it: NaN and infinities, which JSON does not have, are read as null."""

from __future__ import annotations

import re
from typing import Any

import msgspec

# Everything up to such a word, strings whole; a word that more text may follow is not one yet.
_NON_FINITE = re.compile(
    rb'((?:"(?:[^"\\]++|\\.)*+"|null|[^"nNiI+-]++|[+-](?![nNiI]))*+)'
    rb"[+-]?(?:nan(?:\([a-z0-9]*\))?|inf(?:inity)?)(?=\s*[,\]}])",
    re.IGNORECASE | re.DOTALL,
)
_PLACE = re.compile(r" \(byte (\d+)\)$")
_AROUND = 24  # bytes shown before and behind a mistake


def null_non_finite(text: bytes) -> bytes:
    """Put null for each NaN, inf and Infinity outside of strings."""
    pieces, at = [], 0
    while match := _NON_FINITE.match(text, at):  # anchored: what is no JSON ends it, instead of a search from each byte
        pieces += [match[1], b"null"]
        at = match.end()
    return b"".join([*pieces, text[at:]])


def decode_json(content: bytes, shape: Any = Any) -> Any:
    """Decode a document; raise what `msgspec.json.decode` raises.

    Examples
    --------
    >>> decode_json(b'{"mean": 1.5, "rms": NaN}')
    {'mean': 1.5, 'rms': None}
    """
    try:
        return msgspec.json.decode(content, type=shape)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        repaired = null_non_finite(content)
        if repaired == content:
            raise
    return msgspec.json.decode(repaired, type=shape)


def json_problem(content: bytes, error: Exception) -> tuple[str, int | None]:
    """What is wrong with a document, with the text around the place and its line where it is no JSON."""
    message = str(error)
    if isinstance(error, msgspec.ValidationError):
        return message, None
    place = _PLACE.search(message)
    at = int(place[1]) if place else len(content)
    around = content[max(0, at - _AROUND) : at + _AROUND].decode(errors="replace")
    problem = message[: place.start()] if place else message
    problem = f"{problem.removeprefix('JSON is malformed: ')} at {' '.join(around.split())!r}"
    return problem, content.count(b"\n", 0, at) + 1
