"""The grammar of what is different in a run: ``--network 2x --compute dgemm=2x --balance``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from perfcore.base.errors import OptionError

_MOST_TIMES = 2.0**20  # of the last factor of a sweep to its first


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


def swept_factors(text: str, option: str) -> list[float]:
    """Return the factors of a sweep ``1x..8x``: each twice the one before, up to the last.

    Examples
    --------
    >>> swept_factors("1x..6x", "--network")
    [1.0, 2.0, 4.0, 6.0]
    """
    first, last = (parse_factor(end, option) for end in text.split("..", 1))
    if not first < last < math.inf or last > _MOST_TIMES * first:
        raise OptionError(f"{option} {text}: from less to more is expected, such as 1x..8x")
    doubled = [first * 2.0**k for k in range(math.ceil(math.log2(last / first)))]
    return [*doubled, last]


def sweep_of(network: str | None, compute: Sequence[str] | Mapping[str, float] | str | None) -> tuple[str, str]:
    """Return what is swept, as ``network`` or a class, and its range; empty if nothing is.

    Examples
    --------
    >>> sweep_of("2x", ["dgemm=1x..8x"])
    ('dgemm', '1x..8x')
    """
    words = (
        [] if compute is None or isinstance(compute, Mapping) else [compute] if isinstance(compute, str) else compute
    )
    swept = [("network", network)] if network is not None and ".." in network else []
    swept += [(name, times) for name, _, times in (word.rpartition("=") for word in words) if ".." in times]
    if len(swept) > 1:
        raise OptionError(f"{' and '.join(times for _, times in swept)}: one range can be swept at a time")
    return swept[0] if swept else ("", "")
