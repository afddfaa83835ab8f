"""Events of small made GPU traces."""

import json


def event(cat, name, ts, dur, tid=1, **args):
    """A complete event of the host (pid 100), or of a stream of the GPU 0."""
    pid = 0 if cat in ("kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation") else 100
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def launched(k, name, at, start, dur, tid=7, **args):
    """A launch call of 4 us and its kernel."""
    return [event("cuda_runtime", "launch", at, 4, correlation=k),
            event("kernel", name, start, dur, tid, correlation=k, **args)]  # fmt: skip


def write(path, events, **document):
    """Write the events, and further facts of the document."""
    path.write_text(json.dumps({**document, "traceEvents": events}))
    return path
