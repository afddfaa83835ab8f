"""Options of the representations."""

from __future__ import annotations

from dataclasses import dataclass

from perfcore.hooks.options import option

COUNTED = ("width", "probability", "curvature", "tails")
_RULES = (*COUNTED, "auto", "doane", "fd", "rice", "scott", "sqrt", "stone", "sturges")


@dataclass(frozen=True)
class HistogramOptions:
    """How bins are made from samples."""

    bins: int | None = option(
        None, "number of bins of the first four rules; if not given the 5 of the paper", minimum=1
    )
    rule: str = option(
        "width",
        "bins of equal width or probability, more where it bends or in the tails, or as a rule of numpy finds",
        choices=_RULES,
    )


@dataclass(frozen=True)
class HistogramArithmetic:
    """How results are binned."""

    bins: int | None = option(None, "bins of the result; if not given, as many as the operands have at most", minimum=1)
    method: str = option(
        "exact", "exact probabilities of each bin, or Schopf's Cartesian rule", choices=("exact", "cartesian")
    )


@dataclass(frozen=True)
class IntervalOptions:
    """How bounds are taken from samples."""

    trim: float = option(
        0.0, "share of samples to leave out at each end, below 0.5, since outliers stretch", minimum=0.0
    )
