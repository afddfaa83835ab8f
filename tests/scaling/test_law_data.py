"""From tables to paths: what was measured of each, and what is refused before anything is fitted."""

import itertools

import pandas as pd
import pytest

import perfcore
from perf_scaling.data import scaling_data
from perf_scaling.options import ScalingOptions
from perfcore.base.errors import OptionError

P = (4, 8, 16, 32)
CALLS = ("main", "main->solve step", "main->io")


def table(*columns, values=P):
    """One row for each combination of the values of the columns, at each point."""
    names = [name for name, _ in columns]
    rows = [
        (*key, p, y) for key in itertools.product(*(of for _, of in columns)) for p, y in zip(P, values, strict=True)
    ]
    return pd.DataFrame(rows, columns=[*names, "p", "value"])


def seen(data, **options):
    return scaling_data(data, ScalingOptions(parameter=("p",), value="value", **options))


def test_each_path_knows_its_metric():
    data = table(("callpath", CALLS), ("metric", ("time", "L1 misses")))
    found = seen(data, path=("callpath", "metric"))
    assert found.paths == tuple(f"{call} {metric}" for call in CALLS for metric in ("time", "L1 misses"))
    assert found.metrics == ("time", "L1 misses") * 3


@pytest.mark.parametrize("path", [("callpath", "metric"), ("metric", "callpath")])
def test_trees_are_of_call_paths_without_their_metric(path):
    """A metric may have blanks in its name, as PAPI's and those of vendors do."""
    data = table(("callpath", CALLS), ("metric", ("time", "L1 misses")))
    model = perfcore.fit(data, fitter="scaling", parameter="p", value="value", path=",".join(path))
    assert [tree.metric for tree in model.whole.trees] == ["time", "L1 misses"]
    for tree in model.whole.trees:
        assert tree.full_names == CALLS
        assert tree.names == ("main", "solve step", "io")


def test_a_single_metric_is_no_part_of_the_tree():
    data = table(("callpath", CALLS), ("metric", ("time",)))
    model = perfcore.fit(data, fitter="scaling", parameter="p", value="value", path="callpath,metric")
    (tree,) = model.whole.trees
    assert (tree.metric, tree.full_names) == ("", CALLS)


def runs_table(**columns):
    """Three runs of each point, which only the given columns tell apart."""
    rows = [(p, 100.0 / p * (1 + 0.01 * k)) for p in P for k in range(3)]
    data = pd.DataFrame(rows, columns=["p", "time_s"])
    return data.assign(**{name: list(values) * len(P) for name, values in columns.items()})


def test_means_with_a_deviation_and_a_number_are_runs():
    data = pd.DataFrame({"p": P, "mean_s": [8.0, 4, 2, 1], "sd_s": [0.8, 0.4, 0.1, 0.1], "N": [5, 5, 4, 1]})
    found = scaling_data(data, ScalingOptions())
    assert found.value_name == "mean_s"
    assert found.runs.means.tolist() == [[8.0, 4.0, 2.0, 1.0]]
    assert found.runs.counts.tolist() == [[5.0, 5.0, 4.0, 1.0]]
    assert found.runs.variances[0] == pytest.approx([0.01, 0.01, 0.0025, 0.0])
    assert "noise from sd_s, N runs each" in map(str, found.notes)


def test_means_and_single_runs_say_the_same():
    """Three runs as rows, and as their mean with its standard deviation, error or interval."""
    runs = runs_table(run=(1, 2, 3))
    grouped = runs.groupby("p")["time_s"]
    means = pd.DataFrame({"p": list(P), "time_s": grouped.mean().tolist(), "n_runs": 3})
    single = scaling_data(runs, ScalingOptions()).runs
    deviation = grouped.std().to_numpy()
    error = deviation / 3**0.5
    half_width = 4.302652729911275 * error  # Student's t of two degrees of freedom
    for name, spread in (("time_std_ms", 1e3 * deviation), ("stderr", error), ("ci95", half_width)):
        told = scaling_data(means.assign(**{name: spread}), ScalingOptions()).runs
        for field in ("means", "counts", "variances"):
            assert getattr(told, field) == pytest.approx(getattr(single, field)), name


def test_without_a_number_a_spread_is_of_two_runs():
    data = pd.DataFrame({"p": P, "time_s": [8.0, 4, 2, 1], "std": 0.1})
    found = scaling_data(data, ScalingOptions())
    assert found.runs.counts.tolist() == [[2.0] * 4]
    assert "noise from std, their number is not said: two, the fewest" in map(str, found.notes)


def test_a_spread_that_is_repeated_for_each_run_is_no_spread_of_means():
    found = scaling_data(runs_table(run=(1, 2, 3), sd_s=(0.5, 0.5, 0.5), N=(3, 3, 3)), ScalingOptions())
    assert found.runs.counts.tolist() == [[3.0] * 4]


def test_n_alone_is_no_number_of_runs():
    data = pd.DataFrame({"p": P, "time_s": [8.0, 4, 2, 1], "N": 1000})
    assert scaling_data(data, ScalingOptions()).runs.counts.tolist() == [[1.0] * 4]
    varied = pd.DataFrame(
        [(p, n, n / p, 0.1 * n / p) for p in P for n in (100, 200)], columns=["p", "N", "time_s", "sd_s"]
    )
    with pytest.raises(OptionError, match="differ in N"):
        scaling_data(varied, ScalingOptions())


def test_zeros_are_left_out_where_enough_is_left():
    data = table(("callpath", ("main", "io")), values=(8.0, 4.0, 2.0, 1.0))
    data = pd.concat([data, pd.DataFrame({"callpath": ["io", "main"], "p": [64, 64], "value": [0.0, 0.5]})])
    found = seen(data, path=("callpath",))
    assert found.runs.counts.tolist() == [[1.0] * 5, [1.0] * 4 + [0.0]]
    assert "1 zero left out: below what the clock sees (io)" in map(str, found.notes)


def test_a_point_that_is_mostly_zero_is_left_out_whole():
    data = pd.DataFrame([(p, 8.0 / p) for p in P] + [(64, 0.0), (64, 0.0), (64, 0.1)], columns=["p", "value"])
    found = seen(data.assign(run=range(len(data))))
    assert found.points["p"].tolist() == list(P)
    assert "2 zeros left out: below what the clock sees (value)" in map(str, found.notes)


def test_several_values_are_paths():
    data = pd.DataFrame(
        {"p": P, "compute_s": [8.0, 4, 2, 1], "mpi_s": [1.0, 2, 3, 4], "mpi_std": 0.1, "reps": 3, "half_s": 1.0}
    )
    found = scaling_data(data, ScalingOptions(value=("compute_s", "mpi_s")))
    assert found.paths == ("compute_s", "mpi_s")
    assert found.unit == "s"
    assert found.runs.means.tolist() == [[8, 4, 2, 1], [1, 2, 3, 4]]
    assert found.runs.counts.tolist() == [[1.0] * 4, [3.0] * 4]  # only mpi has a spread
    named = scaling_data(data.assign(code=["a"] * 4), ScalingOptions(value=("compute_s", "mpi_s")))
    assert named.paths == ("a compute_s", "a mpi_s")
    model = perfcore.fit(data, fitter="scaling", value="compute_s,mpi_s")
    assert len(model.observed(data).value) == 8


def test_a_column_with_a_comma_in_its_name_is_one():
    data = pd.DataFrame({"p": P, "Time, s": [8.0, 4, 2, 1], "Time": 1.0})
    assert perfcore.fit(data, fitter="scaling", value="Time, s").value_name == "Time, s"


def test_a_rate_of_zero_is_no_short_time():
    rows = [(p, rate) for p, rate in zip((1, 2, 4, 8, 16), (1.0, 0.0, 3.0, 5.0, 6.0), strict=True)]
    model = perfcore.fit(pd.DataFrame(rows, columns=["p", "speedup"]), fitter="scaling")
    assert any("1 zero left out: nothing was done, which no law of a rate tells" in line for line in model.summary())
