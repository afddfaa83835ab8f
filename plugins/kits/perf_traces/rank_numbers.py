"""Which rank each of many files is: by what the user says, by what the files say, or by their names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from perf_traces.stored_trace import StoredTrace
from perfcore.base import progress
from perfcore.base.errors import DataError, InputError, listing

RANK = "rank"  # the field of a pattern for names, and the fact of a trace
_SPELLED = re.compile(r"(?:^|[^a-z])rank[-_. =]?(\d{1,7})(?!\d)", re.IGNORECASE)
_COUNTED = re.compile(r"(?P<stem>.+)\.(?P<number>\d{1,7})\.[A-Za-z][A-Za-z0-9.]*")
# As PyTorch's tensorboard_trace_handler names the trace of each process.
_PROCESS = re.compile(r"(?P<host>.+)_(?P<process>\d+)\.(?:\d+\.)?pt\.trace\.json(?:\.gz)?")


def named_ranks(paths: Sequence[Path]) -> list[int | None]:
    """The rank that each name says in one of the usual spellings; None where it says none."""
    spelled = [_spelled(path) for path in paths]
    if any(rank is not None for rank in spelled):
        return spelled
    counted = [_COUNTED.fullmatch(path.name) for path in paths]
    numbers = {int(match["number"]) for match in counted if match}
    stems = {(path.parent, match["stem"]) for path, match in zip(paths, counted, strict=True) if match}
    if len(stems) == 1 and len(numbers) > 1 and numbers == set(range(len(numbers))):
        return [int(match["number"]) if match else None for match in counted]
    processes = [_PROCESS.fullmatch(path.name) for path in paths]
    keys = [(match["host"], int(match["process"])) if match else None for match in processes]
    order = {key: rank for rank, key in enumerate(sorted({key for key in keys if key is not None}))}
    return [None if key is None else order[key] for key in keys] if len(order) > 1 else [None] * len(paths)


def named_host(path: Path) -> str | None:
    """The host that the name of a trace of PyTorch's profiler begins with."""
    match = _PROCESS.fullmatch(path.name)
    return match["host"] if match else None


def _spelled(path: Path) -> int | None:
    for name in (path.name, path.parent.name):
        if numbers := _SPELLED.findall(name):
            return int(numbers[-1])
    return None


AS_RUNS = ", or take them as runs with -r files=runs"


def numbered(
    parts: Sequence[StoredTrace],
    paths: Sequence[Path],
    fields: Sequence[Mapping[str, Any]],
    named: Sequence[int | None],
    name: str,
    otherwise: str = AS_RUNS,
) -> tuple[list[tuple[int, StoredTrace]], str]:
    """The traces with their ranks, in the order of these, and what told the ranks."""
    ranks = [part.facts.get(RANK) for part in parts]
    how = "by what the files say"
    if RANK in fields[0]:
        ranks, how = [_number(each[RANK], path) for each, path in zip(fields, paths, strict=True)], "by --from-name"
    elif None in ranks or len(set(ranks)) < len(ranks):
        if None not in named and len(set(named)) == len(named):
            ranks, how = list(named), "by the names of the files"
        elif all(rank is None for rank in (*ranks, *named)):
            ranks, how = list(range(len(parts))), "by the order of the files, as nothing tells their ranks"
        else:
            ranks = [of_name if rank is None else rank for rank, of_name in zip(ranks, named, strict=True)]
            how = "by what the files and their names say"
    if left_out := [str(path) for path, rank in zip(paths, ranks, strict=True) if rank is None]:
        progress.note(f"{name}: left out, as nothing tells which rank it is: {listing(left_out, 3)}")
    rank_paths: dict[int, Path] = {}
    for path, rank in zip(paths, ranks, strict=True):
        if rank is not None and rank_paths.setdefault(rank, path) is not path:
            raise DataError(
                f"{name}: rank {rank} is there twice, {rank_paths[rank]} and {path}; name the files of one run with a "
                f"pattern, or their ranks with --from-name '...{{rank:int}}...'{otherwise}"
            )
    ranked = [(rank, part) for rank, part in zip(ranks, parts, strict=True) if rank is not None]
    return sorted(ranked, key=lambda each: each[0]), how


def _number(value: Any, path: Path) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        raise InputError(str(path), f"--from-name takes {value!r} for its rank, which is no whole number") from None


def check_job(parts: Sequence[tuple[int, StoredTrace]], name: str, otherwise: str = AS_RUNS) -> list[str]:
    """Refuse ranks of different jobs; say which ranks are missing; ``otherwise`` as for `numbered`."""
    sizes = {rank: part.facts["world_size"] for rank, part in parts if "world_size" in part.facts}
    sources = {rank: part.source for rank, part in parts}
    first = next(iter(sizes), None)
    for rank, size in sizes.items():
        if first is not None and size != sizes[first]:
            raise DataError(
                f"{name}: {sources[rank]} is of a job of {size} ranks and {sources[first]} of one of {sizes[first]}; "
                f"name the files of one job with a pattern{otherwise}"
            )
        if rank >= size:
            raise DataError(f"{name}: {sources[rank]} is rank {rank} of a job of {size} ranks, which count from 0")
    present = [rank for rank, _ in parts]
    expected = sizes[first] if first is not None else max(present) + 1
    missing = sorted(set(range(expected)) - set(present)) if expected < 1 << 22 else []
    if not missing:
        return []
    verb = "is" if len(missing) == 1 else "are"
    return [f"of {expected} ranks {len(missing)} {verb} missing: {_ranges(missing)}"]


def _ranges(numbers: Sequence[int]) -> str:
    """Whole numbers in order, those without a gap as ``2 to 9``."""
    stretches: list[list[int]] = []
    for number in numbers:
        if stretches and stretches[-1][-1] == number - 1:
            stretches[-1] = [stretches[-1][0], number]
        else:
            stretches.append([number])
    return listing([" to ".join(map(str, stretch)) for stretch in stretches], 4)
