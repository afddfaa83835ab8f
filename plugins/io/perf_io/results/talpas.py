"""Talpas: lines like JSON objects whose fields are separated by semicolons.

Source: "File format documentation" of Extra-P, section "TaLPas format".
"""

from __future__ import annotations

import re

import msgspec

from perf_io.results.extrap_experiment import Observation, as_measurements
from perf_io.shared.numbered_lines import numbered_lines
from perfcore.base.errors import InputError
from perfcore.contracts import NoOptions, Reader
from perfcore.data.measurements import Measurements
from perfcore.reading.source import Source

_STARTS = re.compile(rb'\s*\{\s*"parameters"\s*:\s*\{[^{}\n]*\}\s*;')
_PART = re.compile(r'[^"\\;]+|\\.?|[";]')


class _Line(msgspec.Struct):
    parameters: dict[str, float]
    metric: str
    callpath: str
    value: float


class TalpasReader(Reader):
    """Measurements in the Talpas format, one value in each line; repeated lines are repeated runs."""

    def sniff(self, source: Source) -> float:
        """Sure where the first line has parameters and a semicolon after them."""
        return 0.95 if _STARTS.match(source.head) else 0.0

    def read(self, source: Source, options: NoOptions) -> Measurements:
        """Read all values.

        Raises
        ------
        InputError
            A line that is no such object; with its number.
        """
        observations, lines = [], []
        for number, text in numbered_lines(source):
            if not text.strip():
                continue
            try:
                line = msgspec.json.decode(_with_commas(text), type=_Line)
            except (msgspec.MsgspecError, RecursionError) as error:
                raise InputError(source.name, f"no line of Talpas: {error}", line=number) from None
            observations.append(Observation(line.parameters, line.callpath, line.metric, line.value))
            lines.append(number)
        return as_measurements(observations, source.name, lines)


def _with_commas(text: str) -> str:
    """The line as JSON; a semicolon within a text is not one that separates."""
    parts, quoted = [], False
    for part in _PART.findall(text):
        quoted ^= part == '"'
        parts.append("," if part == ";" and not quoted else part)
    return "".join(parts)
