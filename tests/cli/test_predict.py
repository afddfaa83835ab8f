"""``perf predict``: values of a saved model."""

import json

import pytest

from perfcore.cli.predict import parse_points

pytestmark = pytest.mark.usefixtures("model")


@pytest.fixture
def model(perf, folder):
    perf("fit", "curve.csv", "--phases", "2", "--degree", "0", "-o", "model.json")
    return folder / "model.json"


def test_a_table_of_points_and_values(perf):
    table = [line.split() for line in perf("predict", "model.json", "--at", "t=0,39.5,40,101").lines]
    assert table == [["t", "value"], ["0", "1"], ["39.5", "1"], ["40", "5"], ["101", "nan"]]


def test_json_has_null_outside_of_the_run(perf):
    points = json.loads(perf("predict", "model.json", "--at", "t=0..200:100", "--json").out)
    assert points == [{"t": 0, "value": 1}, {"t": 100, "value": 5}, {"t": 200, "value": None}]


def test_bounds(perf):
    printed = perf("predict", "model.json", "--at", "t=50", "--interval", "0.95")
    assert [line.split() for line in printed.lines] == [["t", "value", "lower", "upper"], ["50", "5", "5", "5"]]
    points = json.loads(perf("predict", "model.json", "--at", "t=50", "--interval", "0.5", "--json").out)
    assert points == [{"t": 50, "value": 5, "lower": 5, "upper": 5}]


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("t=1", [1.0]),
        ("t=1,-2.5,1e3", [1.0, -2.5, 1000.0]),
        ("t=0..1:0.25", [0.0, 0.25, 0.5, 0.75, 1.0]),
        ("t=0..0.3:0.1", [0.0, 0.1, 0.2, 0.3]),  # the last one in spite of rounding
        ("t=5..1:-2", [5.0, 3.0, 1.0]),
        ("t=0..10:20,7", [0.0, 7.0]),
    ],
)
def test_points(text, points):
    assert parse_points(text) == ("t", pytest.approx(points))


@pytest.mark.parametrize(
    "text",
    ["", "t", "t=", "=1", "t=a", "t=1..2", "t=1:2", "t=2..1:1", "t=1..2:0", "t=nan", "t=inf", "t=0..1:1e-9", "t=1,,2"],
)
def test_points_that_are_none(refused, text):
    assert "NAME=FIRST..LAST:STEP is expected" in refused("predict", "model.json", "--at", text)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["model.json"], "Missing option '--at'"),
        (["model.json", "--at", "p=1"], "unknown variable of the model 'p'"),
        (["none.json", "--at", "t=1"], "none.json: there is no such file"),
        (["curve.csv", "--at", "t=1"], "curve.csv: not a model file"),
        (["model.json", "--at", "t=1", "--interval", "1"], "interval 1.0: the coverage must be above 0 and below 1"),
        (["model.json", "--at", "t=1", "--interval", "x"], "'x' is not a valid float"),
    ],
)
def test_mistakes(refused, words, message):
    assert message in refused("predict", *words)


def test_a_model_of_another_version(refused, model):
    model.write_text(model.read_text().replace("perfcore-model/1", "perfcore-model/2"))
    assert "schema 'perfcore-model/2' is not known here" in refused("predict", model, "--at", "t=1")
