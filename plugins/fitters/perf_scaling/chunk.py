"""Laws of a chunk of very many paths: nearly those of a model, kept as columns and not as a file of components."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from perf_scaling.described_laws import DescribedLaws
from perf_scaling.engine import fit_paths
from perf_scaling.options import LawOptions
from perf_scaling.path_data import Law
from perf_scaling.posterior.posterior import Posterior
from perf_scaling.posterior.stored import used_alone
from perf_scaling.runs import Runs
from perf_scaling.whole import Whole
from perfcore.data.measurements import Measurements

if TYPE_CHECKING:
    import pandas as pd


Floats = npt.NDArray[np.float64]

_PATHS_AT_ONCE = 4096  # whose components are held: some 70 MB


@dataclass(frozen=True)
class _Weighed(DescribedLaws):
    """Some paths whose components are arrays; their shares are what they are predicted to take."""

    columns: dict[str, str]
    points: dict[str, tuple[float, ...]]
    paths: tuple[str, ...]
    laws: tuple[Law, ...]
    target: dict[str, float]
    posterior: Posterior

    @property
    def means(self) -> Floats:
        return self.posterior.means

    @property
    def whole(self) -> Whole:
        """Each path for itself: what it is a share of is not known here."""
        return Whole((), np.arange(len(self.paths)), np.ones(len(self.paths), dtype=np.bool_), False)


def path_columns(data: Measurements, options: LawOptions) -> list[str]:
    """The columns that together name a path: rows that agree in them belong together."""
    roles = data.roles
    return list(options.path or (*roles.code, *roles.system, *roles.category))


def laws_of_chunk(
    paths: Sequence[str],
    columns: Mapping[str, str],
    runs: Runs,
    points: Floats,
    target: Mapping[str, float],
    options: LawOptions,
    reciprocal: bool,
) -> pd.DataFrame:
    """What is said of each path of a chunk at the target, as `perf_scaling.tables.law_frame` does of a model."""
    import pandas as pd

    from perf_scaling.row_tables import law_frame

    symbols = tuple(columns)
    of_points = {symbol: tuple(levels) for symbol, levels in zip(symbols, points.T.tolist(), strict=True)}
    frames = []
    for begin in range(0, len(paths), _PATHS_AT_ONCE):
        block = slice(begin, begin + _PATHS_AT_ONCE)
        posterior = fit_paths(
            points, runs.of_paths(block), options.exponents, options.logarithms, sparse=True, reciprocal=reciprocal
        )
        laws, posterior = used_alone(posterior, symbols)
        weighed = _Weighed(dict(columns), of_points, tuple(paths[block]), laws, dict(target), posterior)
        frames.append(law_frame(weighed))
    return pd.concat(frames, ignore_index=True)


def at_points(value_points: Sequence[Sequence[float]], values: Floats, points: Floats) -> Floats:
    """Values (K, m) at some points as values at all points (K, n); NaN at the others."""
    number = {point: place for place, point in enumerate(map(tuple, points.tolist()))}
    filled = np.full((len(values), len(points)), np.nan)
    filled[:, [number[tuple(point)] for point in value_points]] = values
    return filled
