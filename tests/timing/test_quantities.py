"""Quantities of codes and systems: from columns, formulas, small tables, or typed."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perfcore
from perf_timing.options import parse_quantities
from perf_timing.prepared import quantities_of
from perfcore import Measurements
from perfcore.base.errors import OptionError, PerfError

QUICK = settings(max_examples=100, deadline=None, derandomize=True)


@pytest.fixture
def data():
    return Measurements(
        pd.DataFrame(
            {
                "code": ["lu", "lu", "cg", "cg"],
                "class": ["A", "B", "A", "A"],
                "nodes": [16.0, 8.0, 16.0, 8.0],
                "p": [1, 2, 4, 8],
                "time_s": [8.0, 4.0, 2.0, 1.0],
                "mops": [2.0, 4.004, 10.0, 20.0],
                "gflop": [1.5, 1.5, 3.0, 3.0],
                "size": [1, 2, 4, 8],
                "peak": [2.5, 5.0, 2.5, 5.0],
                "wrong": [1.0, 1.0, -2.0, -2.0],
                "none": [1.0, 1.0, 3.0, np.nan],
                "text": ["a", "a", "b", "b"],
            }
        ),
        system="nodes",
        source="runs.csv",
    )


def of_codes(given, data):
    return quantities_of(parse_quantities(given), data, "code", "--operations")


@pytest.fixture
def small_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(text, name="counts.csv"):
        Path(name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return name

    return write


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"SP": 85.01, "BT D": 7}, ("SP=85.01", "BT D=7.0")),
        ("SP=85,BT=168.3", ("SP=85", "BT=168.3")),
        ("mops*time_s", ("mops*time_s",)),
        (" max(mops,gflop) ", ("max(mops,gflop)",)),
        ("counts.csv:gflop", ("counts.csv:gflop",)),
        (Path("counts.csv"), ("counts.csv",)),
        (["SP=85", "BT=168"], ("SP=85", "BT=168")),
    ],
)
def test_quantities_as_an_option_takes_them(given, words):
    assert parse_quantities(given) == words


def test_a_column_gives_its_value_of_each_code(data):
    assert of_codes("gflop", data) == ("gflop", {"lu": 1.5, "cg": 3.0})


def test_a_column_gives_its_value_of_each_system(data):
    """Systems that are numbers are called without a needless .0, here as in the observations."""
    assert quantities_of(("peak",), data, "system", "--peak") == ("peak", {"16": 2.5, "8": 5.0})
    assert data.observations().systems == ("16", "8")


def test_a_formula_is_averaged_over_the_rows_of_a_code(data):
    """Printed rates are rounded, so products of rate and time differ in their last digits."""
    name, found = of_codes("mops*time_s/1000", data)
    assert name == "mops*time_s/1000"
    assert found == pytest.approx({"lu": (2.0 * 8.0 + 4.004 * 4.0) / 2000, "cg": 0.02})


@QUICK
@given(st.lists(st.floats(0.999, 1.001), min_size=1, max_size=9), st.floats(1e-9, 1e15))
def test_what_differs_by_rounding_is_one_quantity(factors, size):
    values = np.array(factors) * size
    table = pd.DataFrame({"code": "lu", "p": range(1, len(factors) + 1), "time_s": 1.0, "work": values})
    _, found = of_codes("work", Measurements(table))
    assert found["lu"] == pytest.approx(values.mean(), rel=1e-12)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("size", r"^runs.csv: size of code lu is between 1 and 2; .*name the code by more columns, or give a table"),
        ("wrong", r"^runs.csv: row 2: wrong of code cg is -2; a positive number is expected"),
        ("gflop - 1.5", r"^runs.csv: row 0: gflop - 1.5 of code lu is 0; a positive number"),
        ("1/(size - 1)", r"of code lu is inf; a positive number"),
        ("text", r"^runs.csv: row 0: text is 'a'; a number is expected"),
        ("gflops", r"^unknown column of runs.csv \(and there is no such file\) 'gflops': did you mean 'gflop'"),
        ("mops*tim_s", r"unknown column .* 'tim_s': did you mean 'time_s'"),
        ("mops *", r"^--operations 'mops \*': neither a column, nor a file, nor a formula"),
        ("counts.csv", r"^--operations 'counts.csv': neither a column, nor a file, nor a formula"),
        ("lu=1,cg=", r"^--operations 'cg=': NAME=VALUE with a positive number is expected"),
        ("lu=1,cg=x", r"'cg=x': NAME=VALUE with a positive number"),
        ("lu=0", r"'lu=0': NAME=VALUE with a positive number"),
        ("lu=-1", r"'lu=-1': NAME=VALUE with a positive number"),
        ("lu=inf", r"'lu=inf': NAME=VALUE with a positive number"),
        ("lu=nan", r"'lu=nan': NAME=VALUE with a positive number"),
        ("lu=1,gflop", r"^--operations "),
    ],
)
def test_what_is_no_quantity_is_refused_in_one_line(data, given, problem):
    with pytest.raises(PerfError, match=problem) as caught:
        of_codes(given, data)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("given", ["counts.csv:gflop", "counts.csv", "counts.csv:", Path("counts.csv")])
def test_a_small_table_gives_the_only_numbers_or_the_column_named(data, small_table, given):
    small_table("code,gflop,source\nlu,119.297,print_results\ncg,1.508,print_results\nmg,3.892,\n")
    assert of_codes(given, data) == ("gflop", {"lu": 119.297, "cg": 1.508, "mg": 3.892})


def test_a_small_table_may_be_compressed_and_scaled(data, small_table):
    name = small_table("code;gflop\nlu;2\ncg;3\n", "counts.csv.gz")
    assert of_codes(f"{name}:gflop*1000", data) == ("gflop*1000", {"lu": 2000.0, "cg": 3000.0})


def test_a_small_table_is_joined_by_all_columns_of_the_name(data, small_table):
    name = small_table("class,code,gflop\nA,lu,119.297\nB,lu,498.824\nA,cg,1.508\n")
    runs = data.with_roles(code="code,class")
    assert of_codes(name, runs)[1] == {"lu A": 119.297, "lu B": 498.824, "cg A": 1.508}


@pytest.mark.real_data
def test_printed_rates_and_published_counts_agree(real_data):
    """FT and MG of class C are in both files; rates are printed with two decimals, in Mop/s."""
    runs = perfcore.read(real_data / "scaling" / "npb_mpi_picluster.csv").with_roles(code="code,class")
    _, measured = of_codes("mops_total*time_s/1000", runs)
    _, published = of_codes(f"{real_data / 'scaling' / 'npb_opcounts.csv'}:gflop", runs)
    assert set(measured) & set(published) == {"FT C", "MG C"}
    for code in ("FT C", "MG C"):
        assert measured[code] == pytest.approx(published[code], rel=1e-4)
    assert published["FT C"] == 396.388
    with pytest.raises(OptionError, match=r"npb_opcounts.csv: say which column to take, .*iterations, gflop"):
        of_codes(real_data / "scaling" / "npb_opcounts.csv", runs)
