"""Speed of generating models by category: 1,000 categories over 3 factors at 125 points, with the standard models.

python benchmarks/lost_cycles.py                     # some seconds
python benchmarks/lost_cycles.py --categories 100 --whole

Beside it loops over categories, lines and models with numpy's least squares: what a straightforward program would take
for the first step alone.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import time

import numpy as np
import numpy.typing as npt
import pandas as pd

import perfcore
from perf_lost_cycles.default_models import models_for, read_models
from perf_lost_cycles.forms import Form, Grid, Terms, candidates
from perf_lost_cycles.generate import fit_category, generate, lines_of

Floats = npt.NDArray[np.float64]

LEVELS = ((2.0, 4.0, 8.0, 16.0, 32.0), (64.0, 128.0, 256.0, 512.0, 1024.0), (1.0, 2.0, 4.0, 8.0, 16.0))
SYMBOLS = ("P", "D", "iterations")
NOISE = 0.05
SAMPLE = 20  # categories on which the loop is timed; its time is proportional to their number


def standard_models(category: str) -> tuple[Terms, tuple[tuple[Form, ...], ...]]:
    """Functions of the standard models of a category, and the models as terms of each factor."""
    chosen = [models_for(read_models("standard"), category, symbol) for symbol in SYMBOLS]
    functions = [tuple(dict.fromkeys(["1", *(t for m in models for t in m.terms)])) for models in chosen]
    terms = Terms(SYMBOLS, tuple(functions))
    forms = tuple(
        tuple(tuple(sorted(names.index(text) * stride for text in model.terms)) for model in models)
        for models, names, stride in zip(chosen, functions, terms.strides, strict=True)
    )
    return terms, forms


def categories(
    count: int, points: list[Floats], terms: Terms, models: tuple[tuple[Form, ...], ...], seed: int
) -> Floats:
    """Times (count, n) of random combinations of default models, with noise."""
    rng = np.random.default_rng(seed)
    functions, found = terms.values(points), []
    for _ in range(count):
        ways = list(candidates([of_factor[rng.integers(len(of_factor))] for of_factor in models]))
        columns = terms.columns(functions, np.array(ways[rng.integers(len(ways))]))
        columns = columns / np.abs(columns).max(axis=1, keepdims=True)
        found.append(rng.uniform(0.5, 2.0, len(columns)) @ np.abs(columns))
    values = np.array(found)
    return np.asarray(values * (1.0 + NOISE * rng.standard_normal(values.shape)))


def loop(grid: Grid, points: list[Floats], models: tuple[tuple[Form, ...], ...], count: int) -> None:
    """The univariate step by loops over categories, lines and models."""
    for factor, of_factor in enumerate(models):
        for line in lines_of(points, factor).points:
            for model in of_factor:
                numbers = [term // grid.terms.strides[factor] for term in model]
                design = grid.functions[factor][np.ix_(line, np.array(numbers))] * grid.root_weight[line, None]
                for values in grid.values[:count]:
                    np.linalg.lstsq(design, values[line] * grid.root_weight[line])


def main() -> None:
    """Print times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--categories", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--whole", action="store_true", help="also the fitter, from a table to a model and a prediction"
    )
    given = parser.parse_args()
    points = [np.array(column) for column in zip(*itertools.product(*LEVELS), strict=True)]
    terms, models = standard_models("a call path")
    values = categories(given.categories, points, terms, models, given.seed)
    grid = Grid(terms, terms.values(points), values, 1.0 / values.sum(axis=0))
    started, used = time.perf_counter(), time.process_time()
    found = generate(grid, points, [models] * given.categories, "loo")
    text = functools.cache(grid.terms.text)
    for series, form in enumerate(found.chosen.tolist()):
        fit_category(grid, series, found.forms.forms[form], str(series), text)
    wall, cpu = time.perf_counter() - started, time.process_time() - used
    print(
        f"{given.categories:,} categories x {len(SYMBOLS)} factors x {len(points[0])} points, "
        f"{' + '.join(str(len(of_factor)) for of_factor in models)} default models: {wall:.2f} s ({cpu:.2f} s of "
        f"processor time), {len(found.forms.forms):,} different forms"
    )
    started = time.process_time()
    loop(grid, points, models, SAMPLE)
    seconds = (time.process_time() - started) * given.categories / SAMPLE
    print(f"the univariate step alone by loops: {seconds:.1f} s")
    if given.whole:
        columns = {
            **{symbol: np.tile(x, given.categories) for symbol, x in zip(SYMBOLS, points, strict=True)},
            "category": np.repeat([f"path {k}" for k in range(given.categories)], len(points[0])),
            "time_s": values.ravel(),
        }
        started = time.perf_counter()
        model = perfcore.fit(pd.DataFrame(columns), fitter="modgen", parameter=SYMBOLS)
        print(f"table to model: {time.perf_counter() - started:.2f} s")
        started = time.perf_counter()
        model.predict_array(dict.fromkeys(SYMBOLS, 1.0), interval=0.95)
        print(f"first prediction with bounds: {time.perf_counter() - started:.3f} s")


if __name__ == "__main__":
    main()
