"""Blocks as HTML: escaped, reachable by keyboard, readable in every colour vision."""

import itertools
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from perf_explore.blocks import Writer, shade_style
from perf_explore.page import Frame, address
from perf_views import Action, Cell, Chart, Field, Form, Link, Notice, Table, Text, View
from perf_views.colours import contrast

ALL = (
    Text(("a < b",), "T", links=(Link("go", ("x",), {"q": "1 & 2"}),)),
    Text(("f(x)\n",), kind="formula"),
    Table(("", "R^2"), (("row", Cell("0.35", Link("", ("y",)), 0.35)),), "heat"),
    Chart(lambda figure: figure.add_subplot().plot([1, 2], label="<i>"), "a <line>", (Table(("x",), (("1",),)),)),
    Form(
        (
            Field("n", "phases", "3", "range", minimum="1", maximum="9", step="1"),
            Field("d", "degree", "1", "choice", ("0", "1"), help="of it"),
            Field("h", value='"', kind="hidden"),
            Field("m", "number", "0.5", "number"),
        ),
        ("x",),
    ),
    Action((Field("t", "formulas", "<1>\n", "lines"),), ("x",)),
    Notice("no", "error"),
)


class Checked(HTMLParser):
    """Collects what the tests ask about, and that every element is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen = [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))
        if tag not in ("meta", "link", "input", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def all(self, *tags):
        return [attributes for tag, attributes in self.seen if tag in tags]


@pytest.fixture(scope="module")
def page():
    return Frame("whole", "7", "before", (Link("whole", ()),)).view(
        View("one & two", ALL, ("p",), (Link("whole", ()),))
    )


def test_every_page_is_well_formed_and_escaped(page):
    found = Checked(page)
    assert "<i>" not in page
    assert "a &lt; b" in page
    assert "a &lt;line&gt;" in page
    assert [a["href"] for a in found.all("a")] == ["#main", "/", "/", "/p", "/x?q=1+%26+2", "/y"]
    names = [attributes["id"] for _, attributes in found.seen if "id" in attributes]
    assert len(names) == len(set(names))


def test_every_control_has_a_label_and_every_heading_cell_a_scope(page):
    found = Checked(page)
    labels = {a["for"] for a in found.all("label")}
    controls = [a for a in found.all("input", "select", "textarea") if a.get("type") != "hidden"]
    assert {a["id"] for a in controls} == labels
    assert all(a["scope"] in ("col", "row") for a in found.all("th"))
    assert found.all("svg")[0]["role"] == "img"
    assert found.all("svg")[0]["aria-label"] == "a <line>"
    assert all(a["aria-label"] for a in found.all("div") if a.get("tabindex") == "0")
    assert [each["aria-label"] for each in found.all("nav")] == ["Where you are", "Views"]


def test_actions_carry_the_version_and_forms_are_in_the_address(page):
    methods = [(a["action"], a["method"]) for a in Checked(page).all("form")]
    assert methods == [("/-/undo", "post"), ("/x", "get"), ("/x", "post")]
    assert page.count('name="_version" value="7"') == 2


def test_nothing_comes_from_elsewhere(page):
    assert not re.search(r'(src|href)="(https?:)?//', page)
    assert "@import" not in page
    assert "url(http" not in page


def test_a_report_has_no_forms_and_links_only_where_something_is():
    writer = Writer(lambda path, query: "#x" if path == ("x",) else None, is_live=False)
    text = "".join(map(writer.block, ALL))
    assert "<form" not in text
    assert [a["href"] for a in Checked(text).all("a")] == ["#x"]
    assert "0.35" in text


def test_two_drawings_on_a_page_do_not_share_names():
    """The browser would take the clip of the first for both."""
    chart = ALL[3]
    writer = Writer(address)
    names = [set(re.findall(r' id="([^"]*)"', writer.block(chart))) for _ in range(2)]
    assert names[0]
    assert not names[0] & names[1]


def test_shaded_text_can_be_read_and_brightness_rises():
    """WCAG 2.2, 1.4.3: at least 4.5 to 1; and order survives without colour."""
    styles = [re.findall("#[0-9a-f]{6}", shade_style(float(shade))) for shade in np.linspace(0.0, 1.0, 101)]
    assert min(contrast(*pair) for pair in styles) >= 4.5
    brightness = [contrast(background, "#000000") for background, _ in styles]
    assert all(b >= a for a, b in itertools.pairwise(brightness))
    assert shade_style(-3.0) == shade_style(0.0)


def test_what_stands_below_is_indented_outside_of_its_link():
    table = Table(("region",), ((Cell("main", Link("", ("m",))),), (Cell("solve", Link("", ("s",)), indent=2),)))
    written = Writer(address).block(table)
    assert '<th scope="row"><a href="/m">main</a></th>' in written
    assert '<th scope="row"><span style="padding-left:2em"></span><a href="/s">solve</a></th>' in written


@pytest.mark.parametrize(("share", "part"), [(0.375, "0.375"), (0.0, "0"), (1.2, "1")])
def test_a_bar_stands_beside_its_number(share, part):
    """Shares of medians may be a little above 1; a bar ends there."""
    written = Writer(address).block(Table(("", "share"), (("solve", Cell(f"{share:.1%}", bar=share)),)))
    assert f'<td class="n">{share:.1%}<span class="bar" style="--part:{part}"></span></td>' in written


def test_mounted_views_keep_the_state_above_them():
    view = View("v", ALL, ("p",), (Link("top", ()),)).mounted(("fit", "a"), {"o": "5", "n": "2"}, (Link("data", ()),))
    assert view.path == ("fit", "a", "p")
    assert [link.path for link in view.trail] == [(), ("fit", "a")]
    text, _, table, _, form, action, _ = view.blocks
    assert text.links[0] == Link("go", ("fit", "a", "x"), {"o": "5", "n": "2", "q": "1 & 2"})
    assert table.rows[0][1].link.path == ("fit", "a", "y")
    # A field of the form's own wins over a state of the same name.
    assert [(item.name, item.value) for item in form.fields if item.name in ("o", "n")] == [("o", "5"), ("n", "3")]
    assert [item.name for item in action.fields] == ["o", "n", "t"]
    rows = Table(("from",), ((Cell("0", Link("", (), {"from": "0"})),),))
    part = Chart(lambda figure: None, "c", (rows,))
    (chart,) = View("v", (part,)).mounted(("fit",), {"n": "2"}).blocks
    assert chart.tables[0].rows[0][0].link == Link("", ("fit",), {"n": "2", "from": "0"})


def test_rows_that_do_not_fit_the_header_are_refused():
    for row in (("1",), ("1", "2", "3")):
        with pytest.raises(ValueError, match=rf"table 'heat': row 2 has {len(row)} cells, and the header has 2"):
            Table(("a", "b"), (("1", "2"), row), "heat")


def test_headings_of_columns_may_lead_somewhere():
    table = Table(("", Cell("sync", Link("", ("sync",)))), (("over D", "0.66"),))
    text = Writer(address).block(View("v", (table,)).mounted(("fit",), {"n": "2"}).blocks[0])
    assert '<th scope="col" class="n"><a href="/fit/sync?n=2">sync</a></th>' in text


def test_names_of_thousands_of_letters_scroll_by_themselves():
    long = "x" * 5000
    for block in (Text((long,)), Notice(long), Table(("", long), ((long, long),))):
        text = Writer(address).block(block)
        assert text.count('<span class="tall" tabindex="0">') == text.count(long)
        Checked(text)


def test_labels_are_shortened_and_told_apart():
    """Instances of one template differ in the middle, which is what is left out of a long name."""
    names = [f"{'void f<' * 40}{k}{'>()' * 40}" for k in range(3)] + ["wait"]
    text = Writer(address).block(Form(tuple(Field(name, name, kind="choice") for name in names), ()))
    shown = re.findall(r"<label [^>]*>([^<]*)</label>", text)
    assert len(set(shown)) == 4
    long = "x" * 5000
    one = Writer(address).block(Form((Field("s", long), Field("t", "wait")), ()))
    assert f'title="{long}"' in one
    assert [len(label) for label in re.findall(r"<label [^>]*>([^<]*)</label>", one)] == [120, 4]


def test_lines_of_a_cell_stay_lines():
    text = Writer(address).block(Table(("class", "states"), (("computing", "run<a, b>\nf"),)))
    assert "run&lt;a, b&gt;<br>f" in text
    many = "\n".join(map(str, range(40)))
    assert 'class="tall" tabindex="0"' in Writer(address).block(Table(("", "x"), (("a", many),)))


def test_texts_of_a_table_break_where_it_needs_room_and_numbers_do_not():
    law = "1.545e-07*n^2.02*m^0.965 + 3"
    rows = (("a", "22.7 ms .. 348.5 ms", law), ("b", "1.08 s -> 1.2 s", "constant"))
    written = Writer(address).block(Table(("path", "between", "law"), rows))
    assert '<td class="n">22.7 ms .. 348.5 ms</td>' in written
    assert '<td class="text"><span class="whole">1.545e-07</span>*n^2.02*m^0.965 + 3</td>' in written
    assert "<td >constant</td>" in written.replace("<td>", "<td >")


@pytest.mark.parametrize(("height", "is_upright"), [(4.5, False), (12.8, True)])
def test_a_drawing_of_many_panels_is_not_squeezed_into_a_window(height, is_upright):
    chart = Chart(lambda figure: figure.add_subplot().plot([1, 2]), "c", (), size=(10.0, height))
    assert ('<figure class="upright"' in Writer(address).block(chart)) == is_upright


def test_only_verdicts_have_their_sign_before_a_line():
    written = Writer(address).block(Text(("failed: a slower", "noisy: no")))
    assert '<span class="status careful">failed</span>: a slower' in written
    assert "<p>noisy: no</p>" in written
