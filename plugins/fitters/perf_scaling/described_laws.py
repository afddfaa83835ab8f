"""Laws of paths with what is said of each: the likeliest law, and a row for tables."""

from __future__ import annotations

import functools

from perf_scaling.drawn_laws import DrawnLaws
from perf_scaling.leading import LeadingLaw, leading_laws
from perf_scaling.rows import LawRow, law_rows


class DescribedLaws(DrawnLaws):
    """What is said of each path, worked out when it is asked for."""

    @functools.cached_property
    def leading(self) -> tuple[LeadingLaw, ...]:
        """The likeliest law of each path with coefficients, where the data determine one."""
        return leading_laws(self)

    @functools.cached_property
    def rows(self) -> tuple[LawRow, ...]:
        """What is said of each path at the target, the largest share first."""
        return law_rows(self, self.leading)
