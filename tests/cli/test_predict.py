"""``perf predict``: values of a saved model."""

import json

import pytest

import perfcore


@pytest.fixture(scope="module")
def phases():
    return perfcore.fit(perfcore.UtilizationCurve([0, 40, 100], [1, 5]), phases=2, degree=0)


@pytest.fixture
def model(phases, folder):
    phases.save(folder / "model.json")
    return folder / "model.json"


@pytest.mark.usefixtures("model")
def test_a_table_of_points_and_values(perf):
    table = [line.split() for line in perf("predict", "model.json", "--at", "t=0,39.5,40,101").lines]
    rows = [[t, v, v, v] for t, v in (("0", "1"), ("39.5", "1"), ("40", "5"), ("101", "-"))]
    assert table[2:7] == [["t", "value", "lower", "upper"], *rows]


@pytest.mark.usefixtures("model")
def test_bounds(perf):
    printed = perf("predict", "model.json", "--at", "t=50", "--interval", "0.95")
    assert [line.split() for line in printed.lines[2:4]] == [["t", "value", "lower", "upper"], ["50", "5", "5", "5"]]
    assert printed.lines[5].startswith("Uncertain: prediction interval of the utilization")
    points = json.loads(perf("predict", "model.json", "--at", "t=50", "--interval", "0.5", "--json").out)["rows"]
    assert points == [{"t": 50, "value": 5, "lower": 5, "upper": 5}]


@pytest.mark.parametrize(("text", "points"), [
    ("1", [1.0]), ("1,-2.5,1e3", [1.0, -2.5, 1000.0]), ("0..1:0.25", [0.0, 0.25, 0.5, 0.75, 1.0]),
    ("0..0.3:0.1", [0.0, 0.1, 0.2, 0.3]),  # the last one in spite of rounding
    ("5..1:-2", [5.0, 3.0, 1.0]), ("0..10:20,7", [0.0, 7.0]), ("1..64*4", [1.0, 4.0, 16.0, 64.0]),
    ("1..100*10,7", [1.0, 10.0, 100.0, 7.0]),
])  # fmt: skip
@pytest.mark.usefixtures("model")
def test_points(perf, text, points):
    rows = json.loads(perf("predict", "model.json", "--at", f"t={text}", "--json").out)["rows"]
    assert [row["t"] for row in rows] == pytest.approx(points)


# Two codes on three systems; the name of one holds commas. The times are exact: w / r (1 / p + 0.01).
WORK, SPEED = {"LU": 100.0, "SP, class A": 250.0}, {"SP2": 1.0, "T3D": 0.5, "Cray": 2.0}


RUNS = [
    f'"{code}",{system},{p},{work / speed * (1 / p + 0.01)!r}'
    for code, work in WORK.items()
    for system, speed in SPEED.items()
    for p in (2, 4, 8, 16)
    if (code, system) != ("SP, class A", "Cray")  # which never ran
]


@pytest.fixture
def joint(perf, folder):
    """Fit a joint model to the runs, and to others added."""

    def fitted(*added):
        text = "\n".join(["code,system,procs,time_s", *RUNS, *added, ""])
        (folder / "runs.csv").write_text(text)
        perf("fit", "runs.csv", "--fitter", "strohmaier", "--functions", "1/p,1", "-o", "joint.json")
        return folder / "joint.json"

    return fitted


def test_codes_and_systems_by_name(perf, joint):
    joint()
    table = perf("predict", "joint.json", "--at", "p=4,64", "--at", "code=LU", "--at", "system=Cray").lines
    rows = [line.split() for line in table[2:5]]
    assert [row[:4] + row[6:] for row in rows] == [
        ["procs", "code", "system", "value", "remark"],
        ["4", "LU", "Cray", "13"],
        ["64", "LU", "Cray", "1.28125", "extrapolated:", "procs", "was", "2", "to", "16"],
    ]


def test_what_the_data_do_not_determine(perf, joint):
    """On the system Bull only one size was run: two functions are not determined there, at that size their sum is."""
    joint("LU,Bull,4,26")
    words = ["--at", "p=4,64", "--at", "code=LU", "--at", "system=Bull", "--interval", "0.9", "--json"]
    measured, other = json.loads(perf("predict", "joint.json", *words).out)["rows"]
    assert measured["value"] == pytest.approx(26, rel=1e-6)
    assert measured["remark"] == ""
    assert other["remark"] == "not identifiable from these data"
    assert other["lower"] is other["upper"] is None
