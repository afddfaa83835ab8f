"""A chart as SVG to stand within a page: texts stay texts, and nothing of it is fetched from elsewhere."""

from __future__ import annotations

import io
import re
import threading

from perfcore.view.contents import Chart

__all__ = ["chart_svg"]

# Settings of matplotlib belong to the whole process; only one drawing at a time may change them.
_lock = threading.Lock()
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
# The style sheet that matplotlib puts in would hold for the whole page; line joins are set on the drawing instead.
_STYLE = re.compile(r"<style[^>]*>.*?</style>", re.DOTALL)
_SIZE = re.compile(r'(<svg[^>]*?) width="[^"]*"')
_HEIGHT = re.compile(r'(<svg[^>]*?) height="[^"]*"')


def chart_svg(chart: Chart, name: str) -> str:
    """Draw a chart.

    Parameters
    ----------
    chart : Chart
    name : str
        Differs for each chart of a page, so that parts of two drawings are not taken for one another.

    Returns
    -------
    str
        An ``<svg>`` element that is as wide as its place; the same chart gives the same text.
    """
    import html

    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    written = io.StringIO()
    with _lock, mpl.rc_context({"svg.hashsalt": f"perfcore {name}", "svg.fonttype": "none"}):
        figure = Figure(figsize=chart.size, layout="constrained")
        FigureCanvasSVG(figure)
        chart.draw(figure)
        figure.savefig(written, format="svg", metadata={"Date": None})
    text = written.getvalue()
    text = _STYLE.sub("", _METADATA.sub("", text[text.index("<svg") :]))
    text = _HEIGHT.sub(r"\1", _SIZE.sub(r"\1", text, count=1), count=1)
    label = html.escape(chart.alternative)
    opening = f'<svg role="img" aria-label="{label}" stroke-linejoin="round" stroke-linecap="butt"'
    # Names that matplotlib gives, such as axes_1, occur in every drawing.
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    return opening + text[len("<svg") :]
