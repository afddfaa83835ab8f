"""Files to data: finds the reader, checks its options, reads one file or many, and writes data back."""

from __future__ import annotations

import contextlib
import glob
import importlib
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfcore.base import pd, progress
from perfcore.base.errors import InputError, OptionError, PerfError, listing
from perfcore.base.files import MODEL_SCHEMA, atomic_path, refuse_other_kind
from perfcore.data import type_in_words
from perfcore.data.measurements import Measurements
from perfcore.hooks.options import OptionField, build, describe
from perfcore.hooks.registry import Entry, registry
from perfcore.reading.source import ADDRESS, COMPRESSED_ENDINGS, Reader, Source, without_compressed_ending

UNSURE = 0.2  # of a reader that takes what no other does
_MODEL_BEGINS = 64  # bytes, in which a model file says what it is
_MOST_FILES = 10_000
_TYPES = {"int": int, "float": float, "str": str}
_FIELD = re.compile(r"\{([A-Za-z_]\w*)(?::(\w+))?\}|([{}])", re.ASCII)


@dataclass(frozen=True)
class Reading:
    """Data, and how they were read."""

    data: Any
    reader: str  # name of the format
    files: int  # number of files that were read
    unused: frozenset[str] = frozenset()  # options that its format does not have


def recognise(source: Source) -> tuple[str, Reader]:
    """Name and instance of the reader that is surest of a source."""
    best: tuple[float, str, Reader] | None = None
    entries, problems = registry().entries("readers"), list[str]()
    # Readers that claim the ending are asked first, and of all only those whose signature the file has are imported;
    # the others if none of them is sure.
    may_be = [name for name, entry in entries.items() if entry.may_be(source.head)]
    order = sorted(may_be, key=lambda name: source.suffix not in entries[name].suffixes)
    for name in [*order, *(name for name in entries if name not in may_be)]:
        entry = entries[name]
        is_claimed = source.suffix in entry.suffixes and name in may_be
        if best is not None and best[0] > UNSURE and not is_claimed:
            break
        try:
            reader: Reader = entry.load()()
        except PerfError as error:  # one that lacks its library must not keep the others from reading
            problems.append(str(error))
            continue
        sureness = reader.sniff(source)
        if sureness > 0 and (best is None or sureness > best[0]):
            best = (sureness, name, reader)
    if best is None:
        if f'"{MODEL_SCHEMA[:-1]}'.encode() in source.head[:_MODEL_BEGINS]:  # whichever version
            problem = "is a model, no data; `perf predict`, `perf compare` and `perf explore` read it"
            raise InputError(source.name, problem)
        advice = f"not in any of the {len(entries)} known formats; `perf info --formats` lists them, --reader names one"
        raise InputError(source.name, "; ".join([advice, *problems]))
    return best[1], best[2]


def read(
    path: str | os.PathLike[str],
    *,
    reader: str | None = None,
    wanted: Sequence[type] = (),
    from_name: str | None = None,
    **options: Any,
) -> Any:
    """Read a file, or many files as one data set.

    Parameters
    ----------
    path : str or path
        A file, also compressed with gzip, bzip2, xz or zstd, or ``"-"`` for standard input. Or many files of
        measurements in one format: a folder, in which files of no known format are passed over, or a pattern such as
        ``"runs/*.out"``.
    reader : str, optional
        Name of the format; by default it is detected from the content.
    wanted : sequence of type
        What the data are for, where a file could be read as several types; a table is one such.
    from_name : str, optional
        What the names of the files say, as ``"run_p{p:int}_n{n}.out"``; see `NamePattern`.
    **options
        Options of the reader (``perf plugins NAME`` lists them), and of what joins data of this type.

    Returns
    -------
    Trace, UtilizationCurve, Series or Measurements
        What several files, or names that say something, make together.

    Raises
    ------
    InputError
        A file is missing, empty, damaged or of no known format; with file and line. Files of several formats.
    DataError
        Files that measure different things.
    OptionError
        The reader has no such option or refuses its value, or ``from_name`` is no such pattern.

    Examples
    --------
    >>> import perfcore
    >>> perfcore.read("examples/step.csv")
    UtilizationCurve(3 steps, 0.0 to 30.0 us, mean 2.33333)
    """
    return read_named(path, reader=reader, wanted=wanted, from_name=from_name, **options).data


def read_named(
    path: str | os.PathLike[str],
    *,
    reader: str | None = None,
    wanted: Sequence[type] = (),
    from_name: str | None = None,
    **options: Any,
) -> Reading:
    """Read as `read` does, and name the format; arguments and errors are those of `read`."""
    pattern = None if from_name is None else NamePattern(from_name)
    name = os.fsdecode(path)
    files = named_files(name)
    if files is not None:
        files, reader = _of_one_format(files, name, reader)
    names: list[str] = []
    with progress.bar("reading", len(files or ())) if files else contextlib.nullcontext(lambda _: None) as advance:

        def read(file: Path) -> Reading:
            names.append((reading := read_one(path if files is None else file, **how)).reader)
            advance(1)
            return reading

        how: Any = {"reader": reader, "wanted": wanted, "options": options}
        data = join(files or [Path(name)], read, name, pattern, how)
    return Reading(data, names[0], len(files or names))


def read_frame(frame: pd.DataFrame, wanted: Sequence[type] = ()) -> Any:
    """Return what a file of this table holds; the columns as they are if all have a role, or if no reader takes it."""
    plain = Measurements(frame, source="table")
    roles = plain.roles
    used = {roles.value, *roles.parameters.values(), *roles.code, *roles.system, *roles.category}
    if None not in used and roles.parameters and used.issuperset(frame.columns):
        return plain
    with contextlib.suppress(PerfError), tempfile.TemporaryDirectory() as folder:
        frame.to_csv(path := Path(folder, "table.csv"), index=frame.index.name is not None)
        if isinstance(data := read(path, wanted=wanted), Measurements):
            return data.without_file()
        data.source = "table"
        return data
    return plain


def read_one(
    path: str | os.PathLike[str], reader: str | None, wanted: Sequence[type], options: Mapping[str, Any]
) -> Reading:
    """Read a file by the named reader, or by the one that is surest; options of all data only if it has them too."""
    with Source(path) as source:
        if reader is None:
            reader, implementation = recognise(source)
        else:
            implementation = registry().load("readers", reader)()
        if unused := options.keys() - {item.name for item in describe(implementation.Options)}:
            unused = unused.intersection(item.name for item in shared_options())
        values = {**implementation.options_for(wanted), **{key: options[key] for key in options if key not in unused}}
        chosen = build(implementation.Options, values, reader)
        try:
            return Reading(implementation.read(source, chosen), reader, 1, frozenset(unused))
        except RecursionError as error:
            raise InputError(source.name, f"nested too deeply: {error}") from error


def _of_one_format(files: Sequence[Path], name: str, reader: str | None) -> tuple[list[Path], str]:
    formats: dict[Path, str] = {}
    passed: list[Path] = []
    for file in files:
        try:
            with Source(file) as source:
                if reader is not None and not registry().load("readers", reader)().sniff(source) > 0:
                    raise InputError(source.name, f"is not in the format {reader!r}")
                formats[file] = reader or recognise(source)[0]
        except InputError:
            if not Path(name).is_dir():
                raise
            passed.append(file)
    if not formats:
        raise InputError(name, f"holds no file that is known here ({listing(map(str, passed), 3)})")
    counts = Counter(formats.values())
    if len(counts) > 1:
        kinds = ", ".join(
            f"{count} of {kind} such as {next(str(file) for file, one in formats.items() if one == kind)}"
            for kind, count in counts.most_common()
        )
        raise InputError(name, f"directory contains several formats: {kinds}; select one with --reader or a pattern")
    if passed:
        progress.note(f"{name}: passed over, of no known format: {listing((file.name for file in passed), 3)}")
    return list(formats), next(iter(counts))


def writer(path: str | os.PathLike[str]) -> Reader:
    """The reader that writes the format that the ending of ``path`` names."""
    suffix = Path(path).suffix.lower()
    entries = registry().entries("readers").values()
    for entry in entries:
        if suffix in entry.suffixes and (implementation := _writing(entry)) is not None:
            return implementation
    endings = [ending for entry in entries if _writing(entry) is not None for ending in entry.suffixes]
    raise OptionError(f"cannot write {os.fspath(path)!r}: the ending must be one of {listing(endings)}")


def _writing(entry: Entry) -> Reader | None:
    with contextlib.suppress(PerfError):  # one that lacks its library must not keep the others from writing
        reader: Reader = entry.load()()
        return reader if reader.writes else None
    return None


def write(data: Any, path: str | os.PathLike[str]) -> None:
    """Write data in the format that the ending of ``path`` names, whole or not at all.

    Raises
    ------
    OptionError
        No reader writes this ending.
    """
    implementation = writer(path)
    refuse_other_kind(path, "trace")
    with atomic_path(path) as temporary:
        implementation.write(data, temporary)
    messages, counters, nested = map(getattr(data, "facts", {}).get, ("messages", "counters", "nested"))
    beside_intervals = {
        "markers": len(getattr(data, "markers", ())) > 0,
        "messages": messages is not None and len(messages().messages) > 0,
        "counters": counters is not None and bool(counters.names),
        "calls within calls": nested,
    }
    if lost := [name for name, is_there in beside_intervals.items() if is_there and name not in implementation.keeps]:
        progress.note(f"{os.fspath(path)} has no {listing(lost, 5)} of {data.source}: its format has no place for them")


class NamePattern:
    """A pattern of file names with fields: ``run_p{p:int}_n{n}.out``."""

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
        """Return the fields of a file, those without a type as texts; None if its name does not match."""
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
        return sorted(without_parts(paths), key=lambda path: natural_order(str(path)))
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
    return sorted(without_parts(set(found)), key=lambda path: natural_order(str(path)))


def _names_files(word: str) -> bool:
    return os.path.exists(word) or (glob.has_magic(word) and bool(glob.glob(word)))  # noqa: PTH110, PTH207


def without_parts(paths: set[Path]) -> set[Path]:
    """Return the files without those that are read with another one, such as the logs of a trace."""
    parts: set[Path] = set()
    endings_of = {path: Path(without_compressed_ending(path.name)).suffix.lower() for path in paths}
    for entry in registry().entries("readers").values():
        anchors = [path for path, ending in endings_of.items() if ending in entry.suffixes]
        with contextlib.suppress(PerfError):  # one that lacks its library says so when its file is read
            reader: type[Reader] = entry.load() if anchors else Reader
            parts |= {path for path in paths if without_compressed_ending(path.name).endswith(reader.parts)
                      and any(_belongs(path, anchor, reader) for anchor in anchors)}  # fmt: skip
    return paths - parts


def _belongs(path: Path, anchor: Path, reader: type[Reader]) -> bool:
    """Return whether a file is ``NAME.*``, or in the folder ``NAME``, next to ``NAME.sts``, packed or not."""
    if path == anchor or anchor.parent not in path.parents:
        return False
    name, own = path.relative_to(anchor.parent).as_posix(), without_compressed_ending(anchor.name)
    if reader.anchors:
        stem = next((own.removesuffix(each) for each in reader.anchors if own.endswith(each)), own)
        return stem != own and without_compressed_ending(name) in {stem + ending for ending in reader.parts}
    return name.startswith((f"{Path(own).stem}.", f"{Path(own).stem}/"))


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


def natural_order(name: str) -> tuple[list[tuple[int, str]], str]:
    """Return a key by which ``cpu2`` comes before ``cpu10``."""
    parts = [part.lstrip("0") if place % 2 else part for place, part in enumerate(re.split("([0-9]+)", name))]
    return [(len(part) * (place % 2), part) for place, part in enumerate(parts)], name


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
    the attribute ``join_options`` of the data names; the paths; and with what `read_one`
    reads one of them. With options single files go through it too.
    """
    fields, reading = _name_fields(paths, pattern), read(paths[0])
    kind, first = type(reading.data), [reading.data]
    method, options_class = getattr(kind, "join", None), options_of_join(kind)
    declared, description = {item.name for item in describe(options_class)}, f"holds {type_in_words(reading.data)}"
    if unknown := reading.unused - declared:
        flags = listing(item.flag for item in shared_options() if item.name in unknown)
        raise OptionError(f"{name}: {description}, which {flags} does not apply to")
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
                raise InputError(str(path), f"holds {type_in_words(data)}, and {paths[0]} {description}")
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


def _name_fields(paths: Sequence[Path], pattern: NamePattern | None) -> list[dict[str, Any]]:
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
