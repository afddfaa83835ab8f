"""Structural models: what a file or a program gives, written out; every mistake in one line with its key."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from trace_samples import sample

import perfcore
from perf_structural import StructuralModel, judge
from perfcore import Measurements
from perfcore.base.errors import InputError, PerfError
from perfcore.models.model import model_file_entry
from perfcore.stochastic import from_dict

UNIFORM = {"histogram": {"edges": [0.0, 1.0], "masses": [1.0]}}


def number(equation, **inputs):
    """The result of a model of numbers."""
    lowest, highest = StructuralModel(equation, inputs=inputs).predict().value.support
    assert lowest == highest
    return lowest


def written(tmp_path, text):
    path = tmp_path / "model.toml"
    path.write_text(text)
    return path


MODEL = sample("two_phases")


def test_a_model_file(tmp_path):
    """By hand: 600 kflop at 200 Mflop/s take 3 ms; ten times, and twice 5 ms."""
    prediction = StructuralModel.read(written(tmp_path, MODEL)).predict()
    assert (prediction.name, prediction.unit) == ("two phases", "s")
    assert prediction.value.support == pytest.approx((0.04, 0.04))
    assert prediction.notes == ()


@pytest.mark.parametrize(("equation", "value"), [
    ("sum_over(a)", 6.0), ("max_over(a)", 3.0), ("min_over(a)", 1.0), ("sum_over(a*b)", 1 * 4 + 2 * 5 + 3 * 6),
    ("sum_over(a)*sum_over(b)", 6 * 15), ("max_over(b - c*a)", 3.0), ("sum_over(c*a)/c", 6.0),
    ("max_over(max(a, c)) + min_over(a)", 4.0),
])  # fmt: skip
def test_reductions(equation, value):
    assert number(equation, a=[1, 2, 3], b=[4, 5, 6], c=1) == value


def test_copies_of_a_list():
    """Two processors over three iterations: the sum over iterations of the sum over processors."""
    model = StructuralModel(
        "sum_over(both)",
        components={"both": {"equation": "sum_over(x)", "over": "processor"}},
        inputs={"x": {"each": [{"normal": [1, 0.3]}, {"normal": [2, 0.4]}], "replicate": {"iteration": 3}}},
    )
    value = model.predict().value
    assert (value.mean, value.std) == pytest.approx((9.0, math.sqrt(3) * 0.5))


def test_a_component_is_one_quantity_wherever_it_is_used():
    model = StructuralModel("a - b", components={"a": "x + 1", "b": "x"}, inputs={"x": UNIFORM})
    assert model.predict().value.support == (1.0, 1.0)


@pytest.mark.parametrize(("equation", "unit", "value"), [
    ("t + u", "s", 3.5e-3), ("max(t, u)", "us", 3000.0), ("t/u", None, 6.0), ("exp(log(t/u))", None, 6.0),
    ("t*r", "B", 6e3), ("sqrt(t*t)", "s", 3e-3), ("t^2/u", "ms", 18.0), ("max(t, 0)", "s", 3e-3), ("t > u", None, 1.0),
    ("twice*t", "s", 6e-3), ("abs(u - t)", "ms", 2.5),
])  # fmt: skip
def test_units(equation, unit, value):
    inputs = {
        "t": {"value": 3, "unit": "ms"}, "u": {"value": 500, "unit": "us"}, "r": {"value": 2, "unit": "MB/s"},
        "twice": 2,
    }  # fmt: skip
    prediction = StructuralModel(equation, inputs=inputs, unit=unit).predict()
    assert prediction.value.support[0] == pytest.approx(value, rel=1e-12)
    assert prediction.unit == (unit or "")


@pytest.fixture(scope="module")
def line():
    """Times that fall as 1/p, with a little noise."""
    generator = np.random.default_rng(3)
    p = np.repeat([1.0, 2.0, 4.0, 8.0, 16.0], 3)
    table = pd.DataFrame({"p": p, "time_s": 2.0 + 64.0 / p + generator.normal(0.0, 0.1, len(p))})
    return perfcore.fit(Measurements(table), fitter="individual", terms=2)


def test_a_fitted_model_is_a_component(line, tmp_path):
    """Its prediction is the mean of a normal, and the width of the 95% interval that of the normal."""
    line.save(tmp_path / "line.json")
    text = """
    equation = "3*compute"
    [components]
    compute = { model = "line.json", at = { p = "2*half" } }
    [inputs]
    half = 4
    """
    prediction = StructuralModel.read(written(tmp_path, text)).predict()
    value, lower, upper = line.predict_array({"p": [8.0]}, interval=0.95)[0]
    assert prediction.unit == "s"
    assert prediction.statistics["mean"] == pytest.approx(3 * value)
    low, high = prediction.value.quantile([0.025, 0.975])
    assert high - low == pytest.approx(3 * (upper - lower), rel=1e-3)


def test_a_lopsided_prediction_keeps_its_intervals():
    runs = pd.DataFrame({"p": [1, 2, 4, 8, 16], "time_s": [10.2, 5.3, 2.9, 1.68, 1.12]})
    law = perfcore.fit(runs, fitter="scaling")
    value = StructuralModel("3*t", components={"t": {"model": law, "at": {"p": 256}}}).predict().value
    middle, low, high = law.predict_array([256.0], interval=0.95)[0]
    assert high - middle > 1.5 * (middle - low)
    for coverage in (0.5, 0.8, 0.95, 0.99):
        _, lower, upper = law.predict_array([256.0], interval=coverage)[0]
        levels = [(1 - coverage) / 2, (1 + coverage) / 2]
        assert value.quantile(levels) == pytest.approx([3 * lower, 3 * upper], rel=0.03)


MISTAKES = [
    ('equation = "a + b"\n[inputs]\na = 1', "model.toml: equation: unknown component or input 'b'"),
    ('equation = "a +"', "model.toml: equation: formula 'a +': column 3"),
    ('equation = "a"\n[components]\na = "b"\nb = "c + 1"\nc = "a"', "needs"),
    ('equation = "a"\n[components]\na = "a"', "a needs a; a component cannot need itself"),
    ('equation = "a"\n[components]\na = "1"\n[inputs]\na = 2', "components.a: an input has the same name"),
    ('equation = "a"\n[inputs]\na = "3"', "inputs.a: '3' is neither a finite number nor a table"),
    ('equation = "a"\n[inputs]\na = nan', "inputs.a: nan is neither a finite number"),
    ('equation = "a"\n[inputs]\na = true', "inputs.a: True is neither"),
    ('equation = "a"\n[inputs]\na = {normal = [1]}', "inputs.a: normal: "),
    ('equation = "a"\n[inputs]\na = {normal = [1, -1]}', "inputs.a: "),
    ('equation = "a"\n[inputs]\na = {interval = [2, 1]}', "inputs.a: "),
    ('equation = "a"\n[inputs]\na = {}', "inputs.a: one of value, samples"),
    ('equation = "a"\n[inputs]\na = {value = 1, normal = [1, 2]}', "found value, normal"),
    ('equation = "a"\n[inputs]\na = {values = 1}', "inputs.a: unknown key or representation 'values': did you mean"),
    ('equation = "a"\n[inputs]\na = {histogram = {edges = [0, 1], masses = [0.9]}}', "inputs.a: "),
    ('equation = "a"\n[inputs]\na = {histogram = {edges = [0, 1], masses = ["x"]}}', "at `$.masses[0]`"),
    ('equation = "a"\n[inputs]\na = {samples = []}', "inputs.a: "),
    ('equation = "a"\n[inputs]\na = {samples = [1, 2], as = "histgram"}', "did you mean 'histogram'?"),
    ('equation = "a"\n[inputs]\na = {value = 1, as = "normal"}', "inputs.a: 'as' belongs to samples"),
    ('equation = "a"\n[inputs]\na = {value = 1, over = "i"}', "inputs.a: 'over' belongs to each"),
    ('equation = "a"\n[inputs]\na = {file = "none.json"}', "none.json: there is no such file"),
    ('equation = "a"\n[inputs]\na = {value = 1, unit = "s+"}', "inputs.a: unit 's+'"),
    ('equation = "a"\n[inputs]\na = []', "inputs.a: the list is empty"),
    ('equation = "a"\n[inputs]\na = [1, "x"]', "inputs.a: value 2 of 2: 'x' is neither"),
    ('equation = "a"\n[inputs]\na = [[1], [2]]', "inputs.a: a value of a list cannot be a list"),
    ('equation = "a"\n[inputs]\na = [{value = 1, unit = "s"}, 2]', "inputs.a: the values are in different units"),
    ('equation = "a"\n[inputs]\na = {value = 1, replicate = {i = 0}}', "inputs.a: replicate.i is 0"),
    ('equation = "a"\n[inputs]\nlog = 1', "inputs.log: "),
    ('equation = "a"\n[inputs]\n"a b" = 1', "inputs.a b: 'a b' cannot be a name"),
    ('equation = "a"\n[inputs]\na = [1, 2]', "equation: the result is replicated over processor"),
    ('equation = "sum_over(a)"\n[inputs]\na = 1', "equation: sum_over(a): 'a' is not replicated"),
    ('equation = "sum_over(a*b)"\n[inputs]\na = [1, 2]\nb = [1, 2, 3]', "inputs.b: there are 3 over processor, but 2"),
    ('equation = "sum_over(a*b)"\n[inputs]\na = [1, 2]\nb = {each = [1, 2, 3], over = "stage"}',
        "replicated over processor and stage; make it a component"),
    ('equation = "b"\n[components]\nb = {equation = "a", over = "stage"}\n[inputs]\na = 1', "unknown index 'stage'"),
    ('equation = "a"\n[components]\na = {unit = "s"}', "components.a: either an equation or a model"),
    ('equation = "a"\n[components]\na = {equation = "1", at = {p = 1}}', "components.a: 'at' belongs to a model"),
    ('equation = "a"\n[components]\na = {model = "none.json", at = {p = 1}}', "none.json: there is no such file"),
    ('equation = "a"\n[components]\na = {equation = 1}', "components.a: equation: expected `str | null`, got `int`"),
    ('equation = "a + b"\n[inputs]\na = {value = 1, unit = "s"}\nb = {value = 1, unit = "kB"}',
        "'a' is in s and 'b' is in kB"),
    ('equation = "a + b"\n[inputs]\na = {value = 1, unit = "s"}\nb = 1', "'a' is in s and 'b' has no unit"),
    ('equation = "max(b, a)"\n[inputs]\na = {value = 1, unit = "s"}\nb = {value = 1, unit = "B"}',
        "'b' is in B and 'a' is in s"),
    ('equation = "log(a)"\n[inputs]\na = {value = 1, unit = "s"}', "log takes a number without unit, but 'a' is in s"),
    ('equation = "2^a"\n[inputs]\na = {value = 1, unit = "s"}', "an exponent takes a number without unit"),
    ('equation = "a^b"\n[inputs]\na = {value = 1, unit = "s"}\nb = [1, 2]', "only a number to which it is raised"),
    ('unit = "B"\nequation = "a"\n[inputs]\na = {value = 1, unit = "s"}',
        "the result is in s, which cannot be converted to B"),
    ('equation = "1/(a - a)"\n[inputs]\na = {normal = [1, 1]}', "'1/(a - a)': a divisor is zero"),
    ('equation = "log(a - 2)"\n[inputs]\na = 1', "'log(a - 2)': log(-1) is nan"),
    ('equation = "1/a"\n[inputs]\na = {interval = [-1, 1]}', "equation: "),
    ('equation = "a"\nname = 3', "model.toml: name: expected `str`, got `int`"),
    ('equation = "a"\ninput = 3', "model.toml: unknown key 'input': did you mean 'inputs'?"),
    ('name = "x"', "model.toml: object missing required field `equation`"),
    ('equation = "a', "model.toml: not TOML: "),
    ('equation = "a"\n[inputs]\na = 1\n[correlations]\n"a,b" = 0.5', "correlations: unknown uncertain input 'a'"),
    ('equation = "a"\n[inputs]\na = {normal = [1, 1]}\n[correlations]\n"a" = 0.5', "correlations: 'a': two inputs"),
    ('equation = "a"\n[inputs]\na = {normal = [1, 1]}\n[correlations]\n"a,a" = 0.5', "always correlated with itself"),
    ('equation = "a+b"\n[inputs]\na = {normal = [1, 1]}\nb = {normal = [1, 1]}\n[correlations]\n"a,b" = 2.0',
        "correlations: 'a,b' is 2.0; between -1 and 1"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), MISTAKES)
def test_mistakes(tmp_path, text, message):
    with pytest.raises(PerfError) as caught:
        StructuralModel.read(written(tmp_path, text)).predict()
    line = str(caught.value)
    assert "\n" not in line
    assert "model.toml: " in line
    assert message in line


def test_many_components_need_no_deep_stack():
    """Recursion does not grow with the number of components."""
    components = {f"c{k}": f"c{k + 1} + 1" for k in range(2000)} | {"c2000": "x"}
    assert StructuralModel("c0", components=components, inputs={"x": 1}).predict().value.support == (2001.0, 2001.0)


# Files that are told from data and fitted models: structural models, predictions, and how a series is shown.
INTERVAL = {"lower": 1, "upper": 9}
NORMAL = {"representation": "normal", "mean": 5.0, "std": 1.0}


@pytest.mark.parametrize("text", [
    json.dumps([INTERVAL, INTERVAL]), json.dumps(NORMAL), json.dumps(NORMAL, indent=1) + "\n" + json.dumps(INTERVAL),
    json.dumps({"schema": 1, "kind": "predictions", "rows": [{"p": 4, "value": 5, **INTERVAL}]}),
    json.dumps({"name": "x", "notes": ["a"], "value": NORMAL}), " [3.5, 4]", "\ufeff-3",
])  # fmt: skip
def test_predictions_are_recognised(tmp_path, text):
    path = tmp_path / "predictions.json"
    path.write_text(text, encoding="utf-8")
    entry = model_file_entry(path)
    assert entry.name == "predictions"
    assert entry.default_for == ("validation",)


# Files of predictions and of actual values: what a user can write, and what is wrong with it, with its place.
@pytest.fixture
def write(tmp_path):
    def write(text, name="file"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize("text", [
    json.dumps([NORMAL, 3]),
    json.dumps([NORMAL, {"representation": "point", "value": 3.0}]),
    json.dumps(NORMAL) + "\n3\n",  # one after another
    json.dumps({"value": NORMAL, "mean": 10.0}, indent=1) + json.dumps([3.0]),  # as commands print them with --json
    "\ufeff" + json.dumps([NORMAL, 3]),
])  # fmt: skip
def test_values_in_a_list_or_one_after_another(write, text):
    judgement = judge(write(text), [4.0, 5.0])
    assert judgement.representations == ("normal", "point")
    assert judgement.crps.tolist() == [from_dict(NORMAL).crps(4.0), 2.0]


@pytest.mark.parametrize(("text", "message"), [
    ("", r"holds no predictions; a value as `perf stochastic summarize` writes it, a number, or"),
    ("[]", r"holds no predictions"), ('[1,\n 2,,]', r":2: is not JSON: Expecting value, column 4"),
    ("1\n2\n[3", r":3: is not JSON"), ("[NaN]", r":1: is not JSON: NaN is met; a prediction is made of finite numbers"),
    ("[1e999]", r"prediction 1: point: inf is not finite"), ("[1, true]", r"prediction 2: 'True' is met"),
    ('["a"]', r"prediction 1: 'a' is met"), ('[{"lower": 3, "upper": 1}]', r"prediction 1: interval: "),
    ('[{"lower": null, "upper": 1}]', r"prediction 1: interval: "),
    ('[{"mean": 3}]', r"prediction 1: a stochastic value needs the key 'representation'"),
    ('[{"representation": "norml"}]', r"prediction 1: unknown representation 'norml': did you mean 'normal'"),
    ("[" * 100_000, r":1: is not JSON: it is nested too deeply"), ("9" * 5000, r":1: is not JSON"),
])  # fmt: skip
def test_what_is_no_prediction(write, text, message):
    with pytest.raises(InputError, match=message) as caught:
        judge(write(text), [1.0])
    assert len(str(caught.value).splitlines()) == 1


def test_an_error_about_a_typed_formula_is_one_line():
    with pytest.raises(PerfError) as caught:
        perfcore.evaluate("x;\rR\b3", {"x": 1})
    assert str(caught.value).isprintable()
