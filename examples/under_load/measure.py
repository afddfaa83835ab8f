"""Measure one of the programs for `perf experiment run`: what its model needs, or a run under load and samples.

``measure.py dedicated PROGRAM`` makes short runs without load and beside a steady one. ``measure.py loaded PROGRAM
LOAD`` goes on with the load of that case where the last run left it, samples what it leaves of each processor, makes
the run, and adds the samples to PROGRAM-LOAD-samples.csv and the run to PROGRAM-LOAD-runs.csv.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from programs import NAMES, WORKERS, Program, program_named
from workers import Timing

from background_load import HIGH, MEDIUM, Burst, Load, Probes  # isort: skip (workers.py says where it is)

__all__ = ["LOADS", "measure_dedicated", "measure_loaded"]

# The variation of what is left of the two processors: high and medium as in examples/sor, or high of both.
LOADS = {"mixed": (HIGH, MEDIUM), "both": (HIGH, HIGH)}
STEADY = ((Burst(1e6, 1e-3),),) * WORKERS  # one process that never pauses on each processor
SAMPLE_S = 1.0
THIN_RUNS = 3


def measure_dedicated(program: Program, processors: Sequence[int], sample_s: float) -> dict[str, float]:
    """What the model needs, measured without the load that it is to predict.

    Parameters
    ----------
    program : Program
    processors : sequence of int
    sample_s : float, seconds
        How long to sample what the steady load leaves.

    Returns
    -------
    dict of str to float
        idle_s, a run without load. benchmark_us, processor time of a unit of work in it; contended_us, the same beside
        a steady process on each processor. exchange_us, time of a step without work; the least of some runs, as
        whatever else wants a processor can only make it longer. exponent, of the barrier, 0 to 1: how the run beside
        the steady processes, which leave ``share`` of the slower processor, was slower than that share says.
    """
    with program.started(processors, True) as run:
        thin_s = min(_made(run, processors[0]).time_s for _ in range(THIN_RUNS))
    with program.started(processors, False) as run, Probes(processors) as probes:
        idle = _made(run, processors[0])
        with Load(STEADY, processors, seed=0):
            shares = probes.sample(sample_s)
            contended = _made(run, processors[0])
    benchmark_s, contended_s = (max(timing.compute_s) / program.done for timing in (idle, contended))
    progress = program.progress(contended.time_s, contended_s, thin_s)
    exponent = math.log(progress / min(shares)) / math.log(max(shares))
    return {
        "idle_s": idle.time_s,
        "benchmark_us": benchmark_s * 1e6,
        "contended_us": contended_s * 1e6,
        "exchange_us": thin_s / program.steps * 1e6,
        "share": min(shares),
        "exponent": float(np.clip(exponent, 0.0, 1.0)),
    }


def measure_loaded(
    program: Program, case: str, processors: Sequence[int], samples: tuple[int, int], sample_s: float
) -> dict[str, float]:
    """One run, after samples of what the load leaves.

    Nobody samples during the run: the program would measure itself as load. Time is that of the case's own clock,
    which stands still between its runs.

    Parameters
    ----------
    program : Program
    case : str
        Program and load, as sor-mixed; the names of its files begin with it.
    processors : sequence of int
    samples : tuple of int
        How many before the first run of the case, and before each other one.
    sample_s : float, seconds
        Of one.

    Returns
    -------
    dict of str to float
        until_s, the time of the last sample; start_s and time_s of the run; compute_s, the slower worker's processor
        time.
    """
    kept, runs = Path(f"{case}-samples.csv"), Path(f"{case}-runs.csv")
    begin_s = 0.0
    if runs.exists():
        with runs.open(newline="") as lines:
            last = list(csv.DictReader(lines))[-1]
        begin_s = float(last["start_s"]) + float(last["time_s"])
    rows = []
    name, load = case.split("-")
    seed = 100 * NAMES.index(name) + 10 * list(LOADS).index(load)  # apart by more than a case has processes
    with (
        program.started(processors, False) as run,
        Probes(processors) as probes,
        Load(LOADS[load], processors, seed, begin_s),
    ):
        zero_s = time.monotonic() - begin_s
        for _ in range(samples[0] if begin_s == 0.0 else samples[1]):
            shares = probes.sample(sample_s)
            rows.append({"time_s": time.monotonic() - zero_s})
            rows[-1] |= {f"cpu {cpu} available": share for cpu, share in enumerate(shares)}
        timing = _made(run, processors[0])
    found = {"until_s": round(rows[-1]["time_s"], 3), "start_s": timing.start_s - zero_s, "time_s": timing.time_s}
    found["compute_s"] = max(timing.compute_s)
    _add(kept, [{name: round(value, 3 if name == "time_s" else 6) for name, value in row.items()} for row in rows])
    _add(runs, [{name: round(value, 6) for name, value in found.items()}])
    return found


def _made(run: Callable[[], Timing], processor: int) -> Timing:
    """A run while this process has one processor: the master of the genetic algorithm works beside its first slave."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {processor})
    try:
        return run()
    finally:
        os.sched_setaffinity(0, before)


def _add(path: Path, rows: Sequence[Mapping[str, float]]) -> None:
    """Add rows to a CSV table, with its heading if it is new."""
    new = not path.exists()
    with path.open("a", newline="") as lines:
        table = csv.DictWriter(lines, list(rows[0]))
        if new:
            table.writeheader()
        table.writerows(rows)


def main() -> int:
    """Run as a program."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("what", choices=["dedicated", "loaded"])
    parser.add_argument("program", choices=NAMES)
    parser.add_argument("load", choices=LOADS, nargs="?", help="of loaded")
    parser.add_argument("--before", type=int, default=15, help="samples before the first run of a case")
    parser.add_argument("--between", type=int, default=2, help="samples before each other run")
    parser.add_argument("--sample", type=float, default=SAMPLE_S, help="seconds of a sample")
    parser.add_argument("--scale", type=float, default=1.0, help="up to 1: less for a smaller problem, to try it out")
    given = parser.parse_args()
    if (given.what == "loaded") != (given.load is not None):
        parser.error("loaded takes a load, dedicated none")
    if min(given.before, given.between) < 1 or not (0.0 < given.sample <= 60.0 and 0.0 < given.scale <= 1.0):
        parser.error("samples are at least 1, of at most 60 s, and the scale is above 0 and at most 1")
    if not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < WORKERS:
        parser.error(f"Linux and {WORKERS} processors are needed")
    processors = sorted(os.sched_getaffinity(0))[:WORKERS]
    program = program_named(given.program, given.scale)
    if given.what == "dedicated":
        found = measure_dedicated(program, processors, given.sample)
    else:
        samples = given.before, given.between
        found = measure_loaded(program, f"{given.program}-{given.load}", processors, samples, given.sample)
    for name, value in found.items():
        print(f"{name} {value:.9f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
