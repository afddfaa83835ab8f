"""Laws of paths with what is said of each: the likeliest law, growth, share, and what is not sure."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Self

from perf_laws.leading import LeadingLaw, leading_laws
from perf_laws.path_laws import PathLaws
from perf_laws.rows import LawRow, law_rows

__all__ = ["SummarizedLaws"]


class SummarizedLaws(PathLaws, frozen=True, forbid_unknown_fields=True, dict=True):
    """What was measured of paths, what the data leave open of each, and what a person is told of it."""

    @functools.cached_property
    def leading(self) -> tuple[LeadingLaw, ...]:
        """The likeliest law of each path with coefficients, where the data determine one."""
        return leading_laws(self)

    @functools.cached_property
    def rows(self) -> tuple[LawRow, ...]:
        """What is said of each path at the target, the largest share first."""
        return law_rows(self, self.leading)

    def at(self, target: Mapping[str, float]) -> Self:
        """The same laws, looked at from another point; see `PathLaws.at`."""
        other = super().at(target)
        vars(other)["leading"] = self.leading
        return other
