"""Views of scaling laws: trees from names, what the pages say against other ways to compute it, and their bounds."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perfcore
from perf_scaling.call_tree import tree_of
from perf_scaling.growth import CLASSES
from perf_scaling.views import ScalingViews
from perf_views import Chart, Table

P = (4, 8, 16, 32, 64)
LAWS = {
    "main": lambda p: 1.0 + 0.0 * p,
    "main->solve": lambda p: 0.1 * p**2,
    "main->solve->sweep": lambda p: 200.0 / p,
    "main->solve->exchange": lambda p: 4.0 * np.log2(p),
    "main->io": lambda p: 0.5 * p,
    "main->io->write": lambda p: 0.02 * p,
}


def measured(laws, runs=3, noise=0.02, seed=0, value="time_s"):
    rng = np.random.default_rng(seed)
    rows = [
        (p, path, float(law(float(p))) * (1.0 + noise * rng.standard_normal()))
        for path, law in laws.items()
        for p in P
        for _ in range(runs)
    ]
    return pd.DataFrame(rows, columns=["p", "callpath", value])


def fitted(data, **options):
    return perfcore.fit(data, fitter="scaling", **options)


@pytest.fixture(scope="module")
def model():
    return fitted(measured(LAWS), at="p=256")


@pytest.fixture(scope="module")
def many():
    """Three hundred paths, each called by one of those before it."""
    rng = np.random.default_rng(1)
    names = ["main"]
    for k in range(299):
        names.append(f"{names[rng.integers(len(names))]}->f{k}")
    laws = zip(names, 0.1 + rng.pareto(1.0, len(names)), itertools.cycle(LAWS.values()), strict=False)
    return fitted(measured({name: lambda p, a=size, law=law: a * law(p) for name, size, law in laws}, runs=2))


def blocks(view, kind):
    return [block for block in view.blocks if isinstance(block, kind)]


def table(view, title):
    return next(block for block in blocks(view, Table) if block.title.startswith(title))


def text(cell):
    return cell if isinstance(cell, str) else cell.text


def column(found, name):
    """Cells of a column by the row's name."""
    at = [text(head) for head in found.header].index(name)
    return {text(row[0]): text(row[at]) for row in found.rows}


def per_cent(shown):
    return float(shown.rstrip("%")) / 100.0


def test_names_become_trees_whatever_joins_them():
    for arrow in ("->", ";", "/", " -> "):
        tree = tree_of([f"main{arrow}solve{arrow}mpi", "main", f"main{arrow}io"], [0, 1, 2])
        assert tree.names == ("main", "solve", "mpi", "io")
        assert tree.callers == (-1, 0, 1, 0)
        assert tree.paths == (1, -1, 0, 2)
        assert tree.depths == (0, 1, 2, 1)


paths_of_trees = st.lists(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("->".join), min_size=1, max_size=12, unique=True
)


@given(paths_of_trees)
@settings(deadline=None)
def test_callees_are_added_up_once(names):
    values = 2.0 ** np.arange(len(names))  # every sum tells what was added
    tree = tree_of(names, range(len(names)))
    for node, full in enumerate(tree.full_names):
        own = [v for name, v in zip(names, values, strict=True) if f"{name}->".startswith(f"{full}->")]
        assert tree.with_callees(values)[node] == sum(own)
        assert [tree.names[one] for one in (*tree.above(node), node)] == full.split("->")


@given(paths_of_trees)
def test_inclusive_values_are_not_added_up_again(names):
    exclusive = np.arange(1.0, len(names) + 1.0)
    alone = tree_of(names, range(len(names)))
    whole = alone.with_callees(exclusive)
    inclusive = np.array([whole[alone.paths.index(k)] for k in range(len(names))])
    np.testing.assert_array_equal(tree_of(names, range(len(names)), "", True).with_callees(inclusive), whole)


def test_metrics_have_trees_of_their_own():
    data = pd.concat(
        [
            measured(LAWS, value="value").assign(metric=metric, value=lambda t: t.value * 10.0)
            for metric in ("time", "visits")
        ]
    )
    model = fitted(data, path="callpath,metric", value="value")
    assert [tree.metric for tree in model.whole.trees] == ["time", "visits"]
    view = ScalingViews(model).view((), {"metric": "visits"})
    found = column(table(view, "Call tree"), "with callees")
    assert next(iter(found)) == "main"
    assert per_cent(found["main"]) == 1.0
    assert all(cell.link.path[1].endswith(" visits") for cell, *_ in table(view, "Call tree").rows)


def test_the_tree_shows_each_region_below_its_caller_and_what_the_model_predicts(model):
    found = table(model.views().view((), {}), "Call tree")
    assert [row[0].indent for row in found.rows] == [0, 1, 2, 2, 1, 2]
    names = {name.split("->")[-1]: name for name in LAWS}
    predicted = model.predict({"p": [256.0] * len(names), "path": list(names.values())})
    values = dict(zip(names, predicted, strict=True))
    shown = column(found, "at p = 256 (s)")
    shares = {name: per_cent(share) for name, share in column(found, "share").items()}
    for name, value in values.items():
        assert float(shown[name]) == pytest.approx(value, rel=1e-3)
        assert shares[name] == pytest.approx(value / sum(values.values()), abs=6e-4)
    whole = {name: per_cent(share) for name, share in column(found, "with callees").items()}
    assert whole["solve"] == pytest.approx(shares["solve"] + shares["sweep"] + shares["exchange"], abs=2e-3)
    assert whole["main"] == 1.0
    growth = column(found, "growth")
    assert (growth["solve"], growth["main"], growth["sweep"]) == ("quadratic", "constant", "falling")


def test_the_growth_of_the_whole_adds_up(many):
    view = many.views().view(("growth",), {})
    classes = table(view, "Classes of growth")
    assert [text(row[0]) for row in classes.rows] == list(CLASSES)
    assert sum(int(count) for count in column(classes, "paths").values()) == len(many.paths)
    for chart in blocks(view, Chart):
        (found,) = chart.tables
        *parts, total = found.rows
        for at in range(1, len(found.header)):
            assert sum(per_cent(row[at]) for row in parts) == pytest.approx(1.0, abs=5e-4 * len(parts))
    last = column(classes, f"at p = {many.target['p']:g}")
    rows = {name: [row for row in many.rows if row.growths[0].name == name] for name in CLASSES}
    for name, share in last.items():
        assert per_cent(share) == pytest.approx(sum(row.share for row in rows[name]), abs=6e-4)
    (expected,) = [sum(row.predicted for row in many.rows)]
    assert float(total[-1]) == pytest.approx(expected, rel=1e-3)
