"""Facts about data, as `perf info` prints them."""

import msgspec
import pandas as pd
import pytest

from perf_basics.describe import describe
from perfcore import Measurements, Trace, UtilizationCurve
from perfcore.models.ranking import Candidate


def test_a_curve():
    facts = describe(UtilizationCurve([0, 1000, 3000], [2, 5], n_locations=8, notes=["2 events passed over"]), "x.csv")
    assert facts["kind"] == "utilization curve"
    # (1000 * 2 + 2000 * 5) / 3000 = 4.
    assert (facts["steps"], facts["mean"], facts["highest"]) == (2, 4.0, 5.0)
    assert (facts["start"], facts["duration"]) == ("0 ns", "3 ms")
    assert facts["mean utilization"] == "0.500 of 8"
    assert facts["notes"] == ["2 events passed over"]
    assert all(command.startswith("perf ") and "x.csv" in command for command in facts["next"])


def test_a_trace():
    trace = Trace([0, 1], [0, 1], [0, 0], [4000, 4000], ["cpu0", "cpu1"], ["run", "idle"])
    facts = describe(trace, "x.prv")
    assert (facts["kind"], facts["intervals"], facts["locations"]) == ("trace", 2, 2)
    assert (facts["states"], facts["busy"]) == (["run", "idle"], ["run"])
    assert (facts["mean utilization"], facts["steps"]) == ("0.500 of 2", 1)
    assert "notes" not in facts


def test_measurements():
    runs = pd.DataFrame({"p": [1, 2, 4, 8, 16], "seconds": [8.0, 4.1, 2.2, 1.2, 0.9]})
    facts = describe(Measurements(runs), "runs.csv")
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
    facts = describe(Measurements(runs), "runs.csv")
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
    facts = describe(Measurements(pd.DataFrame(columns)), "runs.csv")
    assert facts["columns"] == list(columns)
    assert facts["observations"].startswith("none: ")
    assert reason in facts["observations"]
    assert [line.split()[0] for line in facts.get("missing options", [])] == told
    assert facts["next"] == []  # what is printed there runs as it is


def test_candidates_are_kept_in_model_files():
    candidate = Candidate(("1/p", "1"), {"sse": 28.06, "n_parameters": 2, "aicc": None}, "few points")
    text = msgspec.json.encode(candidate)
    assert msgspec.json.decode(text, type=Candidate) == candidate
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"functions": [], "figures": {}, "remark": ""}', type=Candidate)
