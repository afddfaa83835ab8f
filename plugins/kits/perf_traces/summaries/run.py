"""What a summary is of: the files of a run, how they are read, and how fine the cells may be."""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from perf_traces.options import CELLS, CLOCKS, RANK, TraceOptions
from perf_traces.ranks import named_host, named_ranks, rank_number
from perf_traces.runs import fields_of, known_files
from perfcore.base.errors import DataError, InputError, OptionError, UnknownNameError, listing
from perfcore.hooks.options import describe
from perfcore.reading.recognise import NamePattern, named_files

DOCUMENT = "perfcore-summary.json"  # the first member of a summary file, a ZIP archive
_LEAST_CELLS, _MOST_CELLS = 16, 1 << 30
_END = 1 << 16  # bytes at each end that tell one file from another of its size
_CLOCKS = tuple(name for name in CLOCKS if name != "collectives")

Whole = Annotated[int, msgspec.Meta(ge=0)]


def is_summary(head: bytes) -> bool:
    """Return whether a file that begins so is a summary."""
    return head.startswith(b"PK\x03\x04") and head[30 : 30 + len(DOCUMENT)] == DOCUMENT.encode()


class ListedFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One file of a run."""

    name: str  # from the folder that all files of the run are below; no summary says where that is
    size: Whole  # bytes
    ends: str  # checksum of its first and last 64 KiB: the same of a copy, and another as soon as a run writes on
    rank: int | None = None  # as ``--from-name`` and as the usual spellings say
    named: int | None = None
    host: str | None = None  # as its name says

    def check(self, path: Path) -> None:
        """Refuse a file that is not as it was listed."""
        if _size_and_ends(path) != (self.size, self.ends):
            raise InputError(path, "changed while the run was summarized; start again when it is finished")


class Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """What must be the same of two summaries that are merged."""

    files: tuple[ListedFile, ...]  # in the order of their names
    cells: Annotated[int, msgspec.Meta(ge=_LEAST_CELLS, le=_MOST_CELLS)]  # the most that there are over the whole run
    reader: str | None
    clocks: str
    options: dict[str, str]  # of the reader, as they are typed

    @functools.cached_property
    def identity(self) -> str:
        """The same for the same files, read in the same way."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()[:32]

    def positions(self, part: tuple[int, int]) -> range:
        """Return which files the k-th of N parts is made of."""
        k, n = part
        if not 1 <= k <= n:
            raise OptionError(f"--part {k}/{n}: of {n} parts the first is 1/{n} and the last {n}/{n}")
        if n > len(self.files):
            raise OptionError(f"--part {k}/{n}: there are {len(self.files)} files; give at most as many parts")
        return range(k - 1, len(self.files), n)

    def difference(self, other: Run) -> str | None:
        """Return what distinguishes another run from this one, in words; None if nothing does."""
        if self.identity == other.identity:
            return None
        if self.cells != other.cells:
            return f"--cells {other.cells}, and not {self.cells}"
        if (self.reader, self.clocks, self.options) != (other.reader, other.clocks, other.options):
            return f"read with {other._how or 'no options'}, and not with {self._how or 'none'}"
        files, other_files = ({file.name: file for file in run.files} for run in (self, other))
        if alone := sorted(files.keys() ^ other_files.keys()):
            return f"not of the same files: {listing(alone, 3)} {'is' if len(alone) == 1 else 'are'} listed in one only"
        ends = ((file, other_files[name]) for name, file in files.items())
        changed = [
            file.name for file, other_file in ends if (file.size, file.ends) != (other_file.size, other_file.ends)
        ]
        return f"{listing(changed, 3)} changed between the two" if changed else "with another --from-name"

    @property
    def _how(self) -> str:
        options = self.options if self.clocks == "auto" else {"clocks": self.clocks, **self.options}
        words = [] if self.reader is None else [f"--reader {self.reader}"]
        return " ".join([*words, *(f"-r {name}={value}" for name, value in options.items())])


def run_of(
    paths: Iterable[str | os.PathLike[str]],
    *,
    cells: int = CELLS,
    reader: str | None = None,
    from_name: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> tuple[Path, Run]:
    """Return the folder that all files are below, and the run that they are."""
    if not _LEAST_CELLS <= cells <= _MOST_CELLS:
        raise OptionError(f"--cells {cells}: {_LEAST_CELLS} to {_MOST_CELLS} are possible")
    option_texts = {name: str(value) for name, value in (options or {}).items()}
    clocks = option_texts.pop("clocks", "auto")
    _check_options(option_texts, clocks)
    named = (path for name in paths for path in _named(os.fsdecode(name), reader))
    files = [Path(os.path.abspath(path)) for path in named]  # noqa: PTH100 - a link keeps its name, which has its rank
    if not files:
        raise OptionError("there is no file; name the traces of one run")
    for path in files:
        if not path.is_file():
            raise InputError(path, "is no file that can be read twice" if path.exists() else "there is no such file")
    folder = Path(os.path.commonpath([path.parent for path in files]))
    files.sort(key=lambda path: path.relative_to(folder).as_posix())
    for one, two in itertools.pairwise(files):
        if one == two:
            raise DataError(f"{one} is named twice")
    listed = tuple(_listed(folder, files, from_name))
    return folder, Run(listed, cells, reader, clocks, dict(sorted(option_texts.items())))


def _named(name: str, reader: str | None) -> list[Path]:
    """Return the files that a name stands for, without summaries, such as the one that was made of a folder."""
    files = named_files(name) if reader is not None else known_files(name, is_summary)
    return [Path(name)] if files is None else files


def _check_options(options: Mapping[str, str], clocks: str) -> None:
    if clocks == "collectives":
        raise OptionError(
            "-r clocks=collectives: a summary reads file by file, and collectives are compared between files; files "
            "that share a clock take clocks=recorded, others clocks=unaligned"
        )
    if clocks not in _CLOCKS:
        raise UnknownNameError("value of clocks", clocks, _CLOCKS)
    for name in options.keys() & {field.name for field in describe(TraceOptions)} - {"locations"}:
        raise OptionError(f"-r {name}=: a summary is of the whole run and of all its files; leave it out")
    if options.get("locations") == "node":
        raise OptionError("-r locations=node: a node is of several files; a summary has locations within each only")


def _listed(folder: Path, paths: Sequence[Path], from_name: str | None) -> Iterable[ListedFile]:
    pattern = None if from_name is None else NamePattern(from_name)
    for path, named in zip(paths, named_ranks(paths), strict=True):
        fields = fields_of(path, pattern)
        if pattern is not None and set(fields) != {RANK}:
            raise OptionError(f"--from-name {pattern.text!r}: of the files of one run the only field is {{rank:int}}")
        rank = rank_number(fields[RANK], path) if fields else None
        name = path.relative_to(folder).as_posix()
        if not name.isprintable():
            raise InputError(repr(name), "has a name that cannot be printed; rename it")
        yield ListedFile(name, *_size_and_ends(path), rank, named, named_host(path))


def _size_and_ends(path: Path) -> tuple[int, str]:
    """Return bytes of a file, and the checksum of its first and last ones."""
    try:
        with path.open("rb") as stream:
            digest = hashlib.sha256(stream.read(_END))
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(size - _END, 0))
            digest.update(stream.read(_END))
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror or error}") from error
    return size, digest.hexdigest()[:16]
