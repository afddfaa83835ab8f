"""How structural models, stochastic values and series are shown."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_structural.statistic import LEVELS, quantile_name
from perf_views.colours import LIGHT, RULE, SERIES
from perf_views.names import shortened
from perfcore.results import Column, Panels, Presenter, Table, Tables
from perfcore.stochastic import StochasticValue

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from perf_structural.decomposition import Decomposition
    from perf_structural.inputs import Input
    from perf_structural.measured_value import MeasuredValue
    from perf_structural.prediction import Prediction
    from perf_structural.solving import Solution
    from perf_structural.structural_model import Choice, StructuralModel

_POINTS = 2000  # more than a picture has pixels
_BEYOND = 1e-4  # probability beyond each end of the axis, where a value has no bounds
_MARGIN = 0.05  # of the range, left and right


def distribution_panels(values: Mapping[str, StochasticValue], unit: str) -> Panels:
    """The densities, and the cumulative distributions, of at least one value; ``unit`` is that of all.

    What has bounds and no density is drawn as a bar over its range.
    """
    ends = [end for value in values.values() for end in _ends(value)]
    low, high = min(ends), max(ends)
    margin = _MARGIN * (high - low) or 0.5 * max(abs(low), 1.0)
    places = np.linspace(low - margin, high + margin, _POINTS)
    coloured = [(*item, colour) for item, colour in zip(values.items(), itertools.cycle(SERIES), strict=False)]

    def finish(axes: Axes) -> None:
        named = shortened(next(iter(values)) if len(values) == 1 else "value")
        axes.set_xlim(places[0], places[-1])
        axes.set_xlabel(f"{named} [{unit}]" if unit else named, parse_math=False)

    def density(axes: Axes) -> None:
        # Bars stand at the top of the densities; without any of these, heights mean nothing.
        has_density = any(not _is_bar(value) for value in values.values())
        bar_place = axes.get_xaxis_transform() if has_density else axes.transData
        for number, (name, value, colour) in enumerate(coloured):
            if _is_bar(value):
                level = (0.97 if has_density else 0.6) - 0.04 * number
                axes.plot(_ends(value), [level, level], color=colour, transform=bar_place, marker="|", label=name)
            else:
                heights = np.asarray(value.pdf(places), dtype=np.float64)
                axes.fill_between(places, heights, color=colour, alpha=0.25, linewidth=0.0, step="mid")
                axes.plot(places, heights, color=colour, linewidth=1.2, drawstyle="steps-mid", label=name)
        if has_density:
            axes.set_ylim(bottom=0.0)
            axes.set_ylabel(f"density (1/{unit})" if unit else "density")
        else:
            axes.set_ylim(0.0, 1.0)
            axes.set_yticks([])
        finish(axes)
        if len(values) > 1:
            axes.legend(fontsize="small")

    def cumulative(axes: Axes) -> None:
        for name, value, colour in coloured:
            if math.isnan(value.mean):  # nothing is known between the bounds
                bounds = _ends(value)
                axes.fill_between(
                    places, places >= bounds[1], places >= bounds[0], color=colour, alpha=0.25, linewidth=0.0,
                    step="mid", label=name,
                )  # fmt: skip
            else:
                axes.plot(places, value.cdf(places), color=colour, linewidth=1.2, label=name)
        axes.set_ylim(0.0, 1.02)
        axes.set_ylabel("cumulative probability")
        finish(axes)

    return {"density": density, "cumulative": cumulative}


def _is_bar(value: StochasticValue) -> bool:
    """Whether it is one number, or nothing is known of it between its bounds."""
    low, high = _ends(value)
    return low == high or math.isnan(value.mean)


def _ends(value: StochasticValue) -> tuple[float, float]:
    """The range to show: all of what has bounds."""
    low, high = value.support
    return (
        low if math.isfinite(low) else float(value.quantile(_BEYOND)),
        high if math.isfinite(high) else float(value.quantile(1.0 - _BEYOND)),
    )


class PredictionPresenter(Presenter):
    """A distribution and its statistics."""

    def title(self, result: Prediction) -> str:
        return f"{result.name} [{result.unit}]" if result.unit else result.name

    def formula(self, result: Prediction) -> str:
        return repr(result.value)

    def answer(self, result: Prediction) -> str:
        figures, unit = result.statistics, _after(result.unit)
        ends = f"{figures['lowest']:.3g} to {figures['highest']:.3g}{unit}"
        if math.isnan(figures["mean"]):
            return f"{result.name}: {ends}"
        quantile = float(result.value.quantile(0.95))
        return f"{result.name}: mean {figures['mean']:.3g}{unit}, 95% below {quantile:.3g}{unit} (range {ends})"

    def summary(self, result: Prediction) -> list[str]:
        return [self.answer(result), f"{self.title(result)}: {result.value!r}"]

    def caveats(self, result: Prediction) -> dict[str, Sequence[str]]:
        return {"Method": [result.evaluation.method], "Uncertain": result.notes}

    def tables(self, result: Prediction) -> Tables:
        errors = result.evaluation.errors
        columns = [
            Column("statistic", 0),
            Column("value", 1, result.unit, ".6g", key="value"),
            Column("standard error", lambda row: errors.get(row[0]), format=".2g"),
        ]
        rows = list(result.statistics.items())
        known = [row for row in rows if not math.isnan(row[1])] if math.isnan(result.statistics["mean"]) else rows
        return [Table(columns, known), Table(columns, rows, importance="data")]

    def panels(self, result: Prediction, data: Any = None) -> Panels:
        return distribution_panels({result.name: result.value}, result.unit)


class ChoicePresenter(Presenter):
    """Candidates side by side."""

    def title(self, result: Choice) -> str:
        return f"{len(result.predictions)} candidates by {result.statistic.name}"

    def formula(self, result: Choice) -> str:
        return f"{result.chosen}: {result.predictions[result.chosen].formula}"

    def answer(self, result: Choice) -> str:
        unit = _after(result.unit) if result.statistic.scales else ""
        best = f"{result.chosen} has the smallest {result.statistic.name}, {result.figures[result.chosen]:.4g}{unit}"
        others = ", ".join(f"{level:.3f} {name}" for name, level in result.beaten.items())
        return f"{best}; P(smaller than): {others}" if others else best

    def caveats(self, result: Choice) -> dict[str, Sequence[str]]:
        notes = [f"{name}: {note}" for name, prediction in result.predictions.items() for note in prediction.notes]
        return {"Uncertain": notes}

    def tables(self, result: Choice) -> Tables:
        names = list(result.predictions)
        statistics = [prediction.statistics for prediction in result.predictions.values()]
        figures = {column: [of_one[column] for of_one in statistics] for column in statistics[0]}
        figures.setdefault(result.statistic.name, [result.figures[name] for name in names])
        marks = ["*" if name == result.chosen else "" for name in names]
        return [
            Table(
                [
                    Column("", marks, key=()),
                    Column("candidate", names),
                    Column("chosen", [mark == "*" for mark in marks], importance="data"),
                    *(Column(name, values, format=".6g", key=name) for name, values in figures.items()),
                ]
            )
        ]

    def panels(self, result: Choice, data: Any = None) -> Panels:
        return distribution_panels({name: each.value for name, each in result.predictions.items()}, result.unit)


class DecompositionPresenter(Presenter):
    """Work divided among machines."""

    def title(self, result: Decomposition) -> str:
        return f"{sum(result.shares):,} units of work among {len(result.shares)} machines by {result.statistic.name}"

    def formula(self, result: Decomposition) -> str:
        return " + ".join(map(str, result.shares))

    def summary(self, result: Decomposition) -> list[str]:
        slowest, fastest = (
            f"{figure:.6g}{_after(result.unit)}" for figure in (max(result.figures), min(result.figures))
        )
        lines = [f"{self.title(result)}: slowest {slowest}, fastest {fastest}"]
        if result.finish is not None:
            median, late = (f"{result.finish.quantile(level):.6g}{_after(result.unit)}" for level in (0.5, 0.95))
            lines.append(f"all are done after {median} in the median, after {late} with probability 0.95")
        return lines

    def tables(self, result: Decomposition) -> Tables:
        figures = {result.statistic.name: result.figures}
        for name in ("mean", "std"):
            figures.setdefault(name, tuple(getattr(time, name) for time in result.times))
        return [
            Table(
                [
                    Column("machine", range(1, len(result.shares) + 1)),
                    Column("share", result.shares),
                    *(Column(name, values, format=".6g", key=name) for name, values in figures.items()),
                ]
            )
        ]

    def panels(self, result: Decomposition, data: Any = None) -> Panels:
        return distribution_panels({f"machine {k}": time for k, time in enumerate(result.times, start=1)}, result.unit)


def _after(unit: str) -> str:
    return f" {unit}" if unit else ""


class SolutionPresenter(Presenter):
    """The value of an input that suffices, and all that were tried."""

    def title(self, result: Solution) -> str:
        unit = f" {result.unit}" if result.unit else ""
        return f"P(<= {result.limit:g}{unit}) >= {result.probability:g}"

    def formula(self, result: Solution) -> str:
        if result.found is None:
            low, high = result.tried[0].value, result.tried[-1].value
            return f"no {result.name} from {low:g} to {high:g}"
        return f"{result.name} = {result.found.value:.6g}"

    def answer(self, result: Solution) -> str:
        if result.found is None:
            best = result.best
            most = f"highest probability {best.probability:.4g} at {result.name} = {best.value:.6g}"
            return f"{self.formula(result)} satisfies {self.title(result)}; {most}"
        which = "maximum" if result.most else "minimum"
        reached = f"probability {result.found.probability:.4g}"
        return f"{which} {self.formula(result)} satisfies {self.title(result)} ({reached})"

    def caveats(self, result: Solution) -> dict[str, Sequence[str]]:
        return {"Uncertain": result.notes}

    def tables(self, result: Solution) -> Tables:
        columns = [
            Column("", lambda trial: "*" if trial == result.found else "", key=()),
            Column(result.name, "value", format=".6g", key=result.name),
            Column("probability", "probability", format=".6g"),
            Column("standard error", "error", format=".2g"),
            Column("found", lambda trial: trial == result.found, importance="data"),
        ]
        return [Table(columns, result.tried)]

    def panels(self, result: Solution, data: Any = None) -> Panels:

        def draw(axes: Axes) -> None:
            values, shares = zip(*((trial.value, trial.probability) for trial in result.tried), strict=True)
            axes.plot(values, shares, marker="o", label=self.title(result).partition(" >=")[0])
            axes.axhline(result.probability, color=RULE, linestyle="--", label=f"required: {result.probability:g}")
            if result.found is not None:
                axes.axvline(result.found.value, color=RULE, linestyle=":", label=self.formula(result))
            axes.set(xlabel=result.name, ylabel="probability")
            axes.legend()

        return {"probability": draw}


class MeasuredValuePresenter(Presenter):
    """The value, what it comes from, and what is lost."""

    def title(self, result: MeasuredValue) -> str:
        return f"{result.window.column} of {Path(result.window.source).name} as {result.value.name}"

    def formula(self, result: MeasuredValue) -> str:
        return repr(result.value)

    def answer(self, result: MeasuredValue) -> str:
        value, count = result.value, f"{len(result.window.values):,} samples"
        if math.isnan(value.mean):
            low, high = value.support
            return f"{self.title(result)}: {low:.4g} to {high:.4g} ({count})"
        return f"{self.title(result)}: mean {value.mean:.4g}, standard deviation {value.std:.3g} ({count})"

    def caveats(self, result: MeasuredValue) -> dict[str, Sequence[str]]:
        return {"Uncertain": [*self._of_quantiles(result), *result.notes]}

    def summary(self, result: MeasuredValue) -> list[str]:
        variation, full, named = f"variation: {result.window.variation:.4g}", result.full_range, result.variation_class
        missing = "--scale, the full range" if full is None else f"samples between 0 and --scale ({full:g})"
        varies = f" (class needs {missing})" if named is None else f", {named} on a scale from 0 to {full:g}"
        lost = "all but the bounds"
        if not math.isnan(result.cdf_error):
            lost = f"time order; max CDF error {result.cdf_error:.3f}"
        return [
            self.answer(result),
            self.formula(result),
            result.window.describe(),
            variation + varies,
            f"discarded: {lost}",
        ]

    @staticmethod
    def _of_quantiles(result: MeasuredValue) -> list[str]:
        """Confidence intervals of requested quantiles."""
        if result.levels == LEVELS:
            return []
        quantile_texts = [
            f"{name} {low:.6g} to {high:.6g}"
            for name, (low, high) in result.quantile_limits.items()
            if math.isfinite(low) and math.isfinite(high)
        ]
        limits = f"95% CI if the samples are independent: {', '.join(quantile_texts)}"
        return [*([limits] if quantile_texts else []), *result.too_few]

    def tables(self, result: MeasuredValue) -> Tables:
        value, samples, levels = result.value, result.window.values, list(result.levels)
        names = ("mean", "std", *map(quantile_name, levels), "lowest", "highest")
        represented = [value.mean, value.std, *(float(value.quantile(level)) for level in levels), *value.support]
        quantiles = np.quantile(samples, levels, method="hazen").tolist()
        measured = [samples.mean(), result.samples_std, *quantiles, samples.min(), samples.max()]
        pairs = zip(names, represented, map(float, measured), strict=True)
        figures = [Column(name, pair, format=".6g", key=name) for name, *pair in pairs]
        return [Table([Column("source", ["value", "samples"], key="of"), *figures])]

    def panels(self, result: MeasuredValue, data: Any = None) -> Panels:
        panels = distribution_panels({result.value.name: result.value}, "")
        samples, column = result.window.values, shortened(result.window.column)

        def density(axes: Axes) -> None:
            panels["density"](axes)
            if result.window.variation > 0.0:
                heights, *_ = axes.hist(samples, bins="auto", density=True, color=LIGHT, zorder=0, label="samples")
                axes.set_ylim(0.0, max(axes.get_ylim()[1], 1.05 * float(np.max(heights))))
            axes.set_xlabel(column, parse_math=False)

        def cumulative(axes: Axes) -> None:
            panels["cumulative"](axes)
            axes.ecdf(samples, color=RULE, linewidth=0.8, label="samples")
            axes.set_xlabel(column, parse_math=False)
            axes.legend(fontsize="small")

        return {"density": density, "cumulative": cumulative}


class StructuralPresenter(Presenter):
    """A structural model: its equation and its inputs."""

    def title(self, result: StructuralModel) -> str:
        return result.name or result.equation

    def formula(self, result: StructuralModel) -> str:
        return "\n".join([result.equation, *_components(result)])

    def summary(self, result: StructuralModel) -> list[str]:
        counts = [
            f"{len(parts)} {name}{'s' if len(parts) != 1 else ''}"
            for name, parts in (("component", result.components), ("input", result.inputs))
        ]
        return [*dict.fromkeys([self.title(result), result.equation]), ", ".join(counts)]

    def tables(self, result: StructuralModel) -> Tables:
        inputs = [
            Column("input", 0),
            Column("value", lambda row: _described(row[1])),
            Column("unit", lambda row: row[1].unit or ""),
        ]
        copies = [
            (label, *_moments(value), definition.unit or "")
            for name, definition in result.inputs.items()
            for label, value in _copies(name, definition).items()
        ]
        moments = [Column(name, k) for k, name in enumerate(("input", "mean", "std", "lowest", "highest", "unit"))]
        return [
            Table(inputs, list(result.inputs.items()), drops_empty=False),
            Table(moments, copies, importance="data"),
        ]

    def panels(self, result: StructuralModel, data: Any = None) -> Panels:
        predicted = cache(lambda: distribution_panels({(value := result.predict()).name: value.value}, value.unit))

        def draw(name: str, axes: Axes) -> None:
            predicted()[name](axes)

        return {name: partial(draw, name) for name in ("density", "cumulative")}


def _components(model: StructuralModel) -> list[str]:
    return [
        line
        for name, part in model.components.items()
        for line in f"{name} = {part.equation or part.model}".split("\n")
    ]


def _copies(name: str, definition: Input) -> dict[str, StochasticValue | float]:
    """The values of an input, which has several where it is replicated, by what they are called."""
    return {
        f"{name}[{', '.join(str(number + 1) for number in place)}]" if place else name: value
        for place, value in definition.cells.items()
    }


def _moments(value: StochasticValue | float) -> tuple[float, float, float, float]:
    """Mean, standard deviation and bounds."""
    if isinstance(value, StochasticValue):
        return value.mean, value.std, *value.support
    return value, 0.0, value, value


def _described(definition: Input) -> str:
    values = list(definition.cells.values())
    first = values[0]
    text = repr(first) if isinstance(first, StochasticValue) else f"{first:.6g}"
    return text if len(values) == 1 else f"{text}, ... ({len(values)} copies)"
