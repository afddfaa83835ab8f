"""Time and memory of predicate profiling at 10^7 state intervals, each case in a process of its own.

python benchmarks/overheads.py              # 10^7 intervals
python benchmarks/overheads.py --intervals 1000000

The limit beside each time is that of sorting the same number of int64 in the order in which they stand in the trace:
no method that goes through the moments in order of time does less.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

# "by time" is the order of a tracer that writes as it goes, "by location" that of merged files, "shuffled" the worst.
CASES = (
    (64, "by time", "standard"),
    (64, "by location", "standard"),
    (64, "shuffled", "standard"),
    (4096, "by location", "standard"),
    (64, "by location", "own"),
)

# Five counts in the predicates, so that there are many different vectors of them.
OWN = """
[classes]
computing = ["run"]
idle = ["idle"]
waiting = ["wait"]
communicating = ["MPI_*"]
synchronizing = ["lock"]
[[category]]
name = "work"
of = "computing"
[[category]]
name = "imbalance"
of = "idle"
when = "computing > waiting + communicating"
[[category]]
name = "starvation"
of = "idle"
when = "computing <= waiting + communicating"
[[category]]
name = "blocked"
of = ["waiting", "synchronizing"]
when = "synchronizing > 2 or idle > computing"
[[category]]
name = "delayed"
of = ["waiting", "synchronizing"]
when = "not (synchronizing > 2 or idle > computing)"
[[category]]
name = "transfer"
of = "communicating"
"""

CHILD = """
import json, sys, time
from pathlib import Path
sys.path.insert(0, "benchmarks")
from overheads import make
started = time.perf_counter()
trace = make(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
made = time.perf_counter() - started
import numpy as np
from perf_analysis.attribution import profile_overheads
from perf_analysis.categories import read_categories
from perf_analysis.attribution import state_changes
rules = read_categories(sys.argv[4] or None)
def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 2**20
def now():
    return int(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0]) / 2**20
held = now()
seconds = []
for _ in range(2):
    started = time.perf_counter()
    profile = profile_overheads(trace, rules)
    seconds.append(time.perf_counter() - started)
used = peak() - held
assert profile.total_ns == profile.elapsed_ns * len(profile.locations)
started = time.perf_counter()
state_changes(trace, trace.span_ns)
sorted_in = time.perf_counter() - started
both = np.concatenate([trace.end_ns, trace.start_ns])
started = time.perf_counter()
both.sort(kind="stable")
limit = time.perf_counter() - started
print(json.dumps([seconds[0], seconds[1], sorted_in, limit, used]))
"""


def make(n_intervals: int, n_locations: int, order: str):
    """A trace of states of random length."""
    from perfcore.data.trace import Trace

    rng = np.random.default_rng(1)
    each = n_intervals // n_locations
    widths = rng.integers(1_000, 100_000, (n_locations, each))
    ends = np.cumsum(widths, axis=1)
    starts = ends - widths
    state = rng.integers(0, 5, (n_locations, each))
    location = np.broadcast_to(np.arange(n_locations)[:, None], state.shape)
    columns = [column.reshape(-1) for column in (location, state, starts, ends)]
    if order == "by time":
        by = np.argsort(columns[2])
    elif order == "shuffled":
        by = rng.permutation(len(columns[2]))
    if order != "by location":
        columns = [column[by] for column in columns]
    return Trace(*columns, [f"cpu{k}" for k in range(n_locations)], ["run", "idle", "wait", "MPI_Send", "lock"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--intervals", type=int, default=10**7)
    n_intervals = parser.parse_args().intervals
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start; {n_intervals:,} intervals\n")
    print("| locations | order | categories | first call (s) | again (s) | of this events (s) | numpy's sort alone (s) "
          "| memory beyond the trace (GiB) |")  # fmt: skip
    print("|--:|---|---|--:|--:|--:|--:|--:|")
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as own:
        own.write(OWN)
        own.flush()
        for n_locations, order, rules in CASES:
            words = [str(n_intervals), str(n_locations), order, own.name if rules == "own" else ""]
            done = subprocess.run([sys.executable, "-c", CHILD, *words], capture_output=True, text=True, check=True)
            cells = " | ".join(f"{value:.2f}" for value in json.loads(done.stdout))
            print(f"| {n_locations:,} | {order} | {rules} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
