"""Records of Caliper as its library takes them: lines, of which none leads in a circle.

Source: Caliper, documentation, "Caliper file format".
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

from perf_io.shared.numbered_lines import numbered_lines
from perfcore.base.errors import InputError
from perfcore.reading.source import Source

_REFERENCE = re.compile(r"(?:^|,)(id|parent)=([0-9]{1,20})(?=,|$)")
_DEEPEST = 1000  # nodes between a record and the root; each level is a region that some code entered


class CaliperRecords(io.TextIOBase):
    """Lines for the library, after a look at what it would follow for ever: a node that is above itself."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._depths: dict[str, int] = {}
        self.line = 0

    def __iter__(self) -> Iterator[str]:  # type: ignore[override]
        for number, text in numbered_lines(self._source):
            self.line = number
            if text.startswith("__rec=node"):
                self._check_node(text.replace("\\", ""))
            if text.strip():
                yield text
        self.line = 0

    def _check_node(self, text: str) -> None:
        fields = dict(_REFERENCE.findall(text))
        identifier, parent = fields.get("id", ""), fields.get("parent", "")
        depth = self._depths.get(parent, 0) + 1
        if identifier == parent or depth > _DEEPEST:
            problem = "is its own parent" if identifier == parent else f"is more than {_DEEPEST} levels deep"
            raise InputError(self._source.name, f"node {identifier or '?'} {problem}", line=self.line)
        self._depths[identifier] = depth
