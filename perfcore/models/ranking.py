"""Models compared with one another: by which functions they are made of, and by what they are judged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec

from perfcore.results import Result, Tables

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Candidate", "Ranking", "candidate_table"]

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


class Candidate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model that was compared with others.

    Attributes
    ----------
    functions : tuple of str
        Of which it is made.
    figures : dict
        What it is judged by; a determination coefficient says whether it is ``uncentered`` or ``centered``.
    note : str
        What stands against it, such as dependent functions.
    """

    functions: tuple[str, ...]
    figures: dict[str, float | int | None]
    note: str = ""


@dataclass(frozen=True, repr=False)
class Ranking(Result):
    """Candidates, best first.

    Parameters
    ----------
    lines : tuple of str
        What was compared, in which scale, and by what; `summary` gives them.
    candidates : tuple of Candidate

    Examples
    --------
    >>> ranking = Ranking(("2 models of SP",), (Candidate(("1/p", "1"), {"sse": 28.06}), Candidate(("1",), {})))
    >>> ranking
    <Ranking: 2 models of SP>
    >>> float(ranking.to_frame().loc[0, "sse"])
    28.06
    """

    lines: tuple[str, ...]
    candidates: tuple[Candidate, ...]

    def filtered(self, above: float | None = None, top: int | None = None) -> Ranking:
        """Those whose uncentered R^2 is at least ``above``, and of these the first ``top``."""
        kept = [c for c in self.candidates if above is None or (c.figures.get("r2_uncentered") or 0.0) >= above]
        return replace(self, candidates=tuple(kept[:top]))

    @property
    def title(self) -> str:
        """What was compared."""
        return self.lines[0] if self.lines else "ranking"

    def summary(self) -> list[str]:
        """What was compared, in which scale, and by what."""
        return list(self.lines)

    def tables(self) -> Tables:
        """The candidates with their figures."""
        return [("", *candidate_table(self.candidates))]

    def to_frame(self) -> pd.DataFrame:
        """A row for each candidate, with all digits: ``functions``, a column for each figure, ``note``."""
        import pandas as pd

        rows = [{"functions": " + ".join(c.functions), **c.figures, "note": c.note} for c in self.candidates]
        frame = pd.DataFrame(rows, columns=["functions", *_figures(self.candidates), "note"])
        return frame.astype({name: float for name in frame.columns[1:-1] if frame[name].isna().any()})


def candidate_table(candidates: tuple[Candidate, ...]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a table of candidates; a column for each figure, and one for notes where there are any.

    Examples
    --------
    >>> candidate_table((Candidate(("1/p", "1"), {"sse": 28.06, "r2_uncentered": 0.99237}),))
    (['functions', 'SSE', 'R^2 uncentered'], [['1/p + 1', '28.06', '0.99237']])
    """
    names = _figures(candidates)
    noted = any(candidate.note for candidate in candidates)
    header = ["functions", *(_LABELS.get(name, name) for name in names), *(["note"] if noted else [])]
    rows = [
        [
            " + ".join(candidate.functions),
            *(_shown(name, candidate.figures.get(name)) for name in names),
            *([candidate.note] if noted else []),
        ]
        for candidate in candidates
    ]
    return header, rows


def _figures(candidates: tuple[Candidate, ...]) -> list[str]:
    return list(dict.fromkeys(name for candidate in candidates for name in candidate.figures))


def _shown(name: str, value: Any) -> str:
    return "-" if value is None else f"{value:.5f}" if name.startswith("r2") else f"{value:.5g}"
