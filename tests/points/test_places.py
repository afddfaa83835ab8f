"""Points as they are typed: one grammar, names that hold its signs, and one message for what is none."""

from types import SimpleNamespace

import numpy as np
import pytest

from perf_tables.arguments import grid, levels_at, parse_places
from perfcore.base.errors import OptionError

CODES = ("LU", "SP, class A", "SP", "k=3, n=4")
MODEL = SimpleNamespace(variables={"p": "procs", "n": "n", "code": "code"}, levels={"code": CODES})


@pytest.mark.parametrize(
    ("texts", "places"),
    [
        (["p=1,2,4"], {"p": "1,2,4"}),
        (["p=1..64*4,n=10"], {"p": "1..64*4", "n": "10"}),
        (["n=512,m=64"], {"n": "512", "m": "64"}),
        (["p=1", "n=2", "p=8,16"], {"p": "1,8,16", "n": "2"}),
        ("p=1, n = 2", {"p": "1", "n": "2"}),
        (["path=main/a=3"], {"path": "main/a=3"}),
        ([], {}),
    ],
)
def test_a_piece_with_a_sign_of_equality_begins_another_name(texts, places):
    assert parse_places(texts) == places


def test_levels_go_by_symbol_or_column_in_the_order_of_the_model():
    assert levels_at(MODEL, ["code=LU", "n=10..30:10,procs=2,8"]) == {
        "p": [2.0, 8.0],
        "n": [10.0, 20.0, 30.0],
        "code": ["LU"],
    }


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("code=SP, class A", ["SP, class A"]),
        ("code=SP,LU", ["SP", "LU"]),
        ("code=LU,SP, class A,SP", ["LU", "SP, class A", "SP"]),
        ("code=k=3, n=4", ["k=3, n=4"]),
        ("code=SP,k=3, n=4,p=2", ["SP", "k=3, n=4"]),
    ],
)
def test_names_that_hold_commas_and_signs_of_equality_are_taken_whole(text, codes):
    assert levels_at(MODEL, [text])["code"] == codes


def test_values_of_python():
    asked = levels_at(MODEL, {"procs": np.array([2, 4]), "n": 10, "code": ["LU", "k=3, n=4"]})
    assert asked == {"p": [2.0, 4.0], "n": [10.0], "code": ["LU", "k=3, n=4"]}
    assert levels_at(MODEL, {"p": "1..4*2", "code": "SP, class A"}) == {"p": [1.0, 2.0, 4.0], "code": ["SP, class A"]}
    assert levels_at(MODEL, "p=1,n=2") == {"p": [1.0], "n": [2.0]}


def test_every_combination_with_all_names_that_were_left_out():
    columns = grid(MODEL, ["p=1,2", "n=5"])
    assert list(columns) == ["p", "n", "code"]
    assert columns["p"] == [1.0] * 4 + [2.0] * 4
    assert columns["n"] == [5.0] * 8
    assert columns["code"] == [*CODES, *CODES]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p=many", r"--at p=many: NAME=VALUE,\.\.\. is expected.*such as p=1\.\.1024\*2"),
        ("p=1..1e9*1.000000001", "and at most 1,000,000 can be asked for"),
        ("p=1..900000:1,1..900000:1", "and at most 1,000,000 can be asked for"),
        ("p=1..900000:1,n=1,2", r"--at: 7.2e\+06 points, and at most 1,000,000 can be asked for"),
        ("p=1,,2", r"--at p=: "),
        ("p=1 and n=2", r"--at p=1 and n=2: "),
        ("n=5", "the model is one of p, n, code; give --at p="),
    ],
)
def test_mistakes(text, message):
    with pytest.raises(OptionError, match=message):
        grid(MODEL, [text])
