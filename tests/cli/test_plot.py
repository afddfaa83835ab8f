"""``perf plot``: pictures of data and of models."""

import pytest


def test_data_and_models(perf, folder):
    perf("fit", "curve.csv", "--phases", "2", "--degree", "0", "-o", "model.json")
    assert perf("plot", "curve.csv").out == "picture: plot.png\n"
    perf("plot", "model.json", "-o", "model.svg")
    perf("plot", "model.json", "curve.csv", "-o", "both.html")
    assert (folder / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "model.svg").read_bytes().startswith(b"<?xml")
    assert "<table>" in (folder / "both.html").read_text()


def test_a_picture_that_exists_is_replaced(perf, folder):
    perf("plot", "curve.csv", "-o", "plot.png", status=(0,))
    before = (folder / "plot.png").stat().st_ino
    assert "perf: replaced plot.png\n" in perf("plot", "curve.csv", "-o", "plot.png", status=(0,)).err
    assert (folder / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "plot.png").stat().st_ino != before


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
