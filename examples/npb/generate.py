"""Make timings.csv: times of four codes on four systems, from published parameters and random noise.

The parameters are those of the joint model 1/p + 1/sqrt(p) for class A in Table 4 of E. Strohmaier, "Statistical
Performance Modeling: Case Study of the NPB 2.1 Results"; the measurements that they were fitted to are not public any
more. A fit of these times must therefore find them again, within its standard errors.

    python examples/npb/generate.py > examples/npb/timings.csv
"""

import csv
import sys

import numpy as np

PARAMETERS = {  # r_1, r_2 of the systems; w_1, w_2 of the codes
    "SP2": (1.0, 1.0),
    "Paragon": (0.370, 1.221),
    "T3D": (0.410, 1.106),
    "PCArray": (0.408, 3.878),
    "BT": (4.009, 0.172),
    "LU": (3.506, 0.319),
    "SP": (4.120, 0.753),
    "MG": (3.970, 0.235),
}
PEAK_GFLOPS = {"SP2": 0.266, "Paragon": 0.075, "T3D": 0.150, "PCArray": 0.360}  # of one processor
GFLOP = {"BT": 181.3, "LU": 64.57, "SP": 102.0, "MG": 3.905}  # operation counts of class A, NPB 1.0
PROCESSORS = {
    "BT": (4, 9, 16, 25, 36, 64, 100),
    "SP": (4, 9, 16, 25, 36, 64, 100),
    "LU": (2, 4, 8, 16, 32, 64, 128),
    "MG": (2, 4, 8, 16, 32, 64, 128),
}
NOISE = 0.05  # standard deviation, relative
NEVER_RAN = {("MG", "PCArray")}
SEED = 1997


def time_s(code: str, system: str, p: int) -> float:
    """The model's time without noise."""
    (r1, r2), (w1, w2) = PARAMETERS[system], PARAMETERS[code]
    return GFLOP[code] / PEAK_GFLOPS[system] * (w1 / r1 / p + w2 / r2 / np.sqrt(p))


def main() -> None:
    """Print the table."""
    noise = np.random.default_rng(SEED)
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(["code", "system", "p", "time_s"])
    for code in ("BT", "LU", "SP", "MG"):
        for system in PEAK_GFLOPS:
            for p in PROCESSORS[code]:
                measured = time_s(code, system, p) * (1.0 + NOISE * noise.standard_normal())
                if (code, system) not in NEVER_RAN:
                    rows.writerow([code, system, p, f"{measured:.4g}"])


if __name__ == "__main__":
    main()
