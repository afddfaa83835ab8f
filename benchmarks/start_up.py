"""CPU time of help and of one TAB, beside a program of typer that says hello.

``python benchmarks/start_up.py`` prints a table; times are medians of user and system time of whole processes.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from perfcore.hooks.registry import registry

RUNS = 7
HELLO = """
import typer
app = typer.Typer(rich_markup_mode=None, add_completion=False)

@app.command()
def hello(name: str):
    print(name)

app()
"""


def cpu_s(words: list[str], **variables: str) -> float:
    """Median CPU time of a command."""
    times = []
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(words, capture_output=True, check=False, env=os.environ | variables)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(times)


def main() -> None:
    perf = str(Path(sys.executable).with_name("perf"))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "hello.py"
        file.write_text(HELLO)
        hello = cpu_s([sys.executable, str(file), "--help"])
    line = "perf fit x.csv --fitter strohmaier --"
    tab = {"_PERF_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": "5"}
    rows = [("typer hello --help", hello), ("perf --help", cpu_s([perf, "--help"]))]
    for fitter in registry().entries("fitters"):
        rows.append((f"perf fit --fitter {fitter} --help", cpu_s([perf, "fit", "--fitter", fitter, "--help"])))
    rows.append((f"TAB after: {line}", cpu_s([perf], **tab)))
    for name, seconds in rows:
        print(f"{name:45} {1e3 * seconds:6.0f} ms {seconds / hello:6.2f} x")


if __name__ == "__main__":
    main()
