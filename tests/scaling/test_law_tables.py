"""What people read of scaling laws: shares, growth, what is not determined, and every law of one path."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.collections import PolyCollection

import perfcore
from perf_scaling.call_tree import tree_of
from perf_scaling.growth import CLASSES
from perf_scaling.picture import path_curve
from perf_views.contents import Chart, Table

LEVELS = np.array([4.0, 8, 16, 32, 64])
VALUES = {"solve": 10 + 1000 / LEVELS, "exchange": 2 + 0.5 * LEVELS, "setup": np.full(5, 3.0)}


def frame(values, name="function"):
    rows = [(p, path, y) for path, own in values.items() for p, y in zip(LEVELS, own, strict=True)]
    return pd.DataFrame(rows, columns=["p", name, "time_s"])


def fitted(values=VALUES, **options):
    return perfcore.fit(frame(values), fitter="scaling", **{"at": "p=256", **options})


@pytest.fixture(scope="module")
def model():
    return fitted()


def test_the_largest_share_at_the_target_comes_first(model):
    """At p = 256: exchange 130, solve 13.9, setup 3 of 146.9."""
    title, header, rows = model.tables()[0]
    assert [row[0] for row in rows] == ["exchange", "solve", "setup"]
    shares = [float(row[1].rstrip("%")) for row in rows]
    assert shares == pytest.approx([88.5, 9.5, 2.0], abs=0.5)
    assert title == "At p=256 (4x beyond the data); % of total (exclusive)"
    cells = dict(zip(header, rows[0], strict=True))
    assert float(cells["predicted [s]"]) == pytest.approx(130, rel=0.03)
    low, high = map(float, cells["95% interval [s]"].strip("[]").split(", "))
    assert low <= 130 <= high
    assert cells["model in measured range"] == "2 + 0.5*p"
    assert cells["growth"].removeprefix("at least ").split(" to ")[0] in ("sublinear", "linear")


def test_rows_hold_the_same_numbers_as_the_model(model):
    band, holds = model.band([[256.0]], 0.95, run=True)[:, 0], model.if_model_holds([[256.0]])[:, 0]
    for row in model.rows:
        k = model.paths.index(row.path)
        assert [row.predicted, row.low, row.high] == pytest.approx(band[k].tolist())
        assert row.holds == pytest.approx(holds[k].tolist())
        assert row.model == model.best.named[k]
    assert sum(row.share for row in model.rows) == pytest.approx(1.0)


@pytest.mark.parametrize("arrow", ["->", "/"])
def test_of_inclusive_values_shares_are_of_the_outermost(arrow):
    inner = VALUES["solve"]
    model = fitted({"main": 2 * inner + 1, f"main{arrow}a": inner, f"main{arrow}b": inner, "other": inner})
    whole = model.whole
    assert whole.inclusive
    assert whole.counted.tolist() == [True, False, False, True]
    share = {row.path: row.share for row in model.rows}
    assert share["main"] + share["other"] == pytest.approx(1.0)
    assert "% of total (inclusive)" in model.tables()[0][0]


def test_of_exclusive_values_shares_are_of_the_sum():
    model = fitted({"main": VALUES["setup"], "main->a": VALUES["solve"], "main->b": VALUES["solve"]})
    assert not model.whole.inclusive
    assert sum(row.share for row in model.rows) == pytest.approx(1.0)


def test_the_check_leaves_the_last_level_out():
    """Told from a fit of the others, by hand."""
    levels = np.append(LEVELS, 128.0)
    data = pd.DataFrame({"p": levels, "time_s": 3.0 + levels * np.where(levels == 128, 1.12, 1.0)})
    model = perfcore.fit(data, fitter="scaling")
    rest = perfcore.fit(data[data.p < 128], fitter="scaling")
    value, low, high = rest.predict({"p": [128.0]}, interval=0.95)[0]
    measured = data.time_s.iloc[-1]
    assert model.check.median_error == pytest.approx(abs(value / measured - 1), rel=1e-6)
    assert model.check.inside == float(low <= measured <= high)
    assert any(line.startswith("hold-out check") for line in model.summary())


# Pictures of scaling laws: what is drawn where, and that no data stop or spoil them.
P = (4.0, 8.0, 16.0, 32.0, 64.0)


def fitted_of_law_picture(laws, points=P, noise=0.03, runs=4, **options):
    rng = np.random.default_rng(4)
    rows = [
        (p, path, law(p) * (1.0 + noise * rng.standard_normal()))
        for path, law in laws.items()
        for p in points
        for _ in range(runs)
    ]
    return perfcore.fit(pd.DataFrame(rows, columns=["p", "callpath", "time_s"]), fitter="scaling", **options)


def laid_out(model):
    """Places of labels and ticks are found, and warned of, only when a figure is laid out."""
    figure = model.plot().figure
    figure.draw_without_rendering()
    return figure


@pytest.fixture(scope="module")
def eight():
    return fitted_of_law_picture({f"main->f{k}": lambda p, k=k: (k + 1.0) * (1.0 + p) for k in range(8)})


def test_means_median_bounds_and_target_are_where_the_model_has_them(eight):
    figure = laid_out(eight)
    axes, path = figure.axes[0], eight.paths.index("main->f7")
    means = next(line for line in axes.lines if line.get_marker() == "o" and len(line.get_xdata()) == len(P))
    np.testing.assert_allclose(means.get_xydata(), np.stack([P, eight.means[path]], axis=1))
    (diamond,) = (line for line in axes.lines if line.get_marker() == "D")
    (target,) = eight.predict({"p": [256.0], "path": ["main->f7"]})
    np.testing.assert_allclose(diamond.get_xydata(), [[256.0, target]])
    solid = next(line for line in axes.lines if line.get_linestyle() == "-" and line.get_marker() == "None")
    assert (solid.get_xdata()[0], solid.get_xdata()[-1]) == (4.0, 64.0)
    run, mean = (area.get_paths()[0].vertices for area in axes.collections if isinstance(area, PolyCollection))
    assert np.ptp(run[run[:, 0] == 64.0, 1]) > np.ptp(mean[mean[:, 0] == 64.0, 1]) > 0.0
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert [tick for tick in axes.get_xticks() if 4 <= tick <= 256] == [4, 8, 16, 32, 64, 128, 256]


def test_intervals_hold_the_median_and_one_another(eight):
    curve = path_curve(eight, 0, "p")
    assert np.all(curve.run[:, 1] <= curve.likely[:, 1])
    assert np.all(curve.likely[:, 1] <= curve.likely[:, 0])
    assert np.all(curve.likely[:, 0] <= curve.likely[:, 2])
    assert np.all(curve.likely[:, 2] <= curve.run[:, 2])


# Views of scaling laws: trees from names, what the pages say against other ways to compute it, and their bounds.
P_OF_LAW_VIEWS = (4, 8, 16, 32, 64)
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
        for p in P_OF_LAW_VIEWS
        for _ in range(runs)
    ]
    return pd.DataFrame(rows, columns=["p", "callpath", value])


def fitted_of_law_views(data, **options):
    return perfcore.fit(data, fitter="scaling", **options)


@pytest.fixture(scope="module")
def model_of_law_views():
    return fitted_of_law_views(measured(LAWS), at="p=256")


@pytest.fixture(scope="module")
def many():
    """Three hundred paths, each called by one of those before it."""
    rng = np.random.default_rng(1)
    names = ["main"]
    for k in range(299):
        names.append(f"{names[rng.integers(len(names))]}->f{k}")
    laws = zip(names, 0.1 + rng.pareto(1.0, len(names)), itertools.cycle(LAWS.values()), strict=False)
    return fitted_of_law_views(
        measured({name: lambda p, a=size, law=law: a * law(p) for name, size, law in laws}, runs=2)
    )


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


def test_the_tree_shows_each_region_below_its_caller_and_what_the_model_predicts(model_of_law_views):
    found = table(model_of_law_views.views().view((), {}), "Call tree")
    assert [row[0].indent for row in found.rows] == [0, 1, 2, 2, 1, 2]
    names = {name.split("->")[-1]: name for name in LAWS}
    predicted = model_of_law_views.predict({"p": [256.0] * len(names), "path": list(names.values())})
    values = dict(zip(names, predicted, strict=True))
    shown = column(found, "at p = 256 [s]")
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
    classes = table(view, "Growth classes")
    present = {row.growths[0].name for row in many.rows}
    assert [text(row[0]) for row in classes.rows] == [name for name in CLASSES if name in present]
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
