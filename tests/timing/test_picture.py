"""Pictures of scaling models: what is drawn where, and that nothing in the data stops or spoils them."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from scipy.stats import norm

import perfcore
from perfcore.base.errors import DataError

CODES, SYSTEMS = ("BT", "LU", "SP", "MG"), ("SP2", "Paragon", "T3D", "PCArray")
COUNTS = (1, 2, 4, 8, 16, 32, 64, 128)
TWO = (("BT", "LU"), ("SP2", "T3D"))


def table(codes=CODES, systems=SYSTEMS, counts=COUNTS, *, noise=0.03, runs=1, seed=0, missing=()):
    """Run times of two functions, work over speed, with log-normal noise."""
    rng = np.random.default_rng(seed)
    rows = [
        (code, system, p, ((c + 3) / p / (s + 1) + 0.2 / np.sqrt(p) / (s + 2)) * np.exp(noise * rng.standard_normal()))
        for c, code in enumerate(codes)
        for s, system in enumerate(systems)
        for p in counts
        for _ in range(runs)
        if (code, system) not in missing
    ]
    return pd.DataFrame(rows, columns=["code", "system", "p", "time_s"])


def joint(data, functions="1/p,1/sqrt(p)", **options):
    return perfcore.fit(data, fitter="strohmaier", functions=functions, starts=1, validate=False, **options)


def individual(data, functions="1/p,1/sqrt(p)", **options):
    return perfcore.fit(data, fitter="individual", functions=functions, **options)


def drawn(model, data=None):
    figure = Figure(layout="constrained")
    model.draw(figure, data)
    return figure


def laid_out(model, data=None):
    """Places of labels and ticks are found, and warned of, only when a figure is laid out, which takes most time."""
    figure = drawn(model, data)
    figure.draw_without_rendering()
    return figure


def panel(figure, title):
    return next(axes for axes in figure.axes if axes.get_title() == title)


def line(axes, label):
    return next(line for line in axes.lines if line.get_label() == label)


def markers(axes):
    """Places of the measured points in a panel (n, 2)."""
    return np.concatenate([line.get_xydata() for line in axes.lines if line.get_linestyle() == "None"])


def texts(figure):
    """Every text of the figure, legends and titles included, by what it says."""
    import matplotlib.text

    return {text.get_text(): text for text in figure.findobj(matplotlib.text.Text)}


def said(figure):
    return " ".join(figure.get_suptitle().split())


@pytest.fixture(scope="module")
def gapped():
    """Four codes on four systems, one of them never run on one of these, three runs each."""
    return table(runs=3, missing=[("SP", "Paragon")])


@pytest.fixture(scope="module")
def joint_model(gapped):
    return joint(gapped)


@pytest.fixture(scope="module")
def joint_figure(joint_model):
    return laid_out(joint_model)


def test_parts_of_a_joint_picture(joint_figure):
    titles = [axes.get_title() for axes in joint_figure.axes]
    estimates = ["w_1: 1/p", "w_2: 1/sqrt(p)", "r_1: 1/p", "r_2: 1/sqrt(p)"]
    assert titles[:5] == [*CODES, "Residuals"]
    assert titles[5].startswith("Normal Q-Q, correlation 0.9")
    assert titles[6:] == estimates
    first = joint_figure.axes[0]
    assert (first.get_xscale(), first.get_yscale(), first.get_ylabel()) == ("log", "log", "time_s (s)")
    assert panel(joint_figure, "MG").get_xlabel() == "p"
    assert {*SYSTEMS, "fit", "extrapolated", "never measured (predicted)", "95% of single runs"} <= set(
        texts(joint_figure)
    )


def test_lines_are_predictions(joint_model, joint_figure):
    """Solid from the first to the last measured point, dashed to four times the last, and not below one processor."""
    axes = panel(joint_figure, "LU")
    for system in SYSTEMS:
        solid, below, above = (
            line(axes, system + end) for end in ("", " (extrapolated below)", " (extrapolated above)")
        )
        assert (solid.get_linestyle(), above.get_linestyle()) == ("-", "--")
        assert solid.get_xdata()[[0, -1]] == pytest.approx([1, 128])
        assert above.get_xdata()[[0, -1]] == pytest.approx([128, 512])
        assert below.get_xdata() == pytest.approx([1])
        for part in (solid, above):
            points = {"p": part.get_xdata(), "code": "LU", "system": system}
            assert part.get_ydata() == pytest.approx(joint_model.predict(points), rel=1e-12)


def test_never_measured_pairs_of_a_joint_model_are_dotted(gapped, joint_model, joint_figure):
    axes = panel(joint_figure, "SP")
    dotted = line(axes, "Paragon (predicted)")
    assert dotted.get_linestyle() == ":"
    predicted = joint_model.predict({"p": dotted.get_xdata(), "code": "SP", "system": "Paragon"})
    assert dotted.get_ydata() == pytest.approx(predicted, rel=1e-12)
    assert sum(isinstance(shape, PolyCollection) for shape in axes.collections) == len(SYSTEMS)  # it has its band too
    others = [line.get_label() for code in CODES if code != "SP" for line in panel(joint_figure, code).lines]
    assert not any("(predicted)" in label for label in others)
    labels = [line.get_label() for line in panel(drawn(individual(gapped)), "SP").lines]
    assert not any("Paragon" in label for label in labels)


def test_bands_are_the_bounds_clipped_at_the_axes(joint_model, joint_figure):
    axes = panel(joint_figure, "BT")
    bands = [shape for shape in axes.collections if isinstance(shape, PolyCollection)]
    assert len(bands) == len(SYSTEMS)
    bottom, top = axes.get_ylim()
    for system, band in zip(SYSTEMS, bands, strict=True):
        x, y = band.get_paths()[0].vertices.T
        bounds = joint_model.predict({"p": x, "code": "BT", "system": system}, interval=0.95)[:, 1:]
        distance = np.abs(np.clip(bounds, bottom, top) / y[:, None] - 1.0).min(axis=1)
        assert distance.max() < 1e-9


def test_error_bars_are_the_spread_of_the_runs(gapped, joint_figure):
    bars = [shape for shape in panel(joint_figure, "MG").collections if isinstance(shape, LineCollection)]
    found = sorted(float(part[1, 1] - part[0, 1]) for bar in bars for part in bar.get_segments())
    spread = gapped[gapped.code == "MG"].groupby(["system", "p"]).time_s.std()
    assert found == pytest.approx(sorted(2.0 * spread))
    single = panel(drawn(individual(table())), "MG")
    assert not any(isinstance(shape, LineCollection) for shape in single.collections)


@pytest.mark.parametrize("weights", ["equal", "relative", "spread"])
@pytest.mark.parametrize("fit", [joint, individual])
def test_residuals_are_those_of_the_fit(fit, weights):
    """Their squares sum up to what the fit minimised, and the largest has the quantile of the largest of n.

    The median of the largest of n normal values is the quantile 0.5^(1/n) (Filliben, Technometrics 17, 1975).
    """
    data = pd.concat([table(*TWO, runs=2), table(("BT",), TWO[1], seed=1)])
    model = fit(data, weights=weights)
    figure = drawn(model)
    residuals = markers(panel(figure, "Residuals"))
    rings = [line for line in panel(figure, "Residuals").lines if line.get_label() == "outliers"]
    ringed = len(rings[0].get_xdata()) if rings else 0
    values = residuals[: len(residuals) - ringed, 1]
    assert len(values) == 32
    assert np.sum(values**2) == pytest.approx(model.statistics["sse"], rel=1e-8)
    quantiles = markers(figure.axes[3])[:32]
    assert quantiles[:, 1] == pytest.approx(values)
    largest = quantiles[np.argmax(quantiles[:, 1]), 0]
    assert largest == pytest.approx(norm.ppf(0.5 ** (1 / 32)), rel=1e-6)


@pytest.mark.parametrize("fit", [joint, individual])
def test_outliers_are_ringed_and_named(fit):
    data = table()
    wrong = (data.code == "SP") & (data.system == "T3D") & (data.p == 16)
    data.loc[wrong, "time_s"] *= 1.8
    model = fit(data, weights="relative")
    figure = drawn(model)
    flagged = np.flatnonzero(model.outliers().flagged)
    assert "SP on T3D, p=16" in {model.describe(int(k)) for k in flagged}
    for axes in figure.axes[4:6]:
        assert len(line(axes, "outliers").get_xdata()) == len(flagged)
    assert any("SP on T3D, p=16" in text for text in texts(figure))


def test_estimates_have_their_standard_errors(joint_model, joint_figure):
    axes = panel(joint_figure, "r_2: 1/sqrt(p)")
    others = [system for system in SYSTEMS if system != joint_model.reference]
    assert [label.get_text() for label in panel(joint_figure, "r_1: 1/p").get_yticklabels()] == others
    errors = {parameter.name: parameter for parameter in joint_model.parameters}
    bars = [segment for shape in axes.collections for segment in shape.get_segments()]
    assert len(bars) == len(others)
    for row, (system, bar) in enumerate(zip(others, bars, strict=True)):
        parameter = errors[f"r_2^{system}"]
        ends = parameter.estimate + np.array([-1.0, 1.0]) * parameter.standard_error
        assert bar[:, 0] == pytest.approx(ends)
        assert bar[:, 1] == pytest.approx([row, row])


def test_undetermined_parameters_are_said_and_arbitrary_lines_are_not_drawn():
    """One point cannot tell two speeds of a system apart; at other places its prediction is anything."""
    data = table(systems=("a", "b"))
    once = table(("BT",), ("once",), (16,))
    model = joint(pd.concat([data, once]), reference="a")
    figure = drawn(model)
    words = [text.get_text() for axes in figure.axes[-2:] for text in axes.texts]
    assert words == ["not determined"] * 2
    lines = [line.get_label() for line in panel(figure, "BT").lines]
    assert "a" in lines
    extrapolated = line(panel(figure, "BT"), "once (extrapolated above)").get_ydata()
    assert np.isnan(extrapolated[1:]).all()
    few = individual(pd.concat([data, once]))
    of_once = {line.get_label() for line in panel(drawn(few), "BT").lines if "once" in line.get_label()}
    assert of_once == {"once (measured)"}


def test_other_data_replace_the_points_and_not_the_lines(joint_model, joint_figure):
    other = pd.concat([table(("LU",), counts=(1000, 2000), seed=5), table(("unknown",))])
    figure = drawn(joint_model, other)
    assert "points of other data than the model's" in said(figure)
    assert "32 points are of codes or systems that the model does not have" in said(figure)
    axes = figure.axes[0]
    points = markers(axes)
    expected = other[other.code == "LU"]
    assert sorted(points[:, 1]) == pytest.approx(sorted(expected.time_s))
    solid = line(axes, "T3D")
    assert solid.get_xdata()[[0, -1]] == pytest.approx([1, 128])
    assert line(axes, "T3D (extrapolated above)").get_xdata()[-1] == pytest.approx(8000)
    assert "outliers" not in texts(figure)


def test_the_data_of_the_fit_are_the_models_own(gapped, joint_model, joint_figure):
    figure = drawn(joint_model, gapped)
    assert said(figure) == said(joint_figure)
    assert markers(figure.axes[4]) == pytest.approx(markers(joint_figure.axes[4]))


def test_dropped_outliers_are_not_drawn():
    data = table(("BT", "LU"))
    data.loc[5, "time_s"] *= 3.0
    model = joint(data, drop_outliers=True)
    count = len(model.dropped)
    assert count >= 1
    for figure in (drawn(model), drawn(model, data)):
        assert f"outliers left out of fit and picture: {count}" in said(figure)
        assert "other data" not in said(figure)
        assert sum(len(markers(axes)) for axes in figure.axes[:2]) == len(data) - count


def test_data_without_any_code_of_the_model_are_refused(joint_model):
    with pytest.raises(DataError, match="no code on a system over p that the model has"):
        drawn(joint_model, table(("unknown",)))


def test_one_pair_has_one_large_panel():
    data = table(("BT",), ("SP2",)).drop(columns=["code", "system"])
    figure = laid_out(individual(data))
    large, residuals, quantiles = figure.axes
    assert (large.get_title(), residuals.get_title()) == ("", "Residuals")
    assert quantiles.get_title().startswith("Normal Q-Q")
    assert residuals.get_xlabel() == "p"
    assert large.get_position().height > 1.5 * residuals.get_position().height
    assert markers(large) == pytest.approx(data[["p", "time_s"]].to_numpy())


def test_several_parameters_are_drawn_at_their_most_frequent_values():
    parts = [table(("BT", "LU"), ("SP2",), counts).assign(n=n) for n, counts in ((100, COUNTS[:5]), (200, COUNTS))]
    data = pd.concat(parts).drop(columns="system")
    model = individual(data, "1/p,1/n", parameter=["p", "n"])
    figure = drawn(model)
    assert "lines at n=200, where 16 of 26 points are" in said(figure)
    axes = panel(figure, "LU")
    assert len(markers(axes)) == len(COUNTS)
    solid = next(line for line in axes.lines if line.get_linestyle() == "-")
    predicted = model.predict({"p": solid.get_xdata(), "n": 200, "code": "LU"})
    assert solid.get_ydata() == pytest.approx(predicted, rel=1e-12)
    assert len(markers(panel(figure, "Residuals"))) == 26


def test_names_are_shown_as_they_are():
    codes = ("$x_1$", "_hidden", r"\frac{", "a$b" + "$c_" * 40)
    systems = ("_first", "100$", "$y^2$")
    data = table(codes, systems).rename(columns={"p": "p$_1$", "time_s": "time_$t$_s"})
    for fit in (individual, joint):
        figure = laid_out(fit(data, parameter="p=p$_1$", value="time_$t$_s"))
        found = texts(figure)
        assert {*codes[:3], *systems, "p$_1$"} <= set(found)
        shown = [text for name, text in found.items() if "$" in name and text.get_visible()]
        assert not any(text.get_parse_math() for text in shown)
        assert max(len(axes.get_title()) for axes in figure.axes) < 40


def test_functions_with_poles_leave_gaps():
    """The extrapolation to 4 * 128 comes to a pole, which the measured points do not."""
    figure = drawn(individual(table(("BT",), ("a", "b")), "1/p,1/(512-p)"))
    assert np.isnan(line(figure.axes[0], "a (extrapolated above)").get_ydata()[-1])


def many_pairs():
    p = np.array([1, 2, 4, 8, 16])
    rng = np.random.default_rng(0)
    pair = np.repeat(np.arange(5000), len(p))
    across = np.tile(p, 5000)
    value = (10.0 / across + 1.0 + pair % 7) * np.exp(0.05 * rng.standard_normal(len(pair)))
    names = {"code": [f"c{k // 50}" for k in pair], "system": [f"s{k % 50}" for k in pair]}
    return pd.DataFrame({**names, "p": across, "time_s": value})


def test_thousands_of_pairs():
    """Twelve panels, and what is not shown is said."""
    figure = laid_out(individual(many_pairs(), "1/p,1"))
    assert len(figure.axes) == 12 + 2
    assert "codes not shown: 88; systems in grey: 36; panels too full for bounds: 12" in said(figure)
    points = markers(panel(figure, "c0"))
    assert len(points) == 50 * 5


STRANGE = {
    "two codes on 16 systems": table(("a", "b"), [f"s{k}" for k in range(16)], (1, 2, 4)),
    "exactly determined": table(*TWO, (1, 2)),
    "no noise": table(*TWO, noise=0.0),
    "negative coefficients": table(*TWO, (3, 5, 7), noise=1.0),
    "below one": table(*TWO, (0.25, 0.5, 1, 2)),
    "large sizes": table(*TWO, (10**5, 10**6, 10**7)),
    "single points": pd.concat([table(*TWO), table(("BT",), ("once",), (7,)), table(("once",), ("T3D",), (7,))]),
    "runs that differ by more than they take": pd.concat([table(*TWO, runs=2), table(*TWO).assign(time_s=30.0)]),
    "constant times": table(*TWO).assign(time_s=3.0),
}


@pytest.mark.parametrize("fit", [joint, individual])
@pytest.mark.parametrize("case", STRANGE)
def test_nothing_in_the_data_stops_a_picture(fit, case):
    figure = laid_out(fit(STRANGE[case]))
    for axes in figure.axes:
        assert np.isfinite([*axes.get_xlim(), *axes.get_ylim()]).all()


def test_more_systems_than_markers_are_grey():
    figure = drawn(individual(table(("a", "b"), [f"s{k}" for k in range(30)], (1, 2, 4))))
    assert "systems in grey: 16; panels too full for bounds: 2" in said(figure)
    styles = {(part.get_color(), part.get_marker()) for part in panel(figure, "a").lines if part.get_marker() != "None"}
    assert len(styles) == 14 + 1
    assert len(markers(panel(figure, "b"))) == 30 * 3


def test_a_single_point_and_a_single_function():
    figure = drawn(individual(table(("BT",), ("SP2",), (4,)), "1/p"))
    assert markers(figure.axes[0])[:, 0] == pytest.approx([4])
    assert markers(panel(figure, "Residuals"))[0, 1] == pytest.approx(0.0, abs=1e-12)


def test_many_functions_of_a_joint_model():
    figure = laid_out(joint(table(*TWO), "1/p^2,1/p,log(p)/p,1/sqrt(p),1,log(p),p"))
    assert "functions whose w and r are not shown: 1" in said(figure)
    assert len(figure.axes) == 2 + 2 + 2 * 6
