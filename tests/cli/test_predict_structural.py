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
    assert printed.lines[0].startswith("demo: median ")
    header = next(line for line in printed.lines if line.startswith("statistic"))
    assert header.split() == ["statistic", "value", "[s]", "standard", "error"]
    assert any("the arithmetic of moments would miss probabilities by up to" in line for line in printed.lines)
    exact = perf("predict", "model.toml", "--method", "exact")
    assert next(line for line in exact.lines if line.startswith("statistic")).split() == ["statistic", "value", "[s]"]


def test_inputs_are_replaced(perf):
    found = [json.loads(perf("predict", "model.toml", *words, "--json").out) for words in ((), ("--with", "steps=20"))]
    assert found[1]["statistics"]["mean"] == pytest.approx(2 * found[0]["statistics"]["mean"])
