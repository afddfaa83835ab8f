"""Clean series of known models: is the term found, and how far off are the formula and the prediction?

python benchmarks/scaling_clean.py              # 240 series a row; docs/how-we-know-scaling.md

Values are ``a + b p^i log2(p)^j`` at p = 1..32 or 1..128, three runs each; judged at four times the largest p.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd

import perfcore
from perf_scaling.terms import Factor, product_text

EXPONENTS = (0.0, 0.25, 1 / 3, 0.5, 2 / 3, 0.75, 1.0, 1.25, 1.5, 2.0)
TERMS = [(i, j) for i in EXPONENTS for j in (0, 1, 2) if i or j]
RUNS, COUNT = 3, 240


def row(levels: int, noise: float, seed: int) -> list[str]:
    """Figures of one combination."""
    rng = np.random.default_rng(seed)
    p = 2.0 ** np.arange(levels)
    places = np.append(p, 4.0 * p[-1])
    rows, truth, terms = [], {}, {}
    for k in range(COUNT):
        i, j = TERMS[rng.integers(len(TERMS))]
        constant = rng.uniform(0.5, 5.0)
        factor = constant * 10.0 ** (rng.uniform(-2.0, 0.0) if i <= 1.0 else rng.uniform(-3.0, -0.5))
        values = constant + factor * places**i * np.log2(places) ** j
        name = f"series {k:03d}"
        truth[name], terms[name] = values[-1], product_text((Factor("p", i, j),), {"p": "p"})
        rows += [
            (level, name, value * (1.0 + noise * z))
            for level, value in zip(p, values, strict=False)
            for z in rng.standard_normal(RUNS)
        ]
    table = pd.DataFrame(rows, columns=["p", "path", "time_s"])
    started = time.process_time()
    model = perfcore.fit(table, fitter="scaling", parameter="p", value="time_s", path="path")
    rows = model.at({"p": float(places[-1])}).rows
    seconds = time.process_time() - started
    true = np.array([truth[row.path] for row in rows])
    continued = np.abs(np.array([row.continued for row in rows]) / true - 1.0)
    predicted = np.abs(np.array([row.predicted for row in rows]) / true - 1.0)
    inside = np.mean([row.low <= value <= row.high for row, value in zip(rows, true, strict=True)])
    factor = float(np.median([max(row.high / row.predicted, row.predicted / row.low) for row in rows]))
    named = np.mean([terms[row.path] in row.model.terms for row in rows])
    errors = [
        f"{figure:.4f}" for error in (continued, predicted) for figure in (np.median(error), np.quantile(error, 0.9))
    ]
    return [str(levels), f"{noise:.1%}", *errors, f"{inside:.1%}", f"{factor:.2f}", f"{named:.0%}", f"{seconds:.1f}"]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2, help="how many, for each combination")
    header = ("levels", "noise", "formula, median error", "p90", "prediction, median error", "p90", "95% covers", "95%",
              "named", "CPU s")  # fmt: skip
    print(f"| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for seed in range(parser.parse_args().seeds):
        for levels in (6, 8):
            for noise in (0.002, 0.0045, 0.01, 0.05):
                print(f"| {' | '.join(row(levels, noise, seed))} |", flush=True)


if __name__ == "__main__":
    main()
