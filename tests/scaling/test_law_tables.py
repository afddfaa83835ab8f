"""What people read of scaling laws: shares, growth, what is not determined, and every law of one path."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PolyCollection
from scipy.stats import norm

import perfcore
from perf_scaling import engine
from perf_scaling.many import fit_series
from perf_scaling.options import ScalingOptions
from perfcore.base.errors import DataError, InputError, PerfError
from perfcore.report import Band, Line, Points

LEVELS = np.array([4.0, 8, 16, 32, 64])
VALUES = {"solve": 10 + 1000 / LEVELS, "exchange": 2 + 0.5 * LEVELS, "setup": np.full(5, 3.0)}


def fitted(values=VALUES, **options):
    rows = [(p, path, y) for path, own in values.items() for p, y in zip(LEVELS, own, strict=True)]
    table = pd.DataFrame(rows, columns=["p", "function", "time_s"])
    return perfcore.fit(table, fitter="scaling", **{"at": "p=256", **options})


@pytest.fixture(scope="module")
def model():
    return fitted()


def test_the_largest_share_at_the_target_comes_first(model):
    """At p = 256: exchange 130, solve 13.9, setup 3 of 146.9."""
    title, header, rows = model.report().shown_tables[0]
    assert [row[0] for row in rows] == ["exchange", "solve", "setup"]
    assert [float(row[1].rstrip("%")) for row in rows] == pytest.approx([88.5, 9.5, 2.0], abs=0.5)
    assert title == "At p=256 (4x beyond the data); % of total (exclusive)"
    cells = dict(zip(header, rows[0], strict=True))
    assert float(cells["predicted [s]"]) == pytest.approx(130, rel=0.03)
    low, high = map(float, cells["95% interval [s]"].strip("[]").split(", "))
    assert low <= 130 <= high
    assert cells["model in measured range"] == "2 + 0.5*p"
    assert cells["growth"].removeprefix("at least ").split(" to ")[0] in ("sublinear", "linear")


@pytest.mark.parametrize("arrow", ["->", "/"])
def test_of_inclusive_values_shares_are_of_the_outermost(arrow):
    inner = VALUES["solve"]
    model = fitted({"main": 2 * inner + 1, f"main{arrow}a": inner, f"main{arrow}b": inner, "other": inner})
    whole = model.whole
    assert whole.inclusive
    assert whole.counted.tolist() == [True, False, False, True]
    share = {row.path: row.share for row in model.rows}
    assert share["main"] + share["other"] == pytest.approx(1.0)
    assert "% of total (inclusive)" in model.report().shown_tables[0][0]


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
    value, low, high = rest.predict_array({"p": [128.0]}, interval=0.95)[0]
    measured = data.time_s.iloc[-1]
    assert model.check.median_error == pytest.approx(abs(value / measured - 1), rel=1e-6)
    assert model.check.inside == float(low <= measured <= high)
    label = "Check" if model.check.inside else "Uncertain"
    assert any(line.startswith("p=128 predicted from the others") for line in model.report().notes_by_label()[label])


def test_the_check_is_of_paths_with_three_levels_left(monkeypatch):
    """Errors and bounds are those of fits without the largest level, path by path; of three levels there is none."""
    lengths = {"a": 6, "b": 4, "c": 3}
    levels = 2.0 ** np.arange(6)
    off = {"a": 1.6, "b": 1.01, "c": 1.0}
    rows = [
        (p, name, (5.0 + 80.0 / p) * (off[name] if p == levels[n - 1] else 1.0 + 0.01 * (-1) ** k))
        for name, n in lengths.items() for k, p in enumerate(levels[:n])
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["p", "function", "time_s"])
    errors, inside = [], []
    for name in ("a", "b"):
        own = table[table.function == name].drop(columns="function")
        value, low, high = perfcore.fit(own[:-1], fitter="scaling").predict_array([own.p.max()], interval=0.95)[0]
        measured = own.time_s.iloc[-1]
        errors.append(abs(value / measured - 1))
        inside.append(low <= measured <= high)
    assert perfcore.fit(table[table.function == "c"], fitter="scaling").check is None
    both = perfcore.fit(table, fitter="scaling").check
    assert both.paths == 2
    assert both.median_error == pytest.approx(np.mean(errors), rel=0.1, abs=0.01)
    assert inside == [False, True]
    assert both.inside == 0.5
    grid = [(p, n, name, p + n) for name in "abc" for p in (1, 2, 4, 8) for n in (10, 20)]
    monkeypatch.setattr(engine, "_MOST_MEANS", 20)  # two paths of eight points
    table = pd.DataFrame(grid, columns=["p", "n", "function", "time_s"])
    assert perfcore.fit(table, fitter="scaling", parameter="p,n").check.paths == 2


@pytest.mark.parametrize(("n_levels", "counts_less"), [(29, False), (30, True)])
def test_of_thirty_levels_and_more_several_may_deviate(n_levels, counts_less):
    p = np.arange(1.0, n_levels + 1.0)
    noise = np.exp(0.01 * np.random.default_rng(3).standard_normal(n_levels))
    times = (100 / p + 1) * noise * np.where(np.isin(p, [6, 12]), 2.0, 1.0)
    table = pd.DataFrame({"function": "few", "p": p, "time_s": times})
    longer = pd.DataFrame({"function": "thirty", "p": np.arange(1.0, 31.0), "time_s": 1.0})
    model = perfcore.fit(pd.concat([table, longer]), fitter="scaling")
    counts = model.posterior.counts[model.paths.index("few"), :n_levels]
    # Student's t of four degrees of freedom: 5 / (4 + d^2), of deviations d of about 70.
    assert ((counts[[5, 11]] < 0.01) == counts_less).all()
    assert np.delete(counts, [5, 11]).min() > 0.2


# Pictures of scaling laws: what is drawn where, and that no data stop or spoil them.
P = (4.0, 8.0, 16.0, 32.0, 64.0)


def laid_out(model):
    """Places of labels and ticks are found, and warned of, only when a figure is laid out."""
    figure = model.plot().figure
    figure.draw_without_rendering()
    return figure


@pytest.fixture(scope="module")
def three():
    laws = {f"main->f{k}": lambda p, k=k: (k + 1.0) * (1.0 + p) for k in range(3)}
    return perfcore.fit(measured(laws), fitter="scaling")


def test_means_median_bounds_and_target_are_where_the_model_has_them(three):
    axes, path = laid_out(three).axes[0], three.paths.index("main->f2")
    means = next(line for line in axes.lines if line.get_marker() == "o" and len(line.get_xdata()) == len(P))
    np.testing.assert_allclose(means.get_xydata(), np.stack([P, three.means[path]], axis=1))
    (diamond,) = (line for line in axes.lines if line.get_marker() == "D")
    (target,) = three.predict({"p": [256.0], "path": ["main->f2"]})
    np.testing.assert_allclose(diamond.get_xydata(), [[256.0, target]])
    solid = next(line for line in axes.lines if line.get_linestyle() == "-" and line.get_marker() == "None")
    assert (solid.get_xdata()[0], solid.get_xdata()[-1]) == (4.0, 64.0)
    run, mean = (area.get_paths()[0].vertices for area in axes.collections if isinstance(area, PolyCollection))
    assert np.ptp(run[run[:, 0] == 64.0, 1]) > np.ptp(mean[mean[:, 0] == 64.0, 1]) > 0.0
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert [tick for tick in axes.get_xticks() if 4 <= tick <= 256] == [4, 8, 16, 32, 64, 128, 256]


def test_intervals_hold_the_median_and_one_another(three):
    wide, likely = (mark for mark in three.report().plots[0].marks if isinstance(mark, Band))
    middle = np.array([y for mark in three.report().plots[0].marks if isinstance(mark, Line) for y in mark.y])
    assert np.all(np.array(wide.low) <= likely.low)
    assert np.all(np.array(likely.high) <= wide.high)
    assert np.all(np.array(likely.low) <= likely.high)
    assert min(wide.low) <= middle.min() <= middle.max() <= max(wide.high)


# Views of scaling laws: trees from names, what the pages say against other ways to compute it, and their bounds.
LAWS = {
    "main": lambda p: 1.0 + 0.0 * p, "main->solve": lambda p: 0.1 * p**2, "main->solve->sweep": lambda p: 200.0 / p,
    "main->solve->exchange": lambda p: 4.0 * np.log2(p), "main->io": lambda p: 0.5 * p,
    "main->io->write": lambda p: 0.02 * p,
}  # fmt: skip


def measured(laws, runs=3, noise=0.02, seed=0):
    rng = np.random.default_rng(seed)
    rows = [
        (p, path, float(law(p)) * (1.0 + noise * rng.standard_normal()))
        for path, law in laws.items()
        for p in P
        for _ in range(runs)
    ]
    return pd.DataFrame(rows, columns=["p", "callpath", "time_s"])


@pytest.fixture(scope="module")
def model_of_law_views():
    return perfcore.fit(measured(LAWS), fitter="scaling", at="p=256")


def table(view, title):
    tables = (block for block in view.blocks if type(block).__name__ == "Table")
    return next(block for block in tables if block.title.startswith(title))


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
        names = (f"main{arrow}solve{arrow}mpi", "main", f"main{arrow}io")
        data = measured(dict.fromkeys(names, LAWS["main"]), runs=1)
        (tree,) = perfcore.fit(data, fitter="scaling").whole.trees
        assert tree.names == ("main", "solve", "mpi", "io")
        assert tree.callers == (-1, 0, 1, 0)
        assert tree.paths == (1, -1, 0, 2)
        assert tree.depths == (0, 1, 2, 1)


def test_the_tree_shows_each_region_below_its_caller_and_what_the_model_predicts(model_of_law_views):
    found = table(model_of_law_views.views().view((), {}), "Call tree")
    assert [row[0].indent for row in found.rows] == [0, 1, 2, 2, 1, 2]
    names = {name.split("->")[-1]: name for name in LAWS}
    predicted = model_of_law_views.predict({"p": [256.0] * len(names), "path": list(names.values())})
    values = dict(zip(names, predicted, strict=True))
    shown = column(found, "at p=256 [s]")
    shares = {name: per_cent(share) for name, share in column(found, "share").items()}
    for name, value in values.items():
        assert float(shown[name]) == pytest.approx(value, rel=1e-3)
        assert shares[name] == pytest.approx(value / sum(values.values()), abs=6e-4)
    whole = {name: per_cent(share) for name, share in column(found, "with callees").items()}
    assert whole["solve"] == pytest.approx(shares["solve"] + shares["sweep"] + shares["exchange"], abs=2e-3)
    assert whole["main"] == 1.0
    growth = column(found, "growth")
    assert (growth["solve"], growth["main"], growth["sweep"]) == ("quadratic", "constant", "falling")


def test_the_page_of_a_path_at_another_target_is_the_report_of_its_model(model_of_law_views):
    model = model_of_law_views
    name = model.rows[0].path
    headline, *_ = model.views().view(("path", name), {"at.p": "512"}).blocks
    assert headline.text == model.at({"p": 512.0}).part(model.paths.index(name)).report().answer


# The candidates, and the same number for one point wherever it is asked.
REAL = [
    (1, 10.2, 2, 5.3, 4, 2.9, 8, 1.68, 16, 1.12, 32, 0.86),
    (1, 98.2, 2, 50.1, 4, 25.9, 8, 14.1, 16, 8.02),
    (1, 3.5, 2, 3.7, 4, 4.0, 8, 4.4, 16, 5.0, 32, 5.83),
]


@pytest.mark.parametrize("n_series", [6, pytest.param(60, marks=pytest.mark.slow)])
def test_candidates_mix_to_the_prediction(n_series):
    """Of each series, the median of the mixture of its candidates' distributions is the prediction to 1 %."""
    rng = np.random.default_rng(9)
    levels = (0.025, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.45, 0.5)  # and those above, of each candidate
    scores = norm.ppf([*levels, *(1.0 - level for level in reversed(levels[:-1]))])
    for number in range(n_series):
        p = 2.0 ** np.arange(4 + number % 4)
        law = rng.uniform(0.1, 1.0) + p ** rng.choice([-1.0, -0.7, 0.0, 0.5, 1.0]) * rng.uniform(0.5, 5.0)
        times = (law + rng.choice([0.0, 0.01]) * p) * np.exp(rng.choice([0.002, 0.05]) * rng.standard_normal(len(p)))
        model = perfcore.fit(pd.DataFrame({"p": p, "time_s": times}), fitter="scaling")
        rows = model.candidate_rows()
        assert sum(row.probability for row in rows) == pytest.approx(1.0)
        at = np.geomspace(min(row.low for row in rows), max(row.high for row in rows), 4001)
        below = sum(
            row.probability * norm.cdf(np.interp(np.log(at), np.log(row.quantiles), scores, left=-9.0, right=9.0))
            for row in rows
        )
        assert at[np.searchsorted(below, 0.5)] == pytest.approx(model.rows[0].predicted, rel=0.01)


@pytest.mark.parametrize(("series", "scale"), [(REAL[0], 1.0), (REAL[1], 2.0), *((own, 4.0) for own in REAL)])
def test_one_point_has_one_number_and_one_interval(series, scale, tmp_path):
    data = pd.DataFrame({"p": series[::2], "time_s": series[1::2]})
    at = scale * float(series[-2])
    model = perfcore.fit(data, fitter="scaling", at=f"p={at}")
    predicted = model.predict_array({"p": [at]}, interval=0.95)[0].tolist()
    report = model.report()
    figure = report.figures[0]
    assert (figure.value, *figure.interval) == pytest.approx(predicted)
    assert figure.kind == "95% interval of a single run"
    assert (model.rows[0].predicted, model.rows[0].low, model.rows[0].high) == pytest.approx(predicted)
    if scale > 1.0:
        assert model.levels_along[-1].predicted == pytest.approx(predicted)
        if model.speedup is not None:  # from the measured smallest level
            factor = at if model.speedup.scaling == "weak" else 1.0
            assert model.speedup.levels[-1].speedup[0] == pytest.approx(factor * series[1] / predicted[0])
    diamond = next(mark for mark in report.plots[0].marks if isinstance(mark, Points) and mark.shape == "diamond")
    assert diamond.y == pytest.approx(predicted[:1])
    found = perfcore.validate(model, pd.DataFrame({"p": [at], "time_s": [predicted[0]]}))
    assert (found.predicted[0], found.lower[0], found.upper[0]) == pytest.approx(predicted)
    assert perfcore.compare(model, model, at=f"p={at}").totals.values[:, 0] == pytest.approx([predicted[0]] * 2)
    content = json.loads(json.dumps(model.details(), default=float))
    assert content["paths"][0]["predicted"] == pytest.approx(predicted[0])
    assert content["levels"][-1]["level"] == at


def test_two_levels_do_not_determine_a_model():
    answer = perfcore.fit(pd.DataFrame({"p": [1, 2], "time_s": [10.0, 5.5]}), fitter="scaling").report().answer
    assert answer.startswith("Not determined at p=8 (4x beyond the data): 2 levels do not determine a model")
    assert "measur" in answer


def test_what_spans_more_than_a_factor_of_ten_is_not_determined():
    data = pd.DataFrame({"cores": [1, 2, 4, 8, 16, 32], "time_s": [40.0, 19.0, 10.5, 4.4, 3.9, 2.6]})
    model = perfcore.fit(data, fitter="scaling", at="cores=2048")
    row = model.rows[0]
    assert row.high > 10 * row.low
    answer = model.report().answer
    assert answer.startswith("Not determined at cores=2048 (64x beyond the data): ")
    assert "; measuring cores=64 would narrow it to a factor of " in answer


def test_a_level_that_the_model_misses_is_named():
    p = np.array([1.0, 2, 4, 8, 16, 32, 64])
    times = 100 / p + 1
    times[3] *= 1.4
    model = perfcore.fit(pd.DataFrame({"p": p, "time_s": times}), fitter="scaling")
    (text,) = (t for t in model.report().notes_by_label()["Uncertain"] if "misses" in t)
    assert "p=8 by 40%" in text


def test_an_outlier_among_tens_of_exact_levels_has_bounds():
    """Of times that follow a law to rounding it counts for nothing, so that its own mean is open."""
    p = np.arange(1.0, 31.0)
    model = perfcore.fit(pd.DataFrame({"p": p, "time_s": (100 / p + 1) * np.where(p == 6, 2.0, 1.0)}), fitter="scaling")
    assert model.report().figures[0].value == pytest.approx(100 / 120 + 1, rel=0.05)
    assert np.isfinite(model.levels_along[5].measured).all()


def test_a_total_has_one_number_and_one_interval(tmp_path):
    """The fit, its file, a prediction, and the table of levels say the same of all paths together."""
    rows = [(p, name, a + b / p) for name, a, b in (("x", 2.0, 90.0), ("y", 1.0, 40.0)) for p in (1, 2, 4, 8, 16)]
    table = pd.DataFrame(rows, columns=["p", "callpath", "time_s"])
    model = perfcore.fit(table, fitter="scaling", at="p=64")
    model.save(tmp_path / "model.json")
    total = re.search(r": ([^:]* in total, 95% interval [^;]*);", model.report().answer)[1]
    again = perfcore.predict(str(tmp_path / "model.json"), at="p=64", interval=0.95).report()
    assert f": {total}; " in again.answer
    by_level = next(row.predicted for row in model.levels_along if row.level == 64)
    np.testing.assert_array_equal(model.totals([[64.0]])[0, :3], by_level)
    rates = table.assign(time_s=100.0 / table["time_s"]).rename(columns={"time_s": "tokens/s/gpu"})
    assert "in total" not in perfcore.predict(perfcore.fit(rates, fitter="scaling"), at="p=64").report().answer


def test_a_rate_of_each_processor_is_predicted_as_the_time_of_a_growing_problem():
    table = pd.DataFrame({"gpus": [8, 16, 32, 64, 128, 256], "step_s": [4.25, 4.37, 4.49, 4.6, 4.72, 4.84]})
    times = perfcore.fit(table, scaling="weak", at="gpus=1024").report().figures[0]
    rates = pd.DataFrame({"gpus": table["gpus"], "tokens/s/gpu": 16384.0 / table["step_s"]})
    rate = perfcore.fit(rates, at="gpus=1024").report().figures[0]
    assert [rate.value, *rate.interval[::-1]] == pytest.approx([16384.0 / t for t in (times.value, *times.interval)])
    totals = pd.DataFrame({"gpus": table["gpus"], "tokens/s": rates["tokens/s/gpu"] * table["gpus"]})
    model = perfcore.fit(totals, scaling="weak", at="gpus=1024")
    assert model.unit == "tokens/s/gpu"
    assert [model.report().figures[0].value] == pytest.approx([rate.value])
    assert perfcore.validate(model, totals).report().figures == perfcore.validate(model, rates).report().figures
    strong = [perfcore.fit(data, scaling="strong", at="gpus=1024").report().figures[0] for data in (totals, rates)]
    assert strong[0].value == pytest.approx(strong[1].value)
    by_run, of_gpu = (perfcore.fit(data.assign(sd=0.01 * data.iloc[:, 1]), scaling="weak") for data in (totals, rates))
    assert by_run.data[0].spread == pytest.approx(of_gpu.data[0].spread)
    projection = perfcore.project(totals, scaling="weak", at="gpus=1024")
    assert projection.report().figures == model.report().figures
    assert projection.report().notes_by_label()["Check"] == model.report().notes_by_label()["Check"]
    assert perfcore.validate(projection, totals).report().figures == perfcore.validate(model, totals).report().figures


@pytest.mark.parametrize("scaling", ["weak", "strong"])
def test_rows_are_named_and_kept_alike_whatever_the_scaling_of_a_rate(scaling, tmp_path):
    lines = [f"{gpus},{rate}" for gpus, rate in ((8, 80.0), (16, 152.0), (32, 280.0), (64, 500.0))]
    (tmp_path / "twice.csv").write_text("\n".join(["gpus,tokens/s", *lines, *lines]))
    with pytest.raises(InputError, match=r"twice\.csv:6: from here on the rows repeat those from line 2"):
        perfcore.fit(str(tmp_path / "twice.csv"), scaling=scaling)
    kept = perfcore.read(str(tmp_path / "twice.csv"), duplicates="keep")
    assert perfcore.fit(kept, scaling=scaling).data[0].counts == (2.0,) * 4
    with pytest.raises(DataError, match=r"row 4: .* from row 0"):
        perfcore.fit(pd.read_csv(tmp_path / "twice.csv"), scaling=scaling)
    for cell, text in (
        ("-", r"left out, without tokens/s\S*: 1 of 4 rows: - \(line 3\)"),
        ("fast", "twice.csv:3: .*'fast'"),
    ):
        (tmp_path / "twice.csv").write_text("\n".join(["gpus,tokens/s", lines[0], f"16,{cell}", *lines[2:]]))
        try:
            said = perfcore.fit(str(tmp_path / "twice.csv"), scaling=scaling).notes
        except InputError as error:
            said = (str(error),)
        assert any(re.search(text, line) for line in said), said
    negative = pd.DataFrame({"gpus": [8, 16, 32], "tokens/s": [80.0, -152.0, 280.0]})
    with pytest.raises(DataError, match=r"-152; a positive number|holds -152"):  # as in the table
        perfcore.fit(negative, scaling=scaling)
    (tmp_path / "paths.csv").write_text("\n".join(["path,gpus,tokens/s", *(f"a,{line}" for line in lines)]))
    options = ScalingOptions(path="path", scaling=scaling)
    found = fit_series(tmp_path / "paths.csv", tmp_path / "models.parquet", options)
    alone = perfcore.fit(pd.read_csv(tmp_path / "paths.csv").drop(columns="path"), scaling=scaling).report().figures[0]
    assert (found.unit, found.largest[0][2]) == (alone.unit, pytest.approx(alone.value))


def test_a_rate_of_each_processor_keeps_its_efficiency():
    """Twice the GPUs at the same tokens per second and GPU do twice the work."""
    table = pd.DataFrame({"gpus": [8, 16, 32, 64], "tokens/s/gpu": [3100.0, 3050.0, 2980.0, 2800.0]})
    levels = perfcore.fit(table, fitter="scaling", at="gpus=64").speedup.levels
    assert [row.efficiency[0] for row in levels[:4]] == pytest.approx([1, 3050 / 3100, 2980 / 3100, 2800 / 3100])
    assert levels[3].speedup[0] == pytest.approx(8 * 2800 / 3100)


def test_operations_of_a_server_are_no_parts_of_a_run_but_operators_are():
    rows = [(name, p, base * p**0.1) for name, base in (("GET", 100.0), ("SET", 120.0)) for p in (1, 2, 4, 8)]
    assert not perfcore.fit(pd.DataFrame(rows, columns=["op", "clients", "latency_us"])).has_parts
    assert perfcore.fit(pd.DataFrame(rows, columns=["operator", "p", "time_us"]), fitter="scaling").has_parts


@pytest.mark.parametrize(("names", "adds_up"), [
    ({"region": "ab"}, True), ({"label": ["total", "io"]}, True), ({"label": ["main", "main->io"]}, True),
    ({"label": ["mpi_wait", "solve"]}, True), ({"label": ["cg", "gmres"]}, False),
    ({"scheme": "ab"}, False),  # of two ways to run one is no part of the other
    ({"region": "abab", "metric": ["time", "time", "visits", "visits"]}, False),
])  # fmt: skip
def test_only_parts_of_one_run_are_added_up(names, adds_up):
    series = pd.DataFrame({name: list(values) for name, values in names.items()}).assign(scale=lambda f: f.index + 1.0)
    runs = series.merge(pd.DataFrame({"p": [1, 2, 4, 8]}), how="cross")
    model = perfcore.fit(runs.assign(value=runs["scale"] / runs["p"]).drop(columns="scale"), path=[*names], at="p=32")
    report = model.report()
    assert (" in total" in report.answer) == (report.figures[0].name == "total") == model.adds_up == adds_up


@pytest.mark.parametrize(("runs", "noise", "names"), [(1, 0.0, 2), (3, 0.02, 2), (3, 0.5, 1)])
def test_ways_whose_curves_cross_are_no_repeated_runs(runs, noise, names):
    """One solver is 2.5 times slower on one processor and 1.6 times faster on eight."""
    shifts = np.exp(noise * np.array([-1.0, 0.1, 0.9]))
    curves = {"direct": (10.0, 5.0, 2.6, 1.4), "iterative": (4.0, 3.0, 2.5, 2.2)}
    rows = [(solver, p, time * shift) for solver, times in curves.items()
            for p, time in zip((1, 2, 4, 8), times, strict=True) for shift in shifts[:runs]]  # fmt: skip
    assert len(perfcore.fit(pd.DataFrame(rows, columns=["solver", "p", "time_s"])).paths) == names


def test_a_name_for_each_number_of_processors_is_no_system():
    rows = [
        (f"{code}-cluster-{p}", code, p, work / p) for code, work in (("lu", 8.0), ("cg", 5.0)) for p in (1, 2, 4, 8)
    ]
    model = perfcore.fit(pd.DataFrame(rows, columns=["system", "benchmark", "p", "time_s"]))
    assert (model.origin.fitter, model.paths) == ("scaling", ("lu", "cg"))


def test_runs_without_the_processors_in_question_are_left_out():
    """Such as runs on CPUs in a table of accelerators."""
    rows = [(None, 0, 64, 90.0), *(("a", p, 64 * p, 100.0 / p) for p in (1, 2, 4, 8))]
    model = perfcore.fit(pd.DataFrame(rows, columns=["kind", "accelerators", "batch", "time_s"]), path=("kind",))
    assert model.points["p"] == (1.0, 2.0, 4.0, 8.0)


def test_a_text_that_shifts_all_points_alike_makes_series():
    """Two configurations 24 % apart at each of four points are no repeated runs."""
    gpus = [8, 16, 32, 64]
    times = [31, 30.5, 29.8, 28, 25, 24.8, 24.4, 23.9]
    table = pd.DataFrame({"config": ["A"] * 4 + ["B"] * 4, "gpus": gpus * 2, "time_s": times})
    assert perfcore.fit(table, fitter="scaling").paths == ("A", "B")
    same = table.assign(time_s=[31, 30.5, 29.8, 28, 30.8, 30.6, 29.7, 28.2])
    assert len(perfcore.fit(same, fitter="scaling").paths) == 1


def test_one_factor_at_a_time_is_a_factor_and_not_noise():
    """Sizes at one number of processors, and processors at one size."""
    points = [(p, 64) for p in (1, 2, 4, 8, 16)] + [(4, n) for n in (16, 32, 128, 256)]
    table = pd.DataFrame(points, columns=["p", "n"])
    model = perfcore.fit(table.assign(time_s=table["n"] / table["p"]), fitter="scaling", at="p=32,n=512")
    assert set(model.points) == {"p", "n"}
    assert model.rows[0].predicted == pytest.approx(16.0, rel=0.01)
    other = perfcore.fit(table.assign(time_s=table["n"] / table["p"], user_s=1.0), fitter="scaling")
    assert " ".join(other.report().closing(None)).count("time_s is measured, not user_s") == 1


def test_numbers_that_follow_from_a_variant_are_no_parameters():
    """Tiles of a decomposition: their product is the processors; the threads are those of the variant."""
    rows = [("2D", 16, 4, 4, 1), ("2D", 32, 4, 8, 1), ("2D", 64, 8, 8, 1), ("2D", 128, 8, 16, 1)]
    rows += [("1D", p, p, 1, 16 if p > 16 else 1) for p in (16, 32, 64, 128)]
    table = pd.DataFrame(rows, columns=["decomposition", "procs", "tiles_x", "tiles_y", "threads"])
    table["time_s"] = [1600.0 / row[1] + (row[0] == "1D") for row in rows]
    model = perfcore.fit(table, fitter="scaling")
    assert (model.paths, list(model.points)) == (("2D", "1D"), ["p"])
    grid = pd.concat([table.assign(size=size, time_s=size * table["time_s"]) for size in (1, 2)])
    with pytest.raises(PerfError, match="with parameter='procs,size', or hold it with where='size=1'"):
        perfcore.fit(grid[grid["decomposition"] == "2D"], fitter="scaling", parameter="procs")


@pytest.mark.parametrize(("third", "n_outliers"), [(245.0, 0), (219.0, 1)])
def test_runs_of_which_half_are_far_away_are_noise_and_no_outliers(third, n_outliers):
    times = [219.0, 190, third, 51, 50, 50, 26, 26, 25, 13, 13, 14]
    model = perfcore.fit(pd.DataFrame({"p": np.repeat([1, 2, 4, 8], 3), "time_s": times}), fitter="scaling")
    assert ("1 of 12 runs are outliers" in " ".join(model.report().closing(None))) == (n_outliers > 0)


def test_layouts_of_the_same_processors_do_not_scale():
    """Ranks times threads is always 16."""
    table = pd.DataFrame({"ranks": [1, 2, 4, 8, 16], "threads": [16, 8, 4, 2, 1], "time_s": [100.0, 95, 92, 97, 110]})
    assert perfcore.fit(table, fitter="scaling", parameter="ranks").speedup is None


@pytest.mark.parametrize(("columns", "name", "kind"), [
    ({"nx": [64, 128, 256, 512], "nz": [32] * 4}, "runs", "weak"),  # one side of the problem grows
    ({"nx": [64] * 4, "nz": [32] * 4}, "runs", "strong"),
    ({"width": [6000] * 4, "height": [4000] * 4}, "runs", "strong"),
    ({"threads": [2] * 4, "size": [200, 400, 800, 1600]}, "runs", "weak"),
    ({"efficiency": [1.0, 0.485, 0.238, 0.116]}, "runs", "strong"),  # time of one over time and processors
    ({"efficiency": [1.0, 0.97, 0.952, 0.93]}, "runs", "weak"),
    ({"speedup": [1.0, 0.97, 0.952, 0.93]}, "runs", "strong"),
    ({"speedup": [1.0, 1.94, 3.81, 7.41]}, "runs", "weak"),  # scaled
    ({"energy_efficiency": [1.0, 0.97, 0.952, 0.93]}, "runs", "weak"),  # says nothing: the time stays flat
    ({}, "strong_scaling", "strong"),
    ({}, "StrongScaling", "strong"),
    ({}, "strong_coupling", "weak"),  # of which the name says nothing: the time stays flat
])  # fmt: skip
def test_tables_say_whether_the_problem_grew(columns, name, kind, tmp_path):
    """The same times are a loss of work that is fixed, or nearly none of work that grows."""
    table = pd.DataFrame({"ranks": [1, 2, 4, 8], **columns, "time_s": [10.0, 10.31, 10.5, 10.8]})
    table.to_csv(file := tmp_path / f"{name}.csv", index=False)
    assert perfcore.fit(perfcore.read(file), fitter="scaling").speedup.scaling == kind


def test_parts_of_a_problem_that_is_fixed_scale_strongly():
    """Times that hardly fall: 19.5 of 24 s at four times the processes are an efficiency of 31 %."""
    rows = [(p, 4000, 8.0 + 2.0 / p, 10.0, 4.0 / p) for p in (1, 2, 4)]
    table = pd.DataFrame(rows, columns=["processes", "width", "solve_s", "setup_s", "io_s"])
    table["total_s"] = table[["solve_s", "setup_s", "io_s"]].sum(axis=1)
    assert perfcore.project(table, at="processes=8").scaling == "strong"
    assert perfcore.project(table.assign(width=1000 * table["processes"]), at="processes=8").scaling == "weak"


def test_runs_of_other_queries_at_one_point_are_no_repeated_runs():
    """Each has several runs, far from those of the others, as where two experiments stand in one table."""
    rows = [(n, engine, "all", factor * n * noise) for n in (1, 2, 4, 8) for engine, factor in (("a", 1.0), ("b", 3.0))
            for noise in (0.98, 1.0, 1.03)]  # fmt: skip
    rows += [(8, engine, "some", 2.0 * noise) for engine in "ab" for noise in (0.98, 1.0, 1.03)]
    model = perfcore.fit(pd.DataFrame(rows, columns=["size", "system", "query", "time_s"]), fitter="scaling")
    assert (sorted(model.paths), sorted(model.unfitted)) == (["a all", "b all"], ["a some", "b some"])


def test_no_model_goes_over_a_switch():
    """Without it, 0, a run is another one: each has its model, over what else was varied."""
    rows = [(p, on, (10.0 + 1600.0 / p) * (1.0 - 0.2 * on)) for p in (32, 64, 128, 256) for on in (0, 1)]
    model = perfcore.fit(pd.DataFrame(rows, columns=["cores", "fused", "time_s"]), fitter="scaling")
    assert (model.paths, [*model.columns.values()]) == (("fused=0", "fused=1"), ["cores"])
    assert any("one model for each fused" in note for note in model.notes)
    model = perfcore.fit(pd.DataFrame(rows, columns=["cores", "n", "time_s"]).query("n > 0"), fitter="scaling")
    assert model.paths == ("time_s",)


def test_of_layouts_on_several_nodes_the_nodes_scale():
    """Ranks of a node times threads is always 32; layouts are held where the largest run was the fastest."""
    rows = [(nodes, ranks, 32 // ranks, 4.0 + 92.0 / nodes + cost) for nodes in (1, 2, 4, 8)
            for ranks, cost in ((4, 0.3), (8, 0.1), (16, 4.0))]  # fmt: skip
    table = pd.DataFrame(rows, columns=["nodes", "ranks_per_node", "threads", "time"])
    model = perfcore.fit(table)
    assert model.target_text == "nodes=32, threads=4"
    named = perfcore.fit(table, at="nodes=32")
    assert named.report().answer == model.report().answer
    assert model.report().answer == perfcore.fit(table, at="nodes=32,threads=4").report().answer
    assert perfcore.project(table, at="nodes=32").report().answer == model.report().answer
    speedups = [row.speedup[0] for row in model.speedup.levels[:4]]
    assert speedups == pytest.approx([1, 96.1 / 50.1, 96.1 / 27.1, 96.1 / 15.6])
    assert model.details()["next_point"]["threads"] == 4


def test_a_size_of_each_node_scales_weakly_and_says_what_the_whole_size_says():
    """The time hardly grows with the nodes, at two sizes of each node; the total follows from both."""
    rows = [(n, cells, n * cells, cells * (5e-5 + 1e-6 * n)) for cells in (1_000_000, 4_000_000) for n in (1, 2, 4, 8)]
    model = perfcore.fit(pd.DataFrame(rows, columns=["nodes", "cells_per_node", "total_cells", "wall_s"]))
    assert model.target_text == "nodes=32, cells_per_node=4e+06"
    assert model.speedup.scaling == "weak"
    assert model.speedup.levels[3].efficiency[0] == pytest.approx(51 / 58, rel=0.03)


def test_one_rank_in_a_column_is_a_level_as_two_ranks_are():
    table = pd.DataFrame({"n": [1000, 2000], "1 rank": [1.2, 9.5], "2 ranks": [0.65, 4.9], "4 ranks": [0.36, 2.6]})
    assert perfcore.fit(table, fitter="scaling").points["p"] == (1.0, 1.0, 2.0, 2.0, 4.0, 4.0)


def test_numbers_of_versions_are_names():
    rows = [(v, p, s * (10.0 + 1600.0 / p)) for v, s in ((1.0, 1.0), (2.0, 0.9)) for p in (32, 64, 128)]
    table = pd.DataFrame(rows, columns=["version", "cores", "time_s"])
    assert perfcore.fit(table, fitter="scaling").paths == ("1", "2")


def test_a_rate_is_said_in_the_same_words_by_every_command():
    """Fit, its saved prediction and a projection at a bare target: one number in full, of what was measured."""
    table = pd.DataFrame({"clients": [1, 2, 4, 8, 16], "req_per_s": [1020.0, 2011, 3899, 7105, 11002]})
    table = table.assign(p50_ms=[0.9, 0.95, 1.0, 1.1, 1.4], p99_ms=[2.1, 2.4, 3.0, 4.4, 9.2])
    model = perfcore.fit(table, fitter="scaling", at="32")
    amount = re.search(r": ([\d,]+ req/s), 95% interval", model.report().answer)[1]
    assert f": {amount}, 95% interval" in perfcore.predict(model, at="clients=32", interval=0.95).report().answer
    assert f": {amount}, 95% interval" in perfcore.project(table, at="32").report().answer
    assert "not p50_ms, p99_ms" in " ".join(note.text for note in model.report().notes)


def test_tiny_times_that_jump_have_no_steeper_power_than_any_law():
    waits = ((2, 0.206), (3, 5.257), (4, 18.189))
    rows = [(1, "force", 22.4), (2, "force", 15.9), (3, "force", 10.3), (4, "force", 9.3)]
    table = pd.DataFrame([*rows, *((p, "wait", time) for p, time in waits)], columns=["p", "category", "time_s"])
    report = perfcore.fit(table, fitter="scaling", at=["p=8"]).report()
    assert "wait takes" in report.answer
    assert report.answer.endswith("scales like p^6")
