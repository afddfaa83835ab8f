"""What is said of each path, as columns for other programs and as cells for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from perf_scaling.described_laws import DescribedLaws
    from perf_scaling.rows import LawRow


IN_UNIT = ("share", "predicted", "low", "high")  # columns with more digits than what is estimated of growth
DEVIATES = 0.5  # probability from which on a last level is said to deviate
_OF_GROWTH = ("growth", "growth_probability", "exponent", "exponent_low", "exponent_high", "growth_statement")
_LONGEST_NAME = 56  # of a path in a table; the end says which function it is

Facts = dict[str, str | float]


def row_header(parameters: Sequence[str]) -> list[str]:
    """Names of the columns."""
    of_growth = [
        name if len(parameters) == 1 else f"{name}_{parameter}" for parameter in parameters for name in _OF_GROWTH
    ]
    return ["path", *IN_UNIT, "law", "law_probability", *of_growth, "note"]


def row_facts(model: DescribedLaws, rows: Sequence[LawRow]) -> list[Facts]:
    """What is said of paths, a column for each fact."""
    header = row_header(list(model.parameter_names.values()))
    top = {model.parameter_names[symbol]: max(levels) for symbol, levels in model.points.items()}
    entries = []
    for row in rows:
        facts: list[str | float] = [row.path, row.share, row.predicted, row.low, row.high, row.law, row.probability]
        facts += [fact for growth in row.growths for fact in growth]
        entries.append(dict(zip(header, [*facts, _note(row, top)], strict=True)))
    return entries


def law_frame(model: DescribedLaws) -> pd.DataFrame:
    """Every path, with all digits."""
    import pandas as pd

    return pd.DataFrame(row_facts(model, model.rows), columns=row_header(list(model.parameter_names.values())))


def shown_rows(rows: Sequence[Mapping[str, Any]], parameters: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Header and cells of a table for people."""
    several = len(parameters) > 1
    header = ["path", "share", "predicted", "95 % of the mean", "likeliest law", "of it"]
    of_each = [f"growth over {name}" if several else "growth" for name in parameters]
    header += [word for growth in of_each for word in (growth, "sure", "exponent")]
    cells = [
        [
            shortened(row["path"]),
            f"{row['share']:.1%}",
            f"{row['predicted']:.4g}",
            f"{row['low']:.4g} .. {row['high']:.4g}",
            row["law"],
            f"{row['law_probability']:.0%}",
            *(cell for name in parameters for cell in _growth_cells(row, f"_{name}" if several else "")),
            row["note"],
        ]
        for row in rows
    ]
    return [*header, "note"], cells


def _growth_cells(row: Mapping[str, Any], of: str) -> tuple[str, str, str]:
    """The class, or what is sure of it; its probability; and the local exponent."""
    low, middle, high = (row[f"exponent{side}{of}"] for side in ("_low", "", "_high"))
    sure = max(row[f"growth_probability{of}"], 0.0)
    return row[f"growth_statement{of}"], f"{sure:.0%}", f"{middle:.2g} ({low:.2g} .. {high:.2g})"


def shortened(path: str) -> str:
    """A path of a length that leaves room for the rest."""
    return path if len(path) <= _LONGEST_NAME else f"...{path[3 - _LONGEST_NAME :]}"


def _note(row: LawRow, top: Mapping[str, float]) -> str:
    """What to keep in mind about a path; `top` are the largest levels that any path was measured at."""
    notes = [] if row.determined else ["not determined"]
    if row.misses > 1.0:
        notes.insert(0, f"off by a factor of {row.misses:.2g} at a measured level")
    if row.deviates >= DEVIATES:
        notes.append(f"last level may deviate ({row.deviates:.0%})")
    if row.is_constant:
        notes.append("no growth seen in the measured range")
    notes += [f"measured to {name}={level:g}" for name, level in row.reach.items() if level < top[name]]
    return ", ".join(notes)
