"""Decimal commas: read where an option says so, named where none does."""

import pytest

import perfcore
from perfcore.base.errors import InputError

CURVE = "time;value\n0;1.5\n1.25;2\n2.5;3.5e0\n"
STEPS = "start;end;value\n0;1.5;1.25\n1.5;4;2\n"
SERIES = "time;load;disk\n0;0.5;1.25\n1.5;1;\n"
TRACE = "start;end;rank;state\n0;0.1;0;run\n0.1;2;0;wait\n"
RUNS = "p;size;time_s;code\n1;0.5;8.5;a\n2;0.5;4.25;a\n4;0.5;2;b,c\n"
KINDS = [CURVE, STEPS, SERIES, TRACE, RUNS]


def with_commas(text):
    return text.replace("b,c", "b c").replace(".", ",").replace("b c", "b,c")


def content(data):
    """What the four kinds of data hold."""
    if hasattr(data, "table"):
        return data.table.to_dict("list")
    if hasattr(data, "heights"):
        return data.edges.tolist(), data.heights.tolist()
    if hasattr(data, "columns"):
        return data.times.tolist(), repr({name: values.tolist() for name, values in data.columns.items()})
    return data.start_ns.tolist(), data.end_ns.tolist(), data.states


@pytest.mark.parametrize("text", KINDS)
def test_the_same_data_with_commas(tmp_path, text):
    (tmp_path / "points.csv").write_text(text)
    (tmp_path / "commas.csv").write_text(with_commas(text))
    commas = perfcore.read(tmp_path / "commas.csv", decimal=",")
    assert content(commas) == content(perfcore.read(tmp_path / "points.csv"))


@pytest.mark.parametrize("text", KINDS)
def test_a_decimal_comma_is_named_with_the_option_that_reads_it(tmp_path, text):
    path = tmp_path / "commas.csv"
    path.write_text(with_commas(text))
    with pytest.raises(InputError, match=r"commas\.csv:\d: .* is '\d,\d+'.*decimal comma.*-r decimal=,$") as caught:
        perfcore.read(path)
    assert len(str(caught.value).splitlines()) == 1
