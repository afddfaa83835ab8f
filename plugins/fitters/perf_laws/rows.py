"""What is said of each path: its share at the target, prediction, law, growth, and what is not sure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from perf_laws.draws.draws import SIDES, quantiles
from perf_laws.evidence.path_data import PathData
from perf_laws.growth import SURE, Growing, Growth, growths_of_draws, slope_points
from perf_laws.leading import LeadingLaw
from perf_laws.whole import Whole

__all__ = ["LawRow", "law_rows"]


class LawRow(NamedTuple):
    """One path at the target.

    Attributes
    ----------
    path : str
    share : float
        Of the whole of its metric; see `perf_laws.whole.Whole`.
    predicted, low, high : float
        Mean at the target: median and 95 % bounds, in the unit of the data.
    law : str
        The likeliest, with coefficients.
    probability : float
        Of that law.
    growths : tuple of Growth
        Over each parameter.
    determined : bool
        Growth over every parameter is sure.
    scattered : bool
        Points miss every law by more than repetitions explain.
    reach : dict of str to float
        Largest measured level of each parameter.
    breaks : tuple of float
        Levels of the parameter at which another law begins.
    """

    path: str
    share: float
    predicted: float
    low: float
    high: float
    law: str
    probability: float
    growths: tuple[Growth, ...]
    determined: bool
    scattered: bool
    reach: dict[str, float]
    breaks: tuple[float, ...]


class _InWhole(Growing, Protocol):
    """Laws of paths that are parts of a whole; see `perf_laws.path_laws.PathLaws`."""

    @property
    def paths(self) -> Sequence[str]:
        """Their names (K)."""

    @property
    def data(self) -> Sequence[PathData]:
        """What was measured of each."""

    @property
    def means(self) -> npt.NDArray[np.float64]:
        """Mean of each path at each point (K, n); NaN where it was not measured."""

    @property
    def leading(self) -> Sequence[LeadingLaw]:
        """The likeliest law of each path."""

    @property
    def whole(self) -> Whole:
        """How the paths add up."""


def law_rows(model: _InWhole) -> tuple[LawRow, ...]:
    """All paths, the largest share at the target first."""
    points = np.concatenate([slope_points(model, symbol) for symbol in model.symbols])
    draws = model.draws(points)
    sides = quantiles(draws.values[:, :, 1:2], draws.weights, SIDES)[:, 0]
    growths = list(
        zip(
            *(
                growths_of_draws(model, symbol, draws, (2 * number, 2 * number + 1))
                for number, symbol in enumerate(model.symbols)
            ),
            strict=True,
        )
    )
    whole = model.whole
    sums = np.bincount(whole.metric, np.where(whole.counted, sides[:, 0], 0.0))
    share = np.divide(sides[:, 0], sums[whole.metric], out=np.zeros(len(sides)), where=sums[whole.metric] > 0.0)
    reach = np.where(np.isfinite(model.means)[:, :, None], model.measured, -np.inf).max(axis=1).tolist()
    found = []
    for k in np.argsort(-share, kind="stable").tolist():
        leading = model.leading[k]
        found.append(
            LawRow(
                path=model.paths[k],
                share=float(share[k]),
                predicted=float(sides[k, 0]),
                low=float(sides[k, 1]),
                high=float(sides[k, 2]),
                law=leading.text,
                probability=leading.probability,
                growths=growths[k],
                determined=min(growth.probability for growth in growths[k]) >= SURE,
                scattered=model.data[k].scattered,
                reach=dict(zip(model.symbols, reach[k], strict=True)),
                breaks=tuple(segment.until for segment in model.data[k].before),
            )
        )
    return tuple(found)
