"""What colours mean, in pages, pictures and reports alike; no drawing, style sheet or script names one itself.

- **Which one**: `SERIES` for lines and points side by side, `AREAS` for what lies upon another; `CLASS_COLOURS` for
  what a location does.
- **How much**: one map, `SIZES`, dark for little and bright for much.
- **How it grows**: nine `STEPS`, the brighter the faster; `pale` and hatched where it is not sure.
- **Good or not**: words, with `GOOD`, `CAREFUL` and `QUIET` (`STATUS`); never a colour alone.
- **What is measured** is ink, **what a model says** is `MODEL`, what helps to read is grey.
- **On a dark page** paper, ink and greys change places (`PAGE`, `ON_DARK`); what means something stays, if it is seen.
"""

from __future__ import annotations

# M. Okabe and K. Ito, "Color Universal Design", 2008; without yellow, which is faint on white paper.
SERIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# Their yellow is fine as an area; then P. Tol's indigo and wine.
AREAS = (*SERIES[:6], "#F0E442", "#332288", "#882255", "#8a8f98")
MODEL = SERIES[1]

INK, PAPER = "#000000", "#ffffff"  # a dark page exchanges them
DARK, RULE, LIGHT, FAINT, PALE, GRID = "#595959", "#999999", "#b8b8b8", "#d6d6d6", "#efefef", "#ebebeb"
DARK_TEXT, BRIGHT_TEXT = "#010101", "#fefefe"  # on colours; not ink and paper, which a dark page exchanges

GOOD, CAREFUL, QUIET = "#2f7d4f", "#a05f00", "#566070"
# Words that say how something turned out, and which of the three stands next to them in tables and summaries.
STATUS = {
    "pass": "good", "PASS": "good", "ok": "good", "fail": "careful", "FAIL": "careful", "noisy": "careful",
    "changed": "careful", "new": "careful", "inconclusive": "quiet", "INCONCLUSIVE": "quiet", "outlier": "quiet",
}  # fmt: skip

SIZES = "cividis"  # of matplotlib: its brightness rises for every kind of colour vision
# Brightness rises evenly from L* 16 to 93. Any two differ by 18.7 or more in CIEDE2000, also for people without red,
# green or blue cones (Machado, Oliveira and Fernandes, 2009), where nine of SIZES differ by 6.8.
STEPS = (
    "#2b2721", "#343281", "#8c3a13", "#3f736d", "#ae7802", "#5da3ce", "#b2b8a4", "#f3cd20", "#7efffc",
)  # fmt: skip

# Of the classes of states: blue is work, what is lost is warm, grey is nothing.
CLASS_COLOURS = {
    "computing": "#0072b2", "other": "#3d9bd3", "communicating": "#d55e00", "waiting": "#e69f00",
    "synchronizing": "#cc79a7", "transferring": "#8fcdf0", "io": "#009e73", "contending": "#882255",
    "runtime": "#5b4ba8", "idle": "#c4c8ce", "not_running": "#dfe2e6", "unknown": "#8a8f98", "marker": "#f0e442",
}  # fmt: skip
FOUND = "#c1272d"  # what is searched for

# Of a page by what they are for: in light, and in dark by the system's wish.
PAGE = {
    "paper": (PAPER, "#14181d"), "soft": ("#f3f5f8", "#1f262e"), "line": ("#c9ced6", "#3c4550"),
    "grid": (GRID, "#2a323b"), "ink": ("#1b1f24", "#e6e9ee"), "quiet": (QUIET, "#a7b1be"),
    "edge": ("#7b8594", "#7b8594"), "focus": ("#d97700", "#d97700"), "accent": ("#0b4f9c", "#84b9f7"),
    "good": (GOOD, "#6cc391"), "careful": (CAREFUL, "#e2a13a"), "careful-soft": ("#fff6e5", "#35290f"),
    "wrong": ("#b3261e", "#f28b82"), "wrong-soft": ("#fdeeed", "#3d1d1b"), "found": (FOUND, "#ff6b6f"),
}  # fmt: skip
# What stands in drawings for these on a dark page: paper, ink, greys by their distance from paper, and what would be
# lost on a dark one. All other colours stay what they are.
ON_DARK = {
    INK: PAGE["ink"][1], DARK: "#b9c0c9", RULE: "#8b95a1", LIGHT: "#5f6974", FAINT: "#414a54", PALE: "#242c34",
    GRID: PAGE["grid"][1], PAPER: PAGE["paper"][1], GOOD: PAGE["good"][1], CAREFUL: PAGE["careful"][1],
    QUIET: PAGE["quiet"][1], FOUND: PAGE["found"][1], "#332288": "#7a6fd6", "#882255": "#b8437a",
    CLASS_COLOURS["runtime"]: "#8878d8", CLASS_COLOURS["idle"]: "#4d5661", CLASS_COLOURS["not_running"]: "#2b333c",
}  # fmt: skip

_PALE = 0.35  # of a colour that is left in its pale form


def pale(colour: str) -> str:
    """Return the colour of uncertain parts, which are also hatched."""
    return "#" + "".join(f"{round(255 - _PALE * (255 - part)):02x}" for part in bytes.fromhex(colour[1:]))


def size_colour(place: float) -> str:
    """Return the colour of a size, 0 to 1; values outside are taken as the nearer end."""
    import matplotlib as mpl

    colour = mpl.colormaps[SIZES](min(max(place, 0.0), 1.0))[:3]
    return "#" + "".join(f"{round(255 * part):02x}" for part in colour)


def text_on(colour: str) -> str:
    """Return what is read on a colour; the contrast is at least 4.5 with any."""
    return max((BRIGHT_TEXT, DARK_TEXT), key=lambda candidate: contrast(colour, candidate))


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, 1 to 21, as WCAG 2.2 defines it; 4.5 is asked of text."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    parts = [part / 255.0 for part in bytes.fromhex(colour[1:])]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
