"""Small programs to run, as the experiments of the tests."""

import sys

import pytest

from perf_experiments import Design, RunOptions, run_design


@pytest.fixture
def runs(tmp_path):
    """Run a piece of Python, with places for factors, over a design; gives the summary."""

    def run(code, factors=None, *, store=tmp_path / "runs.db", design=None, **options):
        design = design or {}
        made = Design(factors=factors or {"n": [1, 2]}, **{"replications": 1, **design})
        command = [] if code is None else [sys.executable, "-S", "-c", code]
        return run_design(made, store, RunOptions(command, **{"max_load": 1.0, **options}))

    run.store = tmp_path / "runs.db"
    return run
