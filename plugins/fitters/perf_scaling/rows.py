"""What is said of each path: its share at the target, prediction, law, growth, and what is not sure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from perf_scaling.growth import SURE, Growth, growths_of_draws, slope_points
from perf_scaling.leading import LeadingLaw

if TYPE_CHECKING:
    from perf_scaling.fitted import FittedModel


_COVERAGE = 0.95
_MOST_OFF = 2.0  # a fitted value farther than by this factor from what was measured is said


class PathRow(NamedTuple):
    """One path at the target."""

    path: str
    share: float  # of the whole of its metric; see `perf_scaling.call_tree.Whole`
    predicted: float  # mean at the target: median and 95 % bounds, in the unit of the data
    low: float
    high: float
    law: str  # the likeliest, with coefficients, or that none is determined
    probability: float  # of that law
    growths: tuple[Growth, ...]  # over each parameter
    determined: bool  # growth over every parameter is sure
    deviates: float
    misses: float  # largest factor between a measured mean and the fitted value there, where it is more than 2
    reach: dict[str, float]  # largest measured level of each parameter, by its name in texts
    is_constant: bool  # the likeliest law has no term


def path_rows(model: FittedModel, leading: Sequence[LeadingLaw]) -> tuple[PathRow, ...]:
    """All paths, the largest share at the target first."""
    points = np.concatenate([slope_points(model, symbol) for symbol in model.symbols])
    growths: list[tuple[Growth, ...]] = []
    for _, draws in model.draws_in_blocks(points):
        symbol_growths = [
            growths_of_draws(model, symbol, draws, (2 * number, 2 * number + 1))
            for number, symbol in enumerate(model.symbols)
        ]
        growths += zip(*symbol_growths, strict=True)
    sides = model.band([model.target_point], _COVERAGE)[:, 0]
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
            law=leading[k].text,
            probability=leading[k].probability,
            growths=growths[k],
            determined=min(growth.probability for growth in growths[k]) >= SURE,
            deviates=float(deviates[k]),
            misses=float(misses[k]),
            reach=dict(zip(names, reach[k], strict=True)),
            is_constant=leading[k].is_constant,
        )
        for k in np.argsort(-share, kind="stable").tolist()
    )


DEVIATES = 0.5  # probability from which on a last level is said to deviate


def note_of(row: PathRow, top: Mapping[str, float]) -> str:
    """What to keep in mind about a path; `top` are the largest levels that any path was measured at."""
    notes = [] if row.determined else ["not determined"]
    if row.misses > 1.0:
        notes.insert(0, f"off by a factor of {row.misses:.2g} at a measured level")
    if row.deviates >= DEVIATES:
        notes.append(f"last level may deviate ({row.deviates:.0%})")
    if row.is_constant:
        notes.append("no growth seen in the measured range")
    notes += [f"measured to {name}={level:g}" for name, level in row.reach.items() if level < top[name]]
    return ", ".join(notes)
