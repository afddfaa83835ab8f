"""Measurements: a table, the meaning of its columns, and where its rows came from."""

import numpy as np
import pandas as pd
import pytest

from perfcore import Measurements
from perfcore.base.errors import DataError, InputError, OptionError, UnknownNameError


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


def test_roles_are_guessed(runs):
    data = Measurements(runs)
    assert data.roles.parameters == {"p": "procs"}
    assert (data.roles.value, data.roles.unit) == ("time_s", "s")
    assert (data.roles.code, data.roles.system) == (("code",), ("machine",))
    said = "Measurements(4 rows, time_s [s] over p=procs, code by code, system by machine)"
    assert repr(data) == said


def test_roles_that_are_given_take_the_place_of_guesses(runs):
    data = Measurements(runs, "p=procs,n=size", "wait_ms", code=["code"], system=())
    assert data.roles.parameters == {"p": "procs", "n": "size"}
    assert (data.roles.value, data.roles.unit) == ("wait_ms", "ms")
    assert data.roles.system == ()
    assert repr(data) == "Measurements(4 rows, wait_ms [ms] over p=procs, n=size, code by code)"


def test_columns_join_to_a_name(runs):
    data = Measurements(runs, code="code,size", system=["machine"])
    assert (data.roles.code, data.roles.system) == (("code", "size"), ("machine",))


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


def test_unknown_columns_are_refused_with_the_nearest(runs):
    with pytest.raises(UnknownNameError, match="unknown column 'proc': did you mean 'procs'"):
        Measurements(runs, "proc")
    with pytest.raises(UnknownNameError, match="did you mean 'time_s'"):
        Measurements(runs, value="times")
    with pytest.raises(UnknownNameError, match="did you mean 'machine'"):
        Measurements(runs, system="machines")


def test_with_roles_keeps_what_was_told_before(runs):
    data = Measurements(runs, "size", "wait_ms", code="machine", source="runs.csv")
    again = data.with_roles(system="code")
    assert again.roles.parameters == {"p": "size"}
    assert (again.roles.value, again.roles.code, again.roles.system) == ("wait_ms", ("machine",), ("code",))
    assert again.source == "runs.csv"
    assert data.roles.system == ()
    assert again.with_roles().roles == again.roles
    assert data.with_roles(code=()).roles.code == ()


def test_a_unit_belongs_to_the_value_that_it_was_told_for(runs):
    data = Measurements(runs.rename(columns={"time_s": "time"}), unit="h")
    assert data.roles.unit == "h"
    assert data.with_roles(code=()).roles.unit == "h"
    assert data.with_roles(value="wait_ms").roles.unit == "ms"
    assert data.with_roles(value="wait_ms", unit="ms").roles.unit == "ms"


def test_units_come_from_the_name_or_from_a_column(runs):
    assert Measurements(runs).roles.unit == "s"
    plain = runs.rename(columns={"time_s": "time"})
    assert Measurements(plain).roles.unit is None
    assert Measurements(plain, unit="min").roles.unit == "min"
    assert Measurements(plain.assign(Unit=["us", " us ", "us", None])).roles.unit == "us"
    assert Measurements(plain.assign(unit=None)).roles.unit is None


def test_units_that_contradict_each_other_are_refused(runs):
    with pytest.raises(OptionError, match=r"option unit says 'ms' and the name of column 'time_s' says 's'; correct"):
        Measurements(runs, unit="ms")
    plain = runs.rename(columns={"time_s": "time"})
    with pytest.raises(OptionError, match=r"the option unit says 's' and column 'unit' says 'h'"):
        Measurements(plain.assign(unit="h"), unit="s")


def test_a_unit_may_be_spelt_out(runs):
    """A column may be called time_seconds; an option may say seconds as well."""
    assert Measurements(runs, unit="seconds").roles.unit == "s"


def test_the_column_of_units_may_not_contradict_the_name_of_the_value(runs):
    with pytest.raises((OptionError, DataError), match="'unit'"):
        Measurements(runs.assign(unit="ms"))


def test_several_units_are_refused_with_a_cure_that_works(runs):
    mixed = runs.rename(columns={"time_s": "time"}).assign(unit=["s", "s", "ms", "ms"])
    with pytest.raises(DataError, match=r"column 'unit' has several units \(s, ms\).*--where unit=s"):
        Measurements(mixed).observations()
    chosen = Measurements(mixed).where("unit=s")
    assert chosen.roles.unit == "s"
    assert len(chosen.observations()) == 2


def test_a_smallest_time_is_not_a_time_in_minutes():
    """``time_s_min`` of the published MLPerf tables is the shortest of several runs, in seconds."""
    table = pd.DataFrame({"p": [1, 2], "time_s_min": [8.0, 4.0]})
    assert Measurements(table, "p", "time_s_min", unit="s").roles.unit == "s"
    assert Measurements(table, "p", "time_s_min").roles.unit != "min"


def test_the_rows_are_a_copy(runs):
    data = Measurements(runs)
    runs.loc[0, "time_s"] = 99.0
    assert data.table["time_s"].tolist() == [8.0, 4.1, 2.2, 1.3]


@pytest.mark.parametrize("index", [[7, 7, 3, 3], ["a", "b", "c", "d"], pd.date_range("2020-01-01", periods=4)])
def test_the_index_says_nothing(runs, index):
    data = Measurements(runs.set_axis(index, axis="index"))
    assert data.table.index.tolist() == [0, 1, 2, 3]
    assert data.observations().value.tolist() == Measurements(runs).observations().value.tolist()
    assert data.where("procs>2").table["procs"].tolist() == [4, 8]


def test_where_keeps_the_rows_that_meet_all_conditions(runs):
    data = Measurements(runs, code="code,size", source="runs.csv")
    chosen = data.where("code=lu|cg,procs>1,machine!=SP2")
    assert chosen.table["procs"].tolist() == [4]
    assert (chosen.roles, chosen.source) == (data.roles, "runs.csv")
    assert data.where(["procs>=2", "procs<8"]).table["procs"].tolist() == [2, 4]
    assert len(data.table) == 4


def test_where_refuses_in_one_line(runs):
    data = Measurements(runs, source="runs.csv")
    for conditions, problem in {
        "procs>100": "runs.csv: no row meets 'procs>100'",
        "procs": "where: 'procs' is no condition; COLUMN=VALUE",
        "proc>1": "where: unknown column 'proc': did you mean 'procs'",
        "code=ly": "where: no row has code=ly; unknown value 'ly': did you mean 'lu'",
    }.items():
        with pytest.raises(OptionError, match=problem) as caught:
            data.where(conditions)
        assert len(str(caught.value).splitlines()) == 1


def test_where_does_not_change_roles():
    """Threads are text in half of the rows, so nodes were varied; choosing the other half must not turn that round."""
    table = pd.DataFrame({"threads": ["8", "8", "auto", "auto"], "nodes": [1, 2, 1, 2], "time_s": [4.0, 2.0, 5.0, 3.0]})
    data = Measurements(table)
    assert data.roles.parameters == {"p": "nodes"}
    assert data.where("threads=8").roles == data.roles


def test_lines_of_the_source_stay_with_their_rows(runs):
    data = Measurements(runs, source="runs.csv", lines=range(2, 42, 10))
    assert [data.line(row) for row in range(4)] == [2, 12, 22, 32]
    chosen = data.where("procs>1").where("machine=SP2")
    assert chosen.table["procs"].tolist() == [2, 8]
    assert [chosen.line(row) for row in range(2)] == [12, 32]
    assert [chosen.with_roles(code="size").line(row) for row in range(2)] == [12, 32]
    with pytest.raises(InputError, match=r"^runs.csv:32: is odd$"):
        chosen.refuse(1, "is odd")


def test_without_lines_rows_are_counted_as_in_the_users_table(runs):
    data = Measurements(runs, source="runs")
    assert data.line(3) is None
    with pytest.raises(DataError, match=r"^runs: row 3: is odd$"):
        data.refuse(3, "is odd")
    with pytest.raises(DataError, match=r"^runs: row 3: is odd$"):
        data.where("procs>1").where("machine=SP2").refuse(1, "is odd")


def test_observations_need_a_parameter_and_a_value(runs):
    plain = runs[["code", "size"]]
    with pytest.raises(
        OptionError, match=r"^t.csv: it does not say .*--parameter COLUMN, .*--value COLUMN; .*code, size"
    ):
        Measurements(plain, source="t.csv").observations()


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
