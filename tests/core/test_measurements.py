"""Measurements: a table, the meaning of its columns, and where its rows came from."""

import numpy as np
import pandas as pd
import pytest

from perfcore import Measurements
from perfcore.base.errors import DataError, InputError, OptionError


@pytest.fixture
def runs():
    return pd.DataFrame(
        {
            "code": ["lu", "lu", "cg", "cg"],
            "machine": ["T3D", "SP2", "T3D", "SP2"],
            "procs": [1, 2, 4, 8],
            "size": [64, 64, 102, 102],
            "time_s": [8.0, 4.1, 2.2, 1.3],
            "wait_ms": [1.0, 2.0, 3.0, 4.0],
        }
    )


def test_roles_that_are_given_take_the_place_of_guesses(runs):
    data = Measurements(runs, "p=procs,n=size", "wait_ms", code=["code"], system=())
    assert data.roles.parameters == {"p": "procs", "n": "size"}
    assert (data.roles.value, data.roles.unit) == ("wait_ms", "ms")
    assert data.roles.system == ()
    assert repr(data) == "Measurements(4 rows, wait_ms [ms] over p=procs, n=size, code by code)"


def test_guesses_give_way_to_what_is_told(runs):
    """A column has one role: who calls the processors the system has not varied them."""
    assert Measurements(runs, system="procs").roles.parameters == {}
    assert Measurements(runs, system="time_s").roles.value is None
    assert Measurements(runs, "code").roles.code == ()
    assert Measurements(runs, system="code").roles.code == ()
    assert Measurements(runs, "size").roles.parameters == {"p": "size"}


@pytest.mark.parametrize(
    "told",
    [
        {"parameters": "procs", "value": "procs"},
        {"parameters": "procs", "system": "procs"},
        {"value": "time_s", "code": "time_s"},
        {"code": "machine", "system": "machine"},
        {"code": "code,machine", "system": "machine"},
    ],
)
def test_a_column_that_is_told_two_roles_is_refused(runs, told):
    with pytest.raises(OptionError, match=r"column '\w+' is given as \w+ and as \w+$"):
        Measurements(runs, **told)


def test_several_units_are_refused_with_a_cure_that_works(runs):
    mixed = runs.rename(columns={"time_s": "time"}).assign(unit=["s", "s", "ms", "ms"])
    with pytest.raises(DataError, match=r"column 'unit' has several units \(s, ms\).*--where unit=s"):
        Measurements(mixed).observations()
    chosen = Measurements(mixed).where("unit=s")
    assert chosen.roles.unit == "s"
    assert len(chosen.observations()) == 2


def test_lines_of_the_source_stay_with_their_rows(runs):
    data = Measurements(runs, source="runs.csv", lines=range(2, 42, 10))
    assert [data.line(row) for row in range(4)] == [2, 12, 22, 32]
    chosen = data.where("procs>1").where("machine=SP2")
    assert chosen.table["procs"].tolist() == [2, 8]
    assert [chosen.line(row) for row in range(2)] == [12, 32]
    assert [chosen.with_roles(code="size").line(row) for row in range(2)] == [12, 32]
    with pytest.raises(InputError, match=r"^runs.csv:32: is odd$"):
        chosen.refuse(1, "is odd")


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (pd.DataFrame({"p": [], "time_s": []}), "the table has no rows"),
        (pd.DataFrame(), "the table has no rows"),
        (pd.DataFrame([[1, 2.0]], columns=["p", "p"]), r"must be texts that differ, not \['p', 'p'\]"),
        (pd.DataFrame([[1, 2.0]]), r"must be texts that differ, not \[0, 1\]"),
        (pd.DataFrame([[1, 2.0]], columns=pd.MultiIndex.from_tuples([("a", "p"), ("a", "t")])), "must be texts"),
        (pd.DataFrame(np.ones((1, 400)), columns=range(400)), "must be texts"),
    ],
)
def test_tables_that_are_none_are_refused_in_one_short_line(table, problem):
    with pytest.raises(DataError, match=rf"^runs.csv: .*{problem}") as caught:
        Measurements(table, source="runs.csv")
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) <= 300
