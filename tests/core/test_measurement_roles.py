"""Roles of columns: guessed from usual names, or given by the user."""

import itertools
import string

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from perf_formulas.formula import Formula
from perfcore.base.errors import OptionError
from perfcore.data.roles import (
    guess_roles,
    is_processors,
    named_parameters,
)

QUICK = settings(max_examples=200, deadline=None, derandomize=True)
COLUMNS = ["procs", "size", "time_s", "A b"]


@pytest.mark.parametrize(
    ("columns", "processors", "value", "code", "system"),
    [
        (["code", "class", "procs", "nodes", "time_s"], "procs", "time_s", ("code",), ()),
        (["machine", "benchmark", "nodes", "wall_s"], "nodes", "wall_s", ("benchmark",), ("machine",)),
        (["App", "Host", "MPI ranks", "Wall time [s]"], "MPI ranks", "Wall time [s]", ("App",), ("Host",)),
        (["n-procs", "elapsed"], "n-procs", "elapsed", (), ()),
        (["P", "Seconds"], "P", "Seconds", (), ()),
        (["gpus", "tasks", "real_time"], "tasks", "real_time", (), ()),
        (["size", "time_s"], None, "time_s", (), ()),
        (["cores-per-node", "cores", "ns/day"], "cores", None, (), ()),
    ],
)  # fmt: skip
def test_usual_names_are_known(columns, processors, value, code, system):
    roles = guess_roles(columns, {c for c in columns if c.lower() not in ("code", "machine", "host")})
    assert roles.parameters == ({} if processors is None else {"p": processors})
    assert (roles.value, roles.code, roles.system) == (value, code, system)


# As people head the columns of their tables.
COUNTS = (
    "#Cores, # procs, No. of nodes, Number of cores, num. ranks, Total cores, MPI Processes, mpi_ranks, OpenMP "
    "Threads, numThreads, NumProcs, nThreads, GPU count, GPUs, # of nodes, total number of cores, ncpus, CPU cores, "
    "#PEs, NP, #p, world_size, number of MPI processes, ranks #, Cores [#], no_procs, nb_procs"
)
NO_COUNTS = (
    "Threads/rank, threads per rank, ranks_per_node, cpus_per_task, cores-per-node, cores per socket, #iterations, "
    "rank, node, core, thread, gpu, Node ID, node_id, task id, n, N, nx, pid, mpiP, subtasks, problem size, #dofs, "
    "np_ratio, nsteps, p-value, CPU time, cpu, core hours, node hours, cores (%), GPU memory, number"
)
TIMES = (
    "Wall time [min], Wall Time (s), Elapsed (sec), Time (sec.), Runtime in s, Time in seconds, time(ms), time / s, "
    "Wall-clock time (s), wallclock(s), time_mean_s, time_s_mean, mean time [s], Avg. time (us), mean_s, TIME, Time "
    "to solution (h), Execution time (s), Average runtime [ms]"
)


@pytest.mark.parametrize("column", COUNTS.split(", "))
def test_counts_of_processors_as_people_write_them(column):
    assert is_processors(column)
    assert guess_roles([column, "time_s"], {column, "time_s"}).parameters == {"p": column}


@pytest.mark.parametrize("column", NO_COUNTS.split(", "))
def test_what_counts_no_processors(column):
    assert not is_processors(column)


@pytest.mark.parametrize("column", [*TIMES.split(", "), "Time, s", "Elapsed Time, sec"])
def test_times_as_people_write_them(column):
    assert guess_roles(["p", "x", column], {"p", "x", column}).value == column


def test_threads_of_a_rank_do_not_hide_the_ranks():
    columns = ["Cluster", "Threads/rank", "#Ranks", "Wall time [min]"]
    roles = guess_roles(columns, set(columns[1:]))
    assert (roles.parameters, roles.value, roles.unit) == ({"p": "#Ranks"}, "Wall time [min]", "min")
    assert roles.system == ("Cluster",)


def test_p_keeps_its_meaning_where_it_is_a_column_of_another():
    """A formula over columns, such as p*time, must not read the processors where the table has a column p."""
    assert guess_roles(["p", "procs", "time_s"], {"procs", "time_s"}).parameters == {"procs": "procs"}


names = st.sampled_from(
    ["p", "procs", "nodes", "threads_s", "time", "time_s", "wall", "code", "app", "system", "host", "x", "P", "n procs"]
)


@QUICK
@given(columns=st.lists(names, unique=True, max_size=8), data=st.data())
def test_a_guess_gives_each_column_one_role(columns, data):
    numeric = data.draw(st.sets(st.sampled_from(columns))) if columns else set()
    roles = guess_roles(columns, numeric)
    used = [*roles.parameters.values(), *([roles.value] if roles.value else []), *roles.code, *roles.system]
    assert len(used) == len(set(used))
    assert set(used) <= set(columns)
    assert {*roles.parameters.values(), *([roles.value] if roles.value else [])} <= numeric


RATES = [
    "rate_per_s",
    "bandwidth_MB_s",
    "flops_s",
    "GB/s",
    "requests_per_second",
    "ops/s",
    "MB_per_s",
    "gflops",
    "tokens/s",
]


@pytest.mark.parametrize("rate", RATES)
def test_a_rate_is_no_time_where_there_is_one(rate):
    for columns in itertools.permutations(["p", "solve_s", rate]):
        assert guess_roles(columns, set(columns)).value == "solve_s"
    roles = guess_roles(["p", rate], {"p", rate})
    assert (roles.value, roles.unit != "s") == (rate, True)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("procs", {"p": "procs"}),
        ("procs,size", {"p": "procs", "size": "size"}),
        (" procs , n = size ", {"p": "procs", "n": "size"}),
        (["procs", "size"], {"p": "procs", "size": "size"}),
        (("P=procs",), {"P": "procs"}),
        ({"q": "procs", "n": "size"}, {"q": "procs", "n": "size"}),
        ("SIZE", {"p": "size"}),
        ("n=size,m=A b", {"n": "size", "m": "A b"}),
        ([], {}),
    ],
)
def test_parameters_as_a_user_names_them(given, found):
    assert named_parameters(given, COLUMNS) == found


@QUICK
@example("log").via("a function of the syntax")
@example("and").via("an operator of the syntax")
@given(st.text(string.ascii_letters + "_é0 9-", min_size=1, max_size=4))
def test_every_symbol_that_is_accepted_can_stand_in_a_formula(symbol):
    try:
        named_parameters({symbol: "procs"}, COLUMNS)
    except OptionError:
        return
    assert Formula(symbol).names == (symbol,)


@pytest.mark.parametrize(
    ("columns", "value"),
    [
        (("p", "time_s_olympic_mean", "time_s_min", "time_s_max"), "time_s_olympic_mean"),
        (("p", "wall_s_min", "wall_s_median"), "wall_s_median"),
        (("p", "time_s_min", "time_s_max"), "time_s_min"),  # without a mean the least is what there is
        (("p", "time_min", "time_max"), "time_min"),  # minutes
    ],
)
def test_the_least_of_the_runs_does_not_stand_for_their_mean(columns, value):
    assert guess_roles(columns, set(columns)).value == value
