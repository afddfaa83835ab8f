"""How two runs are shown phase by phase."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from perf_views.colours import AREAS, RULE
from perf_worley.matching.comparison import PhaseComparison, Side, _HasPhases
from perf_worley.matching.order_preserving import ALIKE
from perfcore.data.units import NANOSECONDS, readable
from perfcore.results import Presenter, Tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_SIDES = ("first", "second")


class PhaseComparisonPresenter(Presenter):
    """Text, table and picture of a `PhaseComparison`."""

    def title(self, result: PhaseComparison) -> str:
        """One line over a picture."""
        return f"{result.names[1]} against {result.names[0]}, phase by phase"

    def summary(self, result: PhaseComparison) -> list[str]:
        """Whether they are alike, the totals, and what one run of each can say."""
        first, second = result.totals
        ratio = second.duration / first.duration
        lines = [self.title(result), f"the whole run: {_ratio_text(ratio)}"]
        if not result.alike:
            return [*lines, f"these runs do not look alike (cost {result.cost:.2f}, up to {ALIKE} do): totals only"]
        alone = [
            f"only in {name}: phase {_numbers(side)}"
            for pair in result.pairs
            for name, side, partner in zip(result.names, pair, pair[::-1], strict=True)
            if side is not None and partner is None
        ]
        note = "intervals are of where phases begin and end; how durations vary from run to run, one run cannot say"
        how = {
            True: "by what runs in them and their shapes, in order",
            False: "in order, by their shapes: what runs has other names in both runs",
            None: "in order",
        }[result.by_name]
        return [*lines, f"phases are matched {how} (cost {result.cost:.2f}, up to {ALIKE} is alike)", *alone, note]

    def tables(self, result: PhaseComparison) -> Tables:
        """A row for each pair, and the totals."""
        first_name, second_name = result.names
        header = [
            f"phases {first_name}",
            f"phases {second_name}",
            f"duration {first_name}",
            f"duration {second_name}",
            "ratio",
            "within (95%)",
        ]
        header += ["processor time", "ratio", f"level {first_name}", f"level {second_name}"]
        if with_names := any(side.activity is not None for side in result.totals):
            header += [f"what runs {first_name}", f"what runs {second_name}"]
        unit = result.time_unit
        pairs = [*(result.pairs if result.alike else ()), result.totals]
        rows = []
        for number, (first, second) in enumerate(pairs):
            label = "all" if number == len(pairs) - 1 else None
            row = [label or _numbers(first), label or _numbers(second)]
            row += [readable(side.duration, unit) if side else "-" for side in (first, second)]
            if first is None or second is None:
                row += [""] * 4
            else:
                row += [f"{second.duration / first.duration:.3f}", _within(first, second)]
                row += [_change(first.processor_time, second.processor_time, unit)]
                row += [_quotient(first.processor_time, second.processor_time)]
            row += [_level(side) for side in (first, second)]
            if with_names:
                row += [
                    "-" if side is None or side.activity is None else side.activity.name for side in (first, second)
                ]
            rows.append(row)
        return [("", header, rows)]

    def plain_tables(self, result: PhaseComparison) -> Tables:
        """A row for each pair, and the totals, in numbers: durations and processor time in the time unit."""
        unit = result.time_unit
        header = [f"{name}_{which}" for name in ("phases", f"duration_{unit}") for which in _SIDES]
        header += ["ratio", "lower", "upper"]
        header += [f"{name}_{which}" for name in (f"processor_time_{unit}", "level", "what_runs") for which in _SIDES]
        rows = []
        for pair in (*(result.pairs if result.alike else ()), result.totals):
            is_total = pair is result.totals
            first, second = pair
            row = ["all" if is_total else "" if side is None else _numbers(side) for side in pair]
            row += ["" if side is None else repr(float(side.duration)) for side in pair]
            if first is None or second is None:
                row += [""] * 3
            else:
                limits = _limits(first, second)
                row += [repr(float(second.duration / first.duration))]
                row += ["", ""] if limits is None else [repr(float(limit)) for limit in limits]
            row += ["" if side is None else repr(float(side.processor_time)) for side in pair]
            row += ["" if side is None else repr(float(side.processor_time / side.duration)) for side in pair]
            row += ["" if side is None or side.activity is None else side.activity.name for side in pair]
            rows.append(row)
        return [("", header, rows)]

    def draw(self, result: PhaseComparison, figure: Figure, data: Any = None) -> None:
        """Draw both models on time axes of one extent; phases that are the same have the same colour."""
        import numpy as np

        from perf_views.data_pictures import readable_unit
        from perf_worley.picture import number_phases

        per_ns, unit = readable_unit(max(_duration_ns(model) for model in result.models), "ns")
        longest = max(_duration_ns(model) for model in result.models) * per_ns
        axes = figure.subplots(2, 1, sharex=True)
        for which, (name, model, panel) in enumerate(zip(result.names, result.models, axes, strict=True)):
            factor = NANOSECONDS[model.time_unit] * per_ns
            for number, pair in enumerate(result.pairs):
                side, partner = pair[which], pair[1 - which]
                if side is None:
                    continue
                matched = result.alike and partner is not None
                color = AREAS[number % len(AREAS)] if matched else RULE
                for k in side.phases:
                    phase = model.phases[k]
                    times = np.linspace(phase.start, phase.end, 61)
                    most = math.inf if model.n_locations is None else float(model.n_locations)
                    heights = np.clip(model.evaluate(phase, times), 0.0, most)  # no more compute than there are
                    panel.plot((times - model.start) * factor, heights, color=color, linewidth=1.6)
            edges = np.array([*(phase.start for phase in model.phases), model.end])
            number_phases(panel, (edges - model.start) * factor)
            panel.set(xlim=(0.0, longest), ylim=(0.0, 1.15 * panel.get_ylim()[1]), ylabel="processors computing")
            panel.tick_params(labelbottom=True)
            panel.set_xlabel(f"time ({unit})")
            panel.set_title(name, fontsize=9, loc="left", parse_math=False)


def _duration_ns(model: _HasPhases) -> float:
    return (model.end - model.start) * NANOSECONDS[model.time_unit]


def _ratio_text(ratio: float) -> str:
    return f"{ratio:.3f} times the duration"


def _numbers(side: Side | None) -> str:
    if side is None:
        return "-"
    first, last = side.phases[0] + 1, side.phases[-1] + 1
    return str(first) if first == last else f"{first}..{last}"


def _within(first: Side, second: Side) -> str:
    """What the ratio of durations may be, by where the phases may begin and end."""
    limits = _limits(first, second)
    if limits is None:
        return ""
    lower, upper = limits
    return f"{lower:.3f} .. {'any' if upper == math.inf else f'{upper:.3f}'}"


def _limits(first: Side, second: Side) -> tuple[float, float] | None:
    if first.duration_within is None or second.duration_within is None:
        return None
    low, high = first.duration_within, second.duration_within
    return high[0] / low[1], high[1] / low[0] if low[0] > 0.0 else math.inf


def _change(first: float, second: float, unit: str) -> str:
    return f"{readable(first, unit)} -> {readable(second, unit)}"


def _quotient(first: float, second: float) -> str:
    return f"{second / first:.3f}" if first > 0.0 else ""


def _level(side: Side | None) -> str:
    if side is None:
        return "-"
    half = "" if side.level_within is None else f" +- {0.5 * (side.level_within[1] - side.level_within[0]):.2g}"
    return f"{side.level:.4g}{half}"
