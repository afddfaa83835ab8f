"""How predictions, facts and listings are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perf_basics.results import Facts, Listing, Predictions
from perf_views.names import short_name
from perfcore.base.errors import listing
from perfcore.results import Presenter, Tables

if TYPE_CHECKING:
    import pandas as pd


_ONE_LINE_EACH = ("markers", "next", "notes", "points", "rows to know about", "to be told")
_FUNCTIONS = ("states", "busy")
_MOST_NAMES = 20
_MOST_READ = 2_000  # of which the shown ones are taken
_LONGEST_NAME = 60


class PredictionsPresenter(Presenter):
    """A row for each point."""

    def summary(self, result: Predictions) -> list[str]:
        """How many, and over what."""
        count = len(result.values)
        return [f"{count} prediction{'s' * (count != 1)} over {', '.join(result.points)}"]

    def tables(self, result: Predictions) -> Tables:
        """Variables, values, and remarks where there are any."""
        remarked = any(result.remarks)
        header = [*result.points, *result.names, *(["remark"] if remarked else [])]
        cells = zip(*result.points.values(), strict=True)
        rows = [
            [
                *(part if isinstance(part, str) else f"{part:g}" for part in cell),
                *(f"{value:.6g}" for value in row),
                *([result.remarks[number]] if remarked else []),
            ]
            for number, (cell, row) in enumerate(
                zip(cells, result.values.reshape(len(result.values), -1).tolist(), strict=True)
            )
        ]
        return [("", header, rows)]

    def frame(self, result: Predictions) -> pd.DataFrame:
        """The same with all digits."""
        import pandas as pd

        return pd.DataFrame(result.to_dicts())


class FactsPresenter(Presenter):
    """A line for each fact."""

    def summary(self, result: Facts) -> list[str]:
        """Name and text of each."""
        width = max(map(len, result.facts))
        lines = []
        for name, value in result.facts.items():
            text = value
            if isinstance(value, list) and name not in _ONE_LINE_EACH:
                text = _functions(value) if name in _FUNCTIONS else listing(map(_shortened, value), _MOST_NAMES)
            for number, line in enumerate(text if isinstance(text, list) else [text]):
                lines.append(f"{('' if number else name).ljust(width)}  {line}")
        return lines

    def frame(self, result: Facts) -> pd.DataFrame:
        """A row for each fact."""
        import pandas as pd

        return pd.DataFrame({"fact": list(result.facts), "value": list(result.facts.values())})


class ListingPresenter(Presenter):
    """A row for each."""

    def summary(self, result: Listing) -> list[str]:
        """How many there are."""
        return [f"{len(result.rows)} {result.what}"]

    def tables(self, result: Listing) -> Tables:
        """The names as they stand in the rows."""
        header = list(result.rows[0]) if result.rows else []
        return [("", header, [[_cell(row[name]) for name in header] for row in result.rows])]

    def frame(self, result: Listing) -> pd.DataFrame:
        """The rows."""
        import pandas as pd

        return pd.DataFrame(list(result.rows))


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else "" if value is None else str(value)


def _functions(names: list[str]) -> str:
    """Short names in a line, each once: names of GPU kernels have thousands of letters."""
    short = list(dict.fromkeys(map(short_name, names[:_MOST_READ])))
    text = ", ".join(short[:_MOST_NAMES])
    if len(short) > _MOST_NAMES:
        text += ", ..."
    return text if len(short) == len(names) <= _MOST_NAMES else f"{text} ({len(names)} in all)"


def _shortened(name: object) -> str:
    text = str(name)
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 3] + "..."
