"""Data sets of many files: which files a folder or a pattern names, what their names say, and their rows together."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfcore.base.errors import DataError, InputError, OptionError, PerfError
from perfcore.data.measurements import Measurements
from perfcore.data.roles import guess_roles
from perfcore.hooks.registry import registry
from perfcore.reading.compression import COMPRESSED_ENDINGS, without_compressed_ending

if TYPE_CHECKING:
    import pandas as pd

    from perfcore.hooks.registry import Entry
    from perfcore.reading.reader import Reader

__all__ = ["NamePattern", "join", "named_files", "varied_columns"]

_MOST_FILES = 10_000
_TYPES = {"int": int, "float": float, "str": str}
_FIELD = re.compile(r"\{([A-Za-z_]\w*)(?::(\w+))?\}|([{}])", re.ASCII)
# Fields of a name that tell runs of the same point apart; they are columns and no parameters.
_REPETITIONS = frozenset({"r", "rep", "repeat", "repetition", "run", "trial"})
_FILE = "file"


class NamePattern:
    """What the names of files say: ``run_p{p:int}_n{n}.out``.

    A field is one of ``{name:int}``, ``{name:float}``, ``{name:str}`` and ``{name}``, which is a number if it is one in
    the name of every file. ``*`` stands for any characters. Everything else stands for itself; there are no regular
    expressions. A pattern with ``/`` looks at as many folders; the ending of a compression, such as ``.gz``, need not
    be named.

    Parameters
    ----------
    text : str

    Raises
    ------
    OptionError
        No field, one that is named twice, an unknown type, a brace without its partner, or fields with nothing
        between them.

    Examples
    --------
    >>> NamePattern("run_p{p:int}_{solver}.out").fields_of("runs/run_p16_cg.out")
    {'p': 16, 'solver': 'cg'}
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.types: dict[str, str | None] = {}
        parts, end = [], -1
        for found in _FIELD.finditer(text):
            name, type_, brace = found.groups()
            if brace or (type_ is not None and type_ not in _TYPES):
                wrong = f"the brace at {found.start() + 1}" if brace else f"the type {type_!r}"
                raise self._refused(f"{wrong} makes no field such as {{p:int}}, {{x:float}}, {{code:str}} or {{n}}")
            if name in self.types:
                raise self._refused(f"the field {name!r} is there twice")
            if found.start() == end:
                raise self._refused(f"there is nothing between {name!r} and the field before it")
            parts += [_literal(text[max(end, 0) : found.start()]), f"({_form(type_)})"]
            self.types[name] = type_
            end = found.end()
        if not self.types:
            raise self._refused("there is no field in it, such as {p:int}")
        packed = "|".join(map(re.escape, COMPRESSED_ENDINGS))
        self._names = re.compile("".join(parts) + _literal(text[end:]) + f"(?:{packed})?")
        self._depth = text.count("/") + 1

    def fields_of(self, path: str | os.PathLike[str]) -> dict[str, Any] | None:
        """The fields of one file, those without a type as texts; None where its name is another."""
        name = "/".join(Path(path).absolute().parts[-self._depth :])
        found = self._names.fullmatch(name)
        if found is None:
            return None
        return {
            field: _TYPES[type_ or "str"](text)
            for (field, type_), text in zip(self.types.items(), found.groups(), strict=True)
        }

    def _refused(self, problem: str) -> OptionError:
        return OptionError(f"--from-name {self.text!r}: {problem}")


def _literal(text: str) -> str:
    return "[^/]*".join(map(re.escape, text.split("*")))


def _form(type_: str | None) -> str:
    # Lengths are bounded, so that no name makes a number that is not one of a file.
    return {"int": r"[-+]?[0-9]{1,18}", "float": r"[-+]?[0-9]{1,18}(?:\.[0-9]{1,18})?(?:[eE][-+]?[0-9]{1,2})?"}.get(
        type_ or "", r"[^/]{1,255}?"
    )


def named_files(name: str) -> list[Path] | None:
    """The files that a folder or a pattern with ``*``, ``?`` or ``[...]`` names; None for the name of one input.

    Folders are searched through. Links to folders, names that begin with a dot, and files that are read with another
    one, such as the logs of a trace, are passed over. Numbers in names are ordered by size: ``run2`` comes before
    ``run10``.

    Raises
    ------
    InputError
        There is no such file, or there are more than 10,000.
    """
    path = Path(name)
    if name == "-" or path.is_file() or (not path.is_dir() and not glob.has_magic(name)):
        return None
    if not path.exists() and glob.has_magic(name):
        found: list[Path] = []
        for match in glob.iglob(name, recursive=True):  # noqa: PTH207 - Path.glob takes no absolute patterns
            one = Path(match)
            found += _below(one, name) if one.is_dir() and "**" not in name else [one] if one.is_file() else []
            _check_count(found, name)
    else:
        found = _below(path, name) if path.is_dir() else []
        if not path.is_dir():
            return None
    if not found:
        raise InputError(name, "names no file")
    return sorted(_without_parts(set(found)), key=lambda one: _natural(str(one)))


def _without_parts(found: set[Path]) -> set[Path]:
    """The files less those that are read with another one of them, such as the logs of a trace."""
    parts: set[Path] = set()
    endings_of = {path: Path(without_compressed_ending(path.name)).suffix.lower() for path in found}
    for entry in registry().entries("readers").values():
        anchors = [path for path, ending in endings_of.items() if ending in entry.suffixes]
        endings = _endings_of_parts(entry) if anchors else ()
        for path in found if endings else ():
            if without_compressed_ending(path.name).endswith(endings) and any(
                _belongs(path, anchor) for anchor in anchors
            ):
                parts.add(path)
    return found - parts


def _endings_of_parts(entry: Entry) -> tuple[str, ...]:
    try:
        reader: type[Reader] = entry.load()
    except PerfError:  # one that lacks its library says so when its file is read
        return ()
    return reader.parts


def _belongs(path: Path, anchor: Path) -> bool:
    """Whether a file is called ``NAME.*``, or lies in the folder ``NAME``, beside ``NAME.sts``, packed or not."""
    if path == anchor or anchor.parent not in path.parents:
        return False
    name = path.relative_to(anchor.parent).as_posix()
    stem = Path(without_compressed_ending(anchor.name)).stem
    return name.startswith((f"{stem}.", f"{stem}/"))


def _below(folder: Path, name: str) -> list[Path]:
    found: list[Path] = []
    for parent, folders, files in os.walk(folder):
        folders[:] = [one for one in folders if not one.startswith(".")]
        found += [path for one in files if not one.startswith(".") and (path := Path(parent, one)).is_file()]
        _check_count(found, name)
    return found


def _check_count(found: Sequence[Path], name: str) -> None:
    if len(found) > _MOST_FILES:
        raise InputError(name, f"names more than {_MOST_FILES} files; name fewer with a pattern such as 'runs/*.json'")


def _natural(text: str) -> list[tuple[int, int, str]]:
    """A key that orders numbers by size and everything else as text."""
    return [(0, int(part), part) if part.isdecimal() else (1, 0, part) for part in re.split(r"([0-9]+)", text)]


def join(parts: Sequence[tuple[Path, Any]], name: str, pattern: NamePattern | None) -> Measurements:
    """Measurements of several files as one table with what the files' names say.

    The parameters are those of the files and the fields of their names that are numbers; of several files only those
    that differ between rows. Fields that are words name the code. A field ``r``, ``run`` or ``repetition`` is a column
    that tells repeated runs apart.

    Parameters
    ----------
    parts : sequence of (Path, Measurements)
        At least one; data of another type are refused.
    name : str
        How the user names the set.
    pattern : NamePattern or None

    Raises
    ------
    InputError
        A file with data of another type, or whose name the pattern does not fit.
    DataError
        The files measure different things.
    OptionError
        A field of the names is a column of the files.
    """
    import pandas as pd

    for path, data in parts:
        if not isinstance(data, Measurements):
            problem = f"holds a {type(data).__name__}; only measurements can be put together from several files"
            raise InputError(str(path), problem)
    fields = _fields(parts, pattern)
    tables = []
    for (path, data), said in zip(parts, fields, strict=True):
        table = data.table
        taken = [field for field in (*said, *([_FILE] if len(parts) > 1 else [])) if field in table.columns]
        if taken and taken[0] in said:
            raise OptionError(f"--from-name: {path} has a column {taken[0]!r} already; call the field otherwise")
        extra = {**said, _FILE: str(path)} if len(parts) > 1 and not taken else said
        tables.append(table.assign(**extra))
    together = pd.concat(tables, ignore_index=True)
    value, unit = (_one([getattr(data.roles, what) for _, data in parts], parts, what) for what in ("value", "unit"))
    words = [field for field in fields[0] if field not in _REPETITIONS and isinstance(fields[0][field], str)]
    code, system, category = (
        list(dict.fromkeys(column for _, data in parts for column in getattr(data.roles, role)))
        for role in ("code", "system", "category")
    )
    first = parts[0][1]
    return Measurements(
        together,
        _parameters(together, parts, [f for f in fields[0] if f not in words and f not in _REPETITIONS]),
        value,
        code=[*words, *code],
        system=system,
        category=category,
        unit=unit,
        source=f"{name} ({len(parts)} files)" if len(parts) > 1 else first.source,
        lines=[first.line(row) or 0 for row in range(len(first.table))]
        if len(parts) == 1 and first.line(0) is not None
        else None,
    )


def _fields(parts: Sequence[tuple[Path, Any]], pattern: NamePattern | None) -> list[dict[str, Any]]:
    """Fields of each name; those without a type are numbers where all are."""
    if pattern is None:
        return [{} for _ in parts]
    found = []
    for path, _ in parts:
        said = pattern.fields_of(path)
        if said is None:
            raise InputError(str(path), f"the name does not fit --from-name {pattern.text!r}")
        found.append(said)
    number = re.compile(_form("float"))
    for field, type_ in pattern.types.items():
        if type_ is None and all(number.fullmatch(said[field]) for said in found):
            for said in found:
                said[field] = float(said[field]) if re.search(r"[.eE]", said[field]) else int(said[field])
    return found


def _one(said: Sequence[str | None], parts: Sequence[tuple[Path, Any]], what: str) -> str | None:
    """What all files agree on."""
    for (path, _), one in zip(parts, said, strict=True):
        if one != said[0]:
            problem = f"{parts[0][0]} has the {what} {said[0]!r} and {path} {one!r}; read them as two sets"
            raise DataError(problem)
    return said[0]


def _parameters(table: pd.DataFrame, parts: Sequence[tuple[Path, Any]], named: Sequence[str]) -> dict[str, str]:
    """Symbols and columns of what was varied: those of the names first, then those of the files."""
    symbols = {column: symbol for _, data in parts for symbol, column in data.roles.parameters.items()}
    columns = list(dict.fromkeys([*named, *symbols]))
    kept = (varied_columns(table, columns, named) if len(parts) > 1 else columns) or columns
    processors = guess_roles(kept, set(kept)).parameters.values()
    found: dict[str, str] = {}
    for column in sorted(kept, key=lambda one: one not in processors):
        symbol = column if column in named else symbols[column]
        found[symbol if symbol not in found else column] = column
    if found and "p" not in found:
        symbol = next(iter(found))
        found = {"p": found.pop(symbol), **found}
    return found


def varied_columns(table: pd.DataFrame, columns: Sequence[str], named: Sequence[str] = ()) -> list[str]:
    """The columns that differ between rows, less those that say the same as one before, such as nodes beside tasks.

    Parameters
    ----------
    table : pandas.DataFrame
    columns : sequence of str
        Candidates, the most telling first.
    named : sequence of str
        Those that the user named: they are kept also where they go together, as in weak scaling.
    """
    kept: list[str] = []
    for column in columns:
        levels = table[column].nunique()
        if levels < 2:
            continue
        same = any(levels == table[other].nunique() == len(table[[column, other]].drop_duplicates()) for other in kept)
        if column in named or not same:
            kept.append(column)
    return kept
