"""What a picture's data say, against what results, models and data say themselves: every mark, by panel and by name."""

import itertools

import numpy as np
import pandas as pd
import pytest
from result_kinds import AVAILABILITY, HALO, KINDS

import perfcore
from perf_views.pictures.picture import plot
from perfcore.results import Result

NPB = "examples/npb/timings.csv"
CLOSE = {"rtol": 2e-8, "atol": 1e-9}  # nine digits are written


@pytest.fixture
def drawn(tmp_path):
    def of(kind, **how):
        """The result or data, and its picture's data."""
        made = KINDS[kind]()
        made = perfcore.read(made) if isinstance(made, str) else made
        model, data = (made, None) if isinstance(made, Result) else (None, made)
        plot(model, data, figures=tmp_path / "drawn.csv", **how)
        return made, pd.read_csv(
            tmp_path / "drawn.csv",
            dtype={"panel": str},
            keep_default_na=False,
            na_values={"y": "", "low": "", "high": ""},
        )

    return of


@pytest.mark.parametrize("kind", ["IndividualModel", "JointModel"])
def test_curves_of_codes_on_systems(drawn, kind):
    """Lines are predictions, solid only where the pair was measured; points are the rows of the file."""
    model, rows = drawn(kind)
    runs = pd.read_csv(NPB)
    of_codes = rows[rows.panel.isin(runs.code)]
    assert {(row.x_axis, row.y_axis) for row in of_codes.itertuples()} == {("p", "time_s (s)")}
    measured = runs.groupby(["code", "system"])
    for (code, label), line in of_codes[of_codes.kind == "line"].groupby(["panel", "label"]):
        system = label.partition(" (")[0]
        at = {"p": line.x.to_numpy(), "code": [code] * len(line), "system": [system] * len(line)}
        np.testing.assert_allclose(line.y, model.predict(at), **CLOSE)
        if label == system:
            ends = measured.get_group((code, system)).p
            assert (line.x.min(), line.x.max()) == (ends.min(), ends.max())
    points = of_codes[of_codes.label.str.endswith("(measured)")]
    in_file = sorted(zip(runs.code, runs.system + " (measured)", runs.p, runs.time_s, strict=True))
    assert sorted(zip(points.panel, points.label, points.x, points.y, strict=True)) == in_file
    never = set(itertools.product(runs.code.unique(), runs.system.unique())) - set(measured.groups)
    for code, system in never if kind == "JointModel" else ():
        of_pair = of_codes[(of_codes.panel == code) & of_codes.label.str.startswith(system)]
        assert set(of_pair.label) == {f"{system} (predicted)", f"{system} (95% of single runs)"}


def test_bands_are_the_models_bounds(drawn):
    model, rows = drawn("ComposedModel")
    band, line = rows[rows.kind == "band"], rows[rows.label == "composed"]
    at = {"p": line.x.to_numpy(), "code": ["BT"] * len(line), "system": ["SP2"] * len(line)}
    value, lower, upper = model.predict(at, interval=0.95).T
    np.testing.assert_allclose(line.y, value, **CLOSE)
    np.testing.assert_allclose(band[["low", "high"]], np.column_stack([lower, upper]), **CLOSE)
    forecast, rows = drawn("ForecastModel")
    band, frame = rows[rows.label == "95%"], forecast.to_frame()
    np.testing.assert_allclose(band[["x", "low", "high"]], frame[["steps", "lower", "upper"]], rtol=1e-6)
    assert set(rows.y_axis) == {"cpu 0 available"}


def test_models_by_category(drawn):
    lca, rows = drawn("LcaModel")
    by_category = pd.read_csv("tests/golden/by_category.csv")
    assert {(row.x_axis, row.y_axis) for row in rows.itertuples()} == {("P", "time_s (s)")}
    for category, formula in lca.to_frame()[["category", "formula"]].itertuples(index=False):
        of_panel = rows[rows.panel == category]
        chosen = of_panel[of_panel.label.str.startswith(f"{formula} ") & (of_panel.kind == "line")]
        at = {"P": chosen.x.to_numpy(), "category": [category] * len(chosen)}
        np.testing.assert_allclose(chosen.y, lca.predict(at), **CLOSE)
        assert set(of_panel[of_panel.label == "measured"].x) == set(by_category.P)
    modgen, rows = drawn("ModgenModel")
    points = rows[(rows.panel == "1") & (rows.label != "total")]
    means = by_category.groupby(["P", "D", "category"]).time_s.mean().reset_index()
    assert sorted(points.x) == pytest.approx(sorted(means.time_s), rel=1e-8)
    assert sorted(points.y) == pytest.approx(
        sorted(modgen.predict(means[["P", "D", "category"]].to_dict("list"))), rel=1e-8
    )
    shares = rows[rows.kind == "band"]
    sums = by_category.groupby(["P", "category"]).time_s.sum().unstack()
    widths = (shares.high - shares.low).groupby([shares.x, shares.label]).sum().unstack()
    np.testing.assert_allclose(widths[sums.columns], sums.div(sums.sum(axis=1), axis=0), rtol=1e-6, atol=1e-9)


def test_phases_stay_within_the_processors_and_share_their_time_axis(drawn):
    model, rows = drawn("PhaseModel")
    line = rows[rows.label.str.startswith("model")]
    inside = ~line.x.duplicated(keep=False) & (line.x < line.x.max())  # where two phases meet both are drawn
    at = model.start + 1e6 * line.x.to_numpy()[inside]
    np.testing.assert_allclose(line.y[inside], np.clip(model.predict(at), 0.0, model.n_locations), rtol=1e-5, atol=1e-5)
    assert line.y.between(0.0, model.n_locations).all()
    _, rows = drawn("PhaseComparison")
    assert rows[rows.kind == "line"].groupby("panel").x.max().to_list() == pytest.approx([rows.x.max()] * 2)
    assert rows.x.max() == pytest.approx((model.end - model.start) / 1e6)
    assert rows.y.between(0.0, model.n_locations).all()


def test_bars_have_lengths_and_names(drawn):
    profile, rows = drawn("OverheadProfile")
    by_location = rows[rows.kind == "horizontal bar"]
    assert list(dict.fromkeys(by_location.y_name)) == list(profile.locations)
    lengths = (by_location.high - by_location.low).groupby(by_location.label).mean()
    lost = profile.to_frame().set_index("category").time_s
    for name, length in lengths.items():
        assert length == pytest.approx(100.0 * lost[name] / lost.sum(), rel=1e-7)
    answers, rows = drawn("Answers")
    ends = rows.groupby("y_name").high.max()
    frame = answers.to_frame()
    assert ends.to_dict() == pytest.approx(
        {"as it was": frame.before_ns[0] / 1e6, frame.question[0]: frame.runtime_ns[0] / 1e6}
    )
    profiles, rows = drawn("Profiles")
    times = profiles.to_frame().set_index("function").time_s
    elapsed = perfcore.overheads(HALO)[0].elapsed_ns / 1e9
    bars = rows[rows.kind == "horizontal bar"].set_index("y_name")
    assert bars.high.to_dict() == pytest.approx((100.0 * times / elapsed).to_dict())


def test_cells_and_values_by_name(drawn):
    messages, rows = drawn("MessageTable")
    cells = rows[rows.kind == "cell"]
    frame = messages.to_frame()
    assert sorted(zip(cells.y_name, cells.x_name, cells.low, strict=True)) == sorted(
        zip(frame["from"], frame.to, frame.bytes, strict=True)
    )
    value, rows = drawn("MeasuredValue")
    samples = pd.read_csv(AVAILABILITY)["cpu 0 available"]
    steps = rows[(rows.panel == "2") & (rows.label == "samples")]
    np.testing.assert_allclose(np.unique(steps.x), np.unique(samples), **CLOSE)
    curve = rows[(rows.panel == "2") & (rows.label == "normal")]
    np.testing.assert_allclose(curve.y, value.value.cdf(curve.x.to_numpy()), rtol=1e-6, atol=1e-9)
    bars = rows[rows.kind == "bar"]
    assert set(bars.label) == {"samples"}
    gate, rows = drawn("VersionGate")
    assert rows[rows.kind == "points"].y_name.to_list() == list(gate.to_frame().benchmark)


def test_distributions_and_probabilities(drawn):
    choice, rows = drawn("Choice")
    for name, curve in rows[rows.panel == "2"].groupby("label"):
        value = choice.to_frame().set_index("candidate").loc[name]
        assert np.interp([0.05, 0.5, 0.95], curve.y, curve.x) == pytest.approx(value[["p05", "p50", "p95"]], rel=2e-3)
    solution, rows = drawn("Solution")
    np.testing.assert_allclose(rows[["x", "y"]], solution.to_frame()[["n", "probability"]], rtol=1e-8, atol=1e-12)
    iterations, rows = drawn("Iterations")
    each = rows[rows.kind == "points"].drop_duplicates("x")  # the slowest is marked
    assert sorted(each.y) == pytest.approx(sorted(iterations.to_frame().duration_us / 1e3))


def test_data_are_drawn_as_they_are(drawn):
    curve, rows = drawn("UtilizationCurve")
    assert set(rows.kind) == {"step"}
    assert rows.y.to_list() == curve.heights.tolist()
    assert (1e-6 * rows.x.to_numpy()).tolist() == pytest.approx((curve.edges[:-1] * 1e-6).tolist())
    runs = pd.read_csv(NPB)
    _, rows = drawn("Measurements")
    assert sorted(zip(rows.label, rows.x, rows.y, strict=True)) == sorted(
        zip(runs.code + " on " + runs.system, runs.p, runs.time_s, strict=True)
    )
