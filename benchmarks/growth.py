"""Time and memory of commands by the size of their input: exponents between sizes, each in a process of its own.

    python benchmarks/growth.py [--largest 1000000] [COMMAND ...]

Prints a row for each command: seconds and peak memory (MB) at each size, and between the two largest sizes the exponent
of the time above that of the smallest, and what memory grows by over what the inputs grow by: so without libraries and
compiled code, which some commands load for large inputs only. Ends with status 1 where an exponent is above 1.1, or
memory grows by more than 4 times the inputs of traces, or 8 times those of tables.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path

import numpy as np

SMALLEST = 10_000
_MACHINES = ("a", "b")
MOST_EXPONENT = 1.1
MOST_MEMORY = {"table": 8.0, "trace": 4.0}
COMMANDS = (
    ("info table", "table", "info {table}"),
    ("fit table", "table", "fit {table} --parameter p --value time_s -o {made}/model.json"),
    ("rank table", "table", "rank {timings} --terms 1 --top 3"),
    ("compare tables", "table", "compare {table} {other} --at p=64"),
    ("validate table", "table", "validate {made}/model.json {other}"),
    ("fit formula", "table", "fit {table} --fitter regression --formula a+b/p -o {made}/formula.json"),
    ("predict many", "table", "predict {made}/formula.json --at p=1..{size}:1"),
    ("project table", "table", "project {table} --parameter p --value time_s --at p=64"),
    ("convert table", "table", "convert {table} -o {made}/table.parquet"),
    ("explore table", "table", "explore {table} -o {made}/table.html"),
    ("gate table", "table", "gate {table} {other}"),
    ("gate history", "table", "gate {history} --commit commit"),
    ("gate record", "table", "gate record {made}/h.jsonl {history} --commit new"),
    ("stochastic summarize", "table", "stochastic summarize {series} --column load"),
    ("fit series", "table", "fit {series} --fitter forecast --column load"),
    ("iterations series", "table", "iterations {series} --column load"),
    ("info trace", "trace", "info {trace}"),
    ("fit trace", "trace", "fit {trace} --fitter worley --phases 4"),
    ("overheads trace", "trace", "overheads {trace}"),
    ("profile trace", "trace", "profile {trace}"),
    ("convert trace", "trace", "convert {trace} -o {made}/trace.parquet"),
    ("summarize trace", "trace", "summarize {trace} -o {made}/trace.summary"),
    ("explore trace", "trace", "explore {trace} -o {made}/trace.html"),
    ("info messages", "trace", "info {messages}"),
    ("messages", "trace", "messages {messages}"),
    ("whatif", "trace", "whatif {messages} --network 2x"),
    ("overheads messages", "trace", "overheads {messages}"),
)


def write_inputs(folder: Path, size: int) -> dict[str, str]:
    """Write inputs of as many rows, and return their paths by name."""
    rng = np.random.default_rng(1)
    p = 2 ** rng.integers(0, 6, size)
    for name in ("table", "other"):
        times = (1.0 + 10.0 / p) * rng.lognormal(0.0, 0.02, size)
        lines = [f"{a},{b:.6f}" for a, b in zip(p.tolist(), times.tolist(), strict=True)]
        (folder / f"{name}.csv").write_text("\n".join(["p,time_s", *lines, ""]))
    load = np.clip(0.4 + 0.1 * np.sin(np.arange(size) / 300.0) + rng.normal(0.0, 0.05, size), 0.01, 0.99)
    lines = [f"{10 * k},{v:.5f}" for k, v in enumerate(load.tolist())]
    (folder / "series.csv").write_text("\n".join(["time_s,load", *lines, ""]))
    n_ranks = 8
    rows = ["location,state,start_ns,end_ns"]
    each = size // n_ranks
    for rank in range(n_ranks):
        edges = np.cumsum(rng.integers(500, 1500, each + 1)).tolist()
        names = ("computing", "MPI_Wait")
        rows += [f"rank {rank},{names[k % 2]},{edges[k]},{edges[k + 1]}" for k in range(each)]
    (folder / "trace.csv").write_text("\n".join([*rows, ""]))
    lines = [f"{m},{b:.6f},{a}" for m, a, b in zip(_MACHINES * (size // 2), p.tolist(), times.tolist(), strict=False)]
    (folder / "timings.csv").write_text("\n".join(["system,time_s,p", *lines, ""]))
    lines = [f"c{k // 50},b{k % 50},{v:.5f}" for k, v in enumerate(times.tolist())]
    (folder / "history.csv").write_text("\n".join(["commit,benchmark,time_s", *lines, ""]))
    (folder / "messages.prv").write_text(ring(size, n_ranks))
    names = ("table", "other", "timings", "history", "series", "trace")
    return {"messages": str(folder / "messages.prv")} | {name: str(folder / f"{name}.csv") for name in names}


def ring(size: int, n_ranks: int) -> str:
    """Return a trace of Paraver whose ranks compute and send to the next one, in so many records."""
    lines = []
    for k in range(size // (5 * n_ranks)):
        now = 2000 * k
        for rank in range(1, n_ranks + 1):
            to = rank % n_ranks + 1
            where, there = f"{rank}:1:{rank}:1", f"{to}:1:{to}:1"
            computed, got = now + 1000 + 13 * rank, now + 1500
            lines += [f"1:{where}:{now}:{computed}:1", f"1:{where}:{computed}:{now + 2000}:3"]
            lines.append(f"3:{where}:{computed}:{computed}:{there}:{got}:{got + 200}:1000:1")
            lines += [f"2:{where}:{computed}:50000001:41", f"2:{where}:{now + 2000}:50000001:0"]
    ranks, end = ",".join(f"1:{rank}" for rank in range(1, n_ranks + 1)), 2000 * (size // (5 * n_ranks))
    return "\n".join([f"#Paraver (01/01/2026 at 12:00):{end}_ns:1({n_ranks}):1:{n_ranks}({ranks})", *lines, ""])


def measure(arguments: list[str]) -> tuple[float, float]:
    """Return user CPU seconds and peak memory (MB) of a command."""
    program = shutil.which("perf", path=sysconfig.get_path("scripts"))
    pid = os.fork()
    if pid == 0:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        os.execv(str(program), ["perf", *arguments])
    _, status, usage = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1, 3):
        raise SystemExit(f"perf {' '.join(arguments)}: exit status {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime, usage.ru_maxrss / 1024.0


def main() -> int:
    """Measure each command at each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=1_000_000)
    parser.add_argument("commands", nargs="*", help="titles (default: all)")
    given = parser.parse_args()
    largest = given.largest
    chosen = [row for row in COMMANDS if not given.commands or row[0] in given.commands]
    sizes = [SMALLEST * 10**k for k in range(int(math.log10(largest / SMALLEST)) + 1)]
    failed = False
    with tempfile.TemporaryDirectory() as name:
        found: dict[str, list[tuple[float, float, float]]] = {title: [] for title, _, _ in chosen}
        for size in sizes:
            folder = Path(name) / str(size)
            folder.mkdir()
            paths = write_inputs(folder, size)
            for title, _, command in chosen:
                arguments = command.format(**paths, made=folder, size=size).split()
                read = [b for a, b in itertools.pairwise(arguments) if a != "-o" and Path(b).is_file()]
                seconds, memory = measure(arguments)
                found[title].append((seconds, memory, sum(Path(name).stat().st_size for name in read) / 2**20))
        for title, kind, _ in chosen:
            rows = found[title]
            grown = [max(row[0] - rows[0][0], 1e-2) for row in rows[1:]]
            exponent = math.log10(grown[-1] / grown[-2]) if len(grown) > 1 else math.nan
            memory = math.nan
            if len(rows) > 1:
                (_, peak, size), (_, higher_peak, larger_size) = rows[-2:]
                memory = (higher_peak - peak) / (larger_size - size)
            bad = exponent > MOST_EXPONENT or memory > MOST_MEMORY[kind]
            failed |= bad
            times = "  ".join(f"{seconds:6.2f} s {peak:6.0f} MB" for seconds, peak, _ in rows)
            print(f"{title:22s}{times}   time^{exponent:.2f}  memory {memory:.1f}x{'  ABOVE' if bad else ''}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
