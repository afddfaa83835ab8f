"""Pictures of models and data: PNG, SVG and PDF by matplotlib, HTML with the drawing inside."""

from __future__ import annotations

import html
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perfcore.base.errors import DataError, OptionError
from perfcore.base.files import atomic_path, check_folder, write_bytes
from perfcore.data.curve import UtilizationCurve
from perfcore.data.measurements import Measurements
from perfcore.data.series import Series
from perfcore.data.trace import Trace
from perfcore.data.units import NANOSECONDS, shown_origin

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from perfcore.results import Result

__all__ = ["check_ending", "check_files", "draw_curve", "draw_measurements", "drawn", "plot", "time_axis"]

ENDINGS = (".png", ".svg", ".pdf", ".html")

Floats = npt.NDArray[np.float64]

# A curve of more steps than this is drawn as the band between its extremes: more than one value falls on each pixel.
_MOST_STEPS = 1000
_BAND_BINS = 2000
_MEAN_BINS = 300
_MOST_NAMED = 30  # codes on systems that a legend can name


def check_ending(path: str | os.PathLike[str]) -> str:
    """The ending of a picture's path in lower case.

    Raises
    ------
    OptionError
        No picture can be written with it.
    """
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise OptionError(f"cannot draw {os.fspath(path)!r}: the ending must be one of {', '.join(ENDINGS)}")
    return ending


def check_files(picture: str | None, *others: str | None) -> None:
    """Refuse files that cannot be written, before anything is computed for them.

    Raises
    ------
    OptionError
        No picture can have the ending.
    InputError
        A folder is not there.
    """
    if picture is not None:
        check_ending(picture)
    for path in (picture, *others):
        if path is not None:
            check_folder(path)


def plot(model: Result | None, data: Any, path: str | os.PathLike[str]) -> None:
    """Draw a model, data, or a model over its data.

    Parameters
    ----------
    model : Model or another result that draws itself, optional
    data : Trace, UtilizationCurve, Series or Measurements, optional
    path : str or path
        Picture to write, whole or not at all; the ending is the format.

    Raises
    ------
    OptionError
        Neither model nor data were given, or the ending is not known.
    """
    ending = check_ending(path)
    from perf_pictures.style import drawing

    # The same picture gives the same bytes.
    with drawing(svg_hashsalt="perfcore"):
        figure = drawn(model, data)
        if ending == ".html":
            write_bytes(path, _page(figure, model, _title(model, data)).encode())
            return
        with atomic_path(path) as temporary:
            _save(figure, temporary, ending)


def _title(model: Result | None, data: Any) -> str:
    if model is not None:
        return model.title
    return f"{'Measurements' if isinstance(data, Measurements) else 'Processor utilization'}: {data.source}"


def drawn(model: Result | None, data: Any) -> Figure:
    """A figure of a model, data, or a model over its data; make and use it within `perf_pictures.style.drawing`.

    Raises
    ------
    OptionError, DataError
        There is nothing that has a picture.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from perf_pictures.style import finish

    figure = Figure(figsize=(10, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    if model is not None:
        model.draw(figure, data)
    elif isinstance(data, Measurements):
        draw_measurements(figure.add_subplot(), data)
    elif data is not None:
        curve = data.utilization() if isinstance(data, Trace) else data.curve() if isinstance(data, Series) else data
        if not isinstance(curve, UtilizationCurve):
            raise DataError(f"{type(data).__name__} has no picture of its own; fit a model and draw that")
        draw_curve(figure.add_subplot(), curve)
    else:
        raise OptionError("there is nothing to draw: give a model or data")
    finish(figure)
    return figure


def time_axis(axes: Axes, start: float, end: float, time_unit: str) -> Callable[[npt.ArrayLike], Floats]:
    """Label the time axis in a readable unit; returns what turns times into places on it."""
    origin = shown_origin(start, end)
    longest = max(abs(start - origin), abs(end - origin)) * NANOSECONDS[time_unit]
    unit = next((u for u in ("s", "ms", "us") if longest >= NANOSECONDS[u]), "ns")
    factor = NANOSECONDS[time_unit] / NANOSECONDS[unit]

    def place(times: npt.ArrayLike) -> Floats:
        return (np.asarray(times, dtype=np.float64) - origin) * factor

    axes.set_xlim(*place([start, end]))
    since = f" since {origin:.15g} {time_unit}" if origin else ""
    axes.set_xlabel(f"time{since} ({'µs' if unit == 'us' else unit})")
    return place


def draw_curve(axes: Axes, curve: UtilizationCurve) -> None:
    """Draw a utilization curve; a long one as the band between its extremes, with its mean over short times."""
    place = time_axis(axes, curve.start, curve.end, curve.time_unit)
    if curve.n_steps <= _MOST_STEPS:
        axes.stairs(curve.heights, place(curve.edges), color="0.35", linewidth=0.8, baseline=None, label="data")
    else:
        edges, low, high = curve.envelope(_BAND_BINS)
        # The outline keeps runs visible in which lowest and highest agree.
        axes.stairs(
            high, place(edges), baseline=low, fill=True, facecolor="0.82", edgecolor="0.82", linewidth=0.5,
            label="lowest to highest",
        )  # fmt: skip
        cuts, means = curve.averaged(_MEAN_BINS)
        axes.stairs(means, place(cuts), color="0.35", linewidth=0.8, baseline=None, label="short-time mean")
    axes.set_ylim(bottom=0.0, top=max(float(curve.heights.max()) * 1.05, 1e-9))
    axes.set_ylabel("processors computing")


def draw_measurements(axes: Axes, data: Measurements) -> None:
    """Draw every code on every system over the first parameter, on logarithmic axes.

    Raises
    ------
    OptionError
        The parameter or the value is not known.
    """
    import matplotlib as mpl

    from perf_pictures.style import add_legend, set_logarithmic, tick_base
    from perf_views.short_names import LABEL_LETTERS, shortened, shortened_apart

    seen = data.observations(duplicates="keep")
    symbol = next(iter(seen.points))
    cells = np.unique(seen.cell)
    colours = mpl.colormaps["viridis"](np.linspace(0.0, 0.9, len(cells)))
    for cell, colour in zip(cells, colours, strict=True):
        mine = seen.cell == cell
        order = np.argsort(seen.points[symbol][mine], kind="stable")
        axes.plot(
            seen.points[symbol][mine][order], seen.value[mine][order], "o-", color=colour, markersize=3, linewidth=0.8,
            label=seen.cell_name(int(cell)),
        )  # fmt: skip
    axes.set(xscale="log", yscale="log")
    set_logarithmic(axes, "x", *axes.get_xlim(), base=tick_base(seen.points[symbol]))
    set_logarithmic(axes, "y", *axes.get_ylim())
    axes.set_xlabel(shortened(seen.columns[symbol]), parse_math=False)
    unit = f" ({seen.unit})" if seen.unit else ""
    axes.set_ylabel(shortened(seen.value_name) + unit, parse_math=False)
    if 1 < len(cells) <= _MOST_NAMED:
        names = shortened_apart([seen.cell_name(int(cell)) for cell in cells], LABEL_LETTERS)
        add_legend(axes, names, axes.get_lines(), fontsize="x-small", ncols=2)


def _save(figure: Figure, target: Path | io.BytesIO, ending: str) -> None:
    """Write a drawing; neither the date nor random names go into it."""
    date = {".svg": "Date", ".pdf": "CreationDate"}.get(ending)
    figure.savefig(target, format=ending[1:], dpi=150, metadata=None if date is None else {date: None})


def _page(figure: Figure, model: Result | None, title: str) -> str:
    drawing = io.BytesIO()
    _save(figure, drawing, ".svg")
    svg = drawing.getvalue().decode()
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>{html.escape(title)}</title>",
        "<style>body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#222}",
        "svg{width:100%;height:auto}table{border-collapse:collapse;margin:1rem 0}",
        "th,td{padding:.2rem .8rem;text-align:right;border-bottom:1px solid #ddd;white-space:nowrap}",
        "pre{overflow-x:auto}</style></head><body>",
        f"<h1>{html.escape(title)}</h1>",
        svg[svg.index("<svg") :],
    ]
    if model is not None:
        parts += [f"<p>{html.escape(line)}</p>" for line in model.summary()]
        for caption, header, rows in model.tables():
            parts.append("<table>" + (f"<caption>{html.escape(caption)}</caption>" if caption else ""))
            parts.append("<tr>" + "".join(f"<th>{html.escape(cell)}</th>" for cell in header) + "</tr>")
            for row in rows:
                parts.append("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>")
            parts.append("</table>")
        if model.formula:
            parts.append(f"<h2>Formula</h2><pre>{html.escape(model.formula)}</pre>")
    parts.append("</body></html>\n")
    return "\n".join(parts)
