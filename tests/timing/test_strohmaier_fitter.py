"""The fitter `strohmaier` as users call it: predictions, coverage, validation, files, refusals; the paper's models."""

import json

import numpy as np
import pandas as pd
import pytest
from formula_texts import EQUATION_3
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
        found = fit(table, weights="relative", **options).predict_array(AT, interval=0.9)
        assert found == pytest.approx(plain, rel=1e-9)


@pytest.mark.parametrize("reference", [0, 1, 3])
@pytest.mark.parametrize("functions", [("1/p", "1/sqrt(p)"), ("1/p", "1"), ("1/p", "log(p)/p"), ("1/p^2", "p")])
def test_exact_times_give_their_parameters(joint, reference, functions):
    data = joint(functions, missing=[(0, 1), (2, 3)])
    model = fit(as_table(data), functions=functions, reference=SYSTEMS[reference], starts=5)
    assert (model.statistics["status"], model.rank) == ("converged", 14)
    assert np.array(model.work) == pytest.approx(data.w / data.r[:, [reference]], rel=1e-8)
    expected = (data.r / data.r[:, [reference]])[:, [SYSTEMS.index(name) for name in model.systems]]
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
    assert json.loads(json.dumps(model.to_dict(), allow_nan=False))["model"]["left_out"].count(None) == bt.sum()
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


def test_a_robust_loss_withstands_what_squares_do_not(joint, table):
    truth = fit(as_table(joint())).predict(AT)
    spoilt = table.copy()
    spoilt.loc[spoilt.index[::15], "time_s"] *= 3
    squares, robust = (np.abs(fit(spoilt, loss=each).predict(AT) / truth - 1) for each in ("linear", "huber"))
    assert robust.max() < 0.5 * squares.max()


def test_models_with_negative_parameters_come_last_and_are_not_chosen(table):
    by_criterion = perfcore.rank(table, fitter="strohmaier", criterion="sse", sign="any").candidates
    negative = ["negative parameters" in candidate.note for candidate in by_criterion]
    assert negative != sorted(negative)  # some would be before others
    found = perfcore.rank(table, fitter="strohmaier", criterion="sse").candidates
    assert list(found) == sorted(by_criterion, key=lambda candidate: "negative parameters" in candidate.note)
    assert min(parameter.estimate for parameter in fit(table, functions="all", criterion="sse").parameters) >= 0


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
    "fitter": "strohmaier", "functions": "1/p,1/sqrt(p)", "parameter": "accelerators", "code": "benchmark",
    "system": "accelerator", "value": "time_s_olympic_mean",
    "where": "division=closed,round=v2.1,accelerators>0,benchmark=bert|maskrcnn|resnet|rnnt|ssd|unet3d,"
    "accelerator=NVIDIA A100-SXM-80GB|NVIDIA A100-SXM-40GB|NVIDIA A100-PCIe-80GB|NVIDIA A30",
}  # fmt: skip


@pytest.mark.real_data
def test_times_to_train_networks_on_accelerators(real_data):
    """Six networks on four accelerators: two functions explain nearly all, and predict pairs that were left out."""
    model = perfcore.fit(real_data / "scaling/mlperf_training.csv", **TRAINING)
    assert model.statistics["r2_uncentered"] > 0.98
    assert model.statistics["status"] == "converged"
    assert model.statistics["mean_relative_error_left_out_cells"] < 0.25


# The models that a table of the paper describes.
TABLE_4 = {
    ("A", "1"): "0.406 0.026 0.425 0.024 0.482 0.031  4.572 0.297 4.023 0.249 5.355 0.308 4.672 0.293 "
    "1.538 0.360 1.913 0.266 2.351 3.628  0.013 0.006 0.033 0.007 0.067 0.007 0.014 0.007",
    ("A", "1/sqrt(p)"): "0.370 0.032 0.410 0.031 0.408 0.037  4.009 0.365 3.506 0.297 4.120 0.337 3.970 0.347 "
    "1.221 0.233 1.106 0.126 3.878 4.918  0.172 0.056 0.319 0.064 0.753 0.071 0.235 0.067",
    ("A", "log(p)/p"): "0.365 0.041 0.466 0.047 0.372 0.041  3.714 0.416 3.430 0.367 3.521 0.389 3.408 0.373 "
    "1.012 0.200 0.699 0.079 4.037 3.781  0.480 0.114 0.577 0.126 1.535 0.154 0.750 0.132",
    ("B", "1"): "0.401 0.033 0.479 0.035 0.457 0.034  4.840 0.390 4.227 0.317 5.729 0.402 4.049 0.324 "
    "6.521 18.08 1.053 0.328 0.182 0.086  0.004 0.005 0.007 0.006 0.029 0.009 0.020 0.007",
    ("B", "1/sqrt(p)"): "0.382 0.038 0.541 0.053 0.452 0.041  4.563 0.426 4.268 0.386 5.166 0.460 3.455 0.375 "
    "2.902 3.864 0.537 0.143 0.343 0.126  0.089 0.044 0.059 0.047 0.306 0.081 0.260 0.075",
    ("B", "log(p)/p"): "0.381 0.042 0.669 0.102 0.445 0.042  4.306 0.413 4.309 0.403 4.987 0.475 3.161 0.368 "
    "1.888 1.829 0.335 0.088 0.422 0.132  0.271 0.086 0.158 0.087 0.615 0.155 0.548 0.143",
}
PARAMETERS = tuple(
    name
    for i in (1, 2)
    for name in (*(f"r_{i}^{system}" for system in SYSTEMS[1:]), *(f"w_{i}^{code}" for code in CODES))
)
# What is measured in a class: some 102 values (section 6), so about this many sizes for each of the 16 cells.
PROCESSORS = (4.0, 8.0, 16.0, 32.0, 64.0, 128.0)


def column_of(problem_class, second):
    """Estimates and standard errors by name."""
    values = np.array([float(word) for word in TABLE_4[problem_class, second].split()]).reshape(14, 2)
    return dict(zip(PARAMETERS, values[:, 0], strict=True)), dict(zip(PARAMETERS, values[:, 1], strict=True))


def table_of(second, estimates, noise=0.0, seed=0):
    """Times by the model 1/p and one other function of Table 4, with normal errors of t' = t p."""
    rng = np.random.default_rng(seed)
    rows = []
    for code in CODES:
        for system in SYSTEMS:
            delta = [estimates[f"w_{i}^{code}"] / estimates.get(f"r_{i}^{system}", 1.0) for i in (1, 2)]
            rows += [(code, system, p, delta[0] / p + delta[1] * EQUATION_3[second](p)) for p in PROCESSORS]
    table = pd.DataFrame(rows, columns=["code", "system", "p", "time"])
    return table.assign(time=table["time"] + noise * rng.standard_normal(len(table)) / table["p"])


@pytest.mark.parametrize("key", TABLE_4)
def test_table_4_is_recovered_from_times_that_it_describes(key):
    estimates, _ = column_of(*key)
    table = table_of(key[1], estimates)
    model = perfcore.fit(table, fitter="strohmaier", functions=["1/p", key[1]], reference="SP2", validate=False)
    found = {parameter.name: parameter.estimate for parameter in model.parameters}
    assert found == pytest.approx(estimates, rel=1e-6)
    assert model.statistics["status"] == "converged"


@pytest.mark.parametrize("second", ["1", "1/sqrt(p)", "log(p)/p"])
def test_the_pair_that_made_the_times_ranks_first(second):
    """With errors a tenth of the paper's; its SSE of 130 to 146 in class A is a standard deviation of about 1.2."""
    noisy = table_of(second, column_of("A", second)[0], noise=0.12, seed=1)
    assert set(perfcore.rank(noisy, fitter="strohmaier", terms=2).candidates[0].functions) == {"1/p", second}


def test_errors_of_table_4_follow_from_its_sum_of_squares():
    """SSE / (n - 14) of Table 3 and six sizes for each cell give the printed standard errors up to a factor of 2.1.

    Which sizes were measured is not known; the largest ratios are those of the speed that hardly any data determine.
    """
    estimates, errors = column_of("A", "1/sqrt(p)")
    noise = np.sqrt(130.28 / (96 - 14))
    table = table_of("1/sqrt(p)", estimates)
    exact = perfcore.fit(table, fitter="strohmaier", functions="1/p,1/sqrt(p)", reference="SP2", validate=False)
    jacobian = exact.weighted_problem().jacobian(exact.theta)
    covariance = noise**2 * np.linalg.inv(jacobian.T @ jacobian)
    for place, parameter in enumerate(exact.parameters):
        size = np.sqrt(covariance[place, place])
        if parameter.name.startswith("r"):
            size *= parameter.estimate**2  # of r = 1/v
        assert 1 / 2.1 < size / errors[parameter.name] < 2.1


def test_correlations_of_the_first_parameters_are_the_high_ones():
    """Section 6: 0.5 to 0.7 for the first parameters and much smaller for others; it depends on the sizes measured."""
    noisy = table_of("1/sqrt(p)", column_of("A", "1/sqrt(p)")[0], noise=1.26, seed=2)
    model = perfcore.fit(noisy, fitter="strohmaier", functions="1/p,1/sqrt(p)", reference="SP2", validate=False)
    correlation = np.abs(model.correlation)
    assert np.diag(correlation) == pytest.approx(np.ones(14))
    first = np.array(["_1^" in name for name in model.parameter_names])
    among_first = correlation[np.ix_(first, first)][np.triu_indices(7, 1)]
    others = correlation[np.ix_(~first, ~first)][np.triu_indices(7, 1)]
    assert np.median(among_first) > 0.5 > np.median(others)
