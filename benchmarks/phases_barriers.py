"""How often the interval of a break holds the barrier that caused it: runs of examples/cholesky, recorded here.

Run ``python benchmarks/phases_barriers.py``. The program says when the barriers between phases opened, and the trace
when the first worker began to wait there: in between fewer and fewer compute. A barrier is found where a break lies
within 5 % of the run of that time; the interval of the nearest break is then judged: whether some of that time is in
it, and whether it holds the opening.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import perfcore
from perfcore.data.units import nanoseconds_per

_PROGRAM = Path(__file__).parents[1] / "examples" / "cholesky" / "cholesky.py"
_NEAR = 0.05
_LATE_US = 100.0  # between the end of a worker's waiting and when the program notes that the barrier is open
_ENDED = re.compile(r"(generation|factorization|forward solve) ended at ([0-9.]+) us")
WAYS: dict[str, dict[str, object]] = {
    "default": {},
    "4 phases": {"phases": 4},
    "worley, degree 2, refined": {"fitter": "worley", "degree": 2, "refine": True},
}


def record(size: int, workers: int, folder: Path) -> tuple[Path, list[float]]:
    """A trace, and when the three barriers opened, us."""
    out = folder / f"run{size}.csv"
    words = ["--workers", str(workers), "--size", str(size), "--block", "16", "--rhs", str(size), "--out", str(out)]
    printed = subprocess.run([sys.executable, str(_PROGRAM), *words], capture_output=True, text=True, check=True).stdout
    return out, [float(at) for _, at in _ENDED.findall(printed)]


def first_arrivals(trace: Any, barriers: list[float]) -> list[float]:
    """When the first worker began to wait for each barrier, us."""
    scale = nanoseconds_per(trace.time_unit)
    waiting = trace.state == list(trace.states).index("waiting")
    found = []
    for at in barriers:
        there = waiting & (trace.start_ns <= at * scale) & (trace.end_ns >= (at - _LATE_US) * scale)
        found.append(min(at, float(trace.start_ns[there].min(initial=np.iinfo(np.int64).max)) / scale))
    return found


def _share(values: list[bool]) -> str:
    return f"{np.mean(values):.0%} of {len(values)}" if values else "-"


def main() -> None:
    """Run as a program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--smallest", type=int, default=1024, help="rows of the matrix")
    parser.add_argument("--largest", type=int, default=2560)
    parser.add_argument("--workers", type=int, default=4)
    given = parser.parse_args()
    found: dict[str, list[bool]] = {way: [] for way in WAYS}
    touches: dict[str, list[bool]] = {way: [] for way in WAYS}
    holds: dict[str, list[bool]] = {way: [] for way in WAYS}
    widths: dict[str, list[float]] = {way: [] for way in WAYS}
    counts: dict[str, list[int]] = {way: [] for way in WAYS}
    sizes = np.linspace(given.smallest, given.largest, given.runs) // 16 * 16
    for size in sizes.astype(int):
        with tempfile.TemporaryDirectory() as folder:
            path, barriers = record(int(size), given.workers, Path(folder))
            trace = perfcore.read(path)
        for way, options in WAYS.items():
            model = perfcore.fit(trace, **{"fitter": "phases", **options})
            length = model.end - model.start  # type: ignore[attr-defined]
            counts[way].append(len(model.phases))  # type: ignore[attr-defined]
            for arrival, opening in zip(first_arrivals(trace, barriers), barriers, strict=True):
                apart = [max(arrival - phase.start, phase.start - opening, 0.0) for phase in model.phases[1:]]  # type: ignore[attr-defined]
                near = bool(apart) and min(apart) <= _NEAR * length
                found[way].append(near)
                interval = model.phases[1 + int(np.argmin(apart))].break_interval if near else None  # type: ignore[attr-defined]
                if interval is not None:
                    low, high = interval
                    touches[way].append(low <= opening and arrival <= high)
                    holds[way].append(low <= opening <= high)
                    widths[way].append((high - low) / length)
        print(size, {way: each[-1] for way, each in counts.items()}, file=sys.stderr, flush=True)
    print("| fit | phases, median | barriers found | 95 % interval meets it | holds its opening | median width |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for way in WAYS:
        print(
            f"| {way} | {np.median(counts[way]):.0f} | {_share(found[way])} | {_share(touches[way])} "
            f"| {_share(holds[way])} | {np.median(widths[way] or [np.nan]):.1%} |"
        )


if __name__ == "__main__":
    main()
