"""The reader of load logs: what it accepts, and one line for what it does not."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from perfcore_ruptures.load_log import LoadLogReader
from perfcore_ruptures.options import LoadLogOptions

from perfcore.base.errors import InputError
from perfcore.reading.source import Source
from perfcore.testing import ReaderSuite

GOOD = "# loadlog 1\n# a comment\n1718000000 0.25\n1718000010 3.5\n\n1718000030 0\n"


class TestContract(ReaderSuite):
    """What perfcore asks of every reader."""

    reader = LoadLogReader
    samples = (("machine.load", GOOD),)


def read(path: Path, text: str, **options: float) -> object:
    path.write_text(text)
    with Source(path) as source:
        return LoadLogReader().read(source, LoadLogOptions(**options))


def test_samples_last_until_the_next_and_the_last_as_long_as_the_median(tmp_path):
    curve = read(tmp_path / "a.load", GOOD)
    # Widths 10 and 20, median 15.
    np.testing.assert_array_equal(curve.edges - 1718000000, [0, 10, 30, 45])
    np.testing.assert_array_equal(curve.heights, [0.25, 3.5, 0])
    assert curve.time_unit == "s"


def test_last_s_says_how_long_the_last_sample_lasts(tmp_path):
    curve = read(tmp_path / "a.load", "# loadlog 1\n5 2\n", last_s=7.0)
    assert (curve.start, curve.end) == (5.0, 12.0)


def test_gzip_is_transparent(tmp_path):
    path = tmp_path / "a.load.gz"
    path.write_bytes(gzip.compress(GOOD.encode()))
    with Source(path) as source:
        assert LoadLogReader().sniff(source) == 1.0
        assert LoadLogReader().read(source, LoadLogOptions()).n_steps == 3


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("# loadlog 2\n1 1\n", 1, "'# loadlog 2', expected '# loadlog 1'"),
        ("# loadlog 1\n1 1\n2\n", 3, "two numbers"),
        ("# loadlog 1\n1 1\n2 x\n", 3, "found '2 x'"),
        ("# loadlog 1\n2 1\n2 1\n", 3, "time 2.0 follows 2.0"),
        ("# loadlog 1\nnan 1\n", 2, "time nan"),
        ("# loadlog 1\n1 -1\n", 2, "load -1.0"),
        ("# loadlog 1\n1 inf\n", 2, "load inf"),
        ("# loadlog 1\n# nothing\n", None, "no samples"),
        ("# loadlog 1\n1 1\n", None, "last_s="),
    ],
)
def test_bad_input_is_refused_with_its_line(tmp_path, text, line, words):
    with pytest.raises(InputError, match=words.replace("(", r"\(")) as caught:
        read(tmp_path / "bad.load", text)
    assert caught.value.line == line
    assert "\n" not in str(caught.value)
