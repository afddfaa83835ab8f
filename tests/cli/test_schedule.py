"""``perf stochastic schedule``: the allocation to choose, and how to divide work."""

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("model")


@pytest.fixture
def model(folder):
    Path("model.toml").write_text(
        'unit = "s"\nequation = "time"\n[components]\nrow = "cost"\nhalo = "2*cost"\n'
        '[inputs]\ntime = { value = 1, unit = "s" }\n'
        'cost = { each = [{ normal = [1, 0.1] }, { normal = [2, 0.1] }], unit = "ms" }\n'
        '[[candidate]]\nname = "fast"\ninputs = { time = { normal = [10, 3], unit = "s" } }\n'
        '[[candidate]]\nname = "steady"\ninputs = { time = { normal = [11, 1], unit = "s" } }\n'
    )
    return folder / "model.toml"


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        ([], "fast"),
        (["--by", "mean"], "fast"),
        (["--by", "quantile:0.95"], "steady"),
        (["--tuning", "0.25"], "fast"),
        (["--tuning", "1.5"], "steady"),
    ],
)
def test_the_choice_stands_first(perf, words, chosen):
    printed = perf("stochastic", "schedule", "model.toml", *words)
    assert printed.lines[0].startswith(f"{chosen}: ")
    rows = [line.split()[0] for line in printed.lines if line.startswith(("fast ", "steady "))]
    assert rows[0] == chosen


def test_work_is_divided(perf):
    """1 ms and 2 ms for a row: 60 and 30 rows."""
    printed = perf("stochastic", "schedule", "model.toml", "--divide", "90", "--unit-time", "row")
    assert [line.split()[:2] for line in printed.lines if line.strip()[:2] in ("1 ", "2 ")] == [
        ["1", "60"],
        ["2", "30"],
    ]
    # The mean of the larger of N(60, 6) and N(60, 3) is 60 + sqrt(45/2 pi) = 62.7; 45 rows of 2 ms take 90.
    assert printed.lines[0].startswith("60 + 30 units by mean: all done after 62.3 ms [")
    assert printed.lines[0].endswith("mean 30% below equal shares")
    words = ("--divide", "90", "--unit-time", "row", "--json")
    content = json.loads(perf("stochastic", "schedule", "model.toml", *words).out)
    assert [machine["share"] for machine in content["machines"]] == [60, 30]
    assert content["unit"] == "ms"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.toml"], "none.toml: there is no such file"),
        (["model.toml", "none.toml"], "none.toml: there is no such file"),
        (
            ["model.toml", "--by", "median"],
            "--by 'median': mean, upper, quantile:Q with Q between 0 and 1 or beyond:LIMIT",
        ),
        (["model.toml", "--by", "upper"], "fast has no upper bound; choose by quantile:0.99"),
        (["model.toml", "--by", "upper", "--tuning", "1"], "use it with --by mean"),
        (["model.toml", "--divide", "9"], "--divide needs --unit-time NAME"),
        (["model.toml", "--unit-time", "row"], "belongs to --divide"),
        (["model.toml", "--divide", "9", "--unit-time", "rows"], "unknown component or input 'rows'"),
        (["model.toml", "--plot", "x.gif"], "cannot draw 'x.gif'"),
    ],
)
def test_mistakes(refused, words, message):
    assert message in refused("stochastic", "schedule", *words)
