"""``perf stochastic summarize``: samples of a series to a stochastic value."""

import json

import numpy as np
import pytest

from perfcore.stochastic import from_dict

SAMPLES = np.random.default_rng(2).normal(0.5, 0.1, 400).round(4).clip(0, 1)


@pytest.fixture(autouse=True)
def series(folder):
    rows = (f"{second},{busy},{0.25}" for second, busy in enumerate(SAMPLES))
    (folder / "cpu.csv").write_text("time_s,busy,equal\n" + "\n".join(rows) + "\n")
    (folder / "one.csv").write_text("time_s,value\n0,1\n1,2\n2,4\n")
    (folder / "runs.csv").write_text("host,ms,seconds\na,4,0.25\nb,1,0.75\n")
    return folder


def test_the_last_five_minutes_as_a_histogram(perf, folder):
    words = ["--column", "busy", "--bins", "5", "--rule", "width", "-o", "busy.json"]
    lines = perf("stochastic", "summarize", "cpu.csv", *words).lines
    assert "(90% of 300 samples); histogram of 5 bins, CDF error 0." in lines[0]
    assert lines[2] == "300 samples of 'busy' over 299 s, from cpu.csv"
    assert lines[3].startswith(f"variation: {np.ptp(SAMPLES[100:]):.4g}, high on a scale from 0 to 1")
    assert "Next: perf stochastic eval '120*(1 + share)' --with share=busy.json" in lines
    assert lines[-1] == "value: busy.json"
    value = from_dict(json.loads((folder / "busy.json").read_text()))
    counts, edges = np.histogram(SAMPLES[100:], bins=5)
    np.testing.assert_allclose(value.masses, counts / 300)
    np.testing.assert_allclose(value.edges, edges)


def test_json(perf):
    printed = json.loads(
        perf("stochastic", "summarize", "cpu.csv", "--column", "busy", "--window", "10s", "--to", "20", "--json").out
    )
    assert (printed["from"], printed["to"], printed["samples"]) == (11.0, 20.0, 10)
    assert printed["value"]["representation"] == "histogram"
    assert printed["variation_class"] in ("low", "medium", "high")
    printed = json.loads(
        perf("stochastic", "summarize", "cpu.csv", "--column", "busy", "--as", "interval", "--json").out
    )
    assert printed["mean"] is None
    assert printed["cdf_error"] is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cpu.csv", "--column", "bussy"], "did you mean 'busy'"),
        (["cpu.csv", "--as", "histgram"], "unknown representation 'histgram': did you mean 'histogram'?"),
        (["cpu.csv", "--bins", "0"], "histogram: --bins '0'"),
        (["cpu.csv", "--as", "normal", "--bins", "5"], "--bins"),
        (["cpu.csv", "--window", "soon"], "duration 'soon': a positive number with one of"),
        (["cpu.csv", "--column", "busy", "--to", "-5"], "no value of 'busy' in the 5min until -5 s"),
        (["runs.csv"], "runs.csv: name a column (--column NAME): host, ms, seconds"),
        (["cpu.csv", "--column", "busy", "--scale", "0"], "--scale 0: a positive number is expected"),
        (["cpu.csv", "--plot", "x.jpg"], "cannot draw 'x.jpg'"),
        (["cpu.csv", "-o", "none/value.json"], "there is no folder 'none'"),
        (["trace.csv"], "a series, not a trace"),
        (["none.csv"], "none.csv: there is no such file"),
    ],
)
def test_mistakes_write_nothing(refused, folder, words, message):
    before = sorted(folder.iterdir())
    assert message in refused("stochastic", "summarize", "-o", "value.json", *words)
    assert sorted(folder.iterdir()) == before
