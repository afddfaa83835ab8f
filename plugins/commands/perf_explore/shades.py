"""Colours behind the cells of a table, as CSS; what they mean says `perf_views.colours`."""

from __future__ import annotations

import functools

from perf_views.colours import STEPS, pale, size_colour, text_on

__all__ = ["shade_style", "step_style"]


@functools.lru_cache(maxsize=1024)
def shade_style(shade: float) -> str:
    """Background and text colour of a size; of the two text colours the one that contrasts more.

    Parameters
    ----------
    shade : float
        0 is dark, 1 bright; values outside are taken as the nearer end.

    Examples
    --------
    >>> shade_style(0.0), shade_style(1.0)
    ('background:#00224e;color:#fefefe', 'background:#fee838;color:#010101')
    """
    return _style(size_colour(shade))


def step_style(step: int, *, is_sure: bool) -> str:
    """Background and text colour of a class of growth; pale, with stripes of the colour, where it is not sure.

    Examples
    --------
    >>> step_style(4, is_sure=True)
    'background:#ae7802;color:#010101'
    """
    if is_sure:
        return _style(STEPS[step])
    light = pale(STEPS[step])
    stripes = f"repeating-linear-gradient(135deg,{light} 0 5px,{pale(light)} 5px 8px)"
    return f"background:{stripes};color:{text_on(light)}"


def _style(background: str) -> str:
    return f"background:{background};color:{text_on(background)}"
