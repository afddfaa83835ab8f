"""``perf experiment sample``: this machine, for a moment, to a file; and an interrupt that loses nothing."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest
from waiting import met

import perfcore

pytest.importorskip("psutil")


def last_moment(file):
    """As it was written: of samples that come at almost the same time, as on a busy machine, readers count from 0."""
    return duckdb.sql(f"SELECT * FROM '{file}'").fetchall()[-1][0]


def test_processors_of_this_machine(perf, folder):
    began = time.time()
    out = perf("experiment", "sample", "cpu", "--for", "0.2s", "--every", "0.05s", "-o", "cpu.csv").out
    assert "4 samples of cpu all busy, cpu 0 busy" in out
    assert "Next: perf stochastic summarize cpu.csv --column 'cpu all busy'" in out
    series = perfcore.read(folder / "cpu.csv")
    assert len(series.times) == 4
    assert series.time_unit == "s"
    assert began <= last_moment(folder / "cpu.csv") <= time.time()
    for values in series.columns.values():
        known = values[values == values]  # within 50 ms the kernel may have counted nothing
        assert ((known >= 0.0) & (known <= 1.0)).all()


@pytest.mark.parametrize(("number", "ending"), [
    (signal.SIGINT, "csv"), (signal.SIGHUP, "csv"), (signal.SIGTERM, "parquet"), (signal.SIGKILL, "parquet"),
])  # fmt: skip
def test_no_signal_loses_samples(tmp_path, number, ending):
    began = time.time()
    file, rows = tmp_path / f"cpu.{ending}", tmp_path / ("cpu.csv" if ending == "csv" else "cpu.parquet.csv")
    command = [Path(sys.executable).with_name("perf"), "experiment", "sample", "cpu", "--every", "0.05s", "-o", file]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert met(lambda: rows.exists() and rows.read_text().count("\n") > 2)
        os.kill(running.pid, number)
        out, err = running.communicate()
    if number == signal.SIGKILL:
        assert running.returncode == -number
    else:
        assert running.returncode == 0, err
        assert "Note: interrupted after " in out
        assert "of 6000 samples" in out
        assert out.endswith(f"file: {file}\n")
    left = rows if number == signal.SIGKILL else file
    assert list(tmp_path.iterdir()) == [left]
    assert len(perfcore.read(left).times) >= 2
    assert began <= last_moment(left) <= time.time()
