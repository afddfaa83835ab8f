"""The store: every run that ended survives, one writer at a time, and nothing foreign or damaged is touched."""

import contextlib
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from format_samples import SAMPLES

import perfcore
from perf_experiments import Run, Store
from perfcore.base.errors import InputError

WELL = Run(
    *({"p": 4, "D": 0.5}, 1, None, "2026-01-02T03:04:05.678+00:00", ("app", "-n", "4"), 2_500_000_001),
    *(1.5, 0.25, 2048, 0, None, 0.125, True), values={"time": 2.25}, stdout=b"\xff out", stderr=b"err",
    environment={"host": "node7"},
)  # fmt: skip


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "runs.db"
    with Store.hold(file) as store:
        store.set_fact("study", {"command": ["app"]})
        store.add(WELL)
    return file


def test_a_run_reads_back(path):
    with Store.read(path) as store:
        assert store.study == {"command": ["app"]}
        assert vars(store.runs(1)[0]) == {**vars(WELL), "number": 1}
        assert store.runs()[0].stdout == b""


def test_one_file_at_rest(path):
    assert [file.name for file in path.parent.iterdir()] == ["runs.db"]


def test_the_disk_has_a_run_before_the_next_starts(path):
    """What a second process sees is what was committed; a commit waits for the disk."""
    with Store.hold(path) as store:
        assert store._pragma("synchronous") == 3
        assert store._pragma("journal_mode") == "delete"
        for number in range(2, 5):
            store.add(WELL)
            with Store.read(path) as other:
                assert len(other.runs()) == number


@pytest.mark.parametrize("content", [b"p,time\n1,2\n", b"SQLite", b"SQLite format 3\0" + bytes(50), b"x" * 5000])
def test_files_that_are_no_store(tmp_path, content):
    file = tmp_path / "runs.db"
    file.write_bytes(content)
    for opened in (Store.read, Store.hold):
        with pytest.raises(InputError) as refused, opened(file):
            pass
        assert len(str(refused.value).splitlines()) == 1
    assert file.read_bytes() == content


def test_an_empty_file_is_a_store_to_be(tmp_path):
    (tmp_path / "runs.db").touch()
    with Store.hold(tmp_path / "runs.db") as store:
        assert store.runs() == []


def test_a_store_whose_making_was_stopped_is_made_by_the_next(tmp_path):
    """Its first commit is undone, which leaves a database without tables."""
    with sqlite3.connect(tmp_path / "runs.db") as connection:
        connection.execute("PRAGMA user_version = 0")
        connection.execute("CREATE TABLE t (x)")
        connection.execute("DROP TABLE t")
    connection.close()
    with pytest.raises(InputError, match="holds nothing yet, since `perf experiment run` was stopped making it"):
        Store.read(tmp_path / "runs.db").__enter__()
    with Store.hold(tmp_path / "runs.db") as store:
        assert store.runs() == []


@pytest.mark.parametrize(("change", "message"), [
    ("PRAGMA application_id = 7", "is an SQLite file of another program"),
    ("PRAGMA user_version = 1", "is a store of version 1, and 2 is known here; use the perfcore that wrote it"),
    ("CREATE VIEW more AS SELECT * FROM runs", "it holds other tables than a store, or views or triggers"),
    ("CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END", "or views or triggers"),
    ("UPDATE runs SET wall_ns = 1", "run 1 does not match its checksum"),
    ("UPDATE runs SET id = 2 WHERE id = 1", "run 1 is no longer there"),
    ("UPDATE facts SET value = '{}' WHERE name = 'study'", "fact study does not match its checksum"),
    ("UPDATE environments SET content = '{}'", "environment 1 does not match its checksum"),
])  # fmt: skip
def test_what_others_made_or_changed(path, change, message):
    with sqlite3.connect(path) as connection:
        connection.execute(change)
    connection.close()
    before = path.read_bytes()
    with pytest.raises(InputError, match=message), Store.read(path) as store:
        store.check()
    assert path.read_bytes() == before
    if "PRAGMA" in change or "CREATE" in change:
        with pytest.raises(InputError, match=message), Store.hold(path):
            pass
        assert path.read_bytes() == before


def test_what_a_run_printed_is_checked_where_it_is_read(path):
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE runs SET stdout = x'00'")
    connection.close()
    with Store.read(path) as store:
        assert len(store.runs()) == 1
        for read in (lambda: store.runs(1), store.check):
            with pytest.raises(InputError, match="the output of run 1 does not match its checksum"):
                read()


def test_no_flipped_bit_changes_what_is_read(path):
    with Store.hold(path) as store:
        store.announce_job({"p": 8}, 1, 0.5)
        store.name_job(1, "4711")
    content, chance = path.read_bytes(), random.Random(1)

    def everything():
        with Store.read(path) as store:
            return (
                store.check(), store.study, [vars(run) for run in store.runs()], store.runs(1)[0].stdout, store.jobs(),
            )  # fmt: skip

    whole = everything()
    for _ in range(60):
        changed = bytearray(content)
        changed[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        path.write_bytes(changed)
        with contextlib.suppress(InputError):
            assert everything() == whole
    path.write_bytes(content)


def test_a_store_cut_short(path):
    with Store.hold(path) as store:
        for _ in range(20):
            store.add(WELL)
    content = path.read_bytes()
    for share in (0.001, 0.01, 0.3, 0.6, 0.9, 0.999):
        cut = content[: int(len(content) * share)]
        path.write_bytes(cut)
        for opened in (Store.read, Store.hold):
            with pytest.raises(InputError, match="the store is damaged or cut short"), opened(path):
                pass
        assert path.read_bytes() == cut


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match="cannot be written"), Store.hold(tmp_path / "none" / "runs.db"):
        pass
    missing = "there is no such store; `perf experiment run` makes one"
    with pytest.raises(InputError, match=missing), Store.read(tmp_path / "x.db"):
        pass
    with pytest.raises(InputError, match="cannot be read: Is a directory"), Store.read(tmp_path):
        pass


WRITER = """
import sys
from perf_experiments import Design, RunOptions, run_design
design = Design(factors={"n": list(range(1, 401))}, replications=1)
print("started", flush=True)
run_design(design, sys.argv[1], RunOptions(["true", "{n}"], max_load=1.0))
"""


@pytest.mark.parametrize(("kills", "seed"), [(3, 1), pytest.param(60, 2, marks=pytest.mark.slow)])
def test_killed_at_any_moment(tmp_path, kills, seed):
    """Runs that were kept are whole, made once, and there after the next kill."""
    path, moments, counts = str(tmp_path / "runs.db"), random.Random(seed), []
    while len(counts) < kills or not counts[-1]:
        with subprocess.Popen([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            time.sleep(moments.uniform(0.0, 0.5 * (1 + len(counts) // kills)))  # later on a machine that is busy
            process.send_signal(signal.SIGKILL)
        with Store.hold(path) as store:
            runs = store.runs()
        assert all(run.succeeded for run in runs)
        assert len({run.point["n"] for run in runs}) == len(runs)  # what was kept was not made again
        counts.append(len(runs))
    assert counts == sorted(counts)  # nothing that was there is lost


def test_a_journal_left_by_a_killed_commit_is_undone(path):
    """A process that dies within a commit leaves a journal; the next reader puts back what it half changed."""
    code = (
        "import os, sqlite3, sys\n"
        "c = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "c.execute('PRAGMA cache_size = 1'); c.execute('BEGIN IMMEDIATE')\n"
        "for _ in range(50): c.execute('INSERT INTO facts VALUES (hex(randomblob(9)), hex(randomblob(4000)), 0)')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert Path(f"{path}-journal").exists()
    with Store.read(path) as store:
        assert len(store.runs()) == 1
        assert store._rows("SELECT count(*) FROM facts") == [(2,)]


# A store as a table: columns, roles and rows, and what is refused.
@pytest.fixture
def path_of_store_reader(tmp_path):
    file = tmp_path / "runs.db"
    file.write_bytes(SAMPLES["experiments"][0][1])
    return file


def test_columns_and_roles(path_of_store_reader):
    data = perfcore.read(path_of_store_reader)
    assert dict(data.roles.parameters) == {"p": "p"}
    assert (data.roles.value, data.roles.code, data.roles.system) == ("time", ("solver",), ())
    # What the sample says: wall time 2,500,000,000 ns, 2,048 KiB; the run that failed is no measurement.
    rows = data.table[["p", "time", "wall_s", "peak_memory_mib", "noisy"]].to_numpy().tolist()
    assert rows == [[1, 2.25, 2.5, 2.0, 0], [2, 1.5, 2.5, 2.0, 1]]
