"""``perf explore``: one file, whole or not at all."""

import base64
import hashlib
import re

import pytest


def test_data_and_models_in_one_file(perf, folder):
    perf("fit", "curve.csv", "--phases", "2", "--degree", "0", "-o", "model.json")
    said = perf("explore", "trace.csv", "model.json", "curve.csv", "-o", "both.html").out
    assert re.fullmatch(r"report: both\.html \([12]\.\d+ MB\)\n", said)
    text = (folder / "both.html").read_text()
    assert "<h1>2 subjects</h1>" in text
    assert "2 phases in curve.csv" in text
    assert text.count("<svg") + text.count('class="chart"') >= 4
    assert len(text) < 2.5e6
    for script in re.findall("<script>(.*?)</script>", text, re.DOTALL):
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"sha256-{digest}" in text[: text.index("<title>")]  # the policy lets these run, and nothing else
    assert "default-src &#39;none&#39;" in text  # nothing is fetched, whatever the scripts hold
    outside = re.sub("<script>.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search(r'(src|href)="(https?:)?//', outside)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["curve.csv", "-o", "x.pdf"], "cannot write 'x.pdf': the ending must be .html"),
        (["curve.csv", "-o", "no/x.html"], "there is no folder 'no'"),
        (["none.csv", "-o", "x.html"], "none.csv: there is no such file"),
        (["curve.csv", "-o", "x.html", "--port", "8000"], "--port and --no-browser are of the page"),
        (["curve.csv", "--views", "2"], "--views belongs to -o FILE"),
        ([], "Missing argument 'FILES'"),
    ],
)
def test_mistakes_write_nothing(refused, folder, words, message):
    before = sorted(folder.iterdir())
    assert message in refused("explore", *words)
    assert sorted(folder.iterdir()) == before
