"""Small files as PyTorch's profiler writes one for each rank: kernels, collectives and a step, with known times."""

import gzip
import json

import perfcore

START_US = 1_700_000_000_000_000
STEPS = 5
REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def rank_events(rank, *, start_us=START_US, steps=STEPS, wobble_us=0):
    """A step is 100 us: a kernel of 40 + rank us, a copy on another stream, and a collective that ends at 90 on all."""
    events = []
    for step in range(steps):
        at = start_us + 100 * step
        end = at + 90 + (wobble_us if step % 2 else -wobble_us)
        stream = {"ph": "X", "pid": 0, "tid": 7, "cat": "kernel"}
        events += [
            {**stream, "name": "gemm", "ts": at + 5, "dur": 40 + rank},
            {**stream, "name": REDUCE, "ts": at + 60, "dur": end - at - 60},
            {**stream, "name": "Memcpy HtoD", "cat": "gpu_memcpy", "tid": 20, "ts": at + 10, "dur": 10},
            {**stream, "name": f"ProfilerStep#{step}", "cat": "user_annotation", "pid": 9, "ts": at, "dur": 100},
        ]
    return events


def write_rank(folder, rank, name=None, *, world_size=4, told=True, packed=False, **times):
    """The file of a rank, which says so in its head unless ``told`` is false."""
    document = {"schemaVersion": 1}
    if told:
        document["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": world_size}
    document["traceEvents"] = rank_events(rank, **times)
    path = folder / (name or f"rank{rank}.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(document).encode()
    path.write_bytes(gzip.compress(text) if packed else text)
    return path


def read(path, **options):
    """What the files are together, with streams as locations."""
    return perfcore.read(path, **{"locations": "stream", **options})


def three_ranks(folder, apart_us=1, world_size=4):
    """Three ranks, of which each is so much later than the one before."""
    for rank in range(3):
        write_rank(folder, rank, start_us=START_US + apart_us * rank, world_size=world_size)
    return folder
