"""Times by category as a table: runs, totals, what is left over, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import perfcore
from perfcore import Measurements
from perfcore.base.errors import DataError, OptionError, PerfError

COLUMNS = ["p", "category", "time_s"]


def fitted(rows, columns=COLUMNS, **given):
    return perfcore.fit(Measurements(pd.DataFrame(rows, columns=columns)), fitter="lca", **given)


def values_of(model):
    """What was measured: a row for each point, a column for each category."""
    return np.array(model.observations.values, float).T


PLAIN = [(p, name, time) for p in (4, 1, 2) for name, time in (("work", 8.0 / p), ("wait", p - 1.0))]


def test_points_are_rows_and_categories_columns():
    model = fitted(PLAIN)
    measured = model.observations
    assert measured.points["p"] == (1.0, 2.0, 4.0)
    assert model.names == ("work", "wait")
    assert values_of(model).tolist() == [[8.0, 0.0], [4.0, 1.0], [2.0, 3.0]]
    assert measured.total == (8.0, 5.0, 5.0)
    assert (model.unit, model.notes) == ("s", ())
    assert {spread for row in measured.spread for spread in row} == {None}


def test_what_the_categories_leave_of_the_total_becomes_a_category():
    model = fitted([*PLAIN, (1, "Total", 9.0), (2, "Total", 7.0), (4, "Total", 8.0)])
    assert model.names == ("work", "wait", "other")
    assert values_of(model)[:, 2].tolist() == [1.0, 2.0, 3.0]
    assert model.observations.total == (9.0, 7.0, 8.0)
    assert "25.0% of the total is in no category" in model.notes[0]


def test_overlapping_categories_are_refused_and_the_point_is_named():
    rows = [*PLAIN, (1, "total", 8.0), (2, "total", 5.0), (4, "total", 4.0)]
    problem = r"the categories overlap: at p=4 they add up to 5 of a total of 4 \(1 of 3 runs"
    with pytest.raises(DataError, match=problem):
        fitted(rows)


def test_repeated_runs_are_joined_and_what_is_left_is_of_each_run():
    """What is left is 10 - 9, 20 - 3 and 5 - 5; the difference of the medians, 10 - 3 - 1, is of no run."""
    runs = {
        ("r1", 1): (8.0, 1.0, 10.0), ("r2", 1): (2.0, 1.0, 20.0), ("r3", 1): (3.0, 2.0, 5.0),
        ("r4", 2): (3.0, 2.0, 5.0),
    }  # fmt: skip
    rows = [(*run, c, t) for run, times in runs.items() for c, t in zip(("work", "wait", "total"), times, strict=True)]
    model = fitted(rows, ["run", *COLUMNS])
    assert model.observations.repetitions == (3, 1)
    assert values_of(model)[0].tolist() == [3.0, 1.0, 1.0], "medians of (8, 2, 3), (1, 1, 2) and (1, 17, 0)"
    assert model.observations.spread[0][0] == pytest.approx(np.std([8.0, 2.0, 3.0], ddof=1))
    mean = fitted(rows, ["run", *COLUMNS], aggregate="mean")
    np.testing.assert_allclose(values_of(mean).sum(axis=1), mean.observations.total, rtol=1e-14)


def test_a_category_that_was_not_measured_everywhere_is_missing_or_zero():
    rows = [*PLAIN, (2, "io", 0.25), (4, "io", 0.5)]
    model = fitted(rows)
    assert values_of(model)[:, 2].tolist() == pytest.approx([np.nan, 0.25, 0.5], nan_ok=True)
    assert model.notes == ("not measured at some of the 3 points: io (1); --absent zero if they took no time there",)
    assert values_of(fitted(rows, absent="zero"))[:, 2].tolist() == [0.0, 0.25, 0.5]


@pytest.mark.parametrize(("rows", "columns", "given", "problem"), [
    ([(1, "a", -0.5)], COLUMNS, {}, r"time_s is -0.5; a positive number or 0 is expected.*where='time_s>=0'"),
    ([(0, "a", 1.0)], COLUMNS, {}, "p is 0; a positive number is expected"),
    ([(1, "", 1.0)], COLUMNS, {}, "category is empty; each row needs the name of its category"),
    ([(1, 1.0)], ["p", "time_s"], {}, "which column names the categories: category='COLUMN'"),
    ([("x", 1, "a", 1.0), ("y", 1, "a", 1.0)], ["machine", *COLUMNS], {}, "2 systems .*where='machine=x'"),
    (PLAIN, COLUMNS, {"total": "everything"}, "unknown category or column for the total 'everything'"),
    (PLAIN, COLUMNS, {"absent": "never"}, "absent='never': unknown value"),
    ([(1, "total", 1.0)], COLUMNS, {}, "no category besides the total"),
    ([(1, "a", np.nan)], COLUMNS, {}, "holds no value at all"),
])  # fmt: skip
def test_bad_data_are_refused_in_one_line(rows, columns, given, problem):
    with pytest.raises(PerfError, match=problem) as caught:
        fitted(rows, columns, **given)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.real_data
def test_gromacs_by_category(real_data):
    """Percentages of the log files add up to 99.4 in the mean; the table keeps every second of ARCHER2."""
    path = real_data / "scaling" / "hecbiosim_gromacs_categories.csv"
    data, asked = perfcore.read(path), {"fitter": "modgen", "aggregate": "mean", "absent": "zero"}
    assert (data.roles.category, data.roles.system) == (("category",), ("machine",))
    with pytest.raises(OptionError, match="there are 3 systems"):  # and one without a number of nodes
        perfcore.fit(data, **asked)
    data = data.with_roles("P=nodes,D=atoms").where("machine=ARCHER2")
    # cpus_per_task is 128 / tasks_per_node: holding the one holds the other.
    with pytest.raises(OptionError, match=r"differ in tasks_per_node .*where='tasks_per_node="):
        perfcore.fit(data, **asked)
    model = perfcore.fit(data.where("tasks_per_node=128,cpus_per_task=1"), **asked)
    raw = pd.read_csv(path).query("machine == 'ARCHER2' and nodes > 0 and tasks_per_node == 128 and cpus_per_task == 1")
    expected = raw.groupby(["nodes", "atoms"])["wall_s"].sum() / raw.groupby(["nodes", "atoms"])["run"].nunique()
    np.testing.assert_allclose(model.observations.total, expected, rtol=1e-12)
    np.testing.assert_allclose(values_of(model).sum(axis=1), expected, rtol=1e-12)


def test_call_paths_are_categories_unless_they_call_one_another():
    def measured(*paths):
        rows = pd.DataFrame([(p, path, 8.0 / p) for p in (1, 2) for path in paths], columns=["p", "callpath", "time_s"])
        return perfcore.fit(Measurements(rows, ["p"], "time_s", code="callpath"), fitter="lca")

    assert measured("phase 1->solve", "phase 2->solve").names == ("phase 1->solve", "phase 2->solve")
    with pytest.raises(OptionError, match="which column names the categories"):
        measured("main", "main->solve")


# What was varied and not named is refused; what is measured beside the time, or numbers the runs, is not.
CATEGORIES = ("work", "wait", "io")


def rows(**levels):
    """Times of three categories at every combination of levels."""
    index = pd.MultiIndex.from_product([*levels.values(), CATEGORIES], names=[*levels, "category"])
    return index.to_frame(index=False).assign(time_s=np.linspace(1.0, 2.0, len(index)))


def measured_of(table, parameters="p"):
    fitter = "modgen" if "," in parameters else "lca"
    return perfcore.fit(Measurements(table, parameters, source="profile.csv"), fitter=fitter).observations


def test_a_column_that_was_varied_is_named_with_both_cures():
    data = rows(p=[2, 4, 8], size=[10, 20, 40])
    with pytest.raises(OptionError) as caught:
        measured_of(data)
    assert str(caught.value) == (
        "profile.csv: rows of one point, such as p=2, differ in size (10, 20, 40), so they are no repeated runs; "
        "name it with parameter='p,size', or hold it with where='size=10'"
    )
    assert len(measured_of(data, "p,size").total) == 9
    assert len(measured_of(data.query("size == 10")).total) == 3


@pytest.mark.parametrize("runs", [1, 3])
def test_phases_that_are_not_the_same_for_every_run_or_category(runs):
    """One run has a phase more, another category comes in one phase only; cycles are as `perf overheads` has them."""
    data = rows(p=[2, 4, 8], phase=[1, 2, 3], run=range(runs))
    data = data[~((data.p == 2) & (data.phase == 3)) & ~((data.category == "io") & (data.phase != 2))]
    with pytest.raises(OptionError, match=r"such as p=2, differ in phase \(1, 2, 3\).*where='phase=1'"):
        measured_of(data.assign(all_locations_ns=(data.time_s * data.p * 1e9).astype(int)))


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
    model = perfcore.fit(Measurements(data, "p"), fitter="lca")
    assert model.observations.repetitions == (3, 3, 3, 3)
    assert model.notes == (
        "4 of 4 points have several runs (up to 3); the median stands for them; they differ in ns_per_day "
        "(--parameter names what was varied)",
    )


def codes_at_classes():
    """Two codes at three numbers of processors, in two classes of problems, of which one takes fifty times as long."""
    index = pd.MultiIndex.from_product([["lu", "cg"], ["S", "A"], [1, 2, 4]], names=["code", "class", "p"])
    data = index.to_frame(index=False)
    return data.assign(time_s=np.where(data["class"] == "A", 50.0, 1.0) / data["p"])


def test_runs_of_several_classes_are_refused_or_have_a_model_each():
    data = Measurements(codes_at_classes(), source="runs.csv")
    refusal = r"differ in class \(A, S\) and are up to 50-fold apart.*code,class', or choose"
    with pytest.raises(OptionError, match=refusal):
        perfcore.fit(data, fitter="individual")
    assert len(perfcore.fit(data, fitter="scaling").paths) == 4
    with pytest.raises(OptionError, match="class"):
        perfcore.rank(data, fitter="individual")
