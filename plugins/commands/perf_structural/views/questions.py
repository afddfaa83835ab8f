"""How answers to questions are shown: the value that suffices, and how much more to measure."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from perf_views.colours import PALE, RULE
from perfcore.results import Presenter, Tables

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.axes import Axes

    from perf_structural.questions.deciding import Decision
    from perf_structural.questions.solving import Solution


class SolutionPresenter(Presenter):
    """The value of an input that suffices, and all that were tried."""

    def title(self, result: Solution) -> str:
        """What is to be kept, how often."""
        unit = f" {result.unit}" if result.unit else ""
        return f"P(<= {result.limit:g}{unit}) >= {result.probability:g}"

    def formula(self, result: Solution) -> str:
        """The value, or that there is none."""
        if result.found is None:
            low, high = result.tried[0].value, result.tried[-1].value
            return f"no {result.name} from {low:g} to {high:g}"
        return f"{result.name} = {result.found.value:.6g}"

    def summary(self, result: Solution) -> list[str]:
        """The value, how probable the limit is with it, and what to keep in mind."""
        if result.found is None:
            best = result.best
            return [
                f"{self.title(result)}: {self.formula(result)} suffices",
                f"the most is {best.probability:.4g}, with {result.name} = {best.value:.6g}",
            ]
        which = "most" if result.most else "least"
        return [
            f"{self.title(result)}: {self.formula(result)}, the {which} that suffices, "
            f"with probability {result.found.probability:.4g}",
            *result.notes,
        ]

    def tables(self, result: Solution) -> Tables:
        """Each value that was tried, the found one marked."""
        rows = [
            [
                "*" if trial == result.found else "",
                f"{trial.value:.6g}",
                f"{trial.probability:.6g}",
                f"{trial.error:.2g}",
            ]
            for trial in result.tried
        ]
        return [("", ["", result.name, "probability", "standard error"], rows)]

    def frame(self, result: Solution) -> pd.DataFrame:
        """A row for each value that was tried."""
        import pandas as pd

        rows = [(trial.value, trial.probability, trial.error, trial == result.found) for trial in result.tried]
        return pd.DataFrame(rows, columns=[result.name, "probability", "standard_error", "found"])

    def panels(self, result: Solution, data: Any = None) -> dict[str, Callable[[Axes], None]]:
        """How probable the limit is over the input, with what was asked for."""
        return {"probability": partial(_draw_solution, result)}


class DecisionPresenter(Presenter):
    """Two sets of measurements, and whether they differ."""

    def title(self, result: Decision) -> str:
        """What is compared."""
        return f"{result.statistic} of {result.names[0]} and of {result.names[1]}"

    def formula(self, result: Decision) -> str:
        """Which is smaller."""
        first, second = result.names
        match result.verdict:
            case "first":
                return f"{first} is smaller than {second}"
            case "second":
                return f"{second} is smaller than {first}"
            case "equal":
                return f"{first} and {second} differ by less than matters"
        return f"undecided between {first} and {second}"

    def summary(self, result: Decision) -> list[str]:
        """Which is smaller, by how much, and how many more measurements would tell."""
        difference = result.figures[1] - result.figures[0]
        lines = [
            f"{self.formula(result)}",
            f"{result.statistic}: second - first is {difference:.6g}, 95 % sure between {result.low:.6g} and "
            f"{result.high:.6g}",
        ]
        if result.verdict == "undecided" and result.more is None:
            lines.append("more than a million measurements would be needed; --min-effect says which difference matters")
        elif result.verdict == "undecided" and result.more is not None:
            lines.append(
                f"{result.more[0]:,} more of the first and {result.more[1]:,} more of the second decide it with "
                f"probability {result.power:g}, if the difference and the spread are as measured"
            )
        return [*lines, *result.notes]

    def tables(self, result: Decision) -> Tables:
        """The statistic of each."""
        more = ["-", "-"] if result.more is None else [str(number) for number in result.more]
        rows = [
            [name, str(size), f"{figure:.6g}", further]
            for name, size, figure, further in zip(result.names, result.sizes, result.figures, more, strict=True)
        ]
        return [("", ["of", "samples", result.statistic, "more"], rows)]

    def frame(self, result: Decision) -> pd.DataFrame:
        """A row for each of the two."""
        import pandas as pd

        more = (None, None) if result.more is None else result.more
        columns = {"of": result.names, "samples": result.sizes, result.statistic: result.figures, "more": more}
        return pd.DataFrame(columns)

    def panels(self, result: Decision, data: Any = None) -> dict[str, Callable[[Axes], None]]:
        """The difference with its limits, beside none and what matters."""
        return {"difference": partial(_draw_decision, result)}


def _draw_solution(result: Solution, axes: Axes) -> None:
    values, shares = zip(*((trial.value, trial.probability) for trial in result.tried), strict=True)
    axes.plot(values, shares, marker="o", label=result.title.partition(" >=")[0])
    axes.axhline(result.probability, color=RULE, linestyle="--", label=f"asked for: {result.probability:g}")
    if result.found is not None:
        axes.axvline(result.found.value, color=RULE, linestyle=":", label=result.formula)
    axes.set_xlabel(result.name)
    axes.set_ylabel("probability")
    axes.legend()


def _draw_decision(result: Decision, axes: Axes) -> None:
    difference = result.figures[1] - result.figures[0]
    errors = [[difference - result.low], [result.high - difference]]
    axes.errorbar([difference], [0.0], xerr=errors, fmt="o", capsize=4.0, label="second - first, 95 % sure")
    axes.axvline(0.0, color=RULE)
    if result.worth is not None:
        axes.axvspan(-result.worth, result.worth, color=PALE, label="less than matters")
    axes.set_yticks([])
    axes.set_xlabel(f"difference of the {result.statistic}")
    axes.legend()
