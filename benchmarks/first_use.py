"""CPU time of the first and second use of commands on shipped examples, over that of importing numpy, pandas and scipy.

``python benchmarks/first_use.py`` prints a table; the first use finds no compiled kernels.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"
SIX_POINTS = "p,time_s\n1,10.1\n2,5.2\n4,2.75\n8,1.52\n16,0.93\n32,0.65\n"
COMMANDS = {
    "scaling model of six points": ["fit", "six.csv", "--at", "p=128"],
    "scaling models of two parameters": ["fit", EXAMPLES / "scaling_laws/runs.jsonl"],
    "phases by worley": [
        "fit", EXAMPLES / "cholesky/cholesky_trace.csv.gz", "--fitter", "worley", "--phases", "auto", "--degree", "2",
        "--refine",
    ],
    "overheads": ["overheads", EXAMPLES / "halo/halo.prv"],
    "whatif": ["whatif", EXAMPLES / "halo/halo.prv"],
    "joint model by strohmaier": [
        "fit", EXAMPLES / "npb/timings.csv", "--fitter", "strohmaier", "--operations", EXAMPLES / "npb/codes.csv",
        "--peak", EXAMPLES / "npb/systems.csv",
    ],
}  # fmt: skip


def cpu_s(words: list[object], folder: str, cache: str) -> float:
    """CPU time of a command in a folder."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    subprocess.run(list(map(str, words)), capture_output=True, check=True, cwd=folder, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    perf = Path(sys.executable).with_name("perf")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "six.csv").write_text(SIX_POINTS)
        imports = [sys.executable, "-c", "import numpy, pandas, scipy"]
        base = min(cpu_s(imports, folder, folder) for _ in range(3))
        print(f"{'import numpy, pandas, scipy':35} {base:6.2f} s")
        for name, words in COMMANDS.items():
            with tempfile.TemporaryDirectory() as cache:
                first, *later = (cpu_s([perf, *words], folder, cache) for _ in range(4))
            second = min(later)
            print(
                f"{name:35} first {first:6.2f} s {first / base:5.1f} x   second {second:6.2f} s {second / base:5.1f} x"
            )


if __name__ == "__main__":
    main()
