"""Gates: false alarms and what is seen, on seeds that no constant was set on and on rounds of real programs.

    python benchmarks/gates.py [--repeated 400] [--rounds ROUNDS.csv] [--history HISTORY.csv] [--only speed,places]

Side by side with Apache Otava and ruptures where they are installed (``pip install apache-otava ruptures``), Welch's
and Mann and Whitney's tests and a bootstrap of medians with Holm's correction, and a threshold of 10 % on means.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import gates_histories
import gates_versions
import numpy as np

from perf_gate.change_detection import detect


def speed() -> None:
    rng = np.random.default_rng(gates_versions.SEED)
    a, b = rng.normal(0.0, 0.02, (2, 500, 30))
    y = rng.normal(0.0, 0.02, 2000)
    many = y.copy()
    many[rng.choice(2000, 20, replace=False)] += 0.4
    detect(many)
    print("\nCPU time, ms, the best of five:")
    for what, call in (
        ("500 benchmarks x 30 rounds", lambda: gates_versions.ours(a, b)),
        ("2,000 values", lambda: detect(y)),
        ("2,000 values, 20 outliers", lambda: detect(many)),
        ("2,000 values, a step", lambda: detect(y + 0.05 * (np.arange(2000) >= 1000))),
    ):
        spent = []
        for _ in range(5):
            begin = time.process_time()
            call()
            spent.append(time.process_time() - begin)
        print(f"  {what}: {1000 * min(spent):.1f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeated", type=int, default=400)
    parser.add_argument("--rounds", type=Path, help="CSV with bench, t0, seconds: programs measured again and again")
    parser.add_argument("--history", type=Path, help="CSV with requests: one benchmark, commit by commit")
    parser.add_argument("--only", default="", help="names of parts, separated by commas")
    given = parser.parse_args()
    parts = {
        "speed": speed,
        "real_rounds": lambda: given.rounds and gates_versions.real_rounds(given.rounds),
        "rounds_that_decide": lambda: gates_versions.rounds_that_decide(given.repeated),
        "family_wise": lambda: gates_versions.family_wise(given.repeated),
        "power": lambda: gates_versions.power(given.repeated),
        "sequential": lambda: gates_versions.sequential(25 * given.repeated),
        "false_alarms": lambda: gates_histories.false_alarms(given.repeated),
        "seen": lambda: gates_histories.seen(given.repeated),
        "places": lambda: gates_histories.places(given.repeated // 2),
        "real_history": lambda: given.history and gates_histories.real_history(given.history),
    }
    for name in given.only.split(",") if given.only else parts:
        parts[name]()
