"""JSON of hyperfine (``--export-json FILE``).

Source: hyperfine, ``doc/export.md`` and its manual page.
"""

from __future__ import annotations

import re

import msgspec

from perf_io.results.result_table import joined, one_line, results
from perf_io.shared.json_document import decode_document
from perfcore.base import progress
from perfcore.base.errors import InputError
from perfcore.contracts import NoOptions, Reader
from perfcore.data.measurements import Measurements
from perfcore.reading.source import Source

_STARTS = re.compile(rb'\s*\{\s*"results"\s*:\s*\[\s*\{\s*"command"\s*:')


class _Result(msgspec.Struct):
    command: str
    mean: float | None = None
    times: list[float] = []
    exit_codes: list[int | None] = []
    parameters: dict[str, str] = {}


class _Document(msgspec.Struct):
    results: list[_Result]


class HyperfineReader(Reader):
    """Runs of commands timed by hyperfine; each run is a row.

    The parameters are those of ``--parameter-scan`` and ``--parameter-list`` that hold numbers. With parameters the
    commands differ by what they stand for, so the command names the code only where there are none. Runs that
    ended with a status other than 0 are left out.
    """

    def sniff(self, source: Source) -> float:
        """Sure by the frame that begins with the first command."""
        return 0.95 if _STARTS.match(source.head) else 0.0

    def read(self, source: Source, options: NoOptions) -> Measurements:
        """Read all runs.

        Raises
        ------
        InputError
            No such document, or no run that ended well.
        """
        document = decode_document(source, _Document, "JSON of hyperfine")
        rows, names, failed = [], dict[str, None](), 0
        for index, result in enumerate(document.results):
            if not result.times:
                raise InputError(
                    source.name, f"`$.results[{index}]` has no `times`; export JSON, which keeps every run"
                )
            if len(result.exit_codes) not in (0, len(result.times)):
                problem = f"has {len(result.exit_codes)} exit codes for {len(result.times)} times"
                raise InputError(source.name, f"`$.results[{index}]` {problem}")
            names.update(dict.fromkeys(map(one_line, result.parameters)))
            codes = result.exit_codes or [0] * len(result.times)
            for repetition, (time, status) in enumerate(zip(result.times, codes, strict=True), start=1):
                if status != 0:  # null where a signal ended the command
                    failed += 1
                    continue
                columns = {"command": result.command, "repetition": repetition, "time_s": time}
                rows.append(joined(columns, result.parameters, source.name))
        if failed:
            progress.note(f"{source.name}: left out, since they failed: {failed} runs")
        words = [name for name in names if any(isinstance(row.get(name), str) for row in rows)]
        return results(rows, source.name, parameters=list(names), value="time_s", code=words if names else ["command"])
