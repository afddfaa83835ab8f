"""How often the interval of a break that several curves share holds it: columns of simulated series.

Run ``python benchmarks/phases_joint.py``. The number of phases is the one that the rule finds.
"""

from __future__ import annotations

import argparse

import numpy as np
import numpy.typing as npt
from phases_simulated import apart, autoregressive, phases

import perfcore
from perfcore import Series

Floats = npt.NDArray[np.float64]
_N = 1024
KINDS = ("independent", "a curve and its complement", "noise in common", "one of three changes")


def make(kind: str, seed: int) -> tuple[Series, Floats]:
    """Columns, and the breaks from 0 to their length."""
    rng = np.random.default_rng([seed, KINDS.index(kind), 91])
    breaks = phases(rng, 2, 5, 0.1)
    which = np.searchsorted(breaks, (np.arange(_N) + 0.5) / _N, side="right") - 1

    def levels(least: float) -> Floats:
        return 20.0 + np.array(apart(rng, len(breaks) - 1, 0, 5 * least, least))[which]

    def noise(correlation: float) -> Floats:
        return autoregressive(rng, correlation, _N)

    if kind == "independent":
        columns = {name: levels(1.0) + noise(0.5) for name in "abc"}
    elif kind == "a curve and its complement":
        first = levels(2.0) + noise(0.5)
        columns = {"a": first, "b": 60.0 - first + 0.3 * noise(0.0)}
    elif kind == "noise in common":
        common = noise(0.8)
        columns = {name: levels(2.0) + common + 0.5 * noise(0.5) for name in "abc"}
    else:
        columns = {"a": levels(2.0) + noise(0.5), "b": 20.0 + noise(0.5), "c": 20.0 + noise(0.5)}
    return Series(np.arange(_N, dtype=float), columns, "s"), breaks * _N


def main() -> None:
    """Run as a program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=24, help="series of each kind")
    parser.add_argument("--first", type=int, default=100_000, help="first seed")
    given = parser.parse_args()
    print("| curves | number exact | breaks | 95 % interval holds it | median width |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for kind in KINDS:
        exact, holds, widths = [], [], []
        for seed in range(given.first, given.first + given.seeds):
            data, breaks = make(kind, seed)
            others = ",".join(name for name in data.columns if name != "a")
            model = perfcore.fit(data, fitter="worley", column="a", joint=others, degree=0)
            exact.append(len(model.phases) == len(breaks) - 1)  # type: ignore[attr-defined]
            if not exact[-1]:
                continue
            for phase, true in zip(model.phases, breaks[:-1], strict=True):  # type: ignore[attr-defined]
                if phase.break_interval is not None:
                    low, high = phase.break_interval
                    holds.append(low <= true <= high)
                    widths.append((high - low) / _N)
        width = f"{np.median(widths):.1%}" if widths else "-"
        print(f"| {kind} | {np.mean(exact):.0%} | {len(holds)} | {np.mean(holds):.0%} | {width} |", flush=True)


if __name__ == "__main__":
    main()
