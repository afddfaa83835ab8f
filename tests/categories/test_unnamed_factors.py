"""What was varied and not named is refused; what is measured beside the time, or numbers the runs, is not."""

import numpy as np
import pandas as pd
import pytest

import perfcore
from perf_tables.category_table import by_category
from perfcore import Measurements
from perfcore.base.errors import OptionError

CATEGORIES = ("work", "wait", "io")


def rows(**levels):
    """Times of three categories at every combination of levels."""
    index = pd.MultiIndex.from_product([*levels.values(), CATEGORIES], names=[*levels, "category"])
    return index.to_frame(index=False).assign(time_s=np.linspace(1.0, 2.0, len(index)))


def table_of(table, parameters="p"):
    return by_category(Measurements(table, parameters, source="profile.csv"))


def test_a_column_that_was_varied_is_named_with_both_cures():
    data = rows(p=[2, 4, 8], size=[10, 20, 40])
    with pytest.raises(OptionError) as caught:
        table_of(data)
    assert str(caught.value) == (
        "profile.csv: rows of one point, such as p=2, differ in size (10, 20, 40), so they are no repeated runs; "
        "name it with --parameter p,size, or hold it with --where 'size=10'"
    )
    assert len(table_of(data, "p,size")) == 9
    assert len(table_of(data.query("size == 10"))) == 3


@pytest.mark.parametrize("runs", [1, 3])
def test_phases_that_are_not_the_same_for_every_run_or_category(runs):
    """One run has a phase more, another category comes in one phase only; cycles are as `perf overheads` has them."""
    data = rows(p=[2, 4, 8], phase=[1, 2, 3], run=range(runs))
    data = data[~((data.p == 2) & (data.phase == 3)) & ~((data.category == "io") & (data.phase != 2))]
    with pytest.raises(OptionError, match=r"such as p=2, differ in phase \(1, 2, 3\).*--where 'phase=1'"):
        table_of(data.assign(all_locations_ns=(data.time_s * data.p * 1e9).astype(int)))


def test_what_a_log_of_gromacs_tells_beside_the_times_is_no_factor():
    """Calls are counted for each category, percentages measured; seeds and numbers tell runs apart."""
    rng = np.random.default_rng(3)
    data = rows(p=[1, 2, 4, 8], run=[1, 2, 3])
    data["time_s"] *= rng.uniform(0.9, 1.1, len(data))
    data["pct"] = (100 * data.time_s / data.groupby(["p", "run"]).time_s.transform("sum")).round(1)
    data["calls"] = data.category.map({"work": 10001, "wait": 5001, "io": 101})
    data["seed"] = data.run % 2
    data["job"] = data.run
    data["ns_per_day"] = data.groupby(["p", "run"]).time_s.transform(lambda times: 86.4 / times.sum())
    table = table_of(data)
    assert table.repetitions.tolist() == [3, 3, 3, 3]
    assert table.notes == (
        "4 of 4 points have several runs (up to 3); the median stands for them; they differ in ns_per_day "
        "(--parameter names what was varied)",
    )


def codes_at_classes():
    """Two codes at three numbers of processors, in two classes of problems, of which one takes fifty times as long."""
    index = pd.MultiIndex.from_product([["lu", "cg"], ["S", "A"], [1, 2, 4]], names=["code", "class", "p"])
    data = index.to_frame(index=False)
    return data.assign(time_s=np.where(data["class"] == "A", 50.0, 1.0) / data["p"])


@pytest.mark.parametrize("fitter", ["individual", "scaling"])
def test_every_fitter_of_timings_refuses_runs_of_several_classes(fitter):
    data = Measurements(codes_at_classes(), source="runs.csv")
    refusal = r"differ in class \(A, S\) and are up to 50-fold apart.*code,class, or choose"
    with pytest.raises(OptionError, match=refusal):
        perfcore.fit(data, fitter=fitter)
    with pytest.raises(OptionError, match="class"):
        perfcore.rank(data, fitter="individual")
