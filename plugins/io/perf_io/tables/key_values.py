"""Lines of ``key=value``, as programs log them: a row for each line, or for each block, a column for each key."""

from __future__ import annotations

import csv
import functools
import io
import itertools
import re
from collections import Counter
from collections.abc import Callable, Sequence

from perfcore.data.columns import is_called_time, is_processors, is_size, words, words_of
from perfcore.data.selection import is_number
from perfcore.data.units import unit_of_text

# `ranks=128`, `time: 2.3s`, `elapsed = 812.3 s`, `took 812.3 s`
_PAIR = re.compile(
    r"""(?<![^\s,;|(\[{])(?P<key>[A-Za-z_][\w./-]*(?:\[\w+\])?)
    (?: \s*=\s*(?P<value>"[^"]*"|[^\s,;|()\[\]{}"]+) | :?\s+(?P<number>[-+]?[0-9.][^\s,;|]*) )
    (?=\s+(?P<unit>[A-Za-zµμ%/]+)(?:[\s,;|)\]}]|\.?$))?""",
    re.VERBOSE,
)
# `8: 7150ns` and `25000 = 3s`; `Threads: 4`, a line of a block that says the same of each run.
_NUMBER_PAIR = re.compile(r"\s*(?P<level>[0-9]+(?:\.[0-9]+)?)\s*[:=]\s*(?P<value>[0-9.]+\s*(?P<unit>[A-Za-zµμ]*))\s*")
_LINE_PAIR = re.compile(
    r"\s*(?P<key>[^\W\d][^:=|,;\t]*?)\s*[:=]\s*(?P<value>[0-9.][^\s,;|]*(?:\s*[A-Za-zµμ%/]+)?)"
    r"(?:\s*\((?P<unit>[A-Za-zµμ]+)\))?\s*"
)
_COMMA = re.compile(r"(?<![\w.,])([-+]?[0-9]+),([0-9]+)(?![0-9.]|,[0-9])")  # decimal, or between thousands
# `running on 8 processes`, `16 MPI ranks`; `finished in 3.2 seconds`.
_COUNT = re.compile(
    r".*\b(?:across|launched|on|over|running|started|us(?:e|es|ing))\b[^.:=]*?\b(?P<value>[0-9]{1,7}) "
    r"(?P<key>(?:(?:MPI|OpenMP|OMP|CPU|compute|parallel|worker) )?"
    r"(?:process|processor|proc|rank|task|thread|core|node|GPU|CPU))(?:e?s)?\b(?! ?[:=/]| per )",
    re.IGNORECASE,
)
_IN = re.compile(
    r".*\b(?:(?:completed|done|executed|finished|ran|run|solved) in|took) (?P<value>[0-9.]+ ?[A-Za-zµμ]+)\b",
    re.IGNORECASE,
)
_LAUNCH = re.compile(
    r".*\b(?:mpirun|mpiexec|srun|prun|jsrun|aprun)\b.*?\s(?:-n|-np|--np|--ntasks)[\s=]*(?P<value>[0-9]+)\b"
)
# `Time with 4 threads: 2.9 s`: a number with the words before it, and with its unit.
_AMOUNT = r"[0-9]+m[0-9.]+s|[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
_NUMBER = re.compile(
    rf"(?P<before>[A-Za-z_][\w -]{{0,40}}?)?\W{{0,3}}(?<![\w.])(?P<value>{_AMOUNT})"
    r"[ -]?(?P<unit>[A-Za-zµμ]+)?(?![\w.]\w)"
)
_PLURAL = re.compile(r"(?<=[a-z])(?:(?<=s)es|s)\b")
_WHOLES = frozenset(words("words", "whole"))
_FEWEST_LINES = 2
_FEWEST_ALIKE = 3
_LONGEST = 400  # line that speaks of a run
_AROUND = " \t\r\n,;|"


def _pairs(line: str, last: str = "value") -> dict[str, str]:
    """Return values by key; what neither ``=`` nor ``:`` joins to a word is one only with a unit, or as the last."""
    pairs = dict[str, str]()
    end = 0
    for match in _PAIR.finditer(line.rstrip()):
        end = match.end()
        value = (match["value"] or match["number"]).strip('"').rstrip(".:")
        unit = unit_of_text(match["unit"]) if match["unit"] and is_number(value) else None
        is_said = match["value"] is None and line[match.end("key")] != ":"
        if not is_said or (unit is not None and unit.kind == "time"):
            pairs.setdefault(match["key"], f"{value} {match['unit']}" if unit is not None else value)
    return pairs | ({last: tail} if pairs and is_number(tail := line[end:].strip(_AROUND)) else {})


def _row(names: tuple[str, ...], stated: dict[str, str], line: str) -> str:
    """Return the row of a line with some of the keys, with empty cells for the others; any other line is none."""
    pairs = _pairs(line, names[-1])
    if pairs.keys().isdisjoint(names):
        return ""
    pairs, row = stated | pairs, io.StringIO()
    csv.writer(row, lineterminator="").writerow(pairs.get(name, "") for name in names)
    return row.getvalue()


def _pair_of_numbers(line: str) -> str:
    """Return a number and a time behind it as a row; any other line is none."""
    match = _NUMBER_PAIR.fullmatch(line)
    unit = unit_of_text(match["unit"]) if match and match["unit"] else None
    return "" if match is None or (match["unit"] and unit is None) else f"{match['level']},{match['value']}"


def _line_pairs(line: str) -> dict[str, str]:
    """Return the one value of a line by its key, which may be several words, or those by keys of one word."""
    match = _LINE_PAIR.fullmatch(line)
    return _pairs(line, "") if match is None else {match["key"]: f"{match['value']} {match['unit'] or ''}".strip()}


def _stated(line: str) -> dict[str, str]:
    """Return how many processors a line of a log says that there were, how large the problem, or how long it took."""
    pairs = {f"{match['key']}s".replace("sss", "sses"): match["value"]} if (match := _COUNT.match(line)) else {}
    pairs |= {"processes": match["value"]} if (match := _LAUNCH.match(line)) else {}
    pairs |= {"time": match["value"]} if (match := _IN.match(line)) else {}
    if (match := _LINE_PAIR.fullmatch(line)) is None:
        return pairs
    key, value = match["key"], f"{match['value']} {match['unit'] or ''}".strip()
    is_told = is_processors(key) or is_size(key) or (is_called_time(key) and is_number(value.partition(" ")[0]))
    return pairs | ({key: value} if is_told else {})


def _skeleton(line: str) -> str:
    """Return a line without its numbers and plurals, which is the same for each of several runs."""
    return _PLURAL.sub("", re.sub(_AMOUNT, "#", line.strip()).lower())


def _run_of_line(line: str) -> dict[str, str]:
    """Return how many processors a line speaks of, and what time they took; nothing unless it says both, each once."""
    run = dict[str, str]()
    for match in _NUMBER.finditer(line[:_LONGEST]):
        before, word = (match["before"] or "").strip(), match["unit"] or ""
        unit, joined = unit_of_text(word), line[match.end("before") : match.start("value")].strip()
        is_time = re.search("m.*s", match["value"]) is not None or (unit is not None and unit.kind == "time")
        if is_processors(f"n_{word}"):
            run.setdefault(word if word.endswith("s") else f"{word}s", match["value"])
        elif is_time or (is_called_time(before) and not word):
            run.setdefault("time", f"{match['value']} {word}".strip())
        elif before and joined[:1] in ("=", ":"):
            run.setdefault(before, match["value"])
    return run if "time" in run and sum(map(is_processors, run)) == 1 else {}


def _row_of_run(skeleton: str, line: str) -> str:
    """Return the row of a line that differs from others in its numbers alone; any other line is none."""
    return ",".join(_run_of_line(line).values()) if _skeleton(line) == skeleton else ""


class _Blocks:
    """Rows of blocks of lines that say the same of each run: a row is there once the last line of its block is."""

    def __init__(self, names: tuple[str, ...], pairs_of: Callable[[str], dict[str, str]] = _line_pairs) -> None:
        self.names, self._pairs_of, self._cells = names, pairs_of, dict[str, str]()

    def __call__(self, line: str) -> str:
        pairs = self._pairs_of(line)
        self._cells = {} if self.names[0] in pairs else self._cells
        self._cells |= {key: value for key, value in pairs.items() if key in self.names}
        return ",".join(self._cells.values()) if self.names[-1] in pairs and (*self._cells,) == self.names else ""


def _unlike(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names that differ in more than case: of ``N`` and ``n`` the second is ``n_2``."""
    before = [[other.casefold() for other in names[:k]] for k in range(len(names))]
    return tuple(f"{name}_2" if name.casefold() in others else name for name, others in zip(names, before, strict=True))


def key_values(
    lines: Sequence[str], decimal: str = "auto"
) -> tuple[tuple[str, ...], Callable[[str], str], tuple[str, ...]] | None:
    """Return keys, what makes rows of lines, and notes, if most lines hold pairs, at least two with a number."""
    commas = [match for line in lines for match in _COMMA.finditer(line)]
    has_points = any(re.search("[0-9][.][0-9]", line) for line in lines)
    is_decimal = decimal == "," or (not has_points and any(len(match[2]) != 3 for match in commas))
    if commas and (is_decimal or all(len(match[2]) == 3 for match in commas)):
        with_point = functools.partial(_COMMA.sub, r"\1.\2" if is_decimal and decimal != "." else r"\1\2")
        note = "numbers have a decimal comma" if is_decimal else "commas part thousands; if not: -r decimal=,"
        if (found := _key_values(list(map(with_point, lines)))) is not None:
            return found[0], lambda line: found[1](with_point(line)), (*found[2], note)
    return _key_values(lines)


def _key_values(lines: Sequence[str]) -> tuple[tuple[str, ...], Callable[[str], str], tuple[str, ...]] | None:
    lines = [line for line in lines if line.strip()]
    headings = [above.split()[-1] for above, line in itertools.pairwise(lines) if _pairs(line) and not _pairs(above)]
    last = next(filter(str.isidentifier, reversed(headings)), "value")  # the name of a number behind the pairs
    found = [tuple(pairs) for line in lines if len(pairs := _pairs(line, last)) > 1]
    names, count = Counter(found).most_common(1)[0] if found else ((), 0)
    alike = {_skeleton(line): line for line in lines if _run_of_line(line)}
    if len(alike) == 1 and not any(map(is_called_time, names)):
        skeleton, line = alike.popitem()
        if sum(_skeleton(line) == skeleton for line in lines) >= _FEWEST_ALIKE:
            names, note = tuple(_run_of_line(line)), f"read from the lines {skeleton!r}"
            return _unlike(names), functools.partial(_row_of_run, skeleton), (note,)
    if count >= _FEWEST_LINES and 2 * count > len(lines):
        above = itertools.takewhile(lambda line: len(_pairs(line)) < _FEWEST_LINES, lines)
        counts = {} if any(map(is_processors, names)) else {k: v for line in above for k, v in _stated(line).items()}
        stated = {key: value for key, value in counts.items() if is_processors(key)}
        notes = (f"read from the lines above: {', '.join(stated)}",) * bool(stated)
        names = (*stated, *names)
        return _unlike(names), functools.partial(_row, names, stated), ("each line of key=value is a row", *notes)
    of_lines = [_line_pairs(line) for line in itertools.dropwhile(lambda line: not _line_pairs(line), lines)]
    keys = [key for pairs in of_lines for key in pairs]
    size = keys[1:].index(keys[0]) + 1 if keys and keys[0] in keys[1:] else 0
    n_blocks, block = len(keys) // max(size, 1), tuple(keys[:size])
    if size > 1 and n_blocks > 2 and keys == [*block * (n_blocks + 1)][: len(keys)] and 2 * len(keys) >= len(of_lines):
        others = Counter(line for line, pairs in zip(lines[-len(of_lines) :], of_lines, strict=True) if not pairs)
        if not any(count < n_blocks and re.search(r"[0-9]", line) for line, count in others.items()):  # nothing is lost
            return _unlike(block), _Blocks(block), (f"each block of lines from {block[0]} on is a row",)
    levels = [float(row.partition(",")[0]) for line in lines if (row := _pair_of_numbers(line))]
    if len(levels) > 2 and 2 * len(levels) >= len(lines) and levels == sorted(levels):
        names = ("p", "time") if levels[0] >= 1.0 and all(level % 1.0 == 0.0 for level in levels) else ("x", "y")
        return names, _pair_of_numbers, (f"no line of column names: assumed {' and '.join(names)}",)
    keys = [key for line in lines for key in _stated(line)]
    n_runs = min((keys.count(key) for key in keys if is_processors(key)), default=0)
    names = tuple(key for key in dict.fromkeys(keys) if keys.count(key) == n_runs)
    if any(is_called_time(name) and not _WHOLES.isdisjoint(words_of(name)) for name in names):
        names = tuple(name for name in names if name != "time")  # what was done in it was a part of the run
    if [key for key in keys if key in names] == [*names * n_runs] and any(map(is_called_time, names)):
        return _unlike(names), _Blocks(names, _stated), (f"read from the lines of a log: {', '.join(names)}",)
    return None
