"""Where a model is asked to predict: points of Python, and as they are typed."""

import itertools

import numpy as np
import pandas as pd
import pytest

import perfcore
from perfcore.base.errors import DataError, OptionError, UnknownNameError

WORK, SPEED = {"BT": 1.0, "LU": 3.0}, {"SP2": 1.0, "T3D": 2.0, "Paragon": 4.0}
CODES = ("LU", "SP, class A", "SP", "k=3, n=4")  # names that hold the signs of the grammar


def time_of(code, system, p, n):
    return WORK[code] / SPEED[system] * n / p


@pytest.fixture(scope="module")
def model():
    """Exact times of two codes on three systems over procs and size."""
    places = itertools.product(WORK, SPEED, (1, 2, 4, 8), (100, 200, 400))
    rows = [(*place, time_of(*place)) for place in places]
    table = pd.DataFrame(rows, columns=["code", "system", "procs", "size", "time_s"])
    return perfcore.fit(table, fitter="individual", parameter="p=procs,n=size", functions="n/p")


@pytest.fixture(scope="module")
def typed():
    rows = [(code, p, n, k * n / p) for k, code in enumerate(CODES, 1) for p in (1, 2, 4) for n in (10, 20, 40)]
    table = pd.DataFrame(rows, columns=["code", "procs", "n", "time_s"])
    return perfcore.fit(table, fitter="individual", parameter="p=procs,n", functions="n/p")


def test_a_mapping_of_columns_by_symbol_or_by_name(model):
    given = {"code": ["LU", "BT"], "system": ["T3D", "T3D"], "p": [4, 8], "size": [100, 200]}
    expected = [time_of("LU", "T3D", 4, 100), time_of("BT", "T3D", 8, 200)]
    assert model.predict(given) == pytest.approx(expected)
    table = pd.DataFrame({**given, "procs": given["p"]}, index=[7, 3]).drop(columns="p")  # whatever its index
    table["code"] = table["code"].astype("category")
    assert model.predict(table) == pytest.approx(expected)


@pytest.mark.parametrize("given", [[1, 2], (1, 2), np.array([1, 2]), pd.Series([1, 2])])
def test_an_array_is_the_only_parameter(given):
    table = pd.DataFrame({"p": [1, 2, 4, 8], "time_s": [8.0, 4.0, 2.0, 1.0]})
    assert perfcore.fit(table, fitter="individual", functions="1/p").predict(given) == pytest.approx([8.0, 4.0])


@pytest.mark.parametrize(("change", "error", "message"), [
    ({"q": 1}, UnknownNameError, "unknown variable 'q'"),
    ({"code": "SP"}, UnknownNameError, "unknown code 'SP': .*hoose from BT, LU"),
    ({"system": "T3E"}, UnknownNameError, "unknown system 'T3E': did you mean 'T3D'"),
    ({"p": 0}, DataError, "p=0: a positive number is expected"),
    ({"p": [4, -2]}, DataError, "p=-2: a positive number is expected"),
    ({"p": np.nan}, DataError, "p=nan: a positive number is expected"),
    ({"n": np.inf}, DataError, "n=inf: a positive number is expected"),
    ({"n": ["64", "big"]}, DataError, "n must be numbers, not 'big'"),
    ({"p": [1, 2, 4], "n": [1, 2]}, DataError, r"different lengths \(p: 3, n: 2, code: 1, system: 1\)"),
])  # fmt: skip
def test_mistakes(model, change, error, message):
    with pytest.raises(error, match=message):
        model.predict({"p": 1, "n": 1, "code": "BT", "system": "SP2"} | change)


def asked(model, at):
    """Levels of each variable at which a model is asked, in the order of the model."""
    points = perfcore.predict(model, at=at).points
    return {name: list(dict.fromkeys(np.asarray(values).tolist())) for name, values in points.items()}


@pytest.mark.parametrize(("at", "p", "n", "codes"), [
    (["p=1,2,4", "n=10"], [1, 2, 4], [10], CODES), (["p=1..64*4,n=10"], [1, 4, 16, 64], [10], CODES),
    (["n=512,p=64"], [64], [512], CODES), (["p=1", "n=2", "p=8,16"], [1, 8, 16], [2], CODES),
    ("p=1, n = 2", [1], [2], CODES),
    (["code=LU", "n=10..30:10,procs=2,8"], [2, 8], [10, 20, 30], ["LU"]),
    (["code=k=3, n=4", "p=1,n=2"], [1], [2], ["k=3, n=4"]),
    ({"procs": np.array([2, 4]), "n": 10, "code": ["LU", "k=3, n=4"]}, [2, 4], [10], ["LU", "k=3, n=4"]),
    ({"p": "1..4*2", "n": 1, "code": "SP, class A"}, [1, 2, 4], [1], ["SP, class A"]),
])  # fmt: skip
def test_levels_go_by_symbol_or_column(typed, at, p, n, codes):
    """A piece with a sign of equality begins another name; names that were left out have all levels."""
    assert asked(typed, at) == {"procs": p, "n": n, "code": list(codes)}
    assert len(perfcore.predict(typed, at=at).values) == len(p) * len(n) * len(codes)


def test_as_many_points_as_are_allowed(typed, monkeypatch):
    """The limit counts points, the first among them."""
    monkeypatch.setattr("perf_tables.arguments.MOST_POINTS", 20)
    assert len(perfcore.predict(typed, at="p=1..5:1,n=1").values) == 20
    with pytest.raises(OptionError, match="24 points, and at most 20 can be asked for"):
        perfcore.predict(typed, at="p=1..6:1,n=1")


def test_every_combination_in_the_order_of_the_model(typed):
    found = perfcore.predict(typed, at=["p=1,2", "n=5"])
    assert list(found.points) == ["procs", "n", "code"]
    assert found.points["procs"] == pytest.approx([1.0] * 4 + [2.0] * 4)
    assert list(found.points["code"]) == [*CODES, *CODES]
    assert found.to_frame()["value"].tolist() == pytest.approx([5.0 * k / p for p in (1, 2) for k in (1, 2, 3, 4)])


@pytest.mark.parametrize(("text", "message"), [
    ("p=many", r"at='p=many': NAME=VALUE,\.\.\. is expected.*such as p=1\.\.1024\*2"),
    ("p=1..1e9*1.000000001", "and at most 1,000,000 can be asked for"),
    ("p=1..1000001:1", "and at most 1,000,000 can be asked for"),
    ("p=1..900000:1,1..900000:1", "and at most 1,000,000 can be asked for"),
    ("p=1..900000:1,n=1,2", r"at: 7.2e\+06 points, and at most 1,000,000 can be asked for"),
    ("p=1,,2", r"at='p=': "), ("p=1 and n=2", r"at='p=1' and n=2: "),
])  # fmt: skip
def test_mistakes_as_they_are_typed(typed, text, message):
    with pytest.raises(OptionError, match=message):
        perfcore.predict(typed, at=[text])
