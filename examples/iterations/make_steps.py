"""Write a trace of four ranks that step through a simulation: each step computes, exchanges halos, and waits.

Run ``python examples/iterations/make_steps.py > examples/iterations/steps.csv``. Steps last 110 ms, give or take
1.5 %; in the third one rank is late, and the others wait for it.
"""

from __future__ import annotations

import numpy as np

RANKS, STEPS = 4, 12
LATE_STEP, LATE_RANK, LATE_US = 3, 2, 20_000


def main() -> None:
    """Print the trace: location, start and end in microseconds, state."""
    rng = np.random.default_rng(3)
    print("location,start_us,end_us,state")
    at = 180_000
    for rank in range(RANKS):
        print(f"rank {rank},0,{at - 10_000 * rank},Idle")
    for step in range(1, STEPS + 1):
        usual = round(110_000 * rng.normal(1.0, 0.015))
        length = usual + (LATE_US if step == LATE_STEP else 0)
        for rank in range(RANKS):
            forces = round(usual * 0.42 * rng.normal(1.0, 0.02)) + (length - usual if rank == LATE_RANK else 0)
            push = round(usual * 0.18 * rng.normal(1.0, 0.02))
            ends = np.cumsum([forces, push, 4_000])
            for state, start, end in zip(("forces", "push", "MPI_Send"), (0, *ends), ends, strict=False):
                print(f"rank {rank},{at + start},{at + end},{state}")
            print(f"rank {rank},{at + ends[-1]},{at + length},MPI_Wait")
        at += length
    for rank in range(RANKS):
        print(f"rank {rank},{at},{at + 60_000},output")


if __name__ == "__main__":
    main()
