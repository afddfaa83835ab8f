"""Results of Ramble as JSON (``ramble workspace analyze -f json``).

Source: Ramble, documentation, "Workspace results"; field names as its ``results.py`` writes them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from perf_io.results.result_table import Row, joined, number_or_text, one_line, results
from perf_io.shared.json_document import decode_document
from perfcore.base import progress
from perfcore.contracts import NoOptions, Reader
from perfcore.data.measurements import Measurements
from perfcore.reading.source import Source

_STARTS = re.compile(rb'\s*\{\s*"')
_REPEAT = "repeat_index"
_SUMMARY = "summary::"  # what a figure of the experiment that stands for all of its repeats comes from
_NAMESPACES = ("workspace_name", "base_name", "required_name", "experiment_name", "experiment_template_name")


class _Merit(msgspec.Struct):
    """A figure of merit."""

    name: str
    value: float | str | None
    units: str | None = None
    origin_type: str | None = None


class _Context(msgspec.Struct):
    name: str = "null"
    foms: list[_Merit] = []


class _Experiment(msgspec.Struct):
    name: str
    status: str = msgspec.field(default="SUCCESS", name="RAMBLE_STATUS")
    variables: dict[str, Any] = msgspec.field(default_factory=dict, name="RAMBLE_VARIABLES")
    raw: dict[str, Any] = msgspec.field(default_factory=dict, name="RAMBLE_RAW_VARIABLES")
    contexts: list[_Context] = msgspec.field(default_factory=list, name="CONTEXTS")


class _Document(msgspec.Struct):
    experiments: list[_Experiment]


class RambleReader(Reader):
    """Figures of merit of Ramble's experiments; each figure of each experiment that succeeded is a row.

    Application and workload are the code, with the context where there are several. The variables that hold numbers,
    such as ``n_ranks``, are the parameters. Repeats are rows of their own with a column ``repetition``; their
    summaries (means, deviations) are left out.
    """

    def sniff(self, source: Source) -> float:
        """Sure by the status that every experiment has."""
        head = source.head
        return 0.95 if _STARTS.match(head) and b'"experiments"' in head and b'"RAMBLE_' in head else 0.0

    def read(self, source: Source, options: NoOptions) -> Measurements:
        """Read all figures of merit that are numbers.

        Raises
        ------
        InputError
            No such document, or no experiment that succeeded with a figure that is a number.
        """
        document = decode_document(source, _Document, "results of Ramble")
        several_contexts = len({context.name for one in document.experiments for context in one.contexts}) > 1
        rows: list[Row] = []
        numbers: dict[str, None] = {}
        failed = 0
        for experiment in document.experiments:
            if experiment.status != "SUCCESS":
                failed += 1
                continue
            variables = _chosen(experiment.variables, experiment.raw)
            columns: Row = {
                "application": str(experiment.variables.get("application_name", experiment.name.partition(".")[0])),
                "workload": str(experiment.variables.get("workload_name", "")),
            }
            repetition = variables.pop(_REPEAT, None)
            if isinstance(repetition, int):
                columns["repetition"] = repetition
            for name, value in variables.items():
                if not isinstance(value, str):
                    numbers[name] = None
            for context in experiment.contexts:
                for merit in context.foms:
                    value = number_or_text(merit.value)
                    if value is None or isinstance(value, str) or (merit.origin_type or "").startswith(_SUMMARY):
                        continue
                    figure = {**columns, **({"context": context.name} if several_contexts else {})}
                    figure |= {"metric": merit.name, "value": value, "unit": merit.units or ""}
                    rows.append(joined(figure, variables, source.name))
        if failed:
            progress.note(f"{source.name}: left out, since they did not succeed: {failed} experiments")
        return results(
            rows, source.name, parameters=list(numbers), value="value", code=["application", "workload", "context"]
        )


def _chosen(variables: Mapping[str, Any], raw: Mapping[str, Any]) -> Row:
    """Variables that say how the experiment was set up: those that are not made of others, and no paths or scripts."""
    row: Row = {}
    for name, setting in variables.items():
        is_derived = "{" in str(raw.get(name, ""))
        value = number_or_text(setting)
        if isinstance(value, str) and (
            is_derived or re.search(r"[/\n]", value) or _is_namespace(name) or value == "None"
        ):
            continue
        if value is not None:
            row[one_line(name)] = value
    return row


def _is_namespace(name: str) -> bool:
    return name in _NAMESPACES or name.startswith(("application_", "workload_", "env_", "global_"))
