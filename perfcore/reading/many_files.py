"""Data sets of many files: which files a folder or a pattern names, what their names say, and their rows together."""

from __future__ import annotations

import glob
import importlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfcore.base.errors import InputError, OptionError, PerfError, listing
from perfcore.hooks.options import OptionField, build, describe
from perfcore.hooks.registry import registry
from perfcore.reading.source import ADDRESS, COMPRESSED_ENDINGS, without_compressed_ending

if TYPE_CHECKING:
    from perfcore.hooks.registry import Entry
    from perfcore.reading.recognise import Reading
    from perfcore.reading.source import Reader


_MOST_FILES = 10_000
_TYPES = {"int": int, "float": float, "str": str}
_FIELD = re.compile(r"\{([A-Za-z_]\w*)(?::(\w+))?\}|([{}])", re.ASCII)


class NamePattern:
    """What the names of files say: ``run_p{p:int}_n{n}.out``."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.types: dict[str, str | None] = {}
        parts, end = [], -1
        for match in _FIELD.finditer(text):
            name, type_, brace = match.groups()
            if brace or (type_ is not None and type_ not in _TYPES):
                wrong = f"the brace at {match.start() + 1}" if brace else f"the type {type_!r}"
                raise self._refused(f"{wrong} makes no field such as {{p:int}}, {{x:float}}, {{code:str}} or {{n}}")
            if name in self.types:
                raise self._refused(f"the field {name!r} is there twice")
            if match.start() == end:
                raise self._refused(f"there is nothing between {name!r} and the field before it")
            parts += [_literal(text[max(end, 0) : match.start()]), f"({_form(type_)})"]
            self.types[name] = type_
            end = match.end()
        if not self.types:
            raise self._refused("there is no field in it, such as {p:int}")
        packed = "|".join(map(re.escape, COMPRESSED_ENDINGS))
        self._names = re.compile("".join(parts) + _literal(text[end:]) + f"(?:{packed})?")
        self._depth = text.count("/") + 1

    def fields_of(self, path: str | os.PathLike[str]) -> dict[str, Any] | None:
        """The fields of one file, those without a type as texts; None where its name is another."""
        name = "/".join(Path(path).absolute().parts[-self._depth :])
        match = self._names.fullmatch(name)
        if match is None:
            return None
        return {
            field: _TYPES[type_ or "str"](text)
            for (field, type_), text in zip(self.types.items(), match.groups(), strict=True)
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
    """Return the files of a folder, of a pattern with ``*``, ``?`` or ``[...]``, or of several names with commas.

    None for the name of one input.
    """
    words = [name] if ADDRESS.match(name) else name.split(",")
    if len(words) > 1 and not os.path.exists(name) and any(map(_names_files, words)):  # noqa: PTH110
        for word in words:
            if not _names_files(word):
                raise InputError(word, "there is no such file")
            if words.count(word) > 1:
                raise InputError(word, "is given twice; name each file once")
        paths = {path for word in words for path in named_files(word) or [Path(word)]}
        return sorted(without_parts(paths), key=lambda path: _natural(str(path)))
    is_folder = os.path.isdir(name)  # noqa: PTH112 - Path.is_dir fails where a name is too long, Path.exists too
    if name == "-" or ADDRESS.match(name) or not (is_folder or (glob.has_magic(name) and not os.path.exists(name))):  # noqa: PTH110
        return None
    found: list[Path] = _below(Path(name), name) if is_folder else []
    for match in () if is_folder else glob.iglob(name, recursive=True):  # noqa: PTH207 - of absolute patterns, too
        path = Path(match)
        found += _below(path, name) if path.is_dir() and "**" not in name else [path] if path.is_file() else []
        _check_count(found, name)
    if not found:
        raise InputError(name, "names no file")
    return sorted(without_parts(set(found)), key=lambda path: _natural(str(path)))


def _names_files(word: str) -> bool:
    return os.path.exists(word) or (glob.has_magic(word) and bool(glob.glob(word)))  # noqa: PTH110, PTH207


def without_parts(paths: set[Path]) -> set[Path]:
    """The files less those that are read with another one of them, such as the logs of a trace."""
    parts: set[Path] = set()
    endings_of = {path: Path(without_compressed_ending(path.name)).suffix.lower() for path in paths}
    for entry in registry().entries("readers").values():
        anchors = [path for path, ending in endings_of.items() if ending in entry.suffixes]
        endings = _endings_of_parts(entry) if anchors else ()
        for path in paths if endings else ():
            if without_compressed_ending(path.name).endswith(endings) and any(
                _belongs(path, anchor) for anchor in anchors
            ):
                parts.add(path)
    return paths - parts


def _endings_of_parts(entry: Entry) -> tuple[str, ...]:
    try:
        reader: type[Reader] = entry.load()
    except PerfError:  # one that lacks its library says so when its file is read
        return ()
    return reader.parts


def _belongs(path: Path, anchor: Path) -> bool:
    """Whether a file is called ``NAME.*``, or lies in the folder ``NAME``, next to ``NAME.sts``, packed or not."""
    if path == anchor or anchor.parent not in path.parents:
        return False
    name = path.relative_to(anchor.parent).as_posix()
    stem = Path(without_compressed_ending(anchor.name)).stem
    return name.startswith((f"{stem}.", f"{stem}/"))


def _below(folder: Path, name: str) -> list[Path]:
    paths: list[Path] = []
    for parent, folders, files in os.walk(folder):
        folders[:] = [one for one in folders if not one.startswith(".")]
        paths += [path for one in files if not one.startswith(".") and (path := Path(parent, one)).is_file()]
        _check_count(paths, name)
    return paths


def _check_count(paths: Sequence[Path], name: str) -> None:
    if len(paths) > _MOST_FILES:
        raise InputError(name, f"names more than {_MOST_FILES} files; name fewer with a pattern such as 'runs/*.json'")


def _natural(text: str) -> list[tuple[int, int, str]]:
    """A key that orders numbers by size and everything else as text."""
    return [(0, int(part), part) if part.isdecimal() else (1, 0, part) for part in re.split(r"([0-9]+)", text)]


def join(
    paths: Sequence[Path],
    read: Callable[[Path], Reading],
    name: str,
    pattern: NamePattern | None,
    how: Mapping[str, Any],
) -> Any:
    """Data of several files as one set, or the part of it that is asked for, by the class method ``join`` of the data.

    The method takes the parts, an iterator of (path, data) that reads as it goes; what the name of each file says, a
    sequence of mappings of fields to numbers and words (`NamePattern`); the name of the set; options of the class that
    the attribute ``join_options`` of the data names; the paths; and with what `perfcore.reading.recognise.read_one`
    reads one of them. With options single files go through it too.
    """
    fields, reading = _fields(paths, pattern), read(paths[0])
    kind, first = type(reading.data), [reading.data]
    method, options_class = getattr(kind, "join", None), options_of_join(kind)
    declared, description = {item.name for item in describe(options_class)}, f"holds a {kind.__name__}"
    if unknown := reading.unused - declared:
        flags = listing(item.flag for item in shared_options() if item.name in unknown)
        raise OptionError(f"{name}: {description}, to which {flags} cannot be applied")
    if len(paths) == 1 and pattern is None and not declared:
        return first[0]
    if method is None:
        joinable = listing(sorted(each.__name__.lower() for each in _joinable()))
        raise InputError(str(paths[0]), f"{description}; only {joinable} can be put together from several files")
    del reading  # its data are not held while the others are read

    def parts() -> Iterator[tuple[Path, Any]]:
        yield paths[0], first.pop()
        for path in paths[1:]:
            data = read(path).data
            if getattr(type(data), "join", None) != method:
                raise InputError(str(path), f"holds a {type(data).__name__}, and {paths[0]} {description}")
            yield path, data

    values = {key: value for key, value in how["options"].items() if key in declared}
    return method(parts(), fields, name, build(options_class, values, "data of this kind"), tuple(paths), how)


def options_of_join(kind: type) -> type:
    """Options of the class method ``join`` of data."""
    module, _, attribute = getattr(kind, "join_options", "perfcore.hooks.options:NoOptions").partition(":")
    options_class: type = getattr(importlib.import_module(module), attribute)
    return options_class


def shared_options() -> list[OptionField]:
    """Options by which data are joined, whatever their format."""
    return list({item.name: item for kind in _joinable() for item in describe(options_of_join(kind))}.values())


def _joinable() -> tuple[type, ...]:
    from perfcore.data.curve import UtilizationCurve
    from perfcore.data.measurements import Measurements
    from perfcore.data.trace import Trace

    return Measurements, Trace, UtilizationCurve


def _fields(paths: Sequence[Path], pattern: NamePattern | None) -> list[dict[str, Any]]:
    """Fields of each name; those without a type are numbers where all are."""
    if pattern is None:
        return [{} for _ in paths]
    fields = []
    for path in paths:
        texts = pattern.fields_of(path)
        if texts is None:
            raise InputError(str(path), f"the name does not fit --from-name {pattern.text!r}")
        fields.append(texts)
    number = re.compile(_form("float"))
    for field, type_ in pattern.types.items():
        if type_ is None and all(number.fullmatch(texts[field]) for texts in fields):
            for texts in fields:
                texts[field] = float(texts[field]) if re.search(r"[.eE]", texts[field]) else int(texts[field])
    return fields
