"""How often `modgen` finds the form that data were drawn from, against an oracle, and what its bounds cover.

python benchmarks/lost_cycles_choice.py              # about a minute; prints tables in Markdown

The oracle fits every sum and every product of the default univariate forms to all points and takes the one of least
leave-one-out error, held back for longer forms as `modgen` does, or plain. What it misses the points do not tell.
"""

from __future__ import annotations

import argparse
import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import perfcore
from perf_lost_cycles.forms import Form, FormList, Grid, Terms, candidates, product_form, union
from perf_lost_cycles.generate import fit_category, generate, held_back, on_all_points

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

LEVELS = ((2.0, 4.0, 8.0, 16.0, 32.0), (64.0, 128.0, 256.0, 512.0, 1024.0))
FUNCTIONS = ("1", "x", "log2(x)", "1/x", "x*log2(x)")
TERMS = Terms(("P", "D"), (FUNCTIONS, FUNCTIONS))
NOISE, REPLICATIONS, BEYOND = 0.05, 2, 4.0


def univariate(function: int, factor: int) -> Form:
    """A constant and one function of a factor."""
    return (0, function * TERMS.strides[factor])


def cases(n_functions: int, draws: int, seed: int) -> list[tuple[str, dict[str, tuple[float, float, float]]]]:
    """For each sum and product what each way of choosing gives: share right, error inside, error beyond."""
    points = [np.array(column) for column in zip(*itertools.product(*LEVELS), strict=True)]
    functions, far = TERMS.values(points), TERMS.values([BEYOND * x for x in points])
    tried = [((0,), *(univariate(f, k) for f in range(1, n_functions))) for k in range(2)]
    every = FormList()
    for pair in itertools.product(*tried):
        for form in candidates(pair):
            every.index(form)
    found = []
    for join, (p, d) in itertools.product((union, product_form), itertools.product(range(1, n_functions), repeat=2)):
        truth = join([univariate(p, 0), univariate(d, 1)])
        columns = TERMS.columns(functions, np.array(truth))
        coefficients = 1.0 / columns.max(axis=1)  # every term counts alike where it is largest
        exact, exact_far = coefficients @ columns, coefficients @ TERMS.columns(far, np.array(truth))
        rng = np.random.default_rng(seed)
        noise = rng.standard_normal((draws, REPLICATIONS, len(exact))).mean(axis=1)
        grid = Grid(TERMS, functions, exact * (1.0 + NOISE * noise), 1.0 / exact)
        made = generate(grid, points, [tried] * draws, "loo")
        n = len(every.forms)
        pairs = np.stack([np.tile(np.arange(draws), n), np.repeat(np.arange(n), draws)])
        scores = on_all_points(grid, every, pairs, "loo")
        kept = held_back(scores, every.sizes()[pairs[1]], len(exact), "loo")
        ways: dict[str, tuple[list[Form], Ints]] = {
            "modgen": (made.forms.forms, made.chosen),
            "oracle": (every.forms, kept.reshape(n, draws).argmin(axis=0)),
            "plain": (every.forms, scores.reshape(n, draws).argmin(axis=0)),
            "truth": ([truth], np.zeros(draws, dtype=np.int64)),
        }
        figures = {}
        for name, (forms, chosen) in ways.items():
            inside, outside = np.empty(draws), np.empty(draws)
            for series, number in enumerate(chosen.tolist()):
                fit = fit_category(grid, series, forms[number], name, TERMS.text)
                for errors, values, wanted in ((inside, functions, exact), (outside, far, exact_far)):
                    predicted = np.array(fit.coefficients) @ TERMS.columns(values, np.array(forms[number]))
                    errors[series] = np.sqrt(((predicted / wanted - 1.0) ** 2).mean())
            right = float(np.mean([forms[k] == truth for k in chosen.tolist()]))
            figures[name] = (right, float(np.median(inside)), float(np.median(outside)))
        symbol = "+" if join is union else "*"
        title = f"(a + b {FUNCTIONS[p].replace('x', 'P')}) {symbol} (c + d {FUNCTIONS[d].replace('x', 'D')})"
        found.append((title, figures))
    return found


def print_cases(found: list[tuple[str, dict[str, tuple[float, float, float]]]], *, each: bool) -> None:
    """A row for each case, or for sums and for products."""
    print("| form | right: modgen | oracle | plain oracle | error inside: modgen | oracle | true form "
          "| error at 4 times: modgen | oracle | true form |")  # fmt: skip
    print("|---|" + "--:|" * 9)
    rows = found if each else []
    for name, sign in (("mean of the sums", " + ("), ("mean of the products", " * (")):
        some = [figures for title, figures in found if f"){sign}" in title]
        means = {way: tuple(np.mean([figures[way] for figures in some], axis=0)) for way in some[0]}
        rows = [*rows, (name, means)]
    for title, figures in rows:
        right = " | ".join(f"{figures[way][0]:.0%}" for way in ("modgen", "oracle", "plain"))
        errors = [f"{figures[way][k]:.1%}" for k in (1, 2) for way in ("modgen", "oracle", "truth")]
        print(f"| {title} | {right} | {' | '.join(errors)} |")


CATEGORIES = {
    "work": lambda p, d: 3.0 * d / p,
    "start": lambda p, d: 2.0 + 0.5 * p,
    "wait": lambda p, d: 1.0 + 0.1 * d,
}


def runs(places: list[tuple[float, float]], common: float, rng: np.random.Generator) -> list[tuple[Any, ...]]:
    """One run at each place: 3% noise in each category, and noise that the categories of a run share."""
    rows: list[tuple[Any, ...]] = []
    for p, d in places:
        shared = 1.0 + common * rng.standard_normal()
        rows += [(p, d, c, f(p, d) * shared * (1.0 + 0.03 * rng.standard_normal())) for c, f in CATEGORIES.items()]
    return rows


def coverage(common: float, fits: int) -> dict[tuple[str, float], float]:
    """Share of new runs, by where and nominal coverage, whose total lies within the bounds."""
    grid = list(itertools.product((2.0, 4.0, 8.0, 16.0), (10.0, 20.0, 40.0, 80.0)))
    new = {
        "inside": list(itertools.product((3.0, 6.0, 12.0), (15.0, 30.0, 60.0))),
        "4 times beyond": list(itertools.product((64.0,), (160.0, 320.0))),
    }
    hits: dict[tuple[str, float], list[bool]] = {}
    for seed in range(fits):
        rng = np.random.default_rng(seed)
        table = pd.DataFrame(runs(grid, common, rng), columns=["P", "D", "category", "time_s"])
        model = perfcore.fit(table, fitter="modgen", parameter="P,D")
        for where, places in new.items():
            rows = runs(places, common, rng)
            totals = [sum(row[3] for row in rows[k : k + 3]) for k in range(0, len(rows), 3)]
            at = {"P": [p for p, _ in places], "D": [d for _, d in places]}
            for nominal in (0.8, 0.95):
                bounds = model.predict_array(at, interval=nominal)
                within = (bounds[:, 1] <= totals) & (totals <= bounds[:, 2])
                hits.setdefault((where, nominal), []).extend(within.tolist())
    return {key: float(np.mean(found)) for key, found in hits.items()}


def main() -> None:
    """Print tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--fits", type=int, default=300)
    parser.add_argument("--seed", type=int, default=11)
    given = parser.parse_args()
    print("A constant, x, log2 x and 1/x as default models:\n")
    print_cases(cases(4, given.draws, given.seed), each=True)
    print("\nAnd x log2 x:\n")
    print_cases(cases(5, given.draws, given.seed), each=False)
    print("\n| errors | where | of 80% bounds | of 95% bounds |\n|---|---|--:|--:|")
    for name, common in (("independent", 0.0), ("5% shared by a run's categories", 0.05)):
        found = coverage(common, given.fits)
        for where in ("inside", "4 times beyond"):
            print(f"| {name} | {where} | {found[where, 0.8]:.1%} | {found[where, 0.95]:.1%} |")


if __name__ == "__main__":
    main()
