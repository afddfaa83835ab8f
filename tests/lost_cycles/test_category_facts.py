"""What `perf info` says of times by category, which the fitter of such data knows."""

import pandas as pd
import pytest

from perf_basics.describe import describe
from perfcore import Measurements

ROWS = [
    (p, name, machine, time / p)
    for p in (1, 2, 4)
    for name, time in (("compute", 8.0), ("wait", 1.0))
    for machine in (("a", "b") if p < 4 else ("a",))
]


@pytest.fixture
def runs():
    return pd.DataFrame(ROWS, columns=["p", "category", "machine", "time_s"])


def test_points_categories_and_totals_of_the_machine_with_most_rows(runs):
    facts = describe(Measurements(runs, system="machine"), "runs.csv", " --from csv")
    assert facts["category by"] == ["category"]
    assert (facts["observations"], facts["points"]) == ("3 points", ["p: 3 values, 1 to 4"])
    assert (facts["categories"], facts["total"]) == ("compute, wait", "2.25 to 9 s")
    assert facts["of these rows"] == "machine=a"
    assert facts["next"] == [
        f"perf fit runs.csv --from csv --fitter {name} --where machine=a" for name in ("lca", "modgen", "scaling")
    ]


def test_rows_that_make_no_table_are_described_all_the_same(runs):
    """The categories at p = 1 add up to more than the total; no fit of them would run, so none is suggested."""
    total = pd.DataFrame([(1, "total", "a", 5.0)], columns=runs.columns)
    facts = describe(Measurements(pd.concat([runs[runs["machine"] == "a"], total])), "runs.csv")
    assert facts["categories"].startswith("none: ")
    assert "overlap" in facts["categories"]
    assert not any("perf fit" in command for command in facts["next"])
