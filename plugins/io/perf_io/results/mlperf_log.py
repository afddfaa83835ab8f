"""Logs of MLPerf training and of what else logs as it does: lines with ``:::MLLOG``.

Source: mlperf-logging 1 to 4, ``mlperf_logging/mllog/mllog.py`` and ``constants.py``.
"""

from __future__ import annotations

from typing import Any

import msgspec

from perf_io.results.result_table import Row, number_or_text, results
from perf_io.shared.numbered_lines import numbered_lines
from perfcore.base import progress
from perfcore.base.errors import InputError
from perfcore.contracts import NoOptions, Reader
from perfcore.data.measurements import Measurements
from perfcore.reading.source import Source

_MARK = ":::MLLOG"
_NAMES = {"submission_benchmark": "benchmark", "submission_platform": "platform"}
_PARAMETERS = ("global_batch_size", "seed")
_REPETITIONS = ("epoch_num", "epoch_count", "samples_count", "step_num")


class _Event(msgspec.Struct):
    time_ms: float
    event_type: str
    key: str
    value: Any = None
    metadata: dict[str, Any] = {}


class MlperfLogReader(Reader):
    """Intervals of logs of MLPerf: runs, epochs, evaluations; each is a row.

    The value is the time in seconds, the interval (``run``, ``epoch``, ``eval``, ...) and the benchmark are the code,
    the platform is the system, the global batch size is a parameter. Runs that did not end in success and intervals
    without end are left out.
    """

    def sniff(self, source: Source) -> float:
        """Sure by the mark of the lines."""
        return 0.95 if b":::MLLOG {" in source.head else 0.0

    def read(self, source: Source, options: NoOptions) -> Measurements:
        """Read all intervals that ended.

        Raises
        ------
        InputError
            A line is no event, with its number; or no interval ended.
        """
        begun: dict[str, _Event] = {}
        setup: Row = {}
        rows: list[Row] = []
        lines: list[int] = []
        left_out = 0
        for number, text in numbered_lines(source):
            _, mark, document = text.partition(_MARK)
            if not mark:
                continue
            try:
                event = msgspec.json.decode(document.encode(), type=_Event)
            except msgspec.MsgspecError as error:
                raise InputError(source.name, f"is no event of MLPerf: {error}", line=number) from None
            interval = event.key.removesuffix("_start").removesuffix("_stop")
            if event.event_type == "INTERVAL_START":
                begun[interval] = event
            elif event.event_type == "INTERVAL_END":
                start = begun.pop(interval, None)
                if start is None or event.metadata.get("status", "success") != "success":
                    left_out += 1
                    continue
                row: Row = {"interval": interval, "time_s": (event.time_ms - start.time_ms) / 1000}
                about = start.metadata | event.metadata
                row |= {n: about[n] for n in _REPETITIONS if isinstance(about.get(n), (int, float))}
                rows.append(row)
                lines.append(number)
            elif event.key in _NAMES:
                setup[_NAMES[event.key]] = str(event.value)
            elif event.key in _PARAMETERS:
                setup[event.key] = number_or_text(event.value)
        if left_out or begun:
            count = left_out + len(begun)
            progress.note(f"{source.name}: left out, since they did not begin and end in success: {count} intervals")
        return results(
            [{**setup, **row} for row in rows],
            source.name,
            parameters=["global_batch_size"],
            value="time_s",
            code=["benchmark", "interval"],
            system=["platform"],
            lines=lines,
        )
