"""OTF2 archives of a program whose times and counters are known: setup, steps that share work, and a barrier."""

import otf2
from otf2.definitions import Location

MODES = otf2.MetricMode


def otf2_run(
    folder,
    n_ranks,
    *,
    setup_ns=1000,
    work_ns=64_000,
    steps=4,
    call_ns=100,
    counted=None,
    mode=MODES.ACCUMULATED_START,
    exponent=0,
    value_type=otf2.Type.UINT64,
    names=("PAPI_TOT_INS", "PAPI_TOT_CYC"),
    shifts_ns=None,
    falls=False,
):
    """Write an archive and give the path of the file that names it.

    Each rank computes ``setup_ns`` in `main`, then its share of ``work_ns`` in `work` in each step, and all meet in an
    MPI_Allreduce that takes ``call_ns``. Every nanosecond of computing is two instructions and four cycles, of a call
    one each; ``counted`` are the ranks that are counted, and with ``falls`` only what was counted since the last
    reading is written, whatever the mode. Clocks are ahead by ``shifts_ns``.
    """
    shifts = shifts_ns or [0] * n_ranks
    with otf2.writer.open(str(folder / f"p{n_ranks}"), timer_resolution=10**9) as writer:
        define = writer.definitions
        machine = define.system_tree_node("machine")
        main, work, allreduce = (define.region(name) for name in ("main", "work", "MPI_Allreduce"))
        groups = [define.location_group(f"Rank {k}", system_tree_parent=machine) for k in range(n_ranks)]
        events = [writer.event_writer("main", group=group) for group in groups]
        places = [each for each in define.locations if isinstance(each, Location)]
        define.group("all", group_type=otf2.GroupType.COMM_LOCATIONS, paradigm=otf2.Paradigm.MPI, members=places)
        members = define.group(
            "world", group_type=otf2.GroupType.COMM_GROUP, paradigm=otf2.Paradigm.MPI, members=places
        )
        world = define.comm("world", members)
        kinds = [define.metric_member(name, "", otf2.MetricType.PAPI, mode, value_type, otf2.Base.DECIMAL, exponent)
                 for name in names]  # fmt: skip
        counters = define.metric_class(kinds, otf2.MetricOccurrence.SYNCHRONOUS_STRICT, otf2.RecorderKind.CPU)
        for rank, each in enumerate(events):
            totals, before = [0, 0], [0, 0]
            clock = 10

            def read(each=each, rank=rank, totals=totals, before=before):
                if counted is not None and rank not in counted:
                    return
                since = [a - b for a, b in zip(totals, before, strict=True)]
                shown = since if falls or "RELATIVE" in str(mode) else totals
                each.metric(clock + shifts[rank], counters, [value / 10**exponent for value in shown])  # noqa: B023
                before[:] = totals

            def passes(duration, instructions, cycles, totals=totals):
                totals[0] += duration * instructions
                totals[1] += duration * cycles
                return duration

            read()
            each.enter(clock + shifts[rank], main)
            clock += passes(setup_ns, 2, 4)
            for _ in range(steps):
                for region, duration, rates in ((work, work_ns // n_ranks, (2, 4)), (allreduce, call_ns, (1, 1))):
                    read()
                    each.enter(clock + shifts[rank], region)
                    clock += passes(duration, *rates)
                    if region is allreduce:
                        each.mpi_collective_end(
                            clock + shifts[rank], otf2.CollectiveOp.ALLREDUCE, world, 2**32 - 1, 8, 8
                        )
                    read()
                    each.leave(clock + shifts[rank], region)
            read()
            each.leave(clock + shifts[rank], main)
    return folder / f"p{n_ranks}" / "traces.otf2"
