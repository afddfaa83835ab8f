"""A long array of JSON objects, piece by piece: as fast as msgspec decodes, in the memory of one piece.

A piece ends behind an object that another one follows. Whether that is an element of the array is found by decoding:
a text from an element's begin that becomes valid JSON with ``]`` can only end behind an element.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from io import BufferedIOBase
from typing import Any

import msgspec
import numpy as np

from perf_io.text import json_problem, null_non_finite
from perfcore.base.errors import InputError

MISSING = -(1 << 62)  # the time of an event that has none
_PIECE_BYTES = 1 << 18  # stays in the processor's cache with its elements: a tenth faster than 1 MiB
_LARGEST_BYTES = 1 << 26  # of one element, and of what stands before the array
_LARGEST_AROUND = 1 << 24  # behind the array
_MOST_KEYS = 100  # texts that look like the key of the array, and are not
_TAIL_BYTES = 1 << 13  # where the end of the last element is looked for first
_TRAILING = re.compile(r"trailing characters \(byte (\d+)\)")
_ELEMENT = re.compile(r"\$\[(\d+)\]")
_PLACE = re.compile(r"\(byte (\d+)\)$")
_OPEN_NUMBERS = (b"-", b"+", b".", b"e", b"E")  # which nothing follows
_NEWLINE = ord("\n")
_WORDS = b"+-.0123456789Eabcdefghijklmnopqrstuvwxyz"
_BETWEEN = re.compile(rb"\s*,?\s*")
_FIRST_KEY = re.compile(rb'\s*\{\s*("(?:[^"\\]|\\.){0,200}")')
_Piece = tuple[list[Any], bytes, bool]  # elements, their text, and whether they are the last ones


class TraceEvent(msgspec.Struct, gc=False):
    """What is read of each event; some tools write numbers as texts, or an event without anything."""

    ph: str = ""
    ts: int | float | str | None = MISSING  # None of a NaN
    dur: int | float | str | None = 0
    pid: int | str = ""
    tid: int | str = ""
    name: str = ""
    cat: str = ""
    args: msgspec.Raw = msgspec.Raw(b"")


class ArrayPieces:
    """The elements of an array of objects in a stream."""

    def __init__(self, stream: BufferedIOBase, source: str, key: str) -> None:
        self._stream, self._source, self._key = stream, source, key
        self._buffer = self._before = self._after = b""
        self.line = 1
        self._at_end = False
        self.closed = True  # False where the file ends without the end of the array
        self.cut = False  # whether it ends within an element
        self.has_non_finite = False  # whether a NaN or inf was read as null

    def decoded(self, decoder: msgspec.json.Decoder[list[Any]]) -> Iterator[tuple[list[Any], bytes]]:
        """Yield lists of elements in order, each with its text, which is an array."""
        may_stay_open = self._find_array()
        while True:
            buffer = self._buffer
            if (piece := self._piece(decoder)) is None:
                if self._buffer is not buffer:
                    continue  # it had a NaN or inf
                if not self._at_end:
                    self._read()
                    continue
                # Programs that were stopped leave an array open; the format allows that where nothing is around it.
                self.closed = False
                if not may_stay_open or (piece := self._with_an_end(decoder)) is None:
                    self.cut = True
                    return
            elements, text, is_last = piece
            yield elements, text
            if is_last:
                self._after = self._buffer[len(text) - 1 :]
                return
            self._drop(len(text) - 2)
            if not self._at_end:
                self._read()

    def around(self) -> bytes:
        """Return the document without the elements, after these; empty if the array is the document."""
        if not self._before:
            return b""
        after = b"}"
        if self.closed and not self.cut:
            with contextlib.suppress(InputError):  # behind the array nothing is needed
                after = self._after + self._stream.read(_LARGEST_AROUND)
        return self._before + b"]" + after

    def _read(self) -> None:
        """Read on: as much again as there is, so that a long element is not decoded over and over."""
        if len(self._buffer) > _LARGEST_BYTES:
            raise self._error(f"an element is longer than {_LARGEST_BYTES >> 20} MiB, or the file is damaged")
        size, chunk = max(_PIECE_BYTES, len(self._buffer)), bytearray()
        try:  # `read` would lose the bytes before the damage
            while len(chunk) < size and (piece := self._stream.read1(size - len(chunk))):
                chunk += piece
        except InputError:  # a compressed file is damaged from here on
            self._at_end = True
        self._at_end |= not chunk
        self._buffer += chunk
        if self.has_non_finite:
            self._buffer = null_non_finite(self._buffer)

    def _drop(self, end: int) -> None:
        between = _BETWEEN.match(self._buffer, end)
        end = between.end() if between else end
        # Six times as fast as `bytes.count`, which stops at each of them.
        self.line += int(np.count_nonzero(np.frombuffer(self._buffer, np.uint8, end) == _NEWLINE))
        self._buffer = self._buffer[end:]

    def _find_array(self) -> bool:
        """Drop what stands before the first element; True where the array is the whole document."""
        name = re.compile(rb'"' + self._key.encode() + rb'"\s*:\s*\[')
        offset, n_tried = 0, 0
        while not self._at_end and n_tried < _MOST_KEYS:
            self._read()
            start = self._buffer.lstrip()[:1]
            if start == b"[":
                self._drop(self._buffer.index(b"[") + 1)
                return True
            if start not in (b"{", b""):
                break
            for match in name.finditer(self._buffer, offset):
                # Only a key of the document itself, and no other text that looks like it, makes this a whole object.
                if self._ends_with_key(self._buffer[: match.end()] + b"]}"):
                    self._before = self._buffer[: match.end()]
                    self._drop(match.end())
                    return False
                offset, n_tried = match.end(), n_tried + 1
                if n_tried == _MOST_KEYS:
                    break
        raise self._error(f"is no JSON array of objects, and no JSON object that has one called {self._key!r}")

    def _ends_with_key(self, text: bytes) -> bool:
        try:
            document = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return False
        return list(document)[-1] == self._key

    def _piece(self, decoder: msgspec.json.Decoder[list[Any]]) -> _Piece | None:
        """As many elements as end in the buffer; None if no end of one is in it."""
        ends, buffer, back = self._ends(), self._buffer, 1
        while back <= len(ends):  # objects within elements may look like elements: go back in steps that double
            # One copy; three, which a sum makes, take a tenth of all the time.
            text = b"".join((b"[", memoryview(self._buffer)[: ends[-back]], b"]"))
            piece = self._attempt(decoder, text, False)
            if piece is not None or self._buffer is not buffer:
                return piece
            back *= 2
        # A number or word that breaks off is no mistake while there is more to read.
        remaining = self._buffer if self._at_end else self._buffer.rstrip(_WORDS)
        return self._attempt(decoder, b"[" + remaining, True)

    def _with_an_end(self, decoder: msgspec.json.Decoder[list[Any]]) -> _Piece | None:
        """Return the last elements of an array that was left open; None if the file ends within one."""
        text = b"[" + self._buffer.rstrip(b" \t\r\n,") + b"]"
        try:
            msgspec.json.decode(text, type=list[msgspec.Raw])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        return self._attempt(decoder, text, True)

    def _ends(self) -> list[int]:
        """Return where elements may end that others follow."""
        first = _FIRST_KEY.match(self._buffer)
        if first is None:
            return []
        tail = max(0, len(self._buffer) - _TAIL_BYTES)
        # Elements nearly always begin alike; after the last of those that begin like the first, any key may follow.
        keys = [re.escape(first[1]), *([rb'"'] if len(self._buffer) > _PIECE_BYTES else [])]
        for separator in (re.compile(rb"\}\s*,\s*\{\s*" + key) for key in keys):
            found = [*separator.finditer(self._buffer, tail)] or [*separator.finditer(self._buffer, 0, tail)]
            if found:
                return [match.start() + 1 for match in found]
        return []

    def _attempt(self, decoder: msgspec.json.Decoder[list[Any]], text: bytes, is_last: bool) -> _Piece | None:
        """Decode; None if the text breaks off within an element."""
        try:
            return decoder.decode(text), text, is_last
        except msgspec.ValidationError as error:
            raise self._wrong_element(text, error) from None
        except msgspec.DecodeError as error:
            place = _PLACE.search(str(error))
            if self._at_end and text[-1:] in _OPEN_NUMBERS and place and int(place[1]) >= len(text) - 1:
                return None
            if match := _TRAILING.search(str(error)):
                text = text[: text.rindex(b"]", 0, int(match[1]) - 1) + 1]
                return decoder.decode(text), text, True
            if "truncated" in str(error):
                return None
            repaired = b"" if self.has_non_finite else null_non_finite(self._buffer)
            if len(repaired) > 0 and repaired != self._buffer:
                self._buffer, self.has_non_finite = repaired, True
                return None
            problem, line = json_problem(text, error)
            raise self._error(f"is no JSON: {problem}", self.line + (line or 1) - 1) from None
        except UnicodeDecodeError as error:
            raise self._error(f"is no UTF-8: {error.reason}") from None
        except RecursionError:
            raise self._error("is nested too deeply") from None

    def _wrong_element(self, text: bytes, error: Exception) -> InputError:
        """Return the error with the line on which the element begins that does not have the right shape."""
        match, offset = _ELEMENT.search(str(error)), 0
        try:
            elements = msgspec.json.decode(text, type=list[msgspec.Raw])[: int(match[1]) + 1 if match else 0]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            elements = []
        for element in elements:
            offset = text.index(bytes(element), offset)
        message, _, path = str(error).partition(" - at ")
        member = _ELEMENT.sub("", path.strip("`")).lstrip(".")
        problem = f"{message[:1].lower()}{message[1:]}{f' in {member!r}' if member else ''}"
        return self._error(f"an element is not as expected: {problem}", self.line + text.count(b"\n", 0, offset))

    def _error(self, problem: str, line: int | None = None) -> InputError:
        return InputError(self._source, problem, line=self.line if line is None else line)
