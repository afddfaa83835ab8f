"""Files that are made to do harm end in one line, soon, and without filling the memory."""

import contextlib
import gzip
import time
import tracemalloc

import pytest
from format_samples import GOOGLE_BENCHMARK, IMB, NPB, OSU, REFRAME_REPORT, SAMPLES

import perfcore
from perfcore.base.errors import PerfError
from perfcore.hooks.registry import registry

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


def test_results_that_are_lists_of_lists_of_lists(tmp_path):
    path = tmp_path / "ior.json"
    path.write_text('{"Version": "4", "tests": [{"Results": ' + "[" * 900 + "]" * 900 + "}]}")
    refused(path, reader="ior")


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


@pytest.mark.parametrize("padding", [b"\n", b" ", b"\0"])
@pytest.mark.parametrize("reader", sorted(SAMPLES))
def test_what_grows_out_of_all_proportion_is_not_read_to_its_end(tmp_path, monkeypatch, reader, padding):
    monkeypatch.setattr("perfcore.reading.compression._GROWTH_FROM_BYTES", 1 << 16)
    content = SAMPLES[reader][0][1]
    path = tmp_path / "bomb.gz"
    with gzip.open(path, "wb") as bomb:
        bomb.write(content if isinstance(content, bytes) else content.encode())
        for _ in range(16):
            bomb.write(padding * (1 << 18))
    begin = time.process_time()
    if reader in ("chrome", "otf2", "projections"):  # which end before what was added
        perfcore.read(path, reader=reader)
    else:
        assert "bomb.gz" in refused(path, reader=reader)
    assert time.process_time() - begin < 5


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


def test_the_formats_tell_a_long_line_of_any_kind_from_their_own(tmp_path):
    from perfcore.reading.source import Source

    path = tmp_path / "long"
    for piece in (b" ", b"-", b"|", b"#", b'"', b"a|", b"{", b"1|"):
        path.write_bytes(piece * 100_000)
        with Source(path) as source:
            for name, entry in registry().entries("readers").items():
                if not entry.target.startswith("perf_io.results"):
                    continue
                begin = time.process_time()
                entry.load()().sniff(source)
                assert time.process_time() - begin < 2, name
