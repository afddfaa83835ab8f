"""Pajé traces: states of containers, or where a file has none, its variables.

Supported are ``SetState``, ``PushState``, ``PopState`` and ``ResetState`` with the definitions of types, containers and
entity values, by alias or by name; of the variables ``SetVariable``, ``AddVariable`` and ``SubVariable``. Links and
events are counted and passed over. The innermost state counts; ``SetState`` ends all states that were pushed before.
Source: B. de Oliveira Stein, J. Chassin de Kergommeaux, G. Mounié, "Pajé trace file format", 2003; where it is silent,
what pajeng does: states end with their container, or with the trace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perf_io.traces.options import PajeOptions
from perf_io.traces.paje_events import paje_events
from perf_io.traces.paje_model import PajeModel
from perf_io.traces.variable_samples import variables_for
from perfcore.base import progress
from perfcore.contracts import Reader
from perfcore.data.series import Series
from perfcore.data.trace import Trace
from perfcore.reading.source import Source


_LINES_PER_REPORT = 50_000


class PajeReader(Reader):
    """States, or variables, of a Pajé trace.

    Choose it for what StarPU, SimGrid and other tools of the Pajé family write. A container in which states occur is a
    location; containers of the same name are told apart by their parents.
    """

    Options = PajeOptions

    @classmethod
    def options_for(cls, wanted: Sequence[type]) -> Mapping[str, Any]:
        """Who wants a series gets the variables."""
        return variables_for(wanted)

    def sniff(self, source: Source) -> float:
        """Sure by the first definition."""
        return 0.95 if any(line.startswith(b"%EventDef") for line in source.head.splitlines()) else 0.0

    def read(self, source: Source, options: PajeOptions) -> Trace | Series:
        """Read the states; the variables as a series where there are no states, or where they are asked for.

        Raises
        ------
        InputError
            An event without definition or that is cut short, a container or type that was not defined, a time that
            goes back, or a state left that was not entered; with its line.
        """
        model = PajeModel(source.name, options)
        with progress.bar(f"reading {source.name}") as advance:
            for count, event in enumerate(paje_events((raw for _, raw in source.lines()), source.name)):
                model.take(event)
                if count % _LINES_PER_REPORT == 0:
                    advance(_LINES_PER_REPORT)
        return model.result()
