"""Writes halo.prv: four ranks that compute, exchange with their neighbours and add up, on a network of known speed.

    python halo.py halo.prv
    python halo.py halo_p8.prv 8

Each step every rank computes (the last one a fifth more), sends 16 or 64 kB in turn to the next rank while it receives
from the one before, and takes part in a sum. A message takes 20 us and a microsecond for each 1,000 bytes (1 GB/s), a
sum 40 us. Another number of ranks shares the same work: each step takes 4 ms in all, and a fifth of a rank's share.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

RANKS, STEPS, BYTES = 4, 20, (16_000, 64_000)
LATENCY_NS, BYTES_PER_NS, SUM_NS = 20_000, 1.0, 40_000
WORK_NS, LAST_RANK, SPREAD = 4_000_000, 1.2, 0.05
SENDRECV, ALLREDUCE = 41, 10

NAMES = """\
STATES
1    Running
13    Group Communication
16    Send Receive

EVENT_TYPE
9   50000001    MPI Point-to-point
VALUES
41   MPI_Sendrecv
0   Outside MPI

EVENT_TYPE
9   50000002    MPI Collective Comm
VALUES
10   MPI_Allreduce
0   Outside MPI
"""


def main(path: Path, ranks: int = RANKS) -> None:
    """Simulate the run and write it."""
    draw = random.Random(1)
    clock, lines = [0] * ranks, []

    def call(rank: int, state: int, kind: int, value: int, leave: int, more: str = "") -> None:
        who = f"{rank + 1}:1:{rank + 1}:1"
        lines.append((clock[rank], f"2:{who}:{clock[rank]}:{kind}:{value}{more}"))
        lines.append((clock[rank], f"1:{who}:{clock[rank]}:{leave}:{state}"))
        lines.append((leave, f"2:{who}:{leave}:{kind}:0"))

    for step in range(STEPS):
        size = BYTES[step % 2]
        for rank in range(ranks):
            factor = (LAST_RANK if rank == ranks - 1 else 1.0) * draw.gauss(1.0, SPREAD)
            until = clock[rank] + round(WORK_NS / ranks * factor)
            lines.append((clock[rank], f"1:{rank + 1}:1:{rank + 1}:1:{clock[rank]}:{until}:1"))
            clock[rank] = until
        there = [clock[rank - 1] + LATENCY_NS + round(size / BYTES_PER_NS) for rank in range(ranks)]
        leaves = [max(there[rank], clock[rank] + LATENCY_NS) for rank in range(ranks)]
        for rank in range(ranks):
            before = (rank - 1) % ranks
            sent, received = f"{before + 1}:1:{before + 1}:1", f"{rank + 1}:1:{rank + 1}:1"
            times = f"{clock[before]}:{clock[before]}", f"{clock[rank]}:{leaves[rank]}"
            lines.append((clock[before], f"3:{sent}:{times[0]}:{received}:{times[1]}:{size}:1"))
            call(rank, 16, 50_000_001, SENDRECV, leaves[rank])
        clock = leaves
        end = max(clock) + SUM_NS
        for rank in range(ranks):
            more = ":50100001:8:50100002:8:50100004:1"
            call(rank, 13, 50_000_002, ALLREDUCE, end, more)
        clock = [end] * ranks
    tasks = ",".join(["1:1"] * ranks)
    header = f"#Paraver (01/01/2026 at 12:00):{clock[0]}_ns:1({ranks}):1:{ranks}({tasks}),1"
    world = f"c:1:1:{ranks}:" + ":".join(str(rank + 1) for rank in range(ranks))
    path.write_text("\n".join([header, world, *(line for _, line in sorted(lines, key=lambda each: each[0]))]) + "\n")
    path.with_suffix(".pcf").write_text(NAMES)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:3]))
