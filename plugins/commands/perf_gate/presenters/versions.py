"""How verdicts on two versions are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perf_gate.versions.gate import VersionGate
from perf_statistics.gating import Outcome
from perf_views.colours import CAREFUL, GOOD, QUIET, RULE
from perfcore.results import Presenter, Tables

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


_MOST_NAMED = 4
_MOST_ROWS = 40
_MOST_DRAWN = 40


class VersionGatePresenter(Presenter):
    """How many times as slow each benchmark is, with bounds and verdict."""

    def title(self, result: VersionGate) -> str:
        """One line over a picture."""
        return f"{result.names[1]} against {result.names[0]}: {result.outcome.value}"

    def summary(self, result: VersionGate) -> list[str]:
        """The verdict, what it rests on, and what to do."""
        return [_verdict(result), *_shift(result), *_layout(result), *_missing(result)]

    def tables(self, result: VersionGate) -> Tables:
        """A row for each benchmark, those that fail first; the first of them."""
        order = _order(result)
        header, rows = _rows(result, order[:_MOST_ROWS])
        more = len(order) - len(rows)
        title = f"the first {_MOST_ROWS} of {len(order)}, slowest first" if more > 0 else ""
        return [(title, header, rows)]

    def plain_tables(self, result: VersionGate) -> Tables:
        """All benchmarks."""
        frame = self.frame(result)
        rows = [["" if _is_nan(cell) else str(cell) for cell in row] for row in frame.itertuples(index=False)]
        return [("", list(frame.columns), rows)]

    def frame(self, result: VersionGate) -> pd.DataFrame:
        """A row for each benchmark."""
        import pandas as pd

        bounds = np.exp(result.estimates.bounds())
        return pd.DataFrame(
            {
                "benchmark": list(result.benchmarks),
                "outcome": [result.judged.outcome_of(k).value for k in range(len(result))],
                "first": result.values[0],
                "second": result.values[1],
                "unit": list(result.units),
                "slowdown": np.exp(result.estimates.log_ratio),
                "at_least": bounds[:, 0],
                "at_most": bounds[:, 1],
                "p_slow": result.judged.p_slow,
                "p_not_slower": result.judged.p_not_slower,
                "rounds": result.estimates.rounds,
                "layout": list(result.layouts),
            }
        )

    def draw(self, result: VersionGate, figure: Figure, data: Any = None) -> None:
        """Draw each benchmark's ratio with its bounds beside the threshold."""
        order = _order(result)[:_MOST_DRAWN]
        axes = figure.subplots()
        ratio, bounds = np.exp(result.estimates.log_ratio), np.exp(result.estimates.bounds())
        colours = {Outcome.FAILED: CAREFUL, Outcome.PASSED: GOOD, Outcome.UNDECIDED: QUIET}
        for place, k in enumerate(order):
            colour = colours[result.judged.outcome_of(k)]
            axes.plot(bounds[k], [place, place], color=colour, linewidth=2)
            axes.plot(ratio[k], place, "o", color=colour, markersize=5)
        axes.axvline(1.0, color=RULE, linewidth=0.8)
        axes.axvline(result.judged.threshold, color=CAREFUL, linewidth=1, linestyle="--")
        axes.set_yticks(range(len(order)), [result.benchmarks[k] for k in order])
        axes.set_ylim(len(order) - 0.5, -0.5)
        axes.set_xlabel(f"{result.names[1]} over {result.names[0]}, times as slow (95 % sure of each side)")
        axes.set_title(self.title(result))


def _is_nan(cell: object) -> bool:
    return isinstance(cell, float) and np.isnan(cell)


def _order(result: VersionGate) -> list[int]:
    """Benchmarks that fail, then those undecided, then the others; in each the slowest first."""
    rank = {Outcome.FAILED: 0, Outcome.UNDECIDED: 1, Outcome.PASSED: 2}
    slowness = np.nan_to_num(result.estimates.log_ratio, nan=-np.inf)
    return sorted(range(len(result)), key=lambda k: (rank[result.judged.outcome_of(k)], -slowness[k]))


def _rows(result: VersionGate, order: list[int]) -> tuple[list[str], list[list[str]]]:
    ratio, bounds = np.exp(result.estimates.log_ratio), np.exp(result.estimates.bounds())
    header = ["benchmark", "verdict", *result.names, "unit", "times as slow", "95%", "rounds"]
    rows = []
    for k in order:
        sides = f"{bounds[k, 0]:.3f} .. {bounds[k, 1]:.3f}" if np.isfinite(bounds[k]).all() else "-"
        rows.append(
            [
                *(result.benchmarks[k], result.judged.outcome_of(k).value),
                *(f"{value:.4g}" for value in result.values[:, k]),
                *(result.units[k], f"{ratio[k]:.3f}", sides, str(result.estimates.rounds[k])),
            ]
        )
    return header, rows


def _verdict(result: VersionGate) -> str:
    threshold, count = f"{result.judged.threshold:g}x", len(result)
    ratio, bounds = np.exp(result.estimates.log_ratio), np.exp(result.estimates.bounds())
    order = _order(result)
    among = f" among {count}" if count > 1 else ""
    slow = [k for k in order if result.judged.slower[k]]
    if slow:
        named = [f"{result.benchmarks[k]} {ratio[k]:.3f}x (at least {bounds[k, 0]:.3f}x)" for k in slow[:_MOST_NAMED]]
        more = f" and {len(slow) - _MOST_NAMED} more" if len(slow) > _MOST_NAMED else ""
        chance = f"5 % chance of any false alarm{among}" if result.errors == "fwer" else "5 % of such alarms are false"
        return f"failed: {', '.join(named)}{more}, surely slower than {threshold}; {chance}"
    if result.outcome is Outcome.FAILED:
        return "failed: benchmarks are missing"
    if result.outcome is Outcome.PASSED:
        largest = int(np.argmax(result.estimates.log_ratio))
        at_most = f"{ratio[largest]:.3f}x, at most {bounds[largest, 1]:.3f}x"
        claim = f"none of {count}" if count > 1 else f"{result.benchmarks[0]} is not"
        sure = ", 95 % sure of each" if count > 1 else ", 95 % sure"
        named_largest = f"largest: {result.benchmarks[largest]} {at_most}" if count > 1 else at_most
        return f"passed: {claim} slower than {threshold}{sure} ({named_largest}); {_measured(result)}"
    left_open = [k for k in order if not result.judged.not_slower[k]]
    named = [_open(result, k) for k in left_open[:_MOST_NAMED]]
    more = f"; and {len(left_open) - _MOST_NAMED} more" if len(left_open) > _MOST_NAMED else ""
    others = count - len(left_open)
    rest = f"; {others} other{'s' if others > 1 else ''} not slower" if others else ""
    return f"undecided: {'; '.join(named)}{more}{rest}"


def _open(result: VersionGate, k: int) -> str:
    """What the data say of a benchmark that they leave open, and what would decide."""
    ratio, bounds = float(np.exp(result.estimates.log_ratio[k])), np.exp(result.estimates.bounds()[k])
    name, more = result.benchmarks[k], int(result.more_rounds[k])
    if not np.isfinite(bounds).all():
        runs = int(result.estimates.rounds[k])
        return f"{name} {ratio:.3f}x, of {runs} round{'s' if runs != 1 else ''}: at least 3 are needed"
    advice = f": {more} more round{'s decide' if more > 1 else ' decides'} (90 % likely)" if more > 0 else ""
    if result.layouts[k] == "turn" and more < 0:
        hidden = float(result.estimates.rounding[k]) >= np.log(result.judged.threshold)
        reason = "its values have too few digits" if hidden else "too near to the threshold"
        advice = f": {reason} for any number of rounds"
    return f"{name} {ratio:.3f}x, between {bounds[0]:.2f}x and {bounds[1]:.2f}x{advice}"


def _measured(result: VersionGate) -> str:
    """How many rounds, in which layout."""
    counts = sorted(set(result.estimates.rounds.tolist()))
    many = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    words = {"turn": "rounds in turn", "blocks": "runs of one after the other", "sessions": "runs in two sessions"}
    layouts = list(dict.fromkeys(result.layouts))
    return f"{many} {words[layouts[0]]}" if len(layouts) == 1 else f"{many} rounds or runs"


def _layout(result: VersionGate) -> list[str]:
    """What is wrong with a layout, and what to do about it."""
    lines = []
    if "sessions" in result.layouts:
        if result.between is None:
            lines.append(
                "nobody knows what the machine did between the two sessions: measured so, nothing passes, and only "
                "what is far slower fails; measure both in turn, or say how sessions differ, such as --session-cv 2%"
            )
        else:
            lines.append(f"two sessions, of which the same version would differ by {100.0 * result.between:g} %")
    if "blocks" in result.layouts:
        lines.append("one version after the other, so that drift of the machine counts as doubt; in turn is surer")
    return lines


def _shift(result: VersionGate) -> list[str]:
    if result.shift is None:
        return []
    shift = result.shift
    word = "slower" if shift.ratio > 1.0 else "faster"
    return [
        f"all {shift.benchmarks} together {word}: {shift.ratio:.3f}x [{shift.lower:.3f}, {shift.upper:.3f}]: the "
        "machine, the compiler or a library, perhaps; it is in the figures above, not subtracted"
    ]


def _missing(result: VersionGate) -> list[str]:
    from perfcore.base.errors import listing

    return [
        f"only {name} has {listing(only, 5)}; not compared"
        for name, only in zip(result.names, result.only, strict=True)
        if only
    ]
