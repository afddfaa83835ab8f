"""Time and memory of `perf profile` at 10^7 state intervals, each case in a process of its own.

python benchmarks/profiles.py              # 10^7 intervals
python benchmarks/profiles.py --intervals 1000000

"on disk" is a Parquet file, whose intervals stay in a table; its time is that of reading, checking and the profile.
The memory of the others is that of making the trace, too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

# Locations, functions, order of the intervals, and parts of the run.
CASES = (
    (64, 40, "by location", 1),
    (64, 40, "by time", 1),
    (64, 40, "shuffled", 1),
    (4096, 1000, "by location", 1),
    (64, 40, "by time", 20),
    (64, 40, "on disk", 1),
    (64, 40, "on disk, shuffled", 1),
)


def make(intervals, locations, functions, order):
    """A trace of so many intervals, with a gap before every tenth."""
    from perfcore import Trace

    each = intervals // locations
    rng = np.random.default_rng(1)
    lengths = rng.integers(100, 2000, each * locations, dtype=np.int64).reshape(locations, each)
    ends = lengths.cumsum(axis=1)
    starts = ends - lengths + (np.arange(each) % 10 == 0) * 50
    location = np.repeat(np.arange(locations, dtype=np.int32), each)
    state = rng.integers(0, functions, each * locations, dtype=np.int32)
    starts, ends = starts.ravel(), ends.ravel()
    if not order.endswith("by location") and order != "on disk":
        sequence = rng.permutation(len(starts)) if "shuffled" in order else np.argsort(starts, kind="stable")
        location, state, starts, ends = location[sequence], state[sequence], starts[sequence], ends[sequence]
    names = [f"rank {k}" for k in range(locations)]
    return Trace(location, state, starts, ends, names, [f"function_{k}" for k in range(functions)], time_unit="ns")


def memory(field):
    """GiB of this process: VmHWM is the most, VmRSS what it holds."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1]) / 2**20


def measure(intervals, locations, functions, order, parts, path):
    """Seconds of wall and processor time, and GiB, as JSON on standard output."""
    import time

    import perfcore
    from perf_analysis.profiles import profile_of
    from perf_analysis.stretches import Stretches
    from perf_traces.joined_trace import run_of

    warm = perfcore.Trace([0], [0], [0], [9], ["a"], ["run"])
    profile_of(warm)  # compiled before
    before = (time.perf_counter(), time.process_time())
    if path:
        trace = perfcore.read(path)
    else:
        trace = make(intervals, locations, functions, order)
        before = (time.perf_counter(), time.process_time())
    stretches, (first, last) = None, run_of(trace)
    if parts > 1:
        edges = np.linspace(first, last, parts + 1).astype(np.int64)
        stretches = Stretches(tuple(f"phase {k}" for k in range(parts)), edges, np.arange(parts))
    found = profile_of(trace, stretches)
    wall, cpu = time.perf_counter() - before[0], time.process_time() - before[1]
    assert (found.times_ns.sum(axis=0) == found.parts_ns).all()
    print(json.dumps({"wall": wall, "cpu": cpu, "peak": memory("VmHWM")}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--intervals", type=int, default=10_000_000)
    parser.add_argument("--case", type=int)
    parser.add_argument("--path", default="")
    given = parser.parse_args()
    if given.case is not None:
        measure(given.intervals, *CASES[given.case], given.path)
        return
    print(f"{given.intervals:,} intervals on {os.cpu_count()} cores")
    print("locations  functions  order              parts   wall  processor  peak memory")
    for number, (locations, functions, order, parts) in enumerate(CASES):
        with tempfile.TemporaryDirectory() as folder:
            path = ""
            if "disk" in order:
                path = f"{folder}/trace.parquet"
                write = "import sys, perfcore; from profiles import make"
                write += f"; perfcore.write(make({given.intervals}, {locations}, {functions}, {order!r}), {path!r})"
                subprocess.run([sys.executable, "-c", write], check=True, cwd=Path(__file__).parent)
            words = [
                sys.executable,
                __file__,
                "--case",
                str(number),
                "--intervals",
                str(given.intervals),
                "--path",
                path,
            ]
            done = subprocess.run(words, check=True, capture_output=True, text=True)
        took = json.loads(done.stdout)
        print(
            f"{locations:9}  {functions:9}  {order:17}  {parts:5}  {took['wall']:4.1f} s  {took['cpu']:7.1f} s  "
            f"{took['peak']:7.2f} GiB",
            flush=True,
        )


if __name__ == "__main__":
    main()
