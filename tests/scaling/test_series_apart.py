"""Series that only a text tells apart: a model each, of which none is a part of another."""

import numpy as np
import pandas as pd
import pytest

import perfcore
from perfcore.base.errors import OptionError

SIZES = np.array([100.0, 200.0, 400.0, 800.0, 1600.0])


@pytest.fixture
def table():
    linear = pd.DataFrame({"size": SIZES, "algo": "a", "time_s": 0.01 * SIZES})
    quadratic = pd.DataFrame({"size": SIZES, "algo": "b", "time_s": 5e-5 * SIZES**2})
    return pd.concat([linear, quadratic], ignore_index=True)


def test_each_has_the_model_that_it_has_alone(table):
    model = perfcore.fit(table, fitter="scaling", parameter="size")
    assert model.paths == ("a", "b")
    note_of_models = "one model for each algo, since rows of one point, such as size="
    assert any(note.startswith(note_of_models) for note in model.notes)
    at = {"size": 6400.0}
    for name in model.paths:
        alone = perfcore.fit(table[table.algo == name], fitter="scaling", parameter="size")
        assert model.predict({**at, "path": name}) == pytest.approx(alone.predict(at), rel=1e-9)


def test_they_do_not_add_up(table):
    model = perfcore.fit(table, fitter="scaling", parameter="size")
    assert "total" not in model.report().answer
    assert not model.part_draws({"p": np.array([6400.0])}).add_up
    assert "total" not in perfcore.predict(model).report().answer


def test_they_are_found_again_in_other_data(table):
    model = perfcore.fit(table, fitter="scaling", parameter="size")
    report = perfcore.validate(model, table[table.algo == "b"].assign(size=table["size"] * 2))
    assert len(report.to_frame()) == len(SIZES)


def test_with_a_path_that_does_not_tell_them_apart_they_are_refused(table):
    table["machine"] = "m"
    with pytest.raises(OptionError, match=r"differ in algo \(a, b\) and are up to .*path='machine,algo', or choose"):
        perfcore.fit(table, fitter="scaling", parameter="size", path=("machine",))


def rows(*cells):
    """Return a table of these columns, with texts, processors and times."""
    return pd.DataFrame(cells, columns=["kernel", "threads", "time_s"])


STREAM = [
    (kernel, p, t / p + 0.1) for kernel, t in {"copy": 1.0, "add": 1.5, "triad": 1.6}.items() for p in (1, 2, 4, 8)
]
PARTS = [(kernel.replace("copy", "assemble"), p, t) for kernel, p, t in STREAM]


@pytest.mark.parametrize(("cells", "further", "add_up"), [
    (STREAM, {}, False), (PARTS, {}, True), (PARTS, {"gflops": 3.5}, False), (PARTS, {"checksum": 7}, False),
])  # fmt: skip
def test_kernels_of_a_suite_do_not_add_up(cells, further, add_up):
    assert perfcore.fit(rows(*cells).assign(**further), fitter="scaling").adds_up is add_up


def test_the_serial_run_is_no_run_of_one_thread():
    """Alike in time, so that only its name says that the row of one thread is no repeated run."""
    times = ("seq", 1, 10.0), *(("omp", p, 10.5 / p + 0.3) for p in (1, 2, 4, 8))
    table = rows(*times).rename(columns={"kernel": "impl"})
    model = perfcore.fit(table, fitter="scaling")
    assert model.paths == ("omp",)
    assert "1 distinct point" in model.unfitted["seq"]


def test_rows_without_a_text_that_parts_the_others_are_a_series():
    table = pd.DataFrame({"p": [1, 2, 4, 8] * 2 + [16], "schedule": ["static"] * 4 + ["dynamic"] * 4 + [None],
                          "time_s": [8.0, 4.1, 2.2, 1.2, 30.0, 15.5, 8.1, 4.3, 9.0]})  # fmt: skip
    model = perfcore.fit(table, fitter="scaling")
    assert (model.paths, list(model.unfitted)) == (("static", "dynamic"), ["no schedule"])


def test_wholes_in_columns_do_not_add_up_and_may_have_two_parameters():
    points = [(n, p) for n in (100, 200, 400) for p in (1, 2, 4)]
    table = pd.DataFrame({"docs": n, "threads": p, "seq_total_ms": n * 1.0, "par_total_ms": n / p} for n, p in points)
    model = perfcore.fit(table, fitter="scaling", value=["seq_total_ms", "par_total_ms"])
    assert (model.paths, model.adds_up) == (("seq_total_ms", "par_total_ms"), False)
    assert list(model.parameter_names.values()) == ["threads", "docs"]


def test_steps_that_differ_are_said_first_and_are_no_strong_scaling():
    table = pd.DataFrame({"ranks": [1, 2, 4, 8], "nx": 90, "steps": [10, 20, 40, 40], "time_s": [8.0, 8.1, 8.2, 4.4]})
    report = perfcore.fit(table, fitter="scaling").report()
    uncertain = [note.text for note in report.notes if note.label == "Uncertain"]
    assert uncertain[0] == "the runs did not do the same work: 10 to 40 steps (--where steps=40 holds them)"
    assert "strong scaling, since the time falls" in " ".join(note.text for note in report.notes)


def test_other_numbers_of_threads_are_no_repeated_runs():
    """One number of processes was run with two; its times are not those of one point."""
    points = [(1, 4), (2, 4), (4, 4), (8, 4), (8, 2)]
    table = pd.DataFrame({"processes": p, "threads": t, "time_s": 40 / (p * t) + 0.4} for p, t in points)
    assert list(perfcore.fit(table, fitter="scaling").parameter_names.values()) == ["processes", "threads"]
