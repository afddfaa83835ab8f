"""Next points of a model that says nothing of its design are refused in one line."""

from typing import ClassVar

import pytest

import perfcore
from perf_tables.points.points import named_points
from perfcore.base.errors import OptionError
from perfcore.models.model import Model, Origin, Parameter


class Stranger(Model, frozen=True, forbid_unknown_fields=True):
    """a / p + b, told without a design."""

    kind: ClassVar[str] = "stranger"

    work: float
    rest: float
    variables = property(lambda self: {"p": "p"})
    unit = property(lambda self: "s")

    @property
    def parameters(self):
        return tuple(Parameter(name, getattr(self, name), 0.1) for name in ("work", "rest"))

    def predict(self, points, interval=None):
        return self.work / named_points(points, self.variables, {})[0]["p"] + self.rest


def test_what_no_point_can_be_chosen_by():
    model = Stranger(Origin("stranger", {}, "runs.csv", "", "0"), 8.0, 0.5)
    for candidates in ([{"p": level} for level in (1, 4, 8, 32)], None):
        with pytest.raises(OptionError, match="does not say how sure its terms are"):
            perfcore.next_points(model, {"p": 64}, candidates)
    with pytest.raises(OptionError, match="'speed' is no field of a model of the kind 'stranger'"):
        model.with_parameters({"speed": 1.0})
