"""What two versions of a program are compared by: draws of every path's value, and of how it grows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_scaling.growth import CLASSES, classes_of_draws, slopes_between
from perf_scaling.path_laws import PATH, PathLaws
from perf_scaling.posterior.posterior import equally_probable
from perf_tables.points.points import named_points
from perfcore.models.part_draws import N_DRAWS, Drawn, GrowthDraws, PartDraws


Floats = npt.NDArray[np.float64]

_OCTAVE = 2.0  # growth is looked at from half the level of a parameter to the level, or to twice it from 1 on


def law_part_draws(model: PathLaws, points: Mapping[str, npt.NDArray[Any]]) -> PartDraws:
    """Means of all paths at points, which depend on one another by nothing that the data tell.

    They are to be compared with those of another version, to which a change of the slope beyond the data would happen
    too; so they leave it out.
    """
    levels, _ = named_points({name: points[name] for name in model.symbols if name in points}, model.columns, {})
    places = np.stack([levels[symbol] for symbol in model.symbols], axis=1)
    draws = np.empty((len(model.paths), len(places), N_DRAWS))
    for block, block_draws in model.draws_in_blocks(places):
        draws[block] = equally_probable(block_draws.unchanged(), N_DRAWS)
    return PartDraws(
        what=PATH,
        names=model.paths,
        keys=model.paths,
        parts=Drawn(draws[:, :, N_DRAWS // 2 - 1 : N_DRAWS // 2 + 1].mean(axis=2), draws),  # the median: they ascend
        total=None,
        single_runs=False,
        left_out=model.unfitted,
    )


def law_growth_draws(model: PathLaws, point: Mapping[str, Any]) -> GrowthDraws:
    """Laws of all paths, and how each grows over an octave around a point, one parameter at a time.

    Parameters
    ----------
    model : PathLaws
    point : mapping of str to float
    """
    centre = np.array([float(point[symbol]) for symbol in model.symbols])
    below = np.where(
        centre >= _OCTAVE, centre / _OCTAVE, centre
    )  # logarithms are negative below 1, where nothing was measured
    q = len(centre)
    places = np.tile(centre, (2, q, 1))
    places[0, range(q), range(q)] = below
    places[1, range(q), range(q)] = _OCTAVE * below
    exponents = np.empty((len(model.paths), q, N_DRAWS))
    probabilities = np.empty((len(model.paths), q, len(CLASSES)))
    for block, block_draws in model.draws_in_blocks(places.reshape(2 * q, q)):
        values = block_draws.unchanged()
        slopes = [slopes_between(values[:, :, k], values[:, :, q + k], _OCTAVE) for k in range(q)]
        exponents[block] = equally_probable(np.stack(slopes, axis=2), N_DRAWS)
        for k, symbol in enumerate(model.symbols):
            of_draw = classes_of_draws(model, symbol, block_draws, slopes[k])
            probabilities[block, k] = (of_draw[:, :, None] == np.arange(len(CLASSES))).mean(axis=1)
    return GrowthDraws(
        laws=tuple(law.text for law in model.leading),
        classes=CLASSES,
        probabilities=probabilities,
        symbols=model.symbols,
        exponents=exponents,
    )
