"""Efficiencies that other tools measured, such as TALP and BSC's model factors, to be set beside those of traces."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from perfcore.base.errors import DataError
from perfcore.data.measurements import Measurements

_NAMES = ("region", "run")  # what tells runs of one file apart, beside p


@dataclass(frozen=True)
class OtherRun:
    """Efficiencies of one run, or of a region of it."""

    source: str  # the file, with the region
    p: int  # locations
    factors: Mapping[str, float]  # shares by name

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {"source": self.source, "p": self.p, **self.factors}


def runs_of_table(table: Measurements, names: Collection[str]) -> list[OtherRun]:
    """Runs of a table with a row for each factor of each run."""
    frame = table.table
    if "metric" not in frame.columns and table.roles.value in names:
        frame = frame.rename(columns={table.roles.value: "value"}).assign(metric=table.roles.value)
    has_columns = {"p", "metric", "value"} <= set(frame.columns)
    if has_columns:
        frame = frame[frame["metric"].isin(list(names)) & (frame["p"] >= 1)]
    if not has_columns or not len(frame):
        raise DataError(
            f"{table.source} holds measurements, but no efficiencies of runs; give traces, and beside them "
            "JSON of TALP or modelfactors.csv"
        )
    key_columns = [column for column in (*_NAMES, "p") if column in frame.columns]
    runs = []
    for key, rows in frame.groupby(key_columns, sort=False):
        labels: dict[str, Any] = dict(zip(key_columns, key, strict=True))
        source = f"{table.source}: {labels['region']}" if "region" in labels else table.source
        if "run" in labels and (frame["p"] == labels["p"]).sum() > len(rows):
            source += f" (run {labels['run']})"
        factors = dict(zip(rows["metric"].astype(str), rows["value"].astype(float), strict=True))
        runs.append(OtherRun(source, int(labels["p"]), factors))
    return runs
