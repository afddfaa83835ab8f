"""What tests of the command line need once."""

import signal
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def interruptible():
    """A shell in the background ignores SIGINT for all that it starts, and so would the programs that tests start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def compiled():
    """Compile the kernels beforehand: what is said about it on stderr is tested elsewhere."""
    import pandas as pd

    import perfcore

    runs = pd.DataFrame({"p": [4, 8, 16, 32, 64], "time_s": [1.0, 2, 3, 4, 5]})
    perfcore.fit(runs, fitter="scaling").report()
    curve = perfcore.UtilizationCurve([0, 1, 2, 3], [1, 5, 2])
    worley = {"fitter": "worley", "functions": "exp", "scale": 1}
    for options in ({"refine": True}, {"segmenter": "least-squares"}, worley):
        perfcore.fit(curve, phases=2, **({"degree": 1} | options))
    perfcore.fit(perfcore.UtilizationCurve(range(101), [step % 7 for step in range(100)]))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a curve and a trace in it."""
    monkeypatch.chdir(tmp_path)
    # Two levels, 1 and 5, that change at 40 us.
    Path("curve.csv").write_text("start,end,value\n0,25,1\n25,40,1\n40,70,5\n70,100,5\n")
    Path("trace.csv").write_text("start_us,end_us,location,state\n0,40,cpu0,run\n40,100,cpu0,wait\n0,100,cpu1,run\n")
    return tmp_path
