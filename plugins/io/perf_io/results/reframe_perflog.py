"""ReFrame's logs of performance: a line of column names, and a line for each test.

Source: ReFrame, documentation, "Performance logging": the fields of ``perflogs`` are separated by ``|``, and each
performance variable has the columns ``NAME_value``, ``NAME_unit``, ``NAME_ref`` and its thresholds.
"""

from __future__ import annotations

import re

from perf_io.results.reframe_tests import TASKS, name_and_parameters
from perf_io.results.result_table import Row, joined, number_or_text, results
from perf_io.shared.numbered_lines import numbered_lines
from perfcore.base import progress
from perfcore.base.errors import InputError
from perfcore.contracts import NoOptions, Reader
from perfcore.data.measurements import Measurements
from perfcore.reading.source import Source

_STARTS = re.compile(rb"\A(?=[^\n]*job_completion_time)(?=[^\n]*_value\|)(?=[^\n]*_unit\|)[\w|]+\r?\n")
_ABSENT = ("null", "None", "")


class ReframePerflogReader(Reader):
    """A log of performance; each variable of each test that passed is a row.

    Roles are those of the report: the test is the code, system with partition and environment the system, the
    parameters in the test's name and its counts of tasks the parameters. ``job_completion_time`` tells repeated runs
    apart.
    """

    def sniff(self, source: Source) -> float:
        """Sure by the names of the columns."""
        return 0.95 if _STARTS.match(source.head) else 0.0

    def read(self, source: Source, options: NoOptions) -> Measurements:
        """Read all variables.

        Raises
        ------
        InputError
            No column names, a line with another number of fields, or a value that is no number; with its line.
        """
        columns: list[str] = []
        rows: list[Row] = []
        lines: list[int] = []
        names: dict[str, None] = {}
        failed = 0
        for number, text in numbered_lines(source):
            fields = text.split("|")
            if not columns:
                columns = fields
                metrics = [name.removesuffix("_value") for name in columns if name.endswith("_value")]
                if not metrics or len(set(columns)) < len(columns):
                    raise InputError(source.name, "has no column names of ReFrame, such as NAME_value", line=number)
                continue
            if not text or fields == columns:
                continue
            if len(fields) != len(columns):
                problem = f"has {len(fields)} fields for {len(columns)} columns; a field may hold a | itself"
                raise InputError(source.name, problem, line=number)
            row = dict(zip(columns, fields, strict=True))
            if row.get("result", "pass") not in ("pass", "success"):
                failed += 1
                continue
            displayed = row.get("display_name") or row.get("info") or row.get("name") or ""
            test, parameters = name_and_parameters(displayed)
            names.update(dict.fromkeys(parameters))
            test_columns = {
                "test": test,
                "system": ":".join(filter(None, (row.get("system"), row.get("partition")))),
                "environ": row.get("environ"),
                **{name: _count(row[name]) for name in TASKS if name in row},
                "job_completion_time": row.get("job_completion_time"),
            }
            for metric in metrics:
                value = number_or_text(row[f"{metric}_value"])
                if value in _ABSENT:
                    continue
                if isinstance(value, str):
                    raise InputError(source.name, f"{metric}_value {value[:40]!r} is no number", line=number)
                measured = {**test_columns, "metric": metric, "value": value, "unit": row.get(f"{metric}_unit") or ""}
                rows.append(joined(measured, parameters, source.name))
                lines.append(number)
        if failed:
            progress.note(f"{source.name}: left out, since they did not pass: {failed} tests")
        return results(
            rows, source.name, parameters=[*TASKS, *names], value="value", code=["test"],
            system=["system", "environ"], lines=lines,
        )  # fmt: skip


def _count(text: str) -> int | None:
    return None if text in _ABSENT or not text.isdecimal() else int(text[:15])
