"""Summaries of runs: processor time, memory and size for each interval, over decades of intervals.

    python benchmarks/summaries.py --folder /tmp/ranks --runs 100x100000 100x1000000

Rank files in Parquet come first (kept for the next time): each location computes and waits in turn for 1 to 30 us, with
a slow change of their ratio. Then every run is summarized in one process, in two parts that are merged, by one worker
and by two; all must give the same numbers. Told are processor time for each interval (all processes, reading and start
included), the resident set of the largest process, and the size of the summary against that of the traces. With
``--remove`` the files of a run are deleted before the next one is made.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import duckdb

import perfcore

CHILD = """
import json, resource, sys
from perfcore.__main__ import main
try:
    main()
finally:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = sum(each.ru_utime + each.ru_stime for each in used)
    # Not ru_maxrss, which begins with that of the process that started this one.
    said = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
    print(json.dumps([seconds, max(int(said["VmHWM"].split()[0]), used[1].ru_maxrss)]), file=sys.stderr)
"""


def write_rank(path: Path, rank: int, n_intervals: int) -> None:
    """Intervals that follow one another, on a clock that counts from 1970."""
    start_ns = 1_700_000_000_000_000_000
    share = f"(2 + sin(i * 6.3 / {n_intervals} + {rank} * 0.1))"
    length = (
        f"1000 + CAST((hash(i * 1000003 + {rank}) % 10000) * (CASE WHEN i % 2 = 0 THEN {share} ELSE 1 END) AS BIGINT)"
    )
    duckdb.sql(
        f"""COPY (
            SELECT ends - length AS start_ns, ends AS end_ns, 'main' AS location,
                   CASE WHEN i % 2 = 0 THEN 'compute' ELSE 'MPI_Allreduce' END AS state
            FROM (SELECT i, length, {start_ns} + CAST(sum(length) OVER (ORDER BY i) AS BIGINT) AS ends
                  FROM (SELECT i, {length} AS length FROM range({n_intervals}) t(i)))
        ) TO '{path}' (FORMAT parquet, COMPRESSION zstd)"""
    )


def perf(*words: object) -> tuple[float, float, float]:
    """Elapsed and processor seconds, and peak in MiB, of a call of the program."""
    import json

    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *map(str, words)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    seconds, peak = json.loads(done.stderr.splitlines()[-1])
    return time.perf_counter() - began, seconds, peak / 1024


def numbers(path: Path) -> str:
    """Return a digest of all sums in a summary."""
    run = perfcore.read(path)
    arrays = *run.windows(), *run.times_and_entries(), run.summary.cells
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()


def measure(folder: Path, n_files: int, n_intervals: int, cells: int) -> None:
    """Make a run, summarize it in four ways, and print a line for each."""
    run = folder / f"{n_files}x{n_intervals}"
    run.mkdir(parents=True, exist_ok=True)
    for rank in range(n_files):
        path = run / f"rank{rank}.parquet"
        if not path.exists():
            write_rank(path, rank, n_intervals)
    traces = sum(path.stat().st_size for path in run.glob("*.parquet"))
    total = n_files * n_intervals
    print(f"{total:.0e} intervals in {n_files} files of {traces / n_files / 1e6:.2f} MB, --cells {cells}", flush=True)
    names, outputs = f"{run}/*.parquet", {}

    def tell(how: str, found: list[tuple[float, float, float]], output: Path) -> None:
        outputs[how] = numbers(output)
        n_bytes = output.stat().st_size
        seconds = sum(each[1] for each in found)
        print(
            f"  {how:14}{sum(each[0] for each in found):9.1f} s elapsed{seconds:9.1f} s of processors"
            f"{1e6 * seconds / total:8.3f} us each{max(each[2] for each in found):8.0f} MiB"
            f"{n_bytes / 1e6:8.3f} MB, {n_bytes / traces:.2%} of the traces",
            flush=True,
        )

    given = ["--cells", cells, "--overwrite"]
    one, two, whole = (folder / name for name in ("one.summary", "two.summary", "whole.summary"))
    tell("one process", [perf("summarize", names, "-o", whole, *given)], whole)
    parts = [perf("summarize", names, "-o", each, "--part", f"{k}/2", *given) for k, each in ((1, one), (2, two))]
    tell("two parts", [*parts, perf("summarize", two, one, "-o", whole, "--overwrite")], whole)
    by_workers = {}
    for count, how in ((1, "one worker"), (2, "two workers")):
        by_workers[count] = perf("summarize", names, "-o", whole, "--parallel", f"local:{count}", *given)
        tell(how, [by_workers[count]], whole)
    elapsed, used = (by_workers[2][at] / by_workers[1][at] for at in (0, 1))
    load = f"load {os.getloadavg()[0]:.1f}"
    print(f"  two workers take {elapsed:.2f} of one's time, {used:.2f} of its processor time, {load}", flush=True)
    if len(set(outputs.values())) > 1:
        raise SystemExit("the summaries differ")
    _, seconds, peak = perf("fit", whole, "--phases", "20", "-o", folder / "model.json")
    print(f"  {'20 phases':14}{seconds:28.1f} s of processors{peak:22.0f} MiB", flush=True)


def main() -> None:
    """Measure each run that is named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--runs", nargs="+", default=["10x100000", "100x100000"], help="FILESxINTERVALS")
    parser.add_argument("--cells", type=int, default=1 << 17)
    parser.add_argument("--remove", action="store_true")
    given = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    for name in given.runs:
        n_files, n_intervals = map(int, name.split("x"))
        measure(given.folder, n_files, n_intervals, given.cells)
        if given.remove:
            shutil.rmtree(given.folder / name)


if __name__ == "__main__":
    main()
