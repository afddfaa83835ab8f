"""``perf info`` and `perfcore.info`: what a file is, which formats there are, and commands that run as suggested."""

import json
import re
import shlex
import shutil
import sys

import pandas as pd
import pytest
from format_samples import SAMPLES, TRACE
from trace_samples import PROJECTIONS_LOGS, PROJECTIONS_STS, otf2_files

import perfcore
from perfcore import Measurements, Trace, UtilizationCurve, info
from perfcore.__main__ import main
from perfcore.hooks.registry import registry


def facts_of(outcome):
    """Facts as the program prints them: the label, then its lines."""
    facts, label = {}, ""
    for line in outcome.lines:
        start, _, text = line.partition("  ")
        label = start or label
        facts.setdefault(label, []).append(text.strip())
    return facts


@pytest.mark.usefixtures("folder")
def test_a_curve_and_what_can_be_done_with_it(perf):
    facts = facts_of(perf("info", "curve.csv"))
    assert (facts["kind"], facts["steps"], facts["mean"]) == (["utilization curve"], ["4"], ["3.4"])  # of 40 and 60 us
    assert facts["next"][0].startswith("perf fit curve.csv")
    assert facts["next"][1].startswith("perf plot curve.csv")
    assert facts["notes"][0].startswith("start has no unit: its times are taken in us")
    assert facts["notes"][0] in "".join(perfcore.fit("curve.csv", fitter="worley").report().closing())


def test_runs_of_several_classes_are_series(perf, refused, folder):
    """As `perf fit` says in the same words; a fitter that takes them for repeated runs refuses them."""
    rows = [f"{code},{size},{p},{factor * 100 / p}" for code in ("lu", "cg") for size, factor in (("S", 1), ("A", 50))
            for p in (1, 2, 4, 8)]  # fmt: skip
    (folder / "mixed.csv").write_text("\n".join(["code,class,p,time_s", *rows]))
    facts = facts_of(perf("info", "mixed.csv"))
    [assumed] = facts["assumed"]
    assert assumed.startswith("one model for each class, since rows of one point, such as p=")
    assert assumed in perf("fit", "mixed.csv", "--all").out
    assert (facts["codes"], facts["systems"], facts["observations"]) == (["lu, cg"], ["S, A"], ["16"])
    assert "--fitter scaling" in facts["next"][0]
    refusal = refused("fit", "mixed.csv", "--fitter", "individual")
    assert "so they are no repeated runs; give each its own model with --code code,class, or choose one" in refusal


@pytest.mark.parametrize(("text", "said"), [
    ("ranks,threads,time_s\n1,8,9\n2,4,8\n4,2,8.5\n8,1,9.5\n", "ranks x threads is the same in all rows: "),
    ("p,build,time_s\n1,a,8\n1,b,8.1\n2,a,4\n2,b,4.1\n4,a,2\n4,b,2.04\n", "a, b are repeated runs, at most 2% apart"),
])  # fmt: skip
def test_what_is_taken_for_one_series_is_said(perf, folder, text, said):
    (folder / "runs.csv").write_text(text)
    [assumed] = facts_of(perf("info", "runs.csv"))["assumed"]
    assert said in assumed
    assert assumed in perf("fit", "runs.csv", "--all").out


def test_one_run_of_each_is_compared_by_a_gate(refused, folder):
    for name in "ab":
        (folder / f"{name}.csv").write_text("cores,time_s\n8,12.1\n")
    assert refused("compare", "a.csv", "b.csv").endswith("to compare the runs: perf gate a.csv b.csv")


# The facts themselves.
def test_facts_of_a_curve():
    notes = ["2 events passed over"]
    facts = info(UtilizationCurve([0, 1000, 3000], [2, 5], n_locations=8, notes=notes, source="x.csv")).facts
    assert facts["kind"] == "utilization curve"
    # (1000 * 2 + 2000 * 5) / 3000 = 4.
    assert (facts["steps"], facts["mean"], facts["highest"]) == (2, 4.0, 5.0)
    assert (facts["start"], facts["duration"], facts["time unit"]) == (0.0, 3000.0, "us")
    assert (facts["mean utilization"], facts["processors"]) == (0.5, 8)
    assert facts["notes"] == notes
    assert all(command.startswith("perf ") and "x.csv" in command for command in facts["next"])


def test_facts_of_a_trace():
    trace = Trace([0, 1], [0, 1], [0, 0], [4000, 4000], ["cpu0", "cpu1"], ["run", "idle"], source="x.prv")
    facts = info(trace).facts
    assert (facts["kind"], facts["intervals"], facts["locations"]) == ("trace", 2, 2)
    assert (facts["states"], facts["busy"]) == (["run", "idle"], ["run"])
    assert (facts["mean utilization"], facts["steps"]) == (0.5, 1)
    assert "notes" not in facts


def test_facts_of_measurements():
    runs = pd.DataFrame({"p": [1, 2, 4, 8, 16], "seconds": [8.0, 4.1, 2.2, 1.2, 0.9]})
    facts = info(Measurements(runs, source="runs.csv")).facts
    assert (facts["kind"], facts["rows"], facts["parameters"]) == ("measurements", 5, ["p"])
    assert (facts["value"], facts["code by"], facts["system by"]) == ("time [s]", [], [])
    assert (facts["observations"], facts["points"]) == (5, {"p": {"values": 5, "levels": [1, 2, 4, 8, 16]}})
    assert facts["range"] == "0.9 to 8 s"
    assert "never measured" not in facts
    assert "rows to know about" not in facts
    assert facts["next"] == ["perf fit runs.csv --fitter scaling --plot model.png", "perf rank runs.csv"]


def test_measurements_of_codes_on_systems():
    """Two runs on 4 processors of one pair, one time missing, one pair never measured, and rows that are copies."""
    columns = {"code": ["lu", "lu", "lu", "cg", "cg", "lu", "lu"], "host": ["a", "a", "b", "a", "a", "b", "b"]}
    times = {"procs": [4, 4, 2, 1, 2, 8, 8], "time_ms": [8.0, 6.0, 4.0, 2.0, None, 1.0, 1.0]}
    facts = info(Measurements(pd.DataFrame({**columns, **times}), source="runs.csv")).facts
    assert (facts["parameters"], facts["value"]) == (["p=procs"], "time_ms [ms]")
    assert (facts["codes"], facts["systems"]) == ("lu, cg", "a, b")
    assert (facts["observations"], facts["range"]) == (4, "1 to 7 ms")
    assert facts["never measured"] == "1 of 4 pairs: cg on b"
    empty, copied, repeated = facts["rows to know about"]
    assert copied.startswith("1 row repeats an earlier one in every column (row 6)")
    assert empty == "left out, without time_ms: 1 of 7 rows: empty (row 4)"
    assert repeated.startswith("2 of 4 points have several runs")
    assert facts["next"] == []  # no pair was measured often enough


@pytest.mark.parametrize(("columns", "reason", "told"), [
    ({"a": [1, 2], "b": [3, 4]}, "parameter='COLUMN'", ["--value", "--parameter"]),
    ({"p": [1, 2], "a": [3, 4], "b": [5, 6]}, "value='COLUMN'", ["--value"]),
    ({"p": [1, 0], "time_s": [3, 4]}, "row 1: p is 0", []),
])  # fmt: skip
def test_measurements_that_cannot_be_used_yet_are_described_all_the_same(columns, reason, told):
    facts = info(Measurements(pd.DataFrame(columns), source="runs.csv")).facts
    assert facts["columns"] == list(columns)
    assert facts["observations"].startswith("none: ")
    assert reason in facts["observations"]
    assert [line.split()[0] for line in facts.get("missing options", [])] == told
    assert facts["next"] == []  # what is printed there runs as it is


# Formats.
_listed = []


@pytest.fixture
def listed(perf):
    """What ``perf info --formats`` says, asked once."""
    _listed[:] = _listed or json.loads(perf("info", "--formats", "--json").out)["rows"]
    return _listed


def test_every_format_is_listed_with_an_example(listed):
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
def test_each_example_runs_as_it_is_printed(listed, tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    (example,) = (fact["example"] for fact in listed if fact["name"] == name)
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


# What is suggested runs as printed.
# One file of each kind and of each group of formats, none of which takes more than seconds.
REAL = [
    "benchresults/extrap/one_parameter_1.txt", "benchresults/fio.json", "benchresults/google_benchmark_1.json",
    "benchresults/imb_IMB_Allgather_128nodes_CrayMPICH_202010261851.out",
    "benchresults/npb/lu-D-16-16.out", "benchresults/reframe_perflog_excalibur.log",
    "scaling/hecbiosim_gromacs_categories.csv", "scaling/npb_mpi_picluster.csv",
    "timeseries/elb_request_count_8c0756.csv", "timeseries/mpstat-A.json", "timeseries/sadf-j.json",
    "traces/chrome/perfetto_flow_events_json_v1.json", "traces/caliper/lulesh_weak/27_cores.cali",
    "traces/cube/mm.x10y1z1.r1/profile.cubex", "traces/otf2/ping-pong-otf2/traces.otf2",
    "traces/paje/simgrid-fg126.trace", "traces/paje/variables.trace", "traces/paraver/qsort_beo3.prv",
    "traces/picl/conceptual_pingpong.trf", "traces/projections/charm-hello/hello.sts",
]  # fmt: skip
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


def run_suggestions(perf, file):
    """Runs everything that is suggested, also by suggested `perf info`; gives the commands back."""
    commands = json.loads(perf("info", file, "--json", status=(0,)).out)["facts"]["next"]
    for command in commands:
        program, *words = shlex.split(command)
        assert program == "perf"
        if words[0] == "info":
            commands += run_suggestions(perf, words[1])
        else:
            outcome = perf(*words, status=(0, 3))
            assert outcome.status == 0 or "Not fitted: " in outcome.out
    return commands


@pytest.mark.parametrize("name", TABLES)
def test_of_small_tables(perf, folder, name):
    text, expected = TABLES[name]
    (folder / "it's a table.csv").write_text(text)
    commands = [shlex.split(command) for command in run_suggestions(perf, "it's a table.csv")]
    assert [c[c.index("--fitter") + 1] if "--fitter" in c else c[1] for c in commands] == expected


@pytest.mark.real_data
@pytest.mark.parametrize(
    "name", [name if k % 2 else pytest.param(name, marks=pytest.mark.slow) for k, name in enumerate(REAL)]
)
@pytest.mark.usefixtures("folder")
def test_of_real_files(perf, real_data, name):
    run_suggestions(perf, real_data / name)


@pytest.mark.real_data
@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_refused_in_one_line(refused, real_data, name):
    assert refused("info", real_data / name).startswith(str(real_data / name))


# Also what a refusal suggests.
SUGGESTED = re.compile(r"(?:Next|fix): (?:.*? )??(perf (?:fit|gate|info|overheads|profile|rank|stochastic) .*)")
FILES = ("*.csv", "*.txt", "*.json", "*.jsonl", "log.*")
VERDICTS = {"gate": (0, 1, 3)}  # pass, fail, inconclusive
_EVERY = 12  # files of which one is looked at with each change


def suggestions(text):
    """Return the commands of an output, whose long lines are joined."""
    lines = re.sub(r"\n {2,}(?=\S)", " ", text).splitlines()
    return [match[1] for line in lines if (match := SUGGESTED.search(line))]


def checked(folder, tmp_path, monkeypatch, capsys, first, step):
    """Run what is suggested for some files, and return how many commands were run."""
    files = sorted(path for pattern in FILES for path in folder.glob(f"*/{pattern}") if path.stat().st_size < 200_000)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["perf", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return ended.value.code, out + err

    wrong, count = [], 0
    for path in files[first::step]:
        copy = tmp_path / path.parent.name
        if not copy.exists():
            shutil.copytree(path.parent, copy)
        monkeypatch.chdir(copy)
        status, text = run("info", path.name)
        assert status in (0, 2), text
        for command in suggestions(text):
            count += 1
            words = shlex.split(command)[1:]
            status, text = run(*words)
            if status not in VERDICTS.get(words[0], (0,)):
                wrong.append(f"{path.parent.name}/{path.name}: {command}: {status} {text[-300:]}")
    assert not wrong
    return count


@pytest.mark.real_data
def test_what_is_suggested_runs(real_data, tmp_path, monkeypatch, capsys):
    assert checked(real_data.parent / "cases", tmp_path, monkeypatch, capsys, 3, _EVERY) > 2


@pytest.mark.slow
@pytest.mark.real_data
def test_all_that_is_suggested_runs(real_data, tmp_path, monkeypatch, capsys):
    assert checked(real_data.parent / "cases", tmp_path, monkeypatch, capsys, 0, 1) > 40


@pytest.mark.parametrize(
    "table", ["p,time_s\n1,8\n2,4\n4,2\n", "p,region,time_s\n1,a,8\n1,b,1\n2,a,4\n2,b,1\n4,a,2\n4,b,1\n"]
)
def test_a_table_joined_with_itself_is_described_as_a_fit_refuses_it(tmp_path, table):
    (tmp_path / "twice.csv").write_text(table + table.partition("\n")[2])
    with pytest.raises(perfcore.PerfError, match="from here on the rows repeat those") as refused:
        perfcore.fit(tmp_path / "twice.csv")
    assert str(refused.value).partition("from here")[2] in str(info(perfcore.read(tmp_path / "twice.csv")).facts)
