"""Scaling laws of paths over parameters, averaged over all that the data leave open."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
import numpy as np
import numpy.typing as npt

from perf_laws.draws.draws import DRAWS, Draws, draw, quantiles
from perf_laws.evidence.hypotheses import Hypotheses
from perf_laws.evidence.law_arrays import laws_of, model_arrays, of_paths
from perf_laws.evidence.noise import Runs
from perf_laws.evidence.path_data import Factor, PathData, WeighedLaws
from perf_laws.evidence.posterior import Laws
from perf_laws.evidence.terms import Term
from perf_laws.leading import LeadingLaw, leading_laws
from perfcore.models.model import Model, Parameter, Points
from perfcore.models.points import check_coverage, named_points

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from perf_laws.rows import LawRow
    from perf_laws.whole import Whole
    from perfcore.models.design_rows import DesignRows, Rival
    from perfcore.models.part_draws import GrowthDraws, PartDraws
    from perfcore.views.contents import Viewable

__all__ = ["PATH", "LawModel"]

PATH = "path"  # the variable that names one

_NUMBERS_AT_ONCE = 1 << 21  # in the draws of one block, 16 MB

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class LawModel(Model, frozen=True, forbid_unknown_fields=True, dict=True):
    """Scaling laws of paths.

    Attributes
    ----------
    columns : dict
        Parameters: symbol in formulas to the column's name in the data.
    value_name : str
    unit : str or None
    notes : tuple of str
    points : dict of str to tuple of float
        Measured points (n) by symbol.
    paths : tuple of str
    laws : tuple of laws
        Each a tuple of columns beside the constant, each of these a tuple of factors.
    data : tuple of PathData
        Of each path.
    unfitted : dict of str to str
        Paths that no law could be fitted to, and why.
    target : dict of str to float
        The point that tables and pictures look at.
    metrics : tuple of str
        What was measured of each path; empty where no column tells, and it is the same.
    """

    columns: dict[str, str]
    value_name: str
    unit: str | None
    notes: tuple[str, ...]
    points: dict[str, tuple[float, ...]]
    paths: tuple[str, ...]
    laws: tuple[tuple[tuple[Factor, ...], ...], ...]
    data: tuple[PathData, ...]
    unfitted: dict[str, str]
    target: dict[str, float]
    metrics: tuple[str, ...] = ()

    kind: ClassVar[str] = "scaling laws"

    def __post_init__(self) -> None:
        """Refuse what a file edited by hand may hold; `perfcore.load` makes one line of it."""
        n = len(next(iter(self.points.values()), ()))
        if set(self.points) != set(self.columns) or any(len(p) != n for p in self.points.values()) or not n:
            raise ValueError("the points are not those of the model's parameters")
        if set(self.target) != set(self.columns):
            raise ValueError("the target is not a point of the model's parameters")
        levels = [level for own in (*self.points.values(), self.target.values()) for level in own]
        if not all(0.0 < level < math.inf for level in levels) or len(set(zip(*self.points.values(), strict=True))) < n:
            raise ValueError("the points are no positive numbers that differ")
        if len(self.paths) != len(self.data) or not self.paths or len(set(self.paths)) < len(self.paths):
            raise ValueError("there are not as many paths as data of paths, or two have one name")
        if self.metrics and len(self.metrics) != len(self.paths):
            raise ValueError("there are not as many metrics as paths")
        for path, own in zip(self.paths, self.data, strict=True):
            if len(own.means) != n:
                raise ValueError(f"{path} has not as many means as there are points")
            parts: tuple[WeighedLaws, ...] = (own, *own.before)
            if not all(min(part.laws) >= 0 and max(part.laws) < len(self.laws) for part in parts):
                raise ValueError(f"{path} has a law that the model does not have")
            if own.before and len(self.columns) > 1:
                raise ValueError(f"{path} has breaks, and there are several parameters")
        if any(factor.symbol not in self.columns for law in self.laws for column in law for factor in column):
            raise ValueError("a law is of a parameter that the model does not have")

    @property
    def symbols(self) -> tuple[str, ...]:
        """The parameters."""
        return tuple(self.columns)

    @property
    def variables(self) -> Mapping[str, str]:
        """The parameters, and the path where there are several."""
        return {**self.columns, **({PATH: PATH} if len(self.paths) > 1 else {})}

    @property
    def levels(self) -> Mapping[str, tuple[str, ...]]:
        """The paths."""
        return {PATH: self.paths} if len(self.paths) > 1 else {}

    @property
    def ranges(self) -> Mapping[str, tuple[float, float]]:
        """Smallest and largest measured value of each parameter."""
        return {symbol: (min(values), max(values)) for symbol, values in self.points.items()}

    @property
    def target_point(self) -> Floats:
        """The target as one of the points (q,)."""
        return np.array([self.target[symbol] for symbol in self.symbols], dtype=np.float64)

    @functools.cached_property
    def measured(self) -> Floats:
        """Measured points (n, q)."""
        return np.stack([np.array(self.points[symbol]) for symbol in self.symbols], axis=1)

    @functools.cached_property
    def means(self) -> Floats:
        """Mean of each path at each point (K, n); NaN where it was not measured."""
        return np.array([own.means for own in self.data], dtype=np.float64)

    @functools.cached_property
    def whole(self) -> Whole:
        """How the paths add up, and their call trees."""
        from perf_laws.whole import whole_of

        return whole_of(self)

    def at(self, target: Mapping[str, float]) -> LawModel:
        """The same laws, looked at from another point.

        Parameters
        ----------
        target : mapping of str to float
            Each parameter.
        """
        other = msgspec.structs.replace(self, target=dict(target))
        # What does not depend on the target takes longer than a view of one path.
        vars(other).update({name: getattr(self, name) for name in ("measured", "means", "arrays", "leading", "whole")})
        return other

    def law_text(self, law: int) -> tuple[str, ...]:
        """Terms of a law beside the constant, as formulas."""
        return tuple(self.column_text(column) for column in self.laws[law])

    @staticmethod
    def column_text(column: Sequence[Factor]) -> str:
        """A product of terms as a formula."""
        texts = [Term(Fraction(f.exponent), f.logarithm).text(f.symbol) for f in column]
        above = [text for text in texts if not text.startswith("1/")]
        below = [text[2:] for text in texts if text.startswith("1/")]
        return "/".join(["*".join(above) or "1", *below])

    def draws(self, points: npt.ArrayLike, paths: Sequence[int] | None = None) -> Draws:
        """Draws from what the data leave open, of all paths or of some, at points (T, q)."""
        levels = np.asarray(points, dtype=np.float64)
        every = range(len(self.paths)) if paths is None else paths
        runs, hypotheses, laws = self.arrays
        found = draw(of_paths(runs, every), hypotheses, of_paths(laws, every), levels)
        broken = [(row, k) for row, k in enumerate(every) if self.data[k].before]
        for row, k in broken:
            begin = 0.0
            for number, segment in enumerate(self.data[k].before):
                here = (levels[:, 0] > begin) & (levels[:, 0] <= segment.until)
                if here.any():
                    own = draw(of_paths(runs, [k]), hypotheses, self.laws_before([(k, number)]), levels[here])
                    # Every draw of the segment in the weight of one of the path.
                    found.values[row][:, here] = own.evenly(found.weights[row])
                begin = segment.until
        return found

    def draws_in_blocks(
        self, points: npt.ArrayLike, paths: Sequence[int] | None = None
    ) -> Iterator[tuple[slice, Draws]]:
        """`draws` of some paths after the other, with their places: of all paths at once they are gigabytes."""
        every = range(len(self.paths)) if paths is None else paths
        count = max(1, _NUMBERS_AT_ONCE // (DRAWS * len(np.asarray(points))))
        for begin in range(0, len(every), count):
            own = slice(begin, min(begin + count, len(every)))
            yield own, self.draws(points, every[own])

    def predict(self, points: Points, interval: float | None = None) -> Floats:
        """Predicted values in the unit of the data: the median of what the data leave open.

        Parameters
        ----------
        points : mapping of columns, DataFrame, or (n,) float for a single parameter and path
            Parameters and ``path``.
        interval : float, optional
            Coverage of bounds for a single run; they hold that the law itself is not known.

        Returns
        -------
        (n,) or (n, 3) float
            Values, or value, lower and upper bound.
        """
        if interval is not None:
            check_coverage(interval)
        at, which = self._places(points)
        levels = np.stack([at[symbol] for symbol in self.symbols], axis=1)
        asked, place = np.unique(levels, axis=0, return_inverse=True)
        paths, path = np.unique(which, return_inverse=True)
        found = np.empty((len(paths), len(asked), 1 if interval is None else 3))
        for own, draws in self.draws_in_blocks(asked, paths.tolist()):
            found[own, :, :1] = quantiles(draws.values, draws.weights, [0.5])
            if interval is not None:
                sides = [0.5 - 0.5 * interval, 0.5 + 0.5 * interval]
                found[own, :, 1:] = quantiles(draws.runs(), draws.weights, sides)
        chosen = found[path.ravel(), place.ravel()]
        return chosen[:, 0] if interval is None else chosen

    def band(self, points: npt.ArrayLike, interval: float, paths: Sequence[int] | None = None) -> Floats:
        """Median and bounds of the mean (K, T, 3), of all paths or of some, at points (T, q)."""
        check_coverage(interval)
        levels = [0.5, 0.5 - 0.5 * interval, 0.5 + 0.5 * interval]
        blocks = self.draws_in_blocks(points, paths)
        return np.concatenate([quantiles(draws.values, draws.weights, levels) for _, draws in blocks])

    def part_draws(self, points: Mapping[str, npt.NDArray[Any]]) -> PartDraws:
        """Draws of every path; see `Model.part_draws`."""
        from perf_laws.comparison import law_part_draws

        return law_part_draws(self, points)

    def growth_draws(self, point: Mapping[str, Any]) -> GrowthDraws:
        """Law and growth of every path; see `Model.growth_draws`."""
        from perf_laws.comparison import law_growth_draws

        return law_growth_draws(self, point)

    def remarks(self, points: Points) -> list[str]:
        """Where a point is outside of what was measured."""
        at, which = self._places(points)
        found = []
        measured = np.isfinite(self.means)
        limits: dict[tuple[int, str], tuple[float, float]] = {}
        for place, path in enumerate(which.tolist()):
            parts = []
            for symbol, values in at.items():
                if (path, symbol) not in limits:
                    levels = np.array(self.points[symbol])[measured[path]]
                    limits[path, symbol] = (float(levels.min()), float(levels.max()))
                low, high = limits[path, symbol]
                if not low <= values[place] <= high:
                    parts.append(f"{symbol} was {low:g} to {high:g}")
            found.append(f"extrapolated: {', '.join(parts)}" if parts else "")
        return found

    def design_rows(self, points: Points) -> DesignRows:
        """Of the likeliest law of one path; see `Model.design_rows`."""
        from perf_laws.advice.next_rows import law_design_rows

        return law_design_rows(self, *self._places(points))

    def rivals(self, points: Points) -> tuple[Rival, ...]:
        """The other laws of one path; see `Model.rivals`."""
        from perf_laws.advice.next_rows import law_rivals

        return law_rivals(self, *self._places(points))

    @functools.cached_property
    def leading(self) -> tuple[LeadingLaw, ...]:
        """The likeliest law of each path with coefficients."""
        return leading_laws(self)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Coefficients of the likeliest law of each path."""
        found = []
        for law in self.leading:
            prefix = f"{law.path}: " if len(self.paths) > 1 else ""
            for name, value, error in zip(("1", *law.terms), law.coefficients, law.standard_errors, strict=True):
                found.append(Parameter(prefix + name, value, None if np.isnan(error) else error, self.unit))
        return tuple(found)

    @property
    def statistics(self) -> dict[str, float | int | str | None]:
        """How many paths, points and laws, and how well the likeliest laws predict what they were not fitted to."""
        misses = np.array([law.leave_one_out for law in self.leading])
        seen = misses[np.isfinite(misses)]
        return {
            "n_points": len(self.measured),
            "n_paths": len(self.paths),
            "n_unfitted": len(self.unfitted),
            "n_laws": len(self.laws),
            "median_noise": float(np.median([np.sqrt(own.within / own.freedom) for own in self.data])),
            "median_leave_one_out": float(np.median(seen)) if len(seen) else None,
        }

    @property
    def formula(self) -> str:
        """The likeliest law of each path, one line each."""
        if len(self.paths) == 1:
            return self.leading[0].text
        return "\n".join(f"{law.path} = {law.text}" for law in self.leading)

    @property
    def title(self) -> str:
        """One line over a picture."""
        count = len(self.paths)
        source = Path(self.origin.source).name
        if count == 1:
            return f"scaling law of {self.paths[0]} of {source}"
        return f"scaling laws of {count:,} paths of {source}"

    @functools.cached_property
    def rows(self) -> tuple[LawRow, ...]:
        """What is said of each path at the target, the largest share first."""
        from perf_laws.rows import law_rows

        return law_rows(self)

    def summary(self) -> list[str]:
        """What was fitted, and what is not determined."""
        from perf_laws.tables import law_summary

        return law_summary(self)

    def tables(self) -> list[tuple[str, list[str], list[list[str]]]]:
        """The paths by their share at the target: law, bounds, growth, and how sure it is."""
        from perf_laws.tables import law_tables

        return law_tables(self)

    def plain_tables(self) -> list[tuple[str, list[str], list[list[str]]]]:
        """Every path, one number in a cell."""
        from perf_laws.tables import plain_law_tables

        return plain_law_tables(self)

    def details(self) -> dict[str, Any]:
        """The tables' content by path, advice, and speedup."""
        from perf_laws.tables import law_details

        return law_details(self)

    def views(self, data: Any = None, file: Path | None = None) -> Viewable:
        """The call tree coloured by growth, and each path's laws; see `Model.views`."""
        from perf_laws.views.law_views import LawViews

        return LawViews(self)

    def draw(self, figure: Figure, data: Any = None) -> None:
        """Draw the paths that matter most at the target: means, law, bounds."""
        from perf_laws.picture import draw_laws

        draw_laws(self, figure)

    def _places(self, points: Points) -> tuple[dict[str, Floats], Ints]:
        at, index = named_points(points, self.columns, {PATH: self.paths})
        return at, index[PATH]

    def laws_before(self, breaks: Sequence[tuple[int, int]]) -> Laws:
        """Laws before breaks, each given by its path and its number there."""
        return laws_of([self.data[path].before[number] for path, number in breaks])

    @functools.cached_property
    def arrays(self) -> tuple[Runs, Hypotheses, Laws]:
        """Runs, laws and their probabilities as arrays: what `perf_laws.draws.draws.draw` takes."""
        return model_arrays(self)
