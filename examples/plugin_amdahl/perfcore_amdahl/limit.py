"""``perf limit MODEL``: the speedup that no number of processors exceeds."""

from dataclasses import dataclass
from typing import Annotated, Any

import typer

import perfcore
from perfcore.report import Figure, Report, Result


@dataclass(frozen=True, repr=False)
class Limit(Result):
    """The time on one processor over the time on endlessly many."""

    speedup: float

    def report(self, data: Any = None) -> Report:
        """Return the answer, which the command prints, and its number."""
        limit = Figure("speedup", self.speedup, format=".4g")
        return Report("Largest speedup", f"speedup below {limit.text}", [limit])

    def to_dict(self) -> dict[str, float]:
        """Return what ``--json`` prints besides."""
        return {"speedup": self.speedup}


def limit(
    model: Annotated[Any, typer.Argument(metavar="MODEL", help="A model of times over processors.")],
) -> Limit:
    """Say how fast a program gets on endlessly many processors, by its model."""
    loaded = perfcore.load(model) if isinstance(model, str) else model
    first, last = loaded.predict([1.0, 1e15])
    return Limit(float(first / last))
