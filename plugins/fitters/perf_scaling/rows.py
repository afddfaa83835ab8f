"""What is said of each path: its share at the target, prediction, model, growth, and what is uncertain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perf_scaling.best_fit import BestFit
from perf_scaling.growth import SURE, Growth, growths_of_draws, slope_points

if TYPE_CHECKING:
    from perf_scaling.fitted import FittedModel


_LIKELY, _COVERAGE = 0.5, 0.95
_MOST_OFF = 2.0  # a fitted value farther than by this factor from what was measured is said


class PathRow(NamedTuple):
    """One path at the target."""

    path: str
    share: float  # of the whole of its metric; see `perf_scaling.call_tree.Whole`
    predicted: float  # a measurement at the target, in the unit of the data: median and ends of the 95% interval
    low: float
    high: float
    likely: tuple[float, float]  # ends of its 50% interval
    holds: tuple[float, float, float]  # mean at the target if the model holds, and ends of its 95% interval
    model: BestFit
    growths: tuple[Growth, ...]  # over each parameter
    determined: bool  # growth over every parameter is sure
    deviates: float
    misses: float  # largest factor between a measured mean and the fitted value there, where it is more than 2
    reach: dict[str, float]  # largest measured level of each parameter, by its name in texts
    reach_of_target: float  # largest ratio of the target to what was measured, of all parameters
    changes_at: float | None  # level of the parameter where the last step is steeper than all before it by far

    def to_dict(self) -> dict[str, Any]:
        """With what holds of the model and of the prediction by name."""
        own = self._asdict()
        del own["likely"], own["holds"]
        return {
            **own,
            "model": {
                "formula": self.model.formula,
                "fit_error": self.model.fit_error,
                "alternatives": list(self.model.alternatives),
                "probability": self.model.probability,
                "terms": list(self.model.terms),
                "coefficients": list(self.model.coefficients),
                "standard_errors": list(self.model.standard_errors),
            },
            "if_model_holds": dict(zip(("median", "lower", "upper"), self.holds, strict=True)),
            "prediction": {
                "median": self.predicted,
                "likely_lower": self.likely[0],
                "likely_upper": self.likely[1],
                "lower": self.low,
                "upper": self.high,
            },
        }


def path_rows(model: FittedModel) -> tuple[PathRow, ...]:
    """All paths, the largest share at the target first."""
    points = np.concatenate([slope_points(model, symbol) for symbol in model.symbols])
    growths: list[tuple[Growth, ...]] = []
    for _, draws in model.draws_in_blocks(points):
        symbol_growths = [
            growths_of_draws(model, symbol, draws, (2 * number, 2 * number + 1))
            for number, symbol in enumerate(model.symbols)
        ]
        growths += zip(*symbol_growths, strict=True)
    sides = model.band([model.target_point], _COVERAGE, run=True)[:, 0]
    likely = model.band([model.target_point], _LIKELY, run=True)[:, 0, 1:]
    holds = model.best.predict([model.target_point])[:, 0]
    changes_at = model.posterior.changes_at
    whole = model.whole
    sums = np.bincount(whole.metric, np.where(whole.counted, sides[:, 0], 0.0))
    share = np.divide(sides[:, 0], sums[whole.metric], out=np.zeros(len(sides)), where=sums[whole.metric] > 0.0)
    measured = np.isfinite(model.means)
    reach = np.where(measured[:, :, None], model.measured, -np.inf).max(axis=1).tolist()
    last = measured.shape[1] - 1 - measured[:, ::-1].argmax(axis=1)  # points are in the order of their levels
    posterior = model.posterior
    deviates = np.where(posterior.level == last[:, None], posterior.weight, 0.0).sum(axis=1)
    off = np.nanmax(np.abs(np.log(model.fitted / model.means)), axis=1)
    names = tuple(model.parameter_names.values())
    misses = np.where(off > np.log(_MOST_OFF), np.exp(off), 1.0)
    return tuple(
        PathRow(
            path=model.paths[k],
            share=float(share[k]),
            predicted=float(sides[k, 0]),
            low=float(sides[k, 1]),
            high=float(sides[k, 2]),
            likely=tuple(likely[k].tolist()),
            holds=tuple(holds[k].tolist()),
            model=model.best.named[k],
            growths=growths[k],
            determined=min(growth.probability for growth in growths[k]) >= SURE,
            deviates=float(deviates[k]),
            misses=float(misses[k]),
            reach=dict(zip(names, reach[k], strict=True)),
            reach_of_target=float((model.target_point / np.array(reach[k])).max()),
            changes_at=float(changes_at[k]) if changes_at[k] > 0.0 else None,
        )
        for k in np.argsort(-share, kind="stable").tolist()
    )


RANGE = "\u2013"  # between the ends of an interval in a sentence
DEVIATES = 0.5  # probability from which on a last level is said to deviate


def note_of(row: PathRow, top: Mapping[str, float]) -> str:
    """What to keep in mind about a path; `top` are the largest levels that any path was measured at."""
    notes = [] if row.determined else ["inconclusive"]
    if row.misses > 1.0:
        notes.insert(0, f"residual {row.misses:.2g}x at a measured level")
    if row.deviates >= DEVIATES:
        notes.append(f"possible change point at largest level ({row.deviates:.0%})")
    notes += [f"measured to {name}={level:g}" for name, level in row.reach.items() if level < top[name]]
    return ", ".join(notes)
