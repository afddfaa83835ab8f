"""``perf stochastic``, and ``perf predict`` and ``perf validate`` of structural models: what is printed and refused."""

import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy.signal import lfilter

from perfcore.stochastic import from_dict

EXAMPLES = Path(__file__).parents[2] / "examples"
SAMPLES = np.random.default_rng(2).normal(0.5, 0.1, 400).round(4).clip(0, 1)
HISTOGRAM = {"representation": "histogram", "edges": [0.0, 10.0, 20.0], "masses": [0.25, 0.75]}


@pytest.fixture(autouse=True)
def files(folder):
    """A series, tables of runs, predictions and structural models."""
    rows = (f"{second},{busy},{0.25}" for second, busy in enumerate(SAMPLES))
    (folder / "cpu.csv").write_text("time_s,busy,equal\n" + "\n".join(rows) + "\n")
    (folder / "runs.csv").write_text("host,ms,seconds\na,4,0.25\nb,1,0.75\n")
    (folder / "times.csv").write_text("start_s,time_s\n0,5\n60,15\n120,18\n180,25\n")
    (folder / "one.json").write_text(json.dumps(HISTOGRAM))
    (folder / "model.toml").write_text(
        'unit = "s"\nequation = "time"\n[components]\nrow = "cost"\nhalo = "2*cost"\n'
        '[inputs]\ntime = { value = 1, unit = "s" }\n'
        'cost = { each = [{ normal = [1, 0.1] }, { normal = [2, 0.1] }], unit = "ms" }\n'
        '[[candidate]]\nname = "fast"\ninputs = { time = { normal = [10, 3], unit = "s" } }\n'
        '[[candidate]]\nname = "steady"\ninputs = { time = { normal = [11, 1], unit = "s" } }\n'
    )
    (folder / "demo.toml").write_text(
        'name = "demo"\nunit = "s"\nequation = "steps*max_over(work/speed)"\n'
        '[inputs]\nsteps = 10\nwork = { each = [40, 60], unit = "Mflop" }\n'
        'speed = { normal = [200, 10], unit = "Mflop/s", replicate = { processor = 2 } }\n'
    )
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
    words = ["stochastic", "summarize", "cpu.csv", "--column", "busy", "--json"]
    printed = json.loads(perf(*words, "--window", "10s", "--to", "20").out)
    assert (printed["from"], printed["to"], printed["samples"]) == (11.0, 20.0, 10)
    assert printed["value"]["representation"] == "histogram"
    assert printed["variation_class"] in ("low", "medium", "high")
    printed = json.loads(perf(*words, "--as", "interval").out)
    assert printed["mean"] is None
    assert printed["cdf_error"] is None


@pytest.mark.parametrize(("words", "message"), [
    (["cpu.csv", "--column", "bussy"], "did you mean 'busy'"),
    (["cpu.csv", "--as", "histgram"], "unknown representation 'histgram': did you mean 'histogram'?"),
    (["cpu.csv", "--bins", "0"], "histogram: --bins '0'"), (["cpu.csv", "--as", "normal", "--bins", "5"], "--bins"),
    (["cpu.csv", "--window", "soon"], "duration 'soon': a positive number with one of"),
    (["cpu.csv", "--column", "busy", "--to", "-5"], "no value of 'busy' in the 5min until -5 s"),
    (["runs.csv"], "runs.csv: name a column (--column NAME): host, ms, seconds"),
    (["cpu.csv", "--plot", "x.jpg"], "cannot draw 'x.jpg'"),
    (["cpu.csv", "-o", "none/value.json"], "there is no folder 'none'"),
    (["trace.csv"], "a series, not a trace"), (["none.csv"], "none.csv: there is no such file"),
])  # fmt: skip
def test_mistakes_of_summaries_write_nothing(refused, folder, words, message):
    before = sorted(folder.iterdir())
    assert message in refused("stochastic", "summarize", "-o", "value.json", *words)
    assert sorted(folder.iterdir()) == before


def test_samples_that_follow_one_another_are_worth_fewer(folder, perf):
    """Of an autoregression with coefficient 0.8 the mean is known as from (1 - 0.8)/(1 + 0.8) = 1/9 as many."""
    values = lfilter([1.0], [1.0, -0.8], np.random.default_rng(5).normal(size=9000))
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


def statistics(printed):
    """The table as a mapping."""
    rows = [line.split() for line in printed.lines if line.strip()]
    at = next(number for number, row in enumerate(rows) if row[0] == "statistic")
    return {row[0]: row[1:] for row in rows[at + 1 :]}


def test_a_sum_of_normals(perf):
    printed = perf("stochastic", "eval", "2*a + b", "--with", "a=normal:10,2", "--with", "b=normal:3,3")
    # 23 and 23 -+ 1.6449*5
    assert printed.lines[0] == "2*a + b: median 23 [14.8, 31.2] (90% of outcomes)"
    assert "Check: method: arithmetic" in printed.lines
    assert printed.lines[-1].startswith("Next: perf stochastic eval '2*a + b' --with a=normal:10,2 --with b=normal:3,3")
    assert statistics(printed)["mean"] == ["23"]
    assert statistics(printed)["std"] == ["5"]


def test_a_quantity_that_occurs_twice(perf):
    """x - x is 0; what cannot be collected is sampled, with errors."""
    assert statistics(perf("stochastic", "eval", "x - x", "--with", "x=normal:5,2"))["std"] == ["0"]
    found = statistics(perf("stochastic", "eval", "x*(1 + x)", "--with", "x=normal:5,2"))
    assert float(found["mean"][0]) == pytest.approx(5 + 25 + 4, rel=1e-3)
    assert 0.0 < float(found["mean"][1]) < 0.05


def test_json_is_read_again(perf):
    first = perf("stochastic", "eval", "x*(1 + x)", "--with", "x=normal:5,0.5", "--bins", "40", "--json").out
    Path("first.json").write_text(first)
    content = json.loads(first)
    assert len(content["value"]["masses"]) == 40
    assert content["method"].startswith("quasi-Monte Carlo, 13 scramblings of 8,192")
    second = json.loads(perf("stochastic", "eval", "2*y", "--with", "y=first.json", "--json").out)
    assert second["statistics"]["mean"] == pytest.approx(2 * content["statistics"]["mean"], rel=1e-6)


@pytest.mark.parametrize(("words", "chosen"), [
    ([], "fast"), (["--by", "quantile:0.95"], "steady"), (["--tuning", "1.5"], "steady"),
])  # fmt: skip
def test_the_choice_stands_first(perf, words, chosen):
    printed = perf("stochastic", "schedule", "model.toml", *words)
    assert printed.lines[0].startswith(f"{chosen}: ")
    rows = [line.split()[0] for line in printed.lines if line.startswith(("fast ", "steady "))]
    assert rows[0] == chosen


def test_work_is_divided(perf):
    """1 ms and 2 ms for a row: 60 and 30 rows."""
    words = ("stochastic", "schedule", "model.toml", "--divide", "90", "--unit-time", "row")
    printed = perf(*words)
    rows = [line.split()[:2] for line in printed.lines if line.strip()[:2] in ("1 ", "2 ")]
    assert rows == [["1", "60"], ["2", "30"]]
    # The mean of the larger of N(60, 6) and N(60, 3) is 60 + sqrt(45/2 pi) = 62.7; 45 rows of 2 ms take 90.
    assert printed.lines[0].startswith("60 + 30 units by mean: all done after 62.3 ms [")
    assert printed.lines[0].endswith("mean 30% below equal shares")
    content = json.loads(perf(*words, "--json").out)
    assert [machine["share"] for machine in content["machines"]] == [60, 30]
    assert content["unit"] == "ms"


@pytest.mark.parametrize(("words", "message"), [
    (["model.toml", "none.toml"], "none.toml: there is no such file"),
    (["model.toml", "--by", "median"],
        "--by 'median': mean, upper, or quantile:Q with Q between 0 and 1"),
    (["model.toml", "--by", "upper"], "fast has no upper bound; choose by quantile:0.99"),
    (["model.toml", "--by", "upper", "--tuning", "1"], "use it with --by mean"),
    (["model.toml", "--divide", "9"], "--divide needs --unit-time NAME"),
    (["model.toml", "--unit-time", "row"], "belongs to --divide"),
    (["model.toml", "--divide", "9", "--unit-time", "rows"], "unknown component or input 'rows'"),
    (["model.toml", "--plot", "x.gif"], "cannot draw 'x.gif'"),
])  # fmt: skip
def test_mistakes_of_schedules(refused, words, message):
    assert message in refused("stochastic", "schedule", *words)


def test_solve(perf, refused):
    words = shlex.split("stochastic solve t/n --for n=1..32 --below 1 --with t=normal:10,1 --samples 1024")
    lines = perf(*words).lines
    expected = "n=13 is the least that keeps the result at or below 1 with 0.99 probability (reached: 0.99"
    assert lines[0].startswith(expected)
    assert [line.split()[1] for line in lines if line.startswith("*")] == ["13"]
    assert lines[-1] == "Next: perf stochastic eval t/n --with n=13 --with t=normal:10,1 --below 1"
    content = json.loads(perf(*words, "--json").out)
    assert (content["kind"], content["value"], content["probability"]) == ("solution", 13, 0.99)
    assert "--for 'n=9..1': NAME=LOW..HIGH is expected" in refused(*words[:4], "n=9..1", *words[5:])
    assert "the probability is 2; a number between 0 and 1" in refused(*words, "--probability", "2")


def test_a_structural_model_predicts(perf):
    printed = perf("predict", "demo.toml")
    assert printed.lines[0].startswith("demo: median ")
    header = next(line for line in printed.lines if line.startswith("statistic"))
    assert header.split() == ["statistic", "value", "[s]", "standard", "error"]
    assert any("the arithmetic of moments would miss probabilities by up to" in line for line in printed.lines)
    exact = perf("predict", "demo.toml", "--method", "exact")
    assert next(line for line in exact.lines if line.startswith("statistic")).split() == ["statistic", "value", "[s]"]


def test_inputs_are_replaced(perf):
    found = [json.loads(perf("predict", "demo.toml", *words, "--json").out) for words in ((), ("--with", "steps=20"))]
    assert found[1]["statistics"]["mean"] == pytest.approx(2 * found[0]["statistics"]["mean"])


def test_predictions_are_judged(perf):
    lines = perf("validate", "one.json", "times.csv", "--column", "time_s").lines
    # Three of four within: 19% to 99% by Clopper and Pearson.
    assert lines[0].startswith("Predictions hold: 95% intervals covered 75% of 4 runs [19%, 99%]; bias ")
    assert next(line.split() for line in lines if line.startswith("bounds"))[1] == "75.0%"


def test_the_commands_of_the_readme_run_and_say_what_it_says(perf, tmp_path, monkeypatch):
    for name in ("sor", "shared_machine"):
        shutil.copytree(EXAMPLES / name, tmp_path / name)
    monkeypatch.chdir(tmp_path / "shared_machine")
    readme = Path("README.md").read_text()
    commands = [shlex.split(line)[1:] for line in readme.splitlines() if line.startswith("perf ")]
    assert len(commands) == 4
    first = [perf(*command, short=True).lines for command in commands]
    assert all(lines[-2].startswith("Next: perf stochastic eval 120/share --with share=cpu-") for lines in first[:2])
    median, low, high = map(float, re.search(r"median ([\d.]+) s \[([\d.]+), ([\d.]+)\]", first[2][0]).groups())
    assert 0.7 < low < median < high < 3.0
    expected = re.search(r"```text\n(.*)\n```", readme)[1]
    assert " ".join(first[3][:2]).startswith(expected)
    assert Path("validated.png").stat().st_size > 10_000
