"""Names of functions without what a table has no room for: return types, arguments, templates and namespaces."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from perf_views.short_names import shortened, shortened_apart

__all__ = ["plain_name", "plain_names"]

_MOST_LETTERS = 34
_CODE = re.compile(r"::|\w ?<.*>|\w\(.*\)")
_ANONYMOUS = re.compile(r"\(anonymous namespace\)::|\{anonymous\}::|<unnamed>::")
_OPERATOR = re.compile(r"\boperator\s*(<=>|<<=?|>>=?|<=?|>=?|->\*?|\(\))")  # its brackets open nothing
_HIDDEN = "operator@"
_QUALIFIERS = re.compile(r"(?:\w+::)+")


def plain_name(name: str, *, templates: bool = False) -> str:
    """The name of a function alone, where a name looks like one of C++; any other as it is.

    Parameters
    ----------
    name : str
    templates : bool
        With the arguments of its templates.

    Examples
    --------
    >>> plain_name("void at::native::vectorized_kernel<4, at::Add<float> >(int, at::Add<float>)")
    'vectorized_kernel'
    >>> plain_name("void at::native::vectorized_kernel<4, at::Add<float> >(int, at::Add<float>)", templates=True)
    'vectorized_kernel<4, Add<float>>'
    >>> plain_name("Memcpy (Host -> Device)"), plain_name("std::set<int>::operator()(int)")
    ('Memcpy (Host -> Device)', 'set::operator()')
    """
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
    found = "::".join((parts if templates else bare)[-kept:])
    found = _QUALIFIERS.sub("", found).replace(" >", ">") if templates and kept == 1 else found
    found = found.replace(_HIDDEN, f"operator{hidden[-1]}") if hidden else found
    return found if re.search(r"\w", found) else line


def _split(text: str, separators: str) -> list[str]:
    """Parts between separators that stand in no brackets; empty ones only of an empty text."""
    parts, depth = [""], 0
    for letter in text:
        if not depth and letter in separators:
            parts.append("")
            depth += letter == "("  # arguments open where they part
            continue
        depth = max(depth + (letter in "<([{") - (letter in ">)]}"), 0)
        parts[-1] += letter
    return [part for part in parts if part] or [""]


def plain_names(names: Sequence[str]) -> list[str]:
    """Plain names, short enough for a table; those that would look alike keep their templates, or all.

    Examples
    --------
    >>> plain_names(["la::gemm<double>(int)", "la::gemm<float>(int)", "MPI_Wait"])
    ['gemm<double>', 'gemm<float>', 'MPI_Wait']
    """
    found = [shortened(plain_name(name), _MOST_LETTERS) for name in names]
    counts = Counter(found)
    alike = [at for at, short in enumerate(found) if counts[short] > 1]
    longer = [plain_name(names[at], templates=True) for at in alike]
    if len(set(longer)) < len({names[at] for at in alike}):
        longer = [names[at] for at in alike]
    for at, name in zip(alike, shortened_apart(longer, _MOST_LETTERS), strict=True):
        found[at] = name
    return found
