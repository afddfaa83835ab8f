"""How candidates are shown that were compared with one another: a table of what each is judged by."""

from __future__ import annotations

from perfcore.models.ranking import Candidate, Ranking
from perfcore.results import Column, Presenter, Table, Tables

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
        return [candidate_table(result.candidates)]


def candidate_table(candidates: tuple[Candidate, ...], title: str = "") -> Table:
    """A row for each candidate: its functions, all figures, and what to note."""
    names = dict.fromkeys(name for candidate in candidates for name in candidate.figures)
    columns = [
        Column("functions", [" + ".join(candidate.functions) for candidate in candidates]),
        *(
            Column(
                _LABELS.get(name, name),
                [candidate.figures.get(name) for candidate in candidates],
                format=".5f" if name.startswith("r2") else ".5g",
                key=name,
            )
            for name in names
        ),
        Column("note", [candidate.note for candidate in candidates]),
    ]
    return Table(columns, title=title)
