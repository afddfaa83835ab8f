"""What predictions, facts about files and listings report."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from perf_views.names import short_name
from perfcore.base.errors import listing
from perfcore.data.units import readable
from perfcore.report import (
    Axis,
    Band,
    Column,
    Figure,
    Line,
    Mark,
    Note,
    Plot,
    Points,
    Report,
    Table,
    number_format,
    number_text,
)
from perfcore.tables import level_text, point_text

if TYPE_CHECKING:
    from perf_basics.api import Facts, Listing, Predictions


_ONE_LINE_EACH = (
    "assumed", "markers", "next", "notes", "points", "roles", "rows to know about", "series", "missing options",
)  # fmt: skip
_FUNCTIONS = ("states", "busy")
_IN_ROLES = ("columns", "parameters", "value", "code by", "system by", "category by", "alternatives")
_MOST_ROLES = 10  # lines without --all
_LABELS = {"roles": "columns", "rows to know about": "data notes", "busy": "busy states"}
_IN_ANSWER = (
    "assumed", "kind", "rows", "points", "missing options", "next", "locations", "intervals", "duration", "steps",
    "start", "mean", "mean utilization", "processors", "means", "samples", "warnings",
)  # fmt: skip
_MOST_NAMES = 20
_MOST_READ = 2_000  # of which the shown ones are taken
_LONGEST_NAME = 60
_MOST_FIXED = 4  # parameters with one value, in a sentence

_FURTHER = ("writes", "problem", "example")  # columns of formats that --all adds


def predictions_report(result: Predictions, data: Any = None) -> Report:
    """Return the report: the largest prediction, and a row for each point."""
    assumed = [point_text({name: level}) for name, level in result.assumed.items()]
    remarks = list(dict.fromkeys(filter(None, result.remarks)))
    notes = [Note("Assumed", f"{', '.join(assumed)}, the target of the fit (--at)")] if assumed else []
    notes += [Note("Uncertain", remark) for remark in remarks if len(set(result.remarks)) == 1]
    notes += [Note("Uncertain", result.meaning)] if result.meaning else []
    answer, figures = _prediction_answer(result)
    point = point_text({name: column[0] for name, column in result.points.items()}, ",")
    leads_on = result.file and _extrapolation(result) and len(result.values) == 1
    following = f"perf experiment next {shlex.quote(result.file)} --target {shlex.quote(point)}" if leads_on else ""
    tables = _prediction_tables(result)
    return Report("Predictions", answer, figures, tables, lambda: _plots(result), notes=notes, next=following)


def _plots(result: Predictions) -> list[Plot]:
    """Return the predictions over the variable that varies, if it is one and has numbers."""
    import numpy as np

    varied = [name for name, column in result.points.items() if len(set(column)) > 1]
    if len(varied) != 1 or isinstance(result.points[varied[0]][0], str):
        return []
    x, values = np.asarray(result.points[varied[0]], dtype=np.float64), result.table
    marks: list[Mark] = [Line(x, values[:, 0], "predicted"), Points(x, values[:, 0], colour="model", size=3.0)]
    if values.shape[1] == 3:
        marks.insert(0, Band(x, values[:, 1], values[:, 2], f"{result.interval:.0%} interval"))
    scale: Any = "log" if (x > 0).all() else "linear"
    return [Plot("predictions", marks, Axis(varied[0], scale=scale), Axis("predicted value", result.unit))]


def _prediction_answer(result: Predictions) -> tuple[str, list[Figure]]:
    import numpy as np

    values = result.table
    common = {name: column[0] for name, column in result.points.items() if len(set(column)) == 1}
    place = point_text(common)
    start = f"At {place}{_extrapolation(result)}: " if place else ""
    if len(values) == 0 or np.isnan(values[:, 0]).all():
        return f"{start}{len(values)} prediction{'s' * (len(values) != 1)}, none with a value", []
    k = int(np.nanargmax(values[:, 0]))
    has_ends = values.shape[1] == 3 and not np.isnan(values[k]).any()
    ends = (float(values[k, 1]), float(values[k, 2])) if has_ends else None
    kind = f"{result.interval:.0%} interval" if ends else ""
    figure = Figure("prediction", float(values[k, 0]), result.unit, ends, kind, format=number_format(values[k, 0]))
    text = figure.sentence
    if len(values) == 1:
        return f"{start}{text}", [figure]
    which = point_text({name: c[k] for name, c in result.points.items() if name not in common})
    if (parts_sum := _sum_of_parts(result)) is not None:
        whole = _total(result, parts_sum)
        share = Figure("share of the largest", float(values[k, 0]) / parts_sum, format=".0%")
        part = which.partition("=")[2]
        amount, comma, bounds = whole.sentence.partition(", ")
        return f"{start}{amount} in total{comma}{bounds}; {part} is {share.text} of it ({text})", [whole, share, figure]
    return f"{start}largest of {len(values)} predictions is {text}, at {which}", [figure]


def _prediction_tables(result: Predictions) -> list[Table]:
    import numpy as np

    values, total, unit = result.table, _sum_of_parts(result), result.unit
    names = [name for name, column in result.points.items() if len(set(column)) > 1 or len(values) == 1]
    order = np.argsort(-values[:, 0], kind="stable") if total is not None else np.arange(len(values))
    points = [Column(n, [result.points[n][k] for k in order], format="g", key=n) for n in names]
    remarks = Column("remark", [result.remarks[k] for k in order] if any(result.remarks) else [None] * len(values))
    brief = [Column("predicted", values[order, 0], unit, number_text)]
    if total is not None:
        brief.insert(0, Column("share", values[order, 0] / total, format=".1%"))
    if values.shape[1] == 3:
        brief.append(Column(f"{result.interval:.0%} interval", values[order, 1:], format=number_text))
    brief += [Column(name, column[order], unit, number_text) for name, column in result.quantiles.items()]
    differ = [remarks] if len(set(result.remarks)) > 1 else []
    every = [Column(name, list(column), format="g", key=name) for name, column in result.points.items()]
    every += [Column(name, values[:, k], format=".6g") for k, name in enumerate(result.names)]
    every += [Column(name, column, format=".6g") for name, column in result.quantiles.items()]
    every += [Column("remark", list(result.remarks))] if any(result.remarks) else []
    return [Table([*points, *brief, *differ], importance="brief"), Table(every, importance="verbose")]


def _total(result: Predictions, parts_sum: float) -> Figure:
    """Return the total of parts as `perf fit` has it: the median of their sum, if the model knows it."""
    model, unit = result.model, result.unit
    totals = getattr(model, "totals", None)
    if model is None or totals is None:
        return Figure("total", parts_sum, unit, format=number_format(parts_sum))
    named = {name: symbol for symbol, name in model.shown_names.items()}
    columns = {named[name]: column[0] for name, column in result.points.items()}
    median, low, high = totals([[columns[symbol] for symbol in model.variables if symbol not in model.levels]])[0, :3]
    known = result.interval == 0.95
    ends = (float(low), float(high)) if known else None
    return Figure("total", float(median), unit, ends, "95% interval", format=number_format(median))


def _sum_of_parts(result: Predictions) -> float | None:
    """Return the sum of what is predicted at one point, if the model is one of parts that add up."""
    import numpy as np

    model = result.model
    symbols = {} if model is None else {model.shown_names[symbol]: symbol for symbol in model.variables}
    parts = [name for name, symbol in symbols.items() if model is not None and symbol in model.levels]
    numbers = {name: column for name, column in result.points.items() if name not in parts}
    if model is None or len(parts) != 1 or any(len(set(column)) > 1 for column in numbers.values()):
        return None
    draws = model.part_draws({symbols[name]: np.array(column[:1]) for name, column in numbers.items()})
    if draws is None or not draws.add_up:
        return None
    return float(draws.parts.values.sum() if draws.total is None else draws.total.values[0])


def _extrapolation(result: Predictions) -> str:
    """How far beyond the data the points lie, where they do."""
    if result.model is None:
        return ""
    ranges = {result.model.shown_names[symbol]: bounds for symbol, bounds in result.model.ranges.items()}
    factors = [max(result.points[name]) / high for name, (_, high) in ranges.items() if name in result.points and high]
    return f" ({max(factors):.3g}x beyond the data)" if factors and max(factors) > 1.0 else ""


def facts_report(result: Facts, data: Any = None) -> Report:
    """Return the report: what the file is, a line for each fact, and what to do first."""
    facts = result.facts
    rows = _fact_rows(facts)
    width = max(len(name) for name, _ in rows)
    brief = {
        name: value
        for name, value in facts.items()
        if name not in (*_IN_ANSWER, *(_IN_ROLES if "roles" in facts else ()))
        and value not in ("none", "all", [])
        and not str(value).startswith("none: ")
    }
    if len(lines := brief.get("roles", [])) > _MOST_ROLES:
        brief["roles"] = [*lines[:_MOST_ROLES], f"... {len(lines) - _MOST_ROLES} more columns (--all)"]
    reasons = [text[len("none: ") :] for text in map(str, facts.values()) if text.startswith("none: ")]
    reasons = [text.removeprefix(f"{facts['file']}: ") for text in reasons if "file" in facts]
    columns = [Column("fact", list(facts)), Column("value", list(facts.values()))]
    return Report(
        title=f"{facts['kind']}",
        answer=_fact_answer(facts),
        tables=[
            Table([Column("", 0), Column("", 1)], _fact_rows(brief), importance="brief"),
            Table(columns, importance="data"),
        ],
        notes=[
            *(Note("Assumed", text) for text in facts.get("assumed", ())),
            *(Note("Uncertain", text) for text in (*facts.get("warnings", ()), *reasons)),
        ],
        next=next(iter(facts.get("next", [])), ""),
        details=[f"{name.ljust(width)}  {line}" for name, line in rows],
    )


def _fact_answer(facts: Mapping[str, Any]) -> str:
    kind, points = facts["kind"], facts.get("points", {})
    if kind == "measurements":
        over = _points_in_words(points) or (" over parameters of each series" if "series" in facts else "")
        of = "" if facts["value"] == "none" else f" of {facts['value']}"
        return f"{_counted(facts['rows'], 'measurements')}{of}{over}"
    counts = ("locations", "intervals", "samples", "steps")
    parts = [_counted(facts[name], name) for name in counts if name in facts]
    shown = [f"{kind}: {', '.join(parts)}"]
    if "duration" in facts:
        shown.append(readable(facts["duration"], facts["time unit"], digits=4))
    if "mean utilization" in facts:
        shown.append(f"mean utilization {_utilization(facts)}")
    elif "means" in facts:
        name, mean = next(iter(facts["means"].items()), ("", float("nan")))
        shown.append(f"mean of {name} {mean:.4g}")
    elif "mean" in facts:
        shown.append(f"mean {facts['mean']:.4g}, highest {facts['highest']:.4g}")
    return ", ".join(shown)


def _counted(count: int, name: str) -> str:
    return f"{count:,} {name if count != 1 else name.removesuffix('s')}"


def _points_in_words(points: Mapping[str, Mapping[str, Any]]) -> str:
    """Return what was varied, then what was not: `` over p = 1, 2, 4, 8 at n = 30``."""
    varied, fixed = list[str](), list[str]()
    for name, found in points.items():
        count = f"{found['values']} values, " if "levels" not in found else ""
        (fixed if found["values"] == 1 else varied).append(f"{name} = {count}{levels_text(found)}")
    more = f" and {len(fixed) - _MOST_FIXED} more" if len(fixed) > _MOST_FIXED else ""
    over = f" over {'; '.join(varied)}" if varied else ""
    return over + (f" at {', '.join(fixed[:_MOST_FIXED])}{more}" if fixed else "")


def levels_text(found: Mapping[str, Any]) -> str:
    """Return the levels of a parameter, of many the ends: ``1, 2, 4`` or ``1 to 128``."""
    if "levels" in found:
        return ", ".join(map(level_text, found["levels"]))
    return f"{level_text(found['from'])} to {level_text(found['to'])}"


def _utilization(facts: Mapping[str, Any]) -> str:
    return f"{facts['mean utilization']:.1%} of {_counted(facts['processors'], 'processors')}"


def _fact_rows(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and texts, the name once."""
    rows, most = [], _LONGEST_NAME
    for name, value in facts.items():
        text = value
        if isinstance(value, list) and name not in _ONE_LINE_EACH:
            short = [str(each) if len(str(each)) <= most else f"{str(each)[: most - 3]}..." for each in value]
            text = _functions(value) if name in _FUNCTIONS else listing(short, _MOST_NAMES)
        elif name == "mean utilization":
            text = _utilization(facts)
        elif name in ("start", "duration"):
            text = readable(value, str(facts["time unit"]))
        elif name == "points":
            text = [f"{of}: {found['values']} values, {levels_text(found)}" for of, found in value.items()]
        label = _LABELS.get(name, name)
        for number, line in enumerate(text if isinstance(text, list) else [text]):
            rows.append(("" if number else label, str(line)))
    return rows


def _functions(names: list[str]) -> str:
    """Short names in a line, each once: names of GPU kernels have thousands of letters."""
    short = list(dict.fromkeys(map(short_name, names[:_MOST_READ])))
    text = ", ".join(short[:_MOST_NAMES])
    if len(short) > _MOST_NAMES:
        text += ", ..."
    return text if len(short) == len(names) <= _MOST_NAMES else f"{text} ({len(names)} in all)"


def listing_report(result: Listing, data: Any = None) -> Report:
    """Return the report: how many there are of each kind, and a row for each."""
    kinds = Counter(f"{row['kind']}s" for row in result.rows if "kind" in row)
    counts = f": {', '.join(f'{n} {k}' for k, n in kinds.items())}" * bool(kinds)
    names = result.rows[0] if result.rows else ()
    columns = [
        Column("description" if name == "help" else name, [_joined(row[name]) for row in result.rows], key=name,
               importance="verbose" if name in _FURTHER else "default")
        for name in names
    ]  # fmt: skip
    data = Table([Column(name, [row[name] for row in result.rows], key=name) for name in names], importance="data")
    answer = f"{len(result.rows)} {result.what}{counts}"
    return Report(result.what, answer, tables=[Table(columns, drops_empty=False), data])


def _joined(value: object) -> str | None:
    if isinstance(value, bool):
        return "yes" if value else ""
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else None if value is None else str(value)
