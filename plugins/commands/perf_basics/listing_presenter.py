"""How listings are shown: of formats, and of what is installed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from perf_basics.api import Listing
from perfcore.results import Column, Presenter, Table, Tables

if TYPE_CHECKING:
    import pandas as pd


_FURTHER = ("writes", "problem", "example")  # columns of formats that --all adds


class ListingPresenter(Presenter):
    """A row for each."""

    def answer(self, result: Listing) -> str:
        kinds = Counter(f"{row['kind']}s" for row in result.rows if "kind" in row)
        return f"{len(result.rows)} {result.what}" + (
            f": {', '.join(f'{n} {k}' for k, n in kinds.items())}" * bool(kinds)
        )

    def tables(self, result: Listing) -> Tables:
        columns = {
            name: [_joined(row[name]) for row in result.rows] for name in (result.rows[0] if result.rows else ())
        }
        listed = [
            Column("description" if name == "help" else name, cells, key=name,
                   importance="verbose" if name in _FURTHER else "default")
            for name, cells in columns.items()
        ]  # fmt: skip
        return [Table(listed, drops_empty=False)]

    def frame(self, result: Listing) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame(list(result.rows))


def _joined(value: object) -> str | None:
    if isinstance(value, bool):
        return "yes" if value else ""
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else None if value is None else str(value)
