"""What benchmarks of messages share: a table of sizes and times under column names with units."""

from __future__ import annotations

import re
from collections.abc import Sequence

from perf_io.results.options import MessageOptions
from perf_io.results.result_table import Row
from perfcore.base import progress
from perfcore.data.units import same_unit


def named(heading: str) -> tuple[str, str]:
    """Column and unit of a heading."""
    match = re.fullmatch(r"(.+?)\s*[(\[]\s*([^()\[\]]+?)\s*[)\]]", heading.strip())
    if match:
        return re.sub(r"\W+", "_", match[1].lower()).strip("_"), same_unit(match[2])
    if re.fullmatch(r"M(?:bytes|B)/s(?:ec)?", heading):
        return "bandwidth", heading
    return re.sub(r"\W+", "_", heading.strip().lower()).strip("_") or "unnamed", ""


def without_empty_messages(
    rows: Sequence[Row], lines: Sequence[int], source: str, options: MessageOptions
) -> tuple[list[Row], list[int]]:
    """Rows and their lines without messages of 0 bytes, unless they are wanted or all that there is."""
    kept = [index for index, row in enumerate(rows) if row.get("bytes") != 0]
    if options.empty or not kept:
        return list(rows), list(lines)
    if len(kept) < len(rows):
        progress.note(
            f"{source}: left out, since they are of 0 bytes: {len(rows) - len(kept)} rows; -r empty=yes keeps them"
        )
    return [rows[index] for index in kept], [lines[index] for index in kept]
