"""What measurements leave open about laws, as weighed components, and what it predicts."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from perf_scaling import array_form, family
from perf_scaling.terms import Factor, Law, PathData, Term, product_values
from perf_statistics.student import stdtrit
from perf_tables import thread_count
from perfcore.base.arrays import Booleans, Floats, Ints

if TYPE_CHECKING:
    from perf_scaling.model import ScalingModel

Result = TypeVar("Result")

_MOST_THREADS = 8
DRAWS = 512  # of each path
_ENOUGH_LEVELS = 5  # for a last step that differs from the steps before it
# No series of `benchmarks/real_extrapolation.py` with so many levels over that range is a law of two terms to that
# error: what is was computed, such as a count. A constant may be a coarse clock.
_EXACT_LEVELS, _EXACT_RANGE, _EXACT_ERROR, _EXACT_VARIES = 5, 4.0, 1e-4, 0.1
_EXACT_LEFT = 100.0 * _EXACT_ERROR**2  # mean square below which a law is looked at more closely
_NEARLY_ALL = 0.998  # of a distribution: what linear speedup cuts off of it is not worth an interpolation
_SETTLES_BEYOND = math.log(2.0)
# A change in behaviour: of a logarithm, and in standard errors; and what is no bend at the level before it.
_SEEN_JUMP, _SURE_JUMP, _SEEN_BEND, _SURE_BEND = 1.0, 12.0, 0.05, 2.0
SIDES = (0.025, 0.5, 0.975)  # 95 % bounds and the median between them
_NUMBERS_AT_ONCE = 1 << 20  # 8 MB
_PATHS_AT_ONCE = 256
_MANY_COMPONENTS = 1 << 20  # times levels, whose quantiles take longer than to load compiled kernels
_LEAST_VARIANCE = 1e-12
_NORMAL = NormalDist()
_FINE_SCORES = np.linspace(-4.0, 4.0, 65)  # for distributions as a whole
_FINE_LEVELS = np.array([_NORMAL.cdf(score) for score in _FINE_SCORES])
_COARSE = 8  # fine scores between those that are looked at first
_SEED = 20260  # of the normal numbers that all paths share


def in_parts(work: Callable[[slice], Result], count: int, longest: int) -> list[Result]:
    """Do work on parts of so many items, by threads: compiled kernels run side by side."""
    threads = thread_count(_MOST_THREADS)
    length = max(1, min(longest, max(array_form.FEW, -(-count // threads))))
    parts = [slice(begin, begin + length) for begin in range(0, count, length)]
    if threads == 1 or len(parts) == 1:
        return list(map(work, parts))
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, parts))


def student_variance(spread: Floats, counts: Floats) -> Floats:
    """Variances (K,) with which a normal distribution has the ends of Student's t, of which `spread` are estimates.

    The noise of few runs is known badly. `counts` (K, n) are runs at each point.
    """
    known, place = np.unique(np.maximum(counts - 1.0, 0.0).sum(axis=1).round(), return_inverse=True)
    return np.asarray(spread * np.array(_student_ratios(tuple(known.tolist())))[place] ** 2)


@functools.lru_cache(maxsize=32)
def _student_ratios(known: tuple[float, ...]) -> tuple[float, ...]:
    """Return how much wider Student's t of so many degrees of freedom, and one more for the usual noise, is."""
    freedom = np.array(known)
    ratios = stdtrit(freedom + 1.0, SIDES[2]) / _NORMAL.inv_cdf(SIDES[2])
    return tuple(np.where(freedom > 0.0, ratios, 1.0).tolist())


@dataclass(frozen=True)
class Laws:
    """Laws up to a factor: sums of M terms, products of powers and logarithms of q parameters."""

    coefficients: Floats  # 0 of terms that are none
    exponents: Floats
    logarithms: Ints  # -1, -2 ... stand for the first of the functions, the second ...
    functions: tuple[Factor, ...] = ()  # of one parameter

    def some(self, numbers: Ints) -> Laws:
        """Return those of some numbers."""
        return Laws(self.coefficients[numbers], self.exponents[numbers], self.logarithms[numbers], self.functions)

    def logs(self, points: Floats) -> Floats:
        """Return the logarithm of each law at points (T, q): (L, T)."""
        logs = np.log(points)
        terms = np.exp(np.einsum("lmq,tq->lmt", self.exponents, logs))
        law, term, parameter = np.nonzero(self.logarithms > 0)
        for number in range(points.shape[1]):
            own = law[parameter == number], term[parameter == number]
            with np.errstate(divide="ignore", invalid="ignore"):
                terms[own] *= (logs[:, number] / math.log(2.0)) ** self.logarithms[(*own, number)][:, None]
        for number, factor in enumerate(self.functions):
            values = product_values((factor,), {factor.symbol: points[:, 0]})
            terms[self.logarithms[:, :, 0] == -1 - number] = values
        terms = np.where(self.coefficients[:, :, None] > 0.0, self.coefficients[:, :, None] * terms, 0.0)
        return np.asarray(np.log(np.maximum(terms.sum(axis=1), 1e-300)))


@dataclass(frozen=True)
class Posterior:
    """Components of K paths: a law, scatter and drift, and which level deviates, with their weights."""

    points: Floats  # measured levels
    means: Floats  # naN where a path was not measured
    counts: Floats  # runs of each mean
    spread: Floats  # relative variance of one run
    laws: Laws
    settings: Floats  # scatter, drift, and the length of the drift
    law: Ints  # of each component; `level` is the number of a point, or -1 where none deviates. -1 beyond the last
    setting: Ints
    level: Ints
    weight: Floats  # adding up to 1 for each path
    reciprocal: bool = False
    least: Floats | None = None  # logarithms of the best values beyond the data (K,); -inf of paths without such
    linear: Floats | None = None  # logarithms of values at level 1 by linear speedup (K,), the best; NaN without such

    def of_paths(self, paths: Sequence[int] | Ints) -> Self:
        chosen = np.asarray(paths, dtype=np.int64)
        path_fields = ["means", "counts", "spread", "law", "setting", "level", "weight"]
        path_fields += [name for name in ("least", "linear") if getattr(self, name) is not None]
        some = replace(
            self,
            **{field.name: getattr(self, field.name)[chosen] for field in fields(self) if field.name in path_fields},
        )
        known = {name: vars(self)[name] for name in ("_ends", "_last_steps", "_exact") if name in vars(self)}
        vars(some).update({name: tuple(array[chosen] for array in arrays) for name, arrays in known.items()})
        return some

    @property
    def count(self) -> Ints:
        """Components of each path (K,)."""
        return np.asarray((self.weight > 0.0).sum(axis=1))

    @functools.cached_property
    def run_variance(self) -> Floats:
        """Relative variance of one run (K,), see `student_variance`."""
        return student_variance(self.spread, self.counts)

    @functools.cached_property
    def median_runs(self) -> Floats:
        """Median number of the runs of a mean, of each path (K,); ``np.nanmedian`` takes some ten times as long."""
        is_measured = self.counts > 0.0
        ordered = np.sort(np.where(is_measured, self.counts, np.inf), axis=1)
        middle = is_measured.sum(axis=1)[:, None] - np.array([1, 0])
        return np.asarray(np.take_along_axis(ordered, middle // 2, axis=1).mean(axis=1))

    @property
    def noise(self) -> Floats:
        """Relative variance of each mean by the noise of its runs (K, n)."""
        return np.asarray(self.spread[:, None] / np.where(self.counts > 0.0, self.counts, np.nan))

    def components(self, places: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Mean and variance of the logarithm of the mean at points (T, q): (K, C, T) each; the weights are `weight`.

        They are of what goes on as measured; `changes` come on top.
        """
        levels = np.asarray(places, dtype=np.float64)
        means = np.empty((*self.law.shape, len(levels)))
        variances = np.empty_like(means)
        for rows, kinds, number, expected in self._at_places(levels):
            means[rows], variances[rows] = expected, kinds.remaining[number]
        return -means if self.reciprocal else means, variances

    def _at_places(self, levels: Floats, more: int = 0) -> Iterator[tuple[Ints, array_form.Kinds, Ints, Floats]]:
        """Yield paths that were measured at the same points, kinds of their components (K, C), the numbers of these,
        and what is expected at places (T, q): (K, C, T). `more` numbers are made of each path and place.
        """
        (n, width), n_paths = (len(self.points), self.law.shape[1]), len(self.means)
        of_noise = len(self.settings) * n * (n + len(levels))
        share = len(np.unique(np.nan_to_num(self.noise), axis=0)) / max(n_paths, 1)
        longest = int(_NUMBERS_AT_ONCE / (len(levels) * (n * width + more) + share * of_noise))
        patterns, pattern = np.unique(np.isfinite(self.means), axis=0, return_inverse=True)
        deviating = family.deviating_variances(self.settings[:, 0], self.points.shape[1])
        logs, noise, log_levels = self._logs_of_laws, self.noise, np.log(levels)
        expect: Any = array_form.expect
        factorize: Any = None
        if n_paths > array_form.FEW:
            from perf_scaling.kernels import expect, factorize
        for number, is_measured in enumerate(patterns):
            measured, paths = np.flatnonzero(is_measured), np.flatnonzero(pattern.ravel() == number)
            place = np.full(n + 1, -1)  # the last is of no level
            place[measured] = np.arange(len(measured))
            for begin in range(0, len(paths), max(longest, 1)):
                rows = paths[begin : begin + max(longest, 1)]
                is_used = self.setting[rows] >= 0
                used, law = _renumbered(self.law[rows], is_used, len(self.laws.coefficients))
                occurring, setting = _renumbered(self.setting[rows], is_used, len(self.settings))
                laws = self.laws.some(used)
                at = array_form.AtPlaces.of(
                    np.log(self.points[measured]), noise[np.ix_(rows, measured)], self.settings[occurring], log_levels,
                    factorize,
                )  # fmt: skip
                kinds, kind = array_form.kinds_of(at, setting, place[self.level[rows]], deviating[occurring])
                means = np.empty((*kind.shape, len(levels)))
                expect(logs[np.ix_(rows, measured)], laws.logs(self.points[measured]), laws.logs(levels), law, kinds,
                       kind, means)  # fmt: skip
                yield rows, kinds, kind, means

    def quantiles(
        self, places: npt.ArrayLike, levels: Sequence[float], run: bool = False, smooth: bool = False
    ) -> Floats:
        """Quantiles (K, T, L) of the mean, or of a single run, at points (T, q).

        At a measured point they are those of its own level, which the mean of its runs shows, and with `smooth` those
        of what the laws make of it.
        """
        points = np.asarray(places, dtype=np.float64)
        if not len(self.means):
            return np.empty((0, len(points), len(levels)))
        if self.points.shape[1] == 1 and family.beyond(*self.measured_range, points).any():
            _ = self._ends, self._last_steps, self._exact  # which blocks take their parts of
        return np.exp(self._in_blocks(points, lambda block: block._log_quantiles(points, levels, run, smooth)))

    def _in_blocks(self, points: Floats, log_quantiles: Callable[[Self], Floats]) -> Floats:
        """Quantiles of some paths after the other: components of all at once are gigabytes."""
        size = max(1, _NUMBERS_AT_ONCE // (self.law.shape[1] * max(len(points), 1)))
        blocks = [range(begin, min(begin + size, len(self.means))) for begin in range(0, len(self.means), size)]
        return np.concatenate([log_quantiles(self if len(blocks) == 1 else self.of_paths(block)) for block in blocks])

    def _of_components(self, points: Floats, run: bool, smooth: bool) -> Callable[[Ints, Floats], Floats]:
        """What gives quantiles of the components, at levels (R, L) for rows (R,) of path and point."""
        mixtures = self._mixtures(points, run, smooth)

        def quantiles(rows: Ints, levels: Floats) -> Floats:
            mixture_quantiles: Any = array_form.mixture_quantiles
            if len(self.means) > array_form.FEW or levels.size * self.law.shape[1] > _MANY_COMPONENTS:
                from perf_scaling.kernels import mixture_quantiles
            values = np.empty(levels.shape)

            def part(chunk: slice) -> None:
                own = array_form.Mixtures(*(array[rows[chunk]] for array in mixtures))
                mixture_quantiles(own, levels[chunk], values[chunk])

            in_parts(part, len(rows), _PATHS_AT_ONCE)
            return values

        return quantiles

    def _log_quantiles(self, points: Floats, levels: Sequence[float], run: bool, smooth: bool) -> Floats:
        shape = len(self.means), len(points), len(levels)
        path, place = np.divmod(np.arange(shape[0] * shape[1]), max(shape[1], 1))
        of_components = self._of_components(points, run, smooth)
        distance = family.beyond(*self.measured_range, points).ravel()[:, None]

        def raw(levels: Sequence[float]) -> Floats:
            return of_components(np.arange(len(path)), np.tile(np.asarray(levels, dtype=np.float64), (len(path), 1)))

        if not distance.any():  # nothing shapes them there
            return raw(levels).reshape(shape)
        all_levels, number = np.unique([*levels, *SIDES], return_inverse=True)
        logs = raw(all_levels.tolist())
        middle, ends = logs[:, number[[-2]]], logs[:, number[[-3, -1]]]
        ends = middle + (ends - middle) * family.spread_factor(distance, np.array([SIDES[0], SIDES[2]]))
        settled = self.settling(middle[:, 0], path, points[place, 0])[:, None]

        def shaped(rows: Ints, logs: Floats, levels: Floats) -> Floats:
            peaked = middle[rows] + (logs - middle[rows]) * family.spread_factor(distance[rows], levels)
            return self.stretched(peaked, middle[rows], ends[rows], path[rows], points[place[rows], 0]) + settled[rows]

        logs = shaped(np.arange(len(path)), logs, all_levels)[:, number[:-3]]
        if not smooth and (self.least is not None or self.linear is not None):
            rows = np.flatnonzero(distance[:, 0] > 0.0)

            def fine(rows: Ints, numbers: Ints) -> Floats:
                return shaped(rows, of_components(rows, _FINE_LEVELS[numbers]), _FINE_LEVELS[numbers])

            self._cut(logs, rows, path[rows], np.log(points[place[rows], 0]), levels, fine)
        return logs.reshape(shape)

    def _cut(
        self, logs: Floats, rows: Ints, path: Ints, log_level: Floats, levels: Sequence[float],
        fine: Callable[[Ints, Ints], Floats],
    ) -> None:  # fmt: skip
        """Cut distributions beyond the data where values are not possible; the rest of the distribution remains.

        `fine` gives quantiles of rows by the numbers of `_FINE_LEVELS`, between which they are interpolated.
        """
        least = np.full(len(rows), -np.inf) if self.least is None else self.least[path]
        linear = np.full(len(rows), np.nan) if self.linear is None else self.linear[path]
        is_least = np.isfinite(least)
        limit = np.where(is_least, least, linear + (log_level if self.reciprocal else -log_level))
        bounded = np.isfinite(limit)
        rows, limit, is_least = rows[bounded], limit[bounded], is_least[bounded]
        coarse = np.arange(0, len(_FINE_LEVELS), _COARSE)
        last = len(coarse) - 1
        cell = (fine(rows, np.tile(coarse, (len(rows), 1))) <= limit[:, None]).sum(axis=1) - 1
        share = np.where(cell < 0, 0.0, 1.0) if self.reciprocal else np.where(cell < last, 0.0, _FINE_LEVELS[-1])
        # What linear speedup cuts off beyond three deviations is not worth an interpolation.
        inside = np.flatnonzero(
            (cell >= 0) & (cell < last) & (is_least | (cell != (last - 1 if self.reciprocal else 0)))
        )
        numbers = cell[inside, None] * _COARSE + np.arange(_COARSE + 1)
        values = fine(rows[inside], numbers)
        column = np.clip((values <= limit[inside, None]).sum(axis=1) - 1, 0, _COARSE - 1)[:, None]
        share[inside] = _interpolated(limit[inside, None], values, _FINE_LEVELS[numbers], column)[:, 0]
        low, high = (np.zeros(len(rows)), share) if self.reciprocal else (share, np.ones(len(rows)))
        chosen = np.flatnonzero(is_least | (high - low <= _NEARLY_ALL))
        wanted = low[chosen, None] + (high - low)[chosen, None] * np.asarray(levels)
        scores = np.array([[_NORMAL.inv_cdf(level) for level in row] for row in wanted.tolist()]).reshape(wanted.shape)
        scores = np.clip(scores, _FINE_SCORES[0], _FINE_SCORES[-1])
        below = np.clip(np.searchsorted(_FINE_SCORES, scores, side="right") - 1, 0, len(_FINE_SCORES) - 2)
        numbers = np.concatenate([below, below + 1], axis=1)
        place = np.tile(np.arange(len(levels)), (len(chosen), 1))
        logs[rows[chosen]] = _interpolated(
            scores, _FINE_SCORES[numbers], fine(rows[chosen], numbers), place, len(levels)
        )

    @functools.cached_property
    def _ends(self) -> tuple[Floats, Floats, Floats]:
        """Of each path over one parameter (K,): the last level and the last step as logarithms, and its turn.

        That is how far the last mean is from what the laws make of it, where they miss the level before on the same
        side: then another behaviour may begin.
        """
        logs, paths = np.log(self.points[:, 0]), np.arange(len(self.means))
        order = np.argsort(np.where(self.counts > 0.0, logs, -np.inf), axis=1)
        last, before = order[:, -1], order[:, -2]

        def misses(paths: Ints, level: Ints) -> Floats:
            # As within the measured range: only a path's own levels count, which may lie beyond those of other paths.
            used, place = np.unique(level, return_inverse=True)
            points = self.points[used]

            def medians(block: Self) -> Floats:
                half = np.full((len(block.means) * len(used), 1), 0.5)
                return block._of_components(points, False, True)(np.arange(len(half)), half).reshape(-1, len(used))

            fitted = self.of_paths(paths)._in_blocks(points, medians)
            return np.asarray(np.log(self.means[paths, level]) - fitted[np.arange(len(paths)), place.ravel()])

        turns = misses(paths, last)
        far = np.flatnonzero(np.abs(turns) >= family.TURNS)
        turns[np.setdiff1d(paths, far)] = 0.0
        if len(far):
            turns[far] *= misses(far, before[far]) * turns[far] > 0.0
        return logs[last], logs[last] - logs[before], turns

    @property
    def turns(self) -> Floats:
        """How far the last level of each path turns away from the laws, as a logarithm (K,); 0 if it does not."""
        return self._ends[2] if self.points.shape[1] == 1 else np.zeros(len(self.means))

    def stretched(self, logs: Floats, middle: Floats, ends: Floats, path: Ints, level: Floats) -> Floats:
        """Logarithms (..., L) about a middle (..., 1) with ends of 95 % (..., 2) beyond a turn, and far off, of paths
        at levels (...).
        """
        if self.points.shape[1] > 1:
            return logs
        last, step, turn = (array[path][..., None] for array in self._ends)
        distance = np.maximum(np.log(level)[..., None] - last, 0.0)
        turn = np.where(distance > 0.0, turn, 0.0)
        low, high = np.maximum(middle - ends[..., :1], 1e-12), np.maximum(ends[..., 1:] - middle, 1e-12)
        side, half = np.where(logs < middle, low, high), 0.5 * (np.hypot(low, 2.0 * turn) + np.hypot(high, 2.0 * turn))
        steps = distance / step
        far = np.clip((distance - family.FAR_FROM) / (family.FAR_AT - family.FAR_FROM), 0.0, 1.0) * np.clip(
            (steps - 1.0) / family.STEPS, 0.0, 1.0
        )
        typical = half * family.FAR_AT / np.where(far > 0.0, distance, 1.0)
        noise = np.maximum(np.sqrt(self.spread / self.median_runs) - family.USUAL_NOISE, 0.0)[path][..., None]
        narrowing = np.maximum(typical / (1.0 + family.BY_NOISE * noise), 1.0) ** (-family.ALIKE * far)
        wider = np.minimum(np.minimum(typical, 1.0) ** (-family.ALIKE * far), family.MOST_WIDER)
        is_free = np.ones(len(self.means), np.bool_) if self.least is None else ~np.isfinite(self.least)
        narrowing = narrowing * np.where(is_free[path][..., None], wider, 1.0)
        shaped = middle + turn + (logs - middle) * np.hypot(side, 2.0 * turn) / side * narrowing
        first, second, one, other = (array[path][..., None] for array in self._exact)
        is_exact = np.isfinite(first)
        if not is_exact.any():
            return np.asarray(shaped)
        number, value = np.log(level)[..., None], np.zeros(first.shape)
        for coefficient, term in ((first, one), (second, other)):
            for k in np.unique(term[is_exact]).tolist():
                exponent, logarithm = family.EXACT_TERMS[k]
                value += np.where(term == k, coefficient * np.exp(exponent * number) * number**logarithm, 0.0)
        value = np.where(is_exact, np.maximum(value, np.finfo(np.float64).tiny), 1.0)  # p log(p) is 0 at p = 1
        law = np.log(value) * (-1.0 if self.reciprocal else 1.0)
        return np.asarray(np.where(is_exact, law + family.EXACT_WIDTH * (shaped - middle - turn), shaped))

    @functools.cached_property
    def _exact(self) -> tuple[Floats, Floats, Ints, Ints]:
        """Coefficients and numbers of `EXACT_TERMS` (K,) of the sum of two that a path over one parameter is; NaN of
        other paths.
        """
        coefficients, terms = np.full((2, len(self.means)), np.nan), np.zeros((2, len(self.means)), np.int64)
        if self.points.shape[1] > 1 or not (self.points > 0.0).all():
            return *coefficients, *terms
        patterns, pattern = np.unique(np.isfinite(self.means), axis=0, return_inverse=True)
        for number, is_measured in enumerate(patterns):
            levels, paths = self.points[is_measured, 0], np.flatnonzero(pattern.ravel() == number)
            if len(levels) < _EXACT_LEVELS or levels[-1] < _EXACT_RANGE * levels[0]:
                continue
            means = self.means[np.ix_(paths, np.flatnonzero(is_measured))] ** (-1.0 if self.reciprocal else 1.0)
            varies = np.ptp(means, axis=1) > _EXACT_VARIES * means.max(axis=1)
            paths, scale = paths[varies], means[varies].max(axis=1)
            with np.errstate(all="ignore"):  # of levels whose powers overflow there is no such law
                relative = means[varies] / scale[:, None]
                values = np.array(
                    [levels**exponent * np.log(levels) ** logarithm for exponent, logarithm in family.EXACT_TERMS]
                )
                best = np.full(len(paths), _EXACT_ERROR)
                possible = _nearly_sums(values, relative)
                for law in np.flatnonzero(possible.any(axis=1)).tolist():
                    one, other = family.EXACT_LAWS[law]
                    own = np.flatnonzero(possible[law])
                    u, v = values[one] / relative[own], values[other] / relative[own]
                    a, b, c = (u * u).sum(axis=1), (u * v).sum(axis=1), (v * v).sum(axis=1)
                    first = (c * u.sum(axis=1) - b * v.sum(axis=1)) / (a * c - b * b)
                    second = (a * v.sum(axis=1) - b * u.sum(axis=1)) / (a * c - b * b)
                    error = np.abs(first[:, None] * u + second[:, None] * v - 1.0).max(axis=1)
                    better = (error < best[own]) & (first >= -_EXACT_ERROR) & (second > 0.0)
                    best[own[better]] = error[better]
                    found = own[better]
                    coefficients[:, paths[found]] = scale[found] * [np.maximum(first, 0.0)[better], second[better]]
                    terms[:, paths[found]] = np.array([[one], [other]])
        return *coefficients, *terms

    @property
    def is_exact(self) -> Booleans:
        """Whether paths (K,) are a sum of two terms to so many digits that their values are computed, not timed."""
        return np.isfinite(self._exact[0])

    @functools.cached_property
    def _last_steps(self) -> tuple[Floats, Floats, Floats]:
        """Of each path whose last step has another slope than all before: the last level and mean as logarithms (K, 2),
        the slopes that the steps before allow (K, 2), and the level before that step (K,); NaN of other paths.
        """
        last, slopes = np.full((len(self.means), 2), np.nan), np.full((len(self.means), 2), np.nan)
        changes_at = np.full(len(self.means), np.nan)
        if self.points.shape[1] > 1:
            return last, slopes, changes_at
        logs, deviations = np.log(self.points[:, 0]), np.sqrt(np.nan_to_num(self.noise))
        patterns, pattern = np.unique(np.isfinite(self.means), axis=0, return_inverse=True)
        for number, is_measured in enumerate(patterns):
            measured, paths = np.flatnonzero(is_measured), np.flatnonzero(pattern.ravel() == number)
            if len(measured) < _ENOUGH_LEVELS:
                continue
            x, y = logs[measured], np.log(self.means[np.ix_(paths, measured)])
            (slope, off), (_, off_earlier) = _line(x, y, len(x) - 1), _line(x, y, len(x) - 2)
            scatter = np.sqrt(np.square(off[:, :-1]).sum(axis=1) / (len(x) - 3))
            jump, noise = off[:, -1], deviations[paths, measured[-1]]
            bent = off_earlier[:, -2] * np.sign(jump)  # what bends before is a smooth law
            changes = np.abs(jump) > np.maximum(_SEEN_JUMP, _SURE_JUMP * np.maximum(scatter, noise))
            changes &= bent < np.maximum(_SURE_BEND * noise, _SEEN_BEND)
            steps = np.column_stack([np.diff(y[:, :-1], axis=1) / np.diff(x[:-1]), slope])
            own = paths[changes]
            last[own, 0], last[own, 1] = x[-1], y[changes, -1]
            slopes[own, 0] = steps.min(axis=1)[changes] - family.OTHER_SLOPE
            slopes[own, 1] = steps.max(axis=1)[changes] + family.OTHER_SLOPE
            changes_at[own] = self.points[measured[-2], 0]
        return last, slopes, changes_at

    @property
    def changes_at(self) -> Floats:
        """Level of one parameter (K,) after which the last step has another slope than all before; NaN if none."""
        return self._last_steps[2]

    def settling(self, logs: Floats, path: Ints, level: Floats) -> Floats:
        """What is added to logarithms (...) of paths at levels, whose slope only the last step supports.

        Farther than twice the last level such a slope mostly goes back towards those before it.
        """
        if self.points.shape[1] > 1:
            return np.zeros_like(logs)
        last, slopes = (array[path] for array in self._last_steps[:2])
        distance = np.log(level) - last[..., 0]
        far = distance > _SETTLES_BEYOND
        slope = (logs - last[..., 1]) / np.where(far, distance, 1.0)
        excess = slope - np.clip(slope, slopes[..., 0], slopes[..., 1])
        return np.where(far & np.isfinite(excess), -excess * (distance - _SETTLES_BEYOND), 0.0)

    def _mixtures(self, places: Floats, run: bool, smooth: bool) -> array_form.Mixtures:
        """Return the distributions (K T) of the mean, whose slope may have changed, or of a single run: then a new
        level has scatter and may deviate, and a run has noise.
        """
        means, variances = (np.moveaxis(array, 2, 1) for array in self.components(places))
        changed, deviation = family.changes(*self.measured_range, places)
        changed = (
            changed
            if self.least is None
            else np.where(np.isfinite(self.least), family.WEAK_CHANGES, 1.0)[:, None] * changed
        )
        tau = np.where(self.setting >= 0, self.settings[self.setting, 0], 0.0)
        is_new = np.ones(changed.shape)
        if not smooth:
            means, variances, is_new = self._at_measured(places, means, variances, tau)
        none = np.zeros_like(changed)
        kinds: list[tuple[Floats, ...]] = [(np.ones_like(changed), none, none)]  # share, and the further variance
        if run:
            rate = is_new * family.deviating_rate((self.counts > 0.0).sum(axis=1))[:, None]
            noise = none + self.run_variance[:, None]
            kinds = [(1.0 - rate, noise, is_new),
                     (rate, noise + family.DEVIATING_VARIANCE, is_new + family.DEVIATING_FACTOR)]  # fmt: skip
        if changed.any():
            _, constant, factor = kinds[0]
            kinds = [((1.0 - changed) * share, *further) for share, *further in kinds]
            kinds.append((changed, constant + deviation**2, factor))
        of_paths = (np.repeat(array, len(places), axis=0) for array in (tau**2, self.weight))
        of_kinds = (np.stack(parts, axis=2).reshape(-1, len(kinds)) for parts in zip(*kinds, strict=True))
        shape = len(tau) * len(places), -1
        return array_form.Mixtures(means.reshape(shape), variances.reshape(shape), *of_paths, *of_kinds)

    def _at_measured(
        self, places: Floats, means: Floats, variances: Floats, tau: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Means and variances (K, T, C) of the levels themselves where they were measured, and 0 there, else 1 (K, T).

        With y = s + eta + eps of variances t = tau^2 + d and d, and s given y of mean m and variance v, that of the
        level s + eta is y - d/t (y - m), of variance d - (d/t)^2 (t - v).
        """
        is_new = np.ones((len(self.means), len(places)))
        means, variances = means.copy(), variances.copy()
        for place, point in np.argwhere((places[:, None] == self.points).all(axis=2)):
            paths = np.flatnonzero(self.counts[:, point] > 0.0)
            first = np.isfinite(self.means[paths]).argmax(axis=1)
            further = family.deviating_variances(self.settings[:, 0], self.points.shape[1])
            deviating = further[self.setting[paths], np.where(first == point, 0, 1)[:, None]]
            noise = self.noise[paths, point][:, None]
            total = tau[paths] ** 2 + noise + np.where(self.level[paths] == point, deviating, 0.0)
            share, y = noise / total, np.log(self.means[paths, point])[:, None]
            means[paths, place] = y - share * (y - means[paths, place])
            variances[paths, place] = np.maximum(noise - share**2 * (total - variances[paths, place]), _LEAST_VARIANCE)
            is_new[paths, place] = 0.0
        return means, variances, is_new

    def divided(self, place: npt.ArrayLike, shares: Floats, levels: Sequence[float]) -> tuple[Floats, Floats]:
        """Probability (G,) and quantiles (G, L) of a single run at a point (q,) for parts of one path's components.

        `shares` (C, G) are those of the parts in each component. What shapes the quantiles of all is done to those of
        each part, so that the distributions of the parts mix to the whole.
        """
        point = np.asarray(place, dtype=np.float64)[None]
        mixtures = self._mixtures(point, run=True, smooth=False)
        means, variances, weights = (array[0] for array in mixtures.one_by_one())
        own = mixtures.weights * shares.T
        present = np.flatnonzero(own.sum(axis=1) > 0.0)
        raw, quantiles = np.empty((len(present), len(levels))), np.full((len(own), len(levels)), np.nan)
        parts = array_form.Mixtures(*(np.repeat(array, len(present), axis=0) for array in mixtures))
        array_form.mixture_quantiles(parts._replace(weights=own[present]), np.tile(levels, (len(raw), 1)), raw)
        scores = (raw.ravel()[:, None] - means) / np.sqrt(2.0 * variances)
        of_all = 0.5 * np.array([weights @ [math.erfc(-z) for z in row] for row in scores.tolist()]) / weights.sum()
        of_all = np.clip(of_all, _FINE_LEVELS[0], _FINE_LEVELS[-1])
        quantiles[present] = self.quantiles(point, of_all.tolist(), run=True)[0, 0].reshape(raw.shape)
        return own.sum(axis=1) / mixtures.weights.sum(), quantiles

    @property
    def _logs_of_laws(self) -> Floats:
        """Logarithms of what the laws are of (K, n)."""
        with np.errstate(invalid="ignore"):
            logs = np.log(self.means)
        return -logs if self.reciprocal else logs

    @property
    def measured_range(self) -> tuple[Floats, Floats]:
        """Smallest and largest measured levels of each path, (K, q) each."""
        measured = (self.counts > 0.0)[:, :, None]
        return (
            np.where(measured, self.points, np.inf).min(axis=1),
            np.where(measured, self.points, -np.inf).max(axis=1),
        )

    def draws(self, places: npt.ArrayLike) -> Draws:
        """Draws at points (T, q)."""
        levels = np.asarray(places, dtype=np.float64)
        n_paths, (n, q) = len(self.means), self.points.shape
        rng = np.random.default_rng(_SEED)
        normals = rng.standard_normal((DRAWS, n + 2 * q * (n + len(levels))))
        of_runs, of_level, of_far = rng.standard_normal((3, DRAWS))
        rank = rng.permutation(DRAWS)
        chance = of_runs, of_level, of_far, rank, rng.standard_normal(DRAWS), rng.permutation(DRAWS)
        draw_logs = np.empty((n_paths, DRAWS, len(levels)))
        # Draws stand at the middles of equal parts of all weights.
        sides = (np.arange(DRAWS) + 0.5) / DRAWS
        width = self.weight.shape[1]
        ends: Ints = np.searchsorted(sides, np.cumsum(self.weight, axis=1).ravel(), side="right").reshape(-1, width)
        ends[np.arange(width) >= self.count[:, None] - 1] = DRAWS
        shares = np.diff(ends, axis=1, prepend=0)
        component: Ints = np.repeat(np.tile(np.arange(width), n_paths), shares.ravel())
        component = component.reshape(n_paths, DRAWS)
        for rows, kinds, number, expected in self._at_places(levels, DRAWS):
            measured, own = np.isfinite(self.means[rows[0]]), component[rows]
            draw_logs[rows] = np.take_along_axis(expected, own[..., None], axis=1)
            draw_logs[rows] += array_form.draw_kinds(
                kinds, np.take_along_axis(number, own, axis=1), np.log(self.points[measured]), np.log(levels),
                normals[:, : measured.sum()], normals[:, n:],
            )  # fmt: skip
        return Draws(-draw_logs if self.reciprocal else draw_logs, component, self, levels, *chance)


def _nearly_sums(values: Floats, relative: Floats) -> Booleans:
    """Return which of `EXACT_LAWS` (L,), of terms with values (T, n), leave hardly anything of means (K, n): (L, K)."""
    weights, (one, other) = 1.0 / relative.T, np.array(family.EXACT_LAWS).T
    sums, squares = values @ weights, values**2 @ weights**2
    a, b, c, u, v = squares[one], (values[one] * values[other]) @ weights**2, squares[other], sums[one], sums[other]
    left = len(weights) - (c * u * u - 2.0 * b * u * v + a * v * v) / (a * c - b * b)
    return np.asarray(~(left > _EXACT_LEFT * len(weights)))


def _interpolated(x: Floats, known: Floats, values: Floats, column: Ints, step: int = 1) -> Floats:
    """Linear interpolation (R, L) between columns (R, L) of what is known (R, C) and those a step behind them."""
    x0, x1 = (np.take_along_axis(known, column + k, axis=1) for k in (0, step))
    y0, y1 = (np.take_along_axis(values, column + k, axis=1) for k in (0, step))
    return np.asarray(y0 + (y1 - y0) * np.clip((x - x0) / np.maximum(x1 - x0, 1e-300), 0.0, 1.0))


def _line(x: Floats, y: Floats, count: int) -> tuple[Floats, Floats]:
    """Slope (K,) of the straight lines through the first points, and residuals of all points (K, n)."""
    centred = x - x[:count].mean()
    slope = y[:, :count] @ centred[:count] / (centred[:count] ** 2).sum()
    return slope, y - y[:, :count].mean(axis=1, keepdims=True) - slope[:, None] * centred


@dataclass(frozen=True)
class Draws:
    """Equally probable draws of K paths."""

    logs: Floats  # logarithms of means at T points if what was measured goes on; coherent over the points
    component: Ints  # of which component of its path a draw is
    posterior: Posterior  # what they are drawn from
    at: Floats  # the points
    # Normal numbers (N,) that all paths share, and the order in which draws are of one kind and then the other.
    of_runs: Floats
    of_level: Floats
    of_far: Floats
    rank: Ints
    of_change: Floats
    change_rank: Ints

    @functools.cached_property
    def change(self) -> Floats:
        """What a change of the slope beyond the measured levels does to them, as a logarithm (K, N, T)."""
        rate, deviation = family.changes(*self.posterior.measured_range, self.at)
        is_changed = self.change_rank[:, None] < DRAWS * rate[:, None]
        return np.where(is_changed, deviation[:, None] * self.of_change[:, None], 0.0)

    @functools.cached_property
    def scatter(self) -> Floats:
        """How far one level is from what is predicted, as a logarithm (K, N)."""
        tau = self.posterior.settings[np.take_along_axis(self.posterior.setting, self.component, axis=1), 0]
        rate = family.deviating_rate((self.posterior.counts > 0.0).sum(axis=1))
        far = np.sqrt(family.deviating_variance(tau)) * self.of_far
        return np.asarray(tau * self.of_level + np.where(self.rank < DRAWS * rate[:, None], far, 0.0))

    @functools.cached_property
    def noise(self) -> Floats:
        """How far one run is from its level, as a logarithm (K, N)."""
        return np.asarray(np.sqrt(self.posterior.run_variance)[:, None] * self.of_runs)

    @functools.cached_property
    def values(self) -> Floats:
        """Means in the unit of the data (K, N, T)."""
        return np.exp(self._shaped(self._settled + self.change))

    def _shaped(self, logs: Floats) -> Floats:
        """As sharply peaked as errors of real series (K, N, T), and stretched; as `Posterior.quantiles`."""
        distance = family.beyond(*self.posterior.measured_range, self.at)
        is_far = distance.any(axis=0)
        if not is_far.any():
            return logs
        far = logs[:, :, is_far]
        rank = np.argsort(np.argsort(far, axis=1), axis=1)
        middle = np.median(far, axis=1, keepdims=True)
        factor = family.spread_factor(distance[:, None, is_far], (rank + 0.5) / DRAWS)
        peaked = np.swapaxes(middle + (far - middle) * factor, 1, 2)
        ends = np.moveaxis(np.quantile(peaked, SIDES, axis=2), 0, 2)
        shaped = logs.copy()
        every, levels = np.arange(len(logs))[:, None], np.broadcast_to(self.at[is_far, 0], peaked.shape[:2])
        stretched = self.posterior.stretched(peaked, ends[:, :, 1:2], ends[:, :, [0, 2]], every, levels)
        shaped[:, :, is_far] = np.swapaxes(stretched, 1, 2)
        return shaped

    @functools.cached_property
    def _settled(self) -> Floats:
        every, middle = np.arange(len(self.logs))[:, None], np.median(self.logs, axis=1)
        return np.asarray(self.logs + self.posterior.settling(middle, every, self.at[:, 0])[:, None])

    def unchanged(self) -> Floats:
        """Means as they are if what was measured goes on (K, N, T)."""
        return np.asarray(np.exp(self._settled))

    def runs(self) -> Floats:
        """Single runs instead of means (K, N, T)."""
        return np.exp(self._shaped(self._settled + self.change + (self.scatter + self.noise)[:, :, None]))


def equally_probable(values: Floats, count: int) -> Floats:
    """Draws along the second axis as fewer, ascending."""
    ordered = np.sort(np.moveaxis(values, 1, -1), axis=-1)
    size = ordered.shape[-1]
    place = np.clip((np.arange(count) + 0.5) / count * size - 0.5, 0.0, size - 1.0)
    low = np.floor(place).astype(np.int64)
    share = place - low
    return np.asarray(ordered[..., low] * (1.0 - share) + ordered[..., np.minimum(low + 1, size - 1)] * share)


def used_alone(posterior: Posterior, symbols: Sequence[str]) -> tuple[tuple[Law, ...], Posterior]:
    """The laws that occur, and the posterior of these and of the settings that occur, by their new numbers."""
    used = posterior.weight > 0.0
    laws, law = _renumbered(posterior.law, used, len(posterior.laws.coefficients))
    settings, setting = _renumbered(posterior.setting, used, len(posterior.settings))
    kept = posterior.laws.some(laws)
    renumbered = replace(posterior, laws=kept, settings=posterior.settings[settings], law=law, setting=setting)
    return tuple(_law(kept, number, symbols) for number in range(len(laws))), renumbered


def _renumbered(numbers: Ints, used: Booleans, count: int) -> tuple[Ints, Ints]:
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
        means = [None if math.isnan(mean) else mean for mean in posterior.means[k].tolist()]
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
            factors = [laws.functions[-1 - j] if j < 0 else Factor(symbol, i, j)
                       for symbol, i, j in zip(symbols, exponents, logarithms, strict=True) if i or j]  # fmt: skip
            terms.append(Term(coefficient, tuple(factors)))
    return tuple(terms)


def posterior_of(model: ScalingModel) -> Posterior:
    """The arrays of what a model file keeps."""
    symbols, laws, data = model.symbols, model.laws, model.data
    most = max(map(len, laws))
    place = {symbol: number for number, symbol in enumerate(symbols)}
    coefficients = np.zeros((len(laws), most))
    exponents = np.zeros((len(laws), most, len(symbols)))
    logarithms = np.zeros(exponents.shape, dtype=np.int64)
    functions: dict[str, Factor] = {}
    for number, law in enumerate(laws):
        for k, term in enumerate(law):
            coefficients[number, k] = term.coefficient
            for factor in term.factors:
                exponents[number, k, place[factor.symbol]] += factor.exponent
                logarithms[number, k, place[factor.symbol]] += factor.logarithm
                if factor.function:
                    functions.setdefault(factor.function, factor)
                    logarithms[number, k, 0] = -1 - list(functions).index(factor.function)
    width = max(len(entry.laws) for entry in data)
    law_of, setting, level = (np.full((len(data), width), -1, dtype=np.int64) for _ in range(3))
    weight = np.zeros(law_of.shape)
    for k, entry in enumerate(data):
        size = len(entry.laws)
        law_of[k, :size], setting[k, :size], level[k, :size] = entry.laws, entry.settings, entry.levels
        weight[k, :size] = entry.weights
    all_laws = Laws(coefficients, exponents, logarithms, tuple(functions.values()))
    counts, spread = np.array([entry.counts for entry in data]), np.array([entry.spread for entry in data])
    return Posterior(
        model.measured, model.means, counts, spread,
        all_laws, np.array(model.settings), law_of, setting, level, weight, model.reciprocal,
    )  # fmt: skip
