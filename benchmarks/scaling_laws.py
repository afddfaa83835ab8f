"""Scaling laws of many functions beside Extra-P, and beside what the data allow: docs/how-we-know-scaling.md.

python benchmarks/scaling_laws.py                               # perfcore and the limits, ten seeds
python benchmarks/scaling_laws.py --extrap --seeds 100..109     # Extra-P 4.2.5 too, in an environment of its own
python benchmarks/scaling_laws.py --extrap --quick              # one seed, 500 call paths

Extra-P is installed from PyPI where the environment does not exist. What it predicts is kept in a folder, by the
content of the measurements, since 5,000 call paths take it minutes. The data are described in scaling_laws_data.py,
the limits in scaling_laws_limits.py.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import subprocess
import tempfile
import time
import venv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scaling_laws_data import ONE_PARAMETER, SCENARIOS, Floats, Scenario, call_paths, scenario, write_text
from scaling_laws_limits import Forecast, average_over_prior, fit_true_terms

import perfcore
from perf_scaling.growth import next_point
from perf_scaling.model import ScalingModel

NOISES = (0.05, 0.2)
DEFAULT = "Default"  # of Extra-P's modelers
FIXED_N = (128.0, 256.0)  # one more point without advice: twice as far, and the target itself
ENVIRONMENT = Path.home() / ".cache" / "perfcore-extrap"
KEPT = Path(tempfile.gettempdir()) / "perfcore-scaling-laws"
EXTRAP_PART = Path(__file__).with_name("scaling_laws_extrap.py")


@dataclass(frozen=True)
class ExtraP:
    """Extra-P in an environment of its own, and a folder with what it found before."""

    environment: Path
    kept: Path

    def results(self, cases: Iterable[tuple[Scenario, str]]) -> list[dict[str, Any]]:
        """What scaling_laws_extrap.py writes, for each scenario and modeler."""
        found, jobs = [], []
        for made, modeler in cases:
            data = self.kept / f"{made.name}-{made.noise:g}-{made.seed}-{len(made.laws)}.txt"
            data.parent.mkdir(parents=True, exist_ok=True)
            write_text(made, data)
            content = hashlib.sha256(data.read_bytes()).hexdigest()[:16]
            found.append(result := self.kept / f"{content}-{modeler}.json")
            if not result.exists():
                job = {"title": f"{data.stem} {modeler}", "data": str(data), "result": str(result)}
                jobs.append({**job, "modeler": modeler, "target": made.target.tolist()})
        if jobs:
            listed = self.kept / "jobs.json"
            listed.write_text(json.dumps(jobs), encoding="utf-8")
            subprocess.run(["nice", "-n", "19", str(self.python()), str(EXTRAP_PART), str(listed)], check=True)
        return [json.loads(result.read_text(encoding="utf-8")) for result in found]

    def forecasts(self, cases: Iterable[tuple[Scenario, str]]) -> list[Forecast]:
        """Predictions at the target of each scenario, for each modeler."""
        cases = list(cases)
        return [_as_forecast(made, result) for (made, _), result in zip(cases, self.results(cases), strict=True)]

    def python(self) -> Path:
        """The environment's interpreter; the environment is made first where there is none."""
        program = self.environment / "bin" / "python"
        if not program.with_name("extrap").exists():  # written last
            venv.create(self.environment, with_pip=True)
            subprocess.run([str(program), "-m", "pip", "install", "--quiet", "extrap==4.2.5"], check=True)
        return program


def _as_forecast(made: Scenario, result: dict[str, Any]) -> Forecast:
    of_functions = [result["functions"][name] for name in made.names]
    return Forecast(
        value=np.array([found["prediction"] for found in of_functions]),
        constant=np.array([found["constant"] for found in of_functions]),
        cpu_s=result["reading_s"] + result["modelling_s"],
    )


def fitted(made: Scenario) -> ScalingModel:
    """perfcore's laws of all functions."""
    n_points, n_repetitions = made.values.shape[1:]
    rows = np.repeat(made.points.reshape(-1, len(made.parameters)), n_repetitions, axis=0)
    table = pd.DataFrame(rows, columns=list(made.parameters))
    table["callpath"] = np.repeat(made.names, n_points * n_repetitions)
    table["time_s"] = made.values.ravel()
    model = perfcore.fit(perfcore.Measurements(table, made.parameters, "time_s", code="callpath"), fitter="scaling")
    assert isinstance(model, ScalingModel)
    assert model.paths == made.names
    return model


def forecast(made: Scenario) -> Forecast:
    """perfcore's predictions at the target, with bounds of the true value; a constant is what is likeliest one."""
    started = time.process_time()
    model = fitted(made)
    value, lower, upper = model.band(made.target[None], 0.95)[:, 0].T
    cpu_s = time.process_time() - started
    constant = np.array([candidate.is_constant for candidate in model.named])
    return Forecast(value, constant, lower, upper, cpu_s)


@dataclass(frozen=True)
class Score:
    """Errors of one method in one kind of scenario; arrays are (seeds, functions)."""

    error: Floats  # relative to the truth
    is_constant: npt.NDArray[np.bool_]
    said_constant: npt.NDArray[np.bool_]
    negative: int
    covered: npt.NDArray[np.bool_] | None
    cpu_s: float | None

    @classmethod
    def of(cls, cases: Sequence[Scenario], forecasts: Sequence[Forecast]) -> Score:
        truth = np.array([made.truth for made in cases])
        value = np.array([one.value for one in forecasts])
        inside = [
            (one.lower <= made.truth) & (made.truth <= one.upper)
            for made, one in zip(cases, forecasts, strict=True)
            if one.lower is not None and one.upper is not None
        ]
        seconds = [one.cpu_s for one in forecasts if one.cpu_s is not None]
        return cls(
            error=np.abs(value / truth - 1.0),
            is_constant=np.array([made.is_constant for made in cases]),
            said_constant=np.array([one.constant for one in forecasts]),
            negative=int((value < 0.0).sum()),
            covered=np.array(inside) if inside else None,
            cpu_s=float(np.mean(seconds)) if seconds else None,
        )

    @property
    def median(self) -> float:
        """Of all functions of all seeds."""
        return float(np.median(self.error))

    def cells(self) -> list[str]:
        """What `ACCURACY` names."""
        of_seeds = np.median(self.error, axis=1)
        return [
            f"{self.median:.1%}",
            f"{of_seeds.min():.1%} to {of_seeds.max():.1%}",
            f"{np.quantile(self.error, 0.9):.0%}",
            f"{self.said_constant[self.is_constant].mean():.0%}",
            f"{self.said_constant[~self.is_constant].mean():.1%}",
            str(self.negative),
            "" if self.covered is None else f"{self.covered.mean():.1%}",
            "" if self.cpu_s is None else f"{self.cpu_s:.2f}",
        ]


ACCURACY = (
    *("orders", "noise", "method", "median error", "of the seeds", "p90", "constants found", "others called constant"),
    *("below 0", "truth in 95%", "CPU s"),
)


def accuracy_rows(cases: Sequence[Scenario], extra_p: ExtraP | None) -> Iterator[list[str]]:
    """Each method's errors on the same scenarios, which differ in their seeds alone."""
    first = cases[0]
    found = {"perfcore": [forecast(made) for made in cases]}
    if extra_p is not None:
        found["Extra-P"] = extra_p.forecasts((made, DEFAULT) for made in cases)
    if extra_p is not None and first.name in ONE_PARAMETER:
        found["Extra-P, refining"] = extra_p.forecasts((made, "Refining") for made in cases)
    if first.name in ONE_PARAMETER:
        found["limit: the true prior"] = [average_over_prior(made) for made in cases]
    found["limit: the true exponents"] = [fit_true_terms(made) for made in cases]
    for label, forecasts in found.items():
        yield [first.name, f"{first.noise:.0%}", label, *Score.of(cases, forecasts).cells()]


ADVICE = (
    "orders",
    "noise",
    "one more point",
    "perfcore",
    "of before",
    "limit: the true prior",
    "of before",
)


def advised(made: Scenario) -> Floats:
    """Where perfcore would measure next, at most at twice the largest level, (functions, parameters)."""
    model = fitted(made)
    points = [next_point(model.part(path)) for path in range(len(model.paths))]
    return np.array([[point[symbol] for symbol in model.symbols] for point in points])


def advice_rows(cases: Sequence[Scenario]) -> Iterator[list[str]]:
    """Median errors after five runs more at one point: where perfcore advises for each function, or one for all."""
    n_functions = len(cases[0].laws)
    variants = {
        "none": cases,
        "as advised": [made.with_point(advised(made)) for made in cases],
        **{f"n = {n:g}": [made.with_point(np.full((n_functions, 1), n)) for made in cases] for n in FIXED_N},
    }
    before: list[float] = []
    for label, extended in variants.items():
        errors = [
            Score.of(extended, [method(made) for made in extended]).median for method in (forecast, average_over_prior)
        ]
        before = before or errors
        ours, limit = ((f"{now:.1%}", f"{now / then:.2f}") for now, then in zip(errors, before, strict=True))
        yield [cases[0].name, f"{cases[0].noise:.0%}", label, *ours, *limit]


TIMES = (
    *("call paths x points", "runs of a point", "names", "reading: s (CPU s)", "reading and fitting: s (CPU s)"),
    *("Extra-P, CPU s: reading", "models"),
)


def time_rows(count: int, extra_p: ExtraP | None) -> Iterator[list[str]]:
    """Seconds from a file in Extra-P's text format to laws."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "measured.txt"
        for name, repetitions, tree in itertools.product(("grid", "two-mixed"), (1, 5), (False, True)):
            made = scenario(name, NOISES[0], seed=0, functions=count, repetitions=repetitions)
            write_text(made, path, call_paths(count, tree=tree))
            ours = [fastest(lambda: perfcore.read(path)), fastest(lambda: perfcore.fit(path, fitter="scaling"))]
            theirs = ["", ""]
            if extra_p is not None and repetitions == 5 and not tree:
                [result] = extra_p.results([(made, DEFAULT)])
                theirs = [f"{result['reading_s']:.1f}", f"{result['modelling_s']:.0f}"]
            yield [f"{count:,} x {made.points.shape[1]}", str(repetitions), "tree" if tree else "flat", *ours, *theirs]


def fastest(call: Callable[[], object], repeat: int = 3) -> str:
    """Elapsed seconds and those of the processor, each the least of some calls: other programs only add to them."""
    found = []
    for _ in range(repeat):
        started, used = time.perf_counter(), time.process_time()
        call()
        found.append((time.perf_counter() - started, time.process_time() - used))
    elapsed, cpu = map(min, zip(*found, strict=True))
    return f"{elapsed:.2f} ({cpu:.2f})"


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table in markdown, each row as soon as it is known."""
    print(f"\n| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def seeds_of(text: str) -> list[int]:
    """Seeds of ``100..109`` or ``1,2,3``."""
    first, dots, last = text.partition("..")
    return list(range(int(first), int(last) + 1)) if dots else [int(one) for one in text.split(",")]


def main() -> None:
    """Print tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--extrap", action="store_true", help="also Extra-P; some twenty minutes the first time")
    parser.add_argument("--environment", type=Path, default=ENVIRONMENT, help="where Extra-P is or will be installed")
    parser.add_argument("--out", type=Path, default=KEPT, help="folder of what Extra-P found")
    parser.add_argument("--seeds", type=seeds_of, default="100..109", help="such as 100..109 or 1,2,3")
    parser.add_argument("--quick", action="store_true", help="the first seed only, and 500 call paths for the times")
    parser.add_argument("--only", choices=("accuracy", "advice", "times"), help="one of the tables")
    given = parser.parse_args()
    seeds = given.seeds[:1] if given.quick else given.seeds
    extra_p = ExtraP(given.environment, given.out) if given.extrap else None
    forecast(scenario("grid", NOISES[0], seed=0))  # compiles the kernels, once for a machine
    kinds = [[scenario(name, noise, seed) for seed in seeds] for name, noise in itertools.product(SCENARIOS, NOISES)]
    if given.only in (None, "accuracy"):
        print_table(ACCURACY, itertools.chain.from_iterable(accuracy_rows(cases, extra_p) for cases in kinds))
    if given.only in (None, "advice"):
        of_one = [cases for cases in kinds if cases[0].name in ONE_PARAMETER]
        print_table(ADVICE, itertools.chain.from_iterable(advice_rows(cases) for cases in of_one))
    if given.only in (None, "times"):
        print_table(TIMES, time_rows(500 if given.quick else 5000, extra_p))


if __name__ == "__main__":
    main()
