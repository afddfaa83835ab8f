"""Utilization with known phases: processors that alternate, iterations with a barrier, dependent samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perfcore import UtilizationCurve

__all__ = ["CHANGING", "NOISE", "WANDERING", "Run", "make", "make_pair"]

Floats = npt.NDArray[np.float64]
_CELLS = 512


@dataclass(frozen=True)
class Run:
    """One simulated run.

    Attributes
    ----------
    curve : UtilizationCurve
        From 0 to 1.
    breaks : (n + 1,) float
        True ones, 0 and 1 included.
    degree : int
        Of the phases.
    levels : (n,) float or None
        True means, where they are known.
    """

    curve: UtilizationCurve
    breaks: Floats
    degree: int
    levels: Floats | None


def phases(rng: np.random.Generator, fewest: int, most: int, shortest: float) -> Floats:
    """Breaks of several phases, none too short."""
    n = int(rng.integers(fewest, most + 1))
    while True:
        breaks = np.concatenate([[0.0], np.sort(rng.uniform(0, 1, n - 1)), [1.0]])
        if np.diff(breaks).min() > shortest:
            return breaks


def apart(rng: np.random.Generator, n: int, low: float, high: float, least: float) -> list[float]:
    """Levels whose neighbours differ."""
    found = [float(rng.uniform(low, high))]
    while len(found) < n:
        level = float(rng.uniform(low, high))
        if abs(level - found[-1]) > least:
            found.append(level)
    return found


def _curve(starts: Sequence[float], ends: Sequence[float], processors: int) -> UtilizationCurve:
    times = np.concatenate([starts, ends])
    change = np.concatenate([np.ones(len(starts)), -np.ones(len(ends))])
    order = np.argsort(times, kind="stable")
    heights = np.maximum(np.cumsum(change[order]), 0.0)
    edges = np.concatenate([[0.0], times[order], [1.0]])
    return UtilizationCurve(edges, np.concatenate([[0.0], heights]), "s", n_locations=processors)


def alternating(
    rng: np.random.Generator,
    breaks: Floats,
    duty: Sequence[float | Callable[[float], float]],
    processors: int = 16,
    cycle: float = 0.004,
    shape: float = 1.0,
) -> UtilizationCurve:
    """Processors that compute and wait in turns, whose share of computing changes at each break."""
    starts, ends = [], []
    for _ in range(processors):
        at = -rng.uniform(10.0, 11.0) * cycle  # long before the start, so that they begin out of step
        while at < 1.0:
            i = min(max(int(np.searchsorted(breaks, at, side="right")) - 1, 0), len(breaks) - 2)
            given = duty[i]
            share = given(max(at - breaks[i], 0.0) / (breaks[i + 1] - breaks[i])) if callable(given) else given
            work = rng.gamma(shape, cycle * share / shape)
            if at + work > 0.0:
                starts.append(max(at, 0.0))
                ends.append(min(at + work, 1.0))
            at += work + rng.gamma(shape, cycle * (1.0 - share) / shape)
    return _curve(starts, ends, processors)


def synchronising(
    rng: np.random.Generator, breaks: Floats, imbalance: Sequence[float], processors: int = 16, period: float = 0.01
) -> UtilizationCurve:
    """Iterations that end with a barrier: who is done waits."""
    starts, ends, at = [], [], 0.0
    while at < 1.0:
        i = min(int(np.searchsorted(breaks, at, side="right")) - 1, len(breaks) - 2)
        length = period * rng.uniform(0.9, 1.1)
        work = length * np.clip(1.0 - imbalance[i] * rng.beta(2, 2, processors) * 1.2, 0.02, 1.0)
        starts += [at] * processors
        ends += list(np.minimum(at + work, 1.0))
        at += length
    return _curve(starts, ends, processors)


def _samples(values: Floats, processors: int | None = None) -> UtilizationCurve:
    return UtilizationCurve(
        np.arange(len(values) + 1) / len(values), np.maximum(values, 0.0), "s", n_locations=processors
    )


def autoregressive(rng: np.random.Generator, correlation: float, n: int = _CELLS) -> Floats:
    """Noise of variance 1."""
    shocks = rng.normal(0, np.sqrt(1 - correlation**2), n)
    values = np.empty(n)
    values[0] = rng.normal()
    for i in range(1, n):
        values[i] = correlation * values[i - 1] + shocks[i]
    return values


def _constant(rng: np.random.Generator, processors: int, cycle: float) -> Run:
    breaks, level = phases(rng, 2, 6, 0.06), 0.2
    duty = apart(rng, len(breaks) - 1, 0.1, 0.95, level)
    return Run(alternating(rng, breaks, duty, processors, cycle), breaks, 0, processors * np.array(duty))


def _slow(rng: np.random.Generator) -> Run:
    breaks = phases(rng, 2, 5, 0.1)
    duty = apart(rng, len(breaks) - 1, 0.1, 0.95, 0.25)
    return Run(alternating(rng, breaks, duty, 8, 0.02), breaks, 0, 8 * np.array(duty))


def _regular(rng: np.random.Generator) -> Run:
    breaks = phases(rng, 2, 6, 0.06)
    duty = apart(rng, len(breaks) - 1, 0.1, 0.95, 0.2)
    return Run(alternating(rng, breaks, duty, 16, 0.006, shape=9.0), breaks, 0, 16 * np.array(duty))


def _barriers(rng: np.random.Generator, period: float, most: int, shortest: float, least: float) -> Run:
    breaks = phases(rng, 2, most, shortest)
    imbalance = apart(rng, len(breaks) - 1, 0.05, 0.9, least)
    waits = np.linspace(0.0005, 0.9995, 1000)  # shares of the slowest, beta(2, 2) distributed
    weights = waits * (1.0 - waits)
    levels = [16 * np.average(np.clip(1.0 - 1.2 * each * waits, 0.02, 1.0), weights=weights) for each in imbalance]
    return Run(synchronising(rng, breaks, imbalance, 16, period), breaks, 0, np.array(levels))


def _falling(rng: np.random.Generator, power: int) -> Run:
    breaks = phases(rng, 2, 5, 0.12)
    ends = [(rng.uniform(0.7, 0.95), rng.uniform(0.15, 0.5)) for _ in breaks[1:]]
    duty = [lambda x, high=high, low=low: high - (high - low) * x**power for high, low in ends]
    levels = 8 * np.array([high - (high - low) / (power + 1) for high, low in ends])
    return Run(alternating(rng, breaks, duty, 8, 0.004), breaks, power, levels)


def _dependent(rng: np.random.Generator, correlation: float) -> Run:
    breaks = phases(rng, 2, 5, 0.1)
    levels = np.array(apart(rng, len(breaks) - 1, 0, 10, 2)) + 10.0
    at = (np.arange(_CELLS) + 0.5) / _CELLS
    which = np.searchsorted(breaks, at, side="right") - 1
    return Run(_samples(levels[which] + 0.9 * autoregressive(rng, correlation)), breaks, 0, levels)


CHANGING: dict[str, Callable[[np.random.Generator], Run]] = {
    "on/off": lambda rng: _constant(rng, 16, 0.004),
    "on/off, 64 processors": lambda rng: _constant(rng, 64, 0.01),
    "on/off, slow": _slow,
    "on/off, regular": _regular,
    "barriers": lambda rng: _barriers(rng, 0.01, 6, 0.06, 0.25),
    "barriers, slow": lambda rng: _barriers(rng, 0.03, 5, 0.12, 0.3),
    "linear": lambda rng: _falling(rng, 1),
    "quadratic": lambda rng: _falling(rng, 2),
    "AR(0.9)": lambda rng: _dependent(rng, 0.9),
}

_WHOLE = np.array([0.0, 1.0])


def _level(curve: UtilizationCurve) -> Run:
    return Run(curve, _WHOLE, 0, None)


def _dips(rng: np.random.Generator) -> Floats:
    values = 20.0 + rng.normal(0, 0.3, _CELLS)
    values[rng.integers(0, _CELLS, 6)] -= rng.uniform(5, 15, 6)
    return values


NOISE: dict[str, Callable[[np.random.Generator], Run]] = {
    "independent": lambda rng: _level(_samples(20 + rng.normal(0, 1, 2000))),
    "counts": lambda rng: _level(_samples(rng.poisson(5, 1000).astype(float))),
    "heavy tails": lambda rng: _level(_samples(50 + rng.standard_t(3, 1000))),
    "AR(0.5)": lambda rng: _level(_samples(20 + autoregressive(rng, 0.5))),
    "AR(0.9)": lambda rng: _level(_samples(20 + autoregressive(rng, 0.9))),
    "on/off": lambda rng: _level(alternating(rng, _WHOLE, [rng.uniform(0.2, 0.8)], 8, 10 ** rng.uniform(-3, -1.7))),
    "on/off, regular": lambda rng: _level(alternating(rng, _WHOLE, [rng.uniform(0.2, 0.8)], 16, 0.01, 9.0)),
    "barriers": lambda rng: _level(
        synchronising(rng, _WHOLE, [rng.uniform(0.2, 0.8)], 16, 10 ** rng.uniform(-2.3, -1.5))
    ),
    "rare dips": lambda rng: _level(_samples(_dips(rng))),
}


def _power(rng: np.random.Generator, exponent: float, n: int) -> Floats:
    """Noise whose power falls as this power of the frequency, of variance 1."""
    frequency = np.fft.rfftfreq(2 * n)
    frequency[0] = frequency[1]
    waves = rng.normal(size=n + 1) + 1j * rng.normal(size=n + 1)
    found = np.fft.irfft(waves / frequency ** (exponent / 2))[:n]
    return np.asarray(found / found.std())


def _samples_of(rng: np.random.Generator) -> int:
    return int(rng.choice([150, 300, 512, 800, 2000]))


# No phases, and no scale either: the level of every stretch, however long, differs from that of the next.
WANDERING: dict[str, Callable[[np.random.Generator], Run]] = {
    "random walk": lambda rng: _level(_samples(20 + np.cumsum(0.2 * rng.normal(size=_samples_of(rng))))),
    "1/f^1.5": lambda rng: _level(_samples(20 + _power(rng, 1.5, _samples_of(rng)))),
    "1/f": lambda rng: _level(_samples(20 + _power(rng, 1.0, _samples_of(rng)))),
    "AR(0.99)": lambda rng: _level(_samples(20 + autoregressive(rng, 0.99, _samples_of(rng)))),
    "slow and fast": lambda rng: _level(
        _samples(20 + autoregressive(rng, 0.95, n := _samples_of(rng)) + rng.normal(size=n))
    ),
}


def make(families: dict[str, Callable[[np.random.Generator], Run]], family: str, seed: int) -> Run:
    """One run of a family."""
    return families[family](np.random.default_rng([seed, list(families).index(family), 2026]))


def make_pair(seed: int) -> tuple[tuple[Run, list[int]], tuple[Run, list[int]]]:
    """Two runs of one program, phases 0.7 to 1.4 times as long; in every third pair one lacks a phase.

    Each comes with which phase of the program its phases are.
    """
    rng = np.random.default_rng([seed, 77, 2026])
    breaks = phases(rng, 3, 6, 0.06)
    n = len(breaks) - 1
    level = apart(rng, n, 0.1, 0.95, 0.2)
    missing = int(rng.integers(1, n - 1)) if seed % 3 == 0 else -1
    made = []
    for which in range(2):
        own = [k for k in range(n) if not (which and k == missing)]
        lengths = (np.diff(breaks) * rng.uniform(0.7, 1.4, n))[own]
        cuts = np.concatenate([[0.0], np.cumsum(lengths)]) / lengths.sum()
        chosen = [level[k] for k in own]
        if seed % 2:
            made.append((Run(alternating(rng, cuts, chosen), cuts, 0, None), own))
        else:
            made.append((Run(synchronising(rng, cuts, chosen), cuts, 0, None), own))
    return made[0], made[1]
