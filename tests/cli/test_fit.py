"""``perf fit``: data to a model by each kind of fitter, what is printed and written, and each way to get it wrong."""

import json
from pathlib import Path

import pytest

import perfcore

ARGUMENTS = ("--fitter", "phases", "--phases", "2", "--degree", "0")


@pytest.mark.usefixtures("folder")
def test_the_phases_as_a_table(perf):
    lines = perf("fit", "curve.csv", *ARGUMENTS).lines
    assert lines[0].startswith("2 phases in curve.csv")
    header = next(number for number, line in enumerate(lines) if line.startswith("phase"))
    assert [line.split()[:5] for line in lines[header + 1 : header + 3]] == [
        ["1", "0", "-", "40", "40"],
        ["2", "40", "[39.8,", "40.2]", "100"],  # one of 512 cells before and after
    ]
    assert lines[header + 4].startswith("Assumed: start has no unit: its times are taken in us")


@pytest.mark.usefixtures("folder")
def test_an_option_that_is_given_twice_counts_twice(perf):
    rows = [f"{a},{b},{p},{8 * a * b / p}" for a in (1, 2) for b in (1, 2) for p in (1, 2, 4)]
    Path("runs.csv").write_text("\n".join(["a,b,p,time_s", *rows]))
    once = perf("fit", "runs.csv", "--where", "a=2,b=1", "--json").out
    assert json.loads(perf("fit", "runs.csv", "--where", "a=2", "--where", "b=1", "--json").out) == json.loads(once)
    assert "expected one value" in perf("fit", "runs.csv", "--at", "p=8", "--at", "p=16", status=2).err


@pytest.mark.usefixtures("folder")
def test_json_is_the_model_file_and_its_statistics(perf):
    printed = json.loads(perf("fit", "curve.csv", *ARGUMENTS, "--json", "-o", "model.json").out)
    assert [(phase["start"], phase["end"]) for phase in printed["model"]["phases"]] == [(0, 40), (40, 100)]
    assert printed["statistics"]["epsilon"] == 0.0
    assert printed["answer"].startswith("2 phases")
    for name in ("statistics", "parameters", "answer", "figures", "notes", "next"):
        del printed[name]
    written = json.loads(Path("model.json").read_text())
    assert len(written.pop("digest")) == 16  # by which a model that was edited is known
    assert written == printed


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("words", "options"), [
    ((), {}),
    (("--phases", "1..3", "--rule", "penalty", "--refine"),
        {"phases": range(1, 4), "rule": "penalty", "refine": True}),
    (("--fitter", "worley", "--phases", "2", "--functions", "exp,log"),
        {"fitter": "worley", "phases": 2, "functions": ["exp", "log"]}),
    (("--fitter", "worley", "--tolerance", "3"), {"fitter": "worley", "tolerance": 3.0}),
    (("--phases=2", "--degree=1", "--segmenter=hill-climb"), {"phases": 2, "degree": 1, "segmenter": "hill-climb"}),
    (("--fitter", "worley", "--phases", "2", "--scale", "0.5", "--refine"),
        {"fitter": "worley", "phases": 2, "scale": 0.5, "refine": True}),
])  # fmt: skip
def test_python_and_the_command_line_are_the_same_call(perf, words, options):
    printed = json.loads(perf("fit", "curve.csv", "--json", *words).out)
    model = perfcore.fit("curve.csv", **{"fitter": "phases", **options})
    assert printed["answer"] == model.report().answer
    for name in ("statistics", "parameters", "answer", "figures", "notes", "next"):
        del printed[name]
    assert printed == json.loads(json.dumps(model.to_dict()))


def test_mistakes_in_options_are_found_before_the_data_are_read(refused):
    assert "--phases" in refused("fit", "no such file", "--fitter", "worley", "--phases", "0")
    assert "cannot draw" in refused("fit", "no such file", "--plot", "x.jpg")


def test_files_that_are_not_there(refused, folder):
    assert refused("fit", "none.csv") == "none.csv: there is no such file"
    assert "holds a trace, and" in refused("fit", folder)
    assert "Missing argument 'DATA'" in refused("fit")
    assert refused("fit", "curve.csv", "curve.csv") == "curve.csv: is given twice; name each file once"


def test_names_that_are_not_text(perf, folder):
    data, model = folder / "caf\udce9.csv", folder / "caf\udce9.json"  # the byte E9, as Python spells it
    data.write_text((folder / "curve.csv").read_text())
    assert "caf\ufffd.csv" in perf("fit", data, *ARGUMENTS, "-o", model).out
    assert perfcore.load(model).origin.source.endswith("caf\ufffd.csv")
    assert json.loads(perf("info", data, "--json").out)["facts"]["file"].endswith("caf\ufffd.csv")


# ``perf fit`` of measurements: both fitters, their options, and one line for each way to get it wrong.
COLUMNS = "code,system,procs,time_s\n"
WORK, SPEED = {"BT": (4.0, 0.2), "LU": (3.5, 0.3), "SP": (4.1, 0.8)}, {"SP2": (1.0, 1.0), "T3D": (0.4, 1.1)}


def time(code, system, p):
    (w_1, w_2), (r_1, r_2) = WORK[code], SPEED[system]
    return w_1 / r_1 / p + w_2 / r_2 / p**0.5


LINES = [
    f"{code},{system},{p},{time(code, system, p) * (1 + 0.01 * (-1) ** k):.6g}"
    for code in WORK
    for system in SPEED
    for k, p in enumerate((4, 8, 16, 32, 64))
]


@pytest.fixture
def pairs(folder):
    """Three codes on two systems; every other time is 1 % too long, the others 1 % too short."""
    (folder / "runs.csv").write_text(COLUMNS + "\n".join(LINES) + "\n")
    return folder / "runs.csv"


JOINT = ("--fitter", "strohmaier", "--functions", "1/p,1/sqrt(p)", "--reference", "SP2")
SINGLE = ("--fitter", "individual", "--functions", "1/p,1/sqrt(p)")


@pytest.mark.usefixtures("pairs")
def test_parameters_of_the_joint_model(perf):
    lines = perf("fit", "runs.csv", *JOINT).lines
    assert lines[0].startswith("Joint model 1/procs + 1/sqrt(procs) of runs.csv, 3 codes x 2 systems: predicts ")
    assert lines[1].startswith("30 observations of time_s [s] over procs; codes: BT, LU, SP; systems: SP2, T3D")
    assert "response transformed to t' = t * procs; predictions in original units" in lines
    header = next(
        number for number, line in enumerate(lines) if line.startswith("Parameters (1: 1/procs, 2: 1/sqrt(procs)")
    )
    rows = {line.split()[0]: float(line.split()[1]) for line in lines[header + 2 : header + 10]}
    expected = {f"w_{i + 1}^{code}": WORK[code][i] for i in (0, 1) for code in WORK}
    expected |= {f"r_{i + 1}^T3D": SPEED["T3D"][i] for i in (0, 1)}
    assert set(rows) == set(expected)
    # Errors of 1 %, and second terms of a tenth of the whole.
    assert rows == pytest.approx(expected, rel=0.2)


@pytest.mark.usefixtures("pairs")
def test_pairs_of_the_individual_fits(perf):
    lines = perf("fit", "runs.csv", *SINGLE).lines
    assert lines[0].startswith("6 individual fits of runs.csv: ")
    header = next(number for number, line in enumerate(lines) if line.startswith("code "))
    assert {tuple(line.split()[:2]) for line in lines[header + 1 : header + 7]} == {(c, s) for c in WORK for s in SPEED}


@pytest.mark.usefixtures("pairs")
@pytest.mark.parametrize(("words", "ending"), [(JOINT, "svg"), (SINGLE, "html")])
def test_what_was_written_is_named_last(perf, words, ending):
    Path("new").mkdir()
    lines = perf("fit", "runs.csv", *words, "-o", "new/m.json", "--plot", f"new/m.{ending}").lines
    assert lines[-2:] == ["model: new/m.json", f"picture: new/m.{ending}"]
    assert "<svg" in Path(f"new/m.{ending}").read_text()


@pytest.mark.usefixtures("pairs")
def test_roles_of_columns_may_be_told(perf, folder):
    text = "name,class,machine,cores,size,wall\n" + "".join(
        f"{code},{size},{system},{p},9,{time(code, system, p)}\n"
        for code, size in (("BT", "A"), ("LU", "B"))
        for system in SPEED
        for p in (4, 16, 64)
    )
    (folder / "other.csv").write_text(text)
    words = ["--parameter", "cores", "--value", "wall", "--code", "name,class", "--system", "machine", "--unit", "s"]
    lines = perf("fit", "other.csv", "--fitter", "individual", "--functions", "1/p", *words).lines
    assert lines[1] == "12 observations of wall [s] over cores; codes: BT A, LU B; systems: SP2, T3D"


@pytest.mark.usefixtures("pairs")
def test_processes_rank_and_refit_to_the_same_digits(perf, refused):
    for words in (
        ["rank", "runs.csv", "--fitter", "strohmaier", "--terms", 1, "--json", "--parallel", "local:1"],
        ["fit", "runs.csv", *JOINT, "--intervals", "bootstrap", "--draws", 30, "--json", "--parallel", "local:2"],
    ):
        assert perf(*words).out == perf(*words[:-2]).out
    assert refused("rank", "none.csv", "--fitter", "individual", "--parallel", "local:2") == (
        "individual works in one process and has no parts for --parallel (executor); leave it out"
    )
    for words, message in (
        (["runs.csv", "--parallel", "cloud:2", "--fitter", "strohmaier"], "--parallel 'cloud:2': local:N"),
        (["runs.csv", "--parallel", "local:2", "--fitter", "scaling"], "scaling works in one process"),
    ):
        assert message in refused("fit", *words)


@pytest.mark.usefixtures("pairs")
@pytest.mark.parametrize(("words", "message"), [
    (["--fitter", "strohmeier"], "unknown fitter 'strohmeier': did you mean 'strohmaier'?"),
    (["--functions", "each"], "--functions each belongs to the fitter individual"),
    (["--functions", "1/q"], "function '1/q' depends on 'q'; the data have p"),
    (["--functions", "1/(p"], "'1/(p'"),
    (["--functions", "1/(p-4),1"], "function '1/(procs - 4)' is"),
    (["--functions", "__import__('os').system('id')"], "__import__"),
    (["--reference", "Cray"], "unknown system 'Cray': choose from SP2, T3D"),
    (["--where", "system=SP2"], "runs.csv: there is one system only (SP2), so that nothing joins the codes"),
    (["--where", "procs=4", "--functions", "1/p,1,p"], "runs.csv: 6 observations are fewer than the 12 parameters"),
    (["--where", "procs>64"], "runs.csv: no row meets 'procs>64'"),
    (["--where", "code=EP"], "where: no row has code=EP"),
    (["--where", "procs"], "'procs' is no condition; COLUMN=VALUE, COLUMN=A|B"),
    (["--weights", "spread"], "--weights spread needs repeated runs, and no point of runs.csv was measured twice"),
    (["--weights", "repetitions"], "--weights repetitions needs repeated runs"),
    (["--unit", "ms"], "column 'time_s' says 's'"), (["--parameter", "cores"], "unknown column 'cores'"),
    (["--value", "time"], "unknown column 'time': did you mean 'time_s'?"),
    (["--code", "name"], "unknown column 'name'"), (["--code", "code,code"], "column 'code' is given twice"),
    (["--parameter", "code"], "runs.csv:2: code is 'BT'; a number is expected"),
    (["--where", "procs=4", "--fitter", "individual", "--parameter", "code"], "runs.csv:2: code is 'BT'; a number is"),
    (["--parameter", "procs", "--value", "procs"], "column 'procs' is given as parameter and as value"),
    (["--operations", "BT=168"], "operations is not known for code LU, SP; it is for BT"),
    (["--operations", "counts.csv"], "gflop is not known for code SP; it is for BT, LU"),
    (["--operations", "counts.csv:flop"], "'flop': did you mean 'gflop'?"),
    (["--operations", "procs"], "procs of code BT is between 4 and 64; a quantity of the code must be the same"),
    (["--operations", "none.csv"], "--operations 'none.csv': neither a column, nor a file, nor a formula"),
    (["--peak", "SP2=266,T3D=fast"], "--peak 'T3D=fast': NAME=VALUE with a positive number is expected"),
    (["--prepare", "peak"], "--prepare peak needs --peak"),
    (["--prepare", "sqrt"], "'sqrt' is none of auto, none, parameter, operations, peak"),
    (["--intervals", "profile", "--loss", "huber"], "--intervals profile needs least squares"),
    (["--starts", "none"], "strohmaier: --starts 'none': a number is expected"),
    (["--aggregate", "maximum"], "unknown value 'maximum'"), (["--phases", "3"], "No such option '--phases'"),
])  # fmt: skip
def test_mistakes_in_options_write_nothing(refused, folder, words, message):
    (folder / "counts.csv").write_text("code,gflop\nBT,168.284\nLU,119.297\n")
    before = sorted(folder.iterdir())
    assert message in refused("fit", "runs.csv", "--fitter", "strohmaier", "-o", "model.json", *words)
    assert sorted(folder.iterdir()) == before


@pytest.mark.real_data
def test_times_over_nodes_and_atoms(perf, real_data, folder):
    """Simulations of molecules: the time per step over nodes and atoms, of the best layout of threads at each."""
    out = perf(
        "fit", real_data / "scaling/hecbiosim_gromacs_runs.csv", "--fitter", "individual",
        "--parameter", "p=nodes,n=atoms", "--value", "s_per_step", "--system", "machine",
        "--where", "code=gromacs,s_per_step>0,nodes>0,best=yes", "--functions", "n/p,1,n^(2/3)/p^(2/3)",
        "--sign", "bounded", "-o", "model.json",
    ).lines  # fmt: skip
    assert "over nodes, atoms" in out[1]
    places = ["--at", "p=1..8*2", "--at", "n=1e6"]
    values = [point["value"] for point in json.loads(perf("predict", "model.json", *places, "--json").out)["rows"]]
    assert values == sorted(values, reverse=True)


# ``perf fit --fitter scaling``: what is printed, written and refused, and the exit status.
LEVELS = (4, 8, 16, 32, 64)
HEADER = "p,function,time_s\n"
FIT = ("--fitter", "scaling", "--at", "p=256")


def lines_of(name, values, levels=LEVELS):
    return "".join(f"{p},{name},{y}\n" for p, y in zip(levels, values, strict=False))


SOLVE = lines_of("solve", [10 + 1000 / p for p in LEVELS])
EXCHANGE = lines_of("exchange", [2 + 0.5 * p for p in LEVELS])
BAD = {
    "one point": (lines_of("bad", [1]), "bad: 1 distinct point; 3 are required"),
    "too few points": (lines_of("bad", [1, 2]), "bad: 2 distinct points; 3 are required"),
    "zeros": (lines_of("bad", [0] * 5), "bad: is 0 at every point"),
    "more zeros than values": (
        lines_of("bad", [1, 0, 0, 0, 1]),
        "bad: holds 0, and is above 0 at fewer than the 3 points",
    ),
    "negative": (lines_of("bad", [1, -2, 1, 1, 1]), "bad: holds -2; noise is relative to the value"),
    "missing": (lines_of("bad", [1, 2, "", "", ""]), "bad: 2 distinct points; 3 are required"),
    "nan": (lines_of("bad", [1, 2, "nan", "nan", "nan"]), "bad: 2 distinct points; 3 are required"),
}


@pytest.fixture
def paths(folder):
    Path("runs.csv").write_text(HEADER + SOLVE + EXCHANGE)
    return folder


@pytest.mark.usefixtures("paths")
def test_the_table_begins_with_the_largest_share(perf):
    lines = perf("fit", "runs.csv", *FIT).lines
    assert lines[0].startswith("At p=256 (4x beyond the data): 1")
    header = next(number for number, line in enumerate(lines) if line.startswith("call path "))
    assert [line.split()[0] for line in lines[header + 1 : header + 3]] == ["exchange", "solve"]
    assert "  p  " in lines[header + 1]
    assert "2 + 0.5*p" in lines[header + 1]
    assert "  1/p  " in lines[header + 2]


@pytest.mark.parametrize("kind", BAD)
def test_bad_paths_are_listed_the_others_fitted_and_the_status_is_3(perf, paths, kind):
    rows, reason = BAD[kind]
    (paths / "runs.csv").write_text(HEADER + SOLVE + rows + EXCHANGE)
    done = perf("fit", "runs.csv", *FIT, "-o", "laws.json", status=3)
    assert any(line.startswith(f"Not fitted: {reason}") for line in done.lines)
    assert perfcore.load("laws.json").formula == "solve = 10 + 1000/p\nexchange = 2 + 0.5*p"
    assert done.err == ""


@pytest.mark.usefixtures("paths")
@pytest.mark.parametrize(("words", "message"), [
    (("--at", "q=3"), "unknown parameter 'q': choose from p"),
    (("--at", "p=4,p=8"), "scaling: --at 'p=4,p=8': expected one value of each parameter"),
    (("--at", "p=0"), "--at p=0: a positive level is expected"),
    (("--at", "many"), "expected one value of each parameter, e.g. p=4096"),
    (("--table", "html"), "'html' is not one of 'csv', 'spreadsheet', 'latex'"),
])  # fmt: skip
def test_mistakes_in_options(refused, words, message):
    assert message in refused("fit", "runs.csv", "--fitter", "scaling", *words)


@pytest.mark.parametrize(("columns", "at", "answer"), [
    ({"p": [1, 2, 4, 8, 16, 32]}, "128", "At p=128 (4x beyond the data): "),
    ({"p": [4] * 6, "n": [10, 20, 40, 80, 160, 320]}, "n=640", "At n=640 (2x beyond the data): "),
    ({"p": [4] * 6, "n": [10, 20, 40, 80, 160, 320]}, "640", "At n=640 (2x beyond the data): "),
    ({"batch": [10, 20, 40, 80, 160, 320]}, "batch=640", "At batch=640 (2x beyond the data): "),
    ({"threads": [1, 2, 4, 8, 16, 32]}, "threads=16", "At threads=16 (measured): "),
])  # fmt: skip
def test_the_target_names_the_parameters(folder, columns, at, answer):
    table = {**columns, "time_s": [1.0, 1.6, 2.9, 5.2, 10.3, 20.1]}
    rows = [",".join(table), *(",".join(map(str, row)) for row in zip(*table.values(), strict=True))]
    Path("runs.csv").write_text("\n".join(rows) + "\n")
    assert perfcore.fit("runs.csv", fitter="scaling", at=at).report().answer.startswith(answer)


def test_a_number_that_was_varied_is_a_parameter(folder):
    """Of a column that nobody names, if without it rows would pass for repeated runs that they are not."""
    rows = [f"{p},{n},{n * n / p}" for p in (1, 2, 4, 8) for n in (10, 20, 40, 80)]
    Path("runs.csv").write_text("\n".join(["p,n,time_s", *rows]) + "\n")
    model = perfcore.fit("runs.csv", fitter="scaling")
    assert tuple(model.parameter_names.values()) == ("p", "n")
    assert any("parameters p, n" in text for text in model.report().notes_by_label()["Assumed"])
    assert model.formula == "1*n^2/p"


@pytest.mark.real_data
@pytest.mark.parametrize(("file", "law"), [("input_1.JSON", "1.5 + 0.5*x"), ("test1.jsonl", "1*x^2 + 1*y")])
def test_files_of_extra_p(perf, real_data, folder, file, law):
    """Extra-P's own tests: the data are made of these laws."""
    assert law in perf("fit", real_data / "benchresults/extrap" / file, "--fitter", "scaling").out


def test_several_files_are_one_data_set(perf, refused, folder):
    rows = ["1,10.2", "2,5.3", "4,2.9", "8,1.68", "16,1.12", "32,0.86"]
    for name, part in (("all", rows), ("a", rows[:3]), ("b", rows[3:])):
        (folder / f"{name}.csv").write_text("\n".join(["p,time_s", *part]) + "\n")
    answers = [
        perf("fit", *files, "--at", "p=128").lines[0] for files in (["all.csv"], ["a.csv", "b.csv"], ["[ab].csv"])
    ]
    assert len(set(answers)) == 1
    assert refused("fit", "a.csv", "none.csv") == "none.csv: there is no such file"


def test_what_may_have_been_varied_is_named_where_the_processors_were_not(refused, perf, folder):
    (folder / "runs.csv").write_text(
        "freq_ghz,cores,runtime_s,energy_j\n1.2,8,20.1,1800\n1.8,8,14.2,1650\n3,8,10.1,1990\n"
    )
    message = refused("fit", "runs.csv")
    assert "1 distinct point; 3 are required" in message
    assert "name what was varied: --parameter freq_ghz (or energy_j)" in message
    assert perf("fit", "runs.csv", "--parameter", "freq_ghz").out.startswith("At freq_ghz=12")
