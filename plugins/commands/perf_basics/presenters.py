"""How predictions, facts and listings are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perf_basics.api import Facts, Listing, Predictions
from perf_views.names import short_name
from perfcore.base.errors import listing
from perfcore.results import Column, Presenter, Table, Tables

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
        values = result.values.reshape(len(result.values), -1)
        points = [Column(name, list(column), format=_number, key=name) for name, column in result.points.items()]
        columns = [Column(name, values[:, k], format=".6g") for k, name in enumerate(result.names)]
        remarks = [Column("remark", list(result.remarks))] if any(result.remarks) else []
        return [Table([*points, *columns, *remarks])]


def _number(value: object) -> str:
    return value if isinstance(value, str) else f"{value:g}"


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
        columns = {
            name: [_joined(row[name]) for row in result.rows] for name in (result.rows[0] if result.rows else ())
        }
        return [Table([Column(name, cells, key=name) for name, cells in columns.items()], drops_empty=False)]

    def frame(self, result: Listing) -> pd.DataFrame:
        """The rows."""
        import pandas as pd

        return pd.DataFrame(list(result.rows))


def _joined(value: object) -> str | None:
    if isinstance(value, bool):
        return "yes" if value else ""
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else None if value is None else str(value)


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
