"""``perf predict MODEL.toml``: the distribution that a structural model predicts."""

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("model")


@pytest.fixture
def model(folder):
    Path("model.toml").write_text(
        'name = "demo"\nunit = "s"\nequation = "steps*max_over(work/speed)"\n'
        '[inputs]\nsteps = 10\nwork = { each = [40, 60], unit = "Mflop" }\n'
        'speed = { normal = [200, 10], unit = "Mflop/s", replicate = { processor = 2 } }\n'
    )
    return folder / "model.toml"


def test_a_table(perf):
    printed = perf("predict", "model.toml")
    assert printed.lines[0].startswith("demo (s): ")
    header = next(line for line in printed.lines if line.startswith("statistic"))
    assert header.split() == ["statistic", "s", "standard", "error"]
    assert any("the arithmetic of moments would miss probabilities by up to" in line for line in printed.lines)
    exact = perf("predict", "model.toml", "--method", "exact")
    assert next(line for line in exact.lines if line.startswith("statistic")).split() == ["statistic", "s"]


def test_inputs_are_replaced(perf):
    found = [json.loads(perf("predict", "model.toml", *words, "--json").out) for words in ((), ("--with", "steps=20"))]
    assert found[1]["statistics"]["mean"] == pytest.approx(2 * found[0]["statistics"]["mean"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["model.toml", "--at", "p=1"], "--at and --interval are for fitted models"),
        (["model.toml", "--interval", "0.9"], "--at and --interval are for fitted models"),
        (["model.json", "--with", "p=1"], "--with is for structural models (.toml)"),
        (["model.json", "--at", "t=1", "--bins", "5"], "--bins is for structural models (.toml)"),
        (
            ["model.json", "--at", "t=1", "--parallel", "local:2"],
            "model.json works in one process and has no parts for --parallel",
        ),
        (["model.toml", "--parallel", "cloud:2"], "--parallel cloud:2: local:N"),
        (["none.toml"], "none.toml: there is no such file"),
        (["model.toml", "--with", "speed=interval:-1,1"], "model.toml: "),
    ],
)
def test_mistakes(refused, words, message):
    assert message in refused("predict", *words)
