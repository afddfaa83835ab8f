"""Messages of a large Paraver trace: reading and linking, one replay, and answers of `perf whatif`.

    python benchmarks/replay.py --steps 2950

Ranks compute and exchange with a neighbour each step, and add up every tenth step; the file is made first. Times are
of the processor, after the kernels were compiled.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import perfcore
from perf_traces.messages.communication import communication_of
from perf_traces.messages.replay import Replay

RANKS, BYTES = 64, 1000


def made(path: Path, steps: int) -> int:
    """Write the trace; how many records it has."""
    draw, clock, lines = random.Random(0), [0] * RANKS, []
    who = [f"{rank + 1}:1:{rank + 1}:1" for rank in range(RANKS)]
    for step in range(steps):
        until = [start + draw.randrange(50_000, 150_000) for start in clock]
        leave = [max(until[rank - 1] + 21_000, until[rank] + 2_000) for rank in range(RANKS)]
        for rank in range(RANKS):
            sent = until[rank - 1]
            lines += [
                f"1:{who[rank]}:{clock[rank]}:{until[rank]}:1",
                f"2:{who[rank]}:{until[rank]}:50000001:41",
                f"3:{who[rank - 1]}:{sent}:{sent}:{who[rank]}:{until[rank]}:{leave[rank]}:{BYTES}:1",
                f"1:{who[rank]}:{until[rank]}:{leave[rank]}:16",
                f"2:{who[rank]}:{leave[rank]}:50000001:0",
            ]
        clock = leave
        if step % 10 == 9:
            end = max(clock) + 5_000
            for rank in range(RANKS):
                lines += [
                    f"2:{who[rank]}:{clock[rank]}:50000002:10:50100001:8:50100002:8:50100004:1",
                    f"1:{who[rank]}:{clock[rank]}:{end}:13",
                    f"2:{who[rank]}:{end}:50000002:0",
                ]
            clock = [end] * RANKS
    world = f"c:1:1:{RANKS}:" + ":".join(str(rank + 1) for rank in range(RANKS))
    tasks = ",".join(["1:1"] * RANKS)
    header = f"#Paraver (01/01/2026 at 12:00):{max(clock)}_ns:1({RANKS}):1:{RANKS}({tasks}),1"
    path.write_text("\n".join([header, world, *lines]) + "\n")
    return len(lines)


def timed(what: str, function: Callable[[], Any]) -> Any:
    """Call and print processor time."""
    start = time.process_time()
    result = function()
    print(f"{what:42} {time.process_time() - start:8.3f} s")
    return result


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=2950)
    steps = parser.parse_args().steps
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder) / "small.prv", Path(folder) / "large.prv"
        made(small, 100)
        perfcore.whatif(small)
        print(f"{made(large, steps)} records, {large.stat().st_size / 1e6:.0f} MB")
        trace = timed("states", lambda: perfcore.read(large))
        found = timed("messages read and linked", lambda: communication_of(trace))
        print(f"{found.facts()['messages']}")
        replay = timed("graph, residuals and self-test", lambda: Replay(found))
        timed("a replay", replay.runtime_ns)
        timed("a replay with its critical path", replay.path)
        timed("--network 0, all in", lambda: perfcore.whatif(trace, network="0"))
        timed("--compute 2x, all in", lambda: perfcore.whatif(trace, compute={"computing": 2}))
        timed("--noise 5%, all in", lambda: perfcore.whatif(trace, noise=0.05))
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
