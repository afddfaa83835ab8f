"""CPU time of help and of one TAB, beside a program of typer that says hello, and of first answers, beside imports.

``python benchmarks/start_up.py`` prints a table; times are medians of user and system time of whole processes, all run
in turn. Its exit status is 1 if an answer takes more than its budget, a multiple of importing numpy and pandas.
"""

from __future__ import annotations

import json
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
HALO = Path(__file__).parents[1] / "examples/halo/halo.prv"
SIX_POINTS = "ranks,time_s\n1,10.1\n2,5.2\n4,2.75\n8,1.52\n16,0.93\n32,0.65\n"
BUDGETS = {
    "info six.csv": 1.43,
    "fit six.csv": 1.57,
    "gate old.json new.json": 1.71,
    f"overheads {HALO}": 1.14,
}


def cpu_s(words: list[str], folder: str | None = None, **variables: str) -> float:
    """CPU time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, capture_output=True, check=False, cwd=folder, env=os.environ | variables)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    perf = str(Path(sys.executable).with_name("perf"))
    line = "perf fit x.csv --fitter strohmaier --"
    tab = {"_PERF_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": "5"}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "hello.py").write_text(HELLO)
        (Path(folder) / "six.csv").write_text(SIX_POINTS)
        for side, factor in ("old", 1.0), ("new", 1.02):
            runs = [{"command": "x", "times": [factor * (1 + 0.001 * (run % 7)) for run in range(20)]}]
            (Path(folder) / f"{side}.json").write_text(json.dumps({"results": runs}))
        hello, imports = [sys.executable, "hello.py", "--help"], [sys.executable, "-c", "import numpy, pandas"]
        commands = {"typer hello --help": hello, "perf --help": [perf, "--help"]}
        for fitter in registry().entries("fitters"):
            commands[f"perf fit --fitter {fitter} --help"] = [perf, "fit", "--fitter", fitter, "--help"]
        answers = {"import numpy, pandas": imports} | {f"perf {words}": [perf, *words.split()] for words in BUDGETS}
        rounds = [
            {name: cpu_s(words, folder) for name, words in (commands | answers).items()}
            | {"TAB": cpu_s([perf], folder, **tab)}
            for _ in range(RUNS)
        ]
    seconds = {name: statistics.median(times[name] for times in rounds) for name in rounds[0]}
    for name in [*commands, "TAB"]:
        ratio = seconds[name] / seconds["typer hello --help"]
        print(
            f"{f'TAB after: {line}' if name == 'TAB' else name:45} {1e3 * seconds[name]:6.0f} ms {ratio:6.2f} x hello"
        )
    exceeded = False
    for name in answers:
        ratio, budget = seconds[name] / seconds["import numpy, pandas"], BUDGETS.get(name.removeprefix("perf "))
        exceeded |= budget is not None and ratio > budget
        asked = "" if budget is None else f" (at most {budget:.2f})"
        print(f"{name.replace(str(HALO), HALO.name):45} {1e3 * seconds[name]:6.0f} ms {ratio:6.2f} x imports{asked}")
    return int(exceeded)


if __name__ == "__main__":
    sys.exit(main())
