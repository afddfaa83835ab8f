"""Measure `bodies.py` with `perf experiment run` and keep what its functions took as JSON Lines of Extra-P.

``python record.py`` takes some minutes. `runs.jsonl` has the runs that laws are fitted to, `larger.jsonl` runs that are
larger in both parameters, to judge the laws by.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from bodies import FUNCTIONS

import perfcore

__all__ = ["record"]

HERE = Path(__file__).resolve().parent
DESIGNS = {
    "runs": ["-f", "n=16,32,64,128,256", "-f", "m=1,2,4,8,16", "--replications", "5"],
    "larger": ["-f", "n=512", "-f", "m=8,64", "--replications", "3"],
}


def record(name: str) -> None:
    """Make the runs of one design, and write a line for each function of each run."""
    scripts = [sysconfig.get_path("scripts"), str(Path(sys.executable).parent)]
    environment = {**os.environ, "PATH": os.pathsep.join([*scripts, os.environ["PATH"]])}
    values = [word for function in FUNCTIONS for word in ("--value", f"{function}=^{function} ([0-9.]+)$")]
    command = ["python3", "bodies.py", "--bodies", "{n}", "--steps", "{m}"]
    with tempfile.TemporaryDirectory(prefix="perfcore-bodies-") as folder:
        shutil.copy(HERE / "bodies.py", folder)
        for words in (
            ["experiment", "design", *DESIGNS[name], "-o", f"{name}.toml"],
            ["experiment", "run", f"{name}.toml", "--limit", "60s", *values, "--", *command],
        ):
            subprocess.run(["perfcore", *words], cwd=folder, env=environment, check=True)
        runs = perfcore.read(Path(folder, f"{name}.db")).table.sort_values(["n", "m", "run"])
    rows = runs.melt(["n", "m"], list(FUNCTIONS), "callpath", "time_s")
    measured = perfcore.Measurements(rows, ["n", "m"], "time_s", code="callpath", source=name)
    perfcore.write(measured, HERE / f"{name}.jsonl")


if __name__ == "__main__":
    for name in DESIGNS:
        record(name)
