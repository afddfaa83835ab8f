"""How advice is shown: the next points for a prediction, and the replications that a store needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perf_experiments.advice.costs import duration_text
from perf_experiments.design.factors import level_text, point_text
from perfcore.results import Presenter, Tables

if TYPE_CHECKING:
    import pandas as pd

    from perf_experiments.advice.next_points import Advice, Disagreement
    from perf_experiments.advice.replications import Replications


class AdvicePresenter(Presenter):
    """What is predicted at the target, the choices in their order, and the models that disagree."""

    def title(self, result: Advice) -> str:
        """The target."""
        return f"next points for {point_text(result.target)}"

    def summary(self, result: Advice) -> list[str]:
        """The prediction and its error, what is taken for granted, and the models that fit about as well."""
        unit = f" {result.unit}" if result.unit else ""
        prediction = (
            f"{point_text(result.target)}: {result.value:.4g}{unit} predicted, standard error {result.error:.3g}"
        )
        noise = (
            "; what a measurement varies by is not known, so that gains only compare points"
            if result.noise is None
            else f"; a measurement there varies by {result.noise:.3g}"
        )
        assumed = [f"if {each}, of which the model says nothing" for each in result.assumed]
        if not result.rivals:
            nobody = "if the model is right; no other that fits about as well is known, to compare with"
            return [prediction + noise, *assumed, nobody]
        others = "if the model is right; others fit about as well and say at the target"
        return [prediction + noise, *assumed, others, *(_rival_text(rival, unit) for rival in result.rivals)]

    def tables(self, result: Advice) -> Tables:
        """The choices."""
        names = list(result.choices[0].point)
        rows = []
        for number, choice in enumerate(result.choices, 1):
            rows.append(
                [
                    str(number),
                    *(level_text(choice.point[name]) for name in names),
                    str(choice.repetitions),
                    *([] if choice.error is None else [f"{choice.error:.3g}"]),
                    f"{choice.gain:.1%}",
                    "-" if choice.cost_s is None else duration_text(choice.cost_s),
                    "-" if choice.gain_per_s is None else f"{choice.gain_per_s:.3%}",
                ]
            )
        gains = ["gain next to the first"] if result.noise is None else ["error after", "variance falls by"]
        return [("", ["", *names, "runs", *gains, "cost", "per s"], rows)]

    def frame(self, result: Advice) -> pd.DataFrame:
        """One row for each choice: its point, runs, error, gain and cost."""
        import pandas as pd

        rows = [
            {
                **choice.point,
                "runs": choice.repetitions,
                "error": choice.error,
                "gain": choice.gain,
                "cost_s": choice.cost_s,
                "gain_per_s": choice.gain_per_s,
                "in_all": choice.in_all,
            }
            for choice in result.choices
        ]
        return pd.DataFrame(rows)


class ReplicationsPresenter(Presenter):
    """Each point of the store: how well it is known, and the runs that it needs."""

    def title(self, result: Replications) -> str:
        """The precision."""
        return f"replications for {100.0 * result.precision:.3g} % of each mean"

    def summary(self, result: Replications) -> list[str]:
        """How many runs are missing, and how long they take."""
        more = sum(each.more for each in result.wanting)
        seconds = sum(each.more * each.seconds for each in result.wanting)
        about = f", about {duration_text(seconds)}" if more else ""
        precision = f"{100.0 * result.precision:.3g} % of each mean (95 %)"
        return [f"{more} more runs of {len(result.wanting)} points for {precision}{about}"]

    def tables(self, result: Replications) -> Tables:
        """One row for each point."""
        names = list(result.points[0].point)
        rows = [
            [
                *(level_text(each.point[name]) for name in names),
                *(str(each.runs), f"{each.spread:.1%}", f"{each.precision:.1%}", str(each.needed)),
            ]
            for each in result.points
        ]
        return [("", [*names, "runs", "spread", "known to", "needed"], rows)]

    def frame(self, result: Replications) -> pd.DataFrame:
        """One row for each point: runs, spread, precision, and what it needs."""
        import pandas as pd

        rows = [
            {
                **each.point,
                "runs": each.runs,
                "spread": each.spread,
                "precision": each.precision,
                "needed": each.needed,
                "more": each.more,
                "seconds": each.seconds,
            }
            for each in result.points
        ]
        return pd.DataFrame(rows)


def _rival_text(rival: Disagreement, unit: str) -> str:
    text = "" if rival.distance is None else f", {rival.distance:.2g} standard deviations of a measurement"
    return (
        f"  {rival.value:.4g}{unit}: {rival.name} ({rival.figure}); farthest apart at {point_text(rival.point)}{text}"
    )
