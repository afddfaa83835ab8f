"""Measurements of any kind as values: tables, numbers, counts in buckets; their limits, supports and warnings."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from perf_structural import decide, evaluate, value
from perf_structural.bounds import within
from perf_structural.measured_value import limits_of_quantile, samples_needed
from perfcore.base.errors import DataError, InputError
from perfcore.data.series import Series
from perfcore.stochastic import from_text


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "lat.csv"
    rows = [f"{host},{k},{100 + 10 * (host == 'b') + k}" for k in range(30) for host in "ab"]
    path.write_text("\n".join(["host,run,ms", *rows]))
    return path


def test_a_column_of_the_rows_that_meet_a_condition(table):
    measured = value(table, "normal", column="ms", where="host=b")
    assert (measured.statistics["samples"], measured.value.mean) == (30, pytest.approx(124.5))
    assert measured.warnings == ()


def test_numbers_with_a_unit(tmp_path):
    path = tmp_path / "wait.txt"
    path.write_text("3.1 ms\n# cold\n3.2ms\n")
    for column in (None, "wait", "wait [ms]"):
        assert value(path, column=column).window.column == "wait [ms]"
    for line in ("3.2 s", "3.2"):
        path.write_text(f"3.1 ms\n{line}\n")
        with pytest.raises(InputError, match=rf"wait.txt:2: '{line}' is met, and the lines before it are in 'ms'"):
            value(path)


def test_a_short_window_is_warned_of():
    series = Series(np.arange(100) * 60.0, {"load": np.linspace(0.0, 1.0, 100)}, "s")
    measured = value(series)
    assert measured.warnings == (
        "5 samples are few: beyond them nothing is known; 20 say more, as --window all or one longer than 1140 s has",
    )
    assert value(series, window="20min").warnings == ()


def test_limits_of_quantiles_hold_what_they_promise():
    """Of 400 draws of 200 lognormal samples each, 95 % at least are around the true p90, and few are too wide."""
    rng, inside = np.random.default_rng(5), 0
    truth = math.exp(NormalDist().inv_cdf(0.9))
    for _ in range(400):
        low, high = limits_of_quantile(rng.lognormal(size=200), 0.9)
        inside += low <= truth <= high
    assert 0.935 < inside / 400 < 0.99


def test_too_few_samples_for_a_quantile_is_an_answer(table):
    measured = value(table, column="ms", quantile="0.5,0.999")
    assert measured.too_few == ["too few samples for p99.9: 60; 3,688 are needed"]
    assert math.isnan(measured.quantile_limits["p99.9"][1])
    assert samples_needed(0.999) == 3688
    assert any("with probability 0.95, if the samples are independent: p50" in line for line in measured.summary())


def test_the_tail_of_a_sampled_result_survives_being_written_down():
    found = evaluate("exp(x) + x", {"x": {"normal": [0, 1]}}, quantile="0.999")
    z = NormalDist().inv_cdf(0.999)
    assert float(found.value.quantile(0.999)) == pytest.approx(math.exp(z) + z, rel=0.02)


def test_a_bounded_normal_is_the_truncated_normal():
    """Johnson, Kotz and Balakrishnan, "Continuous Univariate Distributions" 1, equation 13.134, for its mean."""
    share, normal = within(from_text("normal:0.9,0.2"), 0.0, 1.0), NormalDist()
    a, b = (0.0 - 0.9) / 0.2, (1.0 - 0.9) / 0.2
    mean = 0.9 + 0.2 * (normal.pdf(a) - normal.pdf(b)) / (normal.cdf(b) - normal.cdf(a))
    assert share.mean == pytest.approx(mean, rel=1e-9)
    assert share.support == (0.0, 1.0)
    assert share.cdf([0.0, 1.0]).tolist() == [0.0, 1.0]
    assert "with probability 0.31, which is left out" in share.notes[0]


@pytest.mark.parametrize("method", ["exact", "sample"])
def test_bounds_are_kept_in_operations(method):
    found = evaluate("100*x + 3*x", {"x": "normal:0.9,0.2 within 0,1"}, method="sample")
    assert 0.0 <= found.statistics["lowest"] <= found.statistics["highest"] <= 103.0
    quotient = evaluate("1/x", {"x": "normal:0.9,0.2 within 0.1,1"}, method=method, quantile="0.999")
    levels = NormalDist(0.9, 0.2)
    place = levels.inv_cdf(levels.cdf(0.1) + 0.001 * (levels.cdf(1.0) - levels.cdf(0.1)))
    assert quotient.statistics["p99.9"] == pytest.approx(1.0 / place, rel=0.03)
    assert quotient.statistics["lowest"] == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "text", "is_refused"),
    [
        ("x.csv", "time_s,latency_ms\n0,5\n1,-1\n2,3\n", True),
        ("x.csv", "host,wall_s\na,5\nb,-1\n", True),
        ("runtimes.txt", "5\n-1\n", True),
        ("x.csv", "host,offset_s\na,5\nb,-1\n", False),
        ("x.csv", "time_s,celsius\n0,5\n1,-1\n", False),
        ("x.txt", "5\n-1\n", False),
    ],
)
def test_times_are_not_negative(tmp_path, name, text, is_refused):
    """A quantity is a time by its name, or by that of a file of mere numbers, unless it is declared to be another."""
    path = tmp_path / name
    path.write_text(text)
    column = text.split("\n")[0].rpartition(",")[2] if "," in text else None
    assert value(path, "interval", column=column, support="-inf,inf").value.support[0] == -1.0
    if is_refused:
        with pytest.raises(DataError, match=r"of [23] is -1, and a time is not negative"):
            value(path, column=column)
        with pytest.raises(DataError, match="a time is not negative"):
            decide(path, path, column=column)
    else:
        assert value(path, "interval", column=column).value.support[0] == -1.0


def test_a_normal_of_times_says_what_is_below_0(tmp_path):
    path = tmp_path / "runtimes.txt"
    np.savetxt(path, np.random.default_rng(3).exponential(1.0, 400))
    assert any("of the normal is below 0, where no time is" in note for note in value(path, "normal").notes)
    assert not any("no time" in note for note in value(path, "normal", support="0,inf").notes)
