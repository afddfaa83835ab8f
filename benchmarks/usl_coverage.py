"""How often 95% intervals of the Universal Scalability Law hold the truth, over simulated runs.

python benchmarks/usl_coverage.py --draws 2000
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
import pandas as pd

from perf_regression.options import UslOptions
from perf_regression.usl import UslFitter
from perfcore import Measurements

# Processors, gamma, sigma, kappa, and noise: a share of the largest throughput, or of each time.
SCENARIOS = {
    "throughput, 7 points": ("throughput", [1, 2, 4, 8, 16, 32, 64], 100.0, 0.05, 1e-3, 0.01),
    "throughput, SDM91": ("throughput", [1, 18, 36, 72, 108, 144, 216], 90.0, 0.0277, 1.04e-4, 0.01),
    "throughput, 4 points of 3 runs": ("throughput", [1, 8, 24, 64] * 3, 100.0, 0.05, 1e-3, 0.02),
    "throughput, peak beyond the data": ("throughput", [1, 2, 4, 8, 12, 16, 24, 32], 100.0, 0.05, 2e-4, 0.01),
    "times, 7 points": ("time", [1, 2, 4, 8, 16, 32, 64], 0.01, 0.05, 1e-3, 0.03),
    "times, 5 points": ("time", [1, 4, 16, 64, 128], 0.01, 0.02, 1e-4, 0.02),
    "times, 7 points of 5 runs": ("time", [1, 2, 4, 8, 16, 32, 64] * 5, 0.01, 0.05, 1e-3, 0.1),
}


def coverage(scenario: str, draws: int, seed: int = 0) -> dict[str, float]:
    """Share of the draws in which each quantity lies within its interval."""
    quantity, processors, gamma, sigma, kappa, noise = SCENARIOS[scenario]
    p, rng = np.array(processors, dtype=float), np.random.default_rng(seed)
    largest = p.max()
    exact = gamma * p / (1 + sigma * (p - 1) + kappa * p * (p - 1))
    peak = np.sqrt((1 - sigma) / kappa)
    truth = {
        "gamma": gamma,
        "sigma": sigma,
        "kappa": kappa,
        "p*": peak,
        "peak": gamma * peak / (1 + sigma * (peak - 1) + kappa * peak * (peak - 1)),
        "limit": gamma / sigma,
        "efficiency": 1 / (1 + sigma * (largest - 1) + kappa * largest * (largest - 1)),
        "run at 1.5 p": float("nan"),
    }
    if quantity == "time":
        truth |= {"peak": 1 / truth["peak"], "limit": 1 / truth["limit"]}
    held: dict[str, list[bool]] = {name: [] for name in truth}
    place = 1.5 * largest
    there = gamma * place / (1 + sigma * (place - 1) + kappa * place * (place - 1))
    for _ in range(draws):
        errors = noise * rng.standard_normal(len(p) + 1)
        if quantity == "throughput":
            value, new = exact + exact.max() * errors[:-1], there + exact.max() * errors[-1]
        else:
            value, new = (1 + errors[:-1]) / exact, (1 + errors[-1]) / there
        column = "throughput [1/s]" if quantity == "throughput" else "time [s]"
        runs = Measurements(pd.DataFrame({"p": p, column: value}), value=column, parameters="p")
        model = UslFitter().fit(runs, UslOptions())
        bounds = dict(zip(model.coefficients, np.asarray(model.statsmodels.conf_int()), strict=True))
        bounds |= {each.name.split(" ")[0]: each.interval for each in model.derived()}
        for name, true in truth.items():
            if name == "run at 1.5 p":
                _, low, high = model.predict_array([place], 0.95)[0]
                held[name].append(bool(low <= new <= high))
            else:  # a coefficient that is left out is 0, and what follows from it is open
                low, high = bounds.get(name, (0.0, np.inf if name not in ("sigma", "kappa") else 0.0))
                held[name].append(bool(low <= true <= high))
    return {name: float(np.mean(each)) for name, each in held.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    draws = parser.parse_args().draws
    for scenario in SCENARIOS:
        shares = coverage(scenario, draws)
        print(f"{scenario}: " + ", ".join(f"{name} {share:.1%}" for name, share in shares.items()))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
