"""Regressions against statsmodels' numbers, NIST's certified values, refits and simulations; the scalability law."""

import json
import shlex

import nist
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import optimize
from statsmodels.tools.eval_measures import aicc
from usl_coverage import SCENARIOS, coverage

import perfcore
from perfcore import Measurements
from perfcore.base.errors import PerfError
from perfcore.contracts import FormulaFunction
from perfcore.hooks.registry import registry

POLYNOMIAL = "+".join(f"B{k}*x^{k}" for k in range(11))
LINEAR = {
    "norris": "B0 + B1*x", "pontius": "B0 + B1*x + B2*x^2", "noint1": "B1*x", "noint2": "B1*x", "filip": POLYNOMIAL,
    "longley": "B0 + " + " + ".join(f"B{k}*x{k}" for k in range(1, 7)),
    **{f"wampler{k}": POLYNOMIAL.partition("+B6")[0] for k in range(1, 6)},
}  # fmt: skip


def digits(found, certified):
    """Least number of matching digits of all; a certified 0 counts as an absolute error."""
    certified = np.asarray(certified)
    error = np.abs(np.asarray(found) - certified) / np.where(certified == 0.0, 1.0, np.abs(certified))
    return float(-np.log10(np.maximum(error, 1e-15)).min())


@pytest.mark.parametrize("name", LINEAR)
def test_nist_linear(name):
    data = pd.read_csv(nist.FOLDER / "linear" / f"{name}.csv")
    rows = pd.read_csv(nist.FOLDER / "linear" / "certified.csv").query("problem == @name").set_index("parameter")
    model = perfcore.fit(data, fitter="regression", formula=LINEAR[name], value="y")
    certified = rows.loc[[parameter.name for parameter in model.parameters]]
    found = [[p.estimate for p in model.parameters], [p.standard_error for p in model.parameters]]
    assert digits(found[0], certified["estimate"]) > 7
    assert digits(found[1], certified["standard_deviation"]) > 7
    assert digits(model.statistics["residual_error"], rows.loc["residual", "standard_deviation"]) > 7


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("name", nist.NONLINEAR)
def test_nist_nonlinear(name, start):
    problem = nist.read(name)
    starts = {f"b{k}": value for k, value in enumerate(problem.starts[start], 1)}
    table = pd.DataFrame({"y": problem.y, **problem.x})
    model = perfcore.fit(table, fitter="regression", formula=nist.NONLINEAR[name], value="y", start=starts)
    order = [int(parameter.name[1:]) - 1 for parameter in model.parameters]
    assert digits([p.estimate for p in model.parameters], problem.parameters[order]) > 8
    if name != "Lanczos1":  # its residuals are near the rounding of its data
        assert digits([p.standard_error for p in model.parameters], problem.deviations[order]) > 7


def runs(seed=1, noise=0.05):
    """Six processor counts, four times each, in two codes on four nodes."""
    rng = np.random.default_rng(seed)
    p = np.tile([1.0, 2, 4, 8, 16, 32], 4)
    time = (10 / p + 0.5 + 0.05 * np.log2(p)) * (1 + noise * rng.standard_normal(24))
    code, node = np.repeat(["lu", "cg", "lu", "cg"], 6), np.tile(["n1", "n2", "n3", "n4"], 6)
    return pd.DataFrame({"p": p, "code": code, "node": node, "weight": rng.uniform(1, 2, 24), "time_s": time})


FORMULA = "a + b/p + c*log2(p)"


def design(table):
    return np.stack([np.ones(len(table)), 1 / table["p"], np.log2(table["p"])], axis=1)


def theirs(options, table):
    """The same regression, called as statsmodels documents it."""
    x, y = design(table), table["time_s"].to_numpy()
    match options:
        case {"weights": "relative"}:
            return sm.WLS(y, x, y**-2.0).fit()
        case {"weights": "weight"}:
            return sm.WLS(y, x, table["weight"]).fit()
        case {"weights": "1/variance"}:
            return sm.WLS(y, x, 1 / table.groupby("p")["time_s"].transform("var")).fit()
        case {"errors": "HC3"}:
            return sm.OLS(y, x).fit(cov_type="HC3", use_t=True)
        case {"errors": "cluster:node"}:
            codes = pd.factorize(table["node"])[0]
            return sm.OLS(y, x).fit(cov_type="cluster", cov_kwds={"groups": codes}, use_t=True)
        case {"robust": "huber"}:
            return sm.RLM(y, x, M=sm.robust.norms.HuberT()).fit(conv="weights", tol=1e-10, maxiter=1000)
        case {"robust": "tukey"}:
            return sm.RLM(y, x, M=sm.robust.norms.TukeyBiweight()).fit(conv="weights", tol=1e-10, maxiter=1000)
        case {"quantile": level}:
            return sm.QuantReg(y, x).fit(q=level)
        case {"family": "gamma"}:
            family = sm.families.Gamma(sm.families.links.Identity())
            return sm.GLM(y, x, family=family).fit(use_t=True)
    return sm.OLS(y, x).fit()


@pytest.mark.filterwarnings("ignore:.*Identity")
@pytest.mark.parametrize("options", [
    {}, {"weights": "relative"}, {"weights": "weight"}, {"weights": "1/variance"}, {"errors": "HC3"},
    {"errors": "cluster:node"}, {"robust": "huber"}, {"robust": "tukey"}, {"quantile": 0.6}, {"family": "gamma"},
], ids=str)  # fmt: skip
def test_numbers_are_those_of_statsmodels(options):
    table = runs()
    model, other = perfcore.fit(table, fitter="regression", formula=FORMULA, **options), theirs(options, table)
    rows = pd.DataFrame(model.report().plain_tables[0].records())
    for column, expected in (("estimate", other.params), ("standard_error", other.bse), ("t", other.tvalues)):
        np.testing.assert_allclose(rows[column], expected, rtol=1e-10)
    np.testing.assert_allclose(rows["p_value"], other.pvalues, rtol=1e-10)
    np.testing.assert_allclose(rows[["lower", "upper"]], other.conf_int(), rtol=1e-10)
    np.testing.assert_allclose(model.statsmodels.params, other.params, rtol=1e-10)
    if not options.keys() & {"robust", "quantile"}:
        assert model.statistics["aicc"] == pytest.approx(aicc(other.llf, 24, 3), rel=1e-10)
    if not options.keys() & {"robust", "quantile", "family"}:
        for name, expected in (("r2_centered", other.rsquared), ("r2_adjusted_centered", other.rsquared_adj)):
            assert model.statistics[name] == pytest.approx(expected, rel=1e-10)
        assert model.statistics["bic"] == pytest.approx(other.bic, rel=1e-10)
    if not options:
        expected = other.get_influence().resid_studentized_external
        np.testing.assert_allclose(model.influence()["studentized"], expected, rtol=1e-10)
        at = pd.DataFrame({"p": [3.0, 64.0]})
        frame = other.get_prediction(design(at)).summary_frame(alpha=0.1)
        columns = ["mean", "mean_ci_lower", "mean_ci_upper"]
        np.testing.assert_allclose(model.mean_array(at["p"], 0.9), frame[columns], rtol=1e-10)
        columns = ["mean", "obs_ci_lower", "obs_ci_upper"]
        np.testing.assert_allclose(model.predict_array(at["p"], 0.9), frame[columns], rtol=1e-10)


@pytest.mark.parametrize("options", [{}, {"weights": "relative"}, {"formula": "a + b*p^c", "start": "c=-1"}], ids=str)
def test_leave_one_out_and_influence_are_those_of_refits(options):
    """Exact for linear formulas; a nonlinear one is linearized, which changes the third digit here."""
    table, options = runs(noise=0.01), {"formula": FORMULA, **options}
    model = perfcore.fit(table, fitter="regression", **options)
    influence, errors = model.influence(), []
    for row in range(len(table)):
        without = perfcore.fit(table.drop(index=row), fitter="regression", **options)
        errors.append(table["time_s"][row] - without.predict([table["p"][row]])[0])
        if options["formula"] == FORMULA:  # Cook (1977): how far all fitted values move
            weights = 1.0 if "weights" not in options else table["time_s"] ** -2.0
            moved = (model.predict(table["p"]) - without.predict(table["p"])) ** 2 * weights
            found = influence["cooks_distance"][row]
            variance = model.statsmodels.mse_resid
            assert found == pytest.approx(moved.sum() / 3 / variance, rel=1e-6)
    tolerance = 1e-9 if options["formula"] == FORMULA else 0.02
    assert model.statistics["leave_one_out_rmse"] == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=tolerance)


def test_nonlinear_gamma_and_huber_are_optima_of_their_objectives():
    """Against direct minimization of the deviance, and of Huber's loss at the scale found."""
    table = runs()
    p, y = table["p"].to_numpy(), table["time_s"].to_numpy()

    def mean(theta):
        return theta[0] + theta[1] * p ** theta[2]

    def deviance(theta):
        return 2 * np.sum(y / mean(theta) - 1 - np.log(y / mean(theta)))

    options = {"fitter": "regression", "formula": "a + b*p^c", "start": {"c": -1}}
    found = [parameter.estimate for parameter in perfcore.fit(table, family="gamma", **options).parameters]
    best = optimize.minimize(deviance, found, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14})
    np.testing.assert_allclose(found, best.x, rtol=1e-5)
    huber = perfcore.fit(table, robust="huber", **options)
    found, scale = [p.estimate for p in huber.parameters], huber.statistics["residual_error"]
    best = optimize.least_squares(lambda theta: (y - mean(theta)) / scale / 1.345, found, loss="huber", xtol=1e-12)
    np.testing.assert_allclose(found, best.x, rtol=1e-4)


@pytest.mark.parametrize("options", [{}, {"family": "gamma"}], ids=str)
def test_prediction_intervals_hold_what_they_say(options):
    """200 simulated campaigns, one further run each: 95 % within three standard errors."""
    held = []
    for seed in range(200):
        rng = np.random.default_rng([7, seed])
        p = np.tile([1.0, 2, 4, 8, 16], 3)
        exact, there = 10 / p + 0.5, 10 / 24 + 0.5
        spread = 0.1 * (exact if options else 1)
        table = pd.DataFrame({"p": p, "time_s": exact + spread * rng.standard_normal(15)})
        model = perfcore.fit(table, fitter="regression", formula="a + b/p", **options)
        new = there + 0.1 * (there if options else 1) * rng.standard_normal()
        _, low, high = model.predict_array([24.0], 0.95)[0]
        held.append(low <= new <= high)
    assert np.mean(held) == pytest.approx(0.95, abs=3 * np.sqrt(0.95 * 0.05 / 200))


def test_groups_have_fits_of_their_own_and_predict_by_name(tmp_path):
    table = runs()
    model = perfcore.fit(table, fitter="regression", formula=FORMULA, by="code")
    for code in ("lu", "cg"):
        alone = perfcore.fit(table[table["code"] == code], fitter="regression", formula=FORMULA)
        both = [m.predict_array({"p": [3.0], **name}, 0.9) for m, name in ((model, {"code": [code]}), (alone, {}))]
        np.testing.assert_allclose(*both, rtol=1e-12)
    assert set(model.statsmodels) == {("lu",), ("cg",)}
    assert {p.name for p in model.parameters} == {f"{c}[{code}]" for c in "abc" for code in ("lu", "cg")}


def test_functions_of_the_registry_can_be_named_and_typed_names_are_coefficients():
    class Steps(FormulaFunction):
        name, formula, variables = "steps", "ceil(p/4)", ("p",)

    table = runs()
    entries = registry()._entries["functions"]
    entry = next(iter(entries.values()))
    entries["steps"] = type("Registered", (), {"load": lambda self: Steps, "name": "steps", "distribution": "test"})()
    try:
        values = perfcore.fit(table, fitter="regression", formula="a + b*steps").predict([1.0, 9.0])
    finally:
        del entries["steps"]
    assert entry.name != "steps"
    typed = perfcore.fit(table, fitter="regression", formula="a + b*ceil(p/4)")
    np.testing.assert_allclose(values, typed.predict([1.0, 9.0]), rtol=1e-12)


@pytest.mark.parametrize(
    "text",
    ["a*x^3 - 2/a", "exp(-a*x)*log(a + x)", "sqrt(a)/cbrt(x + a)", "log2(a*x) + log10(a)", "abs(a - 3)*x^a", "-(a*a)/x",
     "if(x < 2, a^2, 3*a)"],
)  # fmt: skip
def test_standard_errors_are_those_of_differences(text):
    """Of one parameter: s / |f'(a)|, the derivative by differences of the formula's own values."""
    x = np.array([0.5, 0.8, 1.1, 1.7, 2.6, 4.0, 5.5])

    class Typed(FormulaFunction):
        name, formula, variables = text, text, ("a", "x")

    def at(a):
        return Typed()({"a": np.full(len(x), a), "x": x})

    y = at(1.3) * (1.0 + 0.01 * np.cos(np.arange(7.0)))
    model = perfcore.fit(pd.DataFrame({"x": x, "y": y}), fitter="regression", formula=text, value="y", start="a=1.25")
    ((a, error),) = ((parameter.estimate, parameter.standard_error) for parameter in model.parameters)
    slope = (at(a + 1e-6) - at(a - 1e-6)) / 2e-6
    assert error == pytest.approx(np.sqrt(((y - at(a)) ** 2).sum() / 6 / (slope @ slope)), rel=1e-6)
    assert slope @ (y - at(a)) == pytest.approx(0.0, abs=1e-7 * np.linalg.norm(slope) * np.linalg.norm(y))


@pytest.mark.parametrize(("options", "message"), [
    ({}, "the formula is missing"),
    ({"formula": "a + b/p + c/prcs"}, "not linear in prcs; give start values .* columns are p, code"),
    ({"formula": "a*exp(-b*p)"}, r"not linear in b; give start values \(start='b=1'\)"),
    ({"formula": "a + b*p + c*(2*p + 1)"}, "terms of a, b, c are collinear"), ({"formula": "1/p"}, "no coefficient"),
    ({"formula": "a + b"}, "no column"), ({"formula": "a*time_s + p"}, "time_s is the value"),
    ({"formula": "a + b/p", "start": "d=1"}, "unknown coefficient 'd'"),
    ({"formula": "a + b/p", "start": "b=x"}, "numbers by coefficient are expected"),
    ({"formula": "a + b/p", "quantile": 1.5}, "must be below 1"),
    ({"formula": "a + b/p", "quantile": 0}, "must be greater than 0"),
    ({"formula": "a + b/p", "quantile": 0.99}, "24 runs are too few for standard errors of the 0.99 quantile"),
    ({"formula": "a + b/p", "robust": "hubr"}, "did you mean 'huber'"),
    ({"formula": "a + b/p", "robust": "huber", "quantile": 0.5}, "do not go together"),
    ({"formula": "a + b/p", "weights": "wieght"}, "did you mean 'weight'"),
    ({"formula": "a + b/p", "errors": "HC9"}, "HC3 or cluster:COLUMN"),
    ({"formula": "a + b/p", "errors": "cluster:nod"}, "did you mean 'node'"),
    ({"formula": "a + b/p", "by": "cod"}, "did you mean 'code'"),
    ({"formula": "a + b/p", "by": "weight"}, "weight=.*: only 1 runs for 2 coefficients"),
    ({"formula": "a + b/(p - 1)"}, "not finite at p=1; leave such rows out"),
    ({"formula": "__import__('os')"}, "column"), ({"formula": "a + b/p", "value": "tmie"}, "unknown column 'tmie'"),
    ({"formula": "a + max(b, p)"}, "has no derivative"),
])  # fmt: skip
def test_mistakes_are_said_in_one_line(options, message):
    with pytest.raises(PerfError, match=message) as caught:
        perfcore.fit(runs(), fitter="regression", **options)
    assert "\n" not in str(caught.value)


def test_terms_of_very_different_size_keep_their_digits():
    """n^3 of 1e18 beside a constant: the pseudoinverse of statsmodels would drop the constant in silence."""
    n = np.array([1e4, 3e4, 1e5, 3e5, 1e6])
    table = pd.DataFrame({"n": n, "time_s": 2.0 + 1e-15 * n**3})
    table["time_s"] += [1e-6, -1e-6, 1e-6, -1e-6, 1e-6]
    model = perfcore.fit(table, fitter="regression", formula="a + b*n^3", parameter="n")
    np.testing.assert_allclose([p.estimate for p in model.parameters], [2.0, 1e-15], rtol=1e-5)


# The Universal Scalability Law on SPEC SDM91, against algebra, and its intervals against simulations.
# N. J. Gunther, "Guerrilla Capacity Planning", 2007, table 5.2; estimates as of the package usl for R.
SDM91 = pd.DataFrame(
    {"load": [1, 18, 36, 72, 108, 144, 216], "throughput": [64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2]}
)
P = np.array([1.0, 2, 4, 8, 16, 32, 64])


def throughputs(gamma, sigma, kappa, wobble=0.005):
    signs = np.array([1, -1, 1, 1, -1, -1, 1])
    values = gamma * P / (1 + sigma * (P - 1) + kappa * P * (P - 1)) * (1 + wobble * signs)
    return pd.DataFrame({"p": P, "rate [ops/s]": values})


def fit(table, **options):
    return perfcore.fit(
        Measurements(table, parameters=table.columns[0], value=table.columns[1]), fitter="usl", **options
    )


def derived(model):
    return {each.name.partition(" ")[0]: each for each in model.derived()}


def test_sdm91():
    model = fit(SDM91)
    gamma, sigma, kappa = model.parameters
    assert [sigma.estimate, kappa.estimate] == pytest.approx([0.0277295, 1.0437e-4], rel=1e-4)
    assert [sigma.standard_error, kappa.standard_error] == pytest.approx([0.0091, 1.99e-5], rel=0.01)
    assert gamma.estimate == pytest.approx(89.995, rel=1e-4)
    assert derived(model)["p*"].value == pytest.approx(96.52, rel=1e-4)
    assert model.has_peak
    assert "Throughput peaks at p = 96.5" in model.report().answer


def test_what_follows_from_the_law_is_what_it_predicts():
    """Peak, value there, limit and efficiency against the curve itself, for throughputs and times."""
    for is_time in (False, True):
        table = throughputs(100.0, 0.05, 1e-3)
        if is_time:
            table = pd.DataFrame({"p": P, "time_s": 1 / table["rate [ops/s]"]})
        model = fit(table)
        found, dense = derived(model), np.linspace(1, 200, 200_000)
        curve = model.predict(dense)
        best = curve.argmin() if is_time else curve.argmax()
        assert found["p*"].value == pytest.approx(dense[best], rel=1e-4)
        assert found["peak"].value == pytest.approx(curve[best], rel=1e-8)
        rate = 1 / model.predict([1.0, 64.0]) if is_time else model.predict([1.0, 64.0])
        assert found["efficiency"].value == pytest.approx(rate[1] / rate[0] / 64, rel=1e-10)
        for each in found.values():
            assert each.interval[0] < each.value < each.interval[1]


def test_both_quantities_agree_with_relative_weights():
    table = throughputs(100.0, 0.05, 1e-3, wobble=1e-5)
    times = pd.DataFrame({"p": P, "time_s": 1 / table["rate [ops/s]"]})
    one, other = fit(table, weights="relative"), fit(times)
    for mine, yours in zip(one.parameters, other.parameters, strict=True):
        assert mine.estimate == pytest.approx(yours.estimate, rel=1e-4)


def test_without_coherency_it_is_amdahl():
    model = fit(throughputs(100.0, 0.05, 0.0))
    assert not model.has_peak
    assert "Amdahl" in model.report().answer
    assert derived(model)["limit"].value == pytest.approx(2000.0, rel=0.1)
    assert not fit(throughputs(100.0, 0.0, 0.0, wobble=1e-3)).has_peak


def test_coefficients_that_would_be_negative_are_0_and_predictions_stay_finite():
    table = throughputs(100.0, 0.05, 0.0, wobble=0.0)
    table.iloc[-1, 1] *= 1.08
    model = fit(table)
    assert [parameter.estimate > 0 for parameter in model.parameters] == [True, True, False]
    assert np.isfinite(model.predict_array([1e6], 0.95)).all()
    kappa = model.report().shown_tables[0].rows[2]
    assert kappa[1] == 0.0
    assert kappa[3][0] < 0.0


def test_a_peak_beyond_the_data_is_said():
    model = fit(throughputs(100.0, 0.02, 1e-4, wobble=1e-4))
    assert model.has_peak
    assert any("beyond the data, which end at p = 64" in line for line in model.report().closing())


@pytest.mark.parametrize(("table", "options", "message"), [
    (SDM91[:3], {}, "needs 4 or more values of load; there are 3"),
    (SDM91.rename(columns={"throughput": "y"}), {}, "is y a throughput or a time.*quantity="),
    (SDM91.rename(columns={"throughput": "time_s"}), {}, "does not scale like a time.*quantity='throughput'"),
    (SDM91, {"quantity": "time"}, "does not scale like a time.*value="),
    (SDM91.rename(columns={"throughput": "time_s"}), {"quantity": "throughput"}, "is a time by its unit s"),
    (SDM91.assign(throughput=-1.0), {}, "a positive number is expected"),
    (SDM91, {"quantity": "speed"}, "throughput"), (SDM91, {"weights": "load"}, "unknown value 'load'"),
    (SDM91.assign(code=list("abababa")), {}, "usl fits one program.*where='code=a'"),
])  # fmt: skip
def test_mistakes_of_the_scalability_law(table, options, message):
    with pytest.raises(PerfError, match=message) as caught:
        fit(table, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("scenario", ["throughput, 7 points", "times, 5 points"])
def test_intervals_hold_what_they_say(scenario):
    """benchmarks/usl_coverage.py draws 2000 and finds 93 to 97 %; of 120, three standard errors are 6 %."""
    assert scenario in SCENARIOS
    for name, share in coverage(scenario, 120).items():
        assert 0.89 <= share <= 0.995, name


# The program: what it prints for regressions and the scalability law, and how it ends.
RUNS = "p,time_s\n1,10.2\n2,5.3\n4,2.9\n8,1.68\n16,1.12\n32,0.86\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs.csv").write_text(RUNS)


@pytest.mark.parametrize("words", [("regression", "--formula", "a + b/p + c*log2(p)"), ("usl",)])
def test_a_fit_is_printed_saved_used_and_drawn(perf, tmp_path, words):
    lines = perf("fit", "runs.csv", "--fitter", *words, "-o", "model.json", "--plot", "fit.svg", short=True).lines
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 110
    assert {"Assumed:", "Next:"} <= {line.partition(" ")[0] for line in lines}
    assert perf(*shlex.split(next(line for line in lines if line.startswith("Next: perf ")))[2:]).out
    content = json.loads(perf("fit", "runs.csv", "--fitter", *words, "--json").out)
    assert content["kind"] == words[0]
    assert len(content["details"]["runs"]) == 6
    assert perf("fit", "runs.csv", "--fitter", *words, "--table", "csv").lines[0].endswith("lower,upper")
    assert "extrapolated" in perf("predict", "model.json", "--at", "p=64", "--interval", "0.9").out
    assert "median error" in perf("validate", "model.json", "runs.csv").out
    assert perf("compare", "model.json", "model.json", "--at", "p=64").out
    assert perf("experiment", "next", "model.json", "--target", "p=128", "--candidates", "p=1..64*2").out
    perf("plot", "model.json", "runs.csv", "--panels", "residuals,influence", "-o", "some.svg")
    assert (tmp_path / "some.svg").stat().st_size > 1000


@pytest.mark.parametrize(("words", "message"), [
    (("regression",), "the formula is missing"), (("regression", "--formula", "a + b/"), "column 6"),
    (("regression", "--formula", "a + b/p", "--quantile", "2"), "below 1"),
    (("usl", "--value", "time"), "unknown column 'time'"),
])  # fmt: skip
def test_mistakes_end_with_status_2_and_one_line(refused, words, message):
    assert message in refused("fit", "runs.csv", "--fitter", *words)
