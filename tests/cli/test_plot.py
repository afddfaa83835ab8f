"""``perf plot``: pictures of data and of models."""

import base64
import hashlib
import re

import pytest

import perfcore


def test_data_and_models(perf, folder):
    perf("fit", "curve.csv", "--phases", "2", "--degree", "0", "-o", "model.json")
    assert perf("plot", "curve.csv").out == "picture: plot.png\n"
    perf("plot", "model.json", "-o", "model.svg")
    perf("plot", "model.json", "curve.csv", "-o", "both.html")
    assert (folder / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "model.svg").read_bytes().startswith(b"<?xml")
    assert "<table>" in (folder / "both.html").read_text()


def test_a_file_that_exists_is_replaced_only_when_told(perf, refused, folder):
    (folder / "plot.png").write_text("mine")
    assert refused("plot", "curve.csv") == "plot.png: exists; --overwrite replaces it"
    assert (folder / "plot.png").read_text() == "mine"
    perf("plot", "curve.csv", "--overwrite")
    assert (folder / "plot.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["curve.csv", "-o", "x.gif"], "cannot draw 'x.gif': the ending must be one of"),
        (["curve.csv", "curve.csv"], "the first of two files must be a model"),
        (["curve.csv", "-o", "no/x.png"], "there is no folder 'no'"),
        (["curve.csv", "--format", "xyz"], "cannot draw 'plot.xyz': the ending must be one of"),
        (["curve.csv", "--panels", "nosuch"], "there is no panel 'nosuch'; there are data"),
        (["curve.csv", "--size", "0in"], "size '0in': half an inch to 60 inches is accepted"),
        (["curve.csv", "--size", "3.4em"], "size '3.4em': a width such as 3.4in"),
        (["curve.csv", "--font", "500"], "no room for its panels; choose some, a larger size or smaller text"),
        (["curve.csv", "--font", "0"], "Invalid value for '--font'"),
        (["none.json"], "none.json: there is no such file"),
        (["none.csv"], "none.csv: there is no such file"),
        ([], "Missing argument 'SUBJECT'"),
    ],
)
def test_mistakes_write_nothing(refused, folder, words, message):
    before = sorted(folder.iterdir())
    assert message in refused("plot", *words)
    assert sorted(folder.iterdir()) == before


# ``perf explore``: one file, whole or not at all.
def test_data_and_models_in_one_file(perf, folder):
    perf("fit", "curve.csv", "--phases", "2", "--degree", "0", "-o", "model.json")
    said = perf("explore", "trace.csv", "model.json", "curve.csv", "-o", "both.html").out
    assert re.fullmatch(r"report: both\.html \(0\.\d+ MB\)\n", said)
    text = (folder / "both.html").read_text()
    assert "<h1>2 subjects</h1>" in text
    assert "2 phases of curve.csv" in text
    assert text.count("<svg") >= 4
    for script in re.findall("<script>(.*?)</script>", text, re.DOTALL):
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"sha256-{digest}" in text[: text.index("<title>")]  # the policy lets these run, and nothing else
    assert not re.search(r'(src|href)="(https?:)?//', text)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["curve.csv", "-o", "x.pdf"], "cannot write 'x.pdf': the ending must be .html"),
        (["curve.csv", "-o", "no/x.html"], "there is no folder 'no'"),
        (["none.csv", "-o", "x.html"], "none.csv: there is no such file"),
        (["curve.csv", "-o", "x.html", "--port", "8000"], "--port and --no-browser are of the page"),
        (["curve.csv", "--views", "2"], "--views and --overwrite belong to -o FILE"),
        ([], "Missing argument 'FILES...'"),
    ],
)
def test_mistakes_write_nothing_of_report(refused, folder, words, message):
    before = sorted(folder.iterdir())
    assert message in refused("explore", *words)
    assert sorted(folder.iterdir()) == before


# ``perf convert``: conversion.
@pytest.mark.usefixtures("folder")
def test_a_trace_keeps_its_intervals(perf):
    assert perf("convert", "trace.csv", "-o", "trace.parquet").out.startswith("trace.parquet: ")
    one, two = perfcore.read("trace.csv"), perfcore.read("trace.parquet")
    assert one.start_ns.tolist() == two.start_ns.tolist()
    assert one.end_ns.tolist() == two.end_ns.tolist()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["curve.csv", "-o", "x.docx"], "cannot write 'x.docx': the ending must be one of .json, .csv"),
        (["none.csv", "-o", "x.docx"], "cannot write 'x.docx'"),  # said before the data are read
        (["none.csv", "-o", "x.csv"], "none.csv: there is no such file"),
        (["curve.csv", "--curve", "-o", "x.csv"], "--curve belongs to traces"),
        (["curve.csv"], "Missing option '--output'"),
    ],
)
def test_mistakes_write_nothing_of_read(refused, folder, words, message):
    before = sorted(folder.iterdir())
    assert message in refused("convert", *words)
    assert sorted(folder.iterdir()) == before
