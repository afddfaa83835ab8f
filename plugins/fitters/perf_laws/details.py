"""Scaling laws as JSON-ready values: what the tables say, without limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perf_laws.advice.advice import advice, next_point
from perf_laws.speedup import speedup

if TYPE_CHECKING:
    from perf_laws.model import LawModel

__all__ = ["law_details"]


def law_details(model: LawModel) -> dict[str, Any]:
    """Everything that the tables say, as JSON-ready values."""
    whole = speedup(model)
    return {
        "paths": [
            {
                **row._asdict(),
                "growths": {s: growth._asdict() for s, growth in zip(model.symbols, row.growths, strict=True)},
            }
            for row in model.rows
        ],
        "share_of": model.whole.shares_text,
        "advice": [one._asdict() for one in advice(model)],
        "next_point": next_point(model),
        "speedup": None if whole is None else {**whole._asdict(), "levels": [at._asdict() for at in whole.levels]},
        "check": None if model.check is None else model.check._asdict(),
        "unfitted": model.unfitted,
    }
