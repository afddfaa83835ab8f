"""``perf convert``: conversion."""

import pytest

import perfcore


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
def test_mistakes_write_nothing(refused, folder, words, message):
    before = sorted(folder.iterdir())
    assert message in refused("convert", *words)
    assert sorted(folder.iterdir()) == before
