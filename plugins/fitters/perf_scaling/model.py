"""Scaling laws of paths over parameters, averaged over all that the data leave open."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from perf_scaling.advice.advice import advice, next_point
from perf_scaling.advice.next_rows import law_design_rows, law_rivals
from perf_scaling.check import LastLevelCheck, check_last_level
from perf_scaling.comparison import law_growth_draws, law_part_draws
from perf_scaling.observed import observed_by_path
from perf_scaling.path_laws import PATH, PathLaws
from perf_scaling.speedup import speedup
from perf_tables.categories.speeds import is_speed
from perf_tables.points.points import check_coverage, named_points
from perfcore.models.design_rows import DesignRows, Rival
from perfcore.models.model import Parameter, Points
from perfcore.models.observed import Observed
from perfcore.models.part_draws import GrowthDraws, PartDraws


Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class LawModel(PathLaws, frozen=True, forbid_unknown_fields=True, dict=True):
    """Scaling laws of paths: what they predict, how sure, and what to measure next.

    Its fields and what is drawn from them are those of `PathLaws`.
    """

    kind: ClassVar[str] = "scaling laws"

    def predict(self, points: Points, interval: float | None = None) -> Floats:
        """Predicted values in the unit of the data: the median of what the data leave open."""
        if interval is not None:
            check_coverage(interval)
        coordinates, path_numbers = self._places(points)
        levels = np.stack([coordinates[symbol] for symbol in self.symbols], axis=1)
        distinct, place = np.unique(levels, axis=0, return_inverse=True)
        paths, path = np.unique(path_numbers, return_inverse=True)
        if interval is None:
            values = self.posterior.of_paths(paths).quantiles(distinct, [0.5])
        else:
            values = self.band(distinct, interval, paths.tolist(), run=True)
        chosen = values[path.ravel(), place.ravel()]
        return chosen[:, 0] if interval is None else chosen

    def observed(self, data: Any, where: str | None = None) -> Observed:
        """The mean of the runs of each path at each point, with the roles and conditions of the fit."""
        return observed_by_path(self, data, where)

    def part_draws(self, points: Mapping[str, npt.NDArray[Any]]) -> PartDraws:
        """Draws of every path; see `Model.part_draws`."""
        return law_part_draws(self, points)

    def growth_draws(self, point: Mapping[str, Any]) -> GrowthDraws:
        """Law and growth of every path; see `Model.growth_draws`."""
        return law_growth_draws(self, point)

    def remarks(self, points: Points) -> list[str]:
        """Where a point is outside of what was measured."""
        coordinates, path_numbers = self._places(points)
        lines = []
        measured = np.isfinite(self.means)
        limits: dict[tuple[int, str], tuple[float, float]] = {}
        for place, path in enumerate(path_numbers.tolist()):
            parts = []
            for symbol, values in coordinates.items():
                if (path, symbol) not in limits:
                    levels = np.array(self.points[symbol])[measured[path]]
                    limits[path, symbol] = (float(levels.min()), float(levels.max()))
                low, high = limits[path, symbol]
                if not low <= values[place] <= high:
                    parts.append(f"{self.parameter_names[symbol]} was {low:g} to {high:g}")
            lines.append(f"extrapolated: {', '.join(parts)}" if parts else "")
        return lines

    def design_rows(self, points: Points) -> DesignRows:
        """Of the likeliest law of one path; see `Model.design_rows`."""
        return law_design_rows(self, *self._places(points))

    def rivals(self, points: Points) -> tuple[Rival, ...]:
        """The other laws of one path; see `Model.rivals`."""
        return law_rivals(self, *self._places(points))

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Coefficients of the likeliest law of each path, and exponents that are on no grid."""
        estimates = []
        for law in self.leading:
            prefix = f"{law.path}: " if len(self.paths) > 1 else ""
            for name, value, error in zip(("1", *law.terms), law.coefficients, law.standard_errors, strict=True):
                estimates.append(Parameter(prefix + name, value, None if np.isnan(error) else error, self.unit_of_laws))
            for exponent in law.exponents:
                estimates.append(
                    Parameter(
                        f"{prefix}exponent of {exponent.parameter} in {exponent.term}",
                        exponent.estimate,
                        exponent.deviation,
                    )
                )
        return tuple(estimates)

    @property
    def statistics(self) -> dict[str, float | int | str | None]:
        """How many paths, points and laws, and how well the rest predicts what was measured last."""
        check = self.check
        return {
            "n_points": len(self.measured),
            "n_paths": len(self.paths),
            "n_unfitted": len(self.unfitted),
            "n_laws": len(self.laws),
            "median_noise": float(np.median(np.sqrt(self.posterior.spread))),
            "last_level_error": None if check is None else check.median_error,
            "last_level_inside": None if check is None else check.inside,
        }

    @property
    def formula(self) -> str:
        """The likeliest law of each path, one line each."""
        if len(self.paths) == 1:
            return self.leading[0].formula
        return "\n".join(f"{law.path} = {law.formula}" for law in self.leading)

    @functools.cached_property
    def check(self) -> LastLevelCheck | None:
        """How the largest measured level is predicted by the others; None where these are too few."""
        return check_last_level(self)

    @property
    def has_parts(self) -> bool:
        """Paths are parts of a whole; rates of different things and efficiencies are not, nor are whole programs."""
        alone = len(self.paths) > 1 and len(self.whole.trees) == len(self.paths)
        return not alone and not is_speed(self.unit, self.value_name)

    def details(self) -> dict[str, Any]:
        """The tables' content by path, advice, and speedup."""
        speedup_curve = speedup(self)
        return {
            "paths": [
                {
                    **row._asdict(),
                    **({} if self.has_parts else {"share": None}),
                    "growths": {
                        name: growth._asdict()
                        for name, growth in zip(self.parameter_names.values(), row.growths, strict=True)
                    },
                }
                for row in self.rows
            ],
            "share_of": self.whole.shares_text if self.has_parts else None,
            "advice": [entry._asdict() for entry in advice(self)],
            "next_point": next_point(self),
            "speedup": None
            if speedup_curve is None
            else {**speedup_curve._asdict(), "levels": [level._asdict() for level in speedup_curve.levels]},
            "check": None if self.check is None else self.check._asdict(),
            "unfitted": self.unfitted,
        }

    def _places(self, points: Points) -> tuple[dict[str, Floats], Ints]:
        coordinates, index = named_points(points, self.columns, {PATH: self.paths})
        return coordinates, index[PATH]
