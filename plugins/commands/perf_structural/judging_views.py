"""How a judgement is shown: coverage, scores and places as tables, and its picture."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_structural.judging import PIT_BINS
from perf_views.colours import DARK, DATA, MODEL, RULE
from perf_views.names import shortened
from perfcore.results import Column, Panel, Panels, Presenter, Table, Tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from perf_structural.judging import Judgement, Recalibration

_OUTER, _INNER = 0.95, 0.5  # central intervals: the outer one stands in where a prediction has no bounds


def _draw_runs(judgement: Judgement, axes: Axes) -> None:
    from perf_views.style import add_legend

    count = len(judgement.actual)
    positions = np.arange(1, count + 1) if judgement.at is None else judgement.at
    order = np.argsort(positions, kind="stable")
    positions = positions[order]
    finite = np.isfinite(judgement.support)
    outer = np.where(finite, judgement.support, judgement.bounds[_OUTER])[order]
    inner = judgement.bounds[_INNER][order]
    label = "bounds" if finite.all() else f"bounds or {_OUTER:.0%}"
    handles: list[Any] = [axes.fill_between(positions, *outer.T, color=MODEL, alpha=0.15, linewidth=0.0, label=label)]
    for side in outer.T:
        axes.plot(positions, side, color=MODEL, linewidth=0.8)
    if np.isfinite(inner).any():
        band = axes.fill_between(positions, *inner.T, color=MODEL, alpha=0.3, linewidth=0.0, label=f"{_INNER:.0%}")
        handles.append(band)
    actual = judgement.actual[order]
    handles += axes.plot(positions, actual, "o-", color=DARK, markersize=3, linewidth=0.8, label=judgement.name)
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    axes.set_xlabel(shortened(judgement.at_name))
    axes.set_ylabel(shortened(judgement.name))
    place: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "ncols": 3}
    add_legend(axes, [shortened(handle.get_label()) for handle in handles], handles, fontsize=8, **place)


def _draw_places(judgement: Judgement, axes: Axes) -> None:
    """Even where the predicted distributions are right; a valley where too narrow, a hill where too wide."""
    counts = judgement.place_counts()
    axes.stairs(counts, np.linspace(0.0, 1.0, PIT_BINS + 1), fill=True, color=MODEL, alpha=0.4)
    axes.axhline(counts.sum() / PIT_BINS, color=DARK, linewidth=0.8, linestyle=":")
    axes.set_xlabel("place in the prediction")
    axes.set_ylabel("runs")


_SHOWN = (0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975)  # levels of the quantiles in the table of a map
_MOST_COLUMNS, _GROUPS = 10, 5  # in the table of bins


class JudgementPresenter(Presenter):
    """Predictions against what happened."""

    def title(self, result: Judgement) -> str:
        return f"{len(result.actual)} runs scored against {' and '.join(result.representations)} predictions"

    def formula(self, result: Judgement) -> str:
        return "CRPS = integral of (F(x) - [x >= actual])^2 dx"

    def answer(self, result: Judgement) -> str:
        figures, parts = result.statistics, [self.title(result)]
        if figures["crps"] is not None:
            parts.append(f"mean CRPS {figures['crps']:.4g} (lower is better)")
        if figures["mean_error"] is not None:
            parts.append(f"bias {figures['mean_error']:.3g}, MAE {figures['mean_absolute_error']:.3g}")
        return ": ".join([parts[0], "; ".join(parts[1:])]) if len(parts) > 1 else parts[0]

    def tables(self, result: Judgement) -> Tables:
        tables: Tables = []
        if len(result.ranks):
            names, first = _rank_groups(result.masses.shape[1])
            observed = np.add.reduceat(result.ranks.mean(axis=0), [*first, result.masses.shape[1]])
            predicted = [*np.add.reduceat(result.masses.mean(axis=0), first), 0.0]
            shares = zip([*names, "outside"], zip(observed.tolist(), predicted, strict=True), strict=True)
            columns = [
                Column("", ["actual", "predicted"]),
                *(Column(name, pair, format=".1%") for name, pair in shares),
            ]
            tables.append(Table(columns, title="Calibration by bin probability", importance="verbose"))
        limits = Column("95% CI", lambda row: (row["low"], row["high"]), format=".1%")
        columns = [
            Column("interval", "interval"),
            Column("coverage", "observed", format=".1%", key="actual_within"),
            limits,
            Column("mean width", "width", format=".5g"),
            Column("interval score", "score", format=".5g"),
            Column("runs", "runs"),
        ]
        tables.append(Table(columns, result.coverage(), "Coverage"))
        if result.quantiles:
            columns = [
                Column("quantile", "quantile"),
                Column("actual below", "observed", format=".1%", key="actual_at_most"),
                limits,
                Column("quantile loss", "loss", format=".5g"),
                Column("runs", "runs"),
            ]
            tables.append(Table(columns, result.quantile_shares(), "Quantiles"))
        counts = result.place_counts()
        if counts.sum():
            shares = (counts / counts.sum()).tolist()
            tenths = [Column(f"{10 * k}-{10 * (k + 1)}%", [share], format=".1%") for k, share in enumerate(shares)]
            title = "PIT histogram (uniform = 10.0%)"
            tables.append(Table([Column("", ["actual"]), *tenths], title=title, importance="verbose"))
        runs = np.arange(1, len(result.actual) + 1) if result.at is None else result.at
        columns = [Column("at", runs), *(Column(name, getattr(result, name)) for name in ("actual", "mean"))]
        columns += [Column("support", result.support, key=("lower", "upper"))]
        columns += [Column(name, getattr(result, name)) for name in ("place", "crps")]
        return [*tables, Table(columns, importance="data")]

    def panels(self, result: Judgement, data: Any = None) -> Panels:
        if not result.place_counts().sum():
            return {"runs": partial(_draw_runs, result)}
        return {
            "runs": Panel(partial(_draw_runs, result), width=0.75),
            "places": Panel(partial(_draw_places, result), width=0.25),
        }


class RecalibrationPresenter(Presenter):
    """What past predictions teach later ones."""

    def title(self, result: Recalibration) -> str:
        return f"Recalibration learned from {result.runs} runs"

    def answer(self, result: Recalibration) -> str:
        gain = 1.0 - result.score_after / result.score_before
        scores = f"{2.0 * result.score_before:.4g} to {2.0 * result.score_after:.4g} ({-gain:+.1%})"
        return f"{self.title(result)}: mean CRPS on held-out runs (5-fold) changes from {scores}"

    def caveats(self, result: Recalibration) -> dict[str, Sequence[str]]:
        text = f"{result.outside:.1%} of the runs lie outside the predicted range and cannot be recalibrated"
        return {"Uncertain": [text] if result.outside else []}

    def tables(self, result: Recalibration) -> Tables:
        coverages = list(result.held_before)
        held = [
            Column("interval", coverages, format=".0%", key="coverage"),
            Column("as predicted", list(result.held_before.values()), format=".1%", key="held_before"),
            Column("after", [result.held_after[coverage] for coverage in coverages], format=".1%", key="held_after"),
        ]
        quantiles = [
            Column("level", _SHOWN, format="g"),
            Column("predicted level", key="is_the_predicted", value=result.places_of(_SHOWN), format=".4f"),
        ]
        return [Table(held, title="Coverage on held-out runs"), Table(quantiles, title="Quantiles")]

    def panels(self, result: Recalibration, data: Any = None) -> Panels:

        def draw(axes: Axes) -> None:
            axes.plot([0.0, 1.0], [0.0, 1.0], color=RULE, linewidth=0.8, linestyle=":")
            axes.plot(result.levels, result.places, color=DATA)
            axes.set(xlabel="quantile level", ylabel="predicted quantile level")

        return {"map": draw}


def rank_names(count: int) -> list[str]:
    """Headings for bins from the most to the least probable, as in the paper's Figure 5."""
    ends = {1: "st", 2: "nd", 3: "rd"}
    middle = [f"{k}{'th' if k % 100 in (11, 12, 13) else ends.get(k % 10, 'th')}" for k in range(2, count)]
    return ["highest", *middle, "lowest"][:count]


def _rank_groups(count: int) -> tuple[list[str], list[int]]:
    """Headings for bins from the most to the least probable, and the first bin of each; many bins stand in groups."""
    if count <= _MOST_COLUMNS:
        return rank_names(count), list(range(count))
    first = [count * k // _GROUPS for k in range(_GROUPS)]
    return [f"{low + 1}-{high}" for low, high in itertools.pairwise([*first, count])], first
