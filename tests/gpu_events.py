"""Events of small made GPU traces."""

import json
import sqlite3


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


_NSIGHT = {  # columns of tables of Nsight Systems, all of integers but one
    "CUPTI_ACTIVITY_KIND_KERNEL": "start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "start, end, deviceId, contextId, streamId, correlationId, globalPid, copyKind",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start, end, correlationId, globalTid, nameId",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": "start, end, deviceId, contextId, streamId, correlationId, globalPid, "
    "syncType, eventId",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": "deviceId, contextId, streamId, correlationId, globalPid, eventId",
    "NVTX_EVENTS": "start, end, eventType, globalTid, text TEXT",
    "StringIds": "id, value TEXT",
}
_SYNC_TYPES = {"Event Sync": 1, "Stream Wait Event": 2, "Stream Sync": 3, "Context Sync": 4}


def write_nsight(path, events, *, process=100, event_trace=True, rank=None):
    """Write the same as an export of Nsight Systems, to a file that may have events of other processes."""
    connection = sqlite3.connect(path)
    if rank is not None:
        connection.execute("CREATE TABLE MPI_RANKS (globalTid INTEGER, rank INTEGER)")
        connection.execute("INSERT INTO MPI_RANKS VALUES (?, ?)", (process << 24, rank))
    for table, columns in _NSIGHT.items():
        connection.execute(f"CREATE TABLE IF NOT EXISTS {table} ({columns})")

    def insert(table, *values):
        connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)

    def number(text):
        found = connection.execute("SELECT id FROM StringIds WHERE value = ?", (text,)).fetchone()
        if not found:
            insert("StringIds", connection.execute("SELECT count(*) FROM StringIds").fetchone()[0], text)
        return found[0] if found else number(text)

    for each in events:
        cat, args = each["cat"], each["args"]
        start = 1000 * each["ts"] + 5000
        times, correlation = (start, start + 1000 * each["dur"]), args.get("correlation")
        where, thread = (each["pid"], 1, each["tid"], correlation, process << 24), process << 24 | each["tid"]
        if cat == "kernel":
            insert("CUPTI_ACTIVITY_KIND_KERNEL", *times, *where, number(each["name"]))
        elif cat == "gpu_memcpy":
            insert("CUPTI_ACTIVITY_KIND_MEMCPY", *times, *where, 1)
        elif cat == "cuda_runtime":
            insert("CUPTI_ACTIVITY_KIND_RUNTIME", *times, correlation, thread, number(each["name"] + "_v7000"))
        elif cat == "cuda_sync":
            record = args.get("wait_on_cuda_event_record_corr_id", -1)
            where = (args.get("device", 0), 1, args["stream"], correlation, process << 24)
            insert("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", *times, *where, _SYNC_TYPES[each["name"]], record)
            if record >= 0 and event_trace:
                where = (args.get("device", 0), 1, args["wait_on_stream"], record, process << 24)
                insert("CUPTI_ACTIVITY_KIND_CUDA_EVENT", *where, record)
        elif cat == "user_annotation":  # a range is an operator, too
            insert("NVTX_EVENTS", *times, 59, thread, each["name"])
    if not event_trace:
        connection.execute("DROP TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT")
    connection.commit()
    connection.close()
    return path
