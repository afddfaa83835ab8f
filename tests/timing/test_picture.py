"""Pictures of scaling models: what is drawn where, and that nothing in the data stops or spoils them."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import perfcore
from perfcore.report import Band, Line, Points

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


def laid_out(model):
    """Places of labels and ticks are found, and warned of, only when a figure is laid out, which takes most time."""
    figure = perfcore.plot(model).figure
    figure.draw_without_rendering()
    return figure


def plot_of(model, title):
    return next(plot for plot in model.report().plots if plot.title == title)


def marks_of(plot, kind, **attributes):
    """Marks of a kind with these attributes, such as a label."""
    wanted = attributes.items()
    return [m for m in plot.marks if isinstance(m, kind) and all(getattr(m, name) == value for name, value in wanted)]


@pytest.fixture(scope="module")
def gapped():
    """Four codes on four systems, one of them never run on one of these, three runs each."""
    return table(runs=3, missing=[("SP", "Paragon")])


@pytest.fixture(scope="module")
def joint_model(gapped):
    return joint(gapped)


def test_lines_are_predictions(joint_model):
    """Solid from the first to the last measured point, dashed to four times the last, and not below one processor."""
    plot = plot_of(joint_model, "LU")
    for system in SYSTEMS:
        (solid,) = marks_of(plot, Line, label=system)
        (above,) = marks_of(plot, Line, label="extrapolated", colour=solid.colour)
        assert (solid.style, above.style) == ("solid", "dashed")
        assert solid.x[[0, -1]] == pytest.approx([1, 128])
        assert above.x[[0, -1]] == pytest.approx([128, 512])
        for part in (solid, above):
            points = {"p": part.x, "code": "LU", "system": system}
            assert part.y == pytest.approx(joint_model.predict(points), rel=1e-12)


def test_a_pair_that_was_never_measured_has_a_dotted_line_with_hollow_points(joint_model):
    plot = plot_of(joint_model, "SP")
    (dotted,) = marks_of(plot, Line, label="never measured (predicted)")
    (hollow,) = marks_of(plot, Points, label="Paragon")
    assert (dotted.style, hollow.is_filled) == ("dotted", False)
    points = {"p": hollow.x, "code": "SP", "system": "Paragon"}
    assert hollow.y == pytest.approx(joint_model.predict(points), rel=1e-12)


def test_bands_are_the_bounds_clipped_at_the_axes(joint_model):
    plot = plot_of(joint_model, "BT")
    bands = marks_of(plot, Band)
    assert len(bands) == len(SYSTEMS)
    for system, band in zip(SYSTEMS, bands, strict=True):
        bounds = joint_model.predict_array({"p": band.x, "code": "BT", "system": system}, interval=0.95)[:, 1:]
        assert np.stack([band.low, band.high], 1) == pytest.approx(np.clip(bounds, *plot.y.limits), rel=1e-9)


@pytest.mark.parametrize("weights", ["equal", "relative", "spread"])
@pytest.mark.parametrize("fit", [joint, individual])
def test_residuals_are_those_of_the_fit(fit, weights):
    """Their squares sum up to what the fit minimised, and the largest has the quantile of the largest of n.

    The median of the largest of n normal values is the quantile 0.5^(1/n) (Filliben, Technometrics 17, 1975).
    """
    data = pd.concat([table(*TWO, runs=2), table(("BT",), TWO[1], seed=1)])
    model = fit(data, weights=weights)
    plots = {plot.name: plot for plot in model.report().plots}
    residuals, quantiles = (
        np.concatenate([(mark.x, mark.y) for mark in marks_of(plots[name], Points) if mark.label != "outliers"], 1)
        for name in ("residuals", "quantiles")
    )
    assert residuals.shape == (2, 32)
    assert np.sum(residuals[1] ** 2) == pytest.approx(model.statistics["sse"], rel=1e-8)
    assert quantiles[1] == pytest.approx(residuals[1])
    assert quantiles[0, np.argmax(quantiles[1])] == pytest.approx(norm.ppf(0.5 ** (1 / 32)), rel=1e-6)


STRANGE = {
    "two codes on 16 systems": table(("a", "b"), [f"s{k}" for k in range(16)], (1, 2, 4)),
    "exactly determined": table(*TWO, (1, 2)), "no noise": table(*TWO, noise=0.0),
    "negative coefficients": table(*TWO, (3, 5, 7), noise=1.0),
    "below one": table(*TWO, (0.25, 0.5, 1, 2)), "large sizes": table(*TWO, (10**5, 10**6, 10**7)),
    "single points": pd.concat([table(*TWO), table(("BT",), ("once",), (7,)), table(("once",), ("T3D",), (7,))]),
    "runs that differ by more than they take": pd.concat([table(*TWO, runs=2), table(*TWO).assign(time_s=30.0)]),
    "constant times": table(*TWO).assign(time_s=3.0),
}  # fmt: skip


@pytest.mark.parametrize(
    ("fit", "case"),
    [*((joint, case) for case in STRANGE), *((individual, case) for case in ("exactly determined", "single points"))],
)
def test_nothing_in_the_data_stops_a_picture(fit, case):
    for axes in laid_out(fit(STRANGE[case])).axes:
        assert np.isfinite([*axes.get_xlim(), *axes.get_ylim()]).all()


# Data frames of timing models and rankings: every number with all digits, and what it belongs to.
U = {"1/p": lambda p: 1 / p, "1/sqrt(p)": lambda p: p**-0.5}
SPEEDS = {"SP2": (1.0, 1.0), "T3D": (0.5, 0.8), "Paragon": (0.3, 0.6)}
WORK = {"BT": (900.0, 20.0), "LU": (400.0, 30.0), "MG": (60.0, 5.0)}


@pytest.fixture
def runs():
    """Three codes on three systems that obey the joint model, with relative errors of 2 %."""
    rng = np.random.default_rng(0)
    rows = [
        (code, system, p, sum(w / r * u(p) for w, r, u in zip(work, speed, U.values(), strict=True)))
        for code, work in WORK.items()
        for system, speed in SPEEDS.items()
        for p in (2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
    ]
    table = pd.DataFrame(rows, columns=["code", "system", "p", "time_s"])
    return table.assign(time_s=table["time_s"] * (1 + 0.02 * rng.standard_normal(len(table))))


def test_parameters_make_the_predictions_of_the_joint_model(runs):
    """T = sum_i (w_i^c / r_i^s) u_i(p), with the numbers of the data frame alone."""
    model = perfcore.fit(runs, fitter="strohmaier", functions="1/p,1/sqrt(p)", reference="SP2", prepare="none")
    frame = model.to_frame()
    work = frame[frame["code"] != ""].set_index(["function", "code"])["estimate"]
    speed = frame[frame["system"] != ""].set_index(["function", "system"])["estimate"]
    assert len(work) + len(speed) == len(frame) == 2 * (len(WORK) + len(SPEEDS) - 1)
    p = np.array([3.0, 100.0])
    for code in WORK:
        for system in SPEEDS:
            times = sum(work[name, code] / (1.0 if system == "SP2" else speed[name, system]) * U[name](p) for name in U)
            assert model.predict({"p": p, "code": code, "system": system}) == pytest.approx(times, rel=1e-9)
    assert ((frame["upper"] + frame["lower"]) / 2).tolist() == pytest.approx(frame["estimate"].tolist())
    assert ((frame["upper"] - frame["lower"]) > 2 * frame["standard_error"]).all()


def test_intervals_that_do_not_close_are_infinite(runs):
    """With the second function 0 on the T3D, no speed there is too large: its interval has no upper end."""
    exact = runs.assign(time_s=[
        sum(w / r * u(p) for w, r, u in zip(WORK[code], SPEEDS[system], U.values(), strict=True) if r > 0.0)
        - (WORK[code][1] / SPEEDS["T3D"][1] * U["1/sqrt(p)"](p) if system == "T3D" else 0.0)
        for code, system, p in zip(runs["code"], runs["system"], runs["p"], strict=True)
    ])  # fmt: skip
    noise = np.random.default_rng(1).standard_normal(len(exact))
    table = exact.assign(time_s=exact["time_s"] * (1 + 0.02 * noise))
    model = perfcore.fit(table, fitter="strohmaier", functions="1/p,1/sqrt(p)", reference="SP2", intervals="profile",
                         prepare="none")  # fmt: skip
    open_ends = {each.name for each in model.intervals if each.upper is None or each.lower is None}
    frame = model.to_frame()
    assert open_ends
    assert set(frame.loc[np.isinf(frame["lower"]) | np.isinf(frame["upper"]), "parameter"]) == open_ends
