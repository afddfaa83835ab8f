"""Gates: false alarms and what is seen, on seeds that no constant was set on and on rounds of real programs.

    python benchmarks/gates.py [--repeated 200] [--rounds own_aa_rounds.csv]

Rivals: Welch's and Mann and Whitney's tests with Holm's correction, and a threshold of 10 % on means.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from perf_gate.history.detection import detect
from perf_gating.judging import judge
from perf_gating.known_order import in_known_order
from perf_gating.multiple_tests import holm
from perf_gating.rounds import in_turn

LOG = math.log(1.05)
SEED = 20_260_000


def welch(a: np.ndarray, b: np.ndarray) -> bool:
    p = stats.ttest_ind(b - LOG, a, axis=1, equal_var=False, alternative="greater").pvalue
    return bool((holm(p) <= 0.05).any())


def mann_whitney(a: np.ndarray, b: np.ndarray) -> bool:
    p = stats.mannwhitneyu(b - LOG, a, axis=1, alternative="greater").pvalue
    return bool((holm(np.asarray(p)) <= 0.05).any())


def ten_per_cent(a: np.ndarray, b: np.ndarray) -> bool:
    return bool((np.exp(b).mean(1) > 1.1 * np.exp(a).mean(1)).any())


def ours(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(judge(in_turn(list(a), list(b)), 1.05).slower.any())


def ours_in_blocks(a: np.ndarray, b: np.ndarray) -> bool:
    second = np.arange(a.shape[1] + b.shape[1]) >= a.shape[1]
    series = list(np.concatenate([a, b], axis=1))
    return bool(judge(in_known_order(series, [second] * len(a), LOG), 1.05).slower.any())


TESTS: dict[str, Callable[[np.ndarray, np.ndarray], bool]] = {
    "perf gate": ours, "Welch, Holm": welch, "Mann-Whitney, Holm": mann_whitney, "10 % on means": ten_per_cent,
}  # fmt: skip


def family_wise(repeated: int) -> None:
    print("any false alarm, per cent of runs; all benchmarks exactly 1.05x slower, in turn, common drift\n")
    print("| benchmarks | rounds |", " | ".join(TESTS), "|\n|---|---|" + "---|" * len(TESTS))
    for count in (1, 3, 10, 100, 500):
        for k in (3, 5, 10):
            rng = np.random.default_rng([SEED, count, k])
            alarms = dict.fromkeys(TESTS, 0)
            for _ in range(repeated):
                spread = np.exp(rng.uniform(np.log(0.005), np.log(0.2), count))[:, None]
                drift = np.cumsum(rng.normal(0.0, 1.0, 2 * k)) / math.sqrt(20.0)
                runs = (rng.normal(0.0, 1.0, (count, 2 * k)) + drift) * spread
                swapped = rng.random(k) < 0.5
                a, b = (np.where(swapped == which, runs[:, 1::2], runs[:, ::2]) for which in (True, False))
                for name, test in TESTS.items():
                    alarms[name] += test(a, b + LOG)
            print(
                f"| {count} | {k} |", " | ".join(f"{100 * n / repeated:.1f}" for n in alarms.values()), "|", flush=True
            )


def real_rounds(path: Path) -> None:
    table = pd.read_csv(path)
    print("\ncalled slower than 1.05x, per cent; programs compared with themselves\n")
    print("| runs of each | layout |", " | ".join(TESTS), "|\n|---|---|" + "---|" * len(TESTS))
    for k in (5, 10, 20):
        for layout in ("in turn", "one after the other"):
            called = {name: [] for name in TESTS}
            rng = np.random.default_rng([SEED, k])
            for _, own in table.groupby("bench"):
                y = np.log(own.sort_values("t0")["seconds"].to_numpy())
                for begin in range(0, len(y) - 2 * k + 1, 2 * k):
                    runs = y[begin : begin + 2 * k]
                    a, b = runs[None, :k], runs[None, k:]
                    if layout == "in turn":
                        swapped = rng.random(k) < 0.5
                        a, b = (np.where(swapped == w, runs[1::2], runs[::2])[None] for w in (True, False))
                    for name, test in TESTS.items():
                        use = ours_in_blocks if name == "perf gate" and layout != "in turn" else test
                        called[name].append(use(a, b))
            row = " | ".join(f"{100 * np.mean(found):.1f}" for found in called.values())
            print(f"| {k} | {layout} ({len(called['perf gate'])}) | {row} |", flush=True)


def series(rng: np.random.Generator, count: int, phi: float, heavy: bool = False) -> np.ndarray:
    shocks = rng.standard_t(3, count + 100) / math.sqrt(3.0) if heavy else rng.normal(0.0, 1.0, count + 100)
    values = np.zeros(count + 100)
    for at in range(1, count + 100):
        values[at] = phi * values[at - 1] + shocks[at] * math.sqrt(1.0 - phi * phi)
    return 0.02 * values[100:]


def histories(repeated: int) -> None:
    phis = (0.0, 0.3, 0.6, 0.8, 0.9)
    print("\nseries without a change that alarm, per cent, by autocorrelation\n")
    print("| values |", " | ".join(map(str, phis)), "|\n|---|" + "---|" * len(phis))
    for count, heavy in ((30, False), (120, False), (500, False), (2000, False), (500, True)):
        row = []
        for phi in phis:
            rng = np.random.default_rng([SEED, count, int(10 * phi), heavy])
            times = repeated if count < 2000 else repeated // 4
            row.append(100 * np.mean([bool(detect(series(rng, count, phi, heavy)).steps) for _ in range(times)]))
        print(f"| {count}{', tails of t_3' if heavy else ''} |", " | ".join(f"{x:.1f}" for x in row), "|", flush=True)
    print("\n+5 % at 2 % noise seen within 10 commits, per cent:")
    for phi in phis:
        rng = np.random.default_rng([SEED, int(10 * phi)])
        step = np.log(1.05) * (np.arange(120) >= 110)
        seen = [
            any(s.first - 3 <= 110 <= s.last + 3 for s in detect(series(rng, 120, phi) + step).steps)
            for _ in range(repeated)
        ]
        print(f"  {phi}: {100 * np.mean(seen):.0f}", flush=True)


def speed() -> None:
    rng = np.random.default_rng(SEED)
    a, b = rng.normal(0.0, 0.02, (2, 500, 30))
    y = rng.normal(0.0, 0.02, 2000)
    many = y.copy()
    many[rng.choice(2000, 20, replace=False)] += 0.4
    detect(y)
    print("\nCPU time, ms:")
    for what, call in (
        ("500 benchmarks x 30 rounds", lambda: ours(a, b)),
        ("2,000 values", lambda: detect(y)),
        ("2,000 values, 20 outliers", lambda: detect(many)),
    ):
        begin = time.process_time()
        call()
        print(f"  {what}: {1000 * (time.process_time() - begin):.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeated", type=int, default=200)
    parser.add_argument("--rounds", type=Path, help="CSV with bench, t0, seconds: programs measured again and again")
    given = parser.parse_args()
    speed()
    if given.rounds is not None:
        real_rounds(given.rounds)
    histories(given.repeated)
    family_wise(given.repeated)
