"""Everything registered, whoever registered it, keeps its contract; and what does not change a result."""

import numpy as np
import pandas as pd
import pytest
from format_samples import CURVE, SAMPLES, TRACE

import perfcore
from perf_formulas import Formula
from perf_lost_cycles.default_models import VARIABLE, read_models, write_models
from perfcore import Measurements, Series, UtilizationCurve, testing
from perfcore.base.errors import DataError, MissingDependencyError
from perfcore.contracts import FormulaFunction
from perfcore.hooks.registry import registry
from perfcore.hooks.specs import KINDS
from perfcore.reading.recognise import recognise
from perfcore.reading.source import Source
from perfcore.testing import FitterSuite, FunctionSuite, ReaderSuite, SegmenterSuite

STEPS = UtilizationCurve(
    [0, 2, 3, 7, 8, 12, 13, 17, 20, 26, 27, 31], [1, 2, 1.5, 2.5, 9, 8, 9, 8.5, 4, 3, 4.5], n_locations=10
)
WITHIN_CURVE = np.linspace(STEPS.start, STEPS.end, 9)

# Two codes on three systems, one pair missing; the work is 100 and 250, the speeds 1, 2 and 0.5.
TIMES = Measurements(
    pd.DataFrame(
        [
            (code, system, p, work / speed * (1 / p + 0.02 + 0.01 * np.sin(7 * p + work + speed) / p))
            for code, work in (("lu", 100.0), ("cg", 250.0))
            for system, speed in (("old", 1.0), ("new", 2.0), ("slow", 0.5))
            for p in (1, 2, 4, 8, 16)
            if (code, system) != ("cg", "slow")
        ],
        columns=["code", "system", "p", "time_s"],
    ),
    source="times.csv",
)
PLACES = {"p": [1, 4, 16, 64], "code": ["lu", "cg", "lu", "cg"], "system": ["old", "old", "slow", "new"]}
NEW_PLACES = {"p": [1, 4], "code": ["cg", "cg"], "system": ["slow", "old"]}
ONE_SERIES = Measurements(pd.DataFrame({"p": [1, 2, 4, 8, 16], "time_s": [8.2, 4.4, 2.4, 1.45, 0.93]}))
TWO_PARAMETERS = Measurements(
    pd.DataFrame(
        [(n, p, n**3 / p + 5 * n**2 + n * np.cos(p * n)) for n in (10, 20, 40) for p in (1, 4, 16)],
        columns=["n", "p", "time_s"],
    ),
    parameters="p,n",
)
CATEGORIES = Measurements(
    pd.DataFrame(
        [
            (p, name, time * (1 + 0.01 * np.sin(9 * p + time)))
            for p in (1, 2, 4, 8, 16)
            for name, time in (("compute", 80 / p), ("wait", 2 + np.log2(p)), ("total", 83 / p + 4 + 2 * np.log2(p)))
        ],
        columns=["p", "category", "time_s"],
    ),
    source="profile.csv",
)
# A path that changes its law at a node's 16 processors, one that does not, and one with too few points.
BROKEN = Measurements(
    pd.DataFrame(
        [
            (p, path, time * (1 + 0.01 * np.sin(50 * p + run)))
            for p in (1, 2, 4, 8, 16, 32, 64, 128)
            for path, time in (("halo", 1.0 if p <= 16 else 0.2 * p), ("solve", 2 + 64 / p), ("io", 5.0))
            for run in range(3)
            if path != "io" or p > 32
        ],
        columns=["p", "callpath", "time_s"],
    ),
    source="paths.csv",
)
THROUGHPUTS = Measurements(
    pd.DataFrame({"p": [1, 2, 4, 8, 16, 32, 64], "ops/s": [96.0, 186.0, 345.0, 560.0, 802.0, 818.0, 610.0]}),
    parameters="p",
    value="ops/s",
)
LOAD = Series(np.arange(40), {"cpu": 0.5 + 0.3 * np.sin(np.arange(40.0)), "disk": np.zeros(40)}, "s", source="load.csv")

CASES = {
    "one number": ("worley", STEPS, {"phases": 3, "degree": 1}, WITHIN_CURVE),
    "sequence": ("worley", STEPS, {"phases": "1..4", "rule": "penalty"}, WITHIN_CURVE),
    "refined": ("worley", STEPS, {"phases": 3, "degree": 0, "refine": True}, WITHIN_CURVE),
    "by a tolerance": ("worley", STEPS, {"tolerance": 4.0}, WITHIN_CURVE),
    "phases": ("phases", STEPS, {}, WITHIN_CURVE),
    "functions": ("worley", STEPS, {"phases": 2, "functions": ("exp",), "scale": 5.0}, WITHIN_CURVE),
    "climber": ("phases", STEPS, {"phases": 3, "degree": 2, "segmenter": "hill-climb"}, WITHIN_CURVE),
    "each pair its own": ("individual", TIMES, {}, PLACES),
    "one for all pairs": ("individual", TIMES, {"functions": "all", "terms": "1..2", "sign": "bounded"}, PLACES),
    "relative": ("individual", TIMES, {"functions": ("1/p", "1"), "weights": "relative"}, PLACES),
    "one series": ("individual", ONE_SERIES, {"functions": ("1/p", "1")}, np.array([1.0, 3.0, 64.0])),
    "two parameters": ("individual", TWO_PARAMETERS, {"functions": ("n^3/p", "n^2")}, {"p": [2, 8], "n": [10, 80]}),
    "joint": ("strohmaier", TIMES, {"functions": ("1/p", "1")}, NEW_PLACES),
    "best joint": ("strohmaier", TIMES, {"criterion": "bic", "terms": "1..2", "validate": False}, PLACES),
    "joint, function twice": ("strohmaier", TIMES, {"functions": ("1", "1")}, PLACES),
    "joint, prepared": (
        "strohmaier",
        TIMES,
        {"functions": ("1/p",), "operations": {"lu": 1e9, "cg": 3e9}, "intervals": "profile", "loss": "linear"},
        NEW_PLACES,
    ),
    "joint, robust": (
        "strohmaier",
        TIMES,
        {"functions": ("1/p", "1"), "loss": "huber", "intervals": "bootstrap", "draws": 10, "drop_outliers": True},
        PLACES,
    ),
    "default models": ("lca", CATEGORIES, {}, {"p": [1, 3, 64], "category": ["compute", "total", "wait"]}),
    "default models, as the paper": (
        "lca",
        CATEGORIES,
        {"criterion": "r2", "weights": "equal", "show": "wait"},
        {"p": [1, 3, 64]},
    ),
    "generated": ("modgen", CATEGORIES, {}, {"p": [1, 3, 64], "category": ["compute", "total", "wait"]}),
    "sum of categories": ("projection", CATEGORIES, {"at": "p=64"}, np.array([1.0, 3.0, 64.0])),
    "law of one series": ("scaling", ONE_SERIES, {}, np.array([1.0, 3.0, 64.0])),
    "laws of several paths": ("scaling", TIMES, {"exponents": "-1,0,1"}, {"p": [1, 64], "path": ["lu old", "cg new"]}),
    "law of two parameters": ("scaling", TWO_PARAMETERS, {"at": "p=64,n=80"}, {"p": [2, 8], "n": [10, 80]}),
    "laws that drift": ("scaling", BROKEN, {"show": "halo"}, {"p": [3, 256, 256], "path": ["halo", "halo", "solve"]}),
    "formula": ("regression", ONE_SERIES, {"formula": "a + b/p"}, np.array([1.0, 3.0, 64.0])),
    "formula of groups": (
        "regression",
        TIMES,
        {"formula": "a + b/p", "by": "code,system", "weights": "relative"},
        {"p": [1, 3, 64], "code": ["lu", "lu", "cg"], "system": ["old", "slow", "new"]},
    ),
    "nonlinear formula": (
        "regression",
        TWO_PARAMETERS,
        {"formula": "a*n^b/p + c*n^2", "start": "b=3", "family": "gamma"},
        {"p": [2, 8], "n": [10, 80]},
    ),
    "formula, robust": ("regression", TIMES, {"formula": "a + b/p", "robust": "huber"}, {"p": [1, 3]}),
    "throughputs": ("usl", THROUGHPUTS, {}, np.array([1.0, 3.0, 64.0])),
    "times": ("usl", ONE_SERIES, {}, np.array([1.0, 3.0, 64.0])),
    "forecast": ("forecast", LOAD, {"column": "cpu", "within": "0,1", "horizon": 4}, np.array([1, 2, 4])),
}
MODELS = {}  # by case


def loaded(kind, name):
    """Load an implementation, or skip the test if a library is missing."""
    try:
        return registry().load(kind, name)
    except MissingDependencyError as error:
        pytest.skip(str(error))


class TestFitters(FitterSuite):
    @pytest.fixture(autouse=True, params=CASES)
    def choose(self, request):
        self._case = request.param
        self.name, self._data, self.options, self._points = CASES[request.param]

    def fit(self):
        """One model for all tests of a case: models are frozen."""
        if self._case not in MODELS:
            MODELS[self._case] = super().fit()
        return MODELS[self._case]

    def test_fits_are_reproducible(self):
        assert super().fit().parameters == self.fit().parameters

    def data(self):
        return self._data

    def points(self):
        return self._points


def test_every_bundled_fitter_has_a_case():
    bundled = {name for name, entry in registry().entries("fitters").items() if entry.distribution == "perfcore"}
    assert bundled == {name for name, *_ in CASES.values()}, "add a case for the new fitter to CASES"


def test_every_kind_of_thing_has_a_suite():
    suites = {f"{name.removesuffix('Suite').lower()}s" for name in testing.__all__}
    assert suites == set(KINDS) - {"kinds", "classifiers", "models", "commands"}


# Every registered segmenter, whoever registered it, keeps the contract.
class TestSegmenters(SegmenterSuite):
    @pytest.fixture(autouse=True, params=registry().entries("segmenters"))
    def choose(self, request):
        self.segmenter = loaded("segmenters", request.param)


# Every registered function, whoever registered it, keeps the contract.
def same_formula(function):
    """A function of the formula alone, evaluated by the core."""
    facts = {name: getattr(function, name) for name in ("name", "formula", "variables")}
    return type("Same", (FormulaFunction,), facts)


class TestFunctions(FunctionSuite):
    @pytest.fixture(autouse=True, params=registry().entries("functions"))
    def choose(self, request):
        self.function = loaded("functions", request.param)

    def test_its_variables_are_those_of_its_formula(self):
        values = same_formula(self.function)()(self.points)
        for name in self.function.variables:  # the value depends on each, and on nothing else
            others = self.points | {name: 1.5 * self.points[name] + 1.0}
            assert not np.array_equal(same_formula(self.function)()(others), values), name
        only = {name: self.points[name] for name in self.function.variables}
        np.testing.assert_array_equal(same_formula(self.function)()(only), values)

    def test_its_formula_gives_its_values(self):
        expected = same_formula(self.function)()(self.points)
        np.testing.assert_allclose(self.function()(self.points), expected, rtol=1e-12)

    def test_has_the_name_that_it_is_registered_by(self, request):
        assert self.function.name == request.node.callspec.params["choose"]


@pytest.mark.parametrize(
    ("formula", "broken"), [("1/(p - 1)", "test_values_are_finite"), ("p + 1", "test_is_one_or_zero_at_one")]
)
def test_the_suite_notices(formula, broken):
    suite = FunctionSuite()
    suite.function = type("Broken", (FormulaFunction,), {"name": formula, "formula": formula, "variables": ("p",)})
    with pytest.raises(AssertionError):
        getattr(suite, broken)()


# Every registered reader, whoever registered it, keeps the contract on small samples of its format.
def parquet(text: str, folder) -> bytes:
    """The same table in Parquet, by the library's own conversion."""
    (folder / "table.csv").write_text(text)
    perfcore.write(perfcore.read(folder / "table.csv"), folder / "table.parquet")
    return (folder / "table.parquet").read_bytes()


class TestReaders(ReaderSuite):
    @pytest.fixture(autouse=True, params=registry().entries("readers"))
    def choose(self, request, tmp_path_factory):
        entry, self.reader = registry().entry("readers", request.param), loaded("readers", request.param)
        if entry.name == "parquet":
            folder = tmp_path_factory.mktemp("parquet")
            self.samples = [("curve.parquet", parquet(CURVE, folder)), ("trace.pq", parquet(TRACE, folder))]
        elif entry.name in SAMPLES:
            self.samples = SAMPLES[entry.name]
        elif entry.distribution == "perfcore":
            pytest.fail(f"reader {entry.name!r} has no sample here; add one to SAMPLES in tests/format_samples.py")
        else:
            pytest.skip(f"reader {entry.name!r} of {entry.distribution} brings its own samples, in its own tests")

    def read(self, path):
        """A summary has no intervals that could be compared; its curve has."""
        data = super().read(path)
        return data.utilization() if hasattr(data, "summary") else data

    def test_is_chosen_for_its_samples(self, request, tmp_path):
        """No other reader is surer."""
        chosen = request.node.callspec.params["choose"]
        for path, _ in self.files(tmp_path):
            with Source(path) as source:
                assert recognise(source)[0] == chosen


# Every registered set of default models, whoever registered it, keeps the contract.
LEVELS = np.array([1.0, 2.0, 3.0, 8.0, 100.0, 1e6])


@pytest.fixture(params=registry().entries("default_models"))
def models(request):
    return read_models(request.param)


def test_each_model_says_in_one_line_where_its_form_comes_from(models):
    assert models
    for model in models:
        assert model.origin.strip(), f"{model.formula} of {model.category} has no origin"
        assert len(model.origin.splitlines()) == 1


def test_terms_are_finite(models):
    """From one processor, element or step to a million, so that no measured level is lost."""
    for model in models:
        for term in model.terms:
            values = Formula(term).evaluate({VARIABLE: LEVELS})
            assert np.isfinite(values).all(), f"{term} of {model.formula} is not finite"


def test_terms_are_independent(models):
    """No coefficient of a model can take the place of another."""
    for model in models:
        columns = np.stack([Formula(term).evaluate({VARIABLE: LEVELS}) for term in model.terms], axis=1)
        scaled = columns / np.linalg.norm(columns, axis=0)
        assert np.linalg.matrix_rank(scaled) == len(model.terms), f"{model.formula} has dependent terms"


def test_written_and_read_they_are_the_same(models, tmp_path):
    """In the same order."""
    write_models(models, tmp_path / "models.toml")
    assert read_models(tmp_path / "models.toml") == models


# What does not change a result: the order of rows, names of columns, codes and files, and the unit.
TABLES = [name for name, (_, data, *_) in CASES.items() if isinstance(data, Measurements)]
CURVES = [name for name, (_, data, *_) in CASES.items() if not isinstance(data, Measurements)]
ROLES = ("code", "system", "category")
INTERVAL = 0.9  # of predictions
# Bounds that change a little with the order of rows or the unit, since their quantiles are those of draws.
DRAWN = {"sum of categories": 0.02, "forecast": 0.02}
LABELS = {"lu": "b lu", "cg": "a cg", "old": "3", "new": "2", "slow": "1", "halo": "z", "solve": "y"}


def _reversed(words):
    """Names in another order, alone and as words of a path."""
    return " ".join(LABELS.get(word, word) for word in str(words).split(" "))


def _unchanged(table, roles, options, points):
    return table, roles, options, points


def _shuffled(table, roles, options, points):
    return table.sample(frac=1.0, random_state=5), roles, options, points


def _renamed_columns(table, roles, options, points):
    names = {column: {"p": "cores"}.get(column, f"the {column}") for column in table.columns}
    roles = {
        "parameters": {symbol: names[column] for symbol, column in roles["parameters"].items()},
        "value": names[roles["value"]], "unit": roles["unit"],
        **{role: tuple(names[column] for column in roles[role]) for role in ROLES},
    }  # fmt: skip
    if "by" in options:
        options = {**options, "by": ",".join(names[column] for column in options["by"].split(","))}
        points = {names.get(name, name) if name != "p" else name: values for name, values in points.items()}
    return table.rename(columns=names), roles, options, points


def _renamed_codes(table, roles, options, points):
    columns = [column for role in ROLES for column in roles[role] if role != "category" or column == "callpath"]
    table = table.assign(**{column: table[column].map(_reversed) for column in columns})
    if "operations" in options:
        options = {**options, "operations": {_reversed(code): each for code, each in options["operations"].items()}}
    if "show" in options:
        options = {**options, "show": _reversed(options["show"])}
    if isinstance(points, dict):
        points = {
            name: [_reversed(each) for each in values] if isinstance(values[0], str) else values
            for name, values in points.items()
        }
    return table, roles, options, points


def _in_another_unit(table, roles, options, points):
    """Milliseconds instead of seconds, operations per ms instead of per second."""
    value = roles["value"]
    name, factor = ("time_ms", 1e3) if value == "time_s" else ("ops/ms", 1e-3)
    table = table.assign(**{value: factor * table[value]}).rename(columns={value: name})
    return table, {**roles, "value": name, "unit": None}, options, points


def _predicted(name, change, source):
    fitter, data, options, points = CASES[name]
    roles = {each: getattr(data.roles, each) for each in ("parameters", "value", "unit", *ROLES)}
    table, roles, options, points = change(data.table, roles, options, points)
    model = perfcore.fit(Measurements(table, **roles, source=source), fitter=fitter, **options)
    return model.predict_array(points, interval=INTERVAL)


@pytest.mark.parametrize("name", TABLES)
def test_of_measurements(name):
    """Predictions and their bounds."""
    expected = _predicted(name, _unchanged, "a.csv")
    for change in (_shuffled, _renamed_columns, _renamed_codes, _in_another_unit):
        found = _predicted(name, change, "b.csv")
        if change is _in_another_unit:
            found /= 1e-3 if name == "throughputs" else 1e3
        np.testing.assert_allclose(found[:, 0], expected[:, 0], rtol=1e-9, err_msg=change.__name__)
        np.testing.assert_allclose(found, expected, rtol=DRAWN.get(name, 1e-8), err_msg=change.__name__)


@pytest.mark.parametrize("name", CURVES)
def test_of_curves_and_series(name):
    """A thousand times the values or the times; options that are values or times change with them."""
    fitter, data, options, points = CASES[name]
    base = perfcore.fit(data, fitter=fitter, **options).predict_array(points, interval=INTERVAL)
    for values, times in ((1000.0, 1.0), (1.0, 1000.0)):
        factors = {"tolerance": values * times**0.5, "scale": times}
        changed = {key: each * factors.get(key, 1) if key in factors else each for key, each in options.items()}
        if isinstance(data, Series):
            columns = {column: values * each for column, each in data.columns.items()}
            again = Series(data.times * times, columns, "s", source="other.csv")
            changed["within"] = f"0,{values:g}"
        else:
            again = UtilizationCurve(
                data.edges * times, data.heights * values, n_locations=int(10 * values), source="other.csv"
            )
        model = perfcore.fit(again, fitter=fitter, **changed)
        steps = points if isinstance(data, Series) else points * times
        found = model.predict_array(steps, interval=INTERVAL) / values
        np.testing.assert_allclose(found[:, 0], base[:, 0], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found, base, rtol=DRAWN.get(name, 1e-9), atol=1e-9)


def test_a_copy_of_a_file_under_another_name_is_refused(tmp_path):
    """It would count every run twice; --duplicates says which of both it is."""
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("p,time_s\n1,8\n2,4.5\n4,2.5\n8,1.75\n")
    with pytest.raises(DataError, match=r"row 4 \(.*b.csv\): from here on the rows repeat .*duplicates='drop'"):
        perfcore.fit(perfcore.read(tmp_path), fitter="scaling")
