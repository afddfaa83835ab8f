"""Predict runs of sor.py under background load by its structural model, make them, and judge the predictions.

1. Without load: processor time of one point, and time of one exchange of rows.
2. Under load: the share of each processor that is available, one sample each second.
3. For each run: two more samples, predictions from the samples of the last minute as point, interval, normal and
   histogram, then the run itself. Nobody samples meanwhile: the program would measure itself as load.
4. The judgement of each representation, and a picture of three of them (compare.py).

It needs two processors, and Linux, which can tie a process to a processor. The folder ``--out`` gets availability.csv,
predictions-NAME.json and runs.csv, sor.toml with what was measured without load, and cpu-0.json and cpu-1.json, which
it names: the values of the last prediction.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from background_load import HIGH, MEDIUM, Load, Probes
from compare import REPRESENTATIONS, compare
from sor import Problem, Team

import perfcore
from perf_structural import Prediction, StructuralModel
from perf_structural.measured_value import represent, variation_class
from perf_tables.series import take_window
from perfcore.data.series import Series
from perfcore.stochastic import StochasticValue

__all__ = ["Experiment", "calibrate", "main", "write_model"]

BINS = 5  # the paper's section 3.2: more did not help
SAMPLE_S = 1.0
CALIBRATIONS = 5
PROCESSORS = 2
MODEL = Path(__file__).with_name("sor.toml")


def calibrate(problem: Problem, processors: Sequence[int], iterations: int) -> tuple[float, float]:
    """What the model's components cost without load.

    Parameters
    ----------
    problem : Problem
    processors : sequence of int
        Of the workers.
    iterations : int

    Returns
    -------
    benchmark_s : float, seconds
        Processor time of one point while all workers compute, since they share caches and memory; the median of some
        runs.
    exchange_s : float, seconds
        Time of half an iteration of strips that have two rows, most of it the barrier; the least of some runs, as
        whatever else wants a processor can only make it longer.
    """
    with Team(problem, processors) as team:
        team.grid[:] = np.random.default_rng(0).random(problem.shape)
        busy_s = float(np.median([max(team.run(iterations).compute_s) for _ in range(CALIBRATIONS)]))
    rows = max(len(problem.strip(rank)) for rank in range(problem.workers))
    thin = Problem(2 * problem.workers, problem.columns, problem.workers)
    with Team(thin, processors) as team:
        exchange_s = min(team.run(iterations).time_s for _ in range(CALIBRATIONS)) / (2 * iterations)
    return busy_s / (iterations * rows * problem.columns), exchange_s


@dataclass
class Experiment:
    """Samples, predictions and runs, as they come; all times are seconds since its beginning.

    Parameters
    ----------
    model : StructuralModel
        Calibrated; its input ``cpu`` is replaced for each prediction.
    processors : sequence of int
    window : str
        How much of the samples counts.
    """

    model: StructuralModel
    processors: Sequence[int]
    window: str
    begin_s: float = field(default_factory=time.monotonic)
    times: list[float] = field(default_factory=list)
    shares: list[list[float]] = field(default_factory=list)
    predictions: dict[str, list[Prediction]] = field(default_factory=lambda: {name: [] for name in REPRESENTATIONS})
    runs: list[tuple[float, float, float]] = field(default_factory=list)

    def sample(self, probes: Probes, count: int) -> None:
        """Take samples one after another; the time of each is its end."""
        for _ in range(count):
            self.shares.append([round(share, 6) for share in probes.sample(SAMPLE_S)])
            self.times.append(round(time.monotonic() - self.begin_s, 3))

    def series(self) -> Series:
        """All samples so far."""
        columns = {f"cpu {cpu} available": [row[at] for row in self.shares] for at, cpu in enumerate(self.processors)}
        return Series(self.times, columns, "s", source="availability.csv")

    def represented(self, name: str) -> list[StochasticValue]:
        """The last samples of each processor as one of the representations."""
        series = self.series()
        options = {"rule": "width"} if name == "histogram" else {}  # the paper's bins
        windows = [take_window(series, self.window, column) for column in series.columns]
        return [represent(window, name, **options).value for window in windows]

    def predict(self) -> None:
        """Predict the next run as each of the representations."""
        for name, made in self.predictions.items():
            made.append(self.model.with_inputs({"cpu": self.represented(name)}).predict(bins=BINS))

    def run(self, team: Team, iterations: int) -> None:
        """Make a run; the last sample before it is the last that its predictions know."""
        timing = team.run(iterations)
        self.runs.append((self.times[-1], round(timing.start_s - self.begin_s, 3), round(timing.time_s, 6)))

    def write(self, folder: Path) -> None:
        """Write the samples, the values of the last prediction, the predictions and the runs."""
        perfcore.write(self.series(), folder / "availability.csv")
        for number, value in enumerate(self.represented("histogram")):
            (folder / f"cpu-{number}.json").write_text(json.dumps(value.to_dict()) + "\n")
        for name, made in self.predictions.items():
            lines = "".join(json.dumps(prediction.value.to_dict()) + "\n" for prediction in made)
            (folder / f"predictions-{name}.json").write_text(lines)
        rows = "".join(f"{number},{','.join(map(str, run))}\n" for number, run in enumerate(self.runs, 1))
        (folder / "runs.csv").write_text("run,until_s,start_s,time_s\n" + rows)


def write_model(inputs: Mapping[str, Any], processors: int, path: Path) -> None:
    """Write sor.toml with other inputs; the shares of the processors are in cpu-0.json and so on, beside it."""
    equations, _, _ = MODEL.read_text().partition("[inputs]")
    files = [{"file": f"cpu-{number}.json"} for number in range(processors)]
    rows = "".join(f"{name} = {_toml(value)}\n" for name, value in {**inputs, "cpu": files}.items())
    path.write_text(f"{equations}[inputs]\n{rows}")


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(part)}" for key, part in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)  # numbers and plain words are written alike


def main() -> int:
    """Run as a program."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=20, help="runs to predict and to make")
    parser.add_argument("--iterations", type=int, default=60, help="of each run")
    parser.add_argument("--size", type=int, default=2000, help="inner rows and columns of the grid")
    parser.add_argument("--before", type=int, default=30, help="samples before the first prediction, seconds")
    parser.add_argument("--between", type=int, default=2, help="samples before each run, seconds")
    parser.add_argument("--window", default="60s", help="how much of the samples counts for a prediction")
    parser.add_argument("--seed", type=int, default=1, help="of the background load")
    parser.add_argument("--out", type=Path, default=Path("sor-results"), help="folder for the results")
    given = parser.parse_args()
    if min(given.runs, given.iterations, given.before, given.between) < 1 or given.size < PROCESSORS:
        parser.error("runs, iterations and samples are at least 1, and the grid has a row for each processor")
    if not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < PROCESSORS:
        parser.error(f"Linux and {PROCESSORS} processors are needed")
    processors = sorted(os.sched_getaffinity(0))[:PROCESSORS]
    given.out.mkdir(parents=True, exist_ok=True)

    print(f"measuring without load; the machine's own load is {os.getloadavg()[0]:.2f}", flush=True)
    problem = Problem(given.size, given.size, len(processors))
    benchmark_s, exchange_s = calibrate(problem, processors, given.iterations)
    inputs = {
        "iterations": given.iterations,
        "columns": problem.columns,
        "rows": [len(problem.strip(rank)) for rank in range(problem.workers)],
        "benchmark": {"value": round(benchmark_s * 1e9, 3), "unit": "ns"},
        "exchange": {"value": round(exchange_s * 1e6, 1), "unit": "us"},
    }
    print(f"{benchmark_s * 1e9:.2f} ns for a point, {exchange_s * 1e6:.0f} us for an exchange")
    write_model(inputs, len(processors), given.out / "sor.toml")

    with Team(problem, processors) as team, Probes(processors) as probes, Load((HIGH, MEDIUM), processors, given.seed):
        team.grid[:] = np.random.default_rng(0).random(problem.shape)
        experiment = Experiment(StructuralModel.read(MODEL).with_inputs(inputs), processors, given.window)
        print(f"sampling under load for {given.before * SAMPLE_S:.0f} s", flush=True)
        experiment.sample(probes, given.before)
        for number in range(1, given.runs + 1):
            experiment.sample(probes, given.between)
            experiment.predict()
            experiment.run(team, given.iterations)
            predicted = experiment.predictions["histogram"][-1].value
            low, high = predicted.support
            print(f"run {number} of {given.runs}: predicted {predicted.mean:.3f} s, {low:.3f} .. {high:.3f}, ", end="")
            print(f"took {experiment.runs[-1][-1]:.3f} s", flush=True)
    experiment.write(given.out)
    for column, samples in experiment.series().columns.items():
        variation = float(np.ptp(samples))
        print(f"{column}: mean {samples.mean():.2f}, variation {variation:.2f}, {variation_class(variation)}")
    print()
    compare(given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
