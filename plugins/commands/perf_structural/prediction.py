"""What a structural model predicts."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from perf_formulas.parser import QUANTILE
from perf_structural.algebra import (
    SYMBOLS,
    Algebra,
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
from perf_structural.bounds import within
from perf_structural.composition import Composition
from perf_structural.model_file import error_context
from perf_structural.options import LEVELS, EvaluationOptions, figures_of, quantile_name
from perf_structural.sampling import Formula, Sample, draw, points_for, sort_at_once
from perfcore import stochastic as arithmetic
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, OptionError
from perfcore.hooks.options import build, describe
from perfcore.report import Result
from perfcore.stochastic import StochasticValue, as_value, default_representation, performer_of

Quantity = StochasticValue | float

_FUNCTIONS: Mapping[str, Callable[..., StochasticValue]] = {
    "abs": arithmetic.absolute,
    **{name: getattr(arithmetic, name) for name in ("exp", "log", "power", "sqrt")},
}
_FEWEST_BEYOND = 100  # points beyond a quantile: with as many its level is off by a tenth
# Of n samples 1/U the largest is n/1.7 medians away on average; of means that exist it is sqrt(n).
_SHARE_OF_SIZE = 0.05
_BLOCK = 2**20  # numbers that are copied at once, or sorted by one thread
_ACCEPTED_ERROR = 0.01  # of probability, beyond which a sample takes the place of approximate arithmetic
_MOST_NUMBERS = 2**25  # a quarter of a gigabyte; of more results than that each is drawn alone


def without_arithmetic(root: Expression) -> str | None:
    """Return the operation for which stochastic values have no arithmetic, in words; None where there is none."""
    for node in ordered(root):
        if isinstance(node, Call) and node.ufunc not in _FUNCTIONS:
            return f"there is no exact arithmetic for {SYMBOLS[node.ufunc]!r} in {shown(root)}"
    return None


def arithmetic_value(root: Expression, values: Mapping[str, StochasticValue], bins: int) -> tuple[Quantity, float]:
    """Return the value of an expression, as if the operands of each operation were independent, and its error."""
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
            return _joined(arithmetic.add, [*terms, node.constant] if node.constant else terms, bins)
        case Product():
            # What has negative powers is multiplied up first: one division loses less than many.
            above, below = list[Quantity](), list[Quantity]()
            for operand, exponent in zip(operands, node.powers, strict=True):
                factor = operand if abs(exponent) == 1 else _applied(arithmetic.power, [operand, abs(exponent)], bins)
                (above if exponent > 0 else below).append(factor)
            numerator = _scaled(node.factor, _joined(arithmetic.multiply, above, bins), bins) if above else node.factor
            if not below:
                return numerator
            return _applied(arithmetic.divide, [numerator, _joined(arithmetic.multiply, below, bins)], bins)
        case Extremum():
            return _joined(arithmetic.maximum if node.largest else arithmetic.minimum, operands, bins)
        case Call():
            return _applied(_FUNCTIONS[node.ufunc], operands, bins)
    raise TypeError(node)


def _scaled(factor: float, quantity: Quantity, bins: int) -> Quantity:
    if abs(factor) != 1.0:
        return _applied(arithmetic.multiply, [factor, quantity], bins)
    return quantity if factor > 0.0 else -quantity


def _joined(function: Callable[..., StochasticValue], operands: Sequence[Quantity], bins: int) -> Quantity:
    """Return an operation on any number of operands; on one it is that one."""
    return operands[0] if len(operands) == 1 else _applied(function, operands, bins)


def _applied(function: Callable[..., StochasticValue], operands: Sequence[Quantity], bins: int) -> StochasticValue:
    performer = performer_of([operand for operand in operands if isinstance(operand, StochasticValue)])
    return function(*operands, **({"bins": bins} if _takes_bins(performer) else {}))


@functools.cache
def _takes_bins(performer: type[StochasticValue]) -> bool:
    return any(field.name == "bins" for field in describe(performer.arithmetic()))


@dataclass(frozen=True)
class Drawn:
    """Draws, of which a statistic is taken as of a distribution."""

    values: Floats
    has_moments: bool = True

    @property
    def mean(self) -> float:
        """Mean; NaN if there is none."""
        return float(self.values.mean()) if self.has_moments else math.nan

    @property
    def std(self) -> float:
        """Standard deviation; NaN if there is none."""
        return float(self.values.std()) if self.has_moments else math.nan

    @property
    def support(self) -> tuple[float, float]:
        return float(self.values.min()), float(self.values.max())

    def quantile(self, q: float) -> float:
        return float(np.quantile(self.values, q, method="hazen"))

    def cdf(self, x: float) -> float:
        return float((self.values <= x).mean())


@dataclass(frozen=True)
class Evaluation:
    """The distribution of a result, and how it was found."""

    value: StochasticValue
    method: str  # in words
    notes: tuple[str, ...] = ()
    errors: Mapping[str, float] = field(default_factory=dict)
    sample: Floats | None = field(default=None, repr=False)  # the sample, sorted
    levels: tuple[float, ...] = LEVELS  # of the quantiles that are shown
    limit: float | None = None  # of which the probability was asked for
    has_moments: bool = True

    @functools.cached_property
    def distribution(self) -> StochasticValue | Drawn:
        """What figures are of: the sample and not its histogram."""
        return self.value if self.sample is None else Drawn(self.sample, self.has_moments)


def evaluate(formula: Formula, options: EvaluationOptions, drawn: Sample | None = None) -> Evaluation:
    """Return the distribution of a formula."""
    root, values, names = formula.root, formula.values, leaves(formula.root)
    pairs = {pair: value for pair, value in formula.correlations.items() if value != 0.0 and pair <= set(names)}
    obstacle = without_arithmetic(root)
    if twice := repeated(root):
        others = f", and so do {len(twice) - 1} others" if len(twice) > 1 else ""
        obstacle = f"{twice[0]!r} occurs more than once in {shown(root)}{others}"
    elif obstacle is None and pairs:
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
        return drawn or draw([Formula(root, values, pairs)], options.samples, options.seed)[0]

    if options.method == "sample" or (obstacle is not None and not without):
        return sampled(sample(), options, input_notes)
    if obstacle is not None:
        return _enclosed(root, values, obstacle, options.below)
    try:
        quantity, error = arithmetic_value(root, values, options.bins)
    except DataError:
        if options.method == "exact" or without:
            raise
        # Samples say how often a divisor is zero; what they cannot evaluate either they say themselves.
        return sampled(sample(), options, input_notes)
    if options.method == "exact" or error <= _ACCEPTED_ERROR or without:
        value = as_value(quantity)
        return Evaluation(value, "arithmetic", value.notes, levels=options.quantile, limit=options.below)
    left = f"sampled, since the arithmetic of moments would miss probabilities by up to {min(error, 1.0):.2g}"
    return sampled(sample(), options, (left, *input_notes))


def _enclosed(
    root: Expression, values: Mapping[str, StochasticValue], obstacle: str, limit: float | None
) -> Evaluation:
    """Interval arithmetic: right whatever depends on whatever, and wider than need be where a quantity repeats."""
    enclosure = default_representation("bounds")
    notes, bounds = [f"{obstacle}: the bounds hold, but may be wider than the truth"], {}
    for name in leaves(root):
        bounds[name], lost = enclosure.convert(values[name])
        if lost:
            notes.append(f"{name}: {lost}")
    value = as_value(arithmetic_value(root, bounds, bins=1)[0])
    return Evaluation(value, "interval arithmetic", (*notes, *value.notes), limit=limit)


def sampled(drawn: Sample, options: EvaluationOptions, notes: tuple[str, ...] = ()) -> Evaluation:
    """Return the distribution of which a sample was drawn, with its standard errors."""
    rows = drawn.values.copy()  # draws stay in the order of the points
    sort_at_once(list(rows))
    has_moments = True
    if drawn.reaches_zero:  # of what has no mean (tail index 1) the largest of a sample grows with its size
        off = np.abs(rows - np.median(rows))
        has_moments = float(off.max()) <= _SHARE_OF_SIZE * rows.size * float(np.median(off))
    quantiles = np.quantile(rows, options.quantile, axis=1, method="hazen")
    figures = dict(zip(map(quantile_name, options.quantile), quantiles, strict=True))
    with np.errstate(over="ignore", invalid="ignore"):  # of the largest numbers
        if has_moments:
            figures = {"mean": rows.mean(axis=1), "std": np.array([row.std() for row in rows]), **figures}
        finite = {name: figure for name, figure in figures.items() if np.isfinite(figure).all()}
        errors = {name: float(figure.std(ddof=1)) / math.sqrt(len(rows)) for name, figure in finite.items()}
    sample = rows.reshape(-1)
    if sample.size > _BLOCK:
        sort_at_once(np.array_split(sample, [len(rows) // 2 * rows.shape[1]]))
    sample.sort(kind="stable")  # which merges what is sorted
    value = default_representation("distributions").from_draws(sample, options.bins)
    method = f"quasi-Monte Carlo, {len(rows)} scramblings of {rows.shape[1]:,} Sobol points"
    few = []
    for level in options.quantile:
        if (in_tail := sample.size * min(level, 1.0 - level)) < _FEWEST_BEYOND:
            needed = math.ceil(_FEWEST_BEYOND / min(level, 1.0 - level) / 1000.0) * 1000
            of_points = f"rests on {in_tail:.3g} of {sample.size:,} points"
            few.append(f"{quantile_name(level)} {of_points}; --samples {needed} is enough")
    all_notes = (*notes, *drawn.notes, *few)
    return Evaluation(value, method, all_notes, errors, sample, options.quantile, options.below, has_moments)


def _quantile(
    operands: Sequence[Expression], composition: Composition, options: EvaluationOptions
) -> tuple[float, str]:
    """Return a quantile of an operand at a level, and a note with it."""
    operand, level = operands
    assert isinstance(level, Constant)
    if isinstance(operand, Constant):
        return operand.value, ""
    chosen = replace(options, quantile=(level.value,), below=None)
    evaluation = evaluate(Formula(operand, composition.values, composition.correlations), chosen)
    name = quantile_name(level.value)
    if not evaluation.value.has_distribution:
        raise OptionError(f"{name}({shown(operand)}) is asked for of what has bounds and no distribution")
    number = float(evaluation.distribution.quantile(level.value))
    error = f" ± {evaluation.errors[name]:.2g}" if name in evaluation.errors else ""
    return number, f"{name}({shown(operand)}) is {number:.6g}{error}"


def _again(algebra: Algebra, node: Expression, operands: Sequence[Expression]) -> Expression:
    """Return a node of another algebra, of operands that may have become numbers."""
    match node:
        case Constant():
            return algebra.constant(node.value)
        case Leaf():
            return algebra.leaf(node.name)
        case Sum():
            terms = (algebra.scale(weight, operand) for weight, operand in zip(node.weights, operands, strict=True))
            return algebra.add([*terms, algebra.constant(node.constant)])
        case Product():
            return algebra.scale(node.factor, algebra.product(zip(operands, node.powers, strict=True)))
        case Extremum():
            return algebra.extremum(node.largest, operands)
        case Call():
            return algebra.call(node.ufunc, operands)
    raise TypeError(node)


@dataclass(frozen=True, repr=False)
class Prediction(Result):
    """The distribution of one result."""

    reporter: ClassVar[str] = "perf_structural.answers:report_of_prediction"

    name: str
    unit: str  # empty where there is none
    evaluation: Evaluation
    composition_notes: tuple[str, ...] = ()  # what was met when the equation was written out
    draws: npt.NDArray[np.float64] | None = field(default=None, repr=False)
    next: str = ""  # the command that follows

    @property
    def value(self) -> StochasticValue:
        """The distribution; what was sampled is a histogram."""
        return self.evaluation.value

    @property
    def notes(self) -> tuple[str, ...]:
        """What to keep in mind, each once."""
        return tuple(dict.fromkeys((*self.composition_notes, *self.evaluation.notes)))

    @property
    def statistics(self) -> dict[str, float]:
        """Mean, standard deviation, quantiles and bounds; NaN where there is none."""
        distribution, below = self.evaluation.distribution, self.evaluation.limit
        limit = {} if below is None else {f"P(<= {below:g})": float(distribution.cdf(below))}
        return {**figures_of(distribution, self.evaluation.levels), **limit}

    def to_dict(self) -> dict[str, Any]:
        """Return the prediction as JSON-ready values; `perf_structural.inputs.read_value` reads its value again."""
        return {
            "name": self.name,
            "unit": self.unit,
            "method": self.evaluation.method,
            "statistics": self.statistics,
            "errors": dict(self.evaluation.errors),
            "notes": list(self.notes),
            "value": self.value.to_dict(),
        }


@dataclass(frozen=True)
class Part:
    """A part of a prediction."""

    name: str  # of the result
    label: str  # for messages, such as the candidate's name; and to tell its own inputs from those of others
    source: str  # what messages name
    composition: Composition
    own: Collection[str] = ()  # inputs that are another quantity here than in other parts

    @property
    def unit(self) -> str:
        """Unit of the result; empty where there is none."""
        unit = self.composition.result.unit
        return str(unit) if unit.powers else ""

    def formulas(self) -> list[Formula]:
        """Return the equation of each copy; a prefix separates its own quantities from others of the same name."""
        composition = self.composition
        correlated = {name for pair in composition.correlations for name in pair}
        own = [leaf for leaf in composition.values if leaf.partition("[")[0] in self.own]
        keys = {leaf: f"{self.label}: {leaf}" for leaf in own if leaf not in correlated}
        cells = composition.result.cells.values()
        return [Formula(cell, composition.values, composition.correlations, keys) for cell in cells]


def predict_jointly(parts: Sequence[Part], options: Mapping[str, Any]) -> list[list[Prediction]]:
    """Return the distribution of each copy of each part's result, all of them drawn at the same points.

    Where everything has a distribution, each prediction has its ``draws``; with ``method="exact"`` none has.
    """
    chosen: EvaluationOptions = build(EvaluationOptions, options, "structural models")
    if chosen.support is not None:
        parts = [_within_support(part, chosen.support) for part in parts]
    parts = [without_quantiles(part, chosen) for part in parts]
    formulas = [part.formulas() for part in parts]
    samples = iter(_samples(list(itertools.chain(*formulas)), chosen))
    predicted = []
    for part, own in zip(parts, formulas, strict=True):
        predictions = []
        for formula, sample in zip(own, samples, strict=False):
            with error_context(part.source, part.label):
                evaluation = evaluate(formula, chosen, sample)
            draws = None if sample is None else sample.values
            predictions.append(Prediction(part.name, part.unit, evaluation, part.composition.notes, draws))
        predicted.append(predictions)
    return predicted


def _within_support(part: Part, support: tuple[float, float]) -> Part:
    """Return a part whose divisors are made of quantities within bounds."""
    composition, values = part.composition, dict(part.composition.values)
    nodes = {node for cell in composition.result.cells.values() for node in ordered(cell) if isinstance(node, Product)}
    divisors = [each for node in nodes for each, power in zip(node.operands, node.powers, strict=True) if power < 0]
    with error_context(part.source, part.label):
        for name in {leaf for divisor in divisors for leaf in leaves(divisor)}:
            values[name] = within(values[name], *support)
    return replace(part, composition=replace(composition, values=values))


def without_quantiles(part: Part, options: EvaluationOptions) -> Part:
    """Return a part with the numbers that its quantiles are, and a note of each."""
    composition, cells = part.composition, part.composition.result.cells
    nodes = sorted({node for cell in cells.values() for node in ordered(cell)}, key=lambda node: node.number)
    if not any(isinstance(node, Call) and node.ufunc == QUANTILE for node in nodes):
        return part
    algebra, rebuilt, notes = Algebra(), dict[Expression, Expression](), []
    with error_context(part.source, part.label):
        for node in nodes:
            operands = [rebuilt[operand] for operand in node.operands]
            if isinstance(node, Call) and node.ufunc == QUANTILE:
                number, note = _quantile(operands, composition, options)
                rebuilt[node] = algebra.constant(number)
                notes.append(note)
            else:
                rebuilt[node] = _again(algebra, node, operands)
    result = replace(composition.result, cells={place: rebuilt[cell] for place, cell in cells.items()})
    all_notes = (*composition.notes, *dict.fromkeys(filter(None, notes)))
    return replace(part, composition=replace(composition, result=result, notes=all_notes))


def _samples(formulas: Sequence[Formula], options: EvaluationOptions) -> list[Sample | None]:
    """Return the sample of each; None for all where there is none to draw."""
    have_distributions = all(each.values[leaf].has_distribution for each in formulas for leaf in each.supports)
    inputs = {formula.key(leaf) for formula in formulas for leaf in formula.supports}
    fits = 1 < len(formulas) <= _MOST_NUMBERS // points_for(options.samples, len(inputs))
    if have_distributions and fits and options.method != "exact":
        with contextlib.suppress(DataError):  # whichever of them cannot be evaluated says so itself, with its name
            return list(draw(formulas, options.samples, options.seed))
    return [None] * len(formulas)


def probability_below(first: Floats, second: Floats) -> float:
    """Return the probability that the first of two is smaller at one point; equal points count half."""
    return float((first < second).mean() + 0.5 * (first == second).mean())
