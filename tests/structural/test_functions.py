"""The Python functions behind the commands: the same words, paths or loaded things."""

import json

import numpy as np
import pytest

from perf_structural import StructuralModel, judge, schedule
from perf_structural.measured_value import variation_class
from perfcore.base.errors import OptionError
from perfcore.hooks.registry import registry

ROWS = StructuralModel("0", inputs={"row": [{"normal": [1, 0.1]}, {"normal": [2, 0.1]}]})
TIME = StructuralModel(
    "t", inputs={"t": 1}, candidates={"fast": {"t": {"normal": [10, 3]}}, "steady": {"t": {"normal": [11, 1]}}}
)


def normal(mean, std):
    return registry().load("representations", "normal")(mean, std)


def test_a_choice():
    found = schedule(TIME, by="quantile:0.95")
    assert found.chosen == "steady"
    frame = found.to_frame()
    assert frame.loc[frame["chosen"], "candidate"].tolist() == ["steady"]
    assert frame["mean"].tolist() == [10.0, 11.0]
    more = schedule(TIME, {"best": {"t": 3}})
    assert more.chosen == "best"
    with pytest.raises(OptionError, match="there is a candidate 'fast' already"):
        schedule(TIME, {"fast": {"t": 3}})


def test_a_division():
    """Shares in inverse proportion to the times: 60 units of 1 and 30 of 2."""
    frame = schedule(ROWS, divide=90, unit_time="row").to_frame()
    assert frame["share"].tolist() == [60, 30]
    assert frame["mean"].tolist() == pytest.approx([60.0, 60.0])


def test_a_judgement_of_files_and_of_values(tmp_path):
    (tmp_path / "runs.csv").write_text("start_s,time_s\n0,9\n60,11\n")
    (tmp_path / "one.json").write_text(json.dumps({"lower": 8, "upper": 10}))
    judged = judge(tmp_path / "one.json", tmp_path / "runs.csv", column="time_s", at="start_s")
    assert judged.coverage()[0]["observed"] == 0.5
    assert (judged.name, judged.at_name) == ("time_s", "start_s")
    frame = judged.to_frame()
    assert frame["at"].tolist() == [0, 60]
    assert frame["actual"].tolist() == [9, 11]
    assert frame["upper"].tolist() == [10, 10]
    # A normal's score at its own mean is (sqrt(2) - 1) / sqrt(pi) standard deviations.
    scores = judge([normal(9.0, 1.0)], [9.0]).to_frame()["crps"]
    assert scores.tolist() == pytest.approx([(2**0.5 - 1.0) / np.pi**0.5])


@pytest.mark.parametrize(
    ("variation", "scale", "name"),
    # The paper: "0.25 or less" is low, "more than 0.25, but less than 0.5" medium, "over half the range" high.
    [(0.0, 1, "low"), (0.25, 1, "low"), (0.26, 1, "medium"), (0.49, 1, "medium"), (0.51, 1, "high"), (51, 100, "high")],
)
def test_classes_of_variation(variation, scale, name):
    assert variation_class(variation, scale) == name
