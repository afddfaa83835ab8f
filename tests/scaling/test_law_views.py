"""Views of scaling laws: trees from names, what the pages say against other ways to compute it, and their bounds."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perfcore
from perf_explore.page import report_text
from perf_scaling.call_tree import tree_of
from perf_scaling.growth import CLASSES
from perf_scaling.outlook import class_colour
from perf_scaling.views import ScalingViews
from perf_views import Chart, Form, Notice, NoViewError, Table, Text
from perf_views.colours import STEPS, contrast, text_on
from perfcore.base.errors import OptionError, UnknownNameError

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


@pytest.mark.parametrize(
    "names",
    [
        ["dot", "axpy", "waxpby"],
        ["MB/s", "GFLOP/s"],
        ["allgather (8 B)", "n;a"],
        ["operator->", "std::map::operator->*"],
    ],
)
def test_lists_stay_lists(names):
    tree = tree_of(names, range(len(names)))
    assert tree.is_flat
    assert tree.names == tuple(names)


def test_names_that_differ_in_blanks_are_two_paths():
    tree = tree_of(["a -> b", "a->b", "a"], [0, 1, 2])
    assert sorted(tree.paths) == [0, 1, 2]
    assert sorted(tree.full_names) == ["a", "a -> b", "a->b"]


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


def test_another_target_is_another_address(model):
    views = model.views()
    found = table(views.view((), {"at.p": "1000"}), "Call tree")
    (expected,) = model.predict({"p": [1000.0], "path": ["main->io"]})
    assert float(column(found, "at p = 1000 (s)")["io"]) == pytest.approx(expected, rel=1e-3)
    assert found.rows[0][0].link.query == {"at.p": "1000"}
    path = views.view(found.rows[0][0].link.path, found.rows[0][0].link.query)
    assert path.trail[0].query == {"at.p": "1000"}
    assert table(views.view((), {}), "Call tree").rows[0][0].link.query == {}
    (links,) = [block.links for block in views.view((), {}).blocks if isinstance(block, Text) and not block.lines]
    assert [link.query.get("at.p", "256") for link in links] == ["64", "128", "512", "1024"]


@pytest.mark.parametrize("level", ["0", "-4", "abc", "inf", "nan", "1e300"])
def test_a_target_that_is_none_is_refused(model, level):
    with pytest.raises(OptionError, match=r"a number from 4e-06 to 6\.4e\+07 is expected"):
        model.views().view((), {"at.p": level})


def test_states_that_there_are_not_are_refused(model):
    views = model.views()
    for query in ({"order": "loudest"}, {"metric": "visits"}):
        with pytest.raises(UnknownNameError):
            views.view((), query)
    with pytest.raises(OptionError, match="no region 'other'"):
        views.view((), {"under": "other"})
    for path in (("path", "main->other"), ("path",), ("other",)):
        with pytest.raises(NoViewError):
            views.view(path, {})


def test_inclusive_values_are_shares_of_the_outermost():
    def total(path):
        return lambda p: sum(law(p) for name, law in LAWS.items() if f"{name}->".startswith(f"{path}->"))

    model = fitted(measured({path: total(path) for path in LAWS}, noise=0.002, value="inclusive_time_s"), at="p=256")
    found = table(model.views().view((), {}), "Call tree")
    shares = column(found, "share with callees")
    assert "share" not in found.header
    assert per_cent(shares["main"]) == 1.0
    predicted = dict(zip(model.paths, model.band([[256.0]], 0.95)[:, 0, 0].tolist(), strict=True))
    assert per_cent(shares["io"]) == pytest.approx(predicted["main->io"] / predicted["main"], rel=0.05)
    assert predicted["main->io"] == pytest.approx(total("main->io")(256.0), rel=0.05)


def test_a_long_tree_is_short_and_says_what_it_leaves_out(many):
    view = many.views().view((), {"rows": "20"})
    found = table(view, "Call tree")
    assert len(found.rows) < 60
    shares = column(found, "with callees")
    first = [row for row in found.rows if row[0].indent == 1]
    own = per_cent(column(found, "share")["main"])
    at = found.header.index("with callees")
    assert own + sum(per_cent(text(row[at])) for row in first) == pytest.approx(1.0, abs=5e-4 * len(first))
    assert per_cent(shares["main"]) == 1.0
    hidden = [row[0] for row in found.rows if "more" in text(row[0])]
    assert hidden
    for cell in hidden:  # each leads on, and in the end to a list
        more = many.views().view((), cell.link.query)
        assert len(blocks(more, Table)[-1].rows) > 1


def test_every_path_is_reached_page_by_page(many):
    views, query, seen = many.views(), {"order": "by name", "rows": "70"}, []
    while True:
        view = views.view((), query)
        seen += [text(row[0]) for row in table(view, "Paths").rows]
        following = [link for block in blocks(view, Text) for link in block.links if link.text.startswith("next")]
        if not following:
            break
        query = following[0].query
    assert seen == sorted(many.paths, key=str.casefold)


def test_paths_are_sorted_and_searched(many):
    views = many.views()

    def listed(**query):
        return table(views.view((), {"rows": "500", **query}), "Paths")

    shares = [per_cent(share) for share in column(listed(order="largest share"), "share").values()]
    assert shares == sorted(shares, reverse=True)
    kinds = [CLASSES.index(name) for name in column(listed(order="fastest growth"), "growth").values()]
    assert kinds == sorted(kinds, reverse=True)
    bounds = column(listed(order="least sure"), "95 % of it").values()
    ratios = [float(high) / float(low) for low, high in (shown.split(" .. ") for shown in bounds)]
    assert np.all(np.diff(ratios) <= 2e-3 * np.array(ratios[:-1]))  # as rounded
    assert set(column(listed(name="F29"), "share")) == {path for path in many.paths if "f29" in path}
    (notice,) = blocks(views.view((), {"name": "nobody"}), Notice)
    assert notice.text == "no path has 'nobody' in its name"
    below = listed(under="main->f0", order="by name")
    assert set(column(below, "share")) == {path for path in many.paths if f"{path}->".startswith("main->f0->")}


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


def test_a_path_shows_what_was_measured_and_what_is_predicted(model):
    view = model.views().view(("path", "main->io"), {})
    charts = {chart.title: chart for chart in blocks(view, Chart)}
    curve, residuals = charts["Measured and predicted"].tables
    found = model.predict({"p": [256.0], "path": ["main->io"]}, interval=0.95)[0]
    row = next(row for row in curve.rows if row[0] == "256")
    low, high = map(float, row[5].split(" .. "))
    assert [float(row[3]), low, high] == pytest.approx(found, rel=1e-3)
    means = measured(LAWS).query("callpath == 'main->io'").groupby("p").time_s.mean()
    shown = {float(row[0]): float(row[1].split(" ± ")[0]) for row in curve.rows if row[1]}
    assert shown == pytest.approx(means.to_dict(), rel=1e-2)  # but for the weights of outliers
    laws = table(view, "Laws that the data leave")
    assert sum(per_cent(text(row[1])) for row in laws.rows) == pytest.approx(1.0, abs=5e-4 * len(laws.rows))
    for row in residuals.rows:
        assert per_cent(row[3]) == pytest.approx(float(row[1]) / float(row[2]) - 1.0, abs=2e-4)
    relatives = table(view, "Callers")
    assert [(text(row[0]), row[1]) for row in relatives.rows] == [("main", "calls it"), ("write", "called")]


def test_what_is_not_determined_is_said_with_what_to_measure():
    model = fitted(measured({"a": lambda p: 1.0 + p, "b": lambda p: p * np.log2(p)}, noise=0.1))
    unsure = next(row.path for row in model.rows if not row.determined)
    view = model.views().view(("path", unsure), {})
    assert any(block.text.startswith("Not determined by these data") for block in blocks(view, Notice))
    factors = [float(row[1]) for row in table(view, "What to measure next").rows]
    assert factors == sorted(factors, reverse=True)  # farther out tells more, and anything more than nothing


def test_paths_without_a_law_are_named():
    data = measured(LAWS)
    data = data[(data.callpath != "main->io") | (data.p < 16)]
    views = fitted(data).views()
    view = views.view((), {})
    assert column(table(view, "Not fitted"), "reason")["main->io"].startswith("measured at 2 points")
    assert column(table(view, "Call tree"), "growth")["io"] == ""  # which still calls one that has a law
    (notice,) = blocks(views.view(("path", "main->io"), {}), Notice)
    assert "measured at 2 points" in notice.text


def test_a_single_path_is_shown_at_once():
    model = fitted(measured({"all": lambda p: 3.0 + p}))
    views = model.views()
    assert list(views.paths()) == [()]
    assert "Measured and predicted" in [chart.title for chart in blocks(views.view((), {}), Chart)]


def test_two_parameters_have_a_panel_and_a_class_each():
    rng = np.random.default_rng(2)
    rows = [
        (p, n, path, scale * (1.0 + 0.01 * n * np.log2(p)) * (1.0 + 0.02 * rng.standard_normal()))
        for p, n in itertools.product(P, (10, 20, 40, 80))
        for path, scale in (("x", 1.0), ("y", 3.0))
    ]
    data = pd.DataFrame(rows, columns=["p", "n", "callpath", "time_s"])
    views = fitted(data, parameter="p,n", at="p=256,n=100").views()
    found = table(views.view((), {"at.n": "320"}), "Paths")
    assert column(found, "growth over p")["x"] in ("logarithmic", "logarithmic to sublinear", "sublinear")
    assert column(found, "growth over n")["y"] in ("linear", "sublinear", "sublinear to linear", "sublinear to n log n")
    assert "at p = 256, n = 320 (s)" in found.header
    path = views.view(("path", "x"), {})
    assert len(next(chart for chart in blocks(path, Chart)).tables) == 3  # two curves, and residuals of all points
    assert len(blocks(views.view(("growth",), {}), Table)) == 2


def test_a_function_that_calls_itself_two_thousand_times_is_shown_as_far_as_rows_go():
    deep = "->".join(["f"] * 2000)
    views = fitted(measured({deep: lambda p: p, "g": lambda p: 1.0 + p})).views()
    found = table(views.view((), {"rows": "500"}), "Call tree")
    assert len(found.rows) in (500, 501)
    assert per_cent(column(found, "with callees")["g"]) == pytest.approx(0.5, abs=0.02)
    more = next(row[0] for row in found.rows if text(row[0]).endswith("1 more"))
    assert len(table(views.view((), more.link.query), "Call tree").rows) > 400
    assert len(table(views.view(("path", deep), {}), "Callers").rows) < 100


def test_all_that_a_report_may_not_have_is_left_out_of_it(many):
    found = report_text(many.views(), most_views=4)
    assert len(found) < 400_000
    assert "<form" not in found
    assert "Call tree" in found
    sections = re.findall(r'<section id="(view[^"]*)"', found)
    assert len(sections) == 4
    assert set(re.findall(r'href="#(view[^"]*)"', found)) <= set(sections)
    # The paths with the largest shares come first.
    assert list(many.views().paths())[2:] == [("path", row.path) for row in many.rows]


def test_forms_keep_the_rest_of_the_state(many):
    query = {"order": "by name", "name": "f1", "rows": "7", "at.p": "512"}
    for form in blocks(many.views().view((), query), Form):
        assert {field.name: field.value for field in form.fields} == query


def test_classes_become_brighter_as_they_grow_faster():
    seen = [contrast("#000000", class_colour(name)) for name in CLASSES]
    assert seen == sorted(seen)
    assert len(STEPS) == len(CLASSES)
    for name in CLASSES:
        for colour in (class_colour(name), class_colour(name, is_sure=False)):
            assert contrast(colour, text_on(colour)) >= 4.5
