"""The JSON report of a session of ReFrame (``--report-file``).

Source: ReFrame, documentation, "Configuring ReFrame", "Reporting"; performance variables as a mapping from
``system:partition:name`` since data version 4, as a list in versions before.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from perf_io.results.reframe_tests import TASKS, name_and_parameters
from perf_io.results.result_table import Row, joined, results
from perf_io.shared.json_document import decode_document
from perfcore.base import progress
from perfcore.base.errors import InputError
from perfcore.contracts import NoOptions, Reader
from perfcore.data.measurements import Measurements
from perfcore.reading.source import Source

_STARTS = re.compile(rb'\s*\{\s*"session_info"\s*:')


class _Variable(msgspec.Struct):
    """A performance variable as versions before 4 list it."""

    name: str
    value: float | None
    unit: str | None = None


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
    time_total: float | None = None
    perfvalues: dict[str, list[Any]] = {}
    perfvars: list[_Variable] | None = None


class _Run(msgspec.Struct):
    testcases: list[_Case] = []


class _Document(msgspec.Struct):
    runs: list[_Run]


class ReframeReportReader(Reader):
    """Performance variables of the tests of a session; each variable of each test that passed is a row.

    The test without its parameters is the code, the system with its partition and the environment are the system;
    parameters are those of the test (``%n=100``) and its counts of tasks.
    """

    def sniff(self, source: Source) -> float:
        """Sure by the session's description, with which the document begins."""
        return 0.95 if _STARTS.match(source.head) else 0.0

    def read(self, source: Source, options: NoOptions) -> Measurements:
        """Read all variables.

        Raises
        ------
        InputError
            No such document, or no test that passed with a performance variable.
        """
        document = decode_document(source, _Document, "a report of ReFrame")
        rows: list[Row] = []
        names: dict[str, None] = {}
        failed = 0
        for index, run in enumerate(document.runs):
            for number, case in enumerate(run.testcases):
                variables = _variables(case, f"`$.runs[{index}].testcases[{number}]`", source.name)
                if case.result not in ("pass", "success"):
                    failed += 1
                    continue
                test, parameters = name_and_parameters(case.display_name or case.name)
                names.update(dict.fromkeys(parameters))
                test_columns = {
                    "test": test,
                    "system": ":".join(filter(None, (case.system, case.partition))),
                    "environ": case.environ or case.environment,
                    **{field: getattr(case, field) for field in TASKS},
                    "run": index + 1,
                }
                for metric, value, unit in variables:
                    measured = {**test_columns, "metric": metric, "value": value, "unit": unit}
                    rows.append(joined(measured, parameters, source.name))
        if failed:
            progress.note(f"{source.name}: left out, since they did not pass: {failed} tests")
        return results(
            rows, source.name, parameters=[*TASKS, *names], value="value", code=["test"], system=["system", "environ"]
        )


def _variables(case: _Case, place: str, source: str) -> list[tuple[str, float | None, str]]:
    """Name, value and unit of each performance variable."""
    variables = [(variable.name, variable.value, variable.unit or "") for variable in case.perfvars or ()]
    for key, facts in case.perfvalues.items():
        # Value, reference, lower and upper threshold, unit, and, in later versions, the verdict.
        value, unit = facts[0] if facts else None, facts[4] if len(facts) > 4 else None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not isinstance(unit, (str, type(None))):
            problem = "is not [value, reference, lower, upper, unit, ...]"
            raise InputError(source, f"{place}: performance variable {key[:60]!r} {problem}")
        variables.append((key.rpartition(":")[2], float(value), unit or ""))
    return variables
