"""Models compared with one another: by which functions they are made of, and by what they are judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from perfcore.report import Figure, Report, Result
from perfcore.tables import Column, Importance, Table

_LABELS = {
    "sse": "SSE",
    "r2_uncentered": "R^2 uncentered",
    "r2_centered": "R^2 centered",
    "aicc": "AICc",
    "bic": "BIC",
    "loo_rmse": "leave-one-out",
    "r2_adjusted": "R^2 adjusted",
    "r2_leave_one_out": "R^2 leave-one-out",
    "n_parameters": "parameters",
}
_IN_ANSWER = ("loo_rmse", "r2_leave_one_out", "aicc", "r2_centered")
_SHOWN = ("n_parameters", *_IN_ANSWER)  # without --all


class Candidate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model that was compared with others."""

    functions: tuple[str, ...]  # of which it is made
    figures: dict[str, float | int | None]  # what it is judged by
    note: str = ""  # what stands against it, such as dependent functions


@dataclass(frozen=True, repr=False)
class Ranking(Result):
    """Candidates, best first.

    Examples
    --------
    >>> ranking = Ranking(("2 models of SP",), (Candidate(("1/p", "1"), {"sse": 28.06}), Candidate(("1",), {})))
    >>> ranking
    <Ranking: 1/p + 1 is the best of 2 models of SP
      2 models of SP>
    >>> float(ranking.to_frame().loc[0, "sse"])
    28.06
    """

    lines: tuple[str, ...]  # what was compared, in which scale, and by what
    candidates: tuple[Candidate, ...]

    def report(self, data: Any = None) -> Report:
        """Return the best candidate with what it is judged by, and a row for each."""
        title = answer = self.lines[0] if self.lines else "ranking"
        figures: list[Figure] = []
        if self.candidates:
            named = (each for each in self.candidates if not each.functions[0].startswith("best of"))
            best = next(named, self.candidates[0])
            figures = [
                Figure(_LABELS[name], best.figures[name], format=".4g", key=name)
                for name in _IN_ANSWER
                if best.figures.get(name)
            ]
            judged = ", ".join(f"{each.name} {each.text}" for each in figures)
            answer = f"{' + '.join(best.functions)} is the best of {title}{f'; {judged}' if judged else ''}"
        tables = [candidate_table(self.candidates)]
        return Report(title, answer, figures, tables, details=self.lines)

    def to_dict(self) -> dict[str, Any]:
        """Return a row for each candidate, JSON-ready."""
        rows = [{"functions": each.functions, **each.figures, "note": each.note} for each in self.candidates]
        return {"rows": rows}


def candidate_table(candidates: Sequence[Candidate], title: str = "", importance: Importance = "default") -> Table:
    """Return a row for each candidate: its functions, all figures, and what to note."""
    names = dict.fromkeys(name for candidate in candidates for name in candidate.figures)
    columns = [
        Column("functions", [" + ".join(candidate.functions) for candidate in candidates]),
        *(
            Column(
                _LABELS.get(name, name),
                [candidate.figures.get(name) for candidate in candidates],
                importance="default" if name in _SHOWN else "verbose",
                format=".5f" if name.startswith("r2") else ".5g",
                key=name,
            )
            for name in names
        ),
        Column("note", [candidate.note for candidate in candidates]),
    ]
    return Table(columns, title=title, importance=importance)
