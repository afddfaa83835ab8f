"""A chart as SVG to stand within a page: texts stay texts, and nothing of it is fetched from elsewhere."""

from __future__ import annotations

import io
import re
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perf_views.contents import Chart

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Of each mark as data: a page is about as wide; a report is to stay small, and is zoomed less deep.
PLACES_OF_PAGE, PLACES_OF_REPORT = 3000, 600

# Settings of matplotlib belong to the whole process; only one drawing at a time may change them.
_lock = threading.Lock()
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
# The style sheet that matplotlib puts in would hold for the whole page; line joins are set on the drawing instead.
_STYLE = re.compile(r"<style[^>]*>.*?</style>", re.DOTALL)
_SIZE = re.compile(r'(<svg[^>]*?) width="[^"]*"')
_HEIGHT = re.compile(r'(<svg[^>]*?) height="[^"]*"')
# A point of a drawing is 1/72 inch: beyond its hundredth nothing is seen, also on a screen of many dots and zoomed in.
_COORDINATES = re.compile(r'(<path [^>]*?\bd=")([^"]+)')
_DIGITS = re.compile(r"(\.[0-9]{2})[0-9]+")
_MANY = 3000  # corners of an area: a density over 2,000 places has 8,000, a curve's band of 700 bins 2,800


class DrawnChart(NamedTuple):
    """A chart, once for paper and as data."""

    svg: str  # an ``<svg>`` element that is as wide as its place; the same chart gives the same text
    panels: list[dict[str, Any]]  # the panels of what was drawn; see `perf_views.pictures.panels.described_panels`


def chart_svg(chart: Chart, name: str) -> str:
    """Draw a chart; see `drawn_chart`."""
    return drawn_chart(chart, name).svg


def drawn_chart(chart: Chart, name: str, most_places: int = PLACES_OF_PAGE) -> DrawnChart:
    """Draw a chart, once for paper and as data."""
    import html

    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    from perf_views.pictures.panels import described_panels
    from perf_views.pictures.style import drawing, finish

    written = io.StringIO()
    with _lock, drawing(svg_hashsalt=f"perfcore {name}", svg_fonttype="none"):
        figure = Figure(figsize=chart.size, layout="constrained")
        FigureCanvasSVG(figure)
        chart.draw(figure)
        if _is_empty(figure):
            figure.text(0.5, 0.5, "there is nothing to draw", ha="center", va="center")
        finish(figure)
        _thin(figure)
        figure.savefig(written, format="svg", metadata={"Date": None})
        panels = described_panels(figure, most_places)
    text = written.getvalue()
    text = _STYLE.sub("", _METADATA.sub("", text[text.index("<svg") :]))
    # Splitting keeps what the group holds and drops the digits after it; a substitution takes six times as long.
    text = _COORDINATES.sub(lambda match: match[1] + "".join(_DIGITS.split(match[2])), text)
    text = _HEIGHT.sub(r"\1", _SIZE.sub(r"\1", text, count=1), count=1)
    label = html.escape(chart.alternative)
    opening = f'<svg role="img" aria-label="{label}" stroke-linejoin="round" stroke-linecap="butt"'
    # Names that matplotlib gives, such as axes_1, occur in every drawing.
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    return DrawnChart(opening + text[len("<svg") :], panels)


def _is_empty(figure: Figure) -> bool:
    """Whether nothing but frames was drawn: no line with a point, no area, no image, no word."""
    return not figure.texts and not any(
        axes.texts or axes.patches or axes.images or axes.collections or np.isfinite(axes.dataLim.get_points()).all()
        for axes in figure.axes
    )


def _thin(figure: Figure) -> None:
    """Leave out corners of long areas that cannot be told from a straight edge; of lines matplotlib does so itself."""
    from matplotlib.collections import PolyCollection

    for area in figure.findobj(PolyCollection):
        paths, placed = area.get_paths(), area.get_transform()
        if max((len(np.asarray(path.vertices)) for path in paths), default=0) > _MANY:
            thin = [path.cleaned(placed, simplify=True) for path in paths]
            drawn = [np.isin(np.asarray(path.codes), (path.MOVETO, path.LINETO)) for path in thin]
            corners = [np.asarray(path.vertices)[mask] for path, mask in zip(thin, drawn, strict=True)]
            area.set_verts([placed.inverted().transform(corner) for corner in corners])
