"""The shapes that a pair's time may have over the parameters: sums of functions, in all their proportions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perf_statistics.least_squares.shapes import GatheredShapes, Shapes


Floats = npt.NDArray[np.float64]

_STEP = 0.7  # between proportions of two functions, in the logarithm; what lies between, the tilt reaches
_TILT = 0.6 * _STEP  # standard deviation of the proportion about a step
_HIDDEN = 4.0  # how far the smaller function stays below the larger one everywhere: at most 2 % of it
_SIZES = (0.3, 0.5, 0.2)  # how likely one, two, three or more functions are


def shapes_of(
    values: Floats,
    measured_design: Floats,
    new_design: Floats,
    hypotheses: Sequence[tuple[int, ...]],
    *,
    signed: bool,
    expected: Floats,
) -> Shapes:
    """Every shape of some sums of functions.

    Of two functions all proportions are taken, from one where the first hides the second everywhere to the opposite; of
    more functions, and of negative coefficients, those about the coefficients of least relative squares.
    """
    gathered = GatheredShapes()
    sizes = np.array([min(len(members), len(_SIZES)) for members in hypotheses])
    counts = np.bincount(sizes, minlength=len(_SIZES) + 1)[1:]
    likely = np.where(counts > 0, _SIZES, 0.0)
    likely = likely / likely.sum()
    for members, size in zip(hypotheses, sizes.tolist(), strict=True):
        prior = float(np.log(likely[size - 1] / counts[size - 1]))
        columns = list(members)
        if len(columns) == 1:
            gathered.single(measured_design[:, columns[0]], new_design[:, columns[0]], prior)
        elif len(columns) == 2:
            _proportions(gathered, measured_design[:, columns], new_design[:, columns], prior)
        if len(columns) > 2 or signed:
            gathered.about_fit(values, measured_design[:, columns], new_design[:, columns], prior, signed=signed)
    shapes = gathered.shapes()
    if shapes is None:
        gathered.last_resort(values, values, expected)
        shapes = gathered.shapes()
    assert shapes is not None
    return shapes


def _proportions(gathered: GatheredShapes, measured_design: Floats, new_design: Floats, prior: float) -> None:
    """Two functions in all proportions, none of them negative."""
    if (measured_design < 0.0).any() or (new_design < 0.0).any():
        return
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log(measured_design[:, 0] / measured_design[:, 1])
    ratios = ratios[np.isfinite(ratios)]
    if not len(ratios):
        return
    low, high = -ratios.max() - _HIDDEN, -ratios.min() + _HIDDEN
    half = np.exp(0.5 * np.linspace(low, high, 1 + int(np.ceil((high - low) / _STEP))))[:, None]
    first = half * measured_design[:, 0], half * new_design[:, 0]
    second = measured_design[:, 1] / half, new_design[:, 1] / half
    sums = first[0] + second[0], first[1] + second[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        tilt, tilt_new = (part / both - 0.5 for part, both in zip(first, sums, strict=True))
    gathered.add(*sums, tilt[:, None], tilt_new[:, None], _TILT, prior - float(np.log(len(half))))
