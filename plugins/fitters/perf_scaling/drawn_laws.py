"""Paths of which it is known what the data leave open, and what is drawn from that: the same for a file and a chunk."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from perf_scaling.posterior.posterior import DRAWS, Draws, Posterior
from perf_scaling.terms import point_text
from perf_tables.points import check_coverage
from perfcore.data.roles import shown_names

if TYPE_CHECKING:
    from perf_scaling.path_data import Law
    from perf_scaling.whole import Whole


_NUMBERS_AT_ONCE = 1 << 21  # in the draws of one block, 16 MB

Floats = npt.NDArray[np.float64]


class DrawnLaws:
    """What is drawn from the laws of K paths; where they are kept, `perf_scaling.path_laws.PathLaws` or a chunk
    says.
    """

    if TYPE_CHECKING:
        columns: dict[str, str]
        points: dict[str, tuple[float, ...]]
        paths: tuple[str, ...]
        laws: tuple[Law, ...]
        target: dict[str, float]

        @property
        def means(self) -> Floats:
            """Mean of each path at each point (K, n); NaN where it was not measured."""

        @property
        def posterior(self) -> Posterior:
            """What the data leave open, as arrays."""

        @property
        def whole(self) -> Whole:
            """How the paths add up."""

    @property
    def symbols(self) -> tuple[str, ...]:
        """The parameters."""
        return tuple(self.columns)

    @property
    def parameter_names(self) -> Mapping[str, str]:
        """What texts call the parameters, by symbol."""
        return shown_names(self.columns)

    @property
    def target_text(self) -> str:
        """The target as a person writes it."""
        return self.point_text(self.target)

    def point_text(self, point: Mapping[str, float]) -> str:
        """Levels of parameters, by symbol, as a person writes them."""
        return point_text({self.parameter_names[symbol]: level for symbol, level in point.items()})

    @property
    def target_point(self) -> Floats:
        """The target as one of the points (q,)."""
        return np.array([self.target[symbol] for symbol in self.symbols], dtype=np.float64)

    @functools.cached_property
    def measured(self) -> Floats:
        """Measured points (n, q)."""
        return np.stack([np.array(self.points[symbol]) for symbol in self.symbols], axis=1)

    @functools.cached_property
    def fitted(self) -> Floats:
        """Median of each path's mean at each point (K, n)."""
        return self.posterior.quantiles(self.measured, [0.5])[:, :, 0]

    def draws(self, points: npt.ArrayLike, paths: Sequence[int] | None = None) -> Draws:
        """Draws from what the data leave open, of all paths or of some, at points (T, q)."""
        posterior = self.posterior if paths is None else self.posterior.of_paths(paths)
        return posterior.draws(points)

    def draws_in_blocks(
        self, points: npt.ArrayLike, paths: Sequence[int] | None = None
    ) -> Iterator[tuple[slice, Draws]]:
        """`draws` of some paths after the other, with their places: of all paths at once they are gigabytes."""
        every = range(len(self.paths)) if paths is None else paths
        count = max(1, _NUMBERS_AT_ONCE // (DRAWS * len(np.asarray(points))))
        for begin in range(0, len(every), count):
            block = slice(begin, min(begin + count, len(every)))
            yield block, self.draws(points, every[block])

    def band(
        self, points: npt.ArrayLike, interval: float, paths: Sequence[int] | None = None, run: bool = False
    ) -> Floats:
        """Median and bounds of the mean or of a run (K, T, 3), of all paths or of some, at points (T, q)."""
        check_coverage(interval)
        posterior = self.posterior if paths is None else self.posterior.of_paths(paths)
        sides = (0.5 - 0.5 * interval, 0.5, 0.5 + 0.5 * interval)
        quantiles = posterior.quantiles(points, sides, run=run)
        if run:  # the estimate is the same for both
            quantiles[:, :, 1:2] = posterior.quantiles(points, (0.5,))
        return quantiles[:, :, [1, 0, 2]]
