"""Blocks of a view as HTML, for the page and for the report alike."""

from __future__ import annotations

import functools
import io
import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import resources
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from perf_views.colours import CLASS_COLOURS, ON_DARK, PAGE, STATUS, STEPS, pale, size_colour, text_on
from perf_views.contents import (
    Action,
    Block,
    Cell,
    Chart,
    Field,
    Form,
    Headline,
    KeyFigures,
    Link,
    Live,
    Notice,
    Query,
    Table,
    Text,
    View,
    ViewPath,
)
from perf_views.names import shortened_apart

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@functools.cache
def colour_sheet() -> str:
    """The colours of a page as properties that style sheets and scripts read, in light and dark, and those of drawings.

    A drawing names its colours in the styles of its parts; on a dark page those of `ON_DARK` are replaced there.
    """
    light = {name: colours[0] for name, colours in PAGE.items()}
    dark = {name: colours[1] for name, colours in PAGE.items()}
    for name, colour in CLASS_COLOURS.items():
        light[_class_property(name)], dark[_class_property(name)] = colour, ON_DARK.get(colour, colour)
    replaced = "\n".join(
        f'[style*="{part}: {colour}"] {{ {part}: {other} !important; }}'
        for colour, other in ON_DARK.items()
        for part in ("fill", "stroke")
    )
    return (
        f":root {{ color-scheme: light; {_properties(light)} }}\n@media screen and (prefers-color-scheme: dark) {{\n"
        f":root {{ color-scheme: dark; {_properties(dark)} }}\n{replaced}\n}}\n"
    )


def class_colour(name: str) -> str:
    """The colour of a class of states as a page names it."""
    return f"var(--{_class_property(name)})"


def _class_property(name: str) -> str:
    return f"class-{name.replace('_', '-')}"


def _properties(colours: dict[str, str]) -> str:
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


@functools.lru_cache(maxsize=1024)
def shade_style(shade: float) -> str:
    """Background and text colour of a size; of the two text colours the one that contrasts more."""
    return _style(size_colour(shade))


def step_style(step: int, *, is_sure: bool) -> str:
    """Background and text colour of a class of growth; pale, with stripes of the colour, where it is not sure."""
    if is_sure:
        return _style(STEPS[step])
    light = pale(STEPS[step])
    # The plain colour below the stripes is what a reader without pictures has, and what contrast is measured against.
    stripes = f"repeating-linear-gradient(135deg,{light} 0 5px,{pale(light)} 5px 8px)"
    return f"background:{light} {stripes};color:{text_on(light)}"


def _style(background: str) -> str:
    return f"background:{background};color:{text_on(background)}"


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


def chart_svg(chart: Chart, name: str) -> str:
    """An ``<svg>`` element that is as wide as its place; the same chart gives the same text."""
    import html

    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    from perf_views.style import drawing, finish

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


def _is_empty(figure: Figure) -> bool:
    """Whether nothing but frames was drawn: no line with a point, no area, no image, no word."""
    return not figure.texts and not any(
        axes.texts or axes.patches or axes.images or axes.collections or np.isfinite(axes.dataLim.get_points()).all()
        for axes in figure.axes
    )


def _thin(figure: Figure) -> None:
    """Leave out corners of long areas that look like a straight edge; of lines matplotlib does so itself."""
    from matplotlib.collections import PolyCollection

    for area in figure.findobj(PolyCollection):
        paths, placed = area.get_paths(), area.get_transform()
        if max((len(np.asarray(path.vertices)) for path in paths), default=0) > _MANY:
            thin = [path.cleaned(placed, simplify=True) for path in paths]
            drawn = [np.isin(np.asarray(path.codes), (path.MOVETO, path.LINETO)) for path in thin]
            corners = [np.asarray(path.vertices)[mask] for path, mask in zip(thin, drawn, strict=True)]
            area.set_verts([placed.inverted().transform(corner) for corner in corners])


FEED = "/-/feed"  # begins the addresses that scripts ask at; the rest is the place of a view

# What stands to the right in a table: numbers, also with a unit or per cent, bounds, an error or what became of them.
_AMOUNT = re.compile(r"[-+]?[0-9][0-9.,]*(e[-+]?[0-9]+)?( ?(%|[a-zµ]{1,3}))?( (±|\+-|\.\.|->) .*)?|-|nan|inf|")
_SMALL_NUMBER = re.compile(r"[0-9.]+e-[0-9]+")  # lines break after a hyphen
# Where a table says how something turned out, and a line that begins with a verdict.
_STATUS_COLUMNS = frozenset({"verdict", "outcome", "state", ""})
_STATUS_LINE = re.compile(r"(PASS|FAIL|INCONCLUSIVE)(?= )")
_EXTENT = re.compile(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)"')
_UPRIGHT = 0.7  # height by width
_MOST_IN_ROW = 3
_SHORT = 20  # letters of a cell that always stands in one line
_LONG = 60  # letters of a cell that has a place as wide as a paragraph, and of a label that its field stands below
_LONGEST_LABEL = 120  # letters; a line of the page has about as many
_MOST_LINES = 12  # of a cell
_FARTHEST = 60  # steps to the right; recursions are deeper, and their names are to stay within reach
_TALL = 1000  # letters of a text that scrolls alone, such as the names of a thousand states


@dataclass
class Writer:
    """Writes blocks."""

    address: Callable[[ViewPath, Query], str | None]  # where a view in a state is
    is_live: bool = True  # whether forms and actions can be sent
    hidden: Mapping[str, str] = field(default_factory=dict)
    name: str = "b"  # begins the names of everything that needs one within the document
    level: int = 2  # of the headings of blocks

    def __post_init__(self) -> None:
        self._numbers = count(1)

    def view(self, view: View) -> str:
        """All blocks of a view: what must not be overlooked, key figures, the first chart, the rest, and long forms."""
        return "\n".join(filter(None, map(self.block, _in_order(view.blocks))))

    def block(self, block: Block) -> str:
        """One block as a section; empty where it cannot be used."""
        if isinstance(block, (Form, Action)) and not self.is_live:
            return ""
        if isinstance(block, Headline):
            return f'<p class="headline">{_with_status(block.text)}</p>'
        if isinstance(block, KeyFigures):
            return self._key_figures(block)
        if isinstance(block, Notice):
            role = "alert" if block.kind == "error" else "note"
            return f'<p class="notice {block.kind}" role="{role}">{_scrolling(escape(block.text), block.text)}</p>'
        title = f"<h{self.level}>{escape(block.title)}</h{self.level}>" if block.title else ""
        if isinstance(block, (Form, Table)) and block.is_folded:
            inside = self._form(block) if isinstance(block, Form) else self._table(block)
            return f"<details><summary>{escape(block.title)}</summary><section>{inside}</section></details>"
        if isinstance(block, Text):
            inside = self._text(block)
        elif isinstance(block, Table):
            inside = self._table(block)
        elif isinstance(block, Chart):
            inside = self._chart(block)
        else:
            inside = self._form(block)
        return f"<section>{title}{inside}</section>"

    def link(self, link: Link, text: str | None = None) -> str:
        """A link, or its text where the view cannot be reached."""
        label = escape(link.text if text is None else text)
        address = self.address(link.path, link.query)
        return label if address is None else f'<a href="{escape(address)}">{label}</a>'

    def _text(self, block: Text) -> str:
        if block.kind == "formula":
            parts = [f'<pre tabindex="0">{escape(chr(10).join(block.lines))}</pre>'] if block.lines else []
        else:
            parts = [f"<p>{_scrolling(_with_status(line), line)}</p>" for line in block.lines]
        links = [link for link in block.links if self.address(link.path, link.query) is not None]
        if links:
            parts.append(f'<p class="links">{" ".join(map(self.link, links))}</p>')
        return "".join(parts)

    def _key_figures(self, block: KeyFigures) -> str:
        tiles = "".join(
            f"<div><dt>{escape(each.name)}</dt><dd>{_scrolling(escape(each.text), each.text)}</dd></div>"
            for each in block.figures
        )
        return f'<dl class="tiles">{tiles}</dl>'

    def _table(self, table: Table) -> str:
        numeric = [
            all(_AMOUNT.fullmatch(cell if isinstance(cell, str) else cell.text) for cell in column)
            for column in zip(*table.rows, strict=True)
        ] or [False] * len(table.header)
        texts = [cell if isinstance(cell, str) else cell.text for cell in table.header]
        head = "".join(
            self._cell(cell, "th", f'scope="col"{_tooltip(text)}', right)
            for cell, text, right in zip(table.header, texts, numeric, strict=True)
        )
        status = [column > 0 and text in _STATUS_COLUMNS for column, text in enumerate(texts)]
        rows = "".join(f"<tr>{self._row(row, numeric, status)}</tr>" for row in table.rows)
        note = f'<p class="hint">{escape(table.note)}</p>' if table.note else ""
        # Wide tables scroll by themselves, also by keyboard.
        label = escape(table.title or "table")
        return (
            f'<div class="wide" tabindex="0" role="region" aria-label="{label}">'
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{note}"
        )

    def _row(self, row: tuple[Cell | str, ...], numeric: list[bool], status: list[bool]) -> str:
        heading = ("th", 'scope="row"')
        return "".join(
            self._cell(cell, *(heading if column == 0 else ("td", "")), right, is_status)
            for column, (cell, right, is_status) in enumerate(zip(row, numeric, status, strict=True))
        )

    def _cell(self, content: Cell | str, tag: str, scope: str, right: bool, is_status: bool = False) -> str:
        cell = Cell(content) if isinstance(content, str) else content
        inside = escape(cell.text) if cell.link is None else self.link(cell.link, cell.text)
        inside = _scrolling(inside.replace("\n", "<br>"), cell.text)
        if not cell.link and len(cell.text) > _SHORT:
            inside = _SMALL_NUMBER.sub(r'<span class="whole">\g<0></span>', inside)
        if is_status and cell.link is None and cell.text in STATUS:
            inside = _status(cell.text)
        if cell.indent:
            # Before the link, so that only its text is underlined.
            inside = f'<span style="padding-left:{min(cell.indent, _FARTHEST)}em"></span>{inside}'
        if cell.bar is not None:
            inside += f'<span class="bar" style="--part:{min(max(cell.bar, 0.0), 1.0):.4g}"></span>'
        kind = 'class="n"' if right else _kind_of(cell.text)
        style = "" if cell.shade is None else f'style="{shade_style(cell.shade)}"'
        if cell.step is not None:
            style = f'style="{step_style(cell.step, is_sure=cell.is_sure)}"'
        opening = " ".join(filter(None, (tag, scope, kind, style)))
        return f"<{opening}>{inside}</{tag}>"

    def _live(self, chart: Chart, live: Live) -> str:
        """A place for a script to draw in, and the same as a picture for who has none."""
        feed, place = (self.address((*live.path, *more), {}) or "" for more in (("",), ()))
        picture = self.address((*live.path, "picture"), live.query) or ""
        links = "".join(f"{self.link(link)} " for link in live.links)
        settings = json.dumps({**live.settings, "feed": FEED + feed, "place": place, "label": chart.alternative})
        return (
            f'<div class="live" data-kind="{escape(live.kind)}" data-settings="{escape(settings)}"></div>'
            f'<noscript><figure><img src="{escape(FEED + picture)}" alt="{escape(chart.alternative)}"></figure>'
            f'<p class="links">{links}</p></noscript>'
        )

    def _chart(self, chart: Chart) -> str:
        if chart.live is not None and self.is_live:
            return self._live(chart, chart.live)
        drawing = chart_svg(chart, f"{self.name}{next(self._numbers)}")
        extent = _EXTENT.search(drawing)
        # One so high that its texts would become small where it is fitted into a window.
        is_upright = extent is not None and float(extent[2]) > _UPRIGHT * float(extent[1])
        kind = ' class="upright"' if is_upright else ""
        tables = "".join(
            (f"<p>{escape(table.title)}</p>" if table.title else "") + self._table(table) for table in chart.tables
        )
        if tables:
            tables = f"<details><summary>Data</summary>{tables}</details>"
        return f'<div class="scrolled"><figure{kind}>{drawing}</figure></div>{tables}'

    def _form(self, block: Form | Action) -> str:
        labels = shortened_apart([item.label for item in block.fields], _LONGEST_LABEL)
        fields = "".join(map(self._field, block.fields, labels))
        address = escape(self.address(block.path, {}) or "")
        row = ' class="row"' if _is_row(block) else ""
        if isinstance(block, Action):
            extra = "".join(_hidden(name, value) for name, value in self.hidden.items())
            opening = f'<form method="post" action="{address}"{row}>{extra}'
        else:
            # A slider that is moved shows the new state at once where scripts run; the button does so everywhere.
            live = " data-live" if any(item.kind == "range" for item in block.fields) else ""
            opening = f'<form method="get" action="{address}"{row}{live}>'
        return f"{opening}{fields}<p><button>{escape(block.submit)}</button></p></form>"

    def _field(self, item: Field, label: str) -> str:
        if item.kind == "hidden":
            return _hidden(item.name, item.value)
        name = f"{self.name}{next(self._numbers)}-{item.name}"
        common = f'id="{escape(name)}" name="{escape(item.name)}"'
        limits = "".join(
            f' {attribute}="{escape(value)}"'
            for attribute, value in (("min", item.minimum), ("max", item.maximum), ("step", item.step))
            if value
        )
        help_name = f"{escape(name)}-help"
        described = f' aria-describedby="{help_name}"' if item.help else ""
        value = escape(item.value)
        if item.kind == "choice":
            options = "".join(
                f"<option{' selected' if choice == item.value else ''}>{escape(choice)}</option>"
                for choice in item.choices
            )
            control = f"<select {common}{described}>{options}</select>"
        elif item.kind == "lines":
            rows = min(max(item.value.count("\n") + 2, 4), 24)
            control = f'<textarea {common}{described} rows="{rows}" spellcheck="false">\n{value}</textarea>'
        elif item.kind == "range":
            control = (
                f'<input type="range" {common}{described} value="{value}"{limits}>'
                f'<output for="{escape(name)}">{value}</output>'
            )
        else:
            kind = "text" if item.kind == "text" else 'number" inputmode="decimal'
            step = "" if item.step or item.kind == "text" else ' step="any"'
            control = f'<input type="{kind}" {common}{described} value="{value}"{limits}{step}>'
        hint = f'<span class="hint" id="{help_name}">{escape(item.help)}</span>' if item.help else ""
        full = "" if label == item.label else f' title="{escape(item.label)}"'
        kind = "field below" if len(label) > _LONG else "field"
        return f'<p class="{kind}"><label for="{escape(name)}"{full}>{escape(label)}</label> {control} {hint}</p>'


def _in_order(blocks: Sequence[Block]) -> list[Block]:
    """Charts first and forms after, as far as these are more than one row; else the order that the view gives."""
    first_chart = next((block for block in blocks if isinstance(block, Chart)), None)

    def rank(block: Block) -> int:
        first = (Headline, Notice, KeyFigures)
        if isinstance(block, first):
            return first.index(type(block))
        if block is first_chart:
            return 3
        return 5 if isinstance(block, Action) or (isinstance(block, Form) and not _is_row(block)) else 4

    return sorted(blocks, key=rank)


@functools.cache
def _glossary() -> dict[str, str]:
    """Definitions of terms and headings, by name; those of headings come last."""
    text = resources.files("perf_views").joinpath("glossary.md").read_text(encoding="utf-8")
    entries = re.findall(r"^(.+)\n: (.+)$", text, re.MULTILINE)
    return {name: meaning for names, meaning in entries for name in names.split(", ")}


def definition(heading: str) -> str:
    """The glossary's definition of a heading without its unit, or of the words that it begins or ends with."""
    words = re.sub(r" ?\[.*\]$", "", heading).split(" ")
    parts = [" ".join(part) for n in range(len(words), 0, -1) for part in (words[:n], words[-n:])]
    return next((_glossary()[part] for part in parts if part in _glossary()), "")


def _tooltip(heading: str) -> str:
    meaning = definition(heading)
    return f' title="{escape(meaning)}"' if meaning else ""


def _is_row(form: Form | Action) -> bool:
    """Whether it has a few fields without explanations, which stand in one row."""
    visible = [item for item in form.fields if item.kind != "hidden"]
    return len(visible) <= _MOST_IN_ROW and not any(item.help or item.kind == "lines" for item in visible)


def _scrolling(inside: str, text: str) -> str:
    """A very long text in a box that scrolls also by keyboard."""
    is_tall = len(text) > _TALL or text.count("\n") > _MOST_LINES
    return f'<span class="tall" tabindex="0">{inside}</span>' if is_tall else inside


def _status(word: str) -> str:
    """A word for an outcome, with its sign and colour."""
    return f'<span class="status {STATUS[word]}">{escape(word)}</span>'


def _with_status(line: str) -> str:
    """A line of text; where it begins with such a word, with its sign."""
    match = _STATUS_LINE.match(line)
    return escape(line) if match is None else _status(match[0]) + escape(line[match.end() :])


def _kind_of(text: str) -> str:
    """How the text of a cell is broken into lines: a short one not at all, a longer one where the table needs room."""
    if len(text) > _LONG:
        return 'class="long"'
    return 'class="text"' if len(text) > _SHORT else ""


def _hidden(name: str, value: str) -> str:
    return f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'
