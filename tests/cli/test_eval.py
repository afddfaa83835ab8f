"""``perf stochastic eval``: a formula over uncertain quantities."""

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("folder")


def statistics(printed):
    """The table as a mapping."""
    rows = [line.split() for line in printed.lines if line.strip()]
    at = next(number for number, row in enumerate(rows) if row[0] == "statistic")
    return {row[0]: row[1:] for row in rows[at + 1 :]}


def test_a_sum_of_normals(perf):
    printed = perf("stochastic", "eval", "2*a + b", "--with", "a=normal:10,2", "--with", "b=normal:3,3")
    # 23 and 23 -+ 1.6449*5
    assert printed.lines[0] == "2*a + b: median 23 [14.8, 31.2] (90% of outcomes)"
    assert "Check: method: arithmetic" in printed.lines
    assert printed.lines[-1].startswith("Next: perf stochastic eval '2*a + b' --with a=normal:10,2 --with b=normal:3,3")
    assert statistics(printed)["mean"] == ["23"]
    assert statistics(printed)["std"] == ["5"]


def test_a_quantity_that_occurs_twice(perf):
    """x - x is 0; what cannot be collected is sampled, with errors."""
    assert statistics(perf("stochastic", "eval", "x - x", "--with", "x=normal:5,2"))["std"] == ["0"]
    found = statistics(perf("stochastic", "eval", "x*(1 + x)", "--with", "x=normal:5,2"))
    assert float(found["mean"][0]) == pytest.approx(5 + 25 + 4, rel=1e-3)
    assert 0.0 < float(found["mean"][1]) < 0.05


def test_json_is_read_again(perf):
    first = perf("stochastic", "eval", "x*(1 + x)", "--with", "x=normal:5,0.5", "--bins", "40", "--json").out
    Path("first.json").write_text(first)
    content = json.loads(first)
    assert len(content["value"]["masses"]) == 40
    assert content["method"].startswith("quasi-Monte Carlo, 13 scramblings of 8,192")
    second = json.loads(perf("stochastic", "eval", "2*y", "--with", "y=first.json", "--json").out)
    assert second["statistics"]["mean"] == pytest.approx(2 * content["statistics"]["mean"], rel=1e-6)
