"""The fitter `strohmaier` as users call it: what predictions depend on, their coverage, validation, files, refusals."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import least_squares

import perfcore
from perfcore.base.errors import ModelFileError

CODES, SYSTEMS = ("BT", "LU", "SP", "MG"), ("SP2", "Paragon", "T3D", "PCArray")
PAIR = {"functions": "1/p,1/sqrt(p)", "reference": "SP2", "validate": False, "starts": 2}
NOISE = 0.05  # relative, of each time


def as_table(data):
    """Times t = t' / p of a synthetic joint problem, as a user's table."""
    names = {"code": [CODES[c] for c in data.code], "system": [SYSTEMS[s] for s in data.system]}
    return pd.DataFrame({**names, "p": data.p, "time_s": data.target / data.p})


@pytest.fixture
def table(joint):
    """Class A of Table 4 with relative errors; LU never ran on the Paragon."""
    exact = as_table(joint(missing=[(1, 1)]))
    rng = np.random.default_rng(0)
    return exact.assign(time_s=exact["time_s"] * (1 + NOISE * rng.standard_normal(len(exact))))


def fit(data, **options):
    return perfcore.fit(data, fitter="strohmaier", **PAIR | options)


AT = {"p": [3.0, 16.0, 300.0, 16.0], "code": ["LU", "SP", "BT", "LU"], "system": ["SP2", "T3D", "PCArray", "Paragon"]}


@pytest.mark.parametrize(
    "options", [{}, {"weights": "relative"}, {"functions": "1/p,1/p"}, {"sign": "bounded"}, {"loss": "huber"}]
)
def test_predictions_do_not_depend_on_the_reference_nor_on_signs_in_names(table, options):
    expected = fit(table, **options).predict_array(AT, interval=0.9)
    names = {"LU": "z", "SP": "a, b", "BT": "0", "SP2": "(x)"}
    at = AT | {what: [names.get(name, name) for name in AT[what]] for what in ("code", "system")}
    found = fit(table.replace(names), **options, reference="T3D").predict_array(at, interval=0.9)
    assert found == pytest.approx(expected, rel=1e-9)


def test_relative_weights_make_the_scale_irrelevant(table):
    """Relative errors are the same in every scale, so that all preparations must agree."""
    plain = fit(table, weights="relative", prepare="none").predict_array(AT, interval=0.9)
    work, peak = dict(zip(CODES, (168, 119, 85, 4), strict=True)), dict(zip(SYSTEMS, (266, 50, 150, 360), strict=True))
    for options in ({}, {"operations": work}, {"operations": work, "peak": peak}, {"peak": peak, "prepare": "peak"}):
        assert fit(table, weights="relative", **options).predict_array(AT, interval=0.9) == pytest.approx(
            plain, rel=1e-9
        )


@pytest.mark.parametrize("reference", [0, 1, 3])
@pytest.mark.parametrize("functions", [("1/p", "1/sqrt(p)"), ("1/p", "1"), ("1/p", "log(p)/p"), ("1/p^2", "p")])
def test_exact_times_give_their_parameters(joint, reference, functions):
    data = joint(functions, missing=[(0, 1), (2, 3)])
    model = fit(as_table(data), functions=functions, reference=SYSTEMS[reference], starts=5)
    assert (model.statistics["status"], model.rank) == ("converged", 14)
    assert np.array(model.work) == pytest.approx(data.w / data.r[:, [reference]], rel=1e-8)
    order = [SYSTEMS.index(name) for name in model.systems]
    expected = (data.r / data.r[:, [reference]])[:, order]
    assert 1 / np.array(model.inverse_speed) == pytest.approx(expected, rel=1e-8)


def test_parameters_of_another_scale_are_divided_by_its_quantities(joint):
    """Section 3: parameters of t' are those of t with the operation count and the peak divided out."""
    exact = as_table(joint())
    work, peak = dict(zip(CODES, (168, 119, 85, 4), strict=True)), dict(zip(SYSTEMS, (266, 50, 150, 360), strict=True))
    first, second = fit(exact), fit(exact, operations=work, peak=peak)
    for plain, scaled in zip(first.parameters, second.parameters, strict=True):
        kind, _, name = plain.name.partition("^")
        expected = plain.estimate / work[name] * peak["SP2"] if kind[0] == "w" else plain.estimate
        expected = expected if kind[0] == "w" else expected * peak["SP2"] / peak[name]
        assert scaled.estimate == pytest.approx(expected, rel=1e-7)
    assert second.parameters[0].unit == "s / operations * peak"


def test_a_code_on_a_system_where_it_never_ran(joint, table):
    truth = as_table(joint())
    model = fit(table, weights="relative")
    cell = truth[(truth["code"] == "LU") & (truth["system"] == "Paragon")]
    value, lower, upper = model.predict_array(cell[["p", "code", "system"]], interval=0.999).T
    assert value == pytest.approx(cell["time_s"].to_numpy(), rel=3 * NOISE)
    assert ((lower < cell["time_s"]) & (cell["time_s"] < upper)).all()
    assert model.remarks(cell[["p", "code", "system"]]) == ["extrapolated: no data for this code on this system"] * 6
    assert model.remarks({"p": [16, 128], "code": "BT", "system": "SP2"}) == ["", "extrapolated: p was 2 to 64"]


def test_a_cell_left_out_is_predicted_as_by_a_fit_without_it(table):
    model = fit(table, validate=True)
    seen = model.observations
    left_out = pd.DataFrame({
        "code": [model.codes[k] for k in seen.code], "system": [model.systems[k] for k in seen.system],
        "p": seen.points["p"], "left_out": model.left_out,
    })  # fmt: skip
    for code, system in (("BT", "SP2"), ("SP", "PCArray"), ("LU", "T3D")):
        mine = (table["code"] == code) & (table["system"] == system)
        rest = fit(table[~mine])
        cell = left_out[(left_out["code"] == code) & (left_out["system"] == system)]
        assert cell["left_out"].to_numpy() == pytest.approx(rest.predict(cell.drop(columns="left_out")), rel=1e-5)
    errors = np.abs(left_out["left_out"] / np.array(seen.value) - 1)
    assert model.statistics["mean_relative_error_left_out_cells"] == pytest.approx(errors.mean())
    assert model.statistics["max_relative_error_left_out_cells"] == pytest.approx(errors.max())


def test_a_code_measured_once_is_not_determined_by_the_others(table):
    """BT ran on one system only: without that cell nothing is known of it."""
    lone = table[(table["code"] != "BT") | (table["system"] == "T3D")]
    model = fit(lone, validate=True)
    bt = np.array(model.observations.code) == model.codes.index("BT")
    assert np.isnan(model.left_out_errors()[bt]).all()
    assert np.isfinite(model.left_out_errors()[~bt]).all()
    text = json.dumps(model.to_dict(), allow_nan=False)
    assert json.loads(text)["model"]["left_out"].count(None) == bt.sum()
    assert any("6 observations are not identifiable from the other pairs" in line for line in model.report().closing())


def test_figures_of_the_fit(table):
    model = fit(table)
    figures = model.statistics
    scaled = np.array(model.observations.value) * np.array(model.observations.points["p"])
    at = {
        "p": model.observations.points["p"],
        "code": [model.codes[k] for k in model.observations.code],
        "system": [model.systems[k] for k in model.observations.system],
    }
    residuals = scaled - model.predict(at) * np.array(model.observations.points["p"])
    squares = residuals @ residuals
    assert (figures["n_observations"], figures["n_parameters"], figures["degrees_of_freedom"]) == (90, 14, 76)
    assert figures["sse"] == pytest.approx(squares)
    assert figures["r2_uncentered"] == pytest.approx(1 - squares / (scaled @ scaled))
    assert figures["r2_centered"] == pytest.approx(1 - squares / (scaled.var() * 90))
    assert figures["residual_standard_error"] == pytest.approx(np.sqrt(squares / 76))
    assert figures["mean_relative_error"] == pytest.approx(np.abs(residuals / scaled).mean())
    assert figures["max_relative_error"] == pytest.approx(np.abs(residuals / scaled).max())
    count = 15  # and the variance
    likelihood = -45 * (np.log(2 * np.pi * squares / 90) + 1)
    assert figures["aicc"] == pytest.approx(-2 * likelihood + 2 * count * 90 / (90 - count - 1))
    assert figures["bic"] == pytest.approx(-2 * likelihood + count * np.log(90))


def test_weights_of_repeated_runs_are_those_of_single_ones(table):
    """The mean of k runs with weight k has the parameters of the k rows, by scipy's general least squares."""
    rng = np.random.default_rng(4)
    rows = table.loc[table.index.repeat(rng.integers(1, 4, len(table)))]
    rows = rows.assign(time_s=rows["time_s"] * (1 + NOISE * rng.standard_normal(len(rows))), run=np.arange(len(rows)))
    joined, unweighted = fit(rows, aggregate="mean", weights="repetitions"), fit(rows, aggregate="mean")
    codes = [joined.codes.index(name) for name in rows["code"]]
    systems = [joined.systems.index(name) for name in rows["system"]]
    p, t = rows["p"].to_numpy(), rows["time_s"].to_numpy()

    def residuals(theta):
        w, v = theta[:8].reshape(2, 4), np.ones((2, 4))
        v[:, [s != "SP2" for s in joined.systems]] = theta[8:].reshape(2, 3)
        return (w[:, codes] * v[:, systems] * np.stack([np.ones_like(p), np.sqrt(p)])).sum(axis=0) - t * p

    found = least_squares(residuals, joined.theta, xtol=1e-15, ftol=1e-15, gtol=1e-15)
    assert joined.theta == pytest.approx(found.x, rel=1e-6)
    assert np.abs(unweighted.theta / found.x - 1).max() > 1e-3


@pytest.mark.parametrize("size", [0.3, 0.6, 1.5, 4.0, 10.0])
def test_a_gross_outlier_is_the_most_conspicuous_and_the_only_one_that_is_dropped(joint, size):
    table = as_table(joint(noise=0.3, seed=2))
    spoilt, place = spoilt_by(size, table)
    kept, model = fit(spoilt), fit(spoilt, drop_outliers=True)
    assert np.abs(kept.outliers().studentized).argmax() == place
    assert kept.dropped == ()
    assert model.dropped == ("SP on T3D, p=64",)
    assert "outliers dropped: SP on T3D, p=64" in model.report().closing()[0]
    assert model.predict(AT) == pytest.approx(fit(table.drop(place)).predict(AT), rel=1e-9)


def spoilt_by(factor, table):
    """One time of the table changed, at the end of a series, where it draws the fit; and its row."""
    place = table.index[(table["code"] == "SP") & (table["system"] == "T3D") & (table["p"] == 64)][0]
    spoilt = table.copy()
    spoilt.loc[place, "time_s"] *= factor
    return spoilt, place


@pytest.mark.parametrize("loss", ["huber", "soft_l1", "cauchy"])
def test_a_robust_loss_withstands_what_squares_do_not(joint, table, loss):
    truth = fit(as_table(joint())).predict(AT)
    spoilt = table.copy()
    spoilt.loc[spoilt.index[::15], "time_s"] *= 3
    squares, robust = (np.abs(fit(spoilt, loss=each).predict(AT) / truth - 1) for each in ("linear", loss))
    assert robust.max() < 0.5 * squares.max()


def test_models_with_negative_parameters_come_last_and_are_not_chosen(table):
    by_criterion = perfcore.rank(table, fitter="strohmaier", criterion="sse", sign="any").candidates
    negative = ["negative parameters" in candidate.note for candidate in by_criterion]
    assert negative != sorted(negative)  # some would be before others
    found = perfcore.rank(table, fitter="strohmaier", criterion="sse").candidates
    assert list(found) == sorted(by_criterion, key=lambda candidate: "negative parameters" in candidate.note)
    model = fit(table, functions="all", criterion="sse")
    assert min(parameter.estimate for parameter in model.parameters) >= 0


def test_the_ranking_is_that_of_single_fits(table):
    ranking = perfcore.rank(table, fitter="strohmaier", reference="SP2", criterion="sse", sign="any")
    assert len(ranking.candidates) == 28
    squares = [candidate.figures["sse"] for candidate in ranking.candidates]
    assert squares == sorted(squares)
    for candidate in ranking.candidates[:6]:
        named = fit(table, functions=candidate.functions)
        assert named.statistics["sse"] == pytest.approx(candidate.figures["sse"], rel=1e-6)
        assert named.statistics["aicc"] == pytest.approx(candidate.figures["aicc"], rel=1e-6)
    best = fit(table, functions="all", criterion="sse", sign="any")
    assert best.functions == ranking.candidates[0].functions
    assert best.ranking == ranking.candidates


def test_no_part_is_negative_when_asked_for(table):
    free, bound = fit(table, functions="log(p)/p,p"), fit(table, functions="log(p)/p,p", sign="bounded")
    assert min(np.ravel(free.work).min(), np.ravel(free.inverse_speed).min()) < 0
    assert min(np.ravel(bound.work).min(), np.ravel(bound.inverse_speed).min()) >= 0
    assert bound.statistics["sse"] >= free.statistics["sse"]
    unbound, bound = fit(table, sign="any"), fit(table, sign="bounded")  # bounds that do not matter change nothing
    assert bound.theta == pytest.approx(unbound.theta, rel=1e-9)


@pytest.mark.parametrize(("path", "value", "message"), [
    (("functions",), ["1/p", "os.system"], "os.system"),
    (("functions",), ["1/p"], "work does not belong to the model's functions, codes and systems"),
    (("work", 0), [1.0], "work does not belong"), (("work", 0, 0), None, "Expected `float`, got `null`"),
    (("inverse_speed",), [[1.0, 1.0]], "inverse_speed does not belong"),
    (("covariance",), [[1.0]], "covariance does not belong"), (("reference",), "T3E", "reference does not belong"),
    (("undetermined",), [], "undetermined does not belong"), (("at_bound",), [True], "at_bound does not belong"),
    (("left_out",), [1.0], "left_out does not belong"), (("root_weights",), [1.0], "weights"),
    (("observations", "code"), [0], "columns of different lengths"),
    (("codes",), ["BT"], "of a code or system that has no name"),
    (("rank",), 1.5, "Expected `int`"), (("status",), None, "Expected `str`"),
    (("extra",), 1, "unknown field `extra`"),
])  # fmt: skip
def test_files_edited_by_hand(table, tmp_path, path, value, message):
    content = json.loads(json.dumps(fit(table).to_dict()))
    place = content["model"]
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    file = tmp_path / "model.json"
    file.write_text(json.dumps(content))
    with pytest.raises(ModelFileError, match=message) as caught:
        perfcore.load(file)
    assert str(caught.value).startswith(str(file))
    assert len(str(caught.value).splitlines()) == 1


TRAINING = {
    "fitter": "strohmaier",
    "functions": "1/p,1/sqrt(p)",
    "parameter": "accelerators",
    "code": "benchmark",
    "system": "accelerator",
    "value": "time_s_olympic_mean",
    "where": "division=closed,round=v2.1,accelerators>0,benchmark=bert|maskrcnn|resnet|rnnt|ssd|unet3d,"
    "accelerator=NVIDIA A100-SXM-80GB|NVIDIA A100-SXM-40GB|NVIDIA A100-PCIe-80GB|NVIDIA A30",
}


@pytest.mark.real_data
def test_times_to_train_networks_on_accelerators(real_data):
    """Six networks on four accelerators: two functions explain nearly all, and predict pairs that were left out."""
    model = perfcore.fit(real_data / "scaling/mlperf_training.csv", **TRAINING)
    assert model.statistics["r2_uncentered"] > 0.98
    assert model.statistics["status"] == "converged"
    assert model.statistics["mean_relative_error_left_out_cells"] < 0.25
