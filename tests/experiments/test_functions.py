"""The functions behind the commands: values of Python, files and results that fit together."""

import sys

import pytest

import perfcore
from perf_experiments import read_design


@pytest.fixture
def store(tmp_path):
    plan = perfcore.design({"n": "1..4*2"})
    plan.save(tmp_path / "plan.toml")
    code = "import sys; print('t', {n} + sys.getsizeof('') % 1)"
    done = perfcore.run(
        plan, [sys.executable, "-S", "-c", code], store=tmp_path / "r.db", values=["t=t ([0-9.]+)"], max_load=1
    )
    assert (done.made, done.failed, len(done.to_frame())) == (6, 0, 1)
    assert repr(done).startswith("<Summary: ")
    return tmp_path / "r.db"


def test_a_design_is_the_file_that_it_wrote(tmp_path):
    plan = perfcore.design({"p": "1..8*2", "D": [64, 96]}, constraints=["p > 1"])
    plan.save(tmp_path / "d.toml")
    assert read_design(tmp_path / "d.toml") == plan
    assert plan.to_frame().columns.tolist() == ["p", "D", "replications"]
    assert len(plan.to_frame()) == 6
    assert "<table>" in plan._repr_html_()


def test_runs_are_kept_and_priced(store):
    kept = perfcore.runs(store)
    assert kept.to_frame().groupby("n")["t"].first().to_dict() == {1: 1.0, 2: 2.0, 4: 4.0}
    assert perfcore.runs(store, failed=True).listed == ()
    run = perfcore.runs(store, show=1).listed[0]
    assert run.stdout.startswith(b"t ")
    assert {"noisy: no", "noisy: yes"} & set(run.summary())
    priced = perfcore.design({"n": [1, 2, 4]}, runs=store, budget=3600.0)
    assert priced.total_s > 0.0
    assert priced.summary()[1].startswith("about ")
