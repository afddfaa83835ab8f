"""Counts of Linux's perf (``perf stat -x,`` and ``perf stat -j``).

Source: perf-stat(1), "CSV FORMAT" and "JSON FORMAT"; ``tools/perf/util/stat-display.c`` of Linux 6.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from perf_io.results.result_table import Row, number_or_text, results
from perf_io.shared.numbered_lines import numbered_lines
from perfcore.base import progress
from perfcore.base.errors import InputError, listing
from perfcore.contracts import NoOptions, Reader
from perfcore.data.measurements import Measurements
from perfcore.data.units import same_unit
from perfcore.reading.source import Source

_UNCOUNTED = r"<not (?:counted|supported)>"
_JSON = re.compile(rb'\s*\{\s*(?:"[a-z-]+"\s*:\s*[^,{}]+,\s*){0,3}"counter-value"\s*:')
# An optional place or time, the count, its unit, and the event, whose name is no number.
_SEPARATORS = ",;|\t:"
_FIRST = re.compile(rb"(?:#[^\n]*\n|\s*\n)*(?P<line>[^\n]+)")
_COUNT = re.compile(rf"[0-9]+(?:\.[0-9]*)?|{_UNCOUNTED}")
_PLACE = re.compile(r"(?:[SDLCN]|CPU|Node)-?[0-9][\w-]*")
_SPREAD = re.compile(r"([0-9.]+)%")
_ALL_PERCENT = 99.995  # of the time counted, by two decimals


class _Count(msgspec.Struct, rename="kebab"):
    counter_value: str | float
    event: str
    unit: str = ""
    variance: float | None = None
    pcnt_running: float | None = None
    interval: float | None = None
    cpu: str | None = None
    core: str | None = None
    node: str | None = None
    socket: str | None = None


class PerfStatReader(Reader):
    """Counts of events of a run, or their means over runs (``-r``), whose standard error is the column ``stderr``.

    Events are metrics. What was varied is not told; the names of files may say it. What was not counted, and events
    that were met 0 times, are left out.
    """

    def sniff(self, source: Source) -> float:
        """Sure by the first count."""
        if b"\0" in source.head:
            return 0.0
        if _JSON.match(source.head):
            return 0.95
        match = _FIRST.match(source.head)
        line = "" if match is None else match["line"].decode("utf-8", "replace").rstrip("\r")
        return 0.95 if _fields(line) is not None else 0.0

    def read(self, source: Source, options: NoOptions) -> Measurements:
        """Read all counts.

        Raises
        ------
        InputError
            A line that is no count, or counts of intervals or of single processors; with its line.
        """
        counts = _json_counts(source) if _JSON.match(source.head) else _text_counts(source)
        rows: list[Row] = []
        lines: list[int] = []
        left_out, estimated = dict[str, None](), dict[str, None]()
        for line, count in counts:
            if any((count.interval, count.cpu, count.core, count.node, count.socket)):
                problem = "holds counts of intervals or of single processors; count whole runs, without -I and -A"
                raise InputError(source.name, problem, line=line)
            value = number_or_text(count.counter_value)
            if isinstance(value, str) or value == 0:
                left_out[count.event] = None
                continue
            row = {"metric": count.event, "value": value, "unit": same_unit(count.unit) if count.unit else ""}
            if count.variance is not None:
                row["stderr"] = value * count.variance / 100.0
            if count.pcnt_running is not None and count.pcnt_running < _ALL_PERCENT:
                estimated[count.event] = None
            rows.append(row)
            lines.append(line)
        if not rows:
            raise InputError(source.name, "holds no count of an event")
        if left_out:
            progress.note(f"{source.name}: left out, not counted or 0: {listing(left_out, 5)}")
        if estimated:
            progress.note(f"{source.name}: counted for a part of the time and extrapolated: {listing(estimated, 5)}")
        return results(rows, source.name, parameters=[], value="value", lines=lines)


def _json_counts(source: Source) -> Iterator[tuple[int, _Count]]:
    for number, text in numbered_lines(source):
        if not text.strip():
            continue
        try:
            yield number, msgspec.json.decode(text, type=_Count)
        except msgspec.MsgspecError as error:
            raise InputError(source.name, f"is no count of `perf stat -j`: {error}", line=number) from None


def _text_counts(source: Source) -> Iterator[tuple[int, _Count]]:
    for number, text in numbered_lines(source):
        if not text.strip() or text.startswith("#"):
            continue
        fields = _fields(text)
        if fields is None:
            if text.startswith(tuple(_SEPARATORS)) or not text.split(text[0])[0]:
                continue  # a further metric of the event above
            raise InputError(source.name, f"{text[:40]!r} is no count of `perf stat -x,`", line=number)
        place, count, unit, event, *more = fields
        spread = _SPREAD.fullmatch(more[0]) if more else None
        percent = more[2 if spread else 1] if len(more) > (2 if spread else 1) else ""
        yield (
            number,
            _Count(
                counter_value=count,
                event=event,
                unit=unit,
                variance=float(spread[1]) if spread else None,
                pcnt_running=float(percent) if _COUNT.fullmatch(percent) else None,
                cpu=place or None,
            ),
        )


def _fields(line: str) -> Sequence[str] | None:
    """Place or time, count, unit, event, and what follows; None where a line is no count."""
    for separator in _SEPARATORS:
        fields = [field.strip() for field in line.split(separator)]
        for skipped in range(min(3, len(fields) - 4)):
            count, unit, event = fields[skipped : skipped + 3]
            before = fields[:skipped]
            if skipped and not (_PLACE.fullmatch(before[0]) or re.fullmatch(r"[0-9]+\.[0-9]{6,}", before[0])):
                break
            follows = [field for field in fields[skipped + 3 :] if field][:1]
            is_event = re.fullmatch(r"[A-Za-z][\w.:/=,-]*", event) and not _COUNT.fullmatch(event)
            is_unit = re.fullmatch(r"[A-Za-z%/]*", unit)
            if _COUNT.fullmatch(count) and is_unit and is_event and follows and re.match(r"[0-9.]+%?$", follows[0]):
                return [" ".join(before), count, unit, event, *fields[skipped + 3 :]]
    return None
