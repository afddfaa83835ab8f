"""Gates of eight benchmarks of two files, by source: verdicts without a change and with slowdowns, by several rules.

    python benchmarks/gates_sources.py DATA [--gates 400] [--table docs/figures/gates-sessions.csv]

DATA is the folder of `gates_sessions.py`, with ``sessions_ruby.csv.gz`` (runs r1 to r5 of each day). A slowdown is
injected into one benchmark or into all. Versions of consecutive sessions may differ: alarms are upper limits.
Constants of the gate were chosen on ruby and Django and are judged here on these and on SciPy.
"""

from __future__ import annotations

import argparse
import csv
import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from gates_sessions import LIMIT, LOG, RULES, Gates, drawn, pairs, with_runs
from gates_versions import heading, row
from scipy import stats

from perf_statistics.gating import Outcome, Sessions, judge, session_test

SOURCES = {"ruby": "dedicated", "SciPy 3.7": "dedicated", "SciPy 3.9": "dedicated", "Django 3.11": "hosted",
           "Django 3.12": "hosted"}  # fmt: skip
BENCHMARKS = 8
CHANGES = {"no change": (1.0, 1.0), "+20% in one": (1.2, 1.0), "+20% in all": (1.2, 1.2), "3x in one": (3.0, 1.0)}
OUTCOMES = (Outcome.FAILED, Outcome.UNDECIDED, Outcome.PASSED)


def ruby(data: Path) -> Gates:
    """Consecutive days, five runs each."""
    table = pd.read_csv(data / "sessions_ruby.csv.gz")
    runs = table[[f"r{k}" for k in range(1, 6)]].to_numpy(dtype=float)
    table["median"] = np.median(runs, axis=1)
    table["spread"] = runs.std(axis=1, ddof=1) / table["median"]
    sessions = [own.set_index("benchmark") for _, own in table.groupby("session")]
    found: Gates = []
    for one, other in itertools.pairwise(sessions):
        both = one.index.intersection(other.index)
        a, b, count = one.loc[both], other.loc[both], np.full(len(both), 5.0)
        ratio = np.log(b["median"] / a["median"])
        columns = (ratio, a["spread"], count, b["spread"], count, a["median"] / 1e3)
        found.append(tuple(np.asarray(column, dtype=float) for column in columns))
    return found


def ours(gate: tuple[np.ndarray, ...]) -> tuple[Outcome, float]:
    """Verdict, and the share of intervals that hold 1."""
    ratio, noise, runs, other_noise, other_runs, seconds = gate
    first = Sessions(list(np.zeros((len(ratio), 1))), noise, runs)
    estimates, _ = session_test(first, Sessions(list(ratio[:, None]), other_noise, other_runs), seconds)
    bounds = estimates.bounds()
    return judge(estimates, LIMIT).outcome, float(((bounds[:, 0] <= 0.0) & (bounds[:, 1] >= 0.0)).mean())


def of_rule(rule: Callable[..., tuple[np.ndarray, ...]]) -> Callable[..., tuple[Outcome, float]]:
    return lambda gate: (Outcome.FAILED if rule(gate)[0].any() else Outcome.PASSED, np.nan)


def shares(judged: Callable[..., tuple[Outcome, float]], gates: Gates) -> list[str]:
    """Shares fail / inconclusive / pass of each change, and the coverage without one."""
    cells, coverage = [], np.nan
    for one, others in CHANGES.values():
        shift = np.full(BENCHMARKS, np.log(others))
        shift[0] = np.log(one)
        found = [judged((gate[0] + shift, *gate[1:])) for gate in gates]
        if (one, others) == (1.0, 1.0):
            coverage = float(np.mean([covered for _, covered in found]))
        cells.append(" / ".join(f"{np.mean([o is outcome for o, _ in found]):.0%}" for outcome in OUTCOMES))
    return [*cells, "" if np.isnan(coverage) else f"{coverage:.0%}"]


def welch_and_limit(gate: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """Welch's test of the drawn runs (pyperf), and more than 5%."""
    slower, *others = RULES["Welch (hyperfine, pyperf)"](gate)
    return (slower & (gate[0] > LOG), *others)


def otava(a: np.ndarray, b: np.ndarray) -> bool:
    """The published algorithm of Apache Otava on the runs of both: E-divisive, judged by a t-test, and more than 5%.

    The likeliest change point has the largest Q of D. S. Matteson, N. A. James, JASA 109, 2014, equation 7, with
    distances |x - y|; Otava takes it if Student's t-test of both sides has p < .001 (M. Fleming et al., "Hunter",
    ICPE 2023).
    """
    runs = np.concatenate([a, b])
    distances, count, best = np.abs(runs[:, None] - runs), len(runs), (0.0, 0)
    for k in range(2, count - 1):
        between = distances[:k, k:].mean()
        within = [part.sum() / (len(part) * (len(part) - 1)) for part in (distances[:k, :k], distances[k:, k:])]
        best = max(best, ((2.0 * between - sum(within)) * k * (count - k) / count, k))
    first, second = runs[: best[1]], runs[best[1] :]
    is_change = best[1] > 0 and stats.ttest_ind(first, second).pvalue < 0.001
    return bool(is_change and second.mean() - first.mean() > LOG)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--gates", type=int, default=400)
    parser.add_argument("--table", type=Path)
    given = parser.parse_args()
    columns = ["source", "rule", *CHANGES, "95% interval holds 1"]
    rules = {
        "perf gate": ours,
        "Mann-Whitney + 5%": of_rule(RULES["Mann-Whitney + 5% (benchstat)"]),
        "Welch + 5%": of_rule(welch_and_limit),
        "Welch (pyperf)": of_rule(RULES["Welch (hyperfine, pyperf)"]),
        "Otava + 5%": of_rule(with_runs(otava)),
        "threshold 5%": of_rule(RULES["threshold 5%"]),
    }
    heading(columns)
    rows = []
    for source, kind in SOURCES.items():
        gates = drawn(ruby(given.data) if source == "ruby" else pairs(given.data, source), BENCHMARKS, given.gates)
        for name, rule in rules.items():
            chosen = gates if name == "perf gate" else gates[: given.gates // 4]
            rows.append([f"{source} ({kind})", name, *shares(rule, chosen)])
            row(rows[-1], [])
    if given.table is not None:
        with given.table.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([columns, *rows])


if __name__ == "__main__":
    main()
