"""What ``perf info`` suggests runs as printed: status 0, or 3 where some paths could not be fitted."""

import json
import shlex

import pytest

# One file of each kind and of each group of formats, none of which takes more than seconds.
REAL = [
    "benchresults/extrap/one_parameter_1.txt",
    "benchresults/fio.json",
    "benchresults/google_benchmark_1.json",
    "benchresults/imb_IMB_Allgather_128nodes_CrayMPICH_202010261851.out",
    "benchresults/npb/lu-D-16-16.out",
    "benchresults/reframe_perflog_excalibur.log",
    "scaling/hecbiosim_gromacs_categories.csv",
    "scaling/npb_mpi_picluster.csv",
    "timeseries/elb_request_count_8c0756.csv",
    "timeseries/mpstat-A.json",
    "timeseries/sadf-j.json",
    "traces/chrome/perfetto_flow_events_json_v1.json",
    "traces/caliper/lulesh_weak/27_cores.cali",
    "traces/cube/mm.x10y1z1.r1/profile.cubex",
    "traces/otf2/ping-pong-otf2/traces.otf2",
    "traces/paje/simgrid-fg126.trace",
    "traces/paje/variables.trace",
    "traces/paraver/qsort_beo3.prv",
    "traces/picl/conceptual_pingpong.trf",
    "traces/projections/charm-hello/hello.sts",
]
UNREADABLE = ["traces/paje/links.trace", "traces/paraver/qsort_beo3.pcf", "scaling/real_cases.jsonl"]

BY_CATEGORY = "".join(f"{p},{name},{time}\n" for p in (1, 2, 4, 8) for name, time in (("compute", 8 / p), ("wait", p)))
TABLES = {
    "few": ("p,time_s\n1,8\n2,4.2\n", ["scaling"]),
    "enough": ("p,time_s\n1,8\n2,4.2\n4,2.3\n8,1.4\n", ["scaling", "rank"]),
    "zeros": ("p,time_s\n1,8\n2,4\n4,2\n8,0\n", ["scaling"]),
    "copies": ("p,time_s\n1,8\n2,4.2\n4,2.3\n8,1.4\n8,1.4\n", ["scaling", "rank"]),
    "one point of each pair": ("code,system,p,time_s\nLU,A,4,8\nLU,B,4,6\nSP,A,4,3\nSP,B,4,2\n", []),
    "pairs": (
        "code,system,p,time_s\n" + "".join(f"{c},{s},{p},{8 / p + 1}\n" for c in "ab" for s in "xy" for p in (1, 2, 4)),
        ["strohmaier"],
    ),
    "categories at two points": (
        "p,category,time_s\n" + "".join(BY_CATEGORY.splitlines(keepends=True)[:4]),
        ["projection"],
    ),
    "categories": ("p,category,time_s\n" + BY_CATEGORY, ["projection"]),
    "copies by category": ("p,category,time_s\n" + BY_CATEGORY + "8,wait,8\n", ["projection"]),
    "one sample": ("time_s,a,b\n0,1,2\n", []),
    "samples": ("time_s,a,b\n0,,2\n1,1,2\n2,1,2\n3,1,2\n", ["forecast"]),
    "one step": ("start,end,value\n0,25,1\n", ["phases", "plot"]),
    "states": (
        "start_us,end_us,location,state\n0,40,c0,run\n40,90,c0,odd\n",
        ["overheads", "phases", "plot", "convert"],
    ),
    "no duration": ("start_us,end_us,location,state\n1,1,c0,run\n", ["convert"]),
}  # fmt: skip


def suggestions(perf, file):
    """Runs everything that is suggested, also by suggested `perf info`; gives the commands back."""
    commands = json.loads(perf("info", file, "--json", status=(0,)).out)["facts"]["next"]
    for command in commands:
        program, *words = shlex.split(command)
        assert program == "perf"
        if words[0] == "info":
            commands += suggestions(perf, words[1])
        else:
            outcome = perf(*words, status=(0, 3))
            assert outcome.status == 0 or "not fitted: " in outcome.out
    return commands


@pytest.mark.parametrize("name", TABLES)
def test_of_small_tables(perf, folder, name):
    text, expected = TABLES[name]
    (folder / "it's a table.csv").write_text(text)
    commands = [shlex.split(command) for command in suggestions(perf, "it's a table.csv")]
    assert [c[c.index("--fitter") + 1] if "--fitter" in c else c[1] for c in commands] == expected


@pytest.mark.real_data
@pytest.mark.parametrize(
    "name", [name if k % 2 else pytest.param(name, marks=pytest.mark.slow) for k, name in enumerate(REAL)]
)
@pytest.mark.usefixtures("folder")
def test_of_real_files(perf, real_data, name):
    suggestions(perf, real_data / name)


@pytest.mark.real_data
@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_refused_in_one_line(refused, real_data, name):
    assert refused("info", real_data / name).startswith(str(real_data / name))
