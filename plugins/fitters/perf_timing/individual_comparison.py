"""All separate models for every code on every system, and which of them the fitter `individual` takes."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from perf_statistics import CRITERIA
from perf_statistics.goodness import finite, information, r_squared
from perf_timing import individual_model
from perf_timing.options import IndividualOptions, number_of_terms, registered_functions
from perf_timing.prepared import (
    Characteristic,
    Prepared,
    by_growth,
    characteristics,
    measured_design,
    prepare,
    refuse_unused,
)
from perf_timing.scaling_model import common_fields
from perfcore.base.arrays import Booleans, Floats, Ints
from perfcore.base.errors import DataError, OptionError
from perfcore.models.ranking import Candidate, Ranking

# Above this the coefficients have lost half of their digits: they are large and cancel.
_COLLINEAR = 1e8
_EXACT = 1e-24  # share of the total sum of squares that rounding leaves


class Comparison:
    """All fits of all pairs, and what they are judged by.

    `fits` are what a ranking shows: least squares, or least squares without negative coefficients where ``sign`` says
    so and, unless signs do not count, where one model is for several pairs. Where the model that is taken for a pair
    has negative ones there, and signs count, its functions that would need them are held at 0.
    """

    def __init__(self, prepared: Prepared, options: IndividualOptions) -> None:
        self.prepared, self.options = prepared, options
        self.is_named = options.functions not in (("all",), ("each",))
        candidates = self._candidates()
        self.names = tuple(function.name for function in candidates)
        design = measured_design(candidates, prepared.seen) * (prepared.by_point * prepared.root_weight)[:, None]
        self._target = prepared.target * prepared.root_weight
        everything = tuple(range(len(candidates)))
        sizes = number_of_terms(options.terms)
        requested = (everything,) if self.is_named else individual_model.subsets(len(candidates), sizes)
        most = max(map(len, requested), default=0)
        if not requested or most == 0:
            raise OptionError(
                f"--terms {options.terms} asks for more functions than there are: {', '.join(self.names)}"
            )

        def fitted(bounds: bool) -> tuple[individual_model.IndividualFits, individual_model.IndividualFits]:
            hypotheses = individual_model.subsets(len(candidates), range(1, most + 1)) if bounds else requested
            return individual_model.fit_individually(
                design, self._target, prepared.seen.cell, hypotheses, bounds=bounds
            )

        free, bounded = fitted(options.sign == "bounded" or (options.sign == "nonnegative" and not self.is_named))
        if options.sign == "nonnegative" and self.is_named and free.negative.any():
            free, bounded = fitted(True)  # all subsets of many named functions are worth it only where one is needed
        self._cells, self._first = np.unique(prepared.seen.cell, return_index=True)
        preferred = bounded if options.sign == "bounded" else free
        self._free = free
        self._taken = preferred if options.sign == "any" else preferred.instead(free.negative, bounded)
        # A function that a pair or two of many would need below 0 must not discredit it for all the others: held at 0
        # there it costs what it costs. Of a single pair that would only repeat a smaller model.
        is_free = options.sign == "any" or (options.sign == "nonnegative" and len(self._cells) == 1)
        self.fits = free if is_free else self._taken
        kept = set(requested)
        self._shown = np.array([h for h, hypothesis in enumerate(free.hypotheses) if hypothesis in kept])
        if not preferred.determined[:, self._shown].any():
            fewest = int(self.fits.sizes[self._shown].min())
            raise DataError(
                f"{prepared.seen.source}: no code on any system has enough different points for {fewest} function"
                f"{'s' if fewest > 1 else ''}; measure at more values, or combine fewer functions (--terms)"
            )

    def chosen(self) -> Ints:
        """Return the hypothesis of each pair (K,)."""
        if self.options.functions == ("all",) and len(self._cells) > 1:
            return np.full(len(self._cells), self._order()[0])
        return self._best()

    def _best(self) -> Ints:
        """Return the best hypothesis for each pair alone (K,)."""
        fits, columns = self._taken, self._shown
        values = fits.criterion(self.options.criterion)[:, columns]
        # Where nothing can be compared, the smallest determined hypothesis with the least error; among exact fits,
        # whose errors are rounding, the first.
        size = np.where(fits.determined[:, columns], fits.sizes[columns], np.inf)
        squares = fits.sum_of_squares[:, columns]
        exact = squares <= _EXACT * self._totals()[0][:, None]
        judged = np.where(exact & fits.determined[:, columns], -np.inf, values)
        comes_last = ~fits.determined[:, columns]
        if self.options.sign == "nonnegative":
            comes_last |= self._free.negative[:, columns]
        keys = (np.where(exact, 0.0, squares), size, judged, self._lacking(fits)[:, columns], comes_last)
        order = np.lexsort(keys, axis=1)
        return np.asarray(columns[order[:, 0]])

    def _lacking(self, fits: individual_model.IndividualFits) -> Ints:
        """Return by how many degrees of freedom fits fall short of `LEAST_FREEDOM` (K, H), as one that is named may."""
        used = np.where(fits.effective >= 0, fits.sizes[fits.effective], 0)
        short = individual_model.LEAST_FREEDOM - (fits.n_observations[:, None] - used)
        return np.asarray(np.zeros_like(short) if self.is_named else np.maximum(short, 0))

    def pairs(self, chosen: Ints) -> tuple[individual_model.PairFit, ...]:
        """Return the fit of each pair by its chosen hypothesis."""
        observed, fits = self.prepared.seen, self._taken
        uncentered, centered = self._totals()
        remarks = _remarks(fits)
        fitted_pairs = []
        for k, h in enumerate(chosen):
            fitted = int(fits.effective[k, h])
            members = fits.hypotheses[fitted] if fitted >= 0 else ()
            m = len(members)
            covariance = fits.covariance[k, fitted, :m, :m]
            freedom = int(fits.n_observations[k]) - m
            determined = bool(fits.determined[k, h]) and freedom > 0
            variance = fits.sum_of_squares[k, h] / freedom if determined else np.nan
            loo = float(fits.leave_one_out[k, h])
            code, system = divmod(int(self._cells[k]), len(observed.systems))
            fitted_pairs.append(
                individual_model.PairFit(
                    code=observed.codes[code],
                    system=observed.systems[system],
                    functions=tuple(self.names[f] for f in members),
                    coefficients=tuple(fits.coefficients[k, fitted, :m].tolist()),
                    standard_errors=tuple(
                        float(np.sqrt(variance * covariance[i, i])) if determined else None for i in range(m)
                    ),
                    covariance=tuple(tuple(row) for row in covariance.tolist()),
                    n_observations=int(fits.n_observations[k]),
                    sum_of_squares=float(fits.sum_of_squares[k, h]),
                    total_squares=float(uncentered[k]),
                    centered_squares=float(centered[k]),
                    leave_one_out=loo if np.isfinite(loo) else None,
                    determined=bool(fits.determined[k, h]),
                    note=", ".join(text for text, applies in remarks.items() if applies[k, h]),
                )
            )
        return tuple(fitted_pairs)

    def ranking(self) -> Ranking:
        """Return every hypothesis used for all pairs (Table 2), for a single pair with its coefficients (Table 1)."""
        observed = self.prepared.seen
        alone = len(self._cells) == 1
        candidates = [self._candidate(int(h)) for h in self._order()]
        if not alone and not self.is_named:
            candidates.insert(0, Candidate(individual_model.BEST_OF_EACH, self._figures(self._taken, self._best())))
        several = f"{len(self._cells):,} pairs of a code and a system"
        name = observed.cell_name(int(self._cells[0])) if alone else several
        where = "" if name == "all" else f" of {name}"  # a table without codes and systems is called "all"
        total, centered = (float(values.sum()) for values in self._totals())
        most = int(self.fits.sizes[self._shown].max())
        few = int((self.fits.n_observations - most < individual_model.LEAST_FREEDOM).sum())
        cause = f" with {most} function{'s' * (most > 1)}"
        warnings = [individual_model.freedom_warning(few, len(self._cells), cause)] if few else []
        summary = (
            f"{len(self._shown)} models{where}: {len(observed):,} observations of {observed.value_name}",
            self.prepared.preparation.line(observed.columns),
            f"total sum of squares {total:.6g} (centered{'' if alone else ' per pair'} {centered:.6g})",
            self._order_line(),
            *warnings,
            *observed.notes,
            *([] if alone else ["note (n): n code/system pairs"]),
        )
        return Ranking(summary, tuple(candidates))

    def _order_line(self) -> str:
        """Say by what models are ordered, and on which pairs that is known."""
        text = f"ordered by {CRITERIA[self.options.criterion].partition(':')[0]}"
        if self._remarks["negative"][:, self._shown].any() and self.options.sign == "nonnegative":
            text += "; those with negative coefficients last"
        fair, size = int(self._comparable.sum()), int(self.fits.sizes[self._shown].max())
        if fair == len(self._cells):
            return text
        if not fair:
            return f"ordered by sum of squared errors: no pair has more points than the {size} functions of a model"
        return f"{text}; AICc, BIC and leave-one-out on the {fair:,} pairs with more than {size} points"

    def _candidates(self) -> tuple[Characteristic, ...]:
        names = self.options.functions if self.is_named else (*registered_functions(), *self.options.function)
        variables = tuple(self.prepared.seen.points)
        if not self.is_named and "p" not in variables:
            names = tuple(name for name in names if name not in registered_functions() or name == "1")
        functions = characteristics(names, self.prepared.seen.columns)
        spelt = [function.name for function in functions]
        if twice := [name for name in spelt if spelt.count(name) > 1]:
            raise OptionError(f"function {twice[0]!r} is given twice; a linear model cannot tell the two apart")
        if not self.is_named:
            refuse_unused(functions, self.prepared.seen)
        return functions if self.is_named else by_growth(functions, variables)

    def _order(self) -> Ints:
        """Return hypotheses from best to worst for all pairs together."""
        every = [np.full(len(self._cells), h) for h in self._shown]
        values = [self._raw_figures(self.fits, chosen)[self.options.criterion] for chosen in every]
        squares = self.fits.sum_of_squares[:, self._shown].sum(axis=0)
        comes_last = self._remarks["negative"][:, self._shown].any(axis=0) & (self.options.sign == "nonnegative")
        alone = len(self._cells) == 1
        lacking = self._lacking(self.fits)[0, self._shown] if alone else np.zeros(len(self._shown), dtype=np.int64)
        keys = (squares, self.fits.sizes[self._shown], np.array(values), lacking, comes_last)
        return np.asarray(self._shown[np.lexsort(keys)])

    def _candidate(self, h: int) -> Candidate:
        fits, alone = self.fits, len(self._cells) == 1
        every = np.full(len(self._cells), h)
        extra: dict[str, float | int | None] = {}
        if alone:
            fitted = int(fits.effective[0, h])
            members = fits.hypotheses[fitted] if fitted >= 0 else ()
            values = dict(zip(members, fits.coefficients[0, fitted].tolist(), strict=False))
            extra = {f"c{i}": values.get(f, 0.0) for i, f in enumerate(fits.hypotheses[h], 1)}
        names = tuple(self.names[f] for f in fits.hypotheses[h])
        return Candidate(names, {**self._figures(self.fits, every), **extra}, self._note(h))

    def _raw_figures(self, fits: individual_model.IndividualFits, chosen: Ints) -> dict[str, float]:
        """Return what all pairs, each with its own hypothesis, are compared by; infinite if that is unknown."""
        k, fair = np.arange(len(self._cells)), self._comparable
        squares = fits.sum_of_squares[k, chosen]
        if not fair.any() or not fits.determined[k, chosen][fair].all():
            return {"sse": float(squares.sum()), "aicc": np.inf, "bic": np.inf, "loo": np.inf}
        n, count = int(fits.n_observations[fair].sum()), int(fits.sizes[chosen][fair].sum())
        aicc, bic = (float(value) for value in information(squares[fair].sum(), n, count))
        loo = float(np.sqrt(fits.leave_one_out[k, chosen][fair].sum() / n))
        return {"sse": float(squares.sum()), "aicc": aicc, "bic": bic, "loo": loo}

    def _figures(self, fits: individual_model.IndividualFits, chosen: Ints) -> dict[str, float | int | None]:
        """Return figures of all pairs together, each with its own hypothesis, as a table shows them."""
        raw = self._raw_figures(fits, chosen)
        uncentered, centered = (float(values.sum()) for values in self._totals())
        return {
            "n_parameters": int(fits.sizes[chosen].sum()),
            "sse": raw["sse"],
            "r2_uncentered": finite(float(r_squared(raw["sse"], uncentered))),
            "r2_centered": finite(float(r_squared(raw["sse"], centered))),
            "aicc": finite(raw["aicc"]),
            "bic": finite(raw["bic"]),
            "loo_rmse": finite(raw["loo"]),
        }

    @functools.cached_property
    def _comparable(self) -> Booleans:
        """Pairs with more points than the largest hypothesis has functions (K,): on these all can be compared."""
        return self.fits.n_observations > int(self.fits.sizes[self._shown].max())

    @functools.cached_property
    def _remarks(self) -> dict[str, Booleans]:
        return _remarks(self.fits)

    def _note(self, h: int) -> str:
        """Return remarks on a hypothesis over all pairs, with how many pairs they concern."""
        if len(self._cells) == 1:
            return ", ".join(text for text, applies in self._remarks.items() if applies[0, h])
        counts = {text: int(applies[:, h].sum()) for text, applies in self._remarks.items()}
        return ", ".join(f"{text}: {count}" for text, count in counts.items() if count)

    def _totals(self) -> tuple[Floats, Floats]:
        """Return sums of squares of each pair, about zero and about its weighted mean (K,)."""
        weight = self.prepared.root_weight**2
        sums = [np.add.reduceat(part, self._first) for part in (self._target**2, weight * self.prepared.target, weight)]
        return sums[0], np.maximum(sums[0] - sums[1] ** 2 / sums[2], 0.0)


def _remarks(fits: individual_model.IndividualFits) -> dict[str, Booleans]:
    """Return what may stand against a fit, and where it does (K, H)."""
    n, sizes = fits.n_observations[:, None], fits.sizes
    few = n < sizes
    return {
        "too few points": few,
        "as many functions as points": (n == sizes) & fits.determined,
        "dependent": ~fits.determined & ~few,
        "nearly dependent": fits.determined & (fits.condition > _COLLINEAR),
        "negative": fits.determined & fits.negative,
        "held at 0": fits.effective != np.arange(len(sizes)),
    }


def fit_individual(data: Any, options: IndividualOptions) -> individual_model.IndividualModel:
    """Return the model of measurements; see `perf_timing.individual_fitter`."""
    compared = Comparison(prepare(data, options, "individual"), options)
    return individual_model.IndividualModel(
        **common_fields(compared.prepared, "individual", options, compared.names),
        pairs=compared.pairs(compared.chosen()),
        ranking=() if compared.is_named else compared.ranking().candidates,
    )
