"""Large utilization curves with known breakpoints, for benchmarks and experiments.

Two shapes follow Worley ("Modeling histogram data with piecewise polynomials", section 4):
``differential`` is that of Figure 3 (1024 processors of low efficiency: an initialisation, then
four timesteps that each compute briefly and communicate long), ``matrix`` that of Figure 10 (256
processors, sampled regularly: a start-up, a factorization that declines quadratically, and the two
triangular solves). Processors, durations and the order of the phases are the paper's; their levels
are chosen here. In each step every processor computes with the phase's probability, independently
of the others.

``known`` has noisy polynomials of one degree between random breakpoints, every one of them a jump.

Run it as a program to write a file::

    python examples/curves/generate.py matrix --steps 1000000 -o curve.parquet
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import perfcore
from perfcore.base.errors import OptionError, PerfError

__all__ = ["SHAPES", "Phase", "Shape", "make_curve", "make_known"]

Floats = npt.NDArray[np.float64]

_CHUNK = 1 << 20  # steps made at a time: temporaries stay small at 10^8 steps


@dataclass(frozen=True)
class Phase:
    """One phase.

    Parameters
    ----------
    share : float
        Part of the duration.
    coefficients : tuple of float
        Of powers of the time within the phase, which runs from 0 to 1; the polynomial is the share
        of the processors that compute.
    """

    share: float
    coefficients: tuple[float, ...]


@dataclass(frozen=True)
class Shape:
    """A curve's processors, duration, whether its steps are equally wide, and its phases."""

    n_processors: int
    duration_us: float
    regular: bool
    phases: tuple[Phase, ...]


_TIMESTEP = (Phase(0.06, (0.55, -0.15)), Phase(0.16, (0.06, 0.02)))

SHAPES = {
    "differential": Shape(
        n_processors=1024,
        duration_us=205_824.0,
        regular=False,
        phases=(Phase(0.03, (0.95,)), Phase(0.04, (0.3,)), Phase(0.05, (0.02,)), *_TIMESTEP * 4),
    ),
    "matrix": Shape(
        n_processors=256,
        duration_us=78_640_281.0,
        regular=True,
        phases=(
            Phase(0.02, (0.3,)),
            Phase(0.70, (0.9, -0.2, -0.4)),
            Phase(0.14, (0.05, 1.4, -1.4)),
            Phase(0.14, (0.05, 1.2, -1.2)),
        ),
    ),
}


def make_curve(shape: str, n_steps: int, seed: int = 0) -> tuple[perfcore.UtilizationCurve, Floats]:
    """Make a curve of one of the `SHAPES`.

    Parameters
    ----------
    shape : {"differential", "matrix"}
        Which of the two figures.
    n_steps : int
        At least 100, so that every phase has a step.
    seed : int
        The same seed gives the same curve.

    Returns
    -------
    curve : UtilizationCurve
        Time in us; heights are whole numbers of processors.
    true_breaks : (n_phases + 1,) float, us
        Edges at which the phases begin, and the end.

    Raises
    ------
    OptionError
        Unknown shape, or too few steps.

    Examples
    --------
    >>> curve, breaks = make_curve("matrix", 10_000)
    >>> curve.n_steps, curve.end, len(breaks)
    (10000, 78640281.0, 5)
    """
    if shape not in SHAPES:
        raise OptionError(f"unknown shape {shape!r}: choose one of {', '.join(SHAPES)}")
    if n_steps < 100:
        raise OptionError(f"a curve of {n_steps} steps cannot show the shape: at least 100")
    model = SHAPES[shape]
    shares = np.array([phase.share for phase in model.phases])
    first = np.rint(np.concatenate([[0.0], np.cumsum(shares)]) * n_steps).astype(np.int64)
    rng = np.random.default_rng(seed)
    edges = np.empty(n_steps + 1)
    heights = np.empty(n_steps)
    edges[0] = 0.0
    for begin in range(0, n_steps, _CHUNK):
        end = min(begin + _CHUNK, n_steps)
        # Between half and one and a half of the mean: irregular, and no step without width.
        widths = np.ones(end - begin) if model.regular else rng.random(end - begin) + 0.5
        np.cumsum(widths, out=edges[begin + 1 : end + 1])
        edges[begin + 1 : end + 1] += edges[begin]
    edges *= model.duration_us / edges[-1]
    edges[-1] = model.duration_us
    for phase, begin, end in zip(model.phases, first[:-1], first[1:], strict=True):
        _fill_binomial(heights[begin:end], phase.coefficients, model.n_processors, rng)
    curve = perfcore.UtilizationCurve(
        edges, heights, "us", n_locations=model.n_processors, source=f"{shape} (seed {seed})"
    )
    return curve, edges[first]


def make_known(
    n_steps: int, degree: int, n_phases: int, noise: float, seed: int = 0
) -> tuple[perfcore.UtilizationCurve, Floats]:
    """Make noisy polynomials between known breakpoints, on steps of width 1.

    Parameters
    ----------
    n_steps : int
        At least eight for each phase.
    degree : int
        Degree of the polynomials, 0 or more.
    n_phases : int
        How many. None is shorter than a quarter of the mean length.
    noise : float
        Standard deviation of the normal noise; the jumps between the polynomials are 1 to 3.
    seed : int
        The same seed gives the same curve.

    Returns
    -------
    curve : UtilizationCurve
    true_breaks : (n_phases + 1,) float
        First 0, last ``n_steps``.

    Raises
    ------
    OptionError
        Too few steps, no phase, a negative degree or negative noise.

    Examples
    --------
    >>> curve, breaks = make_known(1000, degree=1, n_phases=3, noise=0.0, seed=1)
    >>> jumps = curve.value_at(breaks[1:-1]) - curve.value_at(breaks[1:-1] - 1)
    >>> bool((abs(jumps) > 0.9).all())
    True
    """
    if n_phases < 1 or n_steps < 8 * n_phases:
        raise OptionError(f"{n_phases} phases in {n_steps} steps: at least 1, with 8 steps each")
    if degree < 0 or not noise >= 0:
        raise OptionError(f"degree {degree} and noise {noise}: both must be at least 0")
    rng = np.random.default_rng(seed)
    shares = 0.25 / n_phases + 0.75 * rng.dirichlet(np.ones(n_phases))
    first = np.rint(np.concatenate([[0.0], np.cumsum(shares)]) * n_steps).astype(np.int64)
    heights = np.empty(n_steps)
    centre = value = 10.0
    for begin, end in itertools.pairwise(first):
        slopes = rng.uniform(-2.0, 2.0, degree)
        # Jumps and trends lead back to the centre, so that heights stay positive however many.
        value += rng.uniform(1.0, 3.0) * (1.0 if value < centre else -1.0)
        if (slopes.sum() > 0) == (value > centre):
            slopes = -slopes
        coefficients = (value, *slopes)
        for part, at in _chunks(heights[begin:end]):
            part[:] = _polynomial(coefficients, at) + noise * rng.standard_normal(len(part))
        value += slopes.sum()
    np.maximum(heights, 0.0, out=heights)
    edges = np.arange(n_steps + 1, dtype=np.float64)
    return perfcore.UtilizationCurve(edges, heights, source=f"known (seed {seed})"), edges[first]


def _fill_binomial(heights: Floats, coefficients: Sequence[float], n_processors: int, rng: np.random.Generator) -> None:
    """Draw how many processors compute: the binomial distribution, approximated by the normal."""
    for part, at in _chunks(heights):
        probability = _polynomial(coefficients, at)
        spread = np.sqrt(n_processors * probability * (1.0 - probability))
        drawn = n_processors * probability + spread * rng.standard_normal(len(part), np.float32)
        part[:] = np.clip(np.rint(drawn), 0.0, n_processors)


def _chunks(heights: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Pieces of a phase, each with its steps' midpoints as times within the phase, 0 to 1."""
    for begin in range(0, len(heights), _CHUNK):
        part = heights[begin : begin + _CHUNK]
        yield part, (np.arange(begin, begin + len(part)) + 0.5) / len(heights)


def _polynomial(coefficients: Sequence[float], at: Floats) -> Floats:
    """Horner's rule; times within the phase (n,), from 0 to 1."""
    total = np.full(len(at), coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total *= at
        total += coefficient
    return total


def main() -> int:
    """Run as a program: write the curve, print the true breakpoints."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").splitlines()[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("shape", choices=[*SHAPES, "known"])
    parser.add_argument("--steps", type=int, default=100_000, help="steps of the curve")
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers")
    parser.add_argument("--degree", type=int, default=2, help="of the polynomials (known)")
    parser.add_argument("--phases", type=int, default=9, help="number of phases (known)")
    parser.add_argument("--noise", type=float, default=0.3, help="standard deviation (known)")
    parser.add_argument("-o", "--output", required=True, help="curve.csv or curve.parquet")
    given = parser.parse_args()
    try:
        if given.shape == "known":
            made = make_known(given.steps, given.degree, given.phases, given.noise, given.seed)
        else:
            made = make_curve(given.shape, given.steps, given.seed)
        perfcore.write(made[0], given.output)
    except PerfError as error:
        parser.error(str(error))
    print("true breaks:", *(f"{time:.9g}" for time in made[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
