"""``perf stochastic summarize``: samples of a series to a stochastic value."""

import json

import numpy as np
import pytest
from scipy.signal import lfilter

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


def test_samples_that_follow_one_another_are_worth_fewer(folder, perf):
    """Of an autoregression with coefficient 0.8 the mean is known as from (1 - 0.8)/(1 + 0.8) = 1/9 as many."""
    noise = np.random.default_rng(5).normal(size=9000)
    values = lfilter([1.0], [1.0, -0.8], noise)
    (folder / "ar.csv").write_text("time_s,x\n" + "\n".join(f"{k},{value}" for k, value in enumerate(values)) + "\n")
    printed = json.loads(perf("stochastic", "summarize", "ar.csv", "--column", "x", "--window", "all", "--json").out)
    assert printed["effective_samples"] == pytest.approx(1000, rel=0.2)


def test_day_and_night_are_two_modes(folder, perf):
    """Eight busy hours a day, a third of all samples."""
    times = 1_700_006_400 + 300 * np.arange(288 * 10)  # from midnight UTC
    hours = times // 3600 % 24
    load = np.where((hours >= 9) & (hours < 17), 0.8, 0.2) + np.random.default_rng(6).normal(0.0, 0.02, len(times))
    rows = "\n".join(f"{at},{value:.5f}" for at, value in zip(times, load, strict=True))
    (folder / "load.csv").write_text(f"time_s,load\n{rows}\n")
    out = perf("stochastic", "summarize", "load.csv", "--column", "load", "--window", "all").out
    assert "from 09:00 to 17:00 UTC" in out
    assert "(67%)" in out
    assert "(33%)" in out


def test_a_run_that_starts_now(perf, folder):
    """The mean of 25 independent samples spreads a fifth as much as single ones."""
    words = ["stochastic", "summarize", "cpu.csv", "--column", "busy"]
    single = json.loads(perf(*words, "--window", "all", "--json").out)
    mean = json.loads(perf(*words, "--run", "25s", "--json").out)
    assert mean["std"] == pytest.approx(single["std"] / 5, rel=0.4)
    assert perf(*words, "--run", "25s").lines[0].startswith("busy: mean over a run of 25s that starts now: median 0.")


def test_a_divisor_that_reaches_zero_is_answered_with_its_share(perf, refused, folder):
    """Even from 0 to 1.25: a fifth lies beyond 1."""
    words = ["stochastic", "eval", "120/(1-load)", "--with", "load=histogram:0,1.25/1"]
    error = refused(*words)
    assert "120/(1-load)" in error
    assert "0 or beyond for 20% of load; --support 0,1 leaves these out" in error
    assert perf(*words, "--support", "0,1").lines[0].startswith("120/(1-load): median 240 [")  # 120/(1 - 0.5)
