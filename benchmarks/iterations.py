"""How often the period of iterations is right, and how often noise is said to have none.

Run ``python benchmarks/iterations.py``. ``--first-seed`` takes other runs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from phases_simulated import NOISE, make

import perfcore
from perfcore import Trace, UtilizationCurve

Floats = npt.NDArray[np.float64]
_JITTERS = (0.0, 0.02, 0.05, 0.1)
_PROCESSORS = 16
_RIGHT = 0.02


def _course(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Levels of an iteration and the shares of its duration that they last, far enough apart to be seen."""
    while True:
        n = int(rng.integers(2, 7))
        shares = np.diff(np.concatenate([[0.0], np.sort(rng.uniform(0, 1, n - 1)), [1.0]]))
        levels = rng.uniform(0, _PROCESSORS, n)
        spread = np.sqrt(shares @ (levels - shares @ levels) ** 2)
        if spread > 0.1 * _PROCESSORS and shares.max() < 0.95:
            return levels, shares


def _durations(rng: np.random.Generator, jitter: float) -> Floats:
    count = int(rng.integers(6, 80))
    found: Floats = np.maximum(1.0 + jitter * rng.normal(size=count), 0.5)
    return found


def steps(rng: np.random.Generator, jitter: float, noise: float = 0.0) -> tuple[UtilizationCurve, Floats]:
    """Iterations of constant levels, between up to two other stretches before and one after."""
    durations, (levels, shares) = _durations(rng, jitter), _course(rng)
    before = [(rng.uniform(0.2, 4.0), rng.uniform(0, _PROCESSORS)) for _ in range(rng.integers(0, 3))]
    after = [(rng.uniform(0.2, 3.0), rng.uniform(0, _PROCESSORS)) for _ in range(rng.integers(0, 2))]
    inside = [(share * d, level) for d in durations for share, level in zip(shares, levels, strict=True)]
    widths, heights = np.array([*before, *inside, *after]).T
    edges = np.concatenate([[0.0], np.cumsum(widths)])
    curve = UtilizationCurve(edges, heights, "s", n_locations=_PROCESSORS)
    if noise:
        n = 40 * len(durations)
        values = curve.averaged(n)[1] + noise * _PROCESSORS * rng.normal(size=n)
        curve = UtilizationCurve(
            np.linspace(0.0, edges[-1], n + 1), np.clip(values, 0.0, _PROCESSORS), "s", n_locations=_PROCESSORS
        )
    return curve, durations


def noisy(rng: np.random.Generator, jitter: float) -> tuple[UtilizationCurve, Floats]:
    """The same with noise of a tenth of the processors in 40 samples of each iteration."""
    return steps(rng, jitter, 0.1)


def barriers(rng: np.random.Generator, jitter: float) -> tuple[UtilizationCurve, Floats]:
    """Processors that work for a while that varies, and wait at a barrier; the iteration jitters as a whole."""
    durations, imbalance = _durations(rng, jitter), rng.uniform(0.2, 0.8)
    starts, ends, at = [], [], 0.0
    for duration in durations:
        work = duration * np.clip(1.0 - imbalance * rng.beta(2, 2, _PROCESSORS), 0.02, 1.0)
        starts += [at] * _PROCESSORS
        ends += list(at + work)
        at += duration
    times = np.concatenate([starts, ends])
    order = np.argsort(times, kind="stable")
    change = np.repeat([1.0, -1.0], len(starts))[order]
    heights = np.maximum(np.cumsum(change), 0.0)
    edges = np.concatenate([times[order], [at]])
    return UtilizationCurve(edges, heights, "s", n_locations=_PROCESSORS), durations


def kernels(rng: np.random.Generator, jitter: float) -> tuple[Trace, Floats]:
    """All processors compute all the time; only what they compute repeats."""
    durations, (_, shares) = _durations(rng, jitter), _course(rng)
    n_states = len(shares)
    edges = [0]
    for duration in durations:
        edges += np.round(edges[-1] + 1e6 * duration * np.cumsum(shares)).astype(int).tolist()
    start, end = np.array(edges[:-1]), np.array(edges[1:])
    state = np.tile(np.arange(n_states), len(durations))
    locations = 4
    return Trace(
        np.repeat(np.arange(locations), len(start)),
        np.tile(state, locations),
        np.tile(start, locations),
        np.tile(end, locations),
        [f"cpu{k}" for k in range(locations)],
        [f"kernel {chr(97 + k)}" for k in range(n_states)],
        time_unit="ms",
    ), durations


RUNS: dict[str, Callable[[np.random.Generator, float], tuple[object, Floats]]] = {
    "levels": steps,
    "levels, noise": noisy,
    "barriers": barriers,
    "kernels only": kernels,
}

# Of the families without phases, all but the one that has iterations.
_WITHOUT = [family for family in NOISE if family != "barriers"]


def periods(seeds: range) -> None:
    """Print how often number and period are right."""
    print("## Generated iterations: the period is right within 2 %\n")
    print("| runs | " + " | ".join(f"jitter {jitter:.0%}" for jitter in _JITTERS) + " | all | number exact | CPU s |")
    print("| --- |" + " ---: |" * (len(_JITTERS) + 3))
    for number, (name, generate) in enumerate(RUNS.items()):
        right: list[list[bool]] = []
        exact, spent = [], []
        for at, jitter in enumerate(_JITTERS):
            right.append([])
            for seed in seeds:
                data, durations = generate(np.random.default_rng([seed, number, at, 77]), jitter)
                began = time.process_time()
                found = perfcore.iterations(data)
                spent.append(time.process_time() - began)
                true = durations.mean()
                right[-1].append(found.period is not None and abs(found.period / true - 1.0) <= _RIGHT)
                exact.append(found.count == len(durations))
        cells = [f"{np.mean(part):.0%}" for part in right]
        print(
            f"| {name} | {' | '.join(cells)} | {np.mean(right):.0%} | {np.mean(exact):.0%} | {np.median(spent):.2f} |",
            flush=True,
        )


def noise(seeds: range) -> None:
    """Print how often there are none in noise."""
    print("\n## Noise: no iterations\n")
    print("| " + " | ".join(_WITHOUT) + " | random walk | all |")
    print("|" + " ---: |" * (len(_WITHOUT) + 2))
    shares = []
    for family in _WITHOUT:
        shares.append(np.mean([perfcore.iterations(make(NOISE, family, seed).curve).count == 0 for seed in seeds]))
    walks = []
    for seed in seeds:
        walk = np.cumsum(np.random.default_rng([seed, 99]).normal(size=2000))
        walks.append(perfcore.iterations(UtilizationCurve(np.arange(2001.0), walk - walk.min())).count == 0)
    shares.append(np.mean(walks))
    print("| " + " | ".join(f"{share:.0%}" for share in shares) + f" | {np.mean(shares):.0%} |", flush=True)


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=25)
    parser.add_argument("--first-seed", type=int, default=5000)
    given = parser.parse_args()
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    print("# Iterations: how often the period is right\n")
    command = f"python benchmarks/iterations.py --seeds {given.seeds} --first-seed {given.first_seed}"
    print(f"Made by\n\n    {command}\n")
    print(
        f"on {given.seeds} runs of each kind and jitter; no constant was set on these seeds. A run has 6 to 79\n"
        "iterations of 2 to 6 levels, up to two other stretches before them and one after; the jitter is the standard\n"
        "deviation of durations. Noise are the families of [Number of phases](benchmarks-phases.md) but barriers,\n"
        "since they are iterations.\n"
    )
    periods(seeds)
    noise(seeds)


if __name__ == "__main__":
    main()
