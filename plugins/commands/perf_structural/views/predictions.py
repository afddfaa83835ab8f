"""How predictions, a choice among them and a division of work are shown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from perfcore.results import Presenter, Tables

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from perf_structural.decomposition import Decomposition
    from perf_structural.prediction import Prediction
    from perf_structural.scheduling import Choice


class PredictionPresenter(Presenter):
    """A distribution and its statistics."""

    def title(self, result: Prediction) -> str:
        """What was predicted, with its unit."""
        return f"{result.name} ({result.unit})" if result.unit else result.name

    def formula(self, result: Prediction) -> str:
        """The distribution as a person reads it."""
        return repr(result.value)

    def summary(self, result: Prediction) -> list[str]:
        """What was predicted, and how."""
        return [f"{self.title(result)}: {result.value!r}", f"by {result.evaluation.method}", *result.notes]

    def tables(self, result: Prediction) -> Tables:
        """The statistics, with their errors where the result was sampled."""
        errors, figures = result.evaluation.errors, result.statistics
        if math.isnan(figures["mean"]):  # bounds alone
            figures = {name: figure for name, figure in figures.items() if not math.isnan(figure)}
        header = ["statistic", result.unit or "value", *(["standard error"] if errors else [])]
        rows = [
            [name, _shown(figure), *([f"{errors[name]:.2g}" if name in errors else ""] if errors else [])]
            for name, figure in figures.items()
        ]
        return [("", header, rows)]

    def frame(self, result: Prediction) -> pd.DataFrame:
        """A row for each statistic: its value, and the standard error where the result was sampled."""
        import pandas as pd

        errors = result.evaluation.errors
        rows = [(name, figure, errors.get(name, math.nan)) for name, figure in result.statistics.items()]
        return pd.DataFrame(rows, columns=["statistic", "value", "standard_error"])

    def draw(self, result: Prediction, figure: Figure, data: Any = None) -> None:
        """Density and cumulative distribution."""
        from perf_structural.views.distributions import draw_distributions

        draw_distributions(figure, {result.name: result.value}, result.unit)


class ChoicePresenter(Presenter):
    """Candidates beside one another."""

    def title(self, result: Choice) -> str:
        """How many candidates there are, and what is compared."""
        return f"{len(result.predictions)} candidates by {result.statistic.name}"

    def formula(self, result: Choice) -> str:
        """The chosen distribution as a person reads it."""
        return f"{result.chosen}: {result.predictions[result.chosen].formula}"

    def summary(self, result: Choice) -> list[str]:
        """What was chosen, why, and what to keep in mind."""
        unit = _after(result.unit) if result.statistic.scales else ""
        smallest = f"{result.figures[result.chosen]:.6g}{unit}"
        lines = [f"{result.chosen}: the smallest {result.statistic.name}, {smallest}"]
        lines += [f"smaller than {name} with probability {level:.3f}" for name, level in result.beaten.items()]
        for name, prediction in result.predictions.items():
            lines += [f"{name}: {note}" for note in prediction.notes]
        return lines

    def tables(self, result: Choice) -> Tables:
        """Each candidate with all statistics, the chosen one marked."""
        columns = self._columns(result)
        rows = [
            ["*" if name == result.chosen else "", name, *(_shown(figures[name]) for figures in columns.values())]
            for name in result.predictions
        ]
        return [("", ["", "candidate", *columns], rows)]

    def frame(self, result: Choice) -> pd.DataFrame:
        """A row for each candidate: whether it is chosen, and its statistics."""
        import pandas as pd

        names = list(result.predictions)
        columns = {column: [figures[name] for name in names] for column, figures in self._columns(result).items()}
        return pd.DataFrame({"candidate": names, "chosen": [name == result.chosen for name in names], **columns})

    def draw(self, result: Choice, figure: Figure, data: Any = None) -> None:
        """Densities and cumulative distributions of all candidates."""
        from perf_structural.views.distributions import draw_distributions

        draw_distributions(figure, {name: each.value for name, each in result.predictions.items()}, result.unit)

    @staticmethod
    def _columns(result: Choice) -> dict[str, dict[str, float]]:
        """Figures of all candidates by statistic; last the one that they were compared by, unless it is among them."""
        statistics = {name: prediction.statistics for name, prediction in result.predictions.items()}
        columns = {
            column: {name: figures[column] for name, figures in statistics.items()}
            for column in next(iter(statistics.values()))
        }
        columns.setdefault(result.statistic.name, dict(result.figures))
        return columns


class DecompositionPresenter(Presenter):
    """Work divided among machines."""

    def title(self, result: Decomposition) -> str:
        """What was divided, among how many, by what."""
        return f"{sum(result.shares):,} units of work among {len(result.shares)} machines by {result.statistic.name}"

    def formula(self, result: Decomposition) -> str:
        """The shares as a sum."""
        return " + ".join(map(str, result.shares))

    def summary(self, result: Decomposition) -> list[str]:
        """What was divided, and how evenly."""
        slowest, fastest = (
            f"{figure:.6g}{_after(result.unit)}" for figure in (max(result.figures), min(result.figures))
        )
        lines = [f"{self.title(result)}: slowest {slowest}, fastest {fastest}"]
        if result.finish is not None:
            median, late = (f"{result.finish.quantile(level):.6g}{_after(result.unit)}" for level in (0.5, 0.95))
            lines.append(f"all are done after {median} in the median, after {late} with probability 0.95")
        return lines

    def tables(self, result: Decomposition) -> Tables:
        """Each machine with its share and statistics of its time."""
        columns = self._columns(result)
        rows = [
            [str(number), str(share), *map(_shown, figures)]
            for number, (share, *figures) in enumerate(zip(result.shares, *columns.values(), strict=True), start=1)
        ]
        return [("", ["machine", "share", *columns], rows)]

    def frame(self, result: Decomposition) -> pd.DataFrame:
        """A row for each machine: its share, and statistics of its time."""
        import pandas as pd

        machines = range(1, len(result.shares) + 1)
        return pd.DataFrame({"machine": machines, "share": result.shares, **self._columns(result)})

    def draw(self, result: Decomposition, figure: Figure, data: Any = None) -> None:
        """The distributions of the machines' times."""
        from perf_structural.views.distributions import draw_distributions

        draw_distributions(figure, {f"machine {k}": time for k, time in enumerate(result.times, start=1)}, result.unit)

    @staticmethod
    def _columns(result: Decomposition) -> dict[str, tuple[float, ...]]:
        """Figures of all machines by statistic, first the one that was balanced."""
        columns = {result.statistic.name: result.figures}
        for name in ("mean", "std"):
            columns.setdefault(name, tuple(getattr(time, name) for time in result.times))
        return columns


def _shown(figure: float) -> str:
    return "-" if math.isnan(figure) else f"{figure:.6g}"


def _after(unit: str) -> str:
    """A unit as it follows a number."""
    return f" {unit}" if unit else ""
