"""One run from the files of its ranks against one of the files: time and memory to the curve and to the overheads.

    python benchmarks/ranks.py --ranks 16 --megabytes 10 --folder /tmp/ranks

Files as PyTorch's profiler writes them come first: kernels of a few microseconds, collectives, calls of the runtime.
Then one file, and all of them, are read in processes of their own to the curve, and to the overheads. Told are
processor time and elapsed time for each file, and the peak of the memory: of each process the resident set, of all
together, and without pages of files, which the system can drop.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

CURVE = "import perfcore, sys; print(perfcore.read(sys.argv[1]).utilization())"
OVERHEADS = "import perfcore, sys; print(perfcore.overheads(sys.argv[1])[0].total_ns)"
START_US = 1_700_000_000_000_000


def write_rank(path: Path, rank: int, n_ranks: int, size: int) -> None:
    """A file of about so many bytes; every rank has as many collectives, which end at the same times."""
    head = {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": n_ranks}}
    written, step = 0, 0
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps(head)[:-1] + ', "traceEvents": [\n')
        while written < size:
            at = START_US + 400 * step
            block = []
            for kernel in range(20):
                begins, lasts = at + 15 * kernel, 7 + (rank + 3 * kernel + step) % 6
                name = f"void at::native::vectorized_elementwise_kernel<4, at::native::Functor{kernel}<float>>(int)"
                gpu = {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": begins, "dur": lasts}
                gpu["args"] = {"device": 0, "stream": 7, "correlation": 40 * step + kernel, "grid": [64, 1, 1]}
                call = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 99, "tid": 99}
                call |= {"ts": begins - 4, "dur": 3, "args": {"cbid": 211, "correlation": 40 * step + kernel}}
                block += [gpu, call]
            reduce = {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "pid": 0}
            reduce |= {"tid": 20, "ts": at + 200 + rank % 9, "dur": 150 - rank % 9, "args": {"stream": 20}}
            text = ",\n".join(json.dumps(event) for event in [*block, reduce])
            file.write((",\n" if step else "") + text)
            written, step = written + len(text), step + 1
        file.write("\n]}\n")


def _memory(root: int) -> tuple[int, int, int]:
    """Of a process and those it started: the largest resident set, all together, and all without pages of files."""
    of_parent: dict[int, int] = {}
    sizes: dict[int, tuple[int, int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            said = dict(line.split(":", 1) for line in (entry / "status").read_text().splitlines() if ":" in line)
            of_parent[int(entry.name)] = int(said["PPid"])
            sizes[int(entry.name)] = tuple(int(said[name].split()[0]) for name in ("VmRSS", "RssAnon"))  # type: ignore[assignment]
        except (OSError, KeyError):
            continue
    mine = [root]
    for process in mine:
        mine += [child for child, parent in of_parent.items() if parent == process]
    found = [sizes[process] for process in mine if process in sizes] or [(0, 0)]
    return max(size for size, _ in found), sum(size for size, _ in found), sum(anonymous for _, anonymous in found)


def measure(code: str, path: Path) -> dict[str, float]:
    """Seconds elapsed and of processors, and peaks of memory in MB."""
    before = os.times()
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
    peaks = [0, 0, 0]
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.02):
            peaks[:] = [max(pair) for pair in zip(peaks, _memory(process.pid), strict=True)]

    watcher = threading.Thread(target=watch)
    watcher.start()
    process.communicate()
    elapsed = time.perf_counter() - began
    ended.set()
    watcher.join()
    after = os.times()
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    if process.returncode:
        raise SystemExit(f"{path}: ended with {process.returncode}")
    names = ("largest_mb", "together_mb", "anonymous_mb")
    return {"elapsed_s": elapsed, "processor_s": processor} | {
        name: peak / 1024 for name, peak in zip(names, peaks, strict=True)
    }


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=16)
    parser.add_argument("--megabytes", type=float, default=10)
    parser.add_argument("--folder", type=Path, required=True)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for rank in range(given.ranks):
        path = given.folder / f"rank{rank}.json"
        if not path.exists():
            write_rank(path, rank, given.ranks, int(given.megabytes * 1e6))
    print(f"{given.ranks} ranks of {given.megabytes} MB")
    print(f"{'':24}elapsed s  processor s  largest MB  together MB  without files MB")
    for what, code in (("curve", CURVE), ("overheads", OVERHEADS)):
        one = measure(code, given.folder / "rank0.json")
        every = measure(code, given.folder)
        for label, found in ((f"{what}, one file", one), (f"{what}, all files", every)):
            row = [found[name] for name in ("elapsed_s", "processor_s", "largest_mb", "together_mb", "anonymous_mb")]
            print(f"{label:24}{row[0]:9.2f}{row[1]:13.2f}{row[2]:12.0f}{row[3]:13.0f}{row[4]:18.0f}")
        print(
            f"{'':24}{every['elapsed_s'] / one['elapsed_s'] / given.ranks:9.2f}"
            f"{every['processor_s'] / one['processor_s'] / given.ranks:13.2f}"
            f"{every['largest_mb'] / one['largest_mb']:12.2f}{every['together_mb'] / one['together_mb']:13.2f}"
            f"{every['anonymous_mb'] / one['anonymous_mb']:18.2f}   all / one (time: for each file)"
        )


if __name__ == "__main__":
    main()
