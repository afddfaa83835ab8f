"""Results of ReFrame: reports of sessions in JSON, and logs of performance."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from perf_io.results.result_table import Found, ResultReader, Row

# Fields of a test of ReFrame that count what it ran on.
_TASKS = ("num_tasks", "num_tasks_per_node", "num_cpus_per_task", "num_gpus_per_node")
_PARAMETER = re.compile(r" %([\w.]+)=(\S+)")
_ABSENT = ("null", "None", "")


class _Case(msgspec.Struct):
    name: str = ""
    display_name: str = ""
    result: str = "pass"
    system: str = ""
    partition: str | None = None
    environ: str | None = None
    environment: str | None = None
    num_tasks: int | None = None
    num_tasks_per_node: int | None = None
    num_cpus_per_task: int | None = None
    num_gpus_per_node: int | None = None
    perfvalues: dict[str, list[Any]] = {}


class _Session(msgspec.Struct):
    testcases: list[_Case] = []


class _Report(msgspec.Struct):
    runs: list[_Session]


def _columns(fields: Mapping[str, Any], tasks: Row) -> tuple[Row, dict[str, str]]:
    """Return what a test is called and where it ran, and its parameters; those of fixtures keep the fixture's name."""
    displayed = next(filter(None, (fields.get(name) for name in ("display_name", "info", "name"))), "")
    plain = " ".join(displayed.split())
    system = ":".join(filter(None, (fields.get("system"), fields.get("partition"))))
    environ = fields.get("environ") or fields.get("environment")
    test = re.split(r" [%/@~]", plain, maxsplit=1)[0]
    return {"test": test, "system": system, "environ": environ, **tasks}, dict(_PARAMETER.findall(plain))


class ReframeReportReader(ResultReader):
    """The report of a session of ReFrame; each performance variable of each test that passed is a row.

    The test without its parameters is the code, the system with its partition and the environment are the system;
    parameters are those of the test (``%n=100``) and its counts of tasks.

    Source: ReFrame, documentation, "Configuring ReFrame", "Reporting": data version 4, whose performance variables are
    a mapping from ``system:partition:name``.
    """

    shape, description = _Report, "a report of ReFrame"
    parameters, code, system = _TASKS, ("test",), ("system", "environ")

    def _take(self, content: _Report, found: Found, options: Any) -> None:
        for index, run in enumerate(content.runs):
            for number, case in enumerate(run.testcases):
                variables = _variables(case, f"`$.runs[{index}].testcases[{number}]`", found)
                if case.result not in ("pass", "success"):
                    found.left_out["since they did not pass: {} tests"] += 1
                    continue
                fields = msgspec.structs.asdict(case)
                columns, parameters = _columns(fields, {name: fields[name] for name in _TASKS})
                for metric, value, unit in variables:
                    row = {**columns, "run": index + 1, "metric": metric, "value": value, "unit": unit}
                    found.add(row, parameters)


def _variables(case: _Case, place: str, found: Found) -> list[tuple[str, float, str]]:
    variables = []
    for key, fields in case.perfvalues.items():
        # Value, reference, lower and upper threshold, unit, and, in later versions, the verdict.
        value, unit = fields[0] if fields else None, fields[4] if len(fields) > 4 else None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not isinstance(unit, (str, type(None))):
            problem = "is not [value, reference, lower, upper, unit, ...]"
            found.refuse(f"{place}: performance variable {key[:60]!r} {problem}")
        variables.append((key.rpartition(":")[2], float(value), unit or ""))
    return variables


class ReframePerflogReader(ResultReader):
    """A log of performance of ReFrame; each variable of each test that passed is a row.

    Roles are those of the report: the test is the code, system with partition and environment the system, the
    parameters in the test's name and its counts of tasks the parameters. ``job_completion_time`` sets repeated runs
    apart.

    Source: ReFrame, documentation, "Performance logging": the fields of ``perflogs`` are separated by ``|``, and each
    performance variable has the columns ``NAME_value``, ``NAME_unit``, ``NAME_ref`` and its thresholds.
    """

    parameters, code, system = _TASKS, ("test",), ("system", "environ")

    def _take(self, content: Iterable[tuple[int, str]], found: Found, options: Any) -> None:
        columns: list[str] = []
        for number, text in content:
            fields = text.split("|")
            if not columns:
                columns = fields
                metrics = [name.removesuffix("_value") for name in columns if name.endswith("_value")]
                if not metrics or len(set(columns)) < len(columns):
                    found.refuse("has no column names of ReFrame, such as NAME_value", number)
                continue
            if not text or fields == columns:
                continue
            row = found.cells(fields, columns, number, "; a field may hold a | itself")
            if row.get("result", "pass") not in ("pass", "success"):
                found.left_out["since they did not pass: {} tests"] += 1
                continue
            tasks = {name: int(row[name][:15]) if row[name].isdecimal() else None for name in _TASKS if name in row}
            about, parameters = _columns(row, tasks)
            about["job_completion_time"] = row.get("job_completion_time")
            for metric in metrics:
                if row[f"{metric}_value"].strip() in _ABSENT:
                    continue
                value = found.number(row[f"{metric}_value"], f"{metric}_value", number)
                measured = {**about, "metric": metric, "value": value, "unit": row.get(f"{metric}_unit") or ""}
                found.add(measured, parameters, number)
