"""Curves larger than memory: anonymous memory, processor time and size of summaries, over decades of cells.

    python benchmarks/large_curves.py --folder /tmp/large --cells 10000000 100000000

For each number of cells a summary is written whose curve is made up: 256 processors, 20 phases of different levels, and
noise in each cell, so that no two neighbours are alike. Then it is read, fitted, drawn, and merged from two parts. Told
are processor time, the most anonymous memory (what the system cannot take back; sampled every 10 ms), and what of it
the same commands need for 1,000 cells. With ``--remove`` the summary is deleted afterwards.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from perf_traces.scratch_arrays import chunks, zeros
from perf_traces.summaries.run import ListedFile, Run
from perf_traces.summaries.sums import Facts, FileFacts, Summary, n_buckets, save

PROCESSORS, CELL_BITS, PHASES = 256, 12, 20
STATES = ("MPI_Wait", "solve")


def write_summary(path: Path, count: int, part: int) -> None:
    """One of two parts: both have the whole run, and differ in their noise."""
    cell, span = 1 << CELL_BITS, (0, count << CELL_BITS)
    levels = np.random.default_rng(1).uniform(0.3, 0.9, PHASES)

    cells = zeros((count,), np.int64)
    for number, rows in enumerate(chunks(count)):
        rng = np.random.default_rng((part, number))
        phase = np.arange(rows.start, rows.stop) * PHASES // count
        shares = np.clip(levels[phase] + 0.05 * rng.standard_normal(len(phase)), 0.0, 1.0)
        cells[rows] = shares * PROCESSORS * cell

    files = tuple(ListedFile(f"rank{k}.parquet", 1, "0", named=k) for k in range(2))
    names = tuple(f"cpu{k}" for k in range(PROCESSORS))
    file = FileFacts(part, "ns", span, 0, count, 0, names, {}, {}, ())
    run = Run(files, max(count, 16), None, "recorded", {})
    facts = Facts(run, (file,), {}, STATES, (False, True), ())
    windows = np.zeros((n_buckets(span, facts.bits[1]), len(STATES)), np.int64)
    places = np.array([(part, k, 1) for k in range(PROCESSORS)])
    half = np.full(PROCESSORS, span[1] // 2)
    summary = Summary(facts, cells, windows, places, half, np.ones(PROCESSORS, np.int64))
    save(summary, path, (part + 1, 2))


def perf(*words: object) -> tuple[float, float, float]:
    """Elapsed and processor seconds, and the most anonymous memory in MiB, of a call of the program."""
    began, peak = time.perf_counter(), 0
    with subprocess.Popen([sys.executable, "-m", "perfcore", *map(str, words)], stdout=subprocess.DEVNULL) as process:
        while True:
            done, status, used = os.wait4(process.pid, os.WNOHANG)
            if done:
                break
            said = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
            if "RssAnon:" in said:
                peak = max(peak, int(said.split("RssAnon:")[1].split()[0]))
            time.sleep(0.01)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"perf {' '.join(map(str, words))}: exit status {process.returncode}")
    return time.perf_counter() - began, used.ru_utime + used.ru_stime, peak / 1024


def measure(folder: Path, count: int) -> None:
    """Write two parts, merge them, and print a line for each command."""
    parts = [folder / f"{count}-{k}.summary" for k in (1, 2)]
    whole, model = folder / f"{count}.summary", folder / f"{count}.json"
    for k, path in enumerate(parts):
        if not path.exists():
            write_summary(path, count, k)
    size = parts[0].stat().st_size
    print(f"{count:,} cells, a part of {size / 1e6:,.1f} MB, {size / count:.2f} bytes a cell", flush=True)
    calls = {
        "merge": ("summarize", *parts, "-o", whole, "--overwrite"),
        "info": ("info", whole),
        "fit": ("fit", whole, "-o", model),
        "fit, 20 phases": ("fit", whole, "--phases", PHASES, "-o", model),
        "plot": ("plot", whole, "-o", folder / "curve.png", "--overwrite"),
        "plot of the model": ("plot", model, whole, "-o", folder / "model.png", "--overwrite"),
    }
    for name, words in calls.items():
        elapsed, seconds, peak = perf(*words)
        load = os.getloadavg()[0]
        print(
            f"  {name:18}{elapsed:9.1f} s elapsed{seconds:9.1f} s of processors{peak:8.0f} MiB   load {load:.1f}",
            flush=True,
        )


def main() -> None:
    """Measure each number of cells that is named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--cells", nargs="+", type=int, default=[1_000, 10_000_000])
    parser.add_argument("--remove", action="store_true")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for count in given.cells:
        measure(given.folder, count)
        if given.remove:
            for path in given.folder.glob(f"{count}*"):
                path.unlink()


if __name__ == "__main__":
    main()
