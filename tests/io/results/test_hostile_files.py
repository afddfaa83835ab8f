"""Files that are made to do harm end in one line, soon, and without filling the memory."""

import contextlib
import gzip
import time
import tracemalloc

import pytest
from format_samples import GOOGLE_BENCHMARK, IMB, NPB, OSU, REFRAME_REPORT

import perfcore
from perfcore.base.errors import PerfError

DOCUMENTS = (
    *("google-benchmark", "hyperfine", "pytest-benchmark", "reframe", "ramble", "sacct", "ior", "fio"),
    *("extrap-json", "talp"),
)
BLANKS = " " * 200_000


def refused(path, **options):
    with pytest.raises(PerfError) as error:
        perfcore.read(path, **options)
    assert len(str(error.value).splitlines()) == 1
    return str(error.value)


@pytest.mark.parametrize("reader", DOCUMENTS)
def test_deep_nesting(tmp_path, reader):
    for opening in (b"[", b'{"a":', b'{"benchmarks":[{"name":', b'{"jobs":[{"job options":', b'{"tests":['):
        path = tmp_path / "deep.json"
        path.write_bytes(opening * 200_000)
        assert "deep.json" in refused(path, reader=reader)


@pytest.mark.slow
@pytest.mark.parametrize("reader", ["hyperfine", "cube"])
def test_a_small_file_that_decompresses_to_a_large_one(tmp_path, reader):
    path = tmp_path / "bomb.json.gz"
    with gzip.open(path, "wb", compresslevel=1) as bomb:
        bomb.write(b'{"results": [')
        for _ in range(300):
            bomb.write(b" " * (1 << 20))
    tracemalloc.start()
    try:
        message = refused(path, reader=reader)
        assert tracemalloc.get_traced_memory()[1] < 100 << 20
    finally:
        tracemalloc.stop()
    if reader == "hyperfine":
        assert "is larger than 256 MiB" in message


@pytest.mark.parametrize(
    ("reader", "text"),
    [
        ("npb", NPB.replace("Time in seconds", f"Time{BLANKS}x")),
        ("npb", NPB.replace("=                     0.25", f"={BLANKS}x{BLANKS}")),
        ("npb", f"{BLANKS}LU{BLANKS}Benchmark{BLANKS}\n"),
        ("osu", OSU.replace("Allreduce", f"A{BLANKS}x")),
        ("osu", OSU.replace("# Size", f"# Size{BLANKS}x")),
        ("imb", IMB.replace("PingPong", f"Ping{BLANKS}x")),
        ("jube", "a | b\n" + "-" * 200_000 + "x\n1 | 2\n"),
        ("reframe", REFRAME_REPORT.replace("Pi %n=10", f"Pi{BLANKS}x %n=10")),
        ("google-benchmark", GOOGLE_BENCHMARK.replace("BM_bad", "/a:" * 50_000)),
        ("sacct", "JobID|State|Elapsed\n" + "1|" * 200_000 + "\n"),
        ("reframe-perflog", "x" * 2_000_000),
    ],
)
def test_long_lines_take_no_long_time(tmp_path, reader, text):
    path = tmp_path / "long"
    path.write_text(text)
    begin = time.process_time()
    with contextlib.suppress(PerfError):
        perfcore.read(path, reader=reader)
    # A pattern that tries every division of the blanks anew would take minutes for 200,000 of them.
    assert time.process_time() - begin < 5
