"""``perf info``: what a file is."""

import json
import shlex
import sys

import pytest
from format_samples import SAMPLES, TRACE
from trace_samples import PROJECTIONS_LOGS, PROJECTIONS_STS, otf2_files

import perfcore
from perfcore.__main__ import main
from perfcore.hooks.registry import registry


@pytest.mark.usefixtures("folder")
def test_a_curve_and_what_can_be_done_with_it(perf):
    lines = perf("info", "curve.csv").lines
    facts = {line[: line.index("  ")]: line.split("  ")[-1].strip() for line in lines if line[0] != " "}
    assert facts["kind"] == "utilization curve"
    assert facts["steps"] == "4"
    assert facts["mean"] == "3.4"  # (40 * 1 + 60 * 5) / 100
    assert facts["next"].startswith("perf fit curve.csv")
    assert lines[-2].strip().startswith("perf plot curve.csv")
    assert facts["notes"].startswith("start has no unit: its times are taken in us")


RUNS = "code,system,procs,time_s\n" + "".join(
    f"{code},{system},{p},{100 / p + size}\n"
    for code, size in (("LU", 1), ("SP", 2))
    for system in ("SP2", "T3D")
    for p in (4, 8, 16, 32)
    if (code, system, p) != ("SP", "T3D", 32)
)


def facts_of(outcome):
    """Facts as the program prints them: the label, then its lines."""
    facts, label = {}, ""
    for line in outcome.lines:
        start, _, text = line.partition("  ")
        label = start or label
        facts.setdefault(label, []).append(text.strip())
    return facts


def test_measurements_and_their_roles(perf, folder):
    (folder / "runs.csv").write_text(RUNS)
    facts = facts_of(perf("info", "runs.csv"))
    assert facts["kind"] == ["measurements"]
    assert facts["rows"] == facts["observations"] == ["15"]
    assert facts["parameters"] == ["p=procs"]
    assert facts["value"] == ["time_s [s]"]
    assert facts["points"] == ["procs: 4 values, 4 to 32"]
    assert facts["range"] == ["4.125 to 27 s"]
    assert facts["codes"] == ["LU, SP"]
    assert facts["systems"] == ["SP2, T3D"]
    assert "never measured" not in facts
    assert "rows to know about" not in facts


def test_runs_of_several_classes_are_no_observations_and_no_fit_is_suggested(perf, refused, folder):
    """`perf fit` refuses them with the same words."""
    rows = [f"{code},{size},{p},{factor * 100 / p}" for code in ("lu", "cg") for size, factor in (("S", 1), ("A", 50))
            for p in (1, 2, 4, 8)]  # fmt: skip
    (folder / "mixed.csv").write_text("\n".join(["code,class,p,time_s", *rows]))
    facts = facts_of(perf("info", "mixed.csv"))
    [why] = facts["observations"]
    assert "so they are no repeated runs; give each its own model with --code code,class, or choose one" in why
    assert facts["codes"] == ["lu, cg"]
    assert "next" not in facts
    assert "rows to know about" not in facts
    assert why.removeprefix("none: ") in refused("fit", "mixed.csv", "--fitter", "individual")


# The list of formats, and what `perf info` says of a data set.
def test_every_format_is_listed_with_an_example(perf):
    listed = json.loads(perf("info", "--formats", "--json").out)["rows"]
    assert [fact["name"] for fact in listed] == list(registry().entries("readers"))
    for fact in listed:
        assert fact["problem"] is not None or fact["example"].startswith("perf ")
        assert fact["help"]


# Formats of several files, as the example names them.
SEVERAL_FILES = {
    "projections": {"run.sts": PROJECTIONS_STS.encode()}
    | {f"run.{processor}.log": log.encode() for processor, log in enumerate(PROJECTIONS_LOGS)},
    "otf2": {name.removeprefix("run/").replace("traces", "run"): content for name, content in otf2_files().items()},
}


@pytest.mark.parametrize("name", [*SAMPLES, "parquet"])
def test_each_example_runs_as_it_is_printed(perf, tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    (example,) = (
        fact["example"] for fact in json.loads(perf("info", "--formats", "--json").out)["rows"] if fact["name"] == name
    )
    file = shlex.split(example)[2]
    if name == "parquet":
        (tmp_path / "t.csv").write_text(TRACE)
        perfcore.write(perfcore.read("t.csv"), file)
    else:
        first = SAMPLES[name][0][1]
        content = first if isinstance(first, bytes) else first.encode()
        for path, part in SEVERAL_FILES.get(name, {file: content}).items():
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_bytes(part)
    monkeypatch.setattr(sys, "argv", shlex.split(example))
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0, capsys.readouterr().err


# What ``perf info`` suggests runs as printed: status 0, or 3 where some paths could not be fitted.
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
    "traces/caliper/lulesh_weak/27_cores.cali",
    "traces/chrome/perfetto_flow_events_json_v1.json",
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
    "few": ("p,time_s\n1,8\n2,4.2\n", []),
    "enough": ("p,time_s\n1,8\n2,4.2\n4,2.3\n8,1.4\n", ["rank", "scaling"]),
    "zeros": ("p,time_s\n1,8\n2,4\n4,2\n8,0\n", ["scaling"]),
    "copies": ("p,time_s\n1,8\n2,4.2\n4,2.3\n8,1.4\n8,1.4\n", ["rank", "scaling"]),
    "one point of each pair": ("code,system,p,time_s\nLU,A,4,8\nLU,B,4,6\nSP,A,4,3\nSP,B,4,2\n", []),
    "pairs": (
        "code,system,p,time_s\n" + "".join(f"{c},{s},{p},{8 / p + 1}\n" for c in "ab" for s in "xy" for p in (1, 2, 4)),
        ["strohmaier"],
    ),
    "categories at two points": ("p,category,time_s\n" + "".join(BY_CATEGORY.splitlines(keepends=True)[:4]), ["lca"]),
    "categories": ("p,category,time_s\n" + BY_CATEGORY, ["lca", "modgen", "scaling"]),
    "copies by category": ("p,category,time_s\n" + BY_CATEGORY + "8,wait,8\n", ["lca", "modgen", "scaling"]),
    "one sample": ("time_s,a,b\n0,1,2\n", []),
    "samples": ("time_s,a,b\n0,,2\n1,1,2\n2,1,2\n3,1,2\n", ["forecast"]),
    "one step": ("start,end,value\n0,25,1\n", ["phases", "plot"]),
    "states": (
        "start_us,end_us,location,state\n0,40,c0,run\n40,90,c0,odd\n",
        ["phases", "plot", "overheads", "convert"],
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
@pytest.mark.parametrize("name", REAL)
@pytest.mark.usefixtures("folder")
def test_of_real_files(perf, real_data, name):
    suggestions(perf, real_data / name)


@pytest.mark.real_data
@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_refused_in_one_line(refused, real_data, name):
    assert refused("info", real_data / name).startswith(str(real_data / name))
