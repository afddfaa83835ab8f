"""Files of predictions and of actual values: what a user can write, and what is wrong with it, with its place."""

import json

import pytest

from perf_structural.prediction_files import read_predictions
from perfcore.base.errors import InputError
from perfcore.stochastic import from_dict

NORMAL = {"representation": "normal", "mean": 10.0, "std": 2.0}


@pytest.fixture
def write(tmp_path):
    def write(text, name="file"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([NORMAL, 3]),
        json.dumps([NORMAL, {"representation": "point", "value": 3.0}]),
        json.dumps(NORMAL) + "\n3\n",  # one after another
        json.dumps({"value": NORMAL, "mean": 10.0}, indent=1) + json.dumps([3.0]),  # as commands print them with --json
        "\ufeff" + json.dumps([NORMAL, 3]),
    ],
)
def test_values_in_a_list_or_one_after_another(write, text):
    assert read_predictions(write(text)) == [from_dict(NORMAL), from_dict({"representation": "point", "value": 3.0})]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"holds no predictions; a value as `perf stochastic summarize` writes it, a number, or"),
        ("[]", r"holds no predictions"),
        ('[1,\n 2,,]', r":2: is not JSON: Expecting value, column 4"),
        ("1\n2\n[3", r":3: is not JSON"),
        ("[NaN]", r":1: is not JSON: NaN is met; a prediction is made of finite numbers"),
        ("[1e999]", r"prediction 1: point: inf is not finite"),
        ("[1, true]", r"prediction 2: 'True' is met"),
        ('["a"]', r"prediction 1: 'a' is met"),
        ('[{"lower": 3, "upper": 1}]', r"prediction 1: interval: "),
        ('[{"lower": null, "upper": 1}]', r"prediction 1: interval: "),
        ('[{"mean": 3}]', r"prediction 1: a stochastic value needs the key 'representation'"),
        ('[{"representation": "norml"}]', r"prediction 1: unknown representation 'norml': did you mean 'normal'"),
        ("[" * 100_000, r":1: is not JSON: it is nested too deeply"),
        ("9" * 5000, r":1: is not JSON"),
    ],
)  # fmt: skip
def test_what_is_no_prediction(write, text, message):
    with pytest.raises(InputError, match=message) as caught:
        read_predictions(write(text))
    assert len(str(caught.value).splitlines()) == 1
