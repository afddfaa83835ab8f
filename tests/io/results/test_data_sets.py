"""Folders and patterns of files as one data set."""

import contextlib
import gzip
import time
import tracemalloc

import pytest
from format_samples import GOOGLE_BENCHMARK, IMB, NPB, OSU, REFRAME_REPORT
from hypothesis import given
from hypothesis import strategies as st

import perfcore
from perfcore.base.errors import InputError, PerfError
from perfcore.reading.recognise import NamePattern, named_files


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    return tmp_path / "runs"


def npb(processes, seconds):
    return NPB.replace("                        4\n", f"{processes}\n").replace("0.25", str(seconds))


def test_files_come_by_the_size_of_their_numbers(folder):
    for name in ("run10.out", "run2.out", "run1.out", ".hidden.out"):
        (folder / name).write_text("x")
    (folder / "run3").mkdir()
    (folder / "run3" / "b.out").write_text("x")
    (folder / "run3" / "round").symlink_to(folder)
    expected = ["runs/run1.out", "runs/run2.out", "runs/run3/b.out", "runs/run10.out"]
    assert [str(path) for path in named_files("runs")] == expected
    assert [str(path) for path in named_files("runs/*.out")] == [*expected[:2], expected[3]]
    assert [str(path) for path in named_files("runs/run?")] == ["runs/run3/b.out"]
    assert named_files("runs/run1.out") is None
    assert named_files("-") is None
    assert named_files("a" * 5000) is None
    with pytest.raises(InputError, match=r"a\*: names no file"):
        named_files("a*" * 2500)
    with pytest.raises(InputError, match=r"none/\*: names no file"):
        named_files("none/*")


def test_a_name_that_looks_like_a_pattern_may_be_a_file(folder):
    (folder / "run[1].out").write_text(npb(4, 2.5))
    assert len(perfcore.read("runs/run[1].out").table) == 1


def test_a_folder_of_runs(folder):
    for processes in (4, 16, 2):
        (folder / f"lu_{processes}.out").write_text(npb(processes, 8 / processes))
    data = perfcore.read("runs")
    rows = data.table[["processes", "time_s", "file"]].to_numpy().tolist()
    assert rows == [[2, 4, "runs/lu_2.out"], [4, 2, "runs/lu_4.out"], [16, 0.5, "runs/lu_16.out"]]
    assert data.source == "runs (3 files)"
    assert (dict(data.roles.parameters), data.roles.unit) == ({"p": "processes"}, "s")
    assert data.observations().value.tolist() == [4, 2, 0.5]


def test_parameters_from_names(folder):
    latencies = OSU.split("\n\n")[0]
    for processes in (2, 4, 8):
        for network in ("ib", "tcp"):
            (folder / f"osu_p{processes}_{network}_r1.txt").write_text(latencies)
    data = perfcore.read("runs/*.txt", from_name="osu_p{p:int}_{network}_r{r}.txt")
    assert dict(data.roles.parameters) == {"p": "p", "bytes": "bytes"}
    assert data.roles.code == ("network", "test")
    assert data.table["r"].unique().tolist() == [1]
    assert len(data.observations()) == 3 * 2 * 2


@given(
    p=st.integers(0, 10**9),
    x=st.floats(0, 1e9).map(lambda x: round(x, 3)),
    word=st.text(st.characters(categories=["L"]), min_size=1, max_size=9),
    literal=st.text(st.sampled_from(".+()[]^$|\\ -"), max_size=5),
)
def test_what_is_written_into_a_name_is_read_from_it(p, x, word, literal):
    pattern = NamePattern(f"{literal}p{{p:int}}_{{x:float}}_{{word:str}}.out")
    name = f"{literal}p{p}_{x}_{word}.out"
    assert pattern.fields_of(f"/somewhere/{name}.gz") == {"p": p, "x": x, "word": word}
    assert pattern.fields_of(name + "x") is None


# Files that are made to do harm end in one line, soon, and without filling the memory.
DOCUMENTS = (
    *("google-benchmark", "hyperfine", "pytest-benchmark", "reframe", "sacct", "ior", "fio"),
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


@pytest.mark.parametrize(("reader", "text"), [
    ("npb", NPB.replace("Time in seconds", f"Time{BLANKS}x")),
    ("npb", NPB.replace("=                     0.25", f"={BLANKS}x{BLANKS}")),
    ("npb", f"{BLANKS}LU{BLANKS}Benchmark{BLANKS}\n"), ("osu", OSU.replace("Allreduce", f"A{BLANKS}x")),
    ("osu", OSU.replace("# Size", f"# Size{BLANKS}x")), ("imb", IMB.replace("PingPong", f"Ping{BLANKS}x")),
    ("jube", "a | b\n" + "-" * 200_000 + "x\n1 | 2\n"),
    ("reframe", REFRAME_REPORT.replace("Pi %n=10", f"Pi{BLANKS}x %n=10")),
    ("google-benchmark", GOOGLE_BENCHMARK.replace("BM_bad", "/a:" * 50_000)),
    ("sacct", "JobID|State|Elapsed\n" + "1|" * 200_000 + "\n"),
    ("reframe-perflog", "x" * 2_000_000),
])  # fmt: skip
def test_long_lines_take_no_long_time(tmp_path, reader, text):
    path = tmp_path / "long"
    path.write_text(text)
    begin = time.process_time()
    with contextlib.suppress(PerfError):
        perfcore.read(path, reader=reader)
    # A pattern that tries every division of the blanks anew would take minutes for 200,000 of them.
    assert time.process_time() - begin < 5
