"""``perf validate``: predictions and actual values, from files."""

import json

import pytest

HISTOGRAM = {"representation": "histogram", "edges": [0.0, 10.0, 20.0], "masses": [0.25, 0.75]}


@pytest.fixture(autouse=True)
def files(folder):
    (folder / "runs.csv").write_text("start_s,time_s\n0,5\n60,15\n120,18\n180,25\n")
    (folder / "one.json").write_text(json.dumps(HISTOGRAM))
    (folder / "many.json").write_text(json.dumps([{"lower": 0, "upper": high} for high in (10, 10, 20, 20)]))
    (folder / "short.json").write_text("[1, 2, 3]")
    return folder


def test_tables(perf):
    lines = perf("validate", "one.json", "runs.csv", "--column", "time_s").lines
    # Three of four within: 19% to 99% by Clopper and Pearson.
    assert lines[0].startswith("Predictions hold: 95% intervals covered 75% of 4 runs [19%, 99%]; bias ")
    at = lines.index("Calibration by bin probability")
    # 15 and 18 lie in the more probable bin, 5 in the other, 25 outside.
    assert [line.split() for line in lines[at + 1 : at + 4]] == [
        ["highest", "lowest", "outside"],
        ["actual", "50.0%", "25.0%", "25.0%"],
        ["predicted", "75.0%", "25.0%", "0.0%"],
    ]
    bounds = next(line.split() for line in lines if line.startswith("bounds"))
    assert bounds[1] == "75.0%"
