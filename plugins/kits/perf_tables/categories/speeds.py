"""Which measured columns are work per time: by their unit, or by what they are called."""

from __future__ import annotations

import re

from perfcore.data.units import is_rate, split_unit

# What is more the faster a program is, however it is counted; the end of names such as "parallel efficiency".
_SPEEDS = frozenset(
    [
        *("speedup", "efficiency", "throughput", "goodput", "bandwidth", "bw", "speed", "performance", "mfu", "hfu"),
        *("ipc", "mlups", "glups", "mops", "teps", "mteps", "gteps", "sypd", "tpmc"),
    ]
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_STATISTIC = re.compile(r"(?P<name>.+?)[\s_-]+(?:mean|avg|average|median|min|max|total)", re.IGNORECASE)


def is_speed(unit: str | None, *names: str) -> bool:
    """Whether what was measured is work per time, by its unit, or without one by what all its columns are called."""
    return is_rate(unit) if unit and unit != "%" else bool(names) and all(map(_is_called_speed, names))


def what_zero_means(of_speed: bool) -> str:
    """Why a measured 0 is left out, of work per time or of times."""
    return "nothing was done, which no law of a rate tells" if of_speed else "below what the clock sees"


def _is_called_speed(name: str) -> bool:
    statistic = _STATISTIC.fullmatch(name.strip())
    name, unit = split_unit(statistic["name"] if statistic else name)
    if unit is not None and unit.kind not in ("count", "share"):
        return unit.kind == "rate"
    words = [word.lower() for word in _WORD.findall(name)]
    return bool(words) and (words[-1] in _SPEEDS or "".join(words[-2:]) in _SPEEDS)
