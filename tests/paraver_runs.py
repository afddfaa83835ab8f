"""Paraver traces of a program whose times are known: setup, steps that share work, and a collective after each."""

from pathlib import Path

from trace_samples import sample

PCF = sample("paraver_pcf")


def paraver_run(
    folder, n_ranks, *, setup_ns=1000, work_ns=64_000, steps=4, call_ns=100, late_ns=0, counted=None, name="p"
):
    """Write the trace of one run and give its path.

    Each rank computes ``setup_ns`` before MPI_Init and a share of ``work_ns`` in each step; the last rank ``late_ns``
    longer. An MPI_Allreduce takes ``call_ns`` after its last member has come. Every nanosecond of computing is two
    instructions and four cycles; ``counted`` are the ranks that are counted, by default all.
    """
    lines, pieces = [], []
    computing = [("31", "50000003", setup_ns)] + [("10", "50000002", work_ns // n_ranks)] * steps
    clock = 0
    for number, kind, each in computing:
        extra = late_ns if number == "10" else 0
        leave = clock + each + extra + call_ns
        for rank in range(n_ranks):
            enter = clock + each + (extra if rank == n_ranks - 1 else 0)
            pieces.append((rank, clock, enter, leave, number, kind))
        clock = leave
    for rank, start, enter, leave, number, kind in pieces:
        who = f"{rank + 1}:1:{rank + 1}:1"
        lines.append((start, f"1:{who}:{start}:{enter}:1"))
        lines.append((enter, f"1:{who}:{enter}:{leave}:13"))
        read = ""
        if counted is None or rank in counted:
            lasting = enter - start
            read = f":42000050:{2 * lasting}:42000059:{4 * lasting}"
        lines.append((enter, f"2:{who}:{enter}:{kind}:{number}{read}"))
        lines.append((leave, f"2:{who}:{leave}:{kind}:0{':42000050:7:42000059:7' if read else ''}"))
    tasks = ",".join(f"1:{rank + 1}" for rank in range(n_ranks))
    members = ":".join(str(rank + 1) for rank in range(n_ranks))
    head = f"#Paraver (01/01/2026 at 10:00):{clock}_ns:1({n_ranks}):1:{n_ranks}({tasks}),1\nc:1:1:{n_ranks}:{members}\n"
    path = Path(folder) / f"{name}{n_ranks}.prv"
    path.write_text(head + "".join(f"{line}\n" for _, line in sorted(lines, key=lambda each: each[0])))
    path.with_suffix(".pcf").write_text(PCF)
    return path
