"""What any method could reach on the data of benchmarks/scaling_laws.py: the true exponents, and the true prior.

`fit_true_terms` is told the terms of each function and estimates the coefficients only. `average_over_prior` knows
how the data were drawn (orders, shares, sizes, noise) but not which law; its median minimises the expected absolute
error over the scenario, so that no method beats it by much on many functions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scaling_laws_data import (
    COMMON,
    CONSTANTS,
    GRID,
    LARGEST_POINT,
    OFF_GRID_EXPONENT,
    SHARE,
    Floats,
    Order,
    Scenario,
    design,
)
from scipy.optimize import nnls

# Nearly as fine as what 25 values with 5% noise determine, an exponent to 0.01 and the rest 1 - s to 2%, also where s
# is near 1, since a steep term leaves the rest alone at the smallest points. Twice as fine, median errors change by 2%.
EXPONENTS = 100
SHARES = 160
DRAWS = 4000  # their 2.5% quantile has the level 2.5% +- 0.25%
STEPS = 5  # of reweighting by the fitted values; the fifth changes the value at 4 times n by 10^-5 at most


@dataclass(frozen=True)
class Forecast:
    """Predictions of all functions of a scenario at its target, (n_functions,) each, seconds.

    ``constant`` says which functions were taken for constants; bounds are of 95% where a method has them.
    """

    value: Floats
    constant: npt.NDArray[np.bool_]
    lower: Floats | None = None
    upper: Floats | None = None
    cpu_s: float | None = None


def fit_true_terms(made: Scenario) -> Forecast:
    """Least squares of the relative errors, coefficients not negative, with each function's own terms."""
    return Forecast(
        value=np.array([_predict(made, number) for number in range(len(made.laws))]), constant=made.is_constant
    )


def _predict(made: Scenario, number: int) -> float:
    terms, mean = made.laws[number].terms, made.values[number].mean(axis=1)
    columns, at_target = design(terms, made.points[number]), design(terms, made.target[None])[0]
    size, fitted = columns.max(axis=0), mean
    for _ in range(STEPS):
        scaled, _ = nnls(columns / size / fitted[:, None], mean / fitted)
        fitted = columns / size @ scaled
    return float(at_target / size @ scaled)


def average_over_prior(made: Scenario) -> Forecast:
    """Posterior median and 95% interval of the value at the target; for scenarios of one parameter.

    With the shape h = 1 - s + s g(n) / g(64) of an order and a share s, all y / h are normal about the size T with
    standard deviation noise T. Given T's flat prior in log T, the integral over it is Laplace's about the maximum,
    which is the root of a quadratic in 1 / T. What remains is a sum over orders and shares.
    """
    levels, level_at = np.unique(made.points[:, :, 0], return_inverse=True)
    shapes, at_target, log_prior = _shapes(made, levels)
    rng = np.random.default_rng(0)
    drawn, constant = np.empty((len(made.laws), DRAWS)), np.empty(len(made.laws), dtype=np.bool_)
    for number, values in enumerate(made.values):
        size, log_width, weight = _posterior(values, shapes[:, level_at[number]], log_prior, made.noise)
        which = rng.choice(len(weight), DRAWS, p=weight)
        scatter = np.exp(log_width[which] * rng.standard_normal(DRAWS))
        drawn[number] = size[which] * at_target[which] * scatter
        constant[number] = weight[-1] > 0.5
    lower, median, upper = np.quantile(drawn, (0.025, 0.5, 0.975), axis=1)
    return Forecast(value=median, constant=constant, lower=lower, upper=upper)


def _posterior(values: Floats, shapes: Floats, log_prior: Floats, noise: float) -> tuple[Floats, Floats, Floats]:
    """Size T at the maximum, the width of log T, and the probability of each shape.

    values : (n_points, n_repetitions); shapes : (n_shapes, n_points)
    """
    count = values.size
    linear = (1.0 / shapes) @ values.sum(axis=1)
    square = (1.0 / shapes**2) @ (values**2).sum(axis=1)
    rate = (linear + np.sqrt(linear**2 + 4.0 * count * noise**2 * square)) / (2.0 * square)  # 1 / T at the maximum
    curvature = count + rate**2 * square / noise**2  # in log T
    log_weight = (
        log_prior
        + count * np.log(rate)
        - values.shape[1] * np.log(shapes).sum(axis=1)
        - (rate**2 * square - 2.0 * rate * linear + count) / (2.0 * noise**2)
        - 0.5 * np.log(curvature)
    )
    weight = np.exp(log_weight - log_weight.max())
    return 1.0 / rate, 1.0 / np.sqrt(curvature), weight / weight.sum()


def _shapes(made: Scenario, levels: Floats) -> tuple[Floats, Floats, Floats]:
    """Shapes at the levels, (shapes, n_levels), and at the target, and their prior log-probability; constant last."""
    rest = np.geomspace(1.0 - SHARE[1], 1.0 - SHARE[0], SHARES + 1)
    share, share_prior = 1.0 - 0.5 * (rest[1:] + rest[:-1]), np.diff(rest) / (SHARE[1] - SHARE[0])
    places = np.array([*levels, *made.target, LARGEST_POINT])[:, None]
    growth = np.stack([design([(order,)], places)[:, 1] for order in _orders(made.name)])
    growth = growth[:, :-1] / growth[:, -1:]
    varying = (1.0 - share[:, None]) + share[:, None] * growth[:, None]  # (orders, shares, places)
    shapes = np.vstack([varying.reshape(-1, varying.shape[-1]), np.ones(varying.shape[-1])])
    prior = np.tile((1.0 - CONSTANTS) * share_prior / len(growth), len(growth))
    return shapes[:, :-1], shapes[:, -1], np.log([*prior, CONSTANTS])


def _orders(name: str) -> tuple[Order, ...]:
    if name == "off-grid":
        edges = np.linspace(*OFF_GRID_EXPONENT, EXPONENTS + 1)
        return tuple((float(i), j) for i in 0.5 * (edges[1:] + edges[:-1]) for j in (0.0, 1.0))
    return GRID if name == "grid" else COMMON
