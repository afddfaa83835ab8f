"""What the modules that answer questions about scaling models ask of one, so that the model can import them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy.typing as npt

from perfcore.base.arrays import Floats

if TYPE_CHECKING:
    from perf_scaling.call_tree import Whole
    from perf_scaling.posterior.posterior import Draws, Posterior
    from perf_scaling.terms import Law, PathData
    from perfcore.models.model import Origin


class FittedModel(Protocol):
    """A `perf_scaling.model.ScalingModel`, which says what each of these is."""

    @property
    def origin(self) -> Origin: ...
    @property
    def columns(self) -> dict[str, str]: ...
    @property
    def value_name(self) -> str: ...
    @property
    def unit(self) -> str | None: ...
    @property
    def paths(self) -> tuple[str, ...]: ...
    @property
    def laws(self) -> tuple[Law, ...]: ...
    @property
    def data(self) -> tuple[PathData, ...]: ...
    @property
    def target(self) -> dict[str, float]: ...
    @property
    def scaling(self) -> str: ...
    @property
    def variables(self) -> Mapping[str, str]: ...
    @property
    def levels(self) -> Mapping[str, tuple[str, ...]]: ...
    @property
    def symbols(self) -> tuple[str, ...]: ...
    @property
    def parameter_names(self) -> Mapping[str, str]: ...
    @property
    def target_point(self) -> Floats: ...
    @property
    def measured(self) -> Floats: ...
    @property
    def means(self) -> Floats: ...
    @property
    def whole(self) -> Whole: ...
    @property
    def posterior(self) -> Posterior: ...
    @property
    def fitted(self) -> Floats: ...
    @property
    def best(self) -> Any: ...
    @property
    def rows(self) -> Any: ...

    def point_text(self, point: Mapping[str, float]) -> str:
        """Levels of parameters as a person writes them."""

    def draws(self, points: npt.ArrayLike, paths: Sequence[int] | None = None) -> Draws:
        """Draws of the medians at points."""

    def draws_in_blocks(
        self, points: npt.ArrayLike, paths: Sequence[int] | None = None
    ) -> Iterator[tuple[slice, Draws]]:
        """The same in parts that memory holds."""

    def band(
        self, points: npt.ArrayLike, interval: float, paths: Sequence[int] | None = None, run: bool = False
    ) -> Floats:
        """Median and ends of the interval at points."""
