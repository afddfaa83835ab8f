"""Laws of very many paths in parts: what is said of each is what a model says."""

import errno
import itertools
import os
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import perfcore
from perf_basics import many_paths
from perf_basics.many_paths import fit_many_paths
from perf_basics.path_table_opener import PathOptions, PathTableOpener
from perf_io.tables.duck import Database
from perf_io.tables.path_table import PathTable
from perf_scaling import chunk
from perf_scaling.call_tree import callers_of, tree_of
from perf_scaling.engine import fit_paths
from perf_statistics.executors.executors import LocalProcesses
from perf_views.contents import KeyFigure, KeyFigures, NoViewError
from perfcore.base.errors import DataError, InputError, OptionError, UnknownNameError

P = (4.0, 8.0, 16.0, 32.0, 64.0)


def profile(paths=12, runs=3, seed=0):
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(paths):
        power = rng.uniform(-1.0, 2.0)
        name = f"main->caller{number // 4}->callee{number % 4}"
        for p, run in itertools.product(P, range(runs)):
            rows.append((p, name, run, (1.0 + 0.1 * p**power) * rng.lognormal(0.0, 0.03)))
    return pd.DataFrame(rows, columns=["p", "callpath", "run", "time_s"])


def written(frame, file):
    frame = frame.copy()
    duckdb.from_df(frame).write_parquet(str(file))
    return str(file)


@pytest.fixture
def small_parts(monkeypatch):
    """Several parts of few rows."""
    monkeypatch.setattr(many_paths, "_ROWS_OF_PART", 50)


@pytest.fixture
def every_law(monkeypatch):
    """No law stands for another, as in a model."""

    def every(points, runs, exponents, logarithms, sparse, reciprocal):
        return fit_paths(points, runs, exponents, logarithms, reciprocal=reciprocal)

    monkeypatch.setattr(chunk, "fit_paths", every)


def of_model(frame, **options):
    return perfcore.fit(frame, fitter="scaling", **options).to_frame().set_index("path").sort_index()


def of_table(table):
    rows = table.top(10**6)
    return pd.DataFrame([row for row in rows if row["law"] is not None]).set_index("path").sort_index()


def with_a_gap(frame):
    """One path was not measured at the first level, one at too few, and one value is 0."""
    frame = frame[~((frame["callpath"] == "main->caller0->callee1") & (frame["p"] == P[0]))]
    frame = frame[~((frame["callpath"] == "main->caller0->callee2") & (frame["p"] > P[1]))]
    return frame.reset_index(drop=True)


CASES = {
    "plain": (profile(), {}),
    "gaps": (with_a_gap(profile(seed=1)), {"at": ("p=1000",)}),
    "metrics": (
        pd.concat([profile(4).assign(metric="time"), profile(4, seed=3).assign(metric="visits")], ignore_index=True),
        {"path": ("callpath", "metric")},
    ),
    "where": (
        pd.concat([profile(4).assign(n=n, system="a") for n in (1, 2)], ignore_index=True),
        {"where": ("n=2",), "parameter": ("p", "n")},
    ),
    "values": (profile(4).assign(io_s=lambda t: 2.0 * t["time_s"]), {"value": ("time_s", "io_s")}),
    "inclusive": (
        pd.concat(
            [profile(4), profile(4).assign(callpath="main", time_s=lambda t: 9.0 * t["time_s"])[::4]],
            ignore_index=True,
        ),
        {},
    ),
    "rates": (profile(4).rename(columns={"time_s": "tokens_per_s"}), {"value": ("tokens_per_s",)}),
    "grid": (profile(4), {"exponents": ("0", "1", "2")}),
}


@pytest.mark.parametrize("case", CASES)
def test_rows_are_those_of_a_model(case, tmp_path, small_parts, every_law):
    frame, options = CASES[case]
    table = fit_many_paths(written(frame, tmp_path / "runs.parquet"), tmp_path / "laws.parquet", **options)
    expected, found = of_model(frame, **options), of_table(table)
    pd.testing.assert_frame_equal(found, expected[found.columns], rtol=1e-9, check_dtype=False)
    shares = [row["share"] for row in table.top(100) if row["share"] is not None]
    assert shares == sorted(shares, reverse=True)
    model = perfcore.fit(frame, fitter="scaling", **options)
    assert table.facts["unfitted"] == len(model.unfitted)
    for path, reason in model.unfitted.items():
        assert table.row(path)["note"] == f"not fitted: {reason}"
    assert [note for note in model.notes if "far from every law" not in note] == table.facts["notes"]


def test_any_number_of_workers_gives_the_same_bytes(tmp_path, small_parts):
    file = written(profile(6), tmp_path / "runs.parquet")
    fit_many_paths(file, tmp_path / "here.parquet")
    with LocalProcesses(2) as executor:
        fit_many_paths(file, tmp_path / "there.parquet", executor=executor)
    assert (tmp_path / "here.parquet").read_bytes() == (tmp_path / "there.parquet").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here.parquet", "runs.parquet", "there.parquet"]


def test_folders_and_text_are_read_file_by_file(tmp_path, small_parts, every_law):
    frame = profile(5)
    folder = tmp_path / "runs"
    folder.mkdir()
    for p, own in frame.groupby("p"):
        own.drop(columns="p").to_csv(folder / f"run_p{p:g}.csv", index=False)
    how = {"from_name": "run_p{p:int}.csv"}
    found = of_table(fit_many_paths(folder, tmp_path / "laws.parquet", how=how))
    expected = of_model(frame)
    assert found["predicted"].to_numpy() == pytest.approx(expected["predicted"].to_numpy())
    assert list(found["law"]) == list(expected["law"])


def test_lines_of_files_are_told(tmp_path, small_parts):
    frame = profile(5).astype({"time_s": object})
    frame.loc[40, "time_s"] = "fast"
    file = tmp_path / "runs.csv"
    frame.to_csv(file, index=False)
    with pytest.raises(InputError, match=r"runs.csv:42: time_s is 'fast'; a number is expected"):
        fit_many_paths(file, tmp_path / "laws.parquet")
    assert not (tmp_path / "laws.parquet").exists()


@pytest.mark.parametrize("before", ["rows", "run"])
def test_a_file_that_changes_between_passes_is_refused(before, tmp_path, monkeypatch):
    file = Path(written(profile(3), tmp_path / "runs.parquet"))
    pass_over, others = getattr(Database, before), profile(4, seed=1)

    def after_a_change(database, sql, *given, **named):
        if sql.startswith(("SELECT count", "COPY (SELECT *")):
            written(others, tmp_path / "new.parquet")
            (tmp_path / "new.parquet").replace(file)
        return pass_over(database, sql, *given, **named)

    monkeypatch.setattr(Database, before, after_a_change)
    with pytest.raises(InputError, match=r"runs.parquet: changed while it was read; begin anew when it is finished"):
        fit_many_paths(file, tmp_path / "laws.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["runs.parquet"]


def full_disk(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_goes_wrong_is_one_line(tmp_path, monkeypatch):
    file = written(profile(3).query("p < 10"), tmp_path / "runs.parquet")
    with pytest.raises(DataError, match=r"none of 3 paths can be fitted; .*: measured at 2 points; 3 are needed"):
        fit_many_paths(file, tmp_path / "laws.parquet")
    with pytest.raises(UnknownNameError, match="pp"):
        fit_many_paths(file, tmp_path / "laws.parquet", parameter="pp")
    with pytest.raises(OptionError, match="no row meets 'p>100'"):
        fit_many_paths(file, tmp_path / "laws.parquet", where="p>100")
    with pytest.raises(InputError, match="there is no folder"):
        fit_many_paths(file, tmp_path / "none" / "laws.parquet")
    with pytest.raises(InputError, match="cannot be written"):
        fit_many_paths(file, "/proc/laws.parquet")
    with pytest.raises(InputError, match="is no table of laws"):
        PathTable(file)
    monkeypatch.setattr(np, "savez", full_disk)
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        fit_many_paths(written(profile(3), tmp_path / "runs.parquet"), tmp_path / "laws.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["runs.parquet"]


def test_callers_are_those_of_the_tree():
    names = ["main->a->b", "main", "main->c->d->e", "main -> a", "other", "main->c->d", "main->a->b ", "main->a->b->f"]
    tree = tree_of(names, range(len(names)))
    nearest = {}
    for node, path in enumerate(tree.paths):
        above = [tree.paths[one] for one in tree.above(node) if tree.paths[one] >= 0]
        if path >= 0:
            nearest[path] = above[-1] if above else -1
    assert callers_of(names).tolist() == [nearest[k] for k in range(len(names))]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A table of 51 paths, of which one could not be fitted."""
    folder = tmp_path_factory.mktemp("laws")
    file = folder / "laws.parquet"
    fit_many_paths(written(with_a_gap(profile(51, runs=1)), folder / "runs.parquet"), file)
    return file


def test_a_table_is_explored_row_by_row(table):
    views = PathTableOpener().open(str(table), PathOptions())
    first = views.view((), {})
    assert isinstance(first.blocks[0], KeyFigures)
    assert first.blocks[0].figures[:2] == (KeyFigure("paths", "50"), KeyFigure("not fitted", "1"))
    paths = [row[0].link.path for row in first.blocks[1].rows]
    assert [path[1] for path in paths] == [row["path"] for row in PathTable(table).top(40)]
    assert first.blocks[1].note.startswith("Paths 1 to 40 of 51.")
    after = views.view((), {"start": "40"})
    assert len(after.blocks[1].rows) == 10
    assert after.blocks[2].rows[0][0] == "main->caller0->callee2"
    found = views.view((), {"name": "CALLER12->"})
    assert sorted(row[0].text for row in found.blocks[1].rows) == [f"main->caller12->callee{k}" for k in range(3)]
    assert "no path has 'nowhere'" in views.view((), {"name": "nowhere"}).blocks[0].text
    one = dict(views.view(paths[0], {}).blocks[0].rows)
    assert one["law"] == PathTable(table).top(1)[0]["law"]
    assert list(views.paths())[:2] == [(), paths[0]]
    with pytest.raises(NoViewError):
        views.view(("path", "nowhere"), {})
    with pytest.raises(OptionError, match="'-1' is no number of a row"):
        views.view((), {"start": "-1"})


def test_a_path_of_a_table_is_predicted(table):
    row = PathTable(table).top(1)[0]
    found = PathTableOpener().predict(str(table), PathOptions(row["path"]))
    assert found.to_dicts()[0] == {
        "path": row["path"], "p": 256.0, "value": row["predicted"], "lower": row["low"], "upper": row["high"],
        **({"remark": row["note"]} if found.remarks else {}),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (None, "name one with --path"),
        ("main->caller1->callee9", r"unknown path '.*' among 51; nearest are main->caller9->callee1, main->caller1->"),
        ("main->caller0->callee2", "not fitted: measured at 2 points"),
    ],
)
def test_paths_that_a_table_cannot_predict(table, path, message):
    with pytest.raises(OptionError, match=message):
        PathTableOpener().predict(str(table), PathOptions(path))


def test_other_parquet_files_are_no_tables_of_laws(tmp_path):
    assert not PathTableOpener().sniff(Path(written(profile(1, runs=1), tmp_path / "runs.parquet")))
