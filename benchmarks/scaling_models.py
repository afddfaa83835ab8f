"""Speed of scaling models beside loops and general fitters: ratios within one run, as in docs/how-we-know.md.

Needs the extra ``bench``.

python benchmarks/scaling_models.py                  # about a minute
python benchmarks/scaling_models.py --only joint     # individual, joint, larger or start
"""

from __future__ import annotations

import argparse
import functools
import itertools
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import lmfit
import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy
import statsmodels.api as sm
from scipy.optimize import curve_fit
from speed import process_seconds, timed

import perfcore
from perf_timing.individual_model import IndividualFits, fit_individually, subsets
from perf_timing.joint_fitter import JointComparison
from perf_timing.joint_solver import JointFit, JointProblem, data_driven_start, single_thread, solve
from perf_timing.options import JointOptions, registered_functions
from perf_timing.prepared import characteristics, design, prepare
from perfcore.hooks.options import build

Floats = npt.NDArray[np.float64]

NPB = Path(__file__).resolve().parents[1] / "examples" / "npb"
FUNCTIONS = "1/p,1/sqrt(p)"
N_CODES, N_SYSTEMS, N_POINTS = 100, 50, 25
SAMPLE = 40  # pairs on which loops are timed; their time is proportional to the number of pairs
TIGHT = {"ftol": 1e-15, "xtol": 1e-15, "gtol": 0.0}  # general fitters stop at half of the digits unless told


@dataclass(frozen=True)
class Series:
    """Run times of many pairs of a code and a system, all at the same or each at its own numbers of processors."""

    p: Floats  # (pairs, points)
    time_s: Floats  # (pairs, points)

    @classmethod
    def make(cls, *, shared: bool) -> Series:
        rng = np.random.default_rng(0)
        pairs = N_CODES * N_SYSTEMS
        counts = np.arange(1.0, 4097.0)
        drawn = [rng.choice(counts, N_POINTS, replace=False) for _ in range(1 if shared else pairs)]
        p = np.broadcast_to(np.sort(drawn, axis=1), (pairs, N_POINTS))
        work = rng.uniform(0.5, 2.0, (pairs, 2))
        exact = work[:, :1] / p + 0.05 * work[:, 1:] / np.sqrt(p)
        return cls(p, exact * (1.0 + 0.02 * rng.standard_normal(p.shape)))

    @property
    def target(self) -> Floats:
        """t' = t p, (pairs, points)."""
        return self.time_s * self.p

    @property
    def designs(self) -> Floats:
        """All functions in the scale of t', (pairs, points, functions)."""
        values = design(characteristics(registered_functions(), ("p",)), {"p": self.p.ravel()})
        return (values * self.p.ravel()[:, None]).reshape(*self.p.shape, -1)

    @property
    def table(self) -> pd.DataFrame:
        code, system = np.divmod(np.arange(N_CODES * N_SYSTEMS).repeat(N_POINTS), N_SYSTEMS)
        names = {"code": [f"code {c}" for c in code], "system": [f"system {s}" for s in system]}
        return pd.DataFrame({**names, "p": self.p.ravel(), "time_s": self.time_s.ravel()})


def lstsq_loop(designs: Floats, target: Floats, hypotheses: Sequence[tuple[int, ...]]) -> Floats:
    """Sums of squares (pairs, hypotheses), one call for each."""
    found = [[np.linalg.lstsq(x[:, h], y)[1][0] for h in hypotheses] for x, y in zip(designs, target, strict=True)]
    return np.array(found)


def statsmodels_loop(designs: Floats, target: Floats, hypotheses: Sequence[tuple[int, ...]]) -> Floats:
    """The same, with the standard errors that the arrays hold as well."""
    found = np.empty((len(target), len(hypotheses)))
    for k, (x, y) in enumerate(zip(designs, target, strict=True)):
        for number, h in enumerate(hypotheses):
            fit = sm.OLS(y, x[:, h]).fit()
            found[k, number] = fit.ssr if len(fit.bse) else np.nan
    return found


def numpy_batched(designs: Floats, target: Floats, hypotheses: Sequence[tuple[int, ...]], *, shared: bool) -> Floats:
    """The same, one call for each hypothesis: all pairs as right-hand sides, or one pseudo-inverse for each pair."""
    if shared:
        return np.stack([np.linalg.lstsq(designs[0][:, h], target.T)[1] for h in hypotheses], axis=1)
    found = np.empty((len(target), len(hypotheses)))
    for number, h in enumerate(hypotheses):
        x = designs[:, :, h]
        fitted = x @ (np.linalg.pinv(x) @ target[:, :, None])
        found[:, number] = ((target - fitted[:, :, 0]) ** 2).sum(axis=1)
    return found


def print_individual() -> None:
    hypotheses = subsets(len(registered_functions()), range(1, 4))
    pairs = N_CODES * N_SYSTEMS
    print(f"Seconds for {len(hypotheses)} hypotheses of {pairs:,} pairs with {N_POINTS} points, and times as long as")
    print(f"the arrays; the loops were timed on {SAMPLE} pairs, times {pairs // SAMPLE}.\n")
    print("| points | `fit_individually` | `perfcore.fit` | numpy batched | `lstsq` loop | statsmodels loop ", end="")
    print("| largest difference of SSE |\n|---|--:|--:|--:|--:|--:|--:|")
    bounds = {name: print_pairs(name, hypotheses, shared=name == "the same") for name in ("the same", "each its own")}
    print("\nPieces that the method cannot leave out, each by itself, in seconds.\n")
    print("| points | fitted values, one matrix product | residuals and two sums of squares ", end="")
    print("| results written | QR of the designs | sum |\n|---|--:|--:|--:|--:|--:|")
    for name, seconds in bounds.items():
        print(f"| {name} | {' | '.join(f'{s:.3f}' for s in (*seconds, sum(seconds)))} |")
    print(flush=True)


def print_pairs(name: str, hypotheses: Sequence[tuple[int, ...]], *, shared: bool) -> tuple[float, ...]:
    """One row of individual fits; returns `individual_bounds`."""
    series = Series.make(shared=shared)
    designs, target, table = series.designs, series.target, series.table
    flat, values, cell = designs.reshape(-1, designs.shape[2]), target.ravel(), np.arange(len(target)).repeat(N_POINTS)

    def fit() -> IndividualFits:
        return fit_individually(flat, values, cell, hypotheses)[0]

    times = len(target) // SAMPLE
    few_designs, few = designs[::times], target[::times]
    found = fit()
    worst = np.abs(found.sum_of_squares[::times] / lstsq_loop(few_designs, few, hypotheses) - 1.0).max()
    arrays = timed(fit)
    others = (
        timed(lambda: perfcore.fit(table, fitter="individual"), 3),
        timed(lambda: numpy_batched(designs, target, hypotheses, shared=shared), 3),
        timed(lambda: lstsq_loop(few_designs, few, hypotheses), 3) * times,
        timed(lambda: statsmodels_loop(few_designs, few, hypotheses), 3) * times,
    )
    cells = " | ".join(f"{seconds:.3g} ({seconds / arrays:.1f})" for seconds in others)
    print(f"| {name} | {arrays:.3g} | {cells} | {worst:.0e} |", flush=True)
    return individual_bounds(found, designs[:1] if shared else designs)


def individual_bounds(fits: IndividualFits, designs: Floats) -> tuple[float, float, float, float]:
    """Seconds of making all fitted values, a pass over them, writing as much as the result, factoring the designs."""
    block = np.ones((fits.sum_of_squares.size // 16, N_POINTS))  # some 4 MB: the pass runs in cache

    scores, basis = np.ones((len(block), designs.shape[2])), np.ones((designs.shape[2], N_POINTS))

    def products() -> None:
        for _ in range(16):
            np.matmul(scores, basis, out=block)

    def residual_pass() -> None:
        for _ in range(16):
            np.subtract(block, block, out=block)
            np.einsum("in,in->i", block, block)
            np.multiply(block, block, out=block)
            np.einsum("in,in->i", block, block)

    results = [a for a in vars(fits).values() if isinstance(a, np.ndarray)]
    return (
        timed(products),
        timed(residual_pass),
        timed(lambda: [np.full(a.shape, 1, dtype=a.dtype) for a in results]),
        timed(lambda: np.linalg.qr(designs)),
    )


def npb_table() -> pd.DataFrame:
    """As many observations as the paper's: the example without the smallest run of each code on the PCArray."""
    table = pd.read_csv(NPB / "timings.csv")
    smallest = table[table["system"] == "PCArray"].groupby("code")["p"].idxmin()
    return table.drop(index=smallest)


def npb_quantities() -> dict[str, str]:
    return {"operations": f"{NPB / 'codes.csv'}:gflop", "peak": f"{NPB / 'systems.csv'}:peak_gflops"}


def comparison(functions: str) -> JointComparison:
    options = build(JointOptions, {**npb_quantities(), "functions": functions}, "strohmaier")
    return JointComparison(prepare(npb_table(), options, "strohmaier"), options)


def fit_jointly(problem: JointProblem, starts: int = 1) -> JointFit:
    """As the fitter does."""
    with single_thread():
        return solve(problem, starts=starts)


class InSpeeds:
    """The joint model in (w, r) as a user of a general fitter writes it."""

    def __init__(self, problem: JointProblem) -> None:
        self.problem = problem

    def starts(self) -> dict[str, Floats]:
        theta = data_driven_start(self.problem)
        works = self.problem.n_functions * self.problem.n_codes
        return {"data": np.concatenate([theta[:works], 1.0 / theta[works:]]), "ones": np.ones(len(theta))}

    def predict(self, theta: Sequence[float] | Floats) -> Floats:
        problem = self.problem
        w, r = problem.unpack(np.asarray(theta))
        return np.asarray(np.einsum("ni,in->n", problem.basis, w[:, problem.code] / r[:, problem.system]))

    def lmfit(self, start: Floats, **tolerances: float) -> tuple[Floats, int]:
        given = lmfit.Parameters()
        for number, value in enumerate(start):
            given.add(f"theta{number}", value=value)
        found = lmfit.minimize(
            lambda now: self.predict(list(now.valuesdict().values())) - self.problem.target, given, **tolerances
        )
        if not found.success:
            raise RuntimeError(found.message)
        return np.array(list(found.params.valuesdict().values())), found.nfev

    def curve_fit(self, start: Floats, **tolerances: float) -> tuple[Floats, int]:
        found = curve_fit(
            lambda _, *theta: self.predict(theta), None, self.problem.target, start, full_output=True, **tolerances
        )
        return found[0], found[2]["nfev"]


def print_rivals(problem: JointProblem, best: JointFit, tolerances: dict[str, dict[str, float]], repeat: int) -> None:
    """Rows of general fitters with numerical Jacobians beside perfcore from one start, which it finds itself."""
    ours, evaluations = timed(lambda: fit_jointly(problem), repeat), fit_jointly(problem).evaluations
    shape = f"{problem.n_codes} x {problem.n_systems}, {problem.n_rows:,}, {problem.n_parameters}"
    print(f"| {shape} | perfcore | data | {1e3 * ours:.1f} | 1 | {evaluations} | | |")
    rival = InSpeeds(problem)
    fitters = {"lmfit": rival.lmfit, "`curve_fit`": rival.curve_fit}
    expected = problem.predict(best.theta)
    for (begin, start), (name, fit), (label, options) in itertools.product(
        rival.starts().items(), fitters.items(), tolerances.items()
    ):
        print(f"| {shape} | {name}{label} | {begin} | ", end="")
        try:
            theta, evaluations = fit(start, **options)
        except RuntimeError as error:
            print(f"did not converge: {error} | | | | |")
            continue
        seconds = timed(functools.partial(fit, start, **options), repeat)
        values = rival.predict(theta)
        squares = abs(float(((values - problem.target) ** 2).sum()) / best.sum_of_squares - 1.0)
        worst = float(np.abs(values / expected - 1.0).max())
        print(f"{1e3 * seconds:.1f} | {seconds / ours:.2f} | {evaluations} | {squares:.0e} | {worst:.0e} |", flush=True)


def print_rival_header() -> None:
    print("| codes x systems, rows, parameters | fitter | start | ms | times as long as perfcore ", end="")
    print("| evaluations | SSE | predictions |\n|---|---|---|--:|--:|--:|--:|--:|")


def print_joint() -> None:
    problem = comparison(FUNCTIONS).problem((0, 1))
    best = fit_jointly(problem, 5)
    print("Largest relative differences from perfcore's optimum; evaluations include those for Jacobians.\n")
    print_rival_header()
    print_rivals(problem, best, {"": {}, ", full precision": TIGHT}, 31)
    every, given, table, theta = comparison("all"), npb_quantities(), npb_table(), best.theta
    parts: dict[str, tuple[Callable[[], object], int]] = {
        "data-driven start": (lambda: data_driven_start(problem), 31),
        "one evaluation: residuals and Jacobian": (lambda: (problem.residuals(theta), problem.jacobian(theta)), 301),
        f"one `numpy.linalg.svd` of {problem.n_rows} x {problem.n_parameters}": (
            lambda: np.linalg.svd(best.jacobian, full_matrices=False),
            301,
        ),
        "`solve`, one start": (lambda: fit_jointly(problem), 31),
        "`solve`, five starts (default)": (lambda: fit_jointly(problem, 5), 31),
        f"`perfcore.fit`, {FUNCTIONS}": (
            lambda: perfcore.fit(table, fitter="strohmaier", functions=FUNCTIONS, **given),
            7,
        ),
        f"all {len(every.combinations)} models: `perfcore.rank`": (
            lambda: perfcore.rank(table, fitter="strohmaier", **given),
            5,
        ),
        "the best of all, `perfcore.fit`": (lambda: perfcore.fit(table, fitter="strohmaier", **given), 5),
    }
    print("\n| part | ms |\n|---|--:|")
    for name, (call, repeat) in parts.items():
        print(f"| {name} | {1e3 * timed(call, repeat):.3g} |", flush=True)
    slowest = max(every.combinations, key=lambda members: every.solve(members, 1).evaluations)
    seconds, fit = timed(lambda: every.solve(slowest, 1), 5), every.solve(slowest, 1)
    names = " + ".join(every.names[f] for f in slowest)
    print(f"| the slowest of them, {names}: {fit.evaluations} evaluations, {fit.status.name} | {1e3 * seconds:.3g} |\n")


def larger_problem(size: int) -> JointProblem:
    """Size codes on as many systems at seven numbers of processors, with 5 % of noise."""
    rng = np.random.default_rng(size)
    code, system, p = (
        a.ravel() for a in np.meshgrid(np.arange(size), np.arange(size), 2.0 ** np.arange(1, 8), indexing="ij")
    )
    w = np.stack([rng.uniform(3.0, 5.0, size), rng.uniform(0.15, 0.8, size)])
    r = rng.uniform(0.3, 1.0, (2, size))
    basis = np.stack([np.ones_like(p), np.sqrt(p)], axis=1)
    exact = (basis * (w[:, code] / r[:, system]).T).sum(axis=1)
    target = exact * (1.0 + 0.05 * rng.standard_normal(len(p)))
    return JointProblem(basis, target, code, system, size, size, reference=0)


def print_larger() -> None:
    print("Larger tables.\n")
    print_rival_header()
    for size in (10, 20):
        problem = larger_problem(size)
        print_rivals(problem, fit_jointly(problem), {"": {}}, 3)
    print()


def print_start() -> None:
    """Whole processes; the first has no bytecode, as after an installation that compiled nothing."""
    python = sys.executable
    rank = [python, "-m", "perfcore", "rank", str(NPB / "timings.csv"), "--terms", "2"]
    print("| process | seconds |\n|---|--:|")
    libraries = "import numpy, pandas, scipy.optimize"
    with tempfile.TemporaryDirectory() as cache:
        # Where bytecode is never written, as in many containers, every start would be a first one.
        bytecode = {"PYTHONPYCACHEPREFIX": cache, "PYTHONDONTWRITEBYTECODE": ""}
        first = process_seconds(rank, 1, **bytecode)
        print(f"| first `perf rank` of the example, all modules compiled | {first:.2f} |")
        print(f"| later ones | {process_seconds(rank, 7, **bytecode):.2f} |")
        imports = process_seconds([python, "-c", libraries], 7, **bytecode)
        print(f"| `python -c '{libraries}'` | {imports:.2f} |\n", flush=True)


SECTIONS = {"individual": print_individual, "joint": print_joint, "larger": print_larger, "start": print_start}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=SECTIONS, help="one section instead of all")
    only = parser.parse_args().only
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, numpy {np.__version__}, ")
    print(f"scipy {scipy.__version__}, lmfit {lmfit.__version__}; load {os.getloadavg()[0]:.1f} at the start\n")
    for name in [only] if only else SECTIONS:
        SECTIONS[name]()
    print(f"load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
