"""Where a model is asked to predict."""

import numpy as np
import pandas as pd
import pytest

from perf_tables.points import places
from perfcore.base.errors import DataError, UnknownNameError

CODES, SYSTEMS = ("BT", "LU"), ("SP2", "T3D", "Paragon")
COLUMNS = {"p": "procs", "n": "size"}


def test_a_mapping_of_columns_by_symbol_or_by_name():
    given = {"code": ["LU", "BT"], "system": ["T3D", "T3D"], "p": [4, 8], "size": [100, 200]}
    at = places(given, COLUMNS, CODES, SYSTEMS)
    assert len(at) == 2
    assert list(at.points) == ["p", "n"]
    assert at.points["p"].tolist() == [4.0, 8.0]
    assert at.points["n"].tolist() == [100.0, 200.0]
    assert at.points["n"].dtype == np.float64
    assert at.code.tolist() == [1, 0]
    assert at.system.tolist() == [1, 1]


def test_a_table_of_pandas_whatever_its_index():
    table = pd.DataFrame({"procs": [1, 2], "size": [8, 8], "code": ["BT", "LU"], "system": "T3D"}, index=[7, 3])
    table["code"] = table["code"].astype("category")
    at = places(table, COLUMNS, CODES, SYSTEMS)
    assert at.code.tolist() == [0, 1]


@pytest.mark.parametrize("given", [[1, 2], (1, 2), np.array([1, 2]), pd.Series([1, 2])])
def test_an_array_is_the_only_parameter(given):
    at = places(given, {"p": "procs"}, CODES[:1], SYSTEMS[:1])
    assert at.points["p"].tolist() == [1.0, 2.0]
    assert at.code.tolist() == at.system.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"q": 1}, UnknownNameError, "unknown variable of the model 'q'"),
        ({"code": "SP"}, UnknownNameError, "unknown code 'SP': .*Known: BT, LU"),
        ({"system": "T3E"}, UnknownNameError, "unknown system 'T3E': did you mean 'T3D'"),
        ({"p": 0}, DataError, "p=0: a positive number is expected"),
        ({"p": [4, -2]}, DataError, "p=-2: a positive number is expected"),
        ({"p": np.nan}, DataError, "p=nan: a positive number is expected"),
        ({"n": np.inf}, DataError, "n=inf: a positive number is expected"),
        ({"n": ["64", "big"]}, DataError, "n must be numbers, not 'big'"),
        ({"p": [1, 2, 4], "n": [1, 2]}, DataError, r"different lengths \(p: 3, n: 2, code: 1, system: 1\)"),
    ],
)
def test_mistakes(change, error, message):
    with pytest.raises(error, match=message):
        places({"p": 1, "n": 1, "code": "BT", "system": "SP2"} | change, COLUMNS, CODES, SYSTEMS)
