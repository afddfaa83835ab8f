"""``perf project``."""

import json
from pathlib import Path

HALO = str(Path(__file__).parents[2] / "examples" / "halo" / "scaling" / "halo_p{}.prv.gz")


def test_traces_are_projected(tmp_path, perf, folder):
    """The example's traces, whose transfer is the largest loss."""
    sources = [HALO.format(p) for p in (1, 2, 4, 8)]
    lines = perf("project", *sources, "--at", "p=16,64", "-o", "p.json", "--plot", "p.png", short=True).lines
    assert lines[0].startswith("At p=64 (8x the largest run): ")
    assert any(line.startswith("Check: p=8 predicted") for line in lines)
    assert (tmp_path / "p.png").stat().st_size > 10_000
    content = json.loads(perf("project", *sources, "--at", "p=16", "--json").out)
    assert content["at"] == {"p": 16.0}
    assert content["limits"] == "transfer"
    assert set(content["elapsed"]) == {"median", "lower", "upper", "unit"}
    assert content["elapsed"]["lower"] < 0.00809 < content["elapsed"]["upper"]  # what halo.py gives on 16 ranks
    assert perf("predict", "p.json", "--at", "p=32").lines[0].startswith("At p=32")
    [row] = json.loads(perf("predict", "p.json", "--at", "p=32", "--quantile", ".025,.975", "--json").out)["rows"]
    assert (row["p2.5"], row["p97.5"]) == (row["lower"], row["upper"])
