"""Parts of a run to the whole: what does not belong together, is doubled or missing is named."""

from __future__ import annotations

import os
from collections.abc import Sequence

from perf_traces.summaries.run import Run
from perf_traces.summaries.summary import Gathered, Summary
from perf_traces.summaries.summary_file import load
from perfcore.base import progress
from perfcore.base.errors import DataError, OptionError, listing

_MOST_NAMED = 3

Named = str | os.PathLike[str]


def merged(paths: Sequence[Named], *, allow_missing: bool = False) -> Summary:
    """The sum of the summaries in files."""
    if not paths:
        raise OptionError("there are no parts; name those that perf summarize --part has made")
    gathered: Gathered | None = None
    holder: dict[int, Named] = {}
    counts = set()
    with progress.bar("merging", len(paths)) as advance:
        for path in paths:
            summary, part = load(path)
            if gathered is None:
                gathered = Gathered(summary.run)
            elif (difference := gathered.run.difference(summary.run)) is not None:
                raise DataError(f"{os.fspath(path)} does not belong to {os.fspath(paths[0])}: {difference}")
            _check_doubled(gathered.run, summary, path, holder)
            holder |= dict.fromkeys(summary.positions, path)
            counts.add(None if part is None else part[1])
            gathered.add(summary)
            advance(1)
    assert gathered is not None
    total = gathered.summary()
    missing = total.missing()
    if missing and not allow_missing:
        raise DataError(_missing(total.run, missing, counts.pop() if len(counts) == 1 else None))
    return total


def _check_doubled(run: Run, summary: Summary, path: Named, holder: dict[int, Named]) -> None:
    doubled = sorted(summary.positions & holder.keys())
    if doubled:
        if holder[doubled[0]] == path:
            raise DataError(f"{os.fspath(path)} is named twice; name each part once")
        names = listing([run.files[position].name for position in doubled], _MOST_NAMED)
        raise DataError(
            f"{os.fspath(path)} and {os.fspath(holder[doubled[0]])} both hold {names}; leave one of them out"
        )


def _missing(run: Run, missing: Sequence[int], n_parts: int | None) -> str:
    names = listing([run.files[position].name for position in missing], _MOST_NAMED)
    text = f"{len(missing)} of {len(run.files)} files are in none of the parts: {names}; "
    if n_parts is None:
        return f"{text}--allow-missing merges without them"
    parts = sorted({position % n_parts + 1 for position in missing})
    named = listing([f"--part {k}/{n_parts}" for k in parts], _MOST_NAMED)
    return f"{text}summarize the same files with {named}, or merge without them by --allow-missing"
