"""Blocks of a view as HTML, for the page and for the report alike."""

from __future__ import annotations

import functools
import html
import io
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from itertools import count
from typing import TYPE_CHECKING, Any

from perf_views import contents as page
from perf_views.colours import CLASS_COLOURS, ON_DARK, PAGE, STATUS, STEPS, pale, size_colour, text_on
from perf_views.names import shortened_apart
from perfcore.base.errors import MissingDependencyError
from perfcore.report import Plot
from perfcore.tables import is_numeric, printable

if TYPE_CHECKING:
    from jinja2 import Environment


_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
# The style sheet that matplotlib puts in would hold for the whole page; line joins are set on the drawing instead.
_STYLE = re.compile(r"<style[^>]*>.*?</style>", re.DOTALL)
_SIZE = re.compile(r'(<svg[^>]*?) width="[^"]*"')
_HEIGHT = re.compile(r'(<svg[^>]*?) height="[^"]*"')
# A point of a drawing is 1/72 inch: beyond its hundredth nothing is seen, also on a screen of many dots and zoomed in.
_COORDINATES = re.compile(r'(<path [^>]*?\bd=")([^"]+)')
_DIGITS = re.compile(r"(\.[0-9]{2})[0-9]+")
FEED = "/-/feed"  # begins the addresses that scripts ask at; the rest is the place of a view
_WHOLE = re.compile(r"([0-9.]+e-[0-9]+|--[a-z][a-z-]*)")  # small numbers and options: lines break after a hyphen
_STATUS_LINE = re.compile(r"(PASS|FAIL|INCONCLUSIVE)(?= )")
_EXTENT = re.compile(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)"')
_UPRIGHT = 0.7  # height by width
_MOST_IN_ROW = 3
_LONGEST_LABEL = 120  # letters; a line of the page has about as many


@functools.cache
def colour_sheet() -> str:
    """Return the colours of a page and of drawings as properties of style sheets, in light and dark."""
    pairs = {**PAGE, **{f"class-{name}": (each, ON_DARK.get(each, each)) for name, each in CLASS_COLOURS.items()}}
    light, dark = (" ".join(f"--{name}: {pair[k]};" for name, pair in pairs.items()) for k in (0, 1))
    replaced = "\n".join(
        f'[style*="{part}: {colour}"] {{ {part}: {other} !important; }}'
        for colour, other in ON_DARK.items()
        for part in ("fill", "stroke")
    )
    return (
        f":root {{ color-scheme: light; {light} }}\n@media screen and (prefers-color-scheme: dark) {{\n"
        f":root {{ color-scheme: dark; {dark} }}\n{replaced}\n}}\n"
    )


@functools.lru_cache(maxsize=1024)
def shade_style(shade: float) -> str:
    """Return background and text colour of a size; of the two text colours the one that contrasts more."""
    background = size_colour(shade)
    return f"background:{background};color:{text_on(background)}"


# Settings of matplotlib belong to the whole process; only one drawing at a time may change them.
_lock = threading.Lock()


def chart_svg(chart: page.Chart, name: str) -> str:
    """Return an ``<svg>`` element that is as wide as its place; the same chart gives the same text."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    from perf_views.style import drawing, finish

    written = io.StringIO()
    with _lock, drawing(svg_hashsalt=f"perfcore {name}", svg_fonttype="none"):
        figure = Figure(figsize=chart.size, layout="constrained")
        FigureCanvasSVG(figure)
        chart.draw(figure)
        finish(figure)
        figure.savefig(written, format="svg", metadata={"Date": None})
    text = written.getvalue()
    text = _STYLE.sub("", _METADATA.sub("", text[text.index("<svg") :]))
    # Splitting keeps what the group holds and drops the digits after it; a substitution takes six times as long.
    text = _COORDINATES.sub(lambda match: match[1] + "".join(_DIGITS.split(match[2])), text)
    text = _HEIGHT.sub(r"\1", _SIZE.sub(r"\1", text, count=1), count=1)
    label = html.escape(chart.alternative)
    opening = f'<svg role="img" aria-label="{label}" stroke-linejoin="round" stroke-linecap="butt"'
    # Names that matplotlib gives, such as axes_1, occur in every drawing.
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    return opening + text[len("<svg") :]


@functools.cache
def templates() -> Environment:
    """Return the templates of pages; every text that they are given is escaped."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise MissingDependencyError("pages need Jinja2 and Bokeh: pip install 'perfcore[view]'") from None
    environment = Environment(
        loader=PackageLoader("perf_explore"), autoescape=True, undefined=StrictUndefined, keep_trailing_newline=False,
        finalize=lambda value: printable(value, keep="\n\t") if type(value) is str else value,
    )  # fmt: skip
    environment.globals |= {
        "definition": definition, "is_row": _is_row, "shortened_apart": shortened_apart,
        "longest_label": _LONGEST_LABEL, "feed": FEED, "statuses": STATUS,
    }  # fmt: skip
    return environment


def script_data(content: Any) -> str:
    """JSON within an element ``<script>``, whatever its texts hold."""
    return json.dumps(content).replace("<", "\\u003c")


@dataclass
class Writer:
    """Writes blocks by the template ``blocks.html``, which asks for everything here."""

    address: Callable[[page.ViewPath, page.Query], str | None]  # where a view in a state is
    is_live: bool = True  # whether forms and actions can be sent
    hidden: Mapping[str, str] = field(default_factory=dict)
    name: str = "b"  # begins the names of everything that needs one within the document
    level: int = 2  # of the headings of blocks
    draws_static: bool = False  # charts as drawings, for notebooks, which keep all that their cells show
    keep: Callable[[Plot], str] | None = None  # the address at which finer parts of a plot are asked for
    has_charts: bool = False  # whether a chart was written that needs BokehJS
    numbers: Iterator[int] = field(default_factory=lambda: count(1))  # of what needs a name

    def view(self, view: page.View) -> str:
        """All blocks of a view: what must not be overlooked, key figures, the first chart, the rest, and long forms."""
        return self.blocks(_in_order(view.blocks))

    def blocks(self, blocks: Sequence[page.Block]) -> str:
        """Return blocks as sections; those that cannot be used are left out."""
        return templates().get_template("blocks.html").render(blocks=blocks, w=self)

    # What the template asks for

    @staticmethod
    def cell(content: page.Cell | str) -> page.Cell:
        return page.Cell(content) if isinstance(content, str) else content

    def next_name(self) -> str:
        return f"{self.name}{next(self.numbers)}"

    @staticmethod
    def verdict(line: str) -> tuple[str, str]:
        """Return the verdict that a line begins with, and the rest."""
        match = _STATUS_LINE.match(line)
        return ("", line) if match is None else (match[0], line[match.end() :])

    @staticmethod
    def unbroken(text: str) -> list[tuple[str, bool]]:
        """Return parts of a text, and whether each may not be broken."""
        return [(part, at % 2 == 1) for at, part in enumerate(_WHOLE.split(text)) if part]

    def amounts(self, table: page.Table) -> list[bool]:
        """Return whether each column has numbers only, and so stands to the right."""
        columns = [[self.cell(cell).text for cell in column] for column in zip(*table.rows, strict=True)]
        return [is_numeric(column) for column in columns or [[]] * len(table.header)]

    @staticmethod
    def style(cell: page.Cell) -> str:
        """Return background and text colour of a cell; of an uncertain class of growth pale, with stripes."""
        if cell.step is None:
            return "" if cell.shade is None else shade_style(cell.shade)
        colour, stripes = STEPS[cell.step], ""
        if not cell.is_sure:
            # The plain colour below the stripes is what a reader without pictures has: contrast is measured against it.
            colour = pale(colour)
            stripes = f" repeating-linear-gradient(135deg,{colour} 0 5px,{pale(colour)} 5px 8px)"
        return f"background:{colour}{stripes};color:{text_on(colour)}"

    def live_settings(self, chart: page.Chart) -> str:
        """Return what a script needs that draws in place of a chart."""
        assert chart.live is not None
        feed, place = (self.address((*chart.live.path, *more), {}) or "" for more in (("",), ()))
        return json.dumps({**chart.live.settings, "feed": FEED + feed, "place": place, "label": chart.alternative})

    def svg(self, block: page.Chart | page.Graph) -> str:
        """Return a chart or a declared plot as a drawing."""
        if isinstance(block, page.Graph):
            from perf_views.marks import draw_plot

            plot = block.plot
            block = page.Chart(
                lambda figure: draw_plot(plot, figure.add_subplot()), plot.title or plot.name,
                size=(10.0, plot.height or 4.0),
            )  # fmt: skip
        return chart_svg(block, self.next_name())

    @staticmethod
    def is_upright(drawing: str) -> bool:
        """Return whether a drawing is so high that its texts would become small if it were fitted into a window."""
        extent = _EXTENT.search(drawing)
        return extent is not None and float(extent[2]) > _UPRIGHT * float(extent[1])

    def content(self, plot: Plot) -> str:
        """Return what the script draws a chart from."""
        from perf_views.bokeh_marks import chart_content

        self.has_charts = True
        return script_data(chart_content(plot))

    def feed(self, graph: page.Graph) -> str:
        """Return where finer parts of a long chart are asked for; empty if there are none."""
        from perf_views.marks import is_long

        return self.keep(graph.plot) if self.keep is not None and is_long(graph.plot) else ""


def _in_order(blocks: Sequence[page.Block]) -> list[page.Block]:
    """Charts first and forms after, as far as these are more than one row; else the order that the view gives."""
    first_chart = next((block for block in blocks if isinstance(block, (page.Chart, page.Graph))), None)

    def rank(block: page.Block) -> int:
        first = (page.Headline, page.Notice, page.KeyFigures)
        if isinstance(block, first):
            return first.index(type(block))
        if isinstance(block, page.Form) and any(item.kind == "range" for item in block.fields):  # shown at once
            return 3
        if block is first_chart:
            return 4
        return 6 if isinstance(block, page.Action) or (isinstance(block, page.Form) and not _is_row(block)) else 5

    return sorted(blocks, key=rank)


@functools.cache
def _glossary() -> dict[str, str]:
    """Return definitions of terms and headings, by name; those of headings come last."""
    text = resources.files("perf_views").joinpath("glossary.md").read_text(encoding="utf-8")
    entries = re.findall(r"^(.+)\n: (.+)$", text, re.MULTILINE)
    return {name: meaning for names, meaning in entries for name in names.split(", ")}


def definition(heading: str) -> str:
    """Return the glossary's definition of a heading without its unit, or of the words that it begins or ends with."""
    words = re.sub(r" ?\[.*\]$", "", heading).split(" ")
    parts = [" ".join(part) for n in range(len(words), 0, -1) for part in (words[:n], words[-n:])]
    return next((_glossary()[part] for part in parts if part in _glossary()), "")


def _is_row(form: page.Form | page.Action) -> bool:
    """Return whether it has a few fields without explanations, which stand in one row."""
    visible = [item for item in form.fields if item.kind != "hidden"]
    return len(visible) <= _MOST_IN_ROW and not any(item.help or item.kind == "lines" for item in visible)
