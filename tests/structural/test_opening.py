"""Files that are told from data and fitted models: structural models, predictions, and how a series is shown."""

import json

import pytest

from perf_structural import Judgement
from perf_structural.options import JudgingOptions
from perf_views.contents import opener_of
from perfcore.base.errors import OptionError

INTERVAL = {"lower": 1, "upper": 9}
NORMAL = {"representation": "normal", "mean": 5.0, "std": 1.0}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([INTERVAL, INTERVAL]),
        json.dumps(NORMAL),
        json.dumps(NORMAL, indent=1) + "\n" + json.dumps(INTERVAL),
        json.dumps({"schema": 1, "kind": "predictions", "rows": [{"p": 4, "value": 5, **INTERVAL}]}),
        json.dumps({"name": "x", "notes": ["a"], "value": NORMAL}),
        " [3.5, 4]",
        "\ufeff-3",
    ],
)
def test_predictions_are_recognised(tmp_path, text):
    path = tmp_path / "predictions.json"
    path.write_text(text, encoding="utf-8")
    name, opener = opener_of(str(path))
    assert name == "predictions"
    assert opener.takes_data
    assert not opener.predicts


def test_predictions_are_judged(tmp_path):
    path = tmp_path / "predictions.json"
    path.write_text(json.dumps(INTERVAL))
    (tmp_path / "runs.csv").write_text("start_s,time_s\n0,5\n60,12\n")
    _, opener = opener_of(str(path))
    judged = opener.open(str(path), JudgingOptions(column="time_s", at="start_s"), str(tmp_path / "runs.csv"))
    assert isinstance(judged, Judgement)
    assert judged.coverage()[0]["observed"] == 0.5
    with pytest.raises(OptionError, match="the table of what happened"):
        opener.open(str(path), JudgingOptions())
