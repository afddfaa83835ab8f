"""What every function promises."""

from __future__ import annotations

import numpy as np

from perfcore.contracts import Function

__all__ = ["FunctionSuite"]


class FunctionSuite:
    """Tests of one function.

    Attributes
    ----------
    function : type of `perfcore.contracts.Function`
    lowest : float
        Where the function's domain begins, closed: 0 for functions of time, 1 for functions of the number of
        processors.
    """

    function: type[Function]
    lowest: float = 0.0

    @property
    def points(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Points over fifteen decades, among them the first of the domain."""
        return self.lowest + np.concatenate([[0.0], np.logspace(-3, 12, 61)])

    def test_has_a_name_and_a_formula(self) -> None:
        """Models name the function, and print its formula."""
        assert issubclass(self.function, Function)
        assert self.function.name.strip()
        assert self.function.formula.strip()

    def test_values_are_finite(self) -> None:
        """No NaN or infinity in the domain, and no warning on the way."""
        values = self.function()(self.points)
        assert values.dtype == np.float64
        assert np.isfinite(values).all(), f"not finite at {self.points[~np.isfinite(values)]}"

    def test_each_value_depends_on_its_point_alone(self) -> None:
        """An array gives what its elements give; an empty one gives none."""
        function, points = self.function(), self.points
        one_by_one = np.concatenate([function(points[k : k + 1]) for k in range(len(points))])
        np.testing.assert_allclose(function(points), one_by_one, rtol=1e-14)
        assert function(points[:0]).shape == (0,)

    def test_points_are_left_alone(self) -> None:
        """The argument is not changed."""
        points = self.points
        self.function()(points)
        np.testing.assert_array_equal(points, self.points)

    def test_scale_is_the_unit_of_the_points(self) -> None:
        """Points of 8 in units of 8 are points of 1."""
        function, points = self.function(), self.points
        np.testing.assert_allclose(function(8.0 * points, 8.0), function(points), rtol=1e-14)
