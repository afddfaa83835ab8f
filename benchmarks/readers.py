"""Time and memory from a file of state intervals to its utilization curve, each in a process of its own.

python benchmarks/readers.py            # 10^7 rows
python benchmarks/readers.py --huge     # also 10^8 rows of Parquet: 1 GiB of disk
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb

# 64 locations take turns in two states; all times are whole nanoseconds, written as microseconds.
ROWS = """
    SELECT 20.0 * (i // 64) + (i % 64) / 8.0 AS start_us, start_us + 10 + (i * 7919) % 80 / 8.0 AS end_us,
           'cpu' || i % 64 AS location, CASE i // 64 % 2 WHEN 0 THEN 'run' ELSE 'wait' END AS state
    FROM range({n}) rows(i) ORDER BY i
"""

CHILD = """
import json, sys, time
from pathlib import Path
import perfcore
started = time.perf_counter()
trace = perfcore.read(sys.argv[1])
read = time.perf_counter() - started
curve = trace.utilization(busy=["run"])
made = time.perf_counter() - started - read
# Not ru_maxrss, which a child inherits from the process that made the file.
peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 2**20
print(json.dumps([trace.n_intervals, read, made, curve.n_steps, curve.mean, peak]))
"""


def write(path: Path, n_rows: int) -> None:
    """Make the file."""
    form = "PARQUET" if path.suffix == ".parquet" else "CSV, HEADER"
    duckdb.sql(f"COPY ({ROWS.format(n=n_rows)}) TO '{path}' (FORMAT {form})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--huge", action="store_true", help="also 10^8 rows of Parquet")
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start\n")
    print("| file | rows | MiB | read and check (s) | curve (s) | steps | peak memory (GiB) |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    cases = [(".csv", 10**7), (".parquet", 10**7), *([(".parquet", 10**8)] if arguments.huge else [])]
    for suffix, n_rows in cases:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"trace{suffix}"
            write(path, n_rows)
            size = path.stat().st_size / 2**20
            done = subprocess.run([sys.executable, "-c", CHILD, str(path)], capture_output=True, text=True, check=True)
        rows, read, made, steps, _, peak = json.loads(done.stdout)
        print(
            f"| {suffix[1:]} | {rows:,} | {size:.0f} | {read:.1f} | {made:.1f} | {steps:,} | {peak:.2f} |", flush=True
        )
    print(f"\nload {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
