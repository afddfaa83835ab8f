"""What columns of a table of runs are: by name, by values, and by what follows from others; and spreads as numbers."""

import io
import itertools
import re
import string

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

import perfcore
from perfcore import Measurements
from perfcore.base.errors import OptionError
from perfcore.contracts import FormulaFunction
from perfcore.data.columns import direction, guess_roles, is_processors, named_parameters

QUICK = settings(max_examples=80)
COLUMNS = ["procs", "size", "time_s", "A b"]


def roles_of(header):
    """Roles in a table of numbers that differ, in columns that end with a star of words."""
    columns = {}
    for k, name in enumerate(map(str.strip, header.split(","))):
        columns[name.rstrip("*")] = list("abab") if name.endswith("*") else (k + 1) * np.array([1, 2, 4, 8])
    return Measurements(pd.DataFrame(columns)).roles


# Columns, the one that was varied, the one that was measured, and columns of names.
ROLES = """
code*, class*, procs, nodes, time_s | procs | time_s | code
machine*, benchmark*, nodes, wall_s | nodes | wall_s | benchmark machine
App*, Host*, MPI ranks, Wall time [s] | MPI ranks | Wall time [s] | App Host
n-procs, elapsed | n-procs | elapsed
P, Seconds | P | Seconds
gpus, tasks, real_time | tasks | real_time
cores-per-node, cores, ns/day | cores | ns/day
clients, req_per_s, p50_ms, p99_ms, errors | clients | req_per_s
Cluster*, Threads/rank, #Ranks, Wall time [min] | #Ranks | Wall time [min] | Cluster
p, time_s_olympic_mean, time_s_min, time_s_max | p | time_s_olympic_mean
p, wall_s_min, wall_s_median | p | wall_s_median
p, time_s_min, time_s_max | p | time_s_min
p, time_min, time_max | p | time_min
ranks, wall_ms | ranks | wall_ms
ranks, cpu time used | ranks | cpu time used
ranks, kernel time | ranks | kernel time
ranks, elapsed (s) | ranks | elapsed (s)
ranks, time_taken | ranks | time_taken
ranks, kernel_ms, time_taken | ranks | time_taken
nprocs, grid, MLUPS | nprocs | MLUPS
OMP_NUM_THREADS, run, elapsed_sec | OMP_NUM_THREADS | elapsed_sec
kerne, laufzeit, speedup | kerne | laufzeit
cores, t_total, t_comm, t_io | cores | t_total
gpus, tokens/sec/gpu, MFU | gpus | tokens/sec/gpu
threads, ops_per_s, p99_ms | threads | ops_per_s
线程数, 时间(秒) | 线程数 | 时间(秒)
""".strip().splitlines()


@pytest.mark.parametrize("line", ROLES)
def test_usual_names_are_known(line):
    """Of the least of the runs and their mean the mean; of ranks and their threads the ranks."""
    header, varied, value, *names = (part.strip() for part in line.split("|"))
    found = roles_of(header)
    assert (found.parameters, found.value or "") == ({"p": varied}, value)
    assert " ".join((*found.code, *found.system)) == " ".join(names)


# As people head the columns of their tables.
COUNTS = (
    "#Cores, # procs, No. of nodes, Number of cores, num. ranks, Total cores, MPI Processes, mpi_ranks, OpenMP "
    "Threads, numThreads, NumProcs, nThreads, GPU count, GPUs, # of nodes, total number of cores, ncpus, CPU cores, "
    "#PEs, NP, #p, world_size, number of MPI processes, ranks #, Cores [#], no_procs, nb_procs, gpu_count, node_count, "
    "thread_count, ntmpi, ntomp, MPI, OMP"
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
    assert roles_of(f"{column},time_s").parameters == {"p": column}


@pytest.mark.parametrize("column", NO_COUNTS.split(", "))
def test_what_counts_no_processors(column):
    assert not is_processors(column)


@pytest.mark.parametrize("column", [*TIMES.split(", "), "Time, s", "Elapsed Time, sec"])
def test_times_as_people_write_them(column):
    assert guess_roles(["p", "x", column], {"p", "x", column}).value == column


def test_p_keeps_its_meaning_where_it_is_a_column_of_another():
    """A formula over columns, such as p*time, must not read the processors where the table has a column p."""
    assert roles_of("p*,procs,time_s").parameters == {"procs": "procs"}


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


RATES = "rate_per_s bandwidth_MB_s flops_s GB/s requests_per_second ops/s MB_per_s gflops tokens/s"
OTHER_RATES = "rate ops hz ipc mlups throughput_img_s frames/s zone-cycles/cpu_second ops_per_second"


@pytest.mark.parametrize("rate", [*RATES.split(), *OTHER_RATES.split()])
def test_a_rate_is_no_time_where_there_is_one_and_better_if_larger(rate):
    for columns in itertools.permutations(["p", "solve_s", rate]):
        assert roles_of(",".join(columns)).value == "solve_s"
    assert roles_of(f"{rate},time_s").parameters == {}
    if rate in RATES.split():
        alone = roles_of(f"p,{rate}")
        assert (alone.value, alone.unit != "s") == (rate, True)
    else:
        assert direction("", rate) == "larger"


@pytest.mark.parametrize(("given", "found"), [
    ("procs", {"p": "procs"}), ("procs,size", {"p": "procs", "size": "size"}),
    (" procs , n = size ", {"p": "procs", "n": "size"}), (["procs", "size"], {"p": "procs", "size": "size"}),
    (("P=procs",), {"P": "procs"}),
    ({"q": "procs", "n": "size"}, {"q": "procs", "n": "size"}),
    ("SIZE", {"p": "size"}), ("n=size,m=A b", {"n": "size", "m": "A b"}), ([], {}),
])  # fmt: skip
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
    formula = type("Same", (FormulaFunction,), {"name": symbol, "formula": symbol, "variables": (symbol,)})
    assert formula()({symbol: np.array([1.5, 2.5])}).tolist() == [1.5, 2.5]


@pytest.mark.parametrize(
    ("cells", "kind"), [(["1.1", "1.10"], "text"), (["0", "-0"], "text"), (["1.50", "2.25"], "number")]
)
def test_texts_are_numbers_if_different_ones_are_different_numbers(tmp_path, cells, kind):
    rows = "".join(f"{k},{cell},{k}.5\n" for k, cell in enumerate(cells, 1))
    (tmp_path / "runs.csv").write_text(f"p,release,time_s\n{rows}")
    assert (perfcore.read(tmp_path / "runs.csv").table["release"].dtype.kind in "iuf") == (kind == "number")


def test_times_of_several_ways_to_run_are_alternatives():
    """They are never added up, and what follows from them is not measured."""
    sizes = [128, 256, 512, 1024]
    table = pd.DataFrame(
        {"Matrix_Size": sizes, "CPU_Time_ms": [4.5, 42.3, 624.5, 7502.0], "GPU_Time_ms": [0.6, 1.2, 3.6, 13.0]}
    )
    data = Measurements(table.assign(Speedup=table["CPU_Time_ms"] / table["GPU_Time_ms"]))
    assert data.roles.alternatives == ("CPU_Time_ms", "GPU_Time_ms")
    assert data.roles.parameters == {"p": "Matrix_Size"}
    assert data.with_roles(value="GPU_Time_ms").roles.alternatives == ()


BETTER = {
    "larger": "GB/s, ops_per_s, items/s, ns/day, accuracy, score, hits, utilization_%, efficiency",
    "smaller": "misses/s, errors/s, cache_misses, latency, latency_ms, energy, memory_MB, cycles, time",
    "": "weight, error_rate, Mean, average",
}


@pytest.mark.parametrize(
    ("column", "better"), [(name, better) for better, names in BETTER.items() for name in names.split(", ")]
)
def test_which_values_are_better(column, better):
    data = Measurements(pd.DataFrame({"p": [1, 2, 4], column: [3.0, 5.0, 4.0]}), value=column)
    [line] = [line for line in perfcore.info(data)["roles"] if line.startswith(f"{column}: value")]
    assert re.findall(r"(\w+) is better", line) == [better] * bool(better)


# Seconds since 1970 of some dates, as `date -u -d 2020-02-01 +%s` gives them.
IN_2009, IN_2012, IN_2020, IN_2034, IN_2036 = 1.2517e9, 1.325376e9, 1.580515e9, 2.0198e9, 2.0829e9


@pytest.mark.parametrize(("column", "cells", "value"), [
    ("time", [IN_2012, IN_2020, IN_2034], "cost"), ("time", [IN_2009, IN_2012, IN_2020], "time"),
    ("time", [IN_2012, IN_2020, IN_2036], "time"), ("time", [IN_2034, IN_2020, IN_2012], "time"),
    ("time", [1e3 * IN_2012, 1e3 * IN_2020, 1e3 * IN_2034], "cost"), ("time", [1e6 * IN_2012, 1e6 * IN_2020], "cost"),
    ("time", [1e9 * IN_2012, 1e9 * IN_2020], "cost"), ("time_ms", [IN_2012, IN_2020, IN_2034], "time_ms"),
    ("time_ms", [1e3 * IN_2012, 1e3 * IN_2020], "cost"), ("time", [IN_2020], "time"),
    # At least half of the cells are numbers, or the column holds texts.
    ("time_s", ["8", "fast", "4", "slow"], "time_s"), ("time_s", ["8", "fast", "slow"], "cost"),
])  # fmt: skip
def test_what_is_measured_by_its_values(column, cells, value):
    """Numbers that increase with the years 2010 to 2034 are moments, in the unit of the name or in any."""
    n = len(cells)
    table = pd.DataFrame({"p": [1, 2, 4, 8][:n], column: cells, "cost": [3, 5, 4, 6][:n]})
    assert Measurements(table).roles.value == value


@pytest.mark.parametrize(("columns", "varied"), [
    ({"n": [1, 2, 4], "m": [3, 1, 2]}, "n"), ({"n": [5, 5, 5], "m": [1, 2, 3]}, "m"),
    ({"errors": [1, 2, 4], "n": [10, 20, 40]}, "n"), ({"size": [10, 20, 40], "results": [1, 2, 4]}, "size"),
    ({"p": [4, 4, 4], "nodes": [1, 2, 4]}, "nodes"), ({"p": [4, 4, 4], "n": [1, 2, 4]}, "n"),
])  # fmt: skip
def test_what_was_varied_by_its_values(columns, varied):
    """The first that has more than one value; results are none."""
    table = pd.DataFrame({**columns, "time_s": [1.5, 2.0, 3.0]})
    assert list(Measurements(table).roles.parameters.values()) == [varied]


# What `perf info` says of each column, and what gates take from it.
P = "1 2 4 8"
TABLES = {
    # Columns with their cells, and what each is.
    "about a run": (
        {"p": P, "time_s": "9 5 3 2", "rep": "1 2 1 2", "seed": "7 8 9 7", "round": "1 1 2 2", "status": "ok ok ok ok",
         "note": "a b c d", "unit": "s s s s", "commit_date": "1 2 3 4", "revision": "a b b a", "text": "x y z z"},
        {"p": "parameter (--parameter)", "time_s": "value [s], smaller is better (--value)", "rep": "repetition",
         "seed": "identifier, not used", "round": "round (perf gate)", "status": "outcome of the run",
         "note": "remark (--path)", "unit": "unit of the value", "commit_date": "date of the commit (perf gate)",
         "revision": "version (perf gate --version)", "text": "text (--path)"},
    ),
    "moments": (  # a number is one if it can be a time since 1970
        {"p": P, "time_s": "9 5 3 2", "timestamp": "1.7e9 1.8e9 1.7e9 1.9e9", "order": "4 9 5 7",
         "started": "2024-01-01 2024-01-02 2024-01-04 2024-01-03", "t0": "300000001 5e8 4e8 6e8"},
        {"timestamp": "date (perf gate)", "order": "number (--value, --parameter)", "started": "date (perf gate)",
         "t0": "date (perf gate)"},
    ),
    "nearly moments": (
        {"p": P, "time_s": "9 5 3 2", "t0": "300000000 5e8 4e8 6e8"}, {"t0": "number (--value, --parameter)"},
    ),
    "quantities": (
        {"ranks": P, "wall_s": "9 5 3 2", "io_s": "1 4 2 7", "read_MB/s": "5 9 2 4", "nx": "3 5 2 9",
         "weight": "4 9 1 6", "better": "larger smaller larger larger"},
        {"ranks": "parameter p (--parameter)", "wall_s": "value [s], smaller is better (--value)",
         "io_s": "time (--value, --parameter)", "read_MB/s": "rate (--value, --parameter)",
         "nx": "size (--value, --parameter)", "weight": "number (--value, --parameter)",
         "better": "which values are better (perf gate --better)"},
    ),
    "alternatives": (
        {"n": P, "CPU_ms": "9 5 3 2", "GPU_ms": "4 6 5 3"},
        {"CPU_ms": "value [ms], smaller is better (--value)",
         "GPU_ms": "alternative value, a model of its own (--value)"},
    ),
    "spreads": (  # a standard deviation goes before an error, and what is of another value is none of this one
        {"p": P, "solve_s": "9 5 3 2", "solve_sem": ".1 .1 .2 .1", "solve_std": ".1 .1 .2 .1", "io_std": "1 2 1 3",
         "N": "5 6 7 5"},
        {"solve_std": "spread of runs (deviation)", "solve_sem": "spread of runs, of another value",
         "io_std": "spread of runs, of another value", "N": "number of runs"},
    ),
    "no number of runs": (
        {"p": P, "time_s": "9 5 3 2", "ci95": ".1 .1 .2 .1", "n": "5 6.5 7 5"},
        {"ci95": "spread of runs (confidence)", "n": "size (--value, --parameter)"},
    ),
    "spreads in another kind of unit": (
        {"p": P, "time_s": "9 5 3 2", "std_ms": "9 8 7 8"}, {"std_ms": "spread of runs (deviation)"},
    ),
    # What follows from others to half a per cent is said with its formula; two values alone follow from anything.
    "derived": (
        {"p": P, "time_s": "8 5 3 2", "base_s": "8 10 9 16", "speedup": "1.0 2.0 3.0 8.02", "twice": "2 4 8 16",
         "rate": ".5 .8 1.333 2", "area": "64 100 36 64", "width": "8 10 6 8"},
        {"speedup": "derived, base_s/time_s: not used", "twice": "derived, 2 * p: not used",
         "rate": "derived, 4 * 1/time_s: not used", "area": "number (--value, --parameter)"},
    ),
    "nearly derived": (
        {"p": P, "time_s": "8 5 3 2", "twice": "2 4 8 16.2", "level": "1 2 2 1", "half": "2 4 4 2"},
        dict.fromkeys(("twice", "level", "half"), "number (--value, --parameter)"),
    ),
    "a product of what was varied": (
        {"ranks": P, "threads": "3 2 5 3", "time_s": "8 5 3 2", "cores_used": "3 4 20 24", "items": "16 25 9 4"},
        {"cores_used": "derived, threads*ranks: not used"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_what_each_column_is(tmp_path, name):
    columns, expected = TABLES[name]
    table = pd.DataFrame({column: cells.split() for column, cells in columns.items()})
    table.to_csv(tmp_path / "runs.csv", index=False)
    found = dict(line.split(": ", 1) for line in perfcore.info(tmp_path / "runs.csv")["roles"])
    assert {column: found[column] for column in expected} == expected


@pytest.mark.parametrize(("codes", "systems", "paths"), [
    ("aa", "xx", ("a",)), ("ab", "xx", ("a", "b")), ("aa", "xy", ("x", "y")), ("ab", "xy", ("a x", "b y")),
])  # fmt: skip
def test_series_are_named_by_what_differs_between_them(codes, systems, paths):
    rows = [(c, s, p, 1 / p) for c, s in zip(codes, systems, strict=True) for p in (1, 2, 4)]
    rows = list(dict.fromkeys(rows))
    table = pd.DataFrame(rows, columns=["code", "system", "p", "time_s"])
    assert perfcore.fit(table, fitter="scaling").paths == paths


# A spread of 3 % of the mean of 12 runs, in the ways in which it is printed; and of two where their number is not told.
T = stats.t.ppf(0.975, 11)
ERROR = stats.t.ppf(0.9995, 14) * 0.06 / np.sqrt(15)  # of BenchmarkDotNet, of 15 runs
SPREADS = {
    "deviation": ({"sd_s": 0.06, "n": 12}, 0.03, 12),
    "in another unit": ({"std_ms": 60.0, "n_runs": 12}, 0.03, 12),
    "of this value": ({"time_stddev": 0.06, "other_stddev": 9.0, "samples": 12}, 0.03, 12),
    "standard error": ({"sem": 0.06 / np.sqrt(12), "reps": 12}, 0.03, 12),
    "confidence interval": ({"ci95": T * 0.06 / np.sqrt(12), "runs": 12}, 0.03, 12),
    "confidence interval of unknown runs": ({"ci95": 1.959963984540054 * 0.06 / np.sqrt(2)}, 0.03, None),
    "deviation before error": ({"stderr": 9.0, "sd": 0.06, "n": 12}, 0.03, 12),
    "unknown runs": ({"sd_s": 0.06}, 0.03, None),
    "a 99.9% interval": ({"StdDev": 0.06, "Error": ERROR, "N": 15}, 0.03, 15),
    "a parameter N": ({"StdDev": 0.06, "Error": ERROR, "N": 1000}, 0.03, 10),  # ten are assumed
}


@pytest.mark.parametrize("how", SPREADS)
def test_spreads_are_standard_deviations_of_runs(how):
    columns, noise, runs = SPREADS[how]
    versions = [pd.DataFrame({"bench": ["a"], "time_s": [mean], **columns}) for mean in (2.0, 3.0)]
    [found] = perfcore.gate(*versions).to_dict()["benchmarks"]
    assert found["noise"] == pytest.approx([noise, noise * 2 / 3], rel=1e-9)
    assert runs is None or found["rounds"] == runs


def history(rows, /, **columns):
    """Forty commits of which the last ten are slower by half, in some order of the rows."""
    times = 1.0 + 0.01 * np.sin(np.arange(40.0)) + 0.5 * (np.arange(40) >= 30)
    table = pd.DataFrame({"commit": [f"c{k}" for k in range(40)], "time_s": times, **columns})
    return perfcore.gate_history(table.iloc[rows], commit="commit").report()


@pytest.mark.parametrize("moments", [
    {"date": [f"2024-02-{k // 2 + 1:02}T{12 * (k % 2) + 6:02}:00:00+01:00" for k in range(40)]},
    {"timestamp": [f"2024-01-01 00:00:{k:02}.5" for k in range(40)]},
    {"started": 1.7e9 + 60 * np.arange(40)}, {"order": np.arange(40) / 4}, {"time": 1.7e9 + np.arange(40)},
    {"order": ["?"] * 40, "date": 1.7e9 + np.arange(40)},  # what is no moment is passed over
])  # fmt: skip
def test_commits_come_in_the_order_of_their_moments(moments):
    assert history(np.random.default_rng(3).permutation(40), **moments).answer == history(np.arange(40)).answer
    assert "c30" in history(np.arange(40)).answer


def test_how_long_runs_took_is_no_moment():
    """Numbers below nine years of seconds in a column `time`: the order of the rows counts."""
    durations = np.random.default_rng(1).permutation(40) + 1.0
    assert history(np.arange(40), time=durations).answer == history(np.arange(40)).answer


def test_a_column_says_which_values_are_better():
    text = "bench,version,better,score\n" + "".join(
        f"{name},{version},{better},{base * (1 + 0.001 * k)}\n"
        for name, better in (("a", "larger"), ("b", " Smaller"), ("c", "larger"))
        for version, base in (("old", 1.0), ("new", 1.5))
        for k in range(8)
    )
    rows = perfcore.gate(pd.read_csv(io.StringIO(text))).to_dict()["benchmarks"]
    assert {row["benchmark"]: (row["better"], row["outcome"]) for row in rows} == {
        "a": ("larger", "pass"), "b": ("smaller", "fail"), "c": ("larger", "pass"),
    }  # fmt: skip
