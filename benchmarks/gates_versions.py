"""Two versions: false alarms and power of gates and of rivals (part of gates.py)."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from perf_gate.versions import InterimAnalysis, judge_sequentially, next_analysis, sequential_plan
from perf_statistics.gating import Outcome, blocked_test, holm, judge, paired_test

LOG = math.log(1.05)
SEED = 20_270_000
DRAWN = 500  # of a bootstrap

Pair = tuple[np.ndarray, np.ndarray]


def welch(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    p = stats.ttest_ind(b - LOG, a, axis=1, equal_var=False, alternative="greater").pvalue
    return holm(p) <= 0.05


def mann_whitney(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    p = stats.mannwhitneyu(b - LOG, a, axis=1, alternative="greater").pvalue
    return holm(np.asarray(p)) <= 0.05


def bootstrap_of_medians(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng(1)
    k = a.shape[1]
    drawn = [rng.integers(0, k, (2, k)) for _ in range(DRAWN)]
    differences = np.stack([np.median(b[:, two], axis=1) - np.median(a[:, one], axis=1) for one, two in drawn])
    return holm((differences <= LOG).mean(axis=0)) <= 0.05


def ten_per_cent(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.exp(b).mean(1) > 1.1 * np.exp(a).mean(1)


def ours(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return judge(paired_test(list(a), list(b)), 1.05).slower


def ours_in_blocks(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    second = np.arange(a.shape[1] + b.shape[1]) >= a.shape[1]
    series = list(np.concatenate([a, b], axis=1))
    return judge(blocked_test(series, [second] * len(a), LOG), 1.05).slower


TESTS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "perf gate": ours, "Welch, Holm": welch, "Mann-Whitney, Holm": mann_whitney,
    "bootstrap of medians, Holm": bootstrap_of_medians, "10 % on means": ten_per_cent,
}  # fmt: skip


def heading(columns: list[str]) -> None:
    print("\n| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))


def row(first: list[object], shares: list[float]) -> None:
    print("| " + " | ".join([*map(str, first), *(f"{100.0 * share:.1f}" for share in shares)]) + " |", flush=True)


def in_turns(rng: np.random.Generator, runs: np.ndarray) -> Pair:
    """Runs next to each other, which version first by chance."""
    swapped = rng.random(runs.shape[1] // 2) < 0.5
    first, second = (np.where(swapped == which, runs[:, 1::2], runs[:, ::2]) for which in (True, False))
    return first, second


def simulated(rng: np.random.Generator, count: int, k: int) -> Pair:
    """Noises of 0.5 to 20 %, and a drift that all benchmarks share."""
    spread = np.exp(rng.uniform(np.log(0.005), np.log(0.2), count))[:, None]
    drift = np.cumsum(rng.normal(0.0, 1.0, 2 * k)) / math.sqrt(20.0)
    return in_turns(rng, (rng.normal(0.0, 1.0, (count, 2 * k)) + drift) * spread)


def family_wise(repeated: int) -> None:
    print("\nany called slower, per cent of runs; all are exactly 1.05x slower, so that each alarm is false")
    _called(repeated, (3, 5, 10, 20), 0.0)


def power(repeated: int) -> None:
    print("\ncalled slower, per cent of those that are; a tenth is 1.22x slower, the others 1.05x")
    _called(repeated, (5, 10, 20), 0.15)


def _called(repeated: int, rounds: tuple[int, ...], slower: float) -> None:
    heading(["benchmarks", "rounds", *TESTS])
    for count in (1, 3, 10, 100, 500):
        for k in rounds:
            rng = np.random.default_rng([SEED, count, k, bool(slower)])
            times = repeated if count < 100 else repeated * 2 // 5
            times = max(20, times // count) if slower else times
            most_of_rivals = 100 if count < 100 else 20
            true = np.arange(count) < max(1, count // 10)
            called: dict[str, list[float]] = {name: [] for name in TESTS}
            for at in range(times):
                a, b = simulated(rng, count, k)
                for name, test in TESTS.items():
                    if name == "perf gate" or at < most_of_rivals:
                        found = test(a, b + LOG + slower * true[:, None])
                        called[name].append(float(found[true].mean() if slower else found.any()))
            row([count, k], [float(np.mean(own)) for own in called.values()])


def real_rounds(path: Path) -> None:
    table = pd.read_csv(path)
    print("\ncalled slower than 1.05x, per cent; programs compared with themselves")
    heading(["runs of each", "layout", *TESTS])
    for k in (5, 10, 20):
        for layout in ("in turn", "one after the other"):
            called: dict[str, list[float]] = {name: [] for name in TESTS}
            rng = np.random.default_rng([SEED, k])
            for _, own in table.groupby("bench"):
                y = np.log(own.sort_values("t0")["seconds"].to_numpy())
                for begin in range(0, len(y) - 2 * k + 1, 2 * k):
                    runs = y[None, begin : begin + 2 * k]
                    a, b = in_turns(rng, runs) if layout == "in turn" else (runs[:, :k], runs[:, k:])
                    for name, test in TESTS.items():
                        use = ours_in_blocks if name == "perf gate" and layout != "in turn" else test
                        called[name].append(float(use(a, b).any()))
            row([k, f"{layout} ({len(called['perf gate'])})"], [float(np.mean(own)) for own in called.values()])


def rounds_that_decide(repeated: int) -> None:
    """Equal versions: k = 2 sigma^2 (t_.95 + t_.90)^2 / log(1.05)^2 rounds should decide in nine of ten."""
    print("\nrounds that decide: by the normal rule, by the gate's own, and how often these decide, per cent")
    heading(["noise", "normal rule", "the gate's rule", "decided"])
    for noise in (0.01, 0.02, 0.026, 0.04, 0.054, 0.1):
        rng = np.random.default_rng([SEED, int(1000 * noise)])
        plain = 2.0 * (noise * (stats.norm.ppf(0.95) + stats.norm.ppf(0.9)) / LOG) ** 2
        first, second = rng.normal(0.0, noise, (2, 200, 40))
        rule = int(np.median(paired_test(list(first), list(second)).rounds_that_decide(LOG)))
        a, b = rng.normal(0.0, noise, (2, repeated, rule))
        decided = [
            judge(paired_test([x], [y]), 1.05).outcome is not Outcome.UNDECIDED for x, y in zip(a, b, strict=True)
        ]
        row([noise, f"{plain:.1f}", rule], [float(np.mean(decided))])


def sequential(repeated: int) -> None:
    """Rounds are added until it is decided; all exactly at the threshold, or one of them and the others equal."""
    print("\nadding rounds until it is decided, per cent of runs; at the threshold both verdicts are false")
    heading(["benchmarks", "budget", "truth", "runs", "rounds on average", "failed", "passed"])
    for count, budget, share in ((1, 12, 1.0), (1, 40, 1.0), (1, 140, 0.3), (10, 40, 0.1), (100, 40, 0.03)):
        for truth in ("all 1.05x", "one 1.05x, others 1x", "all 1x", "one 1.3x, others 1x"):
            if (count == 1 and truth == "one 1.05x, others 1x") or ("1.05x" not in truth and count == 100):
                continue
            rng = np.random.default_rng([SEED, count, budget, len(truth)])
            times = max(100, int(repeated * share * (1.0 if "1.05x" in truth else 0.02)))
            plan = sequential_plan(budget, count)
            shift = np.zeros((count, 1))
            shift[: count if truth.startswith("all") else 1] = math.log(float(truth.split()[1].strip("x,")))
            outcomes, used = [], []
            for _ in range(times):
                a, b = simulated(rng, count, budget)
                b = b + shift
                outcomes.append(judge_sequentially(list(a), list(b), 1.05, plan)[1].outcome)  # the first verdict holds
                if "1.05x" not in truth:
                    used.append(_rounds_until_decided(a, b, plan))
            shares = [outcomes.count(outcome) / times for outcome in (Outcome.FAILED, Outcome.PASSED)]
            rounds = f"{np.mean(used):.0f}" if used else ""
            row([count, budget, truth, times, rounds], shares)


def _rounds_until_decided(a: np.ndarray, b: np.ndarray, plan: tuple[InterimAnalysis, ...]) -> int:
    rounds = next_analysis(plan, 0)
    while rounds is not None and rounds < plan[-1].rounds:
        judged = judge_sequentially(list(a[:, :rounds]), list(b[:, :rounds]), 1.05, plan)[1]
        if judged.outcome is not Outcome.UNDECIDED:
            return rounds
        rounds = next_analysis(plan, rounds)
    return plan[-1].rounds
