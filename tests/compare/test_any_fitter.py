"""Models of a fitter that nobody here knows: without options, with one variable, perhaps without bounds or a unit."""

from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

import perfcore
from perfcore.base.errors import OptionError
from perfcore.models.model import Model, Origin, Parameter

ORIGIN = Origin(fitter="reciprocal", options={}, source="old.csv", fingerprint="", version="0")


class Reciprocal(Model, frozen=True):
    """Seconds work / nodes, with bounds of 10 % to both sides."""

    work: float

    kind: ClassVar[str] = "reciprocal law"

    @property
    def variables(self):
        return {"k": "nodes"}

    @property
    def unit(self):
        return "s"

    def predict(self, points, interval=None):
        value = self.work / np.asarray(points, dtype=float)  # takes an array alone
        return value if interval is None else np.column_stack([value, 0.9 * value, 1.1 * value])

    @property
    def parameters(self):
        return (Parameter("work", self.work, None, "s"),)


class Unbounded(Reciprocal, frozen=True):
    """Neither bounds nor a unit."""

    @property
    def unit(self):
        return None

    def predict(self, points, interval=None):
        if interval is not None:
            raise OptionError("no bounds")
        return super().predict(points)


NODES = [1, 2, 4, 4]
RUNS = pd.DataFrame({"nodes": NODES, "time_s": [12.0, 6.6, 2.5, 2.5], "host": "a", "run": [1, 1, 1, 2]})


def test_columns_by_variables_and_the_value_as_the_table_says():
    """12 / k against 12, 6.6 and twice 2.5, which are one point: errors 0, 6/6.6 - 1 and 3/2.5 - 1."""
    verification = perfcore.validate(Reciprocal(ORIGIN, 12.0), RUNS)
    np.testing.assert_allclose(verification.errors, [0.0, 6.0 / 6.6 - 1.0, 0.2])
    figures = verification.figures(verification.groups["all points"])
    assert figures["n_points"] == 3
    assert figures["coverage"] == pytest.approx(2 / 3)  # 6.6 is the upper bound itself
    frame = verification.to_frame()
    assert frame["nodes"].tolist() == [1.0, 2.0, 4.0]
    np.testing.assert_allclose(frame["upper"], 1.1 * frame["predicted"])
    assert len(repr(verification).splitlines()) <= 10


def test_without_bounds_and_unit():
    verification = perfcore.validate(Unbounded(ORIGIN, 12.0), RUNS)
    assert verification.unit == "s"
    assert np.isnan(verification.lower).all()
    assert verification.figures(verification.groups["all points"])["coverage"] is None


def test_two_of_them_are_compared():
    """15 / k for 12 / k: 1.25 times everywhere."""
    comparison = perfcore.compare(
        Reciprocal(ORIGIN, 12.0), Reciprocal(ORIGIN, 15.0), at={"nodes": [1, 8]}, names=("old", "new")
    )
    np.testing.assert_allclose(comparison.ratio, 1.25)
    frame = comparison.to_frame()
    assert frame["part"].tolist() == ["total", "total"]
    np.testing.assert_allclose(frame["second"], [15.0, 15.0 / 8.0])
    assert len(repr(comparison).splitlines()) <= 10
