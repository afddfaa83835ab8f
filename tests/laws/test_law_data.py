"""From tables to paths: what was measured of each, and what is refused before anything is fitted."""

import itertools

import pandas as pd
import pytest

import perfcore
from perf_laws.data import law_data
from perf_laws.options import LawOptions
from perfcore.base.errors import DataError, UnknownNameError

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
    return law_data(data, LawOptions(parameter=("p",), value="value", **options))


def test_each_path_knows_its_metric():
    data = table(("callpath", CALLS), ("metric", ("time", "L1 misses")))
    found = seen(data, path=("callpath", "metric"))
    assert found.paths == tuple(f"{call} {metric}" for call in CALLS for metric in ("time", "L1 misses"))
    assert found.metrics == ("time", "L1 misses") * 3


def test_paths_that_are_not_fitted_take_their_metric_along():
    data = table(("callpath", CALLS), ("metric", ("time", "visits")))
    data.loc[(data.callpath == "main") & (data.metric == "time"), "value"] = 0.0
    found = seen(data, path=("callpath", "metric"))
    assert found.metrics[0] == "visits"
    assert len(found.metrics) == len(found.paths) == 5


def test_where_no_column_names_metrics_there_are_none():
    assert seen(table(("callpath", CALLS)), path=("callpath",)).metrics == ()
    assert seen(table()).metrics == ()


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


def test_a_path_to_show_is_there_and_has_a_law():
    data = table(("callpath", CALLS))
    data.loc[data.callpath == "main->io", "value"] = 0.0
    with pytest.raises(UnknownNameError, match="did you mean 'main'"):
        seen(data, path=("callpath",), show="mian")
    with pytest.raises(DataError, match="--show main->io: it was not fitted: is 0 at every point"):
        seen(data, path=("callpath",), show="main->io")
    assert "main" in seen(data, path=("callpath",), show="main").paths


def test_a_single_path_that_cannot_be_fitted_is_named():
    with pytest.raises(DataError, match="table: solve: holds -1; noise"):
        seen(table(("callpath", ("solve",)), values=(-1, 2, 3, 4)), path=("callpath",))
    with pytest.raises(DataError, match="table: value: holds -1; noise"):
        seen(table(values=(-1, 2, 3, 4)))
