"""``perf predict``, ``perf rank``, and models of many series in one file."""

import json

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import perfcore
from perf_scaling.many import fit_series
from perf_scaling.options import ScalingOptions


@pytest.fixture(scope="module")
def phases():
    return perfcore.fit(perfcore.UtilizationCurve([0, 40, 100], [1, 5]), phases=2, degree=0)


@pytest.fixture
def model(phases, folder):
    phases.save(folder / "model.json")
    return folder / "model.json"


@pytest.mark.usefixtures("model")
def test_a_table_of_points_and_values(perf):
    table = [line.split() for line in perf("predict", "model.json", "--at", "t=0,39.5,40,101").lines]
    rows = [[t, v, v, v] for t, v in (("0", "1"), ("39.5", "1"), ("40", "5"), ("101", "-"))]
    assert table[2:7] == [["t", "value", "lower", "upper"], *rows]


@pytest.mark.usefixtures("model")
def test_bounds(perf):
    printed = perf("predict", "model.json", "--at", "t=50", "--interval", "0.95")
    assert [line.split() for line in printed.lines[2:4]] == [["t", "value", "lower", "upper"], ["50", "5", "5", "5"]]
    assert printed.lines[5].startswith("Uncertain: prediction interval of the utilization")
    points = json.loads(perf("predict", "model.json", "--at", "t=50", "--interval", "0.5", "--json").out)["rows"]
    assert points == [{"t": 50, "value": 5, "lower": 5, "upper": 5}]


@pytest.mark.parametrize(("text", "points"), [
    ("1", [1.0]), ("1,-2.5,1e3", [1.0, -2.5, 1000.0]), ("0..1:0.25", [0.0, 0.25, 0.5, 0.75, 1.0]),
    ("0..0.3:0.1", [0.0, 0.1, 0.2, 0.3]),  # the last one in spite of rounding
    ("5..1:-2", [5.0, 3.0, 1.0]), ("0..10:20,7", [0.0, 7.0]), ("1..64*4", [1.0, 4.0, 16.0, 64.0]),
    ("1..100*10,7", [1.0, 10.0, 100.0, 7.0]),
])  # fmt: skip
@pytest.mark.usefixtures("model")
def test_points(perf, text, points):
    rows = json.loads(perf("predict", "model.json", "--at", f"t={text}", "--json").out)["rows"]
    assert [row["t"] for row in rows] == pytest.approx(points)


# Two codes on three systems; the name of one holds commas. The times are exact: w / r (1 / p + 0.01).
WORK, SPEED = {"LU": 100.0, "SP, class A": 250.0}, {"SP2": 1.0, "T3D": 0.5, "Cray": 2.0}


RUNS = [
    f'"{code}",{system},{p},{work / speed * (1 / p + 0.01)!r}'
    for code, work in WORK.items()
    for system, speed in SPEED.items()
    for p in (2, 4, 8, 16)
    if (code, system) != ("SP, class A", "Cray")  # which never ran
]


@pytest.fixture
def joint(perf, folder):
    """Fit a joint model to the runs, and to others added."""

    def fitted(*added):
        (folder / "runs.csv").write_text("\n".join(["code,system,procs,time_s", *RUNS, *added, ""]))
        perf("fit", "runs.csv", "--fitter", "strohmaier", "--functions", "1/p,1", "-o", "joint.json")
        return folder / "joint.json"

    return fitted


def test_codes_and_systems_by_name(perf, joint):
    joint()
    table = perf("predict", "joint.json", "--at", "p=4,64", "--at", "code=LU", "--at", "system=Cray").lines
    rows = [line.split() for line in table[2:5]]
    assert [row[:4] + row[6:] for row in rows] == [
        ["procs", "code", "system", "value", "remark"],
        ["4", "LU", "Cray", "13"],
        ["64", "LU", "Cray", "1.28125", "extrapolated:", "procs", "was", "2", "to", "16"],
    ]


def test_what_the_data_do_not_determine(perf, joint):
    """On the system Bull only one size was run: two functions are not determined there, at that size their sum is."""
    joint("LU,Bull,4,26")
    words = ["--at", "p=4,64", "--at", "code=LU", "--at", "system=Bull", "--interval", "0.9", "--json"]
    measured, other = json.loads(perf("predict", "joint.json", *words).out)["rows"]
    assert measured["value"] == pytest.approx(26, rel=1e-6)
    assert measured["remark"] == ""
    assert other["remark"] == "not identifiable from these data"
    assert other["lower"] is other["upper"] is None


# ``perf rank``: which combinations of functions describe measurements best.
CODES, SYSTEMS = ("BT", "LU", "SP", "MG"), ("SP2", "Paragon", "T3D", "PCArray")
PROCESSORS = np.array([2, 4, 8, 16, 32, 64])


@pytest.fixture
def ranked(folder):
    """Times by 1/p and 1/sqrt(p), printed with six digits; the errors of t p are 0.3."""
    rng = np.random.default_rng(0)
    lines = ["code,system,procs,time_s"]
    for c, code in enumerate(CODES):
        for s, system in enumerate(SYSTEMS):
            scaled = (4 + c) * (1 + s) + (1 + 0.5 * c) / (1 + s) * np.sqrt(PROCESSORS) + 0.3 * rng.standard_normal(6)
            lines += [f"{code},{system},{p},{t:.6g}" for p, t in zip(PROCESSORS, scaled / PROCESSORS, strict=True)]
    (folder / "runs.csv").write_text("\n".join(lines) + "\n")
    return folder / "runs.csv"


ONE_PAIR = ("--where", "code=SP,system=T3D", "--terms", "2")


def header_and_rows(lines):
    """Header and rows of the table below the summary."""
    at = lines.index("") + 1
    return lines[at], lines[at + 1 :]


def test_all_models_of_a_pair_as_in_table_1(perf, ranked):
    """SSE, R^2 and both coefficients of every model of two functions; all its figures by statsmodels."""
    printed = perf("rank", "runs.csv", *ONE_PAIR, "--criterion", "sse").lines
    assert printed[1] == "21 models of SP on T3D: 6 observations of time_s"
    assert printed[2] == "response transformed to t' = t * procs"
    table = perfcore.read(ranked).where("code=SP,system=T3D").table
    p, scaled = table["procs"].to_numpy(float), (table["procs"] * table["time_s"]).to_numpy()
    assert printed[3].startswith(f"total sum of squares {scaled @ scaled:.6g} ")
    header, rows = header_and_rows(printed)
    assert header.split()[:3] == ["functions", "parameters", "SSE"]
    assert {"c1", "c2"} <= set(header.split())
    assert len(rows) == 21
    row = next(row for row in rows if row.startswith("1/procs + 1/sqrt(procs) ")).split()
    line = sm.OLS(scaled, np.column_stack([np.ones(6), np.sqrt(p)]), hasconst=False).fit()
    assert row[3:6] == ["2", f"{line.ssr:.5g}", f"{line.rsquared:.5f}"]
    assert [float(word) for word in row[-2:]] == pytest.approx(line.params, rel=1e-4)


@pytest.mark.usefixtures("ranked")
def test_one_model_for_all_pairs_as_in_table_2(perf):
    """The best of each pair stands above the models that are used for all pairs."""
    printed = perf("rank", "runs.csv", "--terms", "2", "--criterion", "sse").lines
    assert printed[1] == "21 models of 16 pairs of a code and a system: 96 observations of time_s"
    _, rows = header_and_rows(printed)
    assert rows[0].startswith("best of each pair ")
    assert rows[0].split()[4] == "32"
    assert len(rows) == 22
    assert rows[1].startswith("1/procs + 1/sqrt(procs) ")


def test_the_same_call_in_python(perf, ranked):
    words = ["--fitter", "strohmaier", "--where", "procs>=8,code=BT|SP", "--terms", "1..2", "--criterion", "bic"]
    printed = json.loads(perf("rank", "runs.csv", *words, "--json").out)["rows"]
    options = {"where": ["procs>=8", "code=BT|SP"], "terms": range(1, 3), "criterion": "bic"}
    ranking = perfcore.rank(ranked, fitter="strohmaier", **options)
    assert [candidate["functions"] for candidate in printed] == [list(c.functions) for c in ranking.candidates]
    assert [candidate["bic"] for candidate in printed] == [c.figures["bic"] for c in ranking.candidates]


# `perf fit TABLE -o MODELS.parquet`: each series is as one fitted alone, and the file is a model.
P = np.array([1.0, 2, 4, 8, 16, 32])
AT = ("--path", "path", "--at", "p=128", "-o", "models.parquet")


def series():
    """Strong, weak and growing series, of which some have repeated runs and one too few levels."""
    rng = np.random.default_rng(3)
    shapes = {"strong": 20.0 / P + 1.0, "weak": 10.0 + 0.2 * np.log2(P), "growing": 1.0 + 0.3 * P, "": np.sqrt(P)}
    rows = []
    for number, (kind, shape) in enumerate(shapes.items()):
        for run in range(1 + number % 2):
            times = shape * np.exp(0.02 * rng.standard_normal(len(P)))
            rows += [(p, f"main->{kind}{number}", run, t) for p, t in zip(P, times, strict=True)]
    rows += [(1.0, "short", 0, 1.0)]
    return pd.DataFrame(rows, columns=["p", "path", "run", "time_s"]).sample(frac=1.0, random_state=1)


@pytest.fixture
def table(folder):
    """The series, in a file of the current folder."""
    frame = series()
    frame.to_csv("paths.csv", index=False)
    return frame


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """The series and their models, in files of a folder."""
    folder = tmp_path_factory.mktemp("models")
    series().to_csv(folder / "paths.csv", index=False)
    fit_series(folder / "paths.csv", folder / "models.parquet", ScalingOptions(path="path", at=("p=128",)))
    return folder


def test_each_series_is_as_one_alone(perf, table):
    done = perf("fit", "paths.csv", *AT, status=3)
    assert done.lines[0].startswith("4 series fitted; at p=128 the largest is main->growing2: ")
    assert any(line.startswith("Not fitted: short: 1 distinct point") for line in done.lines)
    model = perfcore.load("models.parquet")
    for name in model.paths:
        alone = table[table["path"] == name].drop(columns="path").reset_index(drop=True)
        one = perfcore.fit(alone, fitter="scaling", at="p=128", duplicates="keep")
        (expected,) = one.predict_array([128.0], 0.95)
        found = model.predict_array({"p": np.array([128.0]), "path": np.array([name])}, 0.95)
        assert found[0] == pytest.approx(expected, rel=1e-9)
        assert next(row.model.formula for row in model.rows if row.path == name) == one.formula


def test_the_file_is_a_model(perf, models, monkeypatch):
    monkeypatch.chdir(models)
    assert "main->growing2" in perf("predict", "models.parquet").out
    assert perf("compare", "models.parquet", "models.parquet").lines[0].startswith("B and A do not differ")
    assert perfcore.load("models.parquet").views() is not None


def test_series_are_ranked(perf, refused, models, monkeypatch):
    monkeypatch.chdir(models)
    by_value, by_growth = perf("rank", "models.parquet", "--top", "2"), perf("rank", "models.parquet", "--by", "growth")
    assert by_value.lines[0].startswith("main->growing2 is the largest at p=128: ")
    assert by_growth.lines[0].startswith("main->growing2 grows the most towards p=128: linear")
    assert "main->strong0" in by_growth.out
    assert "main->strong0" not in by_value.out
    farther = perf("rank", "models.parquet", "--at", "p=256")
    assert farther.lines[0].startswith("main->growing2 is the largest at p=256: ")
    assert "unknown order 'size'" in refused("rank", "models.parquet", "--by", "size")
    assert "--by is for files of many series" in refused("rank", "paths.csv", "--by", "growth")


def rows_of(file):
    return perfcore.load(file).predict_array({"p": np.full(4, 128.0), "path": perfcore.load(file).paths}, 0.95)


def test_numbers_are_the_same_by_every_route(perf, table, models):
    perf("fit", "paths.csv", *AT, "--parallel", "local:1", status=3)
    assert (rows_of("models.parquet") == rows_of(models / "models.parquet")).all()


def test_workers_of_dask_give_the_same_numbers(perf, table, models):
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    with distributed.LocalCluster(**options) as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        perf("fit", "paths.csv", *AT, "--parallel", address, status=3)
    assert (rows_of("models.parquet") == rows_of(models / "models.parquet")).all()


def test_an_interrupted_fit_goes_on(perf, refused, table, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("perf_io.tables.table_write.join_answers", full)
        assert "No space left" in refused("fit", "paths.csv", *AT)
    with monkeypatch.context() as patched:
        patched.setattr("perf_scaling.many.fit_block", None)  # no block is fitted again
        done = perf("fit", "paths.csv", *AT, status=3)
    assert "4 series fitted" in done.out
    assert "2 blocks of series were fitted before" in done.err
    with monkeypatch.context() as patched:
        patched.setattr("perf_io.tables.table_write.join_answers", full)
        refused("fit", "paths.csv", *AT)
    table.assign(time_s=2.0).to_csv("paths.csv", index=False)  # another input: nothing is left of the first
    done = perf("fit", "paths.csv", *AT, status=3)
    assert "fitted before" not in done.err
    assert ": 2 s, 95% interval" in done.lines[0]


@pytest.mark.parametrize(("words", "message"), [
    (("one.csv", "-o", "m.parquet"), "name the column of a series with --path"),
    (("one.csv", "--fitter", "individual", "-o", "m.parquet"), "models of this fitter are JSON files"),
    (("nowhere.csv", "-o", "m.parquet"), "there is no such file"),
    (("one.csv", "paths.csv", "-o", "m.parquet"), "give one file of all series"),
])  # fmt: skip
def test_mistakes(refused, table, words, message):
    table[table["path"] == "main->weak1"].drop(columns="path").to_csv("one.csv", index=False)
    assert message in refused("fit", *words)
