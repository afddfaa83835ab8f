"""The grammar of what is different in a run: ``--network 2x --compute dgemm=2x --balance``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from perfcore.base.errors import OptionError


def parse_factor(text: str, option: str) -> float:
    """Return how many times as fast ``2x`` or ``2`` is; ``inf`` takes no time.

    Examples
    --------
    >>> parse_factor("2x", "--compute")
    2.0
    """
    try:
        factor = float(text.strip().lower().removesuffix("x"))
    except ValueError:
        factor = math.nan
    if not factor > 0.0:
        raise OptionError(f"{option} {text}: how many times as fast is expected, such as 2x")
    return factor


def parse_compute(compute: Mapping[str, float] | Sequence[str] | str | None) -> dict[str, float]:
    """Return how many times as fast each class is, from ``CLASS=2x``; without a class its name is empty.

    Examples
    --------
    >>> parse_compute(["2x", "dgemm=1.5x"])
    {'': 2.0, 'dgemm': 1.5}
    """
    if isinstance(compute, Mapping):
        return {name: parse_factor(str(times), f"--compute {name}") for name, times in compute.items()}
    words = [compute] if isinstance(compute, str) else compute or ()
    factors: dict[str, float] = {}
    for word in words:
        name, _, times = word.rpartition("=")
        factors[name] = factors.get(name, 1.0) * parse_factor(times, f"--compute {name}".strip())
    return factors
