"""Times by category of a one-dimensional FFT on P processors with data of size D, made with known models.

Run ``python examples/lost_cycles/generate.py profile.csv``. The times are those that the Lost Cycles Toolkit's example
speaks of: synchronization grows with D^2 log2 D, since the transform is applied log2 D times to a matrix of size D x D,
while the default models of synchronization loss over the data size are a constant and straight lines. On 8 and on 24
processors it also varies much from run to run.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pandas as pd

PROCESSORS = (2, 4, 8, 16, 24, 32)
SIZES = (16, 32, 64, 128, 256)
UNSTEADY = {8: 12.0, 24: 20.0}  # factor on the noise of synchronization

# Seconds over processors p and data of size d; the remaining time is modelled like any other category.
CATEGORIES: Mapping[str, Callable[[float, float], float]] = {
    "pure computation": lambda p, d: 0.1 * d * np.log2(d) / p,
    "load imbalance": lambda p, d: 0.3 + 0.004 * d,
    "synchronization loss": lambda p, d: 0.3 + 2e-5 * d**2 * np.log2(d),
    "communication loss": lambda p, d: 0.4 + 0.002 * d * np.log2(p),
    "remaining time": lambda p, d: 0.5 + 0.002 * d,
}


def profile(noise: float = 0.02, repetitions: int = 2, seed: int = 1, sync: float = 1.0) -> pd.DataFrame:
    """A row for each category of each run.

    Parameters
    ----------
    noise : float
        Standard deviation of a time, as a part of it.
    repetitions : int
        Runs of each point; the toolkit's default is two.
    seed : int
    sync : float
        Factor on the synchronization loss, to make a second program.
    """
    rng = np.random.default_rng(seed)

    def rows() -> Iterator[tuple[int, int, int, str, float]]:
        for p in PROCESSORS:
            for d in SIZES:
                for run in range(repetitions):
                    for name, model in CATEGORIES.items():
                        is_sync = name == "synchronization loss"
                        spread = noise * (UNSTEADY.get(p, 1.0) if is_sync else 1.0)
                        # No time is below a fifth of its model, whatever the noise.
                        factor = (sync if is_sync else 1.0) * max(1.0 + spread * rng.standard_normal(), 0.2)
                        yield p, d, run, name, factor * model(p, d)

    return pd.DataFrame(rows(), columns=["P", "D", "run", "category", "time_s"])


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path")
    parser.add_argument("--noise", type=float, default=0.02)
    parser.add_argument("--repetitions", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sync", type=float, default=1.0, help="factor on the synchronization loss")
    given = parser.parse_args()
    profile(given.noise, given.repetitions, given.seed, given.sync).to_csv(given.path, index=False)


if __name__ == "__main__":
    main()
