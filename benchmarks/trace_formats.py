"""Speed and memory from large Chrome JSON and Paraver to the curve, each in a process of its own.

python benchmarks/trace_formats.py              # 256 MiB each
python benchmarks/trace_formats.py --size 1024  # a gigabyte each

The bare pass is a parser alone: msgspec, which makes the events of each piece of the array and drops them; for Paraver
the file is read and its line ends are counted. The last column, with --whole, is what Pipit's readers of such files do,
by the standard library and pandas: load the whole document, make a table, and sort the beginnings and ends. (Pipit
itself is not on PyPI; the package of that name there is another.) Both must give the same curve.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

READ = """
import json, sys, time
from pathlib import Path
import perfcore

def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 2**20

perfcore.read(sys.argv[2])  # compiles and imports
started, worked = time.perf_counter(), time.process_time()
trace = perfcore.read(sys.argv[1])
read, worked, read_peak = time.perf_counter() - started, time.process_time() - worked, peak()
curve = trace.utilization()
summed = time.perf_counter() - started
print(json.dumps([read, summed, worked, read_peak, peak(), curve.n_steps, curve.integral]))
"""

BARE = """
import json, sys, time
import msgspec
from perf_io.traces.json_array import ArrayPieces
from perf_io.traces.json_array import TraceEvent
started = time.perf_counter()
with open(sys.argv[1], "rb") as stream:
    if sys.argv[1].endswith(".json"):
        array = ArrayPieces(stream, sys.argv[1], "traceEvents")
        n_records = sum(len(events) for events, _ in array.decoded(msgspec.json.Decoder(list[TraceEvent])))
    else:
        n_records = sum(block.count(b"\\n") for block in iter(lambda: stream.read(1 << 18), b""))
print(json.dumps([time.perf_counter() - started, n_records]))
"""

WHOLE = """
import json, sys, time
from pathlib import Path
import numpy as np, pandas as pd
started = time.perf_counter()
with open(sys.argv[1]) as stream:
    table = pd.DataFrame(json.load(stream)["traceEvents"])
table = table[table["cat"] == "kernel"]
starts = np.rint(table["ts"].to_numpy() * 1000).astype(np.int64)
ends = starts + np.rint(table["dur"].to_numpy() * 1000).astype(np.int64)
moments, where = np.unique(np.concatenate([starts, ends]), return_inverse=True)
change = np.bincount(where, np.repeat([1, -1], len(starts)))
level = np.cumsum(change)
peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 2**20
steps = 1 + int(np.count_nonzero(np.diff(level[:-1])))
integral = float(level[:-1] @ np.diff(moments)) / 1000
print(json.dumps([time.perf_counter() - started, peak, steps, integral]))
"""

LOCATIONS = 64


def rounds(rng: random.Random) -> Iterator[tuple[int, int, int, int]]:
    """Location, start and end in eighths of a microsecond, and kind, for ever."""
    times = [8000] * LOCATIONS
    count = 0
    while True:
        place = count % LOCATIONS
        start = times[place] + rng.randrange(1, 900)
        times[place] = start + rng.randrange(1, 800)
        yield place, start, times[place], count * 7919 % 200
        count += 1


def chrome_event(place: int, start: int, end: int, kind: int, compact: bool) -> str:
    """A kernel as Kineto writes it, 330 bytes, or without arguments, 110 bytes."""
    times = f'"ts": {start / 8:.3f}, "dur": {(end - start) / 8:.3f}'
    if compact:
        return f'{{"ph": "X", "cat": "kernel", "name": "kernel_{kind}", "pid": 0, "tid": {place}, {times}}}'
    return (
        f'  {{\n    "ph": "X", "cat": "kernel", "name": "void at::native::kernel_{kind}<float>(float*, int)", '
        f'"pid": 0, "tid": {place},\n    {times},\n    "args": {{\n      "External id": {start}, "queued": 0, '
        f'"device": 0, "context": 1,\n      "stream": {place}, "correlation": {end}, "grid": [{kind}, 1, 1], '
        f'"block": [128, 1, 1]\n    }}\n  }}'
    )


def write(path: Path, size: int, form: str) -> None:
    """Make a file of about ``size`` bytes."""
    n_bytes = 0
    last = 0
    with path.open("w") as file:
        if form == "Paraver":
            threads = ",".join(["1:1"] * LOCATIONS)
            file.write(f"#Paraver (26/01/04 at 16:35):{10**15}_ns:1({LOCATIONS}):1:{LOCATIONS}({threads})\n")
        else:
            file.write('{"schemaVersion": 1, "traceEvents": [\n')
        for place, start, end, kind in rounds(random.Random(1)):
            if form == "Paraver":
                state = 1 if kind < 150 else 3
                line = f"1:{place + 1}:1:{place + 1}:1:{start * 125}:{end * 125}:{state}\n"
            else:
                line = (",\n" if last else "") + chrome_event(place, start, end, kind, form == "Chrome, compact")
            last = 1
            n_bytes += file.write(line)
            if n_bytes >= size:
                break
        if form != "Paraver":
            file.write("\n]}\n")


def measure(program: str, path: Path, small: Path) -> list[float]:
    """What one of the programs prints."""
    done = subprocess.run(
        [sys.executable, "-c", program, str(path), str(small)], capture_output=True, text=True, check=True
    )
    found: list[float] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=256, help="MiB of each file")
    parser.add_argument(
        "--whole", action="store_true", help="also load Chrome JSON whole: 10 bytes for each of the file"
    )
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start; MB/s, and GiB of memory\n")
    speeds = "bare pass | to the trace | per CPU second | to the curve"
    print(f"| file | MB | records | {speeds} | peak | peak with the curve | steps | whole: MB/s, GiB |")
    print("|---|" + "--:|" * 10)
    for form, ending in (("Chrome, Kineto", ".json"), ("Chrome, compact", ".json"), ("Paraver", ".prv")):
        with tempfile.TemporaryDirectory() as folder:
            path, small = Path(folder) / f"large{ending}", Path(folder) / f"small{ending}"
            write(path, arguments.size << 20, form)
            write(small, 1 << 20, form)  # large enough to be compiled for
            bare, n_records = measure(BARE, path, small)
            read, curve, worked, read_peak, peak, steps, integral = measure(READ, path, small)
            size = path.stat().st_size / 1e6
            other = ""
            if arguments.whole and form != "Paraver":
                whole, whole_peak, whole_steps, whole_integral = measure(WHOLE, path, small)
                assert (whole_steps, round(whole_integral, 3)) == (steps, round(integral, 3)), "the curves differ"
                other = f"{size / whole:.0f}, {whole_peak:.2f}"
        speeds = " | ".join(f"{size / seconds:.0f}" for seconds in (bare, read, worked, curve))
        peaks = f"{read_peak:.2f} | {peak:.2f}"
        print(f"| {form} | {size:.0f} | {n_records:,} | {speeds} | {peaks} | {steps:,} | {other} |", flush=True)
    print(f"\nload {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
