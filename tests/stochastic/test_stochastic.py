"""The core's side: representations mix, numbers become points, notes travel, and nothing heavy is imported."""

import copy
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy import stats

from perfcore.base.errors import DataError, UnknownNameError
from perfcore.stochastic import (
    StochasticValue,
    add,
    checked_samples,
    divide,
    from_dict,
    maximum,
    power,
    representation_named,
    subtract,
)

Histogram, Interval, Normal, Point = map(representation_named, ("histogram", "interval", "normal", "point"))

BY_GENERALITY = [Point(3.0), Normal(3, 0.2), Histogram([2, 4], [1]), Interval(2, 4)]


@pytest.mark.parametrize("second", BY_GENERALITY, ids=lambda value: value.name)
@pytest.mark.parametrize("first", BY_GENERALITY, ids=lambda value: value.name)
def test_the_more_general_representation_performs(first, second):
    second = copy.copy(second)  # one object on both sides of an operator is warned of
    expected = max(first, second, key=lambda value: value.generality)
    for found in (first + second, second * first, maximum(first, second)):
        assert type(found) is type(expected)
    # A note for each operand that lost something; a point loses nothing.
    others = [v for v in (first, second) if type(v) is not type(expected) and not isinstance(v, Point)]
    assert len((first + second).notes) == len(others)


def test_functions_and_operators_are_the_same():
    x, y = Histogram([1, 3, 5], [0.25, 0.75]), Normal(4, 1)
    for operator, function in ((x + y, add), (x - y, subtract), (y / x, lambda a, b: divide(b, a)), (x**2, None)):
        assert operator == (power(x, 2) if function is None else function(x, y))


@pytest.mark.parametrize("operator", [lambda x: x - x, lambda x: x / x, lambda x: x + x, lambda x: x * x])
@pytest.mark.parametrize("value", [Normal(4, 0.1), Histogram([2, 4], [1]), Interval(2, 4)], ids=lambda v: v.name)
def test_one_value_on_both_sides_is_said_to_be_taken_as_two(value, operator):
    with pytest.warns(UserWarning, match="on both sides is taken as two independent quantities; perf.evaluate knows"):
        operator(value)


def test_the_error_of_normals_adds_up():
    """The sum of two quotients is off by no more than both; what is a normal is not off at all."""
    x, y, z = Normal(10, 1), Normal(10, 1), Normal(10, 1)
    assert (x + y).cdf_error == 0.0
    assert 0.0 < (x / y).cdf_error < (x / y + 1 / z).cdf_error == pytest.approx((x / y).cdf_error + (1 / z).cdf_error)


def test_notes_of_operands_go_into_results_once():
    x = Normal(1, 0.1, notes=("from yesterday",))
    assert (x + copy.copy(x) + 1).notes == ("from yesterday",)
    assert (Histogram([1, 2], [1], notes=("few samples",)) * x).notes[:2] == ("few samples", "from yesterday")


@pytest.mark.parametrize(("make", "error", "message"), [
    (lambda: from_dict({}), DataError, "needs the key 'representation'"),
    (lambda: from_dict([1]), DataError, "needs the key 'representation'"),
    (lambda: from_dict({"representation": "norml"}), UnknownNameError, "did you mean 'normal'"),
    (lambda: from_dict({"representation": "point", "value": True}), DataError, r"\$\.value"),
    (add, DataError, "at least one"),
    (lambda: add(Normal(), correlaton=1), UnknownNameError, "did you mean 'correlation'"),
    (lambda: Point(float("inf")), DataError, "not finite"), (lambda: Point("three"), DataError, "not a number"),
    (lambda: Point(-8) ** 0.5, DataError, "no finite real number"), (lambda: Point(0) ** -1, DataError, "divisor is 0"),
    (lambda: Point(10) ** 400, DataError, "no finite real number"),
])  # fmt: skip
def test_bad_input(make, error, message):
    with pytest.raises(error, match=message) as caught:
        make()
    assert len(str(caught.value).splitlines()) == 1


# What the contract makes of a quantile function alone, or of a distribution function and a support alone.
@dataclass(frozen=True)
class Exponential(StochasticValue):
    """As few lines as the contract takes: quantiles."""

    name: ClassVar[str] = "exponential"
    generality: ClassVar[int] = 15

    scale: float

    @classmethod
    def from_samples(cls, samples, options=None):
        return cls(float(checked_samples(samples).mean()))

    def quantile(self, q):
        with np.errstate(divide="ignore", invalid="ignore"):
            return -self.scale * np.log1p(-np.where(np.asarray(q) >= 0, q, np.nan))


@dataclass(frozen=True)
class Triangular(StochasticValue):
    """The other way: a distribution function and its support."""

    name: ClassVar[str] = "triangular"
    generality: ClassVar[int] = 15

    lower: float
    mode: float
    upper: float

    @classmethod
    def from_samples(cls, samples, options=None):
        raise NotImplementedError

    @property
    def support(self):
        return self.lower, self.upper

    def cdf(self, x):
        x = np.clip(np.asarray(x, dtype=np.float64), self.lower, self.upper)
        width = self.upper - self.lower
        rising = (x - self.lower) ** 2 / (width * (self.mode - self.lower))
        return np.where(x < self.mode, rising, 1 - (self.upper - x) ** 2 / (width * (self.upper - self.mode)))


WAIT, GUESS = Exponential(3.0), Triangular(1.0, 2.0, 5.0)
TRUE = {"exponential": stats.expon(scale=3.0), "triangular": stats.triang(0.25, loc=1.0, scale=4.0)}


@pytest.mark.parametrize("value", [WAIT, GUESS], ids=lambda value: value.name)
def test_all_figures_follow(value):
    true = TRUE[value.name]
    assert value.mean == pytest.approx(true.mean(), rel=1e-9)
    assert value.std == pytest.approx(true.std(), rel=1e-6)
    assert value.support == true.support()
    assert value.has_distribution
    levels = np.linspace(0.0, 1.0, 101)
    np.testing.assert_allclose(value.quantile(levels), true.ppf(levels), rtol=1e-9)
    places = np.linspace(-1.0, 8.0, 91)
    np.testing.assert_allclose(value.cdf(places), true.cdf(places), atol=1e-14)
    smooth = places[np.abs(places[:, None] - [0.0, 1.0, 2.0, 5.0]).min(axis=1) > 1e-3]
    np.testing.assert_allclose(value.pdf(smooth), true.pdf(smooth), atol=1e-8)
    assert value.central_interval(0.9) == pytest.approx(tuple(true.interval(0.9)), rel=1e-9)
    assert value.sample(5000, np.random.default_rng(0)).mean() == pytest.approx(true.mean(), abs=0.05 * true.std())
    assert value.place_of(2.5) == pytest.approx(true.cdf(2.5))
    assert value.binned is None


def test_quantiles_and_levels_are_each_others_inverse_to_the_last_float():
    """The quantile is the smallest float at which the distribution function reaches the level."""
    for level in (1e-300, 1e-9, 0.1, 0.5, 0.999999):
        place = float(GUESS.quantile(level))
        assert GUESS.cdf(place) >= level
        assert place == 1.0 or GUESS.cdf(math.nextafter(place, -math.inf)) < level
    assert np.isnan(GUESS.quantile([-0.1, 1.1, math.nan])).all()
    assert np.isnan(WAIT.cdf(math.nan))


@pytest.mark.parametrize("actual", [-1.0, 0.5, 3.0, 20.0])
def test_the_score_of_an_exponential(actual):
    """Its definition integrated by hand: x + 2 s exp(-x/s) - 3s/2 from 0 on, and further by what lies below 0."""
    s, x = 3.0, max(actual, 0.0)
    expected = x + 2 * s * math.exp(-x / s) - 1.5 * s + (x - actual)
    assert WAIT.crps(actual) == pytest.approx(expected, rel=1e-9)


def test_forms_follow_from_the_fields():
    assert GUESS.to_dict() == {"representation": "triangular", "lower": 1.0, "mode": 2.0, "upper": 5.0}
    assert GUESS.to_text() == "triangular:1,2,5"
    assert (
        Triangular.from_words("1, 2, 5") == Triangular.from_values([1, 2, 5]) == Triangular.from_dict(GUESS.to_dict())
    )
    assert repr(GUESS) == "Triangular(lower=1.0, mode=2.0, upper=5.0)"


@dataclass(frozen=True)
class Sampled(StochasticValue):
    """Rows of numbers, and one that may be left out."""

    name = "sampled"
    from_samples = quantile = None

    unit: str
    count: int
    values: list[float]
    weights: list[float] | None = None


def test_rows_of_numbers_are_parted_by_a_slash():
    read = Sampled.from_words("s/3/1,2.5,4")
    assert (read.unit, read.count, read.values, read.weights) == ("s", 3, [1.0, 2.5, 4.0], None)
    assert Sampled.from_values(["s", 3, [1.0, 2.5, 4.0], [1, 1, 2]]).weights == [1.0, 1.0, 2.0]


@pytest.mark.parametrize(("make", "message"), [
    (lambda: Triangular.from_words("1,2"), "triangular: LOWER,MODE,UPPER is expected, 2 of these are given"),
    (lambda: Triangular.from_words("1,2,x"), "triangular: UPPER: 'x' is no number"),
    (lambda: Triangular.from_words("1,2,inf"), "triangular: upper: inf is not finite"),
    (lambda: Sampled.from_values([]), "sampled: UNIT/COUNT/VALUES/WEIGHTS is expected, 0 of these"),
    (lambda: Sampled.from_dict({"unit": 1}), r"sampled: .*`\$.unit`"),
    (lambda: Sampled.from_dict({}), "sampled: .*missing required field `unit`"),
])  # fmt: skip
def test_what_is_no_value(make, message):
    with pytest.raises(DataError, match=message):
        make()


def test_what_nothing_follows_from_is_refused_when_the_class_is_made():
    with pytest.raises(TypeError, match="Nothing needs quantile, or else cdf and support"):

        class Nothing(StochasticValue):
            name = "nothing"


# Against scipy, numpy and the distributions that samples were drawn of.
Gamma, Lognormal = map(representation_named, ("gamma", "lognormal"))

LEVELS = np.array([0.001, 0.05, 0.5, 0.95, 0.999])


@pytest.mark.parametrize(
    ("kind", "one", "other"), [(Gamma, 1e300, 4e9), (Gamma, 1.0, 1e200), (Lognormal, 3.0, 1.7e308), (Gamma, 0.0, 1.0)]
)
def test_what_floats_cannot_hold_is_refused(kind, one, other):
    with pytest.raises(DataError):
        kind(one, other)


def test_a_gamma_of_large_values():
    assert Gamma(1e199, 1e199).quantile(0.5) == pytest.approx(1e199 * np.log(2))
