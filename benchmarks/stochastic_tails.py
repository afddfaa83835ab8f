"""Tails of formulas: p99 and p99.9 by this and by other libraries, beside 10^7 samples, and the time.

Run ``python benchmarks/stochastic_tails.py [FORMULA ...]`` with uncertainties, squigglepy, mcerp, chaospy and openturns
installed; what is missing is said, and what takes two minutes is ended. Every library is given the distributions
themselves, the histograms 10^6 samples of them.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from stochastic_values import FORMULAS, SOURCES, histograms, structural_model

Floats = npt.NDArray[np.float64]

TRUTH, CHUNK = 10_000_000, 1_000_000
DRAWS = 100_000
LEVELS = np.array([0.5, 0.99, 0.999])
SHOWN = ("(a*b + c)/d", "max(a, b) + c", "x*y", "x*x")
REPEATS, LIMIT_S = 5, 5.0
LONGEST_S = 120.0  # that a method may take for all of its evaluations
POLYNOMIALS = 4  # order of the expansion

# What is timed: it gives the quantiles.
Evaluate = Callable[[], Floats]


def with_histograms(formula: str) -> Evaluate:
    inputs = histograms(formula, "adaptive", 100)
    model = structural_model(formula, inputs)
    return lambda: model.predict(method="exact", bins=100).value.quantile(LEVELS)


def with_numpy(formula: str) -> Evaluate:
    names, function = FORMULAS[formula]

    def evaluate() -> Floats:
        rng = np.random.default_rng(11)
        return np.quantile(function(np.maximum, *(SOURCES[n].rvs(DRAWS, random_state=rng) for n in names)), LEVELS)

    return evaluate


def with_uncertainties(formula: str) -> Evaluate:
    from scipy.stats import norm
    from uncertainties import ufloat, umath

    names, function = FORMULAS[formula]
    values = [ufloat(SOURCES[name].mean(), SOURCES[name].std()) for name in names]

    def evaluate() -> Floats:  # it knows no maximum: as (x + y + |x - y|)/2
        found = function(lambda x, y: (x + y + umath.fabs(x - y)) / 2, *values)
        return norm(found.nominal_value, found.std_dev).ppf(LEVELS)

    return evaluate


def with_squigglepy(formula: str) -> Evaluate:
    import squigglepy as sq

    beta = sq.beta(2.0, 5.0)
    own = {
        "a": lambda: sq.sample(sq.norm(mean=10.0, sd=1.5), DRAWS),
        "b": lambda: sq.sample(sq.lognorm(norm_mean=np.log(3.0), norm_sd=0.4), DRAWS),
        "c": lambda: sq.sample(sq.gamma(4.0, 0.5), DRAWS),
        "d": lambda: 1.0 + 3.0 * np.asarray(sq.sample(beta, DRAWS)),
    }
    own |= {"x": own["a"], "y": own["c"]}
    names, function = FORMULAS[formula]
    return lambda: np.quantile(function(np.maximum, *(np.asarray(own[name]()) for name in names)), LEVELS)


def with_mcerp(formula: str) -> Evaluate:
    import mcerp

    names, function = FORMULAS[formula]

    def largest(x: Any, y: Any) -> Any:
        return (x + y + abs(x - y)) / 2

    return lambda: np.quantile(function(largest, *(mcerp.uv(SOURCES[name]) for name in names))._mcpts, LEVELS)


def with_chaospy(formula: str) -> Evaluate:
    import chaospy as cp

    own = {
        "a": cp.Normal(10.0, 1.5),
        "b": cp.LogNormal(np.log(3.0), 0.4),
        "c": cp.Gamma(4.0, 0.5),
        "d": cp.Beta(2.0, 5.0, 1.0, 4.0),
    }
    own |= {"x": own["a"], "y": own["c"]}
    names, function = FORMULAS[formula]
    joint = cp.J(*(own[name] for name in names))

    def evaluate() -> Floats:
        basis = cp.generate_expansion(POLYNOMIALS, joint)
        nodes, weights = cp.generate_quadrature(POLYNOMIALS, joint, rule="gaussian")
        surrogate = cp.fit_quadrature(basis, nodes, weights, function(np.maximum, *nodes))
        return np.quantile(surrogate(*joint.sample(DRAWS, seed=11).reshape(len(names), -1)), LEVELS)

    return evaluate


def with_openturns(formula: str) -> Evaluate:
    import openturns as ot

    own = {
        "a": ot.Normal(10.0, 1.5),
        "b": ot.LogNormal(np.log(3.0), 0.4),
        "c": ot.Gamma(4.0, 2.0),
        "d": ot.Beta(2.0, 5.0, 1.0, 4.0),
    }
    own |= {"x": own["a"], "y": own["c"]}
    names, function = FORMULAS[formula]

    def largest(x: Any, y: Any) -> Any:
        return ot.MaximumDistribution(ot.JointDistribution([x, y]))

    def evaluate() -> Floats:
        found = function(largest, *(own[name] for name in names))
        return np.array([found.computeQuantile(float(level))[0] for level in LEVELS])

    return evaluate


METHODS: Mapping[str, Callable[[str], Evaluate]] = {
    "perfcore histogram, 100 bins, adaptive": with_histograms,
    "numpy, 100,000 samples": with_numpy,
    "squigglepy, 100,000 samples": with_squigglepy,
    "mcerp, 10,000 samples of a Latin hypercube": with_mcerp,
    "chaospy, polynomials of order 4": with_chaospy,
    "openturns, its distributions": with_openturns,
    "uncertainties": with_uncertainties,
}


def truth(formula: str) -> Floats:
    """Quantiles of 10^7 samples."""
    names, function = FORMULAS[formula]
    rng = np.random.default_rng(7)
    drawn = [
        function(np.maximum, *(SOURCES[name].rvs(CHUNK, random_state=rng) for name in names))
        for _ in range(TRUTH // CHUNK)
    ]
    return np.quantile(np.concatenate(drawn), LEVELS)


def cells(formula: str, method: str, exact: Floats) -> str:
    """Errors of one method, and the least processor time of some evaluations; or why it has none."""
    np.random.seed(11)  # noqa: NPY002 (squigglepy and mcerp draw from it)
    try:
        evaluate = METHODS[method](formula)
        errors = evaluate() / exact - 1.0
        times: list[float] = []
        while len(times) < REPEATS and sum(times) < LIMIT_S:
            start = time.process_time()
            evaluate()
            times.append(time.process_time() - start)
    except Exception as error:  # of someone else's program: said in the table
        return f"{type(error).__name__}: {str(error).splitlines()[0][:60] if str(error) else ''} | | | "
    return " | ".join([*(f"{error:+.2%}" for error in errors), f"{1e3 * min(times):.3g}"])


def limited(formula: str, method: str, exact: Floats) -> str:
    """The cells, from a process of its own that is ended after a while: compiled code listens to nothing else."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        try:
            return pool.apply_async(cells, (formula, method, exact)).get(LONGEST_S)
        except multiprocessing.TimeoutError:
            return f"more than {LONGEST_S:.0f} s | | | "


def report(formulas: Sequence[str]) -> None:
    """Print the tables."""
    warnings.simplefilter("ignore")
    for formula in formulas:
        exact = truth(formula)
        print(f"\n### {formula}\n\n10^7 samples: " + ", ".join(f"{value:.5g}" for value in exact) + "\n")
        print("| method | p50 | p99 | p99.9 | ms of processor |\n| --- | ---: | ---: | ---: | ---: |")
        for method in METHODS:
            print(f"| {method} | {limited(formula, method, exact)} |", flush=True)


if __name__ == "__main__":
    report(sys.argv[1:] or SHOWN)
