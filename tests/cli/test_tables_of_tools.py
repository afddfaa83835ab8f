"""Tables that profilers, trackers of experiments and `perf gate record` write, and objects behind addresses."""

import cProfile
import functools
import http.server
import json
import pstats
import shlex
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from format_samples import HISTORY, SCALARS, TORCH_TABLE
from trace_samples import sample

import perfcore
from perfcore.base.errors import InputError, error_lines

CPU_TABLE = sample("torch_cpu_table")


def test_kernels_of_pytorchs_averages_add_up_to_its_total(perf, tmp_path):
    """The operator repeats the 9 ms of the kernel that it launched; PyTorch's total of 12 ms has it once."""
    (tmp_path / "averages.txt").write_text(TORCH_TABLE)
    table = perfcore.read(tmp_path / "averages.txt").table
    assert dict(zip(table["kernel"], table["time"], strict=True)) == {"ampere_sgemm_64x64": 9e6, "Memcpy HtoD": 3e6}
    assert table["calls"].tolist() == [200, 2]
    assert "75.0% of the time (12 ms) is ampere_sgemm_64x64" in perf("profile", tmp_path / "averages.txt").out


def test_operators_of_pytorch_without_a_gpu(tmp_path):
    (tmp_path / "averages.txt").write_text(CPU_TABLE)
    assert perfcore.read(tmp_path / "averages.txt").table["time"].tolist() == [2.5e6, 250e3]
    (tmp_path / "cut.txt").write_text(CPU_TABLE.replace("             4\n", "\n"))
    with pytest.raises(InputError, match=r"cut.txt:5: has 4 fields for 5 columns"):
        perfcore.read(tmp_path / "cut.txt")


def test_scalars_of_tensorboard_are_a_series(tmp_path):
    (tmp_path / "scalars.csv").write_text(SCALARS)
    series = perfcore.read(tmp_path / "scalars.csv")
    assert series.time_unit == "s"
    assert (series.times - series.times[0]).tolist() == [0.0, 10.0, 20.0]
    assert {name: values.tolist() for name, values in series.columns.items()} == {"Value": [2.5, 2.0, 1.5]}


def test_a_history_is_known_as_one(perf, tmp_path):
    (tmp_path / "history.jsonl").write_text(HISTORY)
    text = perf("info", tmp_path / "history.jsonl").out
    assert "3 measurements of value [ns]" in text
    assert f"Next: perf gate {tmp_path}/history.jsonl" in text


@pytest.mark.parametrize(
    ("columns", "counted", "option"),
    [
        ("commit,time,time_s", "12 measurements of time_s [s]", ""),
        ("commit,time,one,two", "12 measurements", " --value one"),
    ],
)
def test_a_table_of_commits_is_a_history_and_no_curve(perf, tmp_path, columns, counted, option):
    values = ",".join(["{}"] * (columns.count(",") - 1))
    rows = [f"c{k:03},{1_700_000_000 + 86400 * k}," + values.format(1000 + k % 3, 7) for k in range(12)]
    (tmp_path / "history.csv").write_text("\n".join([columns, *rows]))
    lines = perf("info", tmp_path / "history.csv").lines
    command = f"perf gate {tmp_path}/history.csv{option}"
    assert (lines[0], lines[-1]) == (counted, f"Next: {command}")
    assert "PASS  no slowdown" in perf(*command.split()[1:]).out


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("goos: linux\n          │ old.txt │       new.txt       │\n          │ sec/op  │ sec/op    vs base   │\n"
         "Encode-8    240.0n    180.0n ± 1%  -25.00%\n", "the outputs of go test -bench"),
        ("name      old time/op  new time/op  delta\nEncode-8   240ns ± 2%   180ns ± 1%  -25.00%\n", "go test -bench"),
        ("job: (g=0): rw=read, bs=4096B\nfio-3.28\n  read: IOPS=26.1k, BW=102MiB/s\n", "--output-format=json"),
        ("BenchmarkTools.Trial: 100 samples with 1 evaluation.\n Time  (median): 2 ms\n", "BenchmarkTools.save"),
        ('<?xml version="1.0"?>\n<Catch2TestRun name="b">\n</Catch2TestRun>\n', "--reporter console"),
        ('{"files": [{"filepath": "/a.bench.ts", "groups": []}]}', "jq -r '.files[]"),
        ('{"root_group": {}, "metrics": {"http_reqs": {"count": 9}}}', "jq -r '.metrics"),
    ],
)  # fmt: skip
def test_outputs_for_people_name_the_export(refused, tmp_path, monkeypatch, text, cure):
    monkeypatch.chdir(tmp_path)
    for name in ("old", "new"):
        (tmp_path / f"{name}.txt").write_text(text)
    assert cure in refused("info", "old.txt")
    assert cure in refused("gate", "old.txt", "new.txt")


def test_a_profile_of_python_names_the_export(tmp_path):
    profile = cProfile.Profile()
    profile.runcall(sorted, range(1000))
    profile.dump_stats(tmp_path / "a profile")
    with pytest.raises(InputError, match="is a profile of Python's cProfile, which is not read") as caught:
        perfcore.read(tmp_path / "a profile")
    _, _, code, name, *_ = shlex.split(str(caught.value).partition("are: python")[2].replace(" -c", "python -c", 1))
    table = subprocess.run([sys.executable, "-c", code, name], capture_output=True, text=True, check=True).stdout
    names = {":".join(map(str, key)) for key in pstats.Stats(str(tmp_path / "a profile")).stats}
    assert {line.rpartition(",")[0].strip('"') for line in table.splitlines()[1:]} == names


PSTATS = sample("pstats")
TAU = sample("tau_profile")
# Of speedscope: the weight of a stack is the time of its innermost frame.
FRAMES = {"frames": [{"name": "main"}, {"name": "dot", "line": 3}]}
SAMPLED = {"type": "sampled", "unit": "seconds", "samples": [[0], [0, 1], [0, 1]], "weights": [0.1, 0.2, 0.1]}
EVENTED = {
    "type": "evented", "unit": "nanoseconds",
    "events": [{"type": kind, "frame": frame, "at": at} for kind, frame, at in
               (("O", 0, 0), ("O", 1, 10), ("C", 1, 50), ("C", 0, 60), ("O", 0, 70), ("C", 0, 100))],
}  # fmt: skip


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"run.txt": PSTATS}, {"{method 'join' of 'str' objects}": 1_500_000_000, "app.py:1(<module>)": 1_000_000}),
        (
            {"profile.0.0.0": TAU.format(own=4000), "profile.1.0.0": TAU.format(own=2000)},
            {"MPI_Send()": 5_000_000, "main": 3_000_000},
        ),
        ({"a.json": json.dumps({"profiles": [SAMPLED], "shared": FRAMES})}, {"main": 10**8, "dot": 3 * 10**8}),
        ({"a.json": json.dumps({"shared": FRAMES, "profiles": [EVENTED]})}, {"main": 50, "dot": 40}),
    ],
)
def test_profiles_of_other_tools_become_tables_of_functions(perf, tmp_path, files, expected):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match="which is not read") as caught:
        perfcore.read(tmp_path / next(iter(files)))
    typed = error_lines(str(caught.value))[-1].strip()  # in one line, as it is copied
    command, following = typed.split(" && ")
    subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True)
    assert following == "perf profile functions.csv"
    rows = perfcore.profile(tmp_path / "functions.csv").to_dict()["rows"]
    assert {row["name"]: row["own_ns"] for row in rows} == expected


# Objects behind addresses: read by fsspec if it is installed, and refused in one line otherwise.
ROWS = "p,time_s\n" + "".join(f"{p},{0.5 + 8 / p}\n" for p in (1, 2, 4, 8, 16))


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def server(folder):
    folder.joinpath("runs.csv").write_text(ROWS)
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def test_without_the_extra_it_is_named(refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    expected = "s3://bucket/runs.csv: an address needs fsspec; pip install 'perfcore[remote]' brings it"
    assert refused("fit", "s3://bucket/runs.csv") == expected


def test_an_object_is_read_as_the_file(perf, refused, server):
    pytest.importorskip("fsspec")
    pytest.importorskip("aiohttp")
    assert perf("fit", f"{server}/runs.csv", "--at", "p=64").lines == perf("fit", "runs.csv", "--at", "p=64").lines
    assert refused("fit", f"{server}/none.csv") == f"{server}/none.csv: there is no such object"


def test_an_object_that_changes_is_refused(refused, server, monkeypatch):
    pytest.importorskip("aiohttp")
    from fsspec.implementations.http import HTTPFileSystem

    async def get_file(_, path, copy, **_options):
        Path(copy).write_text(ROWS)
        Path("runs.csv").write_text(ROWS + "32,0.8\n")

    HTTPFileSystem.clear_instance_cache()
    monkeypatch.setattr(HTTPFileSystem, "_get_file", get_file)
    assert refused("fit", f"{server}/runs.csv").startswith(f"{server}/runs.csv: changed while it was read")


def test_an_object_of_s3_is_read(perf, folder, monkeypatch):
    pytest.importorskip("s3fs")
    server = pytest.importorskip("moto.server").ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    server.start()
    try:
        host, port = server.get_host_and_port()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        import s3fs

        bucket = s3fs.S3FileSystem(skip_instance_cache=True)
        bucket.mkdir("results")
        bucket.pipe("results/runs.csv", ROWS.encode())
        folder.joinpath("runs.csv").write_text(ROWS)
        expected = perf("fit", "runs.csv", "--at", "p=64").lines
        assert perf("fit", "s3://results/runs.csv", "--at", "p=64").lines == expected
    finally:
        server.stop()


@pytest.mark.parametrize(
    "text",
    [
        "main;solve;dot 12\r\nmain;solve 5\r\nmain 1\r\n",
        "app     9/9     198791.127353: cpu-clock: \n\t             643 beta (/work/app)\n",
    ],
)
def test_profiles_of_samples_are_named(tmp_path, text):
    path = tmp_path / "profile.txt"
    path.write_text(text, newline="")
    with pytest.raises(InputError, match="which is not read; samples say where a program was met"):
        perfcore.read(path)


def test_headings_of_several_words_stand_above_columns_of_psrecord(tmp_path):
    path = tmp_path / "activity.txt"
    path.write_text(
        "# Elapsed time   CPU (%)     Real (MB)   Virtual (MB)\n"
        "       0.000        0.000       11.250       14.680\n       5.018       58.400      500.180     7570.797\n"
        "      10.036       22.500     1025.770    15192.977\n"
    )
    plain = perfcore.read(path)
    assert (plain.time_unit, [*plain.columns]) == ("s", ["CPU (%)", "Real (MB)", "Virtual (MB)"])
    assert plain.notes[-1] == "Elapsed time has no unit: its times are taken in s; if not: -r time_unit=ms"
    data = perfcore.read(path, time="Elapsed time", value=("CPU (%)", "Real (MB)"), time_unit="s")
    assert data.columns["Real (MB)"].tolist() == [11.25, 500.18, 1025.77]
