"""How candidates are shown that were compared with one another: a table of what each is judged by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfcore.models.ranking import Candidate, Ranking
from perfcore.results import Presenter, Tables

if TYPE_CHECKING:
    import pandas as pd


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


class RankingPresenter(Presenter):
    """A row for each candidate."""

    def title(self, result: Ranking) -> str:
        """What was compared."""
        return result.lines[0] if result.lines else "ranking"

    def summary(self, result: Ranking) -> list[str]:
        """What was compared, in which scale, and by what."""
        return list(result.lines)

    def tables(self, result: Ranking) -> Tables:
        """The candidates with their figures."""
        return [("", *candidate_table(result.candidates))]

    def frame(self, result: Ranking) -> pd.DataFrame:
        """The candidates with all digits: ``functions``, a column for each figure, ``note``."""
        import pandas as pd

        rows = [{"functions": " + ".join(c.functions), **c.figures, "note": c.note} for c in result.candidates]
        frame = pd.DataFrame(rows, columns=["functions", *_figures(result.candidates), "note"])
        return frame.astype({name: float for name in frame.columns[1:-1] if frame[name].isna().any()})


def candidate_table(candidates: tuple[Candidate, ...]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a table of candidates; a column for each figure, and one for notes where there are any."""
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
