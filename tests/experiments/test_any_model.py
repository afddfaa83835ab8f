"""Next points from a model that says nothing but parameters, errors and predictions: against rows of least squares."""

from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

import perfcore
from perf_tables.points import named_points
from perfcore.base.errors import OptionError
from perfcore.models.model import Model, Origin, Parameter

P = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
TIMES = (8.0 / P + 0.5) * np.array([1.02, 0.99, 1.03, 0.97, 1.01])
CANDIDATES = [{"p": level} for level in (1, 4, 8, 32)]


class Stranger(Model, frozen=True, forbid_unknown_fields=True):
    """a / p + b, told without a design."""

    kind: ClassVar[str] = "stranger"

    work: float
    rest: float
    errors: tuple[float | None, float | None]
    variables = property(lambda self: {"p": "p"})
    unit = property(lambda self: "s")

    @property
    def parameters(self):
        return tuple(Parameter(n, getattr(self, n), e) for n, e in zip(("work", "rest"), self.errors, strict=True))

    def predict(self, points, interval=None):
        if interval is not None:
            raise OptionError("no bounds")
        p = named_points(points, self.variables, {})[0]["p"]
        return self.work / p + self.rest


class Told(Stranger, frozen=True, forbid_unknown_fields=True):
    """With the covariance, and bounds that hold the noise."""

    covariance: tuple[tuple[float, ...], ...]
    noise: float

    def predict(self, points, interval=None):
        p = named_points(points, self.variables, {})[0]["p"]
        value = self.work / p + self.rest
        if interval is None:
            return value
        rows = np.stack([1 / p, np.ones_like(p)], axis=1)
        variance = np.einsum("ni,ij,nj->n", rows, np.array(self.covariance), rows) + self.noise**2
        side = t.ppf(0.5 + interval / 2, len(P) - 2) * np.sqrt(variance)
        return np.stack([value, np.maximum(value - side, 0.0), value + side], axis=1)


def told():
    rows = np.stack([1 / P, np.ones_like(P)], axis=1)
    (work, rest), squares, *_ = np.linalg.lstsq(rows, TIMES)
    noise = float(squares[0]) / (len(P) - 2)
    covariance = noise * np.linalg.inv(rows.T @ rows)
    origin = Origin("stranger", {}, "runs.csv", "", "0")
    errors = tuple(np.sqrt(np.diag(covariance)).tolist())
    return Told(origin, float(work), float(rest), errors, tuple(map(tuple, covariance.tolist())), float(np.sqrt(noise)))


def test_advice_is_that_of_the_least_squares_fit():
    table = perfcore.Measurements(pd.DataFrame({"p": P, "time_s": TIMES}))
    fitted = perfcore.fit(table, fitter="individual", functions="1/p,1", weights="equal", prepare="none")
    expected, advice = (perfcore.next_points(model, {"p": 64}, CANDIDATES, 3) for model in (fitted, told()))
    assert advice.error == pytest.approx(expected.error, rel=1e-6)
    assert advice.noise == pytest.approx(expected.noise, rel=1e-6)
    assert [choice.point for choice in advice.choices] == [choice.point for choice in expected.choices]
    np.testing.assert_allclose(
        [choice.error for choice in advice.choices], [choice.error for choice in expected.choices], rtol=1e-6
    )
    assert advice.assumed == ()


def test_without_noise_points_are_only_compared():
    model = told()
    plain = Stranger(model.origin, model.work, model.rest, model.errors)
    advice = perfcore.next_points(plain, {"p": 64}, CANDIDATES, 2)
    # Independent errors: the variance at p is (e_work / p)^2 + e_rest^2.
    assert advice.error == pytest.approx(np.hypot(model.errors[0] / 64, model.errors[1]), rel=1e-6)
    assert (advice.noise, advice.choices[0].error, advice.choices[0].gain) == (None, None, 1.0)
    assert advice.choices[0].point == {"p": 32}  # only the rest matters at the target, and there it stands alone
    assert advice.summary()[0].endswith("what a measurement varies by is not known, so that gains only compare points")
    assert advice.summary()[1] == "if the errors of the parameters are independent, of which the model says nothing"
    assert advice.to_frame()["gain"].tolist()[0] == 1.0


def test_a_parameter_without_an_error_is_taken_for_known():
    model = told()
    advice = perfcore.next_points(
        Stranger(model.origin, model.work, model.rest, (None, model.errors[1])), {"p": 64}, CANDIDATES
    )
    assert advice.error == pytest.approx(model.errors[1], rel=1e-6)


def test_what_no_point_can_be_chosen_by():
    model = told()
    unsure = Stranger(model.origin, model.work, model.rest, (None, None))
    with pytest.raises(OptionError, match="does not say how sure its terms are"):
        perfcore.next_points(unsure, {"p": 64}, CANDIDATES)
    with pytest.raises(OptionError, match="'speed' is no field of a model of the kind 'stranger'"):
        model.with_parameters({"speed": 1.0})
    with pytest.raises(OptionError, match="does not keep what was measured; name the points"):
        perfcore.next_points(model, {"p": 64})
