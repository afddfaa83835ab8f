"""``perf info`` and `perfcore.info`: what a file is."""

import pandas as pd
import pytest

from perfcore import Measurements, Trace, UtilizationCurve, info


@pytest.mark.usefixtures("folder")
def test_a_curve_and_what_can_be_done_with_it(perf):
    lines = perf("info", "curve.csv").lines
    facts = {
        line[: line.index("  ")]: line.split("  ")[-1].strip() for line in lines if line[:1].strip() and "  " in line
    }
    assert facts["kind"] == "utilization curve"
    assert facts["steps"] == "4"
    assert facts["mean"] == "3.4"  # (40 * 1 + 60 * 5) / 100
    assert facts["next"].startswith("perf fit curve.csv")
    assert lines[-4].strip().startswith("perf plot curve.csv")
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
    assert facts["points"] == ["procs: 4 values, 4, 8, 16, 32"]
    assert facts["range"] == ["4.125 to 27 s"]
    assert facts["codes"] == ["LU, SP"]
    assert facts["systems"] == ["SP2, T3D"]
    assert "never measured" not in facts
    assert "rows to know about" not in facts


def test_runs_of_several_classes_are_no_observations(perf, refused, folder):
    """A fitter that takes them for repeated runs refuses them with the same words."""
    rows = [f"{code},{size},{p},{factor * 100 / p}" for code in ("lu", "cg") for size, factor in (("S", 1), ("A", 50))
            for p in (1, 2, 4, 8)]  # fmt: skip
    (folder / "mixed.csv").write_text("\n".join(["code,class,p,time_s", *rows]))
    facts = facts_of(perf("info", "mixed.csv"))
    [why] = facts["observations"]
    assert "so they are no repeated runs; give each its own model with --path code,class, or choose one" in why
    assert facts["codes"] == ["lu, cg"]
    assert "--fitter scaling" in facts["next"][0]
    assert "rows to know about" not in facts
    refusal = refused("fit", "mixed.csv", "--fitter", "individual")
    assert why.removeprefix("none: ").replace("--path", "--code") in refusal


# The facts themselves.
def test_facts_of_a_curve():
    facts = info(
        UtilizationCurve([0, 1000, 3000], [2, 5], n_locations=8, notes=["2 events passed over"], source="x.csv")
    ).facts
    assert facts["kind"] == "utilization curve"
    # (1000 * 2 + 2000 * 5) / 3000 = 4.
    assert (facts["steps"], facts["mean"], facts["highest"]) == (2, 4.0, 5.0)
    assert (facts["start"], facts["duration"]) == ("0 ns", "3 ms")
    assert facts["mean utilization"] == "0.500 of 8"
    assert facts["notes"] == ["2 events passed over"]
    assert all(command.startswith("perf ") and "x.csv" in command for command in facts["next"])


def test_facts_of_a_trace():
    trace = Trace([0, 1], [0, 1], [0, 0], [4000, 4000], ["cpu0", "cpu1"], ["run", "idle"], source="x.prv")
    facts = info(trace).facts
    assert (facts["kind"], facts["intervals"], facts["locations"]) == ("trace", 2, 2)
    assert (facts["states"], facts["busy"]) == (["run", "idle"], ["run"])
    assert (facts["mean utilization"], facts["steps"]) == ("0.500 of 2", 1)
    assert "notes" not in facts


def test_facts_of_measurements():
    runs = pd.DataFrame({"p": [1, 2, 4, 8, 16], "seconds": [8.0, 4.1, 2.2, 1.2, 0.9]})
    facts = info(Measurements(runs, source="runs.csv")).facts
    assert (facts["kind"], facts["rows"], facts["parameters"]) == ("measurements", 5, ["p"])
    assert (facts["value"], facts["code by"], facts["system by"]) == ("time [s]", [], [])
    assert (facts["observations"], facts["points"]) == (5, ["p: 5 values, 1, 2, 4, 8, 16"])
    assert facts["range"] == "0.9 to 8 s"
    assert "never measured" not in facts
    assert "rows to know about" not in facts
    assert facts["next"] == ["perf fit runs.csv --fitter scaling --plot model.png", "perf rank runs.csv"]


def test_measurements_of_codes_on_systems():
    """Two runs on 4 processors of one pair, one time missing, one pair never measured, and rows that are copies."""
    runs = pd.DataFrame(
        {
            "code": ["lu", "lu", "lu", "cg", "cg", "lu", "lu"],
            "host": ["a", "a", "b", "a", "a", "b", "b"],
            "procs": [4, 4, 2, 1, 2, 8, 8],
            "time_ms": [8.0, 6.0, 4.0, 2.0, None, 1.0, 1.0],
        }
    )
    facts = info(Measurements(runs, source="runs.csv")).facts
    assert (facts["parameters"], facts["value"]) == (["p=procs"], "time_ms [ms]")
    assert (facts["codes"], facts["systems"]) == ("lu, cg", "a, b")
    assert (facts["observations"], facts["range"]) == (4, "1 to 7 ms")
    assert facts["never measured"] == "1 of 4 pairs: cg on b"
    empty, copied, repeated = facts["rows to know about"]
    assert copied.startswith("1 row repeats an earlier one in every column (row 6)")
    assert empty == "left out, without time_ms: 1 of 7 rows: empty (row 4)"
    assert repeated.startswith("2 of 4 points have several runs")
    assert facts["next"] == []  # no pair was measured often enough


@pytest.mark.parametrize(
    ("columns", "reason", "told"),
    [
        ({"a": [1, 2], "b": [3, 4]}, "parameter='COLUMN'", ["--value", "--parameter"]),
        ({"p": [1, 2], "a": [3, 4], "b": [5, 6]}, "value='COLUMN'", ["--value"]),
        ({"p": [1, 0], "time_s": [3, 4]}, "row 1: p is 0", []),
    ],
)
def test_measurements_that_cannot_be_used_yet_are_described_all_the_same(columns, reason, told):
    facts = info(Measurements(pd.DataFrame(columns), source="runs.csv")).facts
    assert facts["columns"] == list(columns)
    assert facts["observations"].startswith("none: ")
    assert reason in facts["observations"]
    assert [line.split()[0] for line in facts.get("missing options", [])] == told
    assert facts["next"] == []  # what is printed there runs as it is
