"""What every function promises."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perfcore.contracts import Function

__all__ = ["FunctionSuite"]


class FunctionSuite:
    """Tests of one function.

    Attributes
    ----------
    function : type of `perfcore.contracts.Function`
    """

    function: type[Function]

    @property
    def points(self) -> dict[str, npt.NDArray[np.float64]]:
        """Points over fifteen decades: of time from 0, of other variables from 1."""
        decades = np.concatenate([[0.0], np.logspace(-3, 12, 61)])
        places = {name: decades if name == "t" else 1.0 + decades for name in self.function.variables}
        return places or {"p": 1.0 + decades}

    def test_has_a_name_and_a_formula(self) -> None:
        """Models name the function, and print its formula."""
        assert issubclass(self.function, Function)
        assert self.function.name.strip()
        assert self.function.formula.strip()

    def test_values_are_finite(self) -> None:
        """No NaN or infinity in the domain, and no warning on the way."""
        values = self.function()(self.points)
        assert values.dtype == np.float64
        assert np.isfinite(values).all(), f"{np.count_nonzero(~np.isfinite(values))} values are not finite"

    def test_each_value_depends_on_its_point_alone(self) -> None:
        """An array gives what its elements give; an empty one gives none."""
        function, points = self.function(), self.points
        length = len(next(iter(points.values())))
        one_by_one = [function({name: places[k : k + 1] for name, places in points.items()}) for k in range(length)]
        np.testing.assert_allclose(function(points), np.concatenate(one_by_one), rtol=1e-14)
        assert function({name: places[:0] for name, places in points.items()}).shape == (0,)

    def test_points_are_left_alone(self) -> None:
        """The argument is not changed."""
        points = self.points
        self.function()(points)
        for name, places in self.points.items():
            np.testing.assert_array_equal(points[name], places)

    def test_is_one_or_zero_at_one(self) -> None:
        """Functions of parameters are: their coefficients then say what they add on one processor."""
        if "t" not in self.function.variables:
            one = {name: np.ones(1) for name in self.function.variables or ("p",)}
            assert self.function()(one)[0] in (0.0, 1.0)
