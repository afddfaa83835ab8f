"""Accuracy and speed of arithmetic on stochastic values, beside that of other libraries.

Run ``python benchmarks/stochastic_values.py`` with uncertainties, pba and openturns
installed. The truth of each formula is a Monte Carlo sample of 2 x 10^7 values, drawn in chunks. Every method runs in a
process of its own with a limit of time, on inputs that it makes from the same samples.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

Floats = npt.NDArray[np.float64]

TRUTH = 20_000_000
CHUNK = 1_000_000
SAMPLES = 1_000_000  # from which methods make their inputs
PLACES = 20_001  # quantiles of the truth at which distribution functions are compared
LIMIT_S = 120.0
REPEATS = 20

# What a run on shared machines is made of: work, a load with a long tail, a latency, a share of a processor; two modes.
SOURCES = {
    "a": stats.norm(10.0, 1.5),
    "b": stats.lognorm(0.4, scale=3.0),
    "c": stats.gamma(4.0, scale=0.5),
    "d": stats.beta(2.0, 5.0, loc=1.0, scale=3.0),
    "x": stats.norm(10.0, 1.5),
    "y": stats.gamma(4.0, scale=0.5),
}
SOURCES |= {f"s{k}": (SOURCES["c"], SOURCES["b"], SOURCES["d"])[k % 3] for k in range(10)}

TEN = [f"s{k}" for k in range(10)]
# Text, names, and the formula on anything that has operators; `largest` is the library's maximum.
FORMULAS: Mapping[str, tuple[list[str], Callable[..., Any]]] = {
    "(a*b + c)/d": (["a", "b", "c", "d"], lambda largest, a, b, c, d: (a * b + c) / d),
    "max(a, b) + c": (["a", "b", "c"], lambda largest, a, b, c: largest(a, b) + c),
    "sum of ten": (TEN, lambda largest, *terms: sum(terms[1:], start=terms[0])),
    "x*y": (["x", "y"], lambda largest, x, y: x * y),
    "x*x": (["x"], lambda largest, x: x * x),
    "x - x": (["x"], lambda largest, x: x - x),
}


def truth(formula: str, inputs: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Sorted places, levels, mean, deviation and two quantiles; of the sources, or of the values given."""
    names, function = FORMULAS[formula]
    values = np.empty(TRUTH)
    rng = np.random.default_rng(7)
    for start in range(0, TRUTH, CHUNK):
        drawn = [
            SOURCES[name].rvs(CHUNK, random_state=rng) if inputs is None else inputs[name].sample(CHUNK, rng)
            for name in names
        ]
        values[start : start + CHUNK] = function(np.maximum, *drawn)
    mean, std = float(values.mean()), float(values.std())
    values.sort()
    at = np.linspace(0, TRUTH - 1, PLACES).astype(np.int64)
    return {
        "places": values[at],
        "levels": (at + 0.5) / TRUTH,
        "mean": mean,
        "std": std,
        "quantiles": np.quantile(values, [0.05, 0.95]),
    }


def samples(names: list[str]) -> dict[str, Floats]:
    """What a method is given: the same for every method, and not the truth's."""
    return {name: SOURCES[name].rvs(SAMPLES, random_state=100 + k) for k, name in enumerate(names)}


# A method takes a formula, makes its inputs, and gives these (None where nobody asks) and what evaluates. The answer
# has a mean, a standard deviation, `cdf` and `quantile`.
Prepared = tuple[Mapping[str, Any] | None, Callable[[], Any]]


def histograms(formula: str, rule: str, bins: int) -> dict[str, Any]:
    from perfcore.hooks.registry import registry

    histogram = registry().load("representations", "histogram")
    options = histogram.Options(bins=bins, rule=rule)
    given = samples(FORMULAS[formula][0])
    return {name: histogram.from_samples(values, options) for name, values in given.items()}


def structural_model(formula: str, inputs: Mapping[str, Any]) -> Any:
    from perf_structural import StructuralModel

    text = "+".join(inputs) if formula == "sum of ten" else formula
    return StructuralModel(text, inputs=inputs)


def with_histograms(rule: str, bins: int, method: str) -> Callable[[str], Prepared]:
    def prepare(formula: str) -> Prepared:
        from perfcore import stochastic

        function = FORMULAS[formula][1]
        inputs = histograms(formula, rule, bins)
        values = list(inputs.values())
        if method == "cartesian":
            return inputs, lambda: function(Cartesian.largest, *map(Cartesian, values)).value
        if formula == "sum of ten":
            return inputs, lambda: stochastic.add(*values)
        if formula in ("x*x", "x - x"):  # only a structural model sees that x is one quantity
            model = structural_model(formula, inputs)
            return inputs, lambda: model.predict(method="exact").value
        return inputs, lambda: function(stochastic.maximum, *values)

    return prepare


class Cartesian:
    """Operators by Schopf's rule."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def _with(self, operation: str, other: Cartesian) -> Cartesian:
        from perfcore import stochastic

        return Cartesian(getattr(stochastic, operation)(self.value, other.value, method="cartesian"))

    def __add__(self, other: Cartesian) -> Cartesian:
        return self._with("add", other)

    def __sub__(self, other: Cartesian) -> Cartesian:
        return self._with("subtract", other)

    def __mul__(self, other: Cartesian) -> Cartesian:
        return self._with("multiply", other)

    def __truediv__(self, other: Cartesian) -> Cartesian:
        return self._with("divide", other)

    @staticmethod
    def largest(x: Cartesian, y: Cartesian) -> Cartesian:
        return x._with("maximum", y)


def with_normals(formula: str) -> Prepared:
    from perfcore.hooks.registry import registry

    normal = registry().load("representations", "normal")
    given = samples(FORMULAS[formula][0])
    model = structural_model(formula, {name: normal(v.mean(), v.std()) for name, v in given.items()})
    return None, lambda: model.predict(method="exact").value


class Sample:
    """The answer of who samples."""

    def __init__(self, values: npt.ArrayLike) -> None:
        self.values = np.sort(np.asarray(values, dtype=np.float64), axis=None)
        self.mean, self.std = float(self.values.mean()), float(self.values.std())

    def cdf(self, x: Floats) -> Floats:
        return self.values.searchsorted(x, side="right") / len(self.values)

    def quantile(self, q: Floats) -> Floats:
        return np.quantile(self.values, q)


def with_quasi_monte_carlo(formula: str) -> Prepared:
    model = structural_model(formula, histograms(formula, "adaptive", 100))

    def evaluate() -> Sample:
        # x - x leaves nothing to sample.
        prediction = model.predict(method="auto" if formula == "x - x" else "sample", samples=100_000)
        found = prediction.evaluation.sample
        return Sample([prediction.value.mean] if found is None else found)

    return None, evaluate


def with_numpy(formula: str) -> Prepared:
    names, function = FORMULAS[formula]
    given = list(samples(names).values())

    def evaluate() -> Sample:
        rng = np.random.default_rng(11)
        return Sample(function(np.maximum, *(rng.choice(each, 100_000) for each in given)))

    return None, evaluate


def with_uncertainties(formula: str) -> Prepared:
    from uncertainties import ufloat, umath

    from perfcore.hooks.registry import registry

    Normal = registry().load("representations", "normal")

    names, function = FORMULAS[formula]
    values = [ufloat(float(v.mean()), float(v.std())) for v in samples(names).values()]

    def largest(x: Any, y: Any) -> Any:  # it knows no maximum: as (x + y + |x - y|)/2
        return (x + y + umath.fabs(x - y)) / 2

    def evaluate() -> Any:
        found = function(largest, *values)
        return Normal(found.nominal_value, found.std_dev)

    return None, evaluate


def with_pba(steps: int) -> Callable[[str], Prepared]:
    def prepare(formula: str) -> Prepared:
        from pba import Pbox

        names, function = FORMULAS[formula]
        values = []
        for given in samples(names).values():
            edges = np.quantile(given, np.linspace(0.0, 1.0, steps + 1))
            values.append(Pbox(left=edges[:-1], right=edges[1:], steps=steps))

        def combine(method: str) -> Callable[[Any, Any], Any]:
            return lambda x, y: Box(getattr(x.box, method)(y.box, method="i"))

        class Box:
            __add__, __mul__, __truediv__, __sub__ = map(combine, ("add", "mul", "div", "sub"))

            def __init__(self, box: Any) -> None:
                self.box = box

        def evaluate() -> Any:
            box = function(combine("max"), *map(Box, values)).box
            # It bounds a distribution; the middle of the bounds is taken for it.
            return Sample(0.5 * (np.asarray(box.left, float) + np.asarray(box.right, float)))

        return None, evaluate

    return prepare


def with_openturns(formula: str) -> Prepared:
    import openturns as ot

    names, function = FORMULAS[formula]
    values = []
    for given in samples(names).values():
        edges = np.quantile(given, np.linspace(0.0, 1.0, 101))
        widths = np.diff(edges)
        values.append(ot.Histogram(float(edges[0]), widths.tolist(), (0.01 / widths).tolist()))

    def largest(x: Any, y: Any) -> Any:
        return ot.MaximumDistribution(ot.JointDistribution([x, y]))

    class Answer:
        def __init__(self, found: Any) -> None:
            self.of = found
            self.mean, self.std = found.getMean()[0], found.getStandardDeviation()[0]
            low, high = found.getRange().getLowerBound()[0], found.getRange().getUpperBound()[0]
            # What is timed is what a histogram of 100 bins would need.
            self.at = np.linspace(low, high, 101)
            self.levels = np.array([found.computeCDF(float(place)) for place in self.at])

        def cdf(self, x: Floats) -> Floats:
            coarse = x[::100]
            return np.interp(x, coarse, [self.of.computeCDF(float(place)) for place in coarse])

        def quantile(self, q: Floats) -> Floats:
            return np.array([self.of.computeQuantile(float(level))[0] for level in q])

    return None, lambda: Answer(function(largest, *values))


METHODS: Mapping[str, Callable[[str], Prepared]] = {
    "perfcore histogram, 5 bins adaptive": with_histograms("adaptive", 5, "exact"),
    "perfcore histogram, 25 bins adaptive": with_histograms("adaptive", 25, "exact"),
    "perfcore histogram, 100 bins adaptive": with_histograms("adaptive", 100, "exact"),
    "perfcore histogram, 5 bins of equal width": with_histograms("width", 5, "exact"),
    "Schopf's Cartesian rule, 5 bins of equal width": with_histograms("width", 5, "cartesian"),
    "Schopf's Cartesian rule, 25 bins of equal width": with_histograms("width", 25, "cartesian"),
    "Schopf's Cartesian rule, 100 bins of equal width": with_histograms("width", 100, "cartesian"),
    "perfcore normal": with_normals,
    "perfcore sampling, 100,000 Sobol points": with_quasi_monte_carlo,
    "numpy Monte Carlo, 100,000 samples": with_numpy,
    "uncertainties": with_uncertainties,
    "pba, 25 steps": with_pba(25),
    "pba, 100 steps": with_pba(100),
    "openturns, histograms of 100 bins": with_openturns,
}


def errors(found: Any, exact: Mapping[str, Any]) -> dict[str, float]:
    """Relative ones but for the distribution function; absolute ones where the truth is 0."""
    quantiles = np.asarray(found.quantile(np.array([0.05, 0.95])))
    if exact["std"] > 0.0:
        sup = np.abs(np.asarray(found.cdf(exact["places"])) - exact["levels"]).max()
        low, high = quantiles / exact["quantiles"] - 1.0
        mean, std = found.mean / exact["mean"] - 1.0, found.std / exact["std"] - 1.0
    else:  # one number: all probability that lies elsewhere is wrong
        below, up_to = found.cdf(exact["mean"] + np.array([-1e-9, 1e-9]))
        sup = max(below, 1.0 - up_to)
        low, high = quantiles - exact["mean"]
        mean, std = found.mean - exact["mean"], found.std
    return {key: float(v) for key, v in {"sup": sup, "mean": mean, "std": std, "p05": low, "p95": high}.items()}


def run_case(formula: str, method: str, folder: Path) -> dict[str, Any]:
    """One method on one formula; in a process of its own."""
    warnings.simplefilter("ignore")
    exact = dict(np.load(folder / f"{list(FORMULAS).index(formula)}.npz"))
    inputs, evaluate = METHODS[method](formula)
    found = evaluate()
    result: dict[str, Any] = errors(found, exact)
    if method.endswith("adaptive") and formula != "x - x":
        result["own"] = errors(found, truth(formula, inputs))["sup"]
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        evaluate()
        times.append(time.perf_counter() - start)
        if sum(times) > 5.0:
            break
    return result | {"ms": 1e3 * min(times)}


def speed() -> list[tuple[str, str]]:
    """Milliseconds of single operations, the least of many: what they need when nobody else computes."""
    from perfcore import stochastic
    from perfcore.hooks.registry import registry

    histogram = registry().load("representations", "histogram")
    rng = np.random.default_rng(3)
    rows = []
    for bins in (25, 100):
        options = histogram.Options(bins=bins, rule="adaptive")
        x = histogram.from_samples(rng.normal(10, 1.5, 100_000), options)
        y = histogram.from_samples(rng.gamma(4, 0.5, 100_000) + 0.1, options)
        many = [histogram.from_samples(rng.gamma(4, 0.5, 100_000), options) for _ in range(64)]
        operations: dict[str, Callable[[], Any]] = {
            "x + y": lambda x=x, y=y: x + y,
            "x*y": lambda x=x, y=y: x * y,
            "x/y": lambda x=x, y=y: x / y,
            "max(x, y)": lambda x=x, y=y: stochastic.maximum(x, y),
            "x^2": lambda x=x: x**2,
            "exp(x)": lambda x=x: stochastic.exp(x),
            "max of 64": lambda many=many: stochastic.maximum(*many),
            "sum of 64": lambda many=many: stochastic.add(*many),
        }
        for name, operation in operations.items():
            operation()
            times = []
            for _ in range(20 if "64" in name else 300):
                start = time.perf_counter()
                operation()
                times.append(1e3 * (time.perf_counter() - start))
            rows.append((f"{name}, {bins} bins", f"{min(times):.2f} | {np.median(times):.2f}"))
    return rows


def report() -> None:
    print("# Stochastic values compared\n\nMade by\n\n    python benchmarks/stochastic_values.py\n")
    print(INTRODUCTION)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, formula in enumerate(FORMULAS):
            np.savez(folder / f"{number}.npz", **truth(formula))
            print(f"\n## {formula}\n")
            print("| method | CDF, largest error | of its own inputs | mean | std | p05 | p95 | ms |")
            print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
            for method in METHODS:
                print(f"| {method} | {_cells(formula, method, folder)} |", flush=True)
    print("\n## Single operations\n\n| operation | least ms | median ms |\n| --- | ---: | ---: |")
    for label, times in speed():
        print(f"| {label} | {times} |")


def _cells(formula: str, method: str, folder: Path) -> str:
    command = [sys.executable, __file__, "--case", formula, method, str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=True)
    except subprocess.TimeoutExpired:
        return f"> {LIMIT_S:.0f} s | | | | | |"
    except subprocess.CalledProcessError as error:
        print(error.stderr, file=sys.stderr)
        return "failed: " + error.stderr.strip().splitlines()[-1][:60] + " | | | | | |"
    found = json.loads(done.stdout)
    own = f"{found['own']:.5f}" if "own" in found else ""
    form = "{:+.2f}" if formula == "x - x" else "{:+.2%}"
    shares = " | ".join(form.format(found[key]) for key in ("mean", "std", "p05", "p95"))
    return f"{found['sup']:.5f} | {own} | {shares} | {found['ms']:.3g}"


INTRODUCTION = """\
The truth is a Monte Carlo sample of 20,000,000 values of each formula; by chance it is off by about 0.0002 in the
distribution function. The inputs are a normal a (and x), a lognormal b, a gamma c (and y) and a beta d between 1 and 4;
the ten terms are copies of c, b and d. Every method makes its inputs from the same 1,000,000 samples of each, and is
compared with the truth of the distributions themselves. Their own chance adds up to about 0.001. The column "of its
own inputs" compares with the truth for the histograms that went in: what is left is the error of arithmetic alone.
Mean, std, p05 and p95 are relative errors; absolute ones for x - x, whose truth is 0. Milliseconds are the least of
20 evaluations on two cores that up to fifteen other processes wanted: compare them with one another only.

The perfcore rows of x*x and x - x go through structural models, which see that x is one quantity; Schopf's rule, pba
and openturns take them for two. pba bounds a distribution; the middle of its bounds is compared."""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", nargs=3, metavar=("FORMULA", "METHOD", "FOLDER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case:
        print(json.dumps(run_case(given.case[0], given.case[1], Path(given.case[2]))))
    else:
        report()
