"""Units: times, rates, amounts, and how names of columns say them."""

import itertools
from fractions import Fraction

import pytest

from perfcore.data.units import (
    LABELS,
    is_rate,
    is_time,
    nanoseconds_per,
    readable,
    same_unit,
    seconds_per,
    split_unit,
    unit_in_name,
    unit_of,
)


@pytest.mark.parametrize(("unit", "nanoseconds"), [("ns", 1), ("us", 10**3), ("ms", 10**6), ("s", 10**9)])
def test_nanoseconds_per_unit(unit, nanoseconds):
    assert nanoseconds_per(unit) == nanoseconds


@pytest.mark.parametrize(
    ("duration", "unit", "text"),
    [
        (0, "s", "0 ns"),
        (999, "ns", "999 ns"),
        (1000, "ns", "1 us"),
        (0.5, "us", "500 ns"),
        (1.5, "ms", "1.5 ms"),
        (-2500, "ms", "-2.5 s"),
        (7200, "s", "7200 s"),
    ],
)
def test_a_duration_is_read_in_the_largest_unit_that_keeps_it_at_least_1(duration, unit, text):
    assert readable(duration, unit) == text


@pytest.mark.parametrize(
    ("column", "unit"),
    [
        ("time_s", "s"), ("time_MS", "ms"), ("wall [s]", "s"), ("wall(us)", "us"), ("elapsed (sec)", "s"),
        ("real_time_nsec", "ns"), ("run_time_h", "h"), ("elapsed [minutes]", "min"), ("Seconds", "s"),
        ("elapsed [us]", "us"), ("time (ms)", "ms"), ("Wall time [min]", "min"), ("runtime_ms", "ms"),
        ("time_s_min", "s"), ("time_per_step_s", "s"), ("time per step (s)", "s"), ("time/s", "s"), ("ns/op", "ns/op"),
        ("time", None), ("tasks", None), ("class", None), ("energy_J", None), ("s", None), ("time-s", None),
    ],
)  # fmt: skip
def test_times_are_read_from_the_ending_of_a_name(column, unit):
    assert unit_of(column) == unit
    assert is_time(unit) == (unit is not None)


@pytest.mark.parametrize(
    ("column", "bare", "label", "factor"),
    [
        ("rate_per_s", "rate", "1/s", 1),
        ("bandwidth_MB_s", "bandwidth", "MB/s", 1e6),
        ("io_throughput_MiB_s", "io_throughput", "MiB/s", 2**20),
        ("flops_s", "", "flop/s", 1),
        ("GB/s", "", "GB/s", 1e9),
        ("requests_per_second", "", "requests/s", 1),
        ("ops/s", "", "ops/s", 1),
        ("MB_per_s", "", "MB/s", 1e6),
        ("gflops", "", "Gflop/s", 1e9),
        ("GFLOP/s", "", "Gflop/s", 1e9),
        ("tokens/s", "", "tokens/s", 1),
        ("images per minute", "", "images/min", 1 / 60),
        ("Bandwidth (MBytes/sec)", "Bandwidth", "MB/s", 1e6),
        ("net_Gbps", "net", "Gbit/s", 1e9 / 8),
        ("GBps", "", "GB/s", 1e9),
        ("read_iops", "read", "ops/s", 1),
        ("bandwidth_s", "bandwidth", "1/s", 1),
        ("Triad MB/s/core", "Triad", "MB/s/core", 1e6),
        ("ns/day", "", "ns/day", 1e-9 / 86400),
    ],
)
def test_a_rate_is_not_a_time(column, bare, label, factor):
    """Each of these ends with a time, and is something over it."""
    name, unit = split_unit(column)
    assert (name, unit.kind, unit.label) == (bare, "rate", label)
    assert unit.factor == pytest.approx(factor, rel=1e-12)
    assert is_rate(unit_of(column))
    assert not is_time(unit_of(column))


@pytest.mark.parametrize(
    ("column", "kind", "label"),
    [
        ("size_MB", "bytes", "MB"), ("peak_memory_mib", "bytes", "MiB"), ("bytes", "bytes", "B"),
        ("volume [B]", "bytes", "B"), ("work_gflop", "operations", "Gflop"), ("calls [#]", "count", "1"),
        ("visits_count", "count", "1"), ("gflops_max", "rate", "Gflop/s"),
    ],
)  # fmt: skip
def test_amounts_and_counts(column, kind, label):
    unit = unit_in_name(column)
    assert (unit.kind, unit.label) == (kind, label)


@pytest.mark.parametrize("label", sorted(LABELS))
def test_each_label_is_read_back_with_its_factor(label):
    """Also under a rate: a label is spelt in one way, so reading it twice changes nothing."""
    if label == "d":
        return  # spelt day, as in ns/day
    assert same_unit(label) == label
    assert same_unit(f"{label}/s") == f"{label}/s"
    assert unit_in_name(f"value [{label}]").factor == float(LABELS[label][1])


def test_factors_of_times_agree_with_nanoseconds():
    for one, other in itertools.permutations(["ns", "us", "ms", "s"], 2):
        assert LABELS[one][1] / LABELS[other][1] == Fraction(nanoseconds_per(one), nanoseconds_per(other))
    assert (seconds_per("minutes"), seconds_per("h"), seconds_per("1/s")) == (60.0, 3600.0, None)
