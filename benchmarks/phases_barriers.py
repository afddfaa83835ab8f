"""How often the interval of a break holds the barrier that caused it: runs of examples/cholesky, recorded here.

Run ``python benchmarks/phases_barriers.py``. The program says when the barriers between its phases opened. A barrier is
found where a break lies within 5 % of the run of it; the interval of the nearest break is then judged.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import perfcore

_PROGRAM = Path(__file__).parents[1] / "examples" / "cholesky" / "cholesky.py"
_NEAR = 0.05
_ENDED = re.compile(r"(generation|factorization|forward solve) ended at ([0-9.]+) us")
WAYS: dict[str, dict[str, object]] = {
    "default": {},
    "4 phases": {"phases": 4},
    "knee, degree 2": {"rule": "knee", "segmenter": "minimax", "degree": 2},
}


def record(size: int, workers: int, folder: Path) -> tuple[Path, list[float]]:
    """A trace, and when the three barriers opened, us."""
    out = folder / f"run{size}.csv"
    words = ["--workers", str(workers), "--size", str(size), "--block", "16", "--rhs", str(size), "--out", str(out)]
    printed = subprocess.run([sys.executable, str(_PROGRAM), *words], capture_output=True, text=True, check=True).stdout
    return out, [float(at) for _, at in _ENDED.findall(printed)]


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
    holds: dict[str, list[bool]] = {way: [] for way in WAYS}
    widths: dict[str, list[float]] = {way: [] for way in WAYS}
    counts: dict[str, list[int]] = {way: [] for way in WAYS}
    sizes = np.linspace(given.smallest, given.largest, given.runs) // 16 * 16
    for size in sizes.astype(int):
        with tempfile.TemporaryDirectory() as folder:
            path, barriers = record(int(size), given.workers, Path(folder))
            trace = perfcore.read(path)
        for way, options in WAYS.items():
            model = perfcore.fit(trace, fitter="worley", **options)
            length = model.end - model.start  # type: ignore[attr-defined]
            counts[way].append(len(model.phases))  # type: ignore[attr-defined]
            for barrier in barriers:
                nearest = min(model.phases[1:], key=lambda phase: abs(phase.start - barrier), default=None)  # type: ignore[attr-defined]
                near = nearest is not None and abs(nearest.start - barrier) <= _NEAR * length
                found[way].append(near)
                if near and nearest.break_interval is not None:
                    low, high = nearest.break_interval
                    holds[way].append(low <= barrier <= high)
                    widths[way].append((high - low) / length)
        print(size, {way: each[-1] for way, each in counts.items()}, file=sys.stderr, flush=True)
    print("| fit | phases, median | barriers found | 95 % interval holds it | median width |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for way in WAYS:
        print(
            f"| {way} | {np.median(counts[way]):.0f} | {_share(found[way])} "
            f"| {_share(holds[way])} | {np.median(widths[way] or [np.nan]):.1%} |"
        )


if __name__ == "__main__":
    main()
