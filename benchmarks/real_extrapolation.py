"""Extrapolation of real series: fit the small levels, judge at larger ones; docs/how-we-know-scaling.md.

python benchmarks/real_extrapolation.py CASES.jsonl [MORE.jsonl ...]    # all series; some minutes
python benchmarks/real_extrapolation.py CASES.jsonl --extrap            # Extra-P with negative exponents too
python benchmarks/real_extrapolation.py CASES.jsonl --rates             # one over each time, as a rate of whole runs
python benchmarks/real_extrapolation.py CASES.jsonl --clean             # series that follow a formula, and how far

A case is a line ``{"src": SOURCE, "path": NAME, "x": [levels], "y": [[runs of a level], ...]}``. Of series of five
levels and more the first are fitted, at least four, up to all but one, two and three of them; the next level, and those
at twice and four times the largest fitted one (within a fifth), are predicted. Sources count alike, however many series
they have.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from scaling_laws import ENVIRONMENT, KEPT, ExtraP
from scipy.stats import t as student

import perfcore
from perf_scaling.engine import fit_posterior
from perf_scaling.family import run_variance

Floats = npt.NDArray[np.float64]

EXTRAP_PART = Path(__file__).with_name("real_extrapolation_extrap.py")
LEAST_LEVELS, MOST_CUTS = 4, 2
DISTANCES = ("next", "twice", "four times")
NEAR = 1.2  # a level counts as twice or four times the last within this factor
COVERAGES = (0.95, 0.8, 0.5)
MANY = 35  # series from which on a source is reported alone


@dataclass(frozen=True)
class Task:
    """Fit some levels of a series, judge at another."""

    source: str
    path: str
    levels: Floats
    runs: tuple[Floats, ...]
    at: float
    judged: Floats
    distance: str


@dataclass(frozen=True)
class Answer:
    """Estimate, and bounds of a run at each of `COVERAGES`."""

    value: float
    bounds: tuple[tuple[float, float], ...]


def tasks_of(files: Iterable[Path]) -> list[Task]:
    """Tasks of all series that can be fitted."""
    found = []
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            order = np.argsort(case["x"])
            levels = np.array(case["x"], dtype=np.float64)[order]
            runs = [np.array(case["y"][k], dtype=np.float64) for k in order]
            if levels[0] <= 0.0 or any(not len(own) or own.min() <= 0.0 for own in runs) or np.ptp(levels) == 0.0:
                continue
            for count in range(max(LEAST_LEVELS, len(levels) - 1 - MOST_CUTS), len(levels)):
                last = levels[count - 1]
                for distance, factor in zip(DISTANCES, (None, 2.0, 4.0), strict=True):
                    later = np.arange(count, len(levels))
                    if factor is not None:
                        later = later[np.abs(np.log(levels[later] / (factor * last))) < np.log(NEAR)]
                    if len(later):
                        k = int(later[0])
                        found.append(Task(case["src"], case["path"], levels[:count], tuple(runs[:count]),
                                          float(levels[k]), runs[k], distance))  # fmt: skip
    return found


def relative_variance(tasks: Sequence[Task]) -> Floats:
    """Of one run of each task, which have the same levels."""
    counts = np.array([[float(len(own)) for own in task.runs] for task in tasks])
    squares = np.array([[((own / own.mean() - 1.0) ** 2).sum() for own in task.runs] for task in tasks])
    return run_variance(squares / np.maximum(counts - 1.0, 1.0), counts)


def by_perfcore(tasks: Sequence[Task], reciprocal: bool = False) -> list[Answer]:
    """The posterior of `scaling`."""
    found: list[Answer | None] = [None] * len(tasks)
    alike: dict[tuple[tuple[float, ...], float], list[int]] = defaultdict(list)
    for number, task in enumerate(tasks):
        alike[tuple(task.levels), task.at].append(number)
    sides = (0.025, 0.1, 0.25, 0.75, 0.9, 0.975)
    for (levels, at), numbers in alike.items():
        means = np.array([[own.mean() for own in tasks[number].runs] for number in numbers])
        counts = np.array([[float(len(own)) for own in tasks[number].runs] for number in numbers])
        spread = relative_variance([tasks[number] for number in numbers])
        posterior = fit_posterior(np.array(levels)[:, None], means, counts, spread, reciprocal=reciprocal)
        value = posterior.quantiles([[at]], (0.5,), run=True)[:, 0, 0]
        for number, own, (a, b, c, d, e, f) in zip(
            numbers, value, posterior.quantiles([[at]], sides, run=True)[:, 0], strict=True
        ):
            found[number] = Answer(float(own), ((a, f), (b, e), (c, d)))
    return [one for one in found if one is not None]


def by_line(tasks: Sequence[Task]) -> list[Answer]:
    """A line through the last three points in log-log, with the bounds of its residuals."""
    found = []
    for task in tasks:
        x = np.log(task.levels[-3:])
        y = np.log([own.mean() for own in task.runs[-3:]])
        slope, level = np.polyfit(x, y, 1)
        at = np.log(task.at)
        error = np.sqrt(((y - slope * x - level) ** 2).sum())  # one degree of freedom
        wide = error * np.sqrt(1.0 + 1.0 / 3.0 + (at - x.mean()) ** 2 / ((x - x.mean()) ** 2).sum())
        middle = slope * at + level
        bounds = [float(np.clip(student.ppf(0.5 + 0.5 * c, 1) * wide, 0.0, 50.0)) for c in COVERAGES]
        found.append(
            Answer(float(np.exp(middle)), tuple((float(np.exp(middle - b)), float(np.exp(middle + b))) for b in bounds))
        )
    return found


def by_extra_p(tasks: Sequence[Task]) -> list[Answer]:
    """Extra-P's default modeler with negative exponents, in an environment of its own; it has no bounds."""
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder) / "tasks.json", Path(folder) / "values.json"
        content = [(task.levels.tolist(), [own.tolist() for own in task.runs], task.at) for task in tasks]
        asked.write_text(json.dumps(content), encoding="utf-8")
        program = ExtraP(ENVIRONMENT, KEPT).python()
        subprocess.run([str(program), str(EXTRAP_PART), str(asked), str(answered)], check=True)
        return [Answer(value, ()) for value in json.loads(answered.read_text(encoding="utf-8"))]


def equally(tasks: Sequence[Task]) -> Floats:
    """Weights by which sources count alike, adding up to 1."""
    counts: dict[str, int] = defaultdict(int)
    for task in tasks:
        counts[task.source] += 1
    return np.array([1.0 / counts[task.source] / len(counts) for task in tasks])


def quantile(values: Floats, weights: Floats, level: float) -> float:
    """Weighted quantile."""
    order = np.argsort(values)
    return float(
        values[order][np.searchsorted(np.cumsum(weights[order]), level * weights.sum()).clip(max=len(order) - 1)]
    )


def interval_score(task: Task, bounds: tuple[float, float], coverage: float) -> float:
    """Mean interval score of the runs on the logarithm (T. Gneiting and A. Raftery, 2007, equation 43)."""
    low, high = np.log(bounds)
    y = np.log(task.judged)
    missed = np.maximum(low - y, 0.0) + np.maximum(y - high, 0.0)
    return float((high - low + 2.0 / (1.0 - coverage) * missed).mean())


def cells(tasks: Sequence[Task], answers: Sequence[Answer]) -> list[str]:
    """What a row of the tables says."""
    weights = equally(tasks)
    error = np.array([abs(one.value / task.judged.mean() - 1.0) for one, task in zip(answers, tasks, strict=True)])
    row = [str(len(tasks)), f"{quantile(error, weights, 0.5):.3f}", f"{quantile(error, weights, 0.9):.2f}"]
    if not answers[0].bounds:
        return [*row, "", "", "", "", ""]
    for place, coverage in enumerate(COVERAGES):
        inside = [np.mean((one.bounds[place][0] <= task.judged) & (task.judged <= one.bounds[place][1]))
                  for one, task in zip(answers, tasks, strict=True)]  # fmt: skip
        row.append(f"{weights @ inside:.1%}")
        if not place:
            scores = [interval_score(task, one.bounds[0], coverage) for one, task in zip(answers, tasks, strict=True)]
    half = np.array([0.5 * np.log(one.bounds[2][1] / one.bounds[2][0]) for one in answers])
    return [*row, f"{quantile(half, weights, 0.5):.3f}", f"{weights @ scores:.2f}"]


HEADER = (
    "distance",
    "method",
    "judged",
    "median error",
    "p90",
    "95 % hold",
    "80 % hold",
    "50 % hold",
    "half of the 50 %",
    "interval score",
)


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table in markdown."""
    print(f"\n| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def report(tasks: Sequence[Task], methods: Mapping[str, Callable[[Sequence[Task]], list[Answer]]]) -> None:
    """Errors and coverage by distance, and of perfcore by source and distance."""
    started = time.process_time()
    answers = {name: method(tasks) for name, method in methods.items()}
    series, sources = {(task.source, task.path) for task in tasks}, {task.source for task in tasks}
    seconds = time.process_time() - started
    print(
        f"\n{len(series)} series of {len(sources)} sources, {len(tasks)} judgements; {seconds:.0f} s of processor time"
    )
    rows = []
    for distance in DISTANCES:
        for name in methods:
            some = [k for k, task in enumerate(tasks) if task.distance == distance]
            rows.append([distance, name, *cells([tasks[k] for k in some], [answers[name][k] for k in some])])
    print_table(HEADER, rows)
    kinds = {"runs repeated": [], "one run": []}  # type: dict[str, list[int]]
    for k, task in enumerate(tasks):
        kinds["runs repeated" if max(map(len, task.runs)) > 1 else "one run"].append(k)
    rows = []
    for distance in DISTANCES:
        for kind, members in kinds.items():
            some = [k for k in members if tasks[k].distance == distance]
            if some:
                rows.append([distance, kind, *cells([tasks[k] for k in some], [answers["perfcore"][k] for k in some])])
    print_table(("distance", "runs", *HEADER[2:]), rows)
    rows = []
    for source in sorted({task.source for task in tasks}):
        for distance in DISTANCES:
            some = [k for k, task in enumerate(tasks) if (task.source, task.distance) == (source, distance)]
            if len(some) >= MANY:
                rows.append(
                    [source, distance, *cells([tasks[k] for k in some], [answers["perfcore"][k] for k in some])]
                )
    print_table(("source", "distance", *HEADER[2:]), rows)


def report_clean(tasks: Sequence[Task]) -> None:
    """Series that their best formula fits within a limit: how far the prediction and the formula were off beyond."""
    alike: dict[tuple[tuple[float, ...], float, str], list[Task]] = defaultdict(list)
    for task in tasks:
        if task.distance != "next":
            alike[tuple(task.levels), task.at, task.distance].append(task)
    found: dict[str, list[tuple[Task, float, float, float, bool]]] = defaultdict(list)
    for (levels, at, distance), members in alike.items():
        rows = [
            (level, f"series {number:04d}", run)
            for number, task in enumerate(members)
            for level, own in zip(levels, task.runs, strict=True)
            for run in own
        ]
        table = pd.DataFrame(rows, columns=["p", "path", "time_s"])
        how = {"parameter": "p", "value": "time_s", "path": "path", "duplicates": "keep", "at": f"p={at!r}"}
        for row in perfcore.fit(table, fitter="scaling", **how).rows:
            task = members[int(row.path.split()[-1])]
            errors = [abs(float(np.log(value / task.judged.mean()))) for value in (row.predicted, row.continued)]
            inside = bool(((row.low <= task.judged) & (task.judged <= row.high)).mean() >= 0.5)
            found[distance].append((task, row.model.fit_error, *errors, inside))
    rows = []
    for distance, answers in found.items():
        for low, high in ((0.0, 0.01), (0.01, 0.03), (0.03, np.inf)):
            some = [answer for answer in answers if low <= answer[1] < high]
            if not some:
                continue
            weights = equally([answer[0] for answer in some])
            row = [
                distance,
                f"{low:.0%} to {high:.0%}",
                str(len(some)),
                str(len({answer[0].source for answer in some})),
            ]
            for place in (2, 3):
                error = np.array([answer[place] for answer in some])
                row += [f"{quantile(error, weights, level):.3f}" for level in (0.5, 0.9, 0.95)]
            rows.append([*row, f"{weights @ [answer[4] for answer in some]:.0%}"])
    errors = [f"{of}, {level}" for of in ("prediction", "formula") for level in ("median", "p90", "p95")]
    print_table(("distance", "fit error", "judged", "sources", *errors, "95 % hold"), rows)


def main() -> None:
    """Print tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="+", type=Path, help="JSON lines of series")
    parser.add_argument("--extrap", action="store_true", help="also Extra-P, installed where it is not")
    parser.add_argument("--clean", action="store_true", help="judge series by how well a formula fits them")
    parser.add_argument("--rates", action="store_true", help="judge runs per time")
    given = parser.parse_args()
    tasks = tasks_of(given.cases)
    if given.clean:
        report_clean(tasks)
        return
    methods: dict[str, Callable[[Sequence[Task]], list[Answer]]] = {"perfcore": by_perfcore, "line": by_line}
    if given.rates:
        tasks = [replace(task, runs=tuple(1.0 / own for own in task.runs), judged=1.0 / task.judged) for task in tasks]
        methods = {"perfcore": partial(by_perfcore, reciprocal=True), "laws of the rates": by_perfcore}
    if given.extrap:
        methods["Extra-P, negative exponents"] = by_extra_p
    report(tasks, methods)


if __name__ == "__main__":
    main()
