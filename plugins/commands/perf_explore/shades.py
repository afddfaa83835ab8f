"""Colours behind the cells of a table: a scale that rises in brightness for every kind of colour vision."""

from __future__ import annotations

import functools

__all__ = ["shade_style"]

_SCALE = "cividis"
_LIGHT, _DARK = "#ffffff", "#000000"  # one of them has a contrast of at least 4.58 with any colour


@functools.lru_cache(maxsize=1024)
def shade_style(shade: float) -> str:
    """Background and text colour as CSS; of the two text colours the one that contrasts more.

    Parameters
    ----------
    shade : float
        0 is dark, 1 bright; values outside are taken as the nearer end.

    Examples
    --------
    >>> shade_style(0.0), shade_style(1.0)
    ('background:#00224e;color:#ffffff', 'background:#fee838;color:#000000')
    """
    import matplotlib as mpl

    colour = mpl.colormaps[_SCALE](min(max(shade, 0.0), 1.0))[:3]
    background = "#" + "".join(f"{round(255 * part):02x}" for part in colour)
    text = max((_LIGHT, _DARK), key=lambda candidate: contrast(background, candidate))
    return f"background:{background};color:{text}"


def contrast(one: str, other: str) -> float:
    """Contrast of two colours, 1 to 21, as WCAG 2.2 defines it; 4.5 is asked of text.

    Examples
    --------
    >>> round(contrast("#000000", "#ffffff"), 1)
    21.0
    """
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255.0 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
