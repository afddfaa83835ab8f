"""Time, memory and breakpoint error of perfcore's segmenters beside those of other libraries.

Run ``python benchmarks/compare_segmenters.py`` with the extra
``bench`` installed. Each case runs in a process of its own, with limits of time and memory; a
method that breaks one is not tried at larger sizes.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from segmenter_methods import METHODS, Case

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "curves"))
from generate import make_known

SIZES = (10_000, 100_000, 1_000_000)
DEGREES = (0, 1)
N_PHASES, NOISE, SEED = 9, 1.0, 1
WARM_UP_STEPS = 1000  # what a method compiles, it compiles on a curve of this size, untimed


@dataclass(frozen=True)
class Result:
    """One measurement, or why there is none.

    Parameters
    ----------
    method, degree, n_steps
        The case.
    seconds : float, optional
        Of the call alone: no import, no compilation.
    mib : float, optional
        By how much the process grew during the call at most.
    n_phases : int, optional
        How many were found.
    error : float, optional
        Hausdorff distance between the true and the found breakpoints, in steps.
    failure : str, optional
        What stood in the way.
    """

    method: str
    degree: int
    n_steps: int
    seconds: float | None = None
    mib: float | None = None
    n_phases: int | None = None
    error: float | None = None
    failure: str | None = None

    @property
    def cells(self) -> list[str]:
        """Seconds, MiB, phases and error as text."""
        if self.failure is not None:
            return [self.failure, "", "", ""]
        return [f"{self.seconds:.2g}", f"{self.mib:.0f}", f"{self.n_phases}", f"{self.error:.0f}"]


def make_case(n_steps: int, degree: int) -> tuple[Case, npt.NDArray[np.float64]]:
    """A curve with its true inner breakpoints."""
    curve, breaks = make_known(n_steps, degree, N_PHASES, NOISE, SEED)
    return Case(curve, N_PHASES, degree, NOISE), breaks[1:-1]


def hausdorff(true: npt.NDArray[np.float64], found: npt.NDArray[np.float64], n_steps: int) -> float:
    """Largest distance from a breakpoint of one set to the nearest of the other."""
    if not len(found):
        return float(n_steps)
    distances = np.abs(true[:, None] - found[None, :])
    return float(max(distances.min(axis=0).max(), distances.min(axis=1).max()))


def measure(method: str, degree: int, n_steps: int) -> Result:
    """Measure one case in this process."""
    find = METHODS[method].find
    find(make_case(WARM_UP_STEPS, degree)[0])
    case, true = make_case(n_steps, degree)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    before_mib = pages * resource.getpagesize() / 2**20
    started = time.perf_counter()
    found = np.sort(np.asarray(find(case), dtype=np.float64))
    seconds = time.perf_counter() - started
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    return Result(
        method,
        degree,
        n_steps,
        seconds=seconds,
        mib=max(0.0, peak_mib - before_mib),
        n_phases=len(found) + 1,
        error=hausdorff(true, found, n_steps),
    )


def run_case(method: str, degree: int, n_steps: int, limit_s: float, limit_gib: float) -> Result:
    """Measure one case in a process of its own."""
    limit_bytes = int(limit_gib * 2**30)

    def confine() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (limit_bytes, limit_bytes))

    command = [sys.executable, __file__, "--case", method, str(degree), str(n_steps)]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
            preexec_fn=confine,
        )
    except subprocess.TimeoutExpired:
        return Result(method, degree, n_steps, failure=f"> {limit_s:g} s")
    if done.returncode == 0:
        return Result(**json.loads(done.stdout))
    last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    failure = f"> {limit_gib:g} GiB" if "MemoryError" in last else last
    return Result(method, degree, n_steps, failure=failure)


def run_all(methods: Sequence[str], sizes: Sequence[int], limit_s: float, limit_gib: float) -> list[Result]:
    """Measure all cases, smallest first, and report progress on stderr."""
    results = []
    for method in methods:
        for degree in METHODS[method].degrees:
            failure = None
            for n_steps in sorted(sizes):
                if failure is None:
                    result = run_case(method, degree, n_steps, limit_s, limit_gib)
                    failure = result.failure
                else:
                    result = Result(method, degree, n_steps, failure=failure)
                results.append(result)
                print(method, degree, n_steps, *result.cells, file=sys.stderr, flush=True)
    return results


def row(cells: Sequence[str]) -> str:
    """One line of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def markdown(results: Sequence[Result], limit_s: float) -> str:
    """The page: what was compared, then one table for each degree."""
    sizes = sorted({result.n_steps for result in results})
    lines = [
        "# Segmenters compared",
        "",
        "Made by",
        "",
        f"    python {' '.join(sys.argv)}",
        "",
        f"on noisy polynomials in {N_PHASES} phases: steps of width 1, noise of standard deviation",
        f"{NOISE:g}, jumps of 1 to 3 (`make_known` of examples/curves/generate.py, seed {SEED}).",
        "Seconds are those of the call alone, after a first call on a small curve that compiles",
        "what is compiled. MiB is by how much the process grew. The error is the Hausdorff",
        "distance in steps between the true and the found breaks. A case over",
        f"{limit_s:g} s was stopped, and larger ones were not tried.",
        "",
        "The methods solve different problems: some are told the number of phases n, others a",
        "penalty for each phase and find the number themselves; minimax makes the largest local",
        "error least and is not meant to place breaks exactly.",
        "",
    ]
    methods = list(dict.fromkeys(result.method for result in results))
    lines += [row(["method", "minimises", "is told"]), row(["---"] * 3)]
    lines += [row([name, METHODS[name].objective, METHODS[name].given]) for name in methods]
    for degree in sorted({result.degree for result in results}):
        header = [f"{n:,} steps: s | MiB | phases | error" for n in sizes]
        lines += ["", f"## {('Constant', 'Linear')[degree]} phases", ""]
        lines += [row(["method", *header]), row(["---"] + ["---:"] * 4 * len(sizes))]
        for name in methods:
            mine = [r for r in results if (r.method, r.degree) == (name, degree)]
            if mine:
                cells = [cell for r in sorted(mine, key=lambda r: r.n_steps) for cell in r.cells]
                lines.append(row([name, *cells]))
    return "\n".join(lines)


def main() -> None:
    """Run as a program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--limit-s", type=float, default=100.0, help="time of one case")
    parser.add_argument("--limit-gib", type=float, default=8.0, help="memory of one case")
    parser.add_argument("--json", action="store_true", help="instead of the page, all figures")
    parser.add_argument("--case", nargs=3, metavar=("METHOD", "DEGREE", "STEPS"), help="only one")
    given = parser.parse_args()
    if given.case:
        method, degree, n_steps = given.case
        print(json.dumps(asdict(measure(method, int(degree), int(n_steps)))))
        return
    results = run_all(given.methods, given.sizes, given.limit_s, given.limit_gib)
    if given.json:
        print(json.dumps([asdict(result) for result in results], indent=1))
    else:
        print(markdown(results, given.limit_s))


if __name__ == "__main__":
    main()
