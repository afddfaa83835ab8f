"""Colours of the classes of states, the same in every view of a timeline."""

from __future__ import annotations

__all__ = ["CLASS_COLOURS", "FOUND"]

# M. Okabe and K. Ito, "Color Universal Design", 2008, and P. Tol's wine and indigo: apart for every kind of colour
# vision. Blue is work; what is lost is warm; grey is nothing.
CLASS_COLOURS = {
    "computing": "#0072b2", "other": "#3d9bd3", "communicating": "#d55e00", "waiting": "#e69f00",
    "synchronizing": "#cc79a7", "transferring": "#8fcdf0", "io": "#009e73", "contending": "#882255",
    "runtime": "#5b4ba8", "idle": "#c4c8ce", "not_running": "#dfe2e6", "unknown": "#8a8f98", "marker": "#f0e442",
}  # fmt: skip
FOUND = "#c1272d"  # what is searched for
