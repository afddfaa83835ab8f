"""How predictions, facts and listings are shown."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from perf_basics.api import Facts, Listing, Predictions
from perf_views.names import short_name
from perfcore.base.errors import listing
from perfcore.results import Column, Presenter, Table, Tables

if TYPE_CHECKING:
    import pandas as pd


_ONE_LINE_EACH = ("markers", "next", "notes", "points", "rows to know about", "series", "to be told")
_FUNCTIONS = ("states", "busy")
_LABELS = {"rows to know about": "data notes", "to be told": "missing options", "busy": "busy states"}
_IN_ANSWER = (
    *("kind", "rows", "points", "to be told", "next", "locations", "intervals", "duration", "steps", "start", "mean"),
    *("mean utilization", "means", "samples", "warnings"),
)
_MOST_NAMES = 20
_MOST_READ = 2_000  # of which the shown ones are taken
_LONGEST_NAME = 60
_MOST_FIXED = 4  # parameters with one value, in a sentence


class PredictionsPresenter(Presenter):
    """A row for each point."""

    def answer(self, result: Predictions) -> str:
        import numpy as np

        values = result.values.reshape(len(result.values), -1)
        common = {name: column[0] for name, column in result.points.items() if len(set(column)) == 1}
        place = ", ".join(f"{name}={_number(level)}" for name, level in common.items())
        start = f"At {place}{_extrapolation(result)}: " if place else ""
        unit = f" {result.model.unit}" if result.model is not None and result.model.unit else ""
        if len(values) == 0 or np.isnan(values[:, 0]).all():
            return f"{start}{len(values)} prediction{'s' * (len(values) != 1)}, none with a value"
        k = int(np.nanargmax(values[:, 0]))
        text = f"{values[k, 0]:.3g}{unit}"
        if values.shape[1] == 3 and not np.isnan(values[k]).any():
            text += f", {result.interval:.0%} interval [{values[k, 1]:.3g}, {values[k, 2]:.3g}]"
        if len(values) == 1:
            return f"{start}{text}"
        which = ", ".join(f"{name}={_number(c[k])}" for name, c in result.points.items() if name not in common)
        if (total := _total(result)) is not None:
            part = which.partition("=")[2]
            return f"{start}{total:.3g}{unit} in total; {part} is {values[k, 0] / total:.0%} of it ({text})"
        return f"{start}largest of {len(values)} predictions is {text}, at {which}"

    def tables(self, result: Predictions) -> Tables:
        import numpy as np

        values, total = result.values.reshape(len(result.values), -1), _total(result)
        unit = (result.model.unit if result.model is not None else None) or ""
        names = [name for name, column in result.points.items() if len(set(column)) > 1 or len(values) == 1]
        order = np.argsort(-values[:, 0], kind="stable") if total is not None else np.arange(len(values))
        points = [Column(n, [result.points[n][k] for k in order], format=_number, key=n) for n in names]
        remarks = Column("remark", [result.remarks[k] for k in order] if any(result.remarks) else [None] * len(values))
        brief = [Column("predicted", values[order, 0], unit)]
        if total is not None:
            brief.insert(0, Column("share", values[order, 0] / total, format=".1%"))
        if values.shape[1] == 3:
            brief.append(Column(f"{result.interval:.0%} interval", values[order, 1:], format=".3g"))
        brief += [Column(name, column[order], unit) for name, column in result.quantiles.items()]
        differ = [remarks] if len(set(result.remarks)) > 1 else []
        every = [Column(name, list(column), format=_number, key=name) for name, column in result.points.items()]
        every += [Column(name, values[:, k], format=".6g") for k, name in enumerate(result.names)]
        every += [Column(name, column, format=".6g") for name, column in result.quantiles.items()]
        every += [Column("remark", list(result.remarks))] if any(result.remarks) else []
        return [Table([*points, *brief, *differ], importance="brief"), Table(every, importance="verbose")]

    def next_command(self, result: Predictions) -> str:
        if not result.file or _extrapolation(result) == "" or len(result.values) != 1:
            return ""
        point = ",".join(f"{name}={_number(column[0])}" for name, column in result.points.items())
        return f"perf experiment next {shlex.quote(result.file)} --target {shlex.quote(point)}"

    def caveats(self, result: Predictions) -> dict[str, Sequence[str]]:
        assumed = [f"{name}={_number(level)}" for name, level in result.assumed.items()]
        remarks = list(dict.fromkeys(filter(None, result.remarks)))
        meaning = [result.meaning] if result.meaning else []
        return {
            "Assumed": [f"{', '.join(assumed)}, the target of the fit (--at)"] if assumed else [],
            "Uncertain": [*(remarks if len(set(result.remarks)) == 1 else []), *meaning],
        }


def _total(result: Predictions) -> float | None:
    """Sum of what is predicted at one point, where the model is one of parts that add up."""
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


def _number(value: object) -> str:
    return value if isinstance(value, str) else f"{value:g}"


class FactsPresenter(Presenter):
    """A line for each fact."""

    def answer(self, result: Facts) -> str:
        facts = result.facts
        kind, points = facts["kind"], facts.get("points", [])
        if kind == "measurements":
            over = _points_in_words(points) or (" over parameters of each series" if "series" in facts else "")
            return f"{_counted(facts['rows'], 'measurements')} of {facts['value']}{over}"
        counts = ("locations", "intervals", "samples", "steps")
        parts = [_counted(facts[name], name) for name in counts if name in facts]
        shown = [f"{kind}: {', '.join(parts)}"]
        if "duration" in facts:
            amount, unit = str(facts["duration"]).split(" ")
            shown.append(f"{float(amount):.4g} {unit}")
        if "mean utilization" in facts:
            shown.append(f"mean utilization {_per_cent(facts['mean utilization'])}")
        elif "means" in facts:
            name, mean = next(iter(facts["means"].items()), ("", float("nan")))
            shown.append(f"mean of {name} {mean:.4g}")
        elif "mean" in facts:
            shown.append(f"mean {facts['mean']:.4g}, highest {facts['highest']:.4g}")
        return ", ".join(shown)

    def summary(self, result: Facts) -> list[str]:
        rows = _fact_rows(result.facts)
        width = max(len(name) for name, _ in rows)
        return [self.answer(result), *(f"{name.ljust(width)}  {line}" for name, line in rows)]

    def tables(self, result: Facts) -> Tables:
        facts = {
            name: value
            for name, value in result.facts.items()
            if name not in _IN_ANSWER and value not in ("none", "all", []) and not str(value).startswith("none: ")
        }
        return [Table([Column("", 0), Column("", 1)], _fact_rows(facts), importance="brief")]

    def caveats(self, result: Facts) -> dict[str, Sequence[str]]:
        reasons = [text[len("none: ") :] for text in map(str, result.facts.values()) if text.startswith("none: ")]
        reasons = [text.removeprefix(f"{result.facts['file']}: ") for text in reasons]
        return {"Uncertain": [*result.facts.get("warnings", ()), *reasons]}

    def next_command(self, result: Facts) -> str:
        commands = result.facts.get("next", [])
        return commands[0] if commands else ""

    def frame(self, result: Facts) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame({"fact": list(result.facts), "value": list(result.facts.values())})


def _counted(count: int, name: str) -> str:
    return f"{count:,} {name if count != 1 else name.removesuffix('s')}"


def _points_in_words(points: Sequence[str]) -> str:
    """Lines ``p: 4 values, 1, 2, 4, 8`` as `` over p = 1, 2, 4, 8 at n = 30``: what was varied, then what was not."""
    varied, fixed = list[str](), list[str]()
    for line in points:
        name, _, rest = line.rpartition(": ")
        count, _, levels = rest.partition(" values, ")
        if count == "1":
            fixed.append(f"{name} = {levels.partition(' to ')[0]}")
        else:
            varied.append(f"{name} = {f'{count} values, ' if ' to ' in levels else ''}{levels}")
    more = f" and {len(fixed) - _MOST_FIXED} more" if len(fixed) > _MOST_FIXED else ""
    over = f" over {'; '.join(varied)}" if varied else ""
    return over + (f" at {', '.join(fixed[:_MOST_FIXED])}{more}" if fixed else "")


def _per_cent(text: str) -> str:
    """``0.732 of 4`` for a person."""
    share, _, count = text.partition(" of ")
    return f"{float(share):.1%} of {count} processor{'s' * (count != '1')}"


def _fact_rows(facts: Mapping[str, object]) -> list[tuple[str, str]]:
    """Names and texts, the name once."""
    rows = []
    for name, value in facts.items():
        text = value
        if isinstance(value, list) and name not in _ONE_LINE_EACH:
            text = _functions(value) if name in _FUNCTIONS else listing(map(_shortened, value), _MOST_NAMES)
        elif name == "mean utilization":
            text = _per_cent(str(value))
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


def _shortened(name: object) -> str:
    text = str(name)
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 3] + "..."


_FURTHER = ("writes", "problem", "example")  # columns of formats that --all adds


class ListingPresenter(Presenter):
    """A row for each."""

    def answer(self, result: Listing) -> str:
        kinds = Counter(f"{row['kind']}s" for row in result.rows if "kind" in row)
        return f"{len(result.rows)} {result.what}" + (
            f": {', '.join(f'{n} {k}' for k, n in kinds.items())}" * bool(kinds)
        )

    def tables(self, result: Listing) -> Tables:
        columns = {
            name: [_joined(row[name]) for row in result.rows] for name in (result.rows[0] if result.rows else ())
        }
        listed = [
            Column("description" if name == "help" else name, cells, key=name,
                   importance="verbose" if name in _FURTHER else "default")
            for name, cells in columns.items()
        ]  # fmt: skip
        return [Table(listed, drops_empty=False)]

    def frame(self, result: Listing) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame(list(result.rows))


def _joined(value: object) -> str | None:
    if isinstance(value, bool):
        return "yes" if value else ""
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else None if value is None else str(value)
