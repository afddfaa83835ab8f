"""A large sample in parts: the digits of the whole, whatever draws them in whatever order."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from backwards import Backwards

from perf_structural import StructuralModel, StructuralModelError, sampling
from perfcore.base.executors import LocalProcesses

EVERYTHING = StructuralModel(
    "sum_over(x) + max(z, y)/y + if(z > 2, sqrt(z - 2), log(z)) - z^2/3",
    inputs={
        "x": [{"normal": [1, 2]}, {"histogram": {"edges": [0, 0, 3], "masses": [0.1, 0.9]}}],
        "y": {"normal": [1, 0.5]},
        "z": {"samples": [1.0, 1.5, 4.0, 9.0], "as": "empirical"},
    },
    correlations={"x[1],y": 0.5},
)
OPTIONS = {"method": "sample", "samples": 10_000, "seed": 3, "quantile": (0.05, 0.999)}


@pytest.fixture
def in_parts(monkeypatch):
    """Four parts in each of nine nets."""
    monkeypatch.setattr(sampling, "_FEWEST_IN_PARTS", 0)
    monkeypatch.setattr(sampling, "_POINTS_OF_A_PART", 256)


@pytest.fixture(scope="module")
def whole():
    return EVERYTHING.predict(**OPTIONS)


@pytest.mark.parametrize("make", [lambda: None, lambda: ThreadPoolExecutor(3), Backwards, lambda: LocalProcesses(1)])
def test_any_executor_gives_the_digits_of_the_whole(in_parts, whole, make):
    executor = make()
    divided = EVERYTHING.predict(executor=executor, **OPTIONS)
    assert divided.evaluation.sample.tobytes() == whole.evaluation.sample.tobytes()
    assert divided.to_dict() == whole.to_dict()
    assert any("beyond zero" in note for note in divided.notes)
    if executor is not None:
        executor.shutdown()


def test_the_first_refusal_counts(in_parts):
    """Parts meet different ranges of a divisor, and the last one that is asked for ends first."""
    model = StructuralModel("1/(x - 0.5)", inputs={"x": {"histogram": {"edges": [0, 1], "masses": [1]}}})
    messages = set()
    for executor in (None, Backwards()):
        with pytest.raises(StructuralModelError, match="can be zero") as refused:
            model.predict(executor=executor, **OPTIONS)
        messages.add(str(refused.value))
    assert len(messages) == 1


def test_parts_that_never_cross_zero_may_together(in_parts):
    """Of 36 parts some are all above 0.001, which the whole is not."""
    model = StructuralModel("1/(x - 0.001)", inputs={"x": {"histogram": {"edges": [0, 1], "masses": [1]}}})
    with pytest.raises(StructuralModelError, match="can be zero"):
        model.predict(**OPTIONS)
