"""Two sessions: verdicts on public benchmark sessions, each source judged by a rule that was fitted to the others.

    python benchmarks/gates_sessions.py DATA [--gates 1000] [--only SOURCE]

DATA is a folder of CSV files: environment, benchmark, session or date, median_s, within_sd, repeats. Consecutive
sessions of an environment are a gate's two files. The versions of some sources differ, so that false alarms are upper
limits. A slowdown is injected into one benchmark or into all. Runs for the tests that need them are drawn from the
normal distribution with the session's median and spread.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from gates_versions import SEED, heading, row
from scipy import optimize, stats

from perf_statistics import gating
from perf_statistics.gating import Sessions, judge, session_test

LIMIT = 1.05
LOG = np.log(LIMIT)
# Source: kind, family (left out together), file, part of the environment's name.
SOURCES = {
    "SciPy 3.7": ("dedicated", "scipy", "dedicated", "py3.7"),
    "SciPy 3.9": ("dedicated", "scipy", "dedicated", "py3.9"),
    "Django 3.11": ("hosted", "django", "hosted_ci", "py3.11"),
    "Django 3.12": ("hosted", "django", "hosted_ci", "py3.12"),
    "ClickBench VM": ("database", "clickbench", "ClickBench_clickhouse", "large"),
}
MEASURED = {
    "sandmark": ("dedicated", "sandmark"),
    "Kokkos": ("hosted", "kokkos"),
    "SciPy 3.9": ("dedicated", "dedicated"),
}
# php real-time-benchmark, same commit, bare metal: |log ratio| at its quantiles, noise 0.18%, 0.3 s, 10 runs. The data
# are not here, their published quantiles are.
PHP = [(0.0, 0.0), (0.5, 0.00094), (0.95, 0.0065), (0.99, 0.0155), (1.0, 0.03)]

Gates = list[tuple[np.ndarray, ...]]  # log ratio, noise and runs of either, seconds of n benchmarks


def sessions(data: Path, file: str, part: str = "") -> list[list[pd.DataFrame]]:
    """Sessions of each environment in order of time, benchmarks as index."""
    table = pd.read_csv(data / f"{file}.csv.gz")
    table = table[table["environment"].str.contains(part, regex=False) & (table["median_s"] > 0.0)]
    key = "session" if "session" in table else "date"
    return [
        [own.drop_duplicates("benchmark").set_index("benchmark") for _, own in environment.groupby(["date", key])]
        for _, environment in table.groupby("environment")
    ]


def pairs(data: Path, name: str) -> Gates:
    _, _, file, part = SOURCES[name]
    found: Gates = []
    for environment in sessions(data, file, part):
        for one, other in itertools.pairwise(environment):
            both = one.index.intersection(other.index)
            a, b = one.loc[both], other.loc[both]
            ratio = np.log(b["median_s"] / a["median_s"])
            columns = (ratio, a["within_sd"], a["repeats"], b["within_sd"], b["repeats"], a["median_s"])
            if len(both) >= 8:
                found.append(tuple(np.asarray(column, dtype=float) for column in columns))
    return found


def drawn(found: Gates, benchmarks: int, count: int) -> Gates:
    """Gates of some benchmarks of a pair of sessions, both at random."""
    rng = np.random.default_rng([SEED, benchmarks])
    gates = []
    for _ in range(count):
        pair = found[rng.integers(len(found))]
        chosen = rng.choice(len(pair[0]), benchmarks, replace=False)
        gates.append(tuple(column[chosen] for column in pair))
    return gates


def ours(gate: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Slower, not slower, covers an unchanged ratio."""
    ratio, noise, runs, other_noise, other_runs, seconds = gate
    first = Sessions(list(np.zeros((len(ratio), 1))), noise, runs)
    estimates, _ = session_test(first, Sessions(list(ratio[:, None]), other_noise, other_runs), seconds)
    judged, bounds = judge(estimates, LIMIT), estimates.bounds()
    return judged.slower, judged.not_slower, (bounds[:, 0] <= 0.0) & (bounds[:, 1] >= 0.0)


def with_runs(test: Callable[[np.ndarray, np.ndarray], bool]) -> Callable[..., tuple[np.ndarray, ...]]:
    """A test of single runs, which are drawn."""

    def judged(gate: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        slower = []
        for ratio, noise, runs, other_noise, other_runs, _ in zip(*gate, strict=True):
            rng = np.random.default_rng([SEED, int(1e9 * noise), int(1e9 * other_noise)])
            a, b = rng.normal(0.0, noise, int(runs)), rng.normal(0.0, other_noise, int(other_runs))
            slower.append(test(a - np.median(a), b - np.median(b) + ratio))
        return np.array(slower), ~np.array(slower), np.zeros(len(slower), dtype=bool)

    return judged


def _mann_whitney(a: np.ndarray, b: np.ndarray) -> bool:
    significant = stats.mannwhitneyu(b, a, alternative="two-sided").pvalue < 0.05
    return bool(significant and np.median(b) - np.median(a) > LOG)


def _welch(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(stats.ttest_ind(b, a, equal_var=False).pvalue < 0.05 and b.mean() > a.mean())


RULES: dict[str, Callable[..., tuple[np.ndarray, ...]]] = {
    "perf gate": ours,
    "Mann-Whitney + 5% (benchstat)": with_runs(_mann_whitney),
    "Welch (hyperfine, pyperf)": with_runs(_welch),
    "threshold 5%": lambda gate: (gate[0] > LOG, gate[0] <= LOG, np.zeros(len(gate[0]), dtype=bool)),
    "threshold 10%": lambda gate: (gate[0] > np.log(1.1), gate[0] <= np.log(1.1), np.zeros(len(gate[0]), dtype=bool)),
}
COLUMNS = ("any false alarm", "unchanged passed", "one +20% found", "all +20% found", "all 3x found", "one +10% passed",
           "coverage")  # fmt: skip


def figures(rule: Callable[..., tuple[np.ndarray, ...]], gates: Gates) -> list[float]:
    def changed(one: float, others: float) -> list[tuple[np.ndarray, ...]]:
        shift = np.full(len(gates[0][0]), np.log(others))
        shift[0] = np.log(one)
        return [rule((gate[0] + shift, *gate[1:])) for gate in gates]

    same, one, all_, three, ten = (changed(*how) for how in ((1, 1), (1.2, 1), (1.2, 1.2), (3, 3), (1.1, 1)))
    return [
        float(np.mean([slower.any() for slower, _, _ in same])),
        float(np.mean([passed.mean() for _, passed, _ in same])),
        float(np.mean([slower[0] for slower, _, _ in one])),
        *(float(np.mean([slower.any() for slower, _, _ in many])) for many in (all_, three)),
        float(np.mean([passed[0] for _, passed, _ in ten])),
        float(np.mean([covered.mean() for _, _, covered in same])),
    ]


CONSTANTS = ("_WITHIN", "_SHORT", "_SHORT_POWER")


def fitted(found: dict[str, Gates], families: Sequence[str]) -> dict[str, float]:
    """Share of the noise, part that short benchmarks add, and its power of time, by maximum likelihood."""
    rng = np.random.default_rng(SEED)
    middle = (np.arange(2000) + 0.5) / 2000
    php = np.interp(middle, *zip(*PHP, strict=True)) * np.where(np.arange(2000) % 2, 1.0, -1.0)
    points = [tuple(np.broadcast_to(value, 2000) for value in (php, 0.0018, 10.0, 0.0018, 10.0, 0.3))]
    for name, gates in found.items():
        if SOURCES[name][1] in families:
            columns = np.concatenate([np.stack(gate) for gate in gates], axis=1)
            quiet = columns[:, (columns[1] + columns[3]) / 2.0 < 0.05]
            points.append(tuple(quiet[:, rng.choice(quiet.shape[1], 8000)]))

    def loss(parameters: np.ndarray) -> float:
        total = 0.0
        for ratio, noise, runs, other_noise, other_runs, seconds in points:
            square = parameters[0] ** 2 * (noise**2 + other_noise**2) / 2.0
            square = square + (parameters[1] * (seconds / 1e-3) ** parameters[2]) ** 2
            error = np.sqrt(square + np.pi / 2.0 * (noise**2 / runs + other_noise**2 / other_runs))
            total -= float(np.mean(stats.t.logpdf(ratio / error, 4) - np.log(error)))
        return total

    found_at = optimize.minimize(loss, [1.0, 0.006, -0.2], method="Nelder-Mead").x.tolist()
    return dict(zip(CONSTANTS, found_at, strict=True))


def two_files(data: Path, count: int, only: str) -> None:
    print("\nTwo files, per cent; with the constants in use, and with those fitted without the source's family")
    heading(["source", "kind", "benchmarks", "rule", *COLUMNS])
    found = {name: pairs(data, name) for name in SOURCES}
    used = {name: getattr(gating, name) for name in CONSTANTS}
    for name, gates in found.items():
        kind, family, *_ = SOURCES[name]
        if only and only not in name:
            continue
        others = [f for _, f, *_ in SOURCES.values() if f not in (family, "clickbench")]
        constants = fitted(found, others)
        for benchmarks in (1, 2, 8):
            chosen = drawn(gates, benchmarks, count)
            row([name, kind, benchmarks, "perf gate"], figures(ours, chosen))
            vars(gating).update(constants)
            label = f"fitted without {family}: " + ", ".join(f"{value:.2g}" for value in constants.values())
            row([name, kind, benchmarks, label], figures(ours, chosen))
            vars(gating).update(used)
            if benchmarks == 8 and kind != "database":
                for rival, rule in list(RULES.items())[1:]:
                    row([name, kind, benchmarks, rival], figures(rule, chosen[: count // 4]))


def several_old_files(data: Path, count: int, old: int = 5) -> None:
    print(f"\n{old} old files that measure the variation, and one new file, per cent")
    heading(["source", "kind", "benchmarks", *COLUMNS])
    for name, (kind, file) in MEASURED.items():
        part = SOURCES[name][3] if name in SOURCES else ""
        environments = [each for each in sessions(data, file, part) if len(each) > old]
        for benchmarks in (1, 2, 8):
            rng = np.random.default_rng([SEED, benchmarks])
            gates = []
            while len(gates) < count:
                environment = environments[rng.integers(len(environments))]
                begin = int(rng.integers(len(environment) - old))
                group = environment[begin : begin + old + 1]
                names = sorted(set.intersection(*(set(each.index) for each in group)))
                if len(names) < benchmarks:
                    continue
                own = [
                    each.loc[[names[k] for k in rng.choice(len(names), benchmarks, replace=False)]] for each in group
                ]
                own = [each.loc[own[0].index] for each in group]
                logs = np.log(np.stack([each["median_s"] for each in own]))
                noise = np.stack([each["within_sd"] for each in own])
                gates.append((logs[-1], logs[:-1], noise, np.stack([each["repeats"] for each in own])))

            def rule(gate: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
                new, before, noise, runs = gate
                noise = np.where(noise < 0.0, np.nan, noise)
                sides = [
                    Sessions(list(levels), np.sqrt((own**2).mean(axis=0)), number.mean(axis=0))
                    for levels, own, number in (
                        (before.T, noise[:-1], runs[:-1]),
                        (new[:, None], noise[-1:], runs[-1:]),
                    )
                ]
                estimates, _ = session_test(*sides, np.exp(before.mean(axis=0)))
                judged, bounds = judge(estimates, LIMIT), estimates.bounds()
                return judged.slower, judged.not_slower, (bounds[:, 0] <= 0.0) & (bounds[:, 1] >= 0.0)

            row([name, kind, benchmarks], figures(rule, gates))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--gates", type=int, default=1000)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    two_files(given.data, given.gates, given.only)
    several_old_files(given.data, given.gates)
