"""A training run on one GPU as PyTorch's profiler writes it, made with known times.

Run ``python examples/gpu/gpu_run.py gpu.json``. In each step a kernel computes, a collective runs that is partly hidden
behind it, and a copy comes last; the host launches each of them 10 us before, and every tenth step is late.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

STEPS, STEP_US, LATE_US = 50, 200, 60


def events(steps: int = STEPS) -> Iterator[dict[str, Any]]:
    """What the profiler writes of each step, in microseconds."""
    begin = 0
    for step in range(steps):
        late = LATE_US if step % 10 == 9 else 0
        work = (("kernel", "gemm", 7, 20, 100), ("kernel", "ncclDevKernel_AllReduce", 20, 70, 80),
                ("gpu_memcpy", "Memcpy DtoH", 7, 150, 30))  # fmt: skip
        for number, (category, name, stream, start, duration) in enumerate(work, 3 * step + 1):
            launched = begin + late + start - 10
            yield _event("cuda_runtime", "cudaLaunchKernel", 4037, 1, launched, 5, number)
            yield _event(category, name, 0, stream, launched + 10, duration, number)
        yield _event("user_annotation", "step", 4037, 1, begin, STEP_US + late, 0)
        begin += STEP_US + late


def _event(category: str, name: str, pid: int, lane: int, start: int, duration: int, number: int) -> dict[str, Any]:
    where = {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": lane}
    return {**where, "ts": start, "dur": duration, "args": {"correlation": number}}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(list(events())))
