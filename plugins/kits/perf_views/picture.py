"""Pictures of models and data: PNG, SVG and PDF by matplotlib, HTML with the drawing inside."""

from __future__ import annotations

import base64
import html
import io
import logging
import os
import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes

from perf_views.marks import draw_plot, draw_plots
from perf_views.names import shortened
from perf_views.style import (
    break_long_lines,
    drawing,
    finish,
    join_legends,
    panel_shapes,
    set_height,
    set_text_size,
    texts_of,
    thin_out_ticks,
)
from perfcore.base.errors import DataError, OptionError
from perfcore.base.files import WRITTEN_BY, atomic_path, check_ending, check_files, write_bytes
from perfcore.report import Plot, Report, Result, Shown
from perfcore.tables import html_table, printable

logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it warns, twice, where no folder for settings can be written

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_COLUMN, _SHAPE = 5.0, 0.62  # widest column of a paper, inches; height of a panel with its labels over its width
_LEAST_SHAPE = 0.5  # height over width of a panel without labels
_WIDEST = 60.0  # inches
_ROOM = 1.0  # inches, of texts that do not shrink with a picture, until its height is set
_SCREEN = 80  # dots per inch in a notebook
_SHARPNESS = (2, 1)  # dots of a screen for each of these, today usual, and where that would take more than this:
_MOST_BYTES = 45_000
_SIZE = re.compile(r"(?P<width>[0-9]+\.?[0-9]*)(x(?P<height>[0-9]+\.?[0-9]*))? ?(?P<unit>in|cm|mm)?")
_INCHES = {"in": 1.0, "cm": 1.0 / 2.54, "mm": 1.0 / 25.4}


def plot(
    model: Result | None, data: Any = None, path: str | os.PathLike[str] | None = None, *,
    ax: Axes | None = None, panels: str | Sequence[str] = (), size: str | None = None,
    font: float | None = None,
) -> Any:  # fmt: skip
    """Draw a model, data, or a model over its data: into a file, into axes of your own, or for a notebook.

    Parameters
    ----------
    model : Model or another result that draws itself, optional
    data : Trace, UtilizationCurve, Series or Measurements, optional
    path : str or path, optional
        Picture to write, whole or not at all; the ending is the format.
    ax : matplotlib Axes, optional
        Where one panel is drawn, the most important one unless `panels` names another; nothing is written.
    panels : str or sequence of str
        Parts of the picture, such as ``"curves,errors"``, instead of all; the message about an unknown one lists them.
    size : str, optional
        Width, or width and height, such as ``3.4in``, ``8.5cm`` or ``3.4x2.5in``.
    font : float, optional
        Size of all text, points.

    Returns
    -------
    matplotlib Axes, or Drawing
        The axes that were drawn into; else the drawing, which a notebook shows.

    Raises
    ------
    OptionError
        Neither model nor data were given, or the ending, a panel or the size is not accepted.
    InputError
        A folder is not there, or a file cannot be written.

    Examples
    --------
    >>> import perfcore
    >>> curve = perfcore.UtilizationCurve([0, 4, 10], [2, 8])
    >>> plot(perfcore.fit(curve, phases=2, degree=0), curve, panels="model", size="3.4x2.3in")
    <Drawing of 3.4 x 2.3 in>
    """
    names = [name.strip() for name in panels.split(",")] if isinstance(panels, str) else list(panels)
    if ax is not None:
        if len(names) > 1:
            raise OptionError(f"{len(names)} panels for one place: give axes to each, or none")
        with drawing():
            before = texts_of(ax)
            for chosen in _chosen(model, data, names[:1] or [""]):
                draw_plot(chosen, ax)
            finish(ax, before)
        return ax
    check_files(path)
    extent = None if size is None else inches(size)
    with drawing(svg_hashsalt="perfcore"):  # the same picture gives the same bytes
        figure = _drawn(model, data, names, extent)
        _fit(figure, bool(names), extent, font)
        if path is not None and (ending := check_ending(path)) == ".html":
            write_bytes(path, _page(figure, model, data).encode())
        elif path is not None:
            with atomic_path(path) as temporary:
                _save(figure, temporary, ending)
    return Drawing(figure)


class Drawing:
    """A picture that a notebook shows."""

    def __init__(self, figure: Figure) -> None:
        self.figure = figure

    def __repr__(self) -> str:
        return "<Drawing of {:.3g} x {:.2g} in>".format(*self.figure.get_size_inches())

    def _repr_html_(self) -> str:
        from PIL import Image

        # A notebook keeps each picture that its cells show: 256 colours, of which none is off by more than 3 %, take a
        # quarter of the place. Where lines fill the picture it is less sharp.
        for sharpness in _SHARPNESS:
            true_colours, written = io.BytesIO(), io.BytesIO()
            with drawing():
                self.figure.savefig(true_colours, format="png", dpi=sharpness * _SCREEN)
            few_colours = Image.open(true_colours).convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE)
            few_colours.save(written, "PNG", optimize=True)
            if len(written.getvalue()) <= _MOST_BYTES:
                break
        width = round(_SCREEN * self.figure.get_figwidth())
        data = base64.b64encode(written.getvalue()).decode()
        return f'<img alt="picture" width="{width}" src="data:image/png;base64,{data}">'


def inches(size: str) -> tuple[float, float | None]:
    """Return width, and height where it is given, of a size such as ``3.4in`` or ``8.5x6cm``."""
    match = _SIZE.fullmatch(size.strip())
    if match is None:
        raise OptionError(f"size {size!r}: a width such as 3.4in, 8.5cm or 86mm, or 3.4x2.5in, is accepted")
    factor = _INCHES[match["unit"] or "in"]
    width, height = (
        None if part is None else round(float(part) * factor, 9) for part in match.group("width", "height")
    )
    for length in (width, height):
        if length is not None and not 0.5 <= length <= _WIDEST:
            raise OptionError(f"size {size!r}: half an inch to {_WIDEST:g} inches is accepted")
    return width or _WIDEST, height


def _drawn(model: Result | None, data: Any, panels: Sequence[str], extent: tuple[float, float | None] | None) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    if panels:
        chosen = _chosen(model, data, panels)
        width = _COLUMN if extent is None else extent[0]
        # Below each other in a column of a paper, next to each other across a page.
        rows, columns = (len(chosen), 1) if width <= _COLUMN else (1, len(chosen))
        figure.set_size_inches(width, _SHAPE * width * rows / columns)
        for axes, plot in zip(figure.subplots(rows, columns, squeeze=False).flat, chosen, strict=True):
            draw_plot(plot, axes)
    else:
        report = _report(model, data)
        # Over all plots the title, and what must be known to read them.
        notes = "; ".join(plot.note for plot in report.plots if plot.note)
        heading = "\n".join([shortened(report.title, 110), *textwrap.wrap(notes, 150)])
        draw_plots(figure, report.plots, "" if model is None else heading)
    finish(figure)
    return figure


def _fit(
    figure: Figure, has_chosen_panels: bool, extent: tuple[float, float | None] | None, font: float | None
) -> None:
    """Give a figure its size; without a height, it is as high as panels and texts need."""
    may_grow = extent is None or extent[1] is None
    is_sized = has_chosen_panels or extent is not None
    shapes = dict.fromkeys(figure.axes, _LEAST_SHAPE)
    if is_sized and not has_chosen_panels:
        shapes = panel_shapes(figure)
    if extent is not None:
        width, height = figure.get_size_inches()
        figure.set_size_inches(extent[0], extent[1] or extent[0] * height / width + _ROOM)
    if font is not None:
        set_text_size(figure, font)
    join_legends(figure, may_grow)
    if is_sized:
        break_long_lines(figure)
        if may_grow:
            set_height(figure, shapes)
        thin_out_ticks(figure)


def _chosen(model: Result | None, data: Any, names: Sequence[str]) -> list[Plot]:
    """Return the plots with some names; "" is that of the most important one."""
    plots = {plot.name: plot for plot in _report(model, data).plots}
    for name in names:
        if name and name not in plots:
            raise OptionError(f"there is no panel {name!r}; there are {', '.join(plots)}")
    first = next(iter(plots))
    return [plots[name or first] for name in dict.fromkeys(names)]


def _report(model: Result | None, data: Any) -> Report:
    """Return the report of a result, or else of data; raise if it has no plots."""
    if model is not None:
        report = model.report(data)
        if not report.plots:
            raise OptionError(f"{type(model).__name__} has no picture")
        return report
    if data is None:
        raise OptionError("there is nothing to draw: give a model or data")
    if not isinstance(data, Shown):
        raise DataError(f"{type(data).__name__} has no picture; fit a model and plot that")
    report = data.report()
    if not report.plots:
        problems = [note.text for note in report.notes if note.label == "Check"]
        raise DataError(next(iter(problems), f"{type(data).__name__} has no picture; fit a model and plot that"))
    return report


def _save(figure: Figure, target: Path | io.BytesIO, ending: str) -> None:
    """Write a drawing with the mark of perf; neither the date nor random names go into it."""
    name, date = {".svg": ("Creator", "Date"), ".pdf": ("Creator", "CreationDate")}.get(ending, ("Software", ""))
    facts = {name: WRITTEN_BY, **({date: None} if date else {})}
    if ending != ".svg":
        figure.savefig(target, format=ending[1:], dpi=150, metadata=facts)
        return
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata=facts)
    content = printable(text.getvalue(), keep="\n").encode()  # names may hold what no XML may
    _ = target.write(content) if isinstance(target, io.BytesIO) else target.write_bytes(content)


def _page(figure: Figure, model: Result | None, data: Any) -> str:
    title: str = (data.report() if model is None else model).title
    drawing = io.BytesIO()
    _save(figure, drawing, ".svg")
    svg = drawing.getvalue().decode()
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<meta name='generator' content='{WRITTEN_BY}'><title>{html.escape(title)}</title>",
        "<style>body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#222}",
        "svg{width:100%;height:auto}table{border-collapse:collapse;margin:1rem 0}",
        "th,td{padding:.2rem .8rem;text-align:right;border-bottom:1px solid #ddd;white-space:nowrap}",
        "pre{overflow-x:auto}</style></head><body>",
        f"<h1>{html.escape(title)}</h1>",
        svg[svg.index("<svg") :],
    ]
    if model is not None:
        report = model.report(data)
        parts += [f"<p>{html.escape(line)}</p>" for line in report.lines]
        parts += [html_table(table) for table in report.shown_tables]
        parts += [f"<p>{html.escape(line)}</p>" for line in report.closing()]
        if report.formula:
            parts.append(f"<h2>Formula</h2><pre>{html.escape(report.formula)}</pre>")
    parts.append("</body></html>\n")
    return "\n".join(parts)
