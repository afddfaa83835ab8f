"""One code on one system fitted by itself, and when it has too few points to say much."""

from __future__ import annotations

import msgspec

from perf_statistics.goodness import r_squared

# Stands in a ranking where the functions of one combination stand otherwise.
BEST_OF_EACH = ("best of each pair",)
# Degrees of freedom: with one, the spread is a single number's, and 95 % bounds are 12.7 times as wide as it says.
LEAST_FREEDOM = 2


def freedom_warning(few: int, pairs: int, cause: str = "") -> str:
    """One line about pairs with hardly more points than coefficients."""
    which = f"{few} of {pairs} pairs {'has' if few == 1 else 'have'}" if pairs > 1 else "there are"
    shortage = f"fewer than {LEAST_FREEDOM} degrees of freedom{cause}"
    return f"warning: {which} {shortage}: no bounds there, and a good fit says little"


class PairFit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The model of one code on one system."""

    code: str
    system: str
    functions: tuple[str, ...]
    coefficients: tuple[float, ...]  # in the scale of the fit
    standard_errors: tuple[float | None, ...]  # none where the data do not determine them
    covariance: tuple[tuple[float, ...], ...]  # unscaled, (X'X)^-1
    n_observations: int
    sum_of_squares: float  # squares of the residuals, of the values, and of the values about their mean
    total_squares: float
    centered_squares: float
    leave_one_out: float | None  # squared errors of predicting each point from the others, summed up
    determined: bool  # whether the points give every coefficient one value
    note: str  # what stands against the fit

    def __post_init__(self) -> None:
        """Refuse lists of different lengths."""
        lengths = {len(self.functions), len(self.coefficients), len(self.standard_errors), len(self.covariance)}
        if len(lengths) > 1 or any(len(row) != len(self.functions) for row in self.covariance):
            raise ValueError(f"{self.code} on {self.system} has not as many coefficients as functions")

    @property
    def degrees_of_freedom(self) -> int:
        """Points minus coefficients."""
        return self.n_observations - len(self.functions)

    @property
    def r2_uncentered(self) -> float:
        """Determination coefficient about zero, in the scale of the fit."""
        return float(r_squared(self.sum_of_squares, self.total_squares))
