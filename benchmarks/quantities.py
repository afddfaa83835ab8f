"""Quantities that one can trust: choices, tails, limits and costs against large samples.

``python benchmarks/quantities.py SERIES.csv ...`` prints the tables of docs/how-we-know.md.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import NormalDist

import numpy as np

from perf_structural import StructuralModel, evaluate, schedule
from perf_structural.measured_value import limits_of_quantile
from perfcore.stochastic import add, divide, from_dict, multiply, representation_named

SAMPLES = 10_000_000
BY = "quantile:0.95"
# Names of two machines or groups of machines, with mean and standard deviation of their speed.
CASES = {
    "close": {"fast": (10.0, 2.0), "steady": (8.0, 0.4)},
    "wide": {"fast": (12.0, 3.0), "steady": (9.0, 0.5)},
    "misleading": {"fast": (12.0, 2.0), "steady": (9.0, 0.4)},
}


def largest_of_quotients(mean: float, std: float, machines: int, rng: np.random.Generator) -> np.ndarray:
    """Samples of the largest of 100 units of work over normal speeds (SAMPLES,)."""
    found = np.full(SAMPLES, -np.inf)
    for _ in range(machines):
        found = np.maximum(found, 100.0 / rng.normal(mean, std, SAMPLES))
    return found


def schedules() -> None:
    """Choice and p95 of two methods against a large sample."""
    print("| machines | case | candidate | p95 of 10^7 samples | auto | moments | choice: samples, auto, moments |")
    print("|---|---|---|---|---|---|---|")
    rng = np.random.default_rng(1)
    model = StructuralModel("max_over(100/speed)", inputs={"speed": 1})
    for machines in (2, 8):
        for case, speeds in CASES.items():
            truth = {
                name: float(np.quantile(largest_of_quotients(*speed, machines, rng), 0.95))
                for name, speed in speeds.items()
            }
            candidates = {name: {"speed": [{"normal": list(speed)}] * machines} for name, speed in speeds.items()}
            auto = schedule(model, candidates, by=BY)
            exact = schedule(model, candidates, by=BY, method="exact")
            best = min(truth, key=truth.__getitem__)
            for name in speeds:
                shown = [f"{figures[name] / truth[name] - 1.0:+.2%}" for figures in (auto.figures, exact.figures)]
                choice = f"{best}, {auto.chosen}, {exact.chosen}" if name == next(iter(speeds)) else ""
                print(f"| {machines} | {case} | {name} | {truth[name]:.3f} | {' | '.join(shown)} | {choice} |")


def tails() -> None:
    """p99 and p99.9 of the bins that stand for a result, against a large sample of the same inputs."""
    print("\n| formula | method | p99 | p99.9 |\n|---|---|---|---|")
    rng = np.random.default_rng(2)
    named = representation_named("histogram")
    load = named.from_draws(rng.lognormal(0.0, 0.6, 200_000), 100)
    wait = named.from_draws(rng.gamma(2.0, 1.0, 200_000), 100)
    drawn = load.sample(SAMPLES, rng), wait.sample(SAMPLES, rng)
    formulas = {
        "x + y": lambda x, y: x + y,
        "x*y": lambda x, y: x * y,
        "max(x, y)": np.maximum,
        "x*y + x": lambda x, y: x * y + x,
        "exp(x/2) + x": lambda x, y: np.exp(x / 2.0) + x,
    }
    for formula, function in formulas.items():
        found = evaluate(formula, {"x": load, "y": wait})
        written = from_dict(found.value.to_dict())
        true = np.quantile(function(*drawn), [0.99, 0.999])
        errors = np.asarray(written.quantile([0.99, 0.999])) / true - 1.0
        method = "arithmetic" if found.evaluation.sample is None else "sample"
        print(f"| `{formula}` | {method} | {errors[0]:+.2%} | {errors[1]:+.2%} |")


def limits() -> None:
    """How often the limits of quantiles hold the truth."""
    print("\n| distribution | samples | quantile | promised | held |\n|---|---|---|---|---|")
    rng, runs = np.random.default_rng(3), 1000
    for name, draw, truth in (
        ("lognormal", lambda n: rng.lognormal(size=n), lambda q: math.exp(NormalDist().inv_cdf(q))),
        ("exponential", lambda n: rng.exponential(size=n), lambda q: -math.log1p(-q)),
    ):
        for count, level in ((50, 0.5), (400, 0.99), (4000, 0.999)):
            held = 0
            for _ in range(runs):
                low, high = limits_of_quantile(draw(count), level)
                held += low <= truth(level) <= high
            print(f"| {name} | {count} | {level} | 95 % | {held / runs:.1%} |")


def costs() -> None:
    """Processor time of operations and of a large sampled graph."""
    print("\n| what | processor time |\n|---|---|")
    rng = np.random.default_rng(4)
    named = representation_named("histogram")
    for bins in (100, 1000):
        x = named.from_draws(rng.lognormal(0.0, 0.5, 100_000), bins)
        y = named.from_draws(rng.gamma(3.0, 1.0, 100_000), bins)
        for name, operation in (("sum", add), ("product", multiply), ("quotient", divide)):
            times = []
            for _ in range(7):
                start = time.process_time()
                operation(x, y, bins=bins)
                times.append(time.process_time() - start)
            print(f"| {name}, {bins} bins | {1e3 * min(times):.2f} ms |")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model = StructuralModel("max_over(w*s) + sum_over(s)", inputs={"w": 1.0, "s": [{"normal": [10, 1]}] * 1000})
    start = time.process_time()
    model.predict()
    # As the system counts it, in kilobytes.
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024.0
    taken = time.process_time() - start
    print(f"| 1,000 sampled inputs, as many points as by default | {taken:.2f} s, {max(grown, 0.0):.0f} MiB more |")


_REQUEST = """\
equation = "rate*service^2*(1 + variation^2)/(1 + rate*service) + service + size/bandwidth + latency"
[inputs]
rate = { normal = [0.9, 0.1] }
service = { normal = [12, 0.8] }
variation = { normal = [1.2, 0.1] }
size = { normal = [2, 0.2] }
bandwidth = { normal = [1, 0.06] }
latency = { normal = [0.2, 0.02] }
"""


def parts() -> None:
    """What a sample of 10^8 points takes by this process, one other and two: the whole command, twice in turn."""
    print("\n| sample of 10^8 points | where | time | processor time | load |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        request = Path(folder, "request.toml")
        request.write_text(_REQUEST)
        for model in ("examples/structural/sor.toml", str(request)):
            for where in 2 * ([], ["--parallel", "local:1"], ["--parallel", "local:2"]):
                words = ["predict", model, "--method", "sample", "--samples", str(10**8), "--json", *where]
                load, before, start = os.getloadavg()[0], _of_children(), time.perf_counter()
                subprocess.run([sys.executable, "-m", "perfcore", *words], check=True, stdout=subprocess.DEVNULL)
                taken, used = time.perf_counter() - start, _of_children() - before
                place = " ".join(where) or "this process"
                print(f"| {Path(model).stem} | {place} | {taken:.1f} s | {used:.1f} s | {load:.1f} |")


def _of_children() -> float:
    """Processor time of processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", action="store_true", help="only what samples in parts take")
    given = parser.parse_args()
    if given.parts:
        parts()
        sys.exit()
    costs()
    schedules()
    tails()
    limits()
