"""One expression to one distribution: by arithmetic where that is right, else by sampling, else by enclosing."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_structural.correlation import Pair
from perf_structural.drawing import Formula
from perf_structural.expression import (
    SYMBOLS,
    Call,
    Constant,
    Expression,
    Extremum,
    Leaf,
    Product,
    Sum,
    leaves,
    ordered,
    repeated,
    shown,
)
from perf_structural.options import EvaluationOptions
from perf_structural.sampling import Sample, draw_sample, draw_together, points_for, sort_at_once
from perf_structural.statistic import LEVELS, quantile_name
from perfcore.base.errors import DataError, OptionError
from perfcore.hooks.options import describe
from perfcore.stochastic import (
    StochasticValue,
    absolute,
    add,
    as_value,
    default_representation,
    divide,
    exp,
    log,
    maximum,
    minimum,
    multiply,
    performer_of,
    power,
    sqrt,
)

# Which input makes a result late: shares of the variance of being in the tail.
#
# Whether a result lies above its quantile q is a number that is 0 or 1, with the variance q (1 - q). The share of an
# input is what is left of that variance after averaging over everything else, Var(P(late | input)) / (q (1 - q)):
# Sobol's
# first index, of the tail instead of the result. What the shares miss of 1 is late only by several inputs together.
#
# Source: A. Marrel and V. Chabridon, "Statistical developments for target and conditional sensitivity analysis",
# Reliability Engineering and System Safety 214, 2021, section 2.2. Conditional probabilities come from the sample in
# cells of an input's own quantiles; the variance that chance gives to so many cells is taken off.

Floats = npt.NDArray[np.float64]

_CELLS = 256
_MOST_NUMBERS = 2**25  # of all inputs together
_FEWEST = 1024  # points


def tail_owners(
    root: Expression,
    values: Mapping[str, StochasticValue],
    correlations: Mapping[Pair, float],
    level: float,
    samples: int | None,
    seed: int,
) -> dict[str, float]:
    """For each uncertain input its share, the largest first."""
    inputs = [node for node in ordered(root) if isinstance(node, Leaf)]
    for node in inputs:
        if not values[node.name].has_distribution:
            raise OptionError(
                f"--tail: {node.name!r} has bounds and no distribution, so nobody knows how late it makes"
            )
    points = max(_FEWEST, min(points_for(samples, len(inputs)), _MOST_NUMBERS // (len(inputs) + 1)))
    formulas = [Formula(node, values, correlations) for node in (root, *inputs)]
    result, *columns = (sample.values.ravel() for sample in draw_together(formulas, points, seed))
    # Between a number and infinity there is neither; then what is infinite is late.
    with np.errstate(invalid="ignore"):
        place = np.nan_to_num(np.quantile(result, level, method="hazen"), nan=np.finfo(np.float64).max)
    late = (result > place) if level >= 0.5 else (result < place)
    shares = {node.name: share_of_tail(late, column) for node, column in zip(inputs, columns, strict=True)}
    return dict(sorted(shares.items(), key=lambda each: -each[1]))


def share_of_tail(late: npt.NDArray[np.bool_], column: Floats) -> float:
    """Share of the variance of ``late`` (n,) that one input (n,) explains by itself, 0 to 1."""
    total = float(late.var())
    if total == 0.0:
        return 0.0
    # Half of the cells divide the last part of each end, where a tail begins.
    ends = np.geomspace(1e-3, 0.1, _CELLS // 4)
    levels = np.unique(np.concatenate([[0.0], ends, np.linspace(0.1, 0.9, _CELLS // 2), 1.0 - ends, [1.0]]))
    ranks = (np.argsort(np.argsort(column, kind="stable"), kind="stable") + 0.5) / len(column)
    cells = np.clip(levels.searchsorted(ranks) - 1, 0, len(levels) - 2)
    counts = np.bincount(cells, minlength=len(levels) - 1)
    sums = np.bincount(cells, weights=late, minlength=len(levels) - 1)
    kept = counts > 1
    rates, weights = sums[kept] / counts[kept], counts[kept] / len(late)
    between = float(weights @ (rates - late.mean()) ** 2)
    by_chance = float(weights @ (rates * (1.0 - rates) / (counts[kept] - 1)))
    return min(max((between - by_chance) / total, 0.0), 1.0)


Quantity = StochasticValue | float

_FUNCTIONS: Mapping[str, Callable[..., StochasticValue]] = {
    "abs": absolute,
    "exp": exp,
    "log": log,
    "power": power,
    "sqrt": sqrt,
}


def why_not_exact(root: Expression) -> str | None:
    """The reason why arithmetic on independent values would not give the expression; None where it does."""
    twice = repeated(root)
    if twice:
        others = f", and so do {len(twice) - 1} others" if len(twice) > 1 else ""
        return f"{twice[0]!r} occurs more than once in {shown(root)}{others}"
    return without_arithmetic(root)


def without_arithmetic(root: Expression) -> str | None:
    """The operation for which stochastic values have no arithmetic, in words; None where there is none."""
    for node in ordered(root):
        if isinstance(node, Call) and node.ufunc not in _FUNCTIONS:
            return f"there is no exact arithmetic for {SYMBOLS[node.ufunc]!r} in {shown(root)}"
    return None


def arithmetic_value(root: Expression, values: Mapping[str, StochasticValue], bins: int) -> tuple[Quantity, float]:
    """The value of an expression, as if the operands of each operation were independent, and its error."""
    quantities: dict[Expression, Quantity] = {}
    errors: dict[Expression, float] = {}
    for node in ordered(root):
        quantities[node] = value = _value(node, [quantities[operand] for operand in node.operands], values, bins)
        brought = sum(errors[operand] for operand in node.operands)
        errors[node] = max(brought, value.cdf_error) if isinstance(value, StochasticValue) else brought
    return quantities[root], errors[root]


def _value(
    node: Expression, operands: Sequence[Quantity], values: Mapping[str, StochasticValue], bins: int
) -> Quantity:
    match node:
        case Constant():
            return node.value
        case Leaf():
            return values[node.name]
        case Sum():
            terms = [_scaled(weight, operand, bins) for weight, operand in zip(node.weights, operands, strict=True)]
            return _joined(add, [*terms, node.constant] if node.constant else terms, bins)
        case Product():
            return _quotient(node, operands, bins)
        case Extremum():
            return _joined(maximum if node.largest else minimum, operands, bins)
        case Call():
            return _applied(_FUNCTIONS[node.ufunc], operands, bins)
    raise TypeError(node)


def _quotient(node: Product, operands: Sequence[Quantity], bins: int) -> Quantity:
    """What has negative powers is multiplied up first: one division loses less than many."""
    above: list[Quantity] = []
    below: list[Quantity] = []
    for operand, exponent in zip(operands, node.powers, strict=True):
        factor = operand if abs(exponent) == 1 else _applied(power, [operand, abs(exponent)], bins)
        (above if exponent > 0 else below).append(factor)
    numerator = _scaled(node.factor, _joined(multiply, above, bins), bins) if above else node.factor
    return _applied(divide, [numerator, _joined(multiply, below, bins)], bins) if below else numerator


def _scaled(factor: float, quantity: Quantity, bins: int) -> Quantity:
    if abs(factor) != 1.0:
        return _applied(multiply, [factor, quantity], bins)
    return quantity if factor > 0.0 else -quantity


def _joined(function: Callable[..., StochasticValue], operands: Sequence[Quantity], bins: int) -> Quantity:
    """An operation on any number of operands; on one it is that one."""
    return operands[0] if len(operands) == 1 else _applied(function, operands, bins)


def _applied(function: Callable[..., StochasticValue], operands: Sequence[Quantity], bins: int) -> StochasticValue:
    stochastic = [operand for operand in operands if isinstance(operand, StochasticValue)]
    return function(*operands, **_options(performer_of(stochastic), bins))


@functools.cache
def _options(performer: type[StochasticValue], bins: int) -> dict[str, Any]:
    """The number of bins, for a representation whose arithmetic takes one."""
    return {"bins": bins} if any(field.name == "bins" for field in describe(performer.arithmetic())) else {}


_FEWEST_BEYOND = 100  # points beyond a quantile: with as many its level is off by a tenth
_SHARE_OF_SIZE = (
    0.05  # of n samples 1/U the largest is n/1.7 medians away on average; of means that exist it is sqrt(n)
)
_BLOCK = 2**20  # numbers that are copied at once, or sorted by one thread
_ACCEPTED_ERROR = 0.01  # of probability, beyond which a sample takes the place of approximate arithmetic


@dataclass(frozen=True)
class Evaluation:
    """The distribution of a result, and how it was found.

    Parameters
    ----------
    value : StochasticValue
    method : str
        In words.
    notes : tuple of str
    errors : mapping of str to float
        Standard errors of ``mean``, ``std`` and the quantiles, ``p05``, where it was sampled.
    sample : (n,) float, optional
        The sample, sorted.
    levels : tuple of float
        Of the quantiles that are shown.
    tail : float, optional
        Level of the quantile whose owners were asked for.
    owners : mapping of str to float
        Share of each input in being beyond it, see `perf_structural.evaluation`.
    limit : float, optional
        Of which the probability was asked for.
    has_moments : bool
        False of a sample of what has neither a mean nor a standard deviation, as far as its tails tell.
    """

    value: StochasticValue
    method: str
    notes: tuple[str, ...] = ()
    errors: Mapping[str, float] = field(default_factory=dict)
    sample: Floats | None = field(default=None, repr=False)
    levels: tuple[float, ...] = LEVELS
    tail: float | None = None
    owners: Mapping[str, float] = field(default_factory=dict)
    limit: float | None = None
    has_moments: bool = True

    @property
    def mean(self) -> float:
        """Mean; NaN where there is none, as of an interval, infinite where the result can be."""
        if not self.has_moments:
            return math.nan
        with np.errstate(invalid="ignore"):  # infinite to both sides
            return self.value.mean if self.sample is None else float(self.sample.mean())

    @property
    def std(self) -> float:
        """Standard deviation; NaN where there is none."""
        if not self.has_moments:
            return math.nan
        if self.sample is None:
            return self.value.std
        return _std(self.sample) if np.isfinite(self.sample[[0, -1]]).all() else math.nan

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest value; of a sample those that were met."""
        return self.value.support if self.sample is None else (float(self.sample[0]), float(self.sample[-1]))

    def quantile(self, probability: float) -> float:
        """The value that is not exceeded with a probability; of a sample its own and not its histogram's."""
        if self.sample is None:
            return float(self.value.quantile(probability))
        place = min(max((probability * self.sample.size + 0.5) - 1.0, 0.0), self.sample.size - 1.0)
        below = int(place)
        between = self.sample[below : below + 2]  # numpy's method hazen, without going through all of it
        with np.errstate(invalid="ignore"):
            sample_quantile = float(np.quantile(between, place - below)) if len(between) > 1 else float(between[0])
        # Between a number and infinity there is neither.
        return sample_quantile if math.isfinite(sample_quantile) else float(between[-1])

    @property
    def below_limit(self) -> float:
        """Probability of results up to the limit; NaN where it is not known or none was asked for."""
        return math.nan if self.limit is None else self.cdf(self.limit)

    def cdf(self, x: float) -> float:
        """Probability of at most ``x``; of a sample its own and not its histogram's."""
        return float(
            self.value.cdf(x) if self.sample is None else self.sample.searchsorted(x, "right") / self.sample.size
        )

    @property
    def quantiles(self) -> dict[str, float]:
        """Those that are shown, by name."""
        return {quantile_name(level): self.quantile(level) for level in self.levels}


def evaluate_expression(
    root: Expression,
    values: Mapping[str, StochasticValue],
    correlations: Mapping[Pair, float],
    options: EvaluationOptions,
    drawn: Sample | None = None,
    executor: Executor | None = None,
) -> Evaluation:
    """The distribution of an expression."""
    evaluation = _evaluated(root, values, correlations, options, drawn, executor)
    owners: Mapping[str, float] = {}
    if options.tail is not None:
        owners = tail_owners(root, values, correlations, options.tail, options.samples, options.seed)
    return replace(evaluation, tail=options.tail, owners=owners, limit=options.below)


def _evaluated(
    root: Expression,
    values: Mapping[str, StochasticValue],
    correlations: Mapping[Pair, float],
    options: EvaluationOptions,
    drawn: Sample | None,
    executor: Executor | None,
) -> Evaluation:
    names = leaves(root)
    pairs = {pair: value for pair, value in correlations.items() if value != 0.0 and pair <= set(names)}
    obstacle = why_not_exact(root)
    if obstacle is None and pairs:
        obstacle = f"{' and '.join(sorted(next(iter(pairs))))} are correlated"
    without = [name for name in names if not values[name].has_distribution]
    if options.method == "exact" and obstacle is not None:
        raise OptionError(f"{obstacle}, so it cannot be evaluated exactly; use --method sample or auto")
    if options.method == "sample" and without:
        raise OptionError(f"{without[0]!r} has bounds and no distribution to sample; use --method auto, or a histogram")
    if without and (lacking := without_arithmetic(root)) is not None:
        cure = f"{without[0]!r}, which has bounds and no distribution, needs it; use a histogram there"
        raise OptionError(f"{lacking}, and {cure}")
    input_notes = tuple(note for name in names for note in values[name].notes)

    def sample() -> Sample:
        return drawn or draw_sample(root, values, pairs, options.samples, options.seed, executor)

    if options.method == "sample" or (obstacle is not None and not without):
        return sampled(sample(), options, input_notes)
    if obstacle is not None:
        return _enclosed(root, values, obstacle)
    try:
        quantity, error = arithmetic_value(root, values, options.bins)
    except DataError:
        if options.method == "exact" or without:
            raise
        # Samples say how often a divisor is zero; what they cannot evaluate either they say themselves.
        return sampled(sample(), options, input_notes)
    if options.method == "exact" or error <= _ACCEPTED_ERROR or without:
        value = as_value(quantity)
        notes = (*_infinite(_beyond_numbers(value)), *value.notes)
        return Evaluation(value, "arithmetic", notes, levels=options.quantile)
    left = f"sampled, since the arithmetic of moments would miss probabilities by up to {min(error, 1.0):.2g}"
    return sampled(sample(), options, (left, *input_notes))


def _enclosed(root: Expression, values: Mapping[str, StochasticValue], obstacle: str) -> Evaluation:
    """Interval arithmetic: right whatever depends on whatever, and wider than need be where a quantity repeats."""
    enclosure = default_representation("bounds")
    notes, bounds = [f"{obstacle}: the bounds hold, but may be wider than the truth"], {}
    for name in leaves(root):
        bounds[name], lost = enclosure.convert(values[name])
        if lost:
            notes.append(f"{name}: {lost}")
    value = as_value(arithmetic_value(root, bounds, bins=1)[0])
    return Evaluation(value, "interval arithmetic", (*notes, *value.notes))


def sampled(drawn: Sample, options: EvaluationOptions, notes: tuple[str, ...] = ()) -> Evaluation:
    """The distribution of which a sample was drawn, with its standard errors."""
    rows = drawn.values if drawn.is_sorted else np.sort(drawn.values, axis=1)
    finite = sum(int(row.searchsorted(math.inf, "left") - row.searchsorted(-math.inf, "right")) for row in rows)
    if not finite:
        raise DataError("the result is infinite: a divisor is zero, or more comes to a station than it can do")
    endless = 1.0 - finite / rows.size
    notes = (*_infinite(endless), *notes)
    has_moments = not (drawn.reaches_zero and _is_endless(rows))
    figures = {
        **({} if endless or not has_moments else {"mean": rows.mean(axis=1), "std": np.array(list(map(_std, rows)))}),
        **{quantile_name(level): _row_quantiles(rows, level) for level in options.quantile},
    }
    errors = {
        name: float(figure.std(ddof=1)) / math.sqrt(len(rows))
        for name, figure in figures.items()
        if np.isfinite(figure).all()
    }
    sample = rows.reshape(-1)
    if sample.size > _BLOCK:
        sort_at_once(np.array_split(sample, [len(rows) // 2 * rows.shape[1]]))
    sample.sort(kind="stable")  # which merges what is sorted
    value = default_representation("distributions").from_draws(sample, options.bins)
    method = f"quasi-Monte Carlo, {len(rows)} scramblings of {rows.shape[1]:,} Sobol points"
    few = [_too_few(rows.size, level) for level in options.quantile]
    all_notes = (*notes, *drawn.notes, *filter(None, few))
    return Evaluation(value, method, all_notes, errors, sample, options.quantile, has_moments=has_moments)


def _beyond_numbers(value: StochasticValue) -> float:
    """Probability of infinity."""
    if not value.has_distribution or np.isfinite(value.support).all():
        return 0.0
    largest = np.finfo(np.float64).max
    below, above = value.cdf([-largest, largest])
    return 1.0 - float(above) + float(below)


def _infinite(probability: float) -> tuple[str, ...]:
    return (f"infinite with probability {probability:.3g}",) if probability > 0.0 else ()


def _is_endless(rows: Floats) -> bool:
    """Whether the largest of a finite sample grew with its size, as of what has no mean (tail index 1)."""
    if not np.isfinite(rows[:, [0, -1]]).all():
        return False  # infinite, and shown as that
    off = np.abs(rows - np.median(rows))
    return float(off.max()) > _SHARE_OF_SIZE * rows.size * float(np.median(off))


def _std(values: Floats) -> float:
    """Standard deviation, in blocks: millions of numbers are not copied."""
    mean, total = values.mean(), 0.0
    for begin in range(0, len(values), _BLOCK):
        total += float(np.square(values[begin : begin + _BLOCK] - mean).sum())
    return math.sqrt(total / len(values))


def _too_few(points: int, level: float) -> str:
    """What to say where a quantile rests on few points; empty where it does not."""
    tail_points = points * min(level, 1.0 - level)
    if tail_points >= _FEWEST_BEYOND:
        return ""
    needed = math.ceil(_FEWEST_BEYOND / min(level, 1.0 - level) / 1000.0) * 1000
    return f"{quantile_name(level)} rests on {tail_points:.3g} of {points:,} points; --samples {needed} is enough"


def _row_quantiles(rows: Floats, probability: float) -> Floats:
    """A quantile of each sorted row, as numpy's method ``hazen``."""
    place = min(max(probability * rows.shape[1] - 0.5, 0.0), rows.shape[1] - 1.0)
    below = int(place)
    above = min(below + 1, rows.shape[1] - 1)
    with np.errstate(invalid="ignore"):
        between: Floats = rows[:, below] + (place - below) * (rows[:, above] - rows[:, below])
    return between
