"""A posterior as a model file keeps it, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isnan

import numpy as np
import numpy.typing as npt

from perf_scaling.path_data import Factor, Law, PathData, Term
from perf_scaling.posterior.posterior import Laws, Posterior

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def used_alone(posterior: Posterior, symbols: Sequence[str]) -> tuple[tuple[Law, ...], Posterior]:
    """The laws that occur, and the posterior of these and of the settings that occur, by their new numbers."""
    used = posterior.weight > 0.0
    laws, law = _renumbered(posterior.law, used, len(posterior.laws.coefficients))
    settings, setting = _renumbered(posterior.setting, used, len(posterior.settings))
    all_laws = posterior.laws
    kept = Laws(all_laws.coefficients[laws], all_laws.exponents[laws], all_laws.logarithms[laws])
    renumbered = replace(posterior, laws=kept, settings=posterior.settings[settings], law=law, setting=setting)
    return tuple(_law(kept, number, symbols) for number in range(len(laws))), renumbered


def _renumbered(numbers: Ints, used: npt.NDArray[np.bool_], count: int) -> tuple[Ints, Ints]:
    """Numbers below a count that are used, rising; and the place of each among these, -1 where it is not used."""
    occurs = np.zeros(count, dtype=np.bool_)
    occurs[numbers[used]] = True
    return np.flatnonzero(occurs), np.where(used, (np.cumsum(occurs) - 1)[numbers], -1)


def stored(
    posterior: Posterior, symbols: Sequence[str]
) -> tuple[tuple[Law, ...], tuple[tuple[float, float, float], ...], tuple[PathData, ...]]:
    """Laws and settings that occur, and what is kept of each path."""
    laws, posterior = used_alone(posterior, symbols)
    data = []
    numbers = np.arange(len(laws)).astype(object)  # one object for each law, however many paths have it
    for k, count in enumerate(posterior.count.tolist()):
        means = [None if isnan(mean) else mean for mean in posterior.means[k].tolist()]
        weights = posterior.weight[k, :count].tolist()
        interned: dict[float, float] = {}  # one object for each weight; most components have the same
        columns = (
            tuple(numbers[posterior.law[k, :count]].tolist()),
            tuple(posterior.setting[k, :count].tolist()),
            tuple(posterior.level[k, :count].tolist()),
            tuple(map(interned.setdefault, weights, weights)),
        )
        data.append(PathData(tuple(means), tuple(posterior.counts[k].tolist()), float(posterior.spread[k]), *columns))
    rows = [tuple(row) for row in posterior.settings.tolist()]
    return laws, tuple(rows), tuple(data)  # type: ignore[arg-type]


def _law(laws: Laws, number: int, symbols: Sequence[str]) -> Law:
    terms = []
    for coefficient, exponents, logarithms in zip(
        laws.coefficients[number].tolist(),
        laws.exponents[number].tolist(),
        laws.logarithms[number].tolist(),
        strict=True,
    ):
        if coefficient > 0.0:
            factors = [
                Factor(*factor) for factor in zip(symbols, exponents, logarithms, strict=True) if factor[1] or factor[2]
            ]
            terms.append(Term(coefficient, tuple(factors)))
    return tuple(terms)


def posterior_of(
    symbols: Sequence[str],
    measured: Floats,
    means: Floats,
    laws: Sequence[Law],
    settings: Sequence[tuple[float, float, float]],
    data: Sequence[PathData],
    reciprocal: bool,
) -> Posterior:
    """The arrays of what a model file keeps."""
    most = max(map(len, laws))
    place = {symbol: number for number, symbol in enumerate(symbols)}
    coefficients = np.zeros((len(laws), most))
    exponents = np.zeros((len(laws), most, len(symbols)))
    logarithms = np.zeros(exponents.shape, dtype=np.int64)
    for number, law in enumerate(laws):
        for k, term in enumerate(law):
            coefficients[number, k] = term.coefficient
            for factor in term.factors:
                exponents[number, k, place[factor.symbol]] += factor.exponent
                logarithms[number, k, place[factor.symbol]] += factor.logarithm
    width = max(len(entry.laws) for entry in data)
    law_of, setting, level = (np.full((len(data), width), -1, dtype=np.int64) for _ in range(3))
    weight = np.zeros(law_of.shape)
    for k, entry in enumerate(data):
        size = len(entry.laws)
        law_of[k, :size], setting[k, :size], level[k, :size] = entry.laws, entry.settings, entry.levels
        weight[k, :size] = entry.weights
    return Posterior(
        measured, means, np.array([entry.counts for entry in data]), np.array([entry.spread for entry in data]),
        Laws(coefficients, exponents, logarithms), np.array(settings), law_of, setting, level, weight, reciprocal,
    )  # fmt: skip
