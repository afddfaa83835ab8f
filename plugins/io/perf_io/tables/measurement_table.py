"""Tables of measurements: every column is kept, since any may name a code, select rows, or hold operation counts."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perf_io.options import TableOptions
from perf_io.tables.duck import DECIMAL_COMMA, LARGEST_FOLD, Table, Texts, decimal_hint, number_of, quoted, quoted_name
from perf_tables.meanings import SUM_ROUNDING, are_alternatives, meaning_of_name
from perfcore.base import pd, progress
from perfcore.base.arrays import Booleans, Ints
from perfcore.base.errors import InputError, OptionError, listing
from perfcore.data.columns import (
    guess_roles,
    is_called_rate,
    is_called_time,
    is_named,
    is_processors,
    is_run_identifier,
    is_size,
    plain_name,
    spread_kind,
    words,
    words_of,
)
from perfcore.data.measurements import Measurements
from perfcore.data.units import is_time, split_unit, unit_of

# Steps that make a table tidy, a row for each run and a column for each quantity, and say in a note what they did.

# Words that number the runs of one point, and what is measured in each of them.
_RUNS, _MEASURED, _VERSIONS = (frozenset(words("beside", kind)) for kind in ("runs", "measured", "versions"))
_NUMBERED = re.compile(r"(?P<stem>.*?[^\d\W_])?[\s_#.\-]*\(?(?P<number>[0-9]{1,3})\)?")
_ALIKE = 2.0  # between the longest and the shortest run of a point, as a rule
_DERIVED = {statistic: words("beside", statistic) for statistic in ("mean", "median", "min", "max")}
_KINDS = ("time", "rate", "part", "whole", "no_time")
_TIMES, _RATES, _PARTS, _WHOLES, _NO_TIMES = (frozenset(words("words", kind)) for kind in _KINDS)
_OWN, _INCLUSIVE, _CALLS = (frozenset(words("words", kind)) for kind in ("own", "inclusive", "calls"))
_COUNT = re.compile(
    r"(?P<before>[^\W\d]*?)[\s_]*(?P<equals>[=:]?)[\s_]*(?P<number>[0-9]+(?:\.[0-9]+)?)[\s_]*(?P<after>[^\W\d]*)"
)
_LEVEL_BEHIND = re.compile(r"(?P<stem>\S.*?)[\s,;_(]+(?P<word>[A-Za-z]\w*?)\s*=\s*(?P<number>[0-9]+(?:\.[0-9]+)?)\)?")
_VERSION = re.compile(r"(?:v|version|rev)[\s_.]?[0-9]+(?:\.[0-9]+)*\w*|[0-9]+\.[0-9]+\.[0-9]+\w*", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.])[0-9]+(?:\.[0-9]+)?(?![\w.])|(?<=[=a-zA-Z])[0-9]+(?:\.[0-9]+)?(?![\w.])")
# Options of a launcher with their values, of which the last is the number of processes.
_LAUNCH = re.compile(
    r"\b(?:mpirun|mpiexec(?:\.\w+)?|srun|prun|jsrun|aprun)(?:\s+-[^\s=]+(?:=\S*|\s+[^-\s./]\S*)?)*?\s+(?:-n|-np|--np|--ntasks)[\s=]*$"
)
_BEFORE = (r"(?<![\w.])", r"(?<![0-9.])")  # a value of a parameter: blanks, or letters as in -j4
_RANKS = frozenset(plain_name(word) for level in ("process", "thread", "core") for word in words("levels", level))
_OUTCOMES = ("states", "exits", "done", "failed")
_WORDS = {name: frozenset(words("outcome", name)) for name in (*_OUTCOMES, "good", "bad")}
_YES_OR_NO = {"true": "good", "yes": "good", "1": "good", "false": "bad", "no": "bad", "0": "bad"}
_OPPOSITE = {"good": "bad", "bad": "good"}
_LONGEST_LIST = 5
_AT_ONCE = 64  # columns that a query looks at
# Texts that may be equal as numbers though they differ, as the versions 1.1 and 1.10 do.
_SWAPPED_SIGNS = {ord("."): "", ord(","): "."}  # points between thousands go
_UNUSUAL = r"^[+]|^-?\.|^-?0[0-9]|[eE]|\.$|^-[0.]+$|\s"


@dataclass
class Tidy:
    """A table on its way; the index of its rows is that of the rows in the file."""

    frame: pd.DataFrame
    roles: dict[str, Any] = field(default_factory=dict)  # of columns that a step made, as `Measurements` takes them
    notes: list[str] = field(default_factory=list)


class Group(NamedTuple):
    """Columns that are one quantity, and what distinguishes them."""

    columns: tuple[str, ...]
    levels: tuple[Any, ...]
    name: str  # of what distinguishes them
    quantity: str


def numbered_runs(columns: Sequence[str]) -> Group | None:
    """Return columns such as ``t1,t2,t3`` or ``run 1 [s],run 2 [s]``, which are several runs of each row."""
    groups: dict[tuple[str, str], dict[int, str]] = {}
    for column in columns:
        bare, unit = split_unit(column)
        if (match := _NUMBERED.fullmatch(bare.strip())) is not None:
            key = ((match["stem"] or "").lower(), "" if unit is None else unit.label)
            groups.setdefault(key, {})[int(match["number"])] = column
    for (stem, label), of_number in groups.items():
        *before, last = [word for word in re.split(r"[\W_]+", stem) if word] or [""]
        first = min(of_number)
        if len(of_number) < 2 or first > 1 or sorted(of_number) != list(range(first, first + len(of_number))):
            continue
        if last in _RUNS or (last in _MEASURED and len(of_number) > 2):
            quantity = "_".join(before if last in _RUNS else [*before, last]) or ("time" if is_time(label) else "value")
            numbers = sorted(of_number)
            name = f"{quantity}_{label}" if label else quantity
            return Group(tuple(of_number[k] for k in numbers), tuple(numbers), "run", name)
    return None


def _repetitions_in_columns(tidy: Tidy, named: Set[str]) -> None:
    frame = tidy.frame
    group = numbered_runs([str(column) for column in frame.columns])
    if group is None or (not named.isdisjoint(group.columns) and not named >= {*group.columns}):
        return
    runs = frame[list(group.columns)].apply(_numbers)
    folds = (runs.max(axis=1) / runs[runs > 0].min(axis=1)).dropna()
    is_numbered = split_unit(group.columns[0])[0].lower().startswith(tuple(_RUNS))
    if not runs.notna().any(axis=None) or (not is_numbered and (not len(folds) or folds.median() > _ALIKE)):
        return
    derived = []
    for statistic, names in _DERIVED.items():
        expected = getattr(runs, statistic)(axis=1)
        for column in frame.columns:
            given = _numbers(frame[column])
            if split_unit(str(column))[0].lower() in names and (abs(given / expected - 1) < 0.01).all():
                derived.append(str(column))
    left = frame.drop(columns=derived)
    _melt(tidy, left, group)
    numbers = [c for c in map(str, left.columns) if c not in group.columns and left[c].dtype.kind in "iuf"]
    if not any(map(is_processors, numbers)) and (varied := [c for c in numbers if left[c].nunique() > 1]):
        tidy.roles["parameters"] = varied[:1]
    tidy.notes.append(
        f"{listing(group.columns, 4)} are {len(group.columns)} repetitions of each row"
        + (f"; {listing(derived)} follows from them" if derived else "")
    )


def _merged_cells(tidy: Tidy, named: Set[str]) -> None:
    """Fill the empty cells of leading columns in which each block of rows is named once, as in merged cells."""
    for column in tidy.frame.columns:
        cells = tidy.frame[column]
        if not cells.isna().any():
            return
        names = cells.dropna()
        blocks = cells.notna().cumsum().value_counts()  # rows by number of the name above; 0 if there is none
        if 0 in blocks or len(names) < 2 or blocks.min() < 2 or not names.is_unique:
            return
        tidy.frame = tidy.frame.assign(**{str(column): cells.ffill()})
        tidy.notes.append(f"assumed: an empty cell of {column} is as the one above")


def levels_of_columns(columns: Sequence[str]) -> Group | None:
    """Return columns such as ``1,2,4,8`` or ``p=1,p=2,p=4``, whose names are levels of a parameter, or versions."""
    versions = [c for c in columns if _VERSION.fullmatch(c) or split_unit(c)[0].lower() in _VERSIONS]
    if len(versions) > 1 and len({unit_of(version) for version in versions}) == 1:
        unit = unit_of(versions[0])
        names = tuple(split_unit(version)[0] for version in versions)
        return Group(tuple(versions), names, "version", f"value_{unit}" if unit else "value")
    behind: dict[tuple[str, ...], dict[float, str]] = {}
    for column in columns:
        if match := _LEVEL_BEHIND.fullmatch(column.strip()):
            behind.setdefault(match.group("stem", "word"), {})[float(match["number"])] = column
    for (stem, word), of_level in behind.items():
        if len(levels := sorted(of_level)) > 1 and len(levels) < len(columns):
            return Group(tuple(of_level[level] for level in levels), tuple(levels), word, stem)
    groups: dict[str, dict[float, str]] = {}
    for column in columns:
        bare = split_unit(column)[0] if column.endswith("]") else column.strip()
        if (match := _COUNT.fullmatch(bare)) is None or (match["before"] and match["after"]):
            continue
        word = match["before"] or match["after"]
        if word.lower() == "p" and not match["equals"] and bare != column.strip():
            continue  # p95 [s] is a percentile
        if not word or match["equals"] or is_processors(f"n_{word}") or is_processors(word):
            groups.setdefault(word, {})[float(match["number"])] = column
    for several in [word for word in groups if word.removesuffix("s") in groups and word.endswith("s")]:  # "1 rank"
        groups[several] |= groups.pop(several.removesuffix("s"))
    for word, of_level in groups.items():
        levels = sorted(of_level)
        in_order = levels == list(range(1, len(levels) + 1)) and word and "=" not in of_level[levels[0]]
        if len(levels) < 2 or in_order or levels[0] <= 0 or len(of_level) == len(columns):
            continue
        unit = unit_of(of_level[levels[0]]) if of_level[levels[0]].endswith("]") else None
        return Group(
            tuple(map(of_level.__getitem__, levels)), tuple(levels), word, f"value_{unit}" if unit else "value"
        )
    return None


def _levels_in_columns(tidy: Tidy, named: Set[str]) -> None:
    columns = [str(column) for column in tidy.frame.columns]
    group = levels_of_columns(columns)
    if group is None or not named.isdisjoint(group.columns):
        return
    if not tidy.frame[list(group.columns)].apply(_numbers).notna().any(axis=None):
        return
    others = [column for column in columns if column not in group.columns]
    left, name = tidy.frame, group.name
    if not others:
        left, others = left.assign(run=range(1, len(left) + 1)), ["run"]
    if (corner := re.fullmatch(r"(.+?)\s*[\\/]\s*(.+)", others[0])) is not None and not name:
        left, name = left.rename(columns={others[0]: corner[1]}), corner[2]
        others[0] = corner[1]
    if not name and (is_processors(others[0]) or is_size(others[0])) and left[others[0]].dtype.kind not in "iuf":
        labels = left[others[0]].astype(str)
        are_measured = all(is_called_time(each) or is_called_rate(each) or unit_of(each) is not None for each in labels)
        if len(others) == 1 and labels.is_unique and are_measured:  # each row is a column
            cells = left.set_index(labels)[list(group.columns)].T.apply(
                lambda column: found if (found := _numbers(column)).notna().eq(column.notna()).all() else column
            )
            cells = cells.assign(**{others[0]: group.levels})
            tidy.frame = cells.set_index(left.index[:1].repeat(len(cells)))
            tidy.notes.append(f"rows are columns: each has one value for each of {others[0]}")
            return
        left, name = left.rename(columns={others[0]: "series"}), others[0]
        others[0] = "series"
    assumed = not name
    name = name or ("n" if any(map(is_processors, others)) or group.levels[0] > 4 else "p")
    name = f"{name}_" if name in others else name
    texts = [column for column in others if left[column].dtype.kind not in "iuf" and left[column].nunique() > 1]
    group = group._replace(name=name)
    _melt(tidy, left, group)
    if name == "version":
        tidy.roles["code"] = [*texts, name]
    else:
        numbers = [c for c in others if c not in texts and left[c].dtype.kind in "iuf" and left[c].nunique() > 1]
        numbers = [c for c in numbers if not (is_called_rate(c) or is_called_time(c))]
        parts = [text for text in texts if (guessed := guess_roles([text], ())).category or guessed.code]
        others = [text for text in texts if text not in parts]  # alternatives, which don't add up
        varied = sorted([name, *numbers], key=lambda column: not is_processors(column))
        tidy.roles |= {"parameters": varied, "code": parts, "system": others}
    tidy.notes.append(
        f"columns {listing(group.columns, 4)} hold one value each of {name}" + (" (assumed)" if assumed else "")
    )


def parts_of_time(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that are parts of one time, if no other one is the whole.

    Examples
    --------
    >>> parts_of_time(["p", "computation", "imbalance", "transfer"])
    ('computation', 'imbalance', 'transfer')
    """
    names = {column: set(words_of(split_unit(column)[0])) - _TIMES for column in columns}
    parts = [column for column, each in names.items() if each & _PARTS and not is_called_rate(column)]
    others = [column for column in columns if column not in parts]
    times = [column for column in others if is_called_time(column)]
    is_whole = any(names[column] & _WHOLES or (column in times and not names[column]) for column in others)
    parts = [column for column in columns if column in parts or (column in times and len(parts) > 1)]
    return tuple(parts) if len(parts) > 1 and not is_whole and len({unit_of(c) for c in parts}) == 1 else ()


def own_times(columns: Sequence[str]) -> tuple[str, str] | None:
    """Return the column of own times, as of functions, and that of times with what they call, if there is one of each.

    Examples
    --------
    >>> own_times(["function", "ncalls", "tottime", "cumtime"])
    ('tottime', 'cumtime')
    """
    names = {column: {*words_of(split_unit(column)[0] or column)} for column in columns}
    names = {column: found for column, found in names.items() if not found & _CALLS and "%" not in column}
    own = [column for column, found in names.items() if found & _OWN]
    inclusive = [column for column, found in names.items() if found & _INCLUSIVE and column not in own]
    return (own[0], inclusive[0]) if len(own) == len(inclusive) == 1 else None


def _own_times_of_functions(tidy: Tidy, named: Set[str]) -> None:
    """Take own times for what was measured, of functions or whatever else the rows are of."""
    frame = tidy.frame
    numeric = [str(column) for column in frame.columns if frame[column].dtype.kind in "iuf"]
    texts = [str(column) for column in frame.columns if column not in numeric]
    if tidy.roles or named or not texts or (times := own_times(numeric)) is None:
        return
    own, inclusive = times
    if unit_of(own) == unit_of(inclusive) and (frame[own] <= frame[inclusive] * (1.0 + SUM_ROUNDING)).all():
        tidy.frame = frame.rename(columns={inclusive: f"inclusive_{own}"})
        names = [*guess_roles(texts, ()).category, *texts][:1]
        tidy.roles |= {"value": own, "category": names}
        tidy.notes.append(f"{own} is measured; {inclusive} is with what each {names[0]} calls")


def _sum_of_parts(frame: pd.DataFrame) -> tuple[str, tuple[str, ...]] | None:
    """Return the column of the whole time and those that add up to it in every row."""
    are_times = {c: meaning_of_name(c, "number") in ("number", "time") for c in map(str, frame.columns)}
    names = [c for c in frame.columns if are_times[c] and _NO_TIMES.isdisjoint(words_of(split_unit(c)[0]))]
    times = [c for c in names if not is_processors(c) and ((frame[c] % 1 != 0).any() or frame[c].nunique() > 1)]
    for whole in times:
        if not (_WHOLES & {*words_of(split_unit(whole)[0])} or is_called_time(whole)):
            continue
        free = [column for column in times if column != whole and unit_of(column) == unit_of(whole)]
        cells = frame[[whole, *free]]
        if len(free) < 2 or len(cells) < 2 or not ((cells >= 0).all(axis=None) and (cells[free] > 0).any().all()):
            continue
        if (abs(cells[free].sum(axis=1) - cells[whole]) <= SUM_ROUNDING * cells[whole]).all():
            return whole, tuple(free)
    return None


def _parts_in_columns(tidy: Tidy, named: Set[str]) -> None:
    """Make rows of columns that are parts of one time: together they are the total."""
    frame = tidy.frame
    numeric = [str(column) for column in frame.columns if frame[column].dtype.kind in "iuf"]
    if tidy.roles or named or not guess_roles(numeric, set(numeric)).parameters:
        return
    if (added := _sum_of_parts(frame[numeric])) is not None:
        whole, parts = added
        quantity, role = whole, f"parts of {whole}"
        frame = frame.drop(columns=[whole])
    elif parts := parts_of_time(numeric):
        unit = unit_of(parts[0])
        # Fractions in the same unit, of which nothing else is known, are a part too: else the sum would be too small.
        unknown = [c for c in numeric if unit_of(c) == unit and meaning_of_name(c, "number") == "number"]
        like = {c for c in unknown if (frame[c] % 1 != 0).any() and not _NO_TIMES & {*words_of(c)}}
        parts = tuple(column for column in numeric if column in like or column in parts)
        quantity, role = f"time_{unit}" if unit else "time", "parts of one time"
    else:
        return
    names = [split_unit(part)[0] or part for part in parts]
    _melt(tidy, frame, Group(parts, tuple(names), "category", quantity))
    tidy.roles["category"] = ["category"]
    tidy.notes.append(
        f"{listing(parts, 4)} are {role}, which is their sum (choose one with --where category={names[0]})"
    )


def ways_of_columns(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns behind a size or a number of processors that no word explains: one for each way to run.

    Examples
    --------
    >>> ways_of_columns(["n", "quicksort", "mergesort"])
    ('quicksort', 'mergesort')
    """
    first, *others = columns
    meanings = [meaning_of_name(c, "number") for c in others if unit_of(c) is None]
    are_plain = 1 < len(others) == sum(meaning in ("number", "size") for meaning in meanings)
    roles = guess_roles(others, set(others))
    is_free = roles.value is None and not roles.parameters and not parts_of_time(others)
    return (
        tuple(others)
        if are_plain and is_free and meanings.count("number") > 1 and (is_size(first) or is_processors(first))
        else ()
    )


def _ways_in_columns(tidy: Tidy, named: Set[str]) -> None:
    """Make rows of columns that are named after ways to run, if no point comes twice and no column steps in levels."""
    frame, columns = tidy.frame, [str(column) for column in tidy.frame.columns]
    if tidy.roles or not named <= {columns[0]} or not (ways := ways_of_columns(columns)):
        return
    cells = frame.apply(_numbers)
    if not frame[[*ways]].isna().eq(cells[[*ways]].isna()).all(axis=None) or not cells[columns[0]].notna().all():
        return
    if (cells <= 0).any(axis=None) or not (cells.nunique() == cells.count()).all() or (cells % 1 == 0).all(axis=None):
        return
    if any((cells[way] % 1 == 0).all() for way in filter(is_size, ways)):
        return
    if (cells[list(ways)].max(axis=1) / cells[list(ways)].min(axis=1)).median() > LARGEST_FOLD:
        return
    are_rates = all(not _RATES.isdisjoint(words_of(way)) for way in ways)
    _melt(tidy, frame, Group(ways, ways, "column", "rate" if are_rates else "value"))
    tidy.roles |= {"parameters": [columns[0]], "code": [], "system": ["column"]}  # alternatives, which do not add up
    tidy.notes.append(
        f"{listing(ways, 4)} are a series each over {columns[0]} (choose one with --where column={ways[0]})"
    )


def _melt(tidy: Tidy, left: pd.DataFrame, group: Group) -> None:
    """Make a row of each cell of some columns."""
    quantity = group.quantity if group.quantity not in left.columns else f"{group.quantity} measured"
    name = group.name if group.name not in left.columns else f"{group.name} number"
    rest = left.drop(columns=list(group.columns))
    cells = [
        rest.assign(**{name: column if group.name == "run" else level, quantity: left[column]})
        for column, level in zip(group.columns, group.levels, strict=True)
    ]
    tidy.frame = pd.concat(cells).sort_index(kind="stable")
    tidy.roles["value"] = quantity


def _numbers(column: pd.Series) -> pd.Series:
    return pd.to_numeric(column, errors="coerce").astype("float64")


def _commands(tidy: Tidy, named: Set[str]) -> None:
    """Read the number in which commands differ; other commands are series of their own."""
    frame = tidy.frame
    if "command" not in frame.columns or "command" in named or frame["command"].isna().any() or tidy.roles:
        return
    series, numbers = numbers_of_commands([str(command) for command in frame["command"]], [{}] * len(frame))
    for name, values in numbers.items():
        if name not in frame.columns and not any(map(is_processors, map(str, frame.columns))):
            tidy.frame = frame.assign(command=series)
            tidy.frame[name] = values
            tidy.roles = {"parameters": [name], "code": ["command"] if len(set(series)) > 1 else []}
            tidy.notes.append(f"{name} is the number in which the commands differ")


def _template(command: str, values: Mapping[str, Any], before: str) -> str:
    """Return a command with ``{name}`` in place of the values of its parameters."""
    texts = {f"{v:g}" if isinstance(v, float) else str(v): f"{{{name}}}" for name, v in values.items()}
    pattern = "|".join(re.escape(text) for text in sorted(filter(None, texts), key=len, reverse=True))
    parts = re.split(rf"{before}({pattern})(?![\w.])", command) if pattern else [command]
    return "".join(texts.get(part, part) for part in parts)


def numbers_of_commands(
    commands: Sequence[str], parameters: Sequence[Mapping[str, Any]]
) -> tuple[list[str], dict[str, list[float]]]:
    """Return each command without what was varied in it, and the numbers that were if no parameter holds them.

    Values of parameters become ``{name}``. Without parameters commands that differ in one number alone have that
    number varied, which is called as the option before it.
    """
    templates = min(
        ([_template(*pair, before) for pair in zip(commands, parameters, strict=True)] for before in _BEFORE),
        key=lambda series: len(set(series)),
    )
    if any(parameters) or len(set(commands)) < 2:
        points = [tuple(values.items()) for values in parameters]
        if len(set(zip(points, commands, strict=True))) == len(set(points)):  # one command at each point
            templates = [_NUMBER.sub("#", template) for template in templates]
        return templates, {}
    bare = [_NUMBER.sub("{}", command) for command in commands]
    cells = [_NUMBER.findall(command) for command in commands]
    varied = {
        template: [k for k, column in enumerate(zip(*rows, strict=True)) if len(set(column)) > 1]
        for template in dict.fromkeys(bare)
        if (rows := [row for row, one in zip(cells, bare, strict=True) if one == template])
    }
    places = {tuple(places) for places in varied.values()}
    if len(places) != 1 or len(only := places.pop()) != 1:
        return templates, {}
    numbers = [float(row[only[0]]) for row in cells]
    text = "{}".join(bare[0].split("{}")[: only[0] + 1])
    before = re.search(r"([A-Za-z][\w-]*)[\s=]*$", text)
    name = "processes" if _LAUNCH.search(text) else re.sub(r"\W", "_", before[1]) if before else "n"
    series = []
    for template, row in zip(bare, cells, strict=True):
        kept = [*row[: only[0]], f"{{{name}}}", *row[only[0] + 1 :], ""]
        series.append("".join(itertools.chain(*zip(template.split("{}"), kept, strict=True))))
    return series, {name: numbers}


def _total_processors(tidy: Tidy, named: Set[str]) -> None:
    """Add the number of processors, where nodes and what runs on each are columns, and one layout has it."""
    frame = tidy.frame
    plain = {str(column): re.sub(r"[\s\-]+", "_", str(column).strip()) for column in frame.columns}
    nodes = [column for column, name in plain.items() if is_named("nodes", name)]
    parts = [column for column, name in plain.items() if is_named("of_node", name)]
    grid = [column for column, name in plain.items() if is_named("grid", name)]
    if len(grid) > 1 and not nodes:  # P x Q of a process grid
        nodes, parts = grid[:1], grid[1:]
    threads = [column for column, name in plain.items() if is_named("threads_of_process", name)]
    if tidy.roles or named or len(nodes) != 1 or not parts or not {*parts, *threads}.isdisjoint(nodes):
        return
    sides = list(dict.fromkeys([*nodes, *parts, *threads]))
    counts = frame[sides]
    known = [c for c in map(str, frame.columns) if c not in sides and is_processors(c)]
    if known or any(kind.kind not in "iuf" for kind in counts.dtypes) or not (counts >= 1).all(axis=None):
        return
    total = counts.prod(axis=1)
    if (counts.drop_duplicates().assign(total=total).duplicated("total")).any() or total.nunique() < 2:
        return  # layouts of one number of processors are not repetitions
    tidy.frame = frame.assign(processors=total)
    tidy.roles["parameters"] = ["processors"]
    tidy.notes.append(f"processors is {' x '.join(sides)}")


def _processes_with_threads(tidy: Tidy, named: Set[str]) -> None:
    """Take processors, or processes and threads, as varied if each number of processes was run with one of threads."""
    plain = {str(column): re.sub(r"[\s\-]+", "_", str(column).strip()) for column in tidy.frame.columns}
    sides = [[column for column, text in plain.items() if is_named(name, text)] for name in ("processes", "threads")]
    if tidy.roles or named or [*map(len, sides)] != [1, 1]:
        return
    counts = tidy.frame[[sides[0][0], sides[1][0]]].apply(_numbers)
    pairs, total = counts.drop_duplicates(), counts.prod(axis=1)
    is_one = pairs.iloc[:, 0].is_unique and counts.iloc[:, 1].nunique() > 1 and total.nunique() > 1
    if not is_one or not (counts >= 1).all(axis=None) or tidy.frame.eq(total, axis=0).all().any():
        return  # also if a column has the product
    if total.nunique() == len(pairs) and "processors" not in plain:
        tidy.frame = tidy.frame.assign(processors=total)
        tidy.roles["parameters"] = ["processors"]
        tidy.notes.append(f"processors is {' x '.join(counts.columns)}")
    else:
        tidy.roles["parameters"] = [*counts.columns]


def _half_widths(tidy: Tidy, named: Set[str]) -> None:
    """Add the half width of the interval whose ends are columns around the value."""
    frame, columns = tidy.frame, [str(column) for column in tidy.frame.columns]
    numeric = {column for column in columns if frame[column].dtype.kind in "iuf"}
    value = tidy.roles.get("value") or guess_roles(columns, numeric).value
    plain = {plain_name(re.sub(r"[.,()\[\]]", " ", column)): column for column in numeric}
    for low, high in map(str.split, words("spread", "ends")):
        for name, lower in plain.items():
            upper = plain.get(re.sub(rf"\b{low}\b", high, name))
            is_interval = spread_kind(re.sub(rf" ?\b{low}\b ?(?:bound|limit)?", "", name))[0] == "confidence"
            if value is None or upper in (None, lower) or not is_interval or "ci95" in columns:
                continue
            if ((frame[lower] <= frame[value]) & (frame[value] <= frame[upper])).all():
                tidy.frame = frame.assign(ci95=(frame[upper] - frame[lower]) / 2.0)
                tidy.notes.append(f"{lower} and {upper} are taken as the 95% confidence interval of {value}")
                return


def _slowest_ranks(tidy: Tidy, named: Set[str]) -> None:
    """Keep of the rows of each run, one for each of its processors, the slowest, with the load balance in a note."""
    frame, columns = tidy.frame, [str(column) for column in tidy.frame.columns]
    numeric = {column for column in columns if frame[column].dtype.kind in "iuf"}
    roles = guess_roles(columns, numeric)
    ranks = [column for column in columns if plain_name(column) in _RANKS and column in numeric]
    value, processors = roles.value, [*roles.parameters.values(), ""][0]
    if tidy.roles or named or len(ranks) != 1 or not processors or value is None or not is_called_time(value):
        return
    keys = [c for c in columns if c == processors or c not in numeric or is_run_identifier(c) or is_size(c)]
    runs = frame.groupby([key for key in keys if key != ranks[0]], sort=False, dropna=False)
    sizes, numbers = runs[processors].transform("size"), runs[ranks[0]]
    is_whole = sizes.eq(frame[processors]) & numbers.transform("nunique").eq(sizes)
    if not is_whole.all() or not (numbers.transform("max") - numbers.transform("min") + 1).eq(sizes).all():
        return
    balance = runs[value].mean() / runs[value].max()
    tidy.frame = frame.loc[runs[value].idxmax()].drop(columns=ranks)
    tidy.notes.append(
        f"{value} of a run is that of its slowest {ranks[0]}: load balance (mean/max) {balance.min():.0%} to "
        f"{balance.max():.0%}, {balance.iloc[-1]:.0%} in the last run"
    )


def _time_of_unit(tidy: Tidy, named: Set[str]) -> None:
    """Take the time of one iteration if a column has it, and runs were given, and did not need, different numbers of
    them.
    """
    frame = tidy.frame
    numeric = [str(column) for column in frame.columns if frame[column].dtype.kind in "iuf"]
    guessed = guess_roles(numeric, set(numeric))
    if tidy.roles.keys() - {"parameters"} or named or guessed.value is None or not guessed.parameters:
        return
    others = [c for c in numeric if c not in (guessed.value, *guessed.parameters.values()) and not is_processors(c)]
    for unit, count in itertools.product(filter(is_called_time, others), others):
        constant = frame[guessed.value] / (frame[unit] * frame[count])
        is_chosen = frame[count].nunique() > 1 and 2 * frame[count].duplicated(keep=False).sum() >= len(frame)
        if is_chosen and (abs(constant / constant.mean() - 1) <= SUM_ROUNDING).all():
            tidy.roles["value"] = unit
            return


def _ways_in_rows(tidy: Tidy, named: Set[str]) -> None:
    """Take no column of ways to run for one of parts, which add up."""
    columns = [str(column) for column in tidy.frame.columns]
    numeric = {column for column in columns if tidy.frame[column].dtype.kind in "iuf"}
    if "category" not in tidy.roles and any(
        are_alternatives(tidy.frame[c]) for c in guess_roles(columns, numeric).category
    ):
        tidy.roles["category"] = []


_STEPS = (
    _merged_cells, _own_times_of_functions, _repetitions_in_columns, _levels_in_columns, _parts_in_columns,
    _ways_in_columns, _commands, _total_processors, _processes_with_threads, _half_widths, _slowest_ranks,
    _time_of_unit, _ways_in_rows,
)  # fmt: skip


# Runs that did not complete, by a column of states or of exit codes: their time is that until something stopped them.


def drop_failed(frame: pd.DataFrame, source: str, keep: bool) -> Booleans:
    """Return which rows (n,) count: all but those that a state or an exit code says did not complete."""
    good = np.ones(len(frame), dtype=bool)
    if keep:
        return good
    reasons: dict[str, None] = {}
    for column in frame.columns:
        kind = next((kind for kind in _OUTCOMES if _plain(str(column)) in _WORDS[kind]), None)
        if kind is None or ((outcomes := frame[column].map(functools.partial(_outcome, kind))) == "").any():
            continue
        bad = (outcomes == "bad").to_numpy()
        values = dict.fromkeys(str(cell).removesuffix(".0") for cell in frame[column][bad & good])
        reasons.update(dict.fromkeys(values if kind == "states" else (f"{column} {cell}" for cell in values)))
        good &= ~bad
    if good.all():
        return good
    listed = ", ".join(list(reasons)[:_LONGEST_LIST])
    if not good.any():
        raise InputError(source, f"none of the {len(good)} runs completed ({listed}); -r failed=yes keeps them")
    progress.note(
        f"{source}: left out, since they did not complete ({listed}): {int((~good).sum())} of {len(good)} rows; "
        "-r failed=yes keeps them"
    )
    return good


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


def _outcome(kind: str, cell: object) -> str:
    """Return what a cell of a kind of column says: ``good``, ``bad``, ``unknown`` if empty; nothing if another word."""
    text = str(cell).strip()
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "unknown"
    if kind == "exits":  # also of Slurm with a signal: 0:0
        match = re.fullmatch(r"(-?[0-9]{1,9})(?:\.0)?(?::([0-9]{1,3}))?", text)
        return "" if match is None else "bad" if int(match[1]) or int(match[2] or 0) else "good"
    if kind != "states" and (answer := _YES_OR_NO.get(text.lower().removesuffix(".0"))):  # to: is it done, did it fail?
        return _OPPOSITE[answer] if kind == "failed" else answer
    word = _plain(re.sub(r" by \w+$|\+$", "", text))
    return "good" if word in _WORDS["good"] else "bad" if word in _WORDS["bad"] else ""


def read_measurements(table: Table, options: TableOptions) -> Measurements:
    """Read the whole table; a column is one of numbers where all its values are."""
    runs_named = numbered_runs(options.value) is not None
    if len(options.value) > 1 and not runs_named:
        raise OptionError(f"measurements have one value column, not {', '.join(options.value)}")
    fields = _sql_numbers(table)
    loaded = table.database.distinct(f"SELECT {', '.join(fields)} FROM {table.relation}")
    kept = table.facts.get("roles") or {}
    texts = {name: cells for name, cells in loaded.items() if isinstance(cells, Texts)}
    _refuse_decimal_signs(table, options, texts)
    read = {name: _as_numbers(cells, table.decimal) for name, cells in texts.items()}
    frame = pd.DataFrame(loaded | read, copy=False)
    if frame.empty:
        raise InputError(table.source, "has column names but no rows", line=1)
    kept_rows = drop_failed(frame, table.source, options.failed)
    frame = frame if kept_rows.all() else frame[kept_rows].reset_index(drop=True)
    tidy = Tidy(frame)
    named = {*options.parameters, *options.value, *(options.code or ()), *(options.system or ())}
    for step in () if kept else _STEPS:
        step(tidy, named)
    rows = range(len(frame)) if kept_rows.all() else np.flatnonzero(kept_rows)
    if len(tidy.frame) != len(rows) or not isinstance(tidy.frame.index, pd.RangeIndex):
        rows = np.asarray(rows)[tidy.frame.index]
    frame, made = tidy.frame, tidy.roles
    kept = {**made, **kept}
    given = {"code": options.code, "system": options.system, "category": options.category}
    return Measurements(
        frame.reset_index(drop=True), options.parameters or kept.get("parameters"),
        kept.get("value") if runs_named or not options.value else options.value[0],
        **{role: kept.get(role) if columns is None else columns for role, columns in given.items()},
        unit=kept.get("unit"), source=table.source, lines=LinesOfRows(rows, table.lines),
        notes=table.report(*tidy.notes), duplicates=options.duplicates,
    )  # fmt: skip


class LinesOfRows(Sequence[int]):
    """Lines of rows in the file, which are looked for when a message names them."""

    def __init__(self, rows: Sequence[int] | Ints, lines: Callable[[], Iterator[int]] | None) -> None:
        self._rows, self._lines = rows, lines
        self._found = list[int]()
        self._left: Iterator[int] | None = None

    def __len__(self) -> int:
        return len(self._rows)

    def __reduce__(self) -> tuple[Any, ...]:
        return list, ([self[row] for row in range(len(self))],)

    def __getitem__(self, row: Any) -> Any:
        number = int(self._rows[row])
        if self._left is None:
            self._left = itertools.count(1) if self._lines is None else self._lines()
        self._found.extend(itertools.islice(self._left, max(number + 1 - len(self._found), 0)))
        return self._found[number]


def _sql_numbers(table: Table) -> list[str]:
    """Return SQL for each column, as a number if all of its cells are such, and different texts different ones."""
    fields = {}
    for column in table.columns:
        field, is_plain = quoted_name(column.name), table.types[column.name] in ("integer", "float")
        fields[column.name] = field if column.kind == "number" and is_plain else f"CAST({field} AS VARCHAR) AS {field}"
    numbers = {c.name: f"TRY_CAST({table.number(c)} AS DOUBLE)" for c in table.columns if c.kind == "number"}
    texts = [name for name in numbers if table.types[name] == "text"]
    looked_at = []
    for name in texts:
        cell, number = f"CAST({quoted_name(name)} AS VARCHAR)", numbers[name]
        decimals = f"length({cell}) - coalesce(nullif(strpos({cell}, {quoted(table.decimal)}), 0), length({cell}))"
        looked_at += [
            f"count(*) FILTER ({cell} IS NOT NULL AND ({number} IS NULL OR contains({cell}, '_')))",
            f"count(*) FILTER (regexp_matches({cell}, {quoted(_UNUSUAL.replace('[.]', table.decimal))}))",
            f"count(*) FILTER (regexp_matches({cell}, '[.,][0-9]*0$'))",
            f"max({decimals}) - min({decimals})",
        ]
    first = 4 * _AT_ONCE
    found = [
        value
        for k in range(0, len(looked_at), first)
        for value in table.database.rows(f"SELECT {', '.join(looked_at[k : k + first])} FROM {table.relation}")[0]
    ]
    for name, others, unusual, padded, differ in zip(
        texts, found[::4], found[1::4], found[2::4], found[3::4], strict=True
    ):
        if others:
            continue
        if unusual or (padded and differ):
            counts = f"count(DISTINCT {quoted_name(name)}) = count(DISTINCT {numbers[name]})"
            if not table.database.rows(f"SELECT {counts} FROM {table.relation}")[0][0]:
                continue
        fields[name] = f"{numbers[name]} AS {quoted_name(name)}"
    return list(fields.values())


def _refuse_decimal_signs(table: Table, options: TableOptions, texts: Mapping[str, Texts]) -> None:
    """Refuse numbers with the other decimal sign in what was varied or measured; elsewhere they may be names."""
    numeric = {column.name for column in table.columns if column.kind == "number"}
    roles = guess_roles([column.name for column in table.columns], numeric)
    if table.decimal == ".":
        looked_at = {roles.value or "", *roles.parameters.values(), *options.value}
        looked_at |= {word.rpartition("=")[2].strip() for word in options.parameters}
    else:
        named = ((options.code, roles.code), (options.system, roles.system), (options.category, roles.category))
        looked_at = numeric - {name for chosen, guessed in named for name in (guessed if chosen is None else chosen)}
    for column in table.columns:
        if column.name not in looked_at or column.name not in texts or table.types[column.name] != "text":
            continue
        numbers, distinct = texts[column.name]
        wrong = [k for k, text in enumerate(distinct) if decimal_hint(text, table.decimal)]
        if wrong:
            table.refuse(int(np.isin(numbers, wrong).argmax()), column, "; a number is expected")


def _as_numbers(texts: Texts, decimal: str) -> npt.NDArray[Any]:
    """Return texts as numbers if all are, and different texts different numbers; None for a missing text."""
    distinct: list[Any] = texts.distinct
    try:
        numbers = [number_of(text, decimal) for text in distinct]
    except (TypeError, ValueError):
        pass
    else:
        if len(set(numbers)) == len(distinct):
            return np.array([*numbers, np.nan])[texts.numbers]
    if decimal == ",":  # a number gets a point, as numbers are read from texts later
        distinct = [text.translate(_SWAPPED_SIGNS) if DECIMAL_COMMA.fullmatch(text) else text for text in distinct]
    return np.array([*distinct, None], dtype=object)[texts.numbers]
