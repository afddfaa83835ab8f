"""Files that are told from data and fitted models: structural models, predictions, and how a series is shown."""

import json

import numpy as np
import pytest

from perf_structural import Judgement, StructuralModel
from perf_structural.options import JudgingOptions
from perf_structural.views import StructuralViews
from perf_views import NoViewError, Viewable
from perf_views.contents import opener_of
from perfcore import Series
from perfcore.base.errors import OptionError
from perfcore.results import presenter_of

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


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        "[]",
        "{}",
        json.dumps({"schema": 1, "model": {"lower": 1}}),
        json.dumps({"traceEvents": [{"name": "a", "ph": "X"}]}),
        json.dumps([{"name": "representation"}]),
        json.dumps({"representation": "none of ours"}),
        '[{"lower": 1',
    ],
)
def test_other_json_is_not(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text)
    assert opener_of(str(path)) is None


def test_a_mistake_further_on_is_said_with_its_number(tmp_path):
    path = tmp_path / "predictions.json"
    path.write_text(json.dumps([INTERVAL, "nine"]))
    (tmp_path / "runs.csv").write_text("time_s\n5\n")
    _, opener = opener_of(str(path))
    with pytest.raises(Exception, match="prediction 2: 'nine' is met"):
        opener.open(str(path), JudgingOptions(), str(tmp_path / "runs.csv"))


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


def test_a_structural_model_is_opened():
    name, opener = opener_of("examples/structural/sor.toml")
    model = opener.open("examples/structural/sor.toml", opener.Options())
    assert name == "structural"
    assert isinstance(model, StructuralModel)
    assert isinstance(model.views(), StructuralViews)
    assert model.views().title == model.title == "red-black SOR"


def test_a_series_has_a_view_of_each_column():
    data = Series(np.arange(50.0), {"cpu": np.linspace(0.2, 0.9, 50), "net": np.full(50, np.nan)}, "s", source="s.csv")
    views = presenter_of(data).views(data)
    assert isinstance(views, Viewable)
    assert list(views.paths()) == [(), ("column", "cpu"), ("column", "net")]
    table = views.view((), {}).blocks[-1]
    assert [row[0].link.path for row in table.rows] == [("column", "cpu"), ("column", "net")]
    assert [row[1] for row in table.rows] == ["50", "0"]
    assert views.view(("column", "cpu"), {"as": "interval"}).title == "cpu of s.csv as interval"
    with pytest.raises(NoViewError):
        views.view(("column", "disk"), {})
    assert presenter_of(data).frame(data)["cpu"].tolist() == data.columns["cpu"].tolist()
