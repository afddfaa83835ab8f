"""Names that are too long for a label: states of C++ programs, call paths, files."""

from __future__ import annotations

import fnmatch
import glob
import os
import re
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath

from perfcore.tables import shorten

LABEL_LETTERS = 34  # of a name next to an axis, where a picture still has most of its width
_MOST_APART = 2 * LABEL_LETTERS  # of a name that others look like
_CODE = re.compile(r"::|\w ?<.*>|\w\(.*\)")
_ANONYMOUS = re.compile(r"\(anonymous namespace\)::|\{anonymous\}::|<unnamed>::")
_OPERATOR = re.compile(r"\boperator\s*(<=>|<<=?|>>=?|<=?|>=?|->\*?|\(\))")  # its brackets open nothing
_SEVERAL = re.compile(r" \(\d+ (ranks|files)\)$")  # behind the name of files that are one run
_HIDDEN = "operator@"
READ_BY: dict[str, str] = {}  # --reader and -r with which files were read, which suggested commands repeat
_QUALIFIERS = re.compile(r"(?:\w+::)+")


def shortened(name: str, most: int = LABEL_LETTERS) -> str:
    """Return a name on one line; the middle is left out if it is too long, since names differ at both ends."""
    line = " ".join(name.split())
    tail = most // 3
    return line if len(line) <= most else f"{line[: most - tail - 1]}…{line[-tail:]}"


def shortened_apart(names: Sequence[str], most: int) -> list[str]:
    """Return names on one line, shortened so that different ones still look different."""
    return shorten([" ".join(name.split()) for name in names], most)


def unique_suffixes(names: Sequence[str]) -> list[str]:
    """Return the ends of paths that are enough to tell different ones apart."""
    parts = [PurePath(name).parts for name in names]
    longest = max(map(len, parts), default=0)
    for kept in range(1, longest):
        ends = [str(PurePath(*each[-kept:])) if each else name for name, each in zip(names, parts, strict=True)]
        if len(set(ends)) == len(set(names)):
            return ends
    return list(names)


def plain_name(name: str, *, templates: bool = False) -> str:
    """Return the name of a function alone, if a name looks like one of C++; any other as it is."""
    line = " ".join(name.split())
    if not _CODE.search(line):
        return line
    hidden = _OPERATOR.findall(line)
    text = _OPERATOR.sub(_HIDDEN, _ANONYMOUS.sub("", line)).removesuffix(" const")
    function = _split(_split(text, "(")[0], " *&")[-1]
    parts = [part for part in _split(function, ":") if part]
    if not parts:
        return line
    # An operator or a constructor means little without its class.
    bare = [part.partition("<")[0] for part in parts]
    kept = 2 if len(parts) > 1 and (bare[-1] == _HIDDEN or bare[-1] == bare[-2]) else 1
    short = "::".join((parts if templates else bare)[-kept:])
    short = _QUALIFIERS.sub("", short).replace(" >", ">") if templates and kept == 1 else short
    short = short.replace(_HIDDEN, f"operator{hidden[-1]}") if hidden else short
    return short if re.search(r"\w", short) else line


def _split(text: str, separators: str) -> list[str]:
    """Return parts between separators that stand in no brackets; empty ones only of an empty text."""
    parts, depth = [""], 0
    for letter in text:
        if not depth and letter in separators:
            parts.append("")
            depth += letter == "("  # arguments open where they part
            continue
        depth = max(depth + (letter in "<([{") - (letter in ">)]}"), 0)
        parts[-1] += letter
    return [part for part in parts if part] or [""]


def short_name(name: str, most: int = LABEL_LETTERS) -> str:
    """Return the plain name of a function, short enough for a line of text."""
    return shortened(plain_name(name), most)


def plain_names(names: Sequence[str], most: int = LABEL_LETTERS) -> list[str]:
    """Return short names for a table; those that look alike keep their templates, or all, or are numbered."""
    labels = [short_name(name, most) for name in names]
    for k in _alike(labels):
        labels[k] = shortened(plain_name(names[k], templates=True), max(most, _MOST_APART))
    for k in _alike(labels):
        labels[k] = shortened(names[k], max(most, _MOST_APART))
    counts = Counter[str]()
    for k in _alike(labels):
        counts[labels[k]] += 1
        labels[k] = f"{short_name(names[k], most)} [{counts[labels[k]]}]"
    return labels


def _alike(names: Sequence[str]) -> list[int]:
    """Return where names stand that stand elsewhere too."""
    counts = Counter(names)
    return [k for k, name in enumerate(names) if counts[name] > 1]


def existing_file(*sources: str) -> str:
    """Return files, folders or patterns as a command takes them, and how they were read; empty if one is not there."""
    sources = tuple(_SEVERAL.sub("", source) for source in sources)
    for source in sources:
        if not (os.path.exists(source) or (glob.has_magic(source) and glob.glob(source))):  # noqa: PTH110, PTH207
            return ""
    read_by = (words for source in sources for path, words in READ_BY.items() if path == source
               or fnmatch.fnmatchcase(path, source) or path.startswith(f"{source.rstrip('/')}/"))  # fmt: skip
    return f"{shlex.join(sources)}{next(read_by, '')}"
