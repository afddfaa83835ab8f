"""`perf fit TABLE -o MODELS.parquet`: each series is as one fitted alone, and the file is a model."""

import numpy as np
import pandas as pd
import pytest

import perfcore
from perf_scaling.many import fit_series
from perf_scaling.options import ScalingOptions

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
