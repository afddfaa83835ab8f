"""Options of the representations."""

from __future__ import annotations

from dataclasses import dataclass

from perfcore.hooks.options import option


@dataclass(frozen=True)
class HistogramOptions:
    """How bins are made from samples."""

    bins: int | None = option(
        None, "number of bins (default: as many as needed, at most 40; 5 of equal width)", minimum=1
    )
    rule: str = option(
        "adaptive",
        "bins that keep the distribution and its tails, or Schopf's equal width",
        choices=("adaptive", "width"),
    )


@dataclass(frozen=True)
class HistogramArithmetic:
    """How results are binned."""

    bins: int | None = option(None, "bins of the result; if not given, as many as the operands have at most", minimum=1)
    method: str = option(
        "exact", "exact probabilities of each bin, or Schopf's Cartesian rule", choices=("exact", "cartesian")
    )
