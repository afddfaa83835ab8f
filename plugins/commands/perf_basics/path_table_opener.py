"""Tables of the laws of very many paths for ``perf explore`` and ``perf predict``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from perf_views.opener import Opener
from perfcore.base.errors import OptionError
from perfcore.hooks.options import option

if TYPE_CHECKING:
    from perf_basics.path_table_views import PathTableViews
    from perf_basics.results import Predictions


@dataclass(frozen=True)
class PathOptions:
    """Options of ``perf predict LAWS.parquet``."""

    path: str | None = option(None, "path of a table of laws, at the target that stands in it", metavar="PATH")


class PathTableOpener(Opener):
    """Opens what ``perf fit --fitter scaling -o FILE.parquet`` wrote."""

    Options = PathOptions
    predicts = True

    def sniff(self, path: Path) -> float:
        """Whether the file says that it is a table of laws."""
        from perf_io.tables.path_table import is_path_table

        return float(is_path_table(path))

    def open(self, path: str, options: PathOptions, data: str | None = None) -> PathTableViews:
        """Its paths, and each of them."""
        from perf_basics.path_table_views import PathTableViews
        from perf_io.tables.path_table import PathTable

        return PathTableViews(PathTable(path))

    def predict(self, path: str, options: PathOptions) -> Predictions:
        """One path at the target of the table.

        Raises
        ------
        OptionError
            No path is named, there is none of this name, or no law could be fitted to it.
        """
        import numpy as np

        from perf_basics.results import Predictions
        from perf_io.tables.path_table import PathTable

        if options.path is None:
            raise OptionError(f"{path} is a table of the laws of many paths: name one with --path")
        table = PathTable(path)
        row = table.row(options.path)
        if row["law"] is None:
            raise OptionError(f"{options.path}: {row['note']}")
        points = {"path": [row["path"]], **{symbol: [level] for symbol, level in table.facts["target"].items()}}
        values = np.array([[row[name] for name in ("predicted", "low", "high")]])
        return Predictions(points, values, [row["note"]], "bounds: 95 % of the mean, as the table was fitted")
