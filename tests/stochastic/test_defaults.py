"""What the contract makes of a quantile function alone, or of a distribution function and a support alone."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy import stats

from perfcore.base.errors import DataError
from perfcore.stochastic import StochasticValue, checked_samples
from perfcore.stochastic.forms import from_row, from_table, row_from_words


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
class Sampled:
    """Rows of numbers, and one that may be left out."""

    unit: str
    count: int
    values: list[float]
    weights: list[float] | None = None


def test_rows_of_numbers_are_parted_by_a_slash():
    row = row_from_words(Sampled, "s/3/1,2.5,4", "sampled")
    assert from_row(Sampled, row, "sampled") == Sampled("s", 3, [1.0, 2.5, 4.0])
    assert from_row(Sampled, [*row, [1, 1, 2]], "sampled").weights == [1.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Triangular.from_words("1,2"), "triangular: LOWER,MODE,UPPER is expected, 2 of these are given"),
        (lambda: Triangular.from_words("1,2,x"), "triangular: UPPER: 'x' is no number"),
        (lambda: Triangular.from_words("1,2,inf"), "triangular: upper: inf is not finite"),
        (lambda: from_row(Sampled, [], "sampled"), "sampled: UNIT/COUNT/VALUES/WEIGHTS is expected, 0 of these"),
        (lambda: from_table(Sampled, {"unit": 1}, "sampled"), r"sampled: .*`\$.unit`"),
        (lambda: from_table(Sampled, {}, "sampled"), "sampled: .*missing required field `unit`"),
    ],
)
def test_what_is_no_value(make, message):
    with pytest.raises(DataError, match=message):
        make()


def test_what_nothing_follows_from_is_refused_when_the_class_is_made():
    with pytest.raises(TypeError, match="Nothing needs quantile, or else cdf and support"):

        class Nothing(StochasticValue):
            name = "nothing"
