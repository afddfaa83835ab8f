"""Measure the example programs with `perf experiment run`, model them with modgen, and write the README.

``python study.py record`` makes the runs, some minutes; ``python study.py report`` makes the models and the README's
table from the recorded stores.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import perfcore
from perf_experiments import Store, needed_replications

__all__ = ["PROGRAMS", "fit", "report", "table_of"]

HERE = Path(__file__).resolve().parent
RECORDED = HERE / "recorded"
CATEGORIES = ("compute", "waiting", "other")
# Sizes that take a fraction of a second to some seconds, above what starting Python and its processes takes.
PROGRAMS = {"sor": "D=256,384,512,768,1024", "cholesky": "D=512,768,1024,1536,2048"}
WORKERS = "p=1,2,4"
REPLICATIONS = 3
_BLOCK = re.compile(r"(?<=<!-- results -->\n).*(?=<!-- end of results -->)", re.DOTALL)


def record(program: str) -> None:
    """Make the runs of one program, in a folder of their own, and keep their design and store."""
    scripts = [sysconfig.get_path("scripts"), str(Path(sys.executable).parent)]
    environment = {**os.environ, "PATH": os.pathsep.join([*scripts, os.environ["PATH"]])}
    with tempfile.TemporaryDirectory(prefix="perfcore-study-") as folder:
        for name in ("sor", "cholesky", "study"):
            shutil.copytree(
                HERE.parent / name, Path(folder, name), ignore=shutil.ignore_patterns("recorded", "*cache*")
            )
        design = ["experiment", "design", "-f", WORKERS, "-f", PROGRAMS[program], "--replications", str(REPLICATIONS)]
        values = [word for name in ("total", *CATEGORIES) for word in ("--value", f"{name}=^{name} ([0-9.]+)$")]
        command = ["env", "python3", "study/measure.py", program, "--size", "{D}", "--workers", "{p}"]
        for words in (
            [*design, "-o", f"{program}.toml"],
            ["experiment", "run", f"{program}.toml", "--limit", "60s", "--retry-failed", *values, "--", *command],
        ):
            subprocess.run(["perfcore", *words], cwd=folder, env=environment, check=True)
        RECORDED.mkdir(exist_ok=True)
        for ending in (".toml", ".db"):
            shutil.copy(Path(folder, program + ending), RECORDED)


def table_of(program: str) -> perfcore.Measurements:
    """The recorded runs with a row for each category of a run."""
    runs = perfcore.read(RECORDED / f"{program}.db").table
    rows = runs.melt(["p", "D", "run"], list(CATEGORIES), "category", "time_s")
    return perfcore.Measurements(rows, ["p", "D"], "time_s", category="category", source=f"{program}.db")


def fit(program: str) -> perfcore.Model:
    """The model of the program as the sum of its categories; a fifth of the points is set aside to judge it."""
    return perfcore.fit(table_of(program), fitter="modgen", set_aside=0.2)


def report() -> str:
    """The results of all recorded programs as Markdown."""
    return "\n".join(_report(program) for program in PROGRAMS)


def _report(program: str) -> str:
    model = fit(program)
    figures = model.statistics
    with Store.read(RECORDED / f"{program}.db") as store:
        runs = store.runs()
    noisy = sum(run.noisy for run in runs)
    needed = needed_replications(runs, 0.05)
    more = [point for point in needed if point.more]
    formulas = dict(line.split(" = ", 1) for line in model.formula.splitlines())
    means = table_of(program).table.groupby("category")["time_s"].mean()
    rows = [
        f"| {name} | {means[name] / means.sum():.0%} | `{formula}` |"
        for name, formula in formulas.items()
    ]  # fmt: skip
    return "\n".join(
        [
            f"**{program}**: {len(runs)} runs at {len(needed)} points, {noisy} of them while others used the machine.",
            "",
            "| category | share of the time | model, seconds |",
            "|---|---|---|",
            *rows,
            "",
            f"Relative error of the total: median {figures['median_relative_error']:.1%}, largest "
            f"{figures['max_relative_error']:.1%} at the {figures['n_points']} points of the fit; median "
            f"{figures['set_aside_median_relative_error']:.1%}, largest {figures['set_aside_max_relative_error']:.1%} "
            f"at the {figures['n_set_aside']} that were set aside.",
            f"For a mean known to 5 %, {len(more)} points need more runs, {sum(point.more for point in more)} in all, "
            "with at most 30 at a point.",
            "",
        ]
    )


def main() -> None:
    """Run as a program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["record", "report"])
    given = parser.parse_args()
    if given.what == "record":
        for program in PROGRAMS:
            record(program)
    readme = HERE / "README.md"
    readme.write_text(_BLOCK.sub(lambda _: report(), readme.read_text()))


if __name__ == "__main__":
    main()
