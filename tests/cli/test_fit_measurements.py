"""``perf fit`` of measurements: both fitters, their options, and one line for each way to get it wrong."""

import json
from pathlib import Path

import pytest

HEADER = "code,system,procs,time_s\n"
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
def runs(folder):
    """Three codes on two systems; every other time is 1 % too long, the others 1 % too short."""
    (folder / "runs.csv").write_text(HEADER + "\n".join(LINES) + "\n")
    return folder / "runs.csv"


JOINT = ("--fitter", "strohmaier", "--functions", "1/p,1/sqrt(p)", "--reference", "SP2")
SINGLE = ("--fitter", "individual", "--functions", "1/p,1/sqrt(p)")


@pytest.mark.usefixtures("runs")
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


@pytest.mark.usefixtures("runs")
def test_pairs_of_the_individual_fits(perf):
    lines = perf("fit", "runs.csv", *SINGLE).lines
    assert lines[0].startswith("6 individual fits of runs.csv: ")
    header = next(number for number, line in enumerate(lines) if line.startswith("code "))
    assert {tuple(line.split()[:2]) for line in lines[header + 1 : header + 7]} == {(c, s) for c in WORK for s in SPEED}


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(("words", "ending"), [(JOINT, "svg"), (SINGLE, "html")])
def test_what_was_written_is_named_last(perf, words, ending):
    Path("new").mkdir()
    lines = perf("fit", "runs.csv", *words, "-o", "new/m.json", "--plot", f"new/m.{ending}").lines
    assert lines[-2:] == ["model: new/m.json", f"picture: new/m.{ending}"]
    assert "<svg" in Path(f"new/m.{ending}").read_text()


@pytest.mark.usefixtures("runs")
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


@pytest.mark.usefixtures("runs")
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


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(("words", "message"), [
    (["--fitter", "strohmeier"], "unknown fitter 'strohmeier': did you mean 'strohmaier'?"),
    (["--fitter", "strohmeier", "--at", "p=64"], "unknown fitter 'strohmeier': did you mean 'strohmaier'?"),
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
    (["--level", "1"], "--level '1': a number above 0 and below 1 is expected, such as 0.95"),
    (["--intervals", "profile", "--loss", "huber"], "--intervals profile needs least squares"),
    (["--starts", "none"], "strohmaier: --starts 'none': a number is expected"),
    (["--aggregate", "maximum"], "unknown value 'maximum'"), (["--phases", "3"], "No such option '--phases'"),
    (["--plot", "m.jpg"], "cannot draw 'm.jpg'"),
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
