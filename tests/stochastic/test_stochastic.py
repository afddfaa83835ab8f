"""The core's side: representations mix, numbers become points, notes travel, and nothing heavy is imported."""

import copy
import subprocess
import sys

import pytest

from perfcore.base.errors import DataError, UnknownNameError
from perfcore.stochastic import add, divide, from_dict, maximum, power, representation_named, subtract

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


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: from_dict({}), DataError, "needs the key 'representation'"),
        (lambda: from_dict([1]), DataError, "needs the key 'representation'"),
        (lambda: from_dict({"representation": "norml"}), UnknownNameError, "did you mean 'normal'"),
        (lambda: from_dict({"representation": "point", "value": True}), DataError, r"\$\.value"),
        (add, DataError, "at least one"),
        (lambda: add(Normal(), correlaton=1), UnknownNameError, "did you mean 'correlation'"),
        (lambda: Point(float("inf")), DataError, "not finite"),
        (lambda: Point("three"), DataError, "not a number"),
        (lambda: Point(-8) ** 0.5, DataError, "no finite real number"),
        (lambda: Point(0) ** -1, DataError, "divisor is 0"),
        (lambda: Point(10) ** 400, DataError, "no finite real number"),
    ],
)
def test_bad_input(make, error, message):
    with pytest.raises(error, match=message) as caught:
        make()
    assert len(str(caught.value).splitlines()) == 1


def test_importing_it_imports_no_numpy():
    code = "import sys, perfcore.stochastic; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
