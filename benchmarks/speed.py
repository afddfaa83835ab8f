"""Speed and memory of Worley's phases: ratios within one run, printed as the tables of docs/how-we-know.md.

python benchmarks/speed.py            # some three minutes
python benchmarks/speed.py --huge     # also 10^8 steps: 10 GiB of memory
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from givens_update import GivensUpdate, least_tolerances

import perfcore
from perf_worley.minimax import Minimax, Mixed, PhaseRule, Uniform, least_tolerance
from perf_worley.moment_tree import MomentTree
from perfcore import UtilizationCurve
from perfcore.contracts import Basis, Segmentation

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "cholesky" / "cholesky_trace.csv.gz"
COUNTS = range(1, 21)


def noisy_curve(n_steps: int) -> UtilizationCurve:
    """Uneven steps; a trend with two jumps and noise, as in the shape of a factorization."""
    rng = np.random.default_rng(1)
    edges = np.empty(n_steps + 1)
    edges[0] = 0.0
    np.cumsum(rng.uniform(0.5, 1.5, n_steps), out=edges[1:])
    at = np.linspace(0.0, 1.0, n_steps)
    heights = rng.normal(0.0, 10.0, n_steps)
    heights += 100.0 * np.sin(7.0 * at) ** 2 + 40.0 * (at > 0.3) + 60.0 * (at > 0.77)
    np.round(heights, out=heights)
    return UtilizationCurve(edges, np.maximum(heights, 0.0, out=heights))


def timed(call: Callable[[], object], repeat: int = 5) -> float:
    """Median seconds."""
    seconds = []
    for _ in range(repeat):
        started = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def sequence_of_models(tree: MomentTree, rule: PhaseRule) -> None:
    """All of n = 1..20 on a tree that is built, each tolerance bounding the next as in `Minimax.sequence`."""
    upper = rule.finish(tree, 0.0, 0).error
    for n in COUNTS:
        upper = least_tolerance(tree, n, rule, upper).tolerance


def print_scaling(sizes: list[int]) -> None:
    print("Seconds; the last five columns are all of n = 1..20 once the tree is built.\n")
    print("| steps | numpy pass | tree | tree / pass | degree 2 | degree 0 | degree 1 | degree 3 | mixed |")
    print("|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for size in sizes:
        curve = noisy_curve(size)
        repeat = 3 if size > 10**7 else 5
        MomentTree(curve)
        one_pass = timed(lambda c=curve: (c.edges.sum(), c.heights.sum()), repeat)
        built = timed(lambda c=curve: MomentTree(c), repeat)
        tree = MomentTree(curve)
        cells = " | ".join(
            f"{timed(lambda t=tree, r=rule: sequence_of_models(t, r), 7):.4f}"
            for rule in (Uniform(2), Uniform(0), Uniform(1), Uniform(3), Mixed())
        )
        print(f"| {size:,} | {one_pass:.5f} | {built:.5f} | {built / one_pass:.1f} | {cells} |", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\nPeak memory of this process: {peak:.1f} GiB.\n")


def print_fits(size: int) -> None:
    """All of ``perfcore.fit(curve, fitter="worley")``, n = 1..20, of a curve that was read."""
    curve = noisy_curve(size)
    print(f"`--fitter worley` on {size:,} steps: seconds of the least of five fits.\n")
    print("| degree | wall | processor | evaluations for n = 20 |")
    print("|---|--:|--:|--:|")
    for degree in ("0", "1", "2", "3", "mixed"):
        seconds = []
        for _ in range(5):
            fresh = UtilizationCurve(curve.edges, curve.heights)  # a new one has no tree yet
            started = time.perf_counter(), time.process_time()
            model = perfcore.fit(fresh, fitter="worley", degree=degree)
            seconds.append((time.perf_counter() - started[0], time.process_time() - started[1]))
        wall, processor = (min(values) for values in zip(*seconds, strict=True))
        entry = model.sequence[-1]  # type: ignore[attr-defined]
        print(f"| {degree} | {wall:.3f} | {processor:.3f} | {entry.evaluations} |", flush=True)
    print(f"\nLoad {os.getloadavg()[0]:.1f}.\n")


def print_linear(size: int) -> None:
    curve = noisy_curve(size)
    basis = Basis(2)

    # A new curve each time: the tree of a curve is built once and kept.
    def build_and_fit() -> list[Segmentation]:
        return Minimax().sequence(UtilizationCurve(curve.edges, curve.heights), COUNTS, basis)

    fast = timed(build_and_fit, 3)
    started = time.perf_counter()
    slow_tolerances = least_tolerances(GivensUpdate(curve), COUNTS, basis.degree)
    slow = time.perf_counter() - started
    fast_result = Minimax().sequence(curve, COUNTS, basis)
    worst = max(abs(a.statistics["tolerance"] / b - 1.0) for a, b in zip(fast_result, slow_tolerances, strict=True))
    print("Seconds for n = 1..20, degree 2, the building of the tree included.\n")
    print("| steps | tree | Worley's linear update, compiled | ratio | largest difference of epsilon |")
    print("|--:|--:|--:|--:|--:|")
    print(f"| {size:,} | {fast:.4f} | {slow:.1f} | {slow / fast:.0f} | {worst:.1e} |\n", flush=True)


def process_seconds(command: list[str], repeat: int = 7, **environment: str) -> float:
    """Median seconds of a whole process."""
    env = {**os.environ, **environment}
    return timed(lambda: subprocess.run(command, check=True, capture_output=True, env=env), repeat)


def print_start() -> None:
    python = sys.executable
    perf = [python, "-m", "perfcore"]
    bare, shown = process_seconds([python, "-c", "pass"]), process_seconds([*perf, "--help"])
    print("| process | seconds |")
    print("|---|--:|")
    print(f"| `python -c pass` | {bare:.3f} |")
    try:
        with_typer = process_seconds([python, "-c", "import typer"])
        print(f"| `python -c 'import typer'` | {with_typer:.3f} |")
        print(f"| `perf --help` ({shown / with_typer:.2f} of the above) | {shown:.3f} |")
    except subprocess.CalledProcessError:  # typer is measured against, not needed
        print(f"| `perf --help` | {shown:.3f} |")
    fit = [*perf, "fit", str(EXAMPLE), "--fitter", "worley"]
    with tempfile.TemporaryDirectory() as cache:
        first = process_seconds(fit, 1, NUMBA_CACHE_DIR=cache)
        later = process_seconds(fit, 5, NUMBA_CACHE_DIR=cache)
    print(f"| first `perf fit` of the shipped example, compilation included | {first:.2f} |")
    print(f"| later ones | {later:.2f} |\n", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--huge", action="store_true", help="also 10^8 steps")
    parser.add_argument("--no-linear", action="store_true", help="leave out the linear update, which takes minutes")
    arguments = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, numpy {np.__version__}; ")
    print(f"load {os.getloadavg()[0]:.1f} at the start\n")
    print_scaling([10**5, 10**6, 10**7, *([10**8] if arguments.huge else [])])
    print_fits(10**6)
    print_start()
    if not arguments.no_linear:
        print_linear(10**6)
    print(f"load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
