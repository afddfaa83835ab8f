"""Histories: false alarms, what is seen and where, of gates and of rivals (part of gates.py).

Rivals that are not installed are left out: ``pip install apache-otava ruptures``.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from gates_versions import SEED, heading, row
from scipy.signal import lfilter

from perf_gate.change_detection import detect

PHIS = (0.0, 0.3, 0.6, 0.8, 0.9)
NOISE = 0.02
MARGIN = 5  # commits, within which a step counts as found


def ours(y: np.ndarray) -> list[int]:
    return [step.place for step in detect(y).steps]


def otava(y: np.ndarray) -> list[int]:
    """With its defaults: windows of 50, p of .001."""
    from otava.analysis import compute_change_points

    return [point.index for point in compute_change_points(np.exp(y).tolist())[0]]


def pelt(y: np.ndarray) -> list[int]:
    """Penalty 3 s^2 log T, s by the median of differences."""
    import ruptures

    spread = float(np.median(np.abs(np.diff(y)))) / (0.6745 * math.sqrt(2.0))
    penalty = 3.0 * spread**2 * math.log(len(y))
    return ruptures.Pelt(model="l2", min_size=3, jump=1).fit(y).predict(pen=penalty)[:-1]


RIVALS = {"Apache Otava": ("otava", otava), "PELT (ruptures)": ("ruptures", pelt)}
FINDERS: dict[str, Callable[[np.ndarray], list[int]]] = {
    "perf gate": ours,
    **{name: find for name, (module, find) in RIVALS.items() if importlib.util.find_spec(module) is not None},
}


def series(rng: np.random.Generator, count: int, phi: float, heavy: bool = False) -> np.ndarray:
    """AR(1) noise of 2 %; heavy: innovations of Student's t_3."""
    shocks = rng.standard_t(3, count + 100) / math.sqrt(3.0) if heavy else rng.normal(0.0, 1.0, count + 100)
    return NOISE * lfilter([math.sqrt(1.0 - phi * phi)], [1.0, -phi], shocks)[100:]


def false_alarms(repeated: int) -> None:
    print("\nseries without a change in which a step is found, per cent, by autocorrelation")
    heading(["", "values", *map(str, PHIS)])
    for name, find in FINDERS.items():
        for count, heavy in ((30, False), (120, False), (500, False), (2000, False), (120, True), (500, True)):
            if name != "perf gate" and (count, heavy) not in ((120, False), (500, True)):
                continue
            times = {2000: repeated // 4, 500: repeated // 2}.get(count, repeated)
            times = times if name == "perf gate" else min(times, 40)
            shares = []
            for phi in PHIS:
                rng = np.random.default_rng([SEED, count, int(10 * phi), heavy])
                shares.append(float(np.mean([bool(find(series(rng, count, phi, heavy))) for _ in range(times)])))
            row([name, f"{count}{', tails of t_3' if heavy else ''} ({times})"], shares)


def seen(repeated: int) -> None:
    print("\n+5 % at 2 % noise seen within 10 commits, per cent")
    heading(["", *map(str, PHIS)])
    for name, find in FINDERS.items():
        shares = []
        for phi in PHIS:
            rng = np.random.default_rng([SEED, int(10 * phi), 1])
            step = np.log(1.05) * (np.arange(120) >= 110)
            times = repeated if name == "perf gate" else min(repeated, 40)
            found = [find(series(rng, 120, phi) + step) for _ in range(times)]
            shares.append(float(np.mean([any(abs(place - 110) <= MARGIN for place in places) for places in found])))
        row([name], shares)


def f1(truth: list[int], found: list[int]) -> float:
    """G. van den Burg, C. Williams, arXiv 2003.06222: the first value counts as a change on both sides."""
    left, wanted = {0, *found}, {0, *truth}
    size, hits = len(left) + len(wanted), 0
    for place in sorted(wanted):
        near = [other for other in left if abs(other - place) <= MARGIN]
        if near:
            hits += 1
            left.remove(min(near, key=lambda other: abs(other - place)))
    return 2.0 * hits / size


def with_steps(rng: np.random.Generator, phi: float, spikes: bool) -> tuple[np.ndarray, list[int]]:
    """300 values with 0 to 6 steps of 3 to 10 %, at least 10 apart; spikes: 5 % of values are 8 to 20 % too large."""
    count = int(rng.integers(0, 7))
    while True:
        places = np.sort(rng.choice(np.arange(10, 290), count, replace=False))
        if count < 2 or np.diff(places).min() >= 10:
            break
    y = series(rng, 300, phi)
    for place in places:
        y = y + rng.choice([-1.0, 1.0]) * rng.uniform(0.03, 0.10) * (np.arange(300) >= place)
    if spikes:
        y = y + (rng.random(300) < 0.05) * rng.uniform(0.08, 0.20, 300)
    return y, places.tolist()


def places(repeated: int) -> None:
    print("\nF1 of places, 300 values with 0 to 6 steps")
    columns = [(0.0, False), (0.3, False), (0.6, False), (0.8, False), (0.0, True)]
    heading(["", "white", "AR .3", "AR .6", "AR .8", "spikes"])
    for name, find in FINDERS.items():
        scores = []
        for phi, spikes in columns:
            rng = np.random.default_rng([SEED, int(10 * phi), spikes, 2])
            cases = [
                with_steps(rng, phi, spikes) for _ in range(repeated if name == "perf gate" else min(repeated, 40))
            ]
            scores.append(float(np.mean([f1(truth, find(y)) for y, truth in cases])))
        print("| " + " | ".join([name, *(f"{score:.2f}" for score in scores)]) + " |", flush=True)


def real_history(path: Path) -> None:
    y = np.log(pd.read_csv(path)["requests"].to_numpy())
    print(f"\nsteps in {len(y)} values of a real history")
    for name, find in FINDERS.items():
        print(f"  {name}: {', '.join(map(str, find(y)))}")
    found = detect(y)
    print(f"  outliers of perf gate: {', '.join(map(str, found.outliers))}; noise {found.noise.spread:.1%}")
