"""Two versions from files of benchmark tools: same data, same verdict; and what is refused."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import perfcore
from perfcore.base.errors import DataError, OptionError


def rounds(factors: dict[str, float], k: int = 10, noise: float = 0.02, seed: int = 1) -> pd.DataFrame:
    """Rounds of an old and a new version in turn."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(k):
        for version in ("old", "new"):
            for name, factor in factors.items():
                time = (factor if version == "new" else 1.0) * float(np.exp(rng.normal(0.0, noise)))
                rows.append({"version": version, "round": number, "bench": name, "time_s": round(time, 6)})
    return pd.DataFrame(rows)


def hyperfine(path: Path, times: dict[str, list[float]]) -> str:
    results = [{"command": name, "mean": 1.0, "times": list(own)} for name, own in times.items()]
    path.write_text(json.dumps({"results": results}))
    return str(path)


def google(path: Path, times: dict[str, list[float]]) -> str:
    benchmarks = [
        {
            **{"name": name, "run_name": name, "run_type": "iteration", "repetition_index": at, "iterations": 10},
            **{"real_time": time, "cpu_time": time, "time_unit": "ms"},
        }
        for name, own in times.items()
        for at, time in enumerate(own)
    ]
    path.write_text(json.dumps({"context": {"library_build_type": "release"}, "benchmarks": benchmarks}))
    return str(path)


def pytest_benchmark(path: Path, times: dict[str, list[float]]) -> str:
    benchmarks = [
        {"name": name, "stats": {"mean": 1.0, "rounds": len(own), "data": own}} for name, own in times.items()
    ]
    path.write_text(json.dumps({"machine_info": {"node": "ci"}, "benchmarks": benchmarks}))
    return str(path)


def fio(path: Path, bandwidth: float) -> str:
    traffic = {"io_bytes": 1e6, "bw_bytes": bandwidth, "iops": 10.0, "runtime": 1.0, "total_ios": 5}
    path.write_text(json.dumps({"fio version": "fio-3.36", "jobs": [{"jobname": "t", "read": traffic}]}))
    return str(path)


RUNS = np.random.default_rng(3).lognormal(-1.0, 0.02, (2, 10)).round(6)


@pytest.mark.parametrize("write", [hyperfine, google, pytest_benchmark])
def test_exactly_three_times_as_slow_fails_in_every_format(tmp_path: Path, write) -> None:
    old = write(tmp_path / "old.json", {"sort": RUNS[0].tolist(), "dict": RUNS[1].tolist()})
    new = write(tmp_path / "new.json", {"sort": (3 * RUNS[0]).tolist(), "dict": (3 * RUNS[1]).tolist()})
    verdict = perfcore.gate(old, new)
    assert verdict.outcome == "failed"
    assert verdict.judged.slower.all()
    np.testing.assert_allclose(np.exp(verdict.estimates.log_ratio), 3.0)


def test_a_bandwidth_of_a_third_fails(tmp_path: Path) -> None:
    for at in range(5):
        fio(tmp_path / f"old_{at}.json", 3e9 + at)
        fio(tmp_path / f"new_{at}.json", 1e9 + at)
    verdict = perfcore.gate(tmp_path / "old_*.json", tmp_path / "new_*.json")
    assert verdict.outcome == "failed"
    assert perfcore.gate(tmp_path / "new_*.json", tmp_path / "old_*.json").outcome == "passed"


def test_files_in_turn_are_rounds_and_decide_like_the_table_of_the_same_runs(tmp_path: Path) -> None:
    table = rounds({"sort": 1.0, "dict": 1.3})
    for (version, number), rows in table.groupby(["version", "round"]):
        for write, folder in ((hyperfine, "hyperfine"), (pytest_benchmark, "pytest"), (google, "google")):
            (tmp_path / folder).mkdir(exist_ok=True)
            times = {name: [time] for name, time in zip(rows["bench"], rows["time_s"], strict=True)}
            write(tmp_path / folder / f"{version}_{number}.json", times)
    expected = perfcore.gate(table)
    assert [expected.judged.outcome_of(k).value for k in range(2)] == ["passed", "failed"]
    for folder in ("hyperfine", "pytest", "google"):
        found = perfcore.gate(tmp_path / folder / "old_*.json", tmp_path / folder / "new_*.json")
        assert set(found.layouts) == {"turn"}
        at = [found.benchmarks.index(name) for name in expected.benchmarks]
        np.testing.assert_allclose(found.judged.p_slow[at], expected.judged.p_slow, rtol=1e-9)


def test_order_of_rows_and_units_change_nothing() -> None:
    table = rounds({"sort": 1.08, "dict": 1.0}, noise=0.03)
    expected = perfcore.gate(table, base="old", new="new").to_dict()
    shuffled = perfcore.gate(table.sample(frac=1.0, random_state=1), base="old", new="new").to_dict()
    in_ms = table.rename(columns={"time_s": "time_ms"}).assign(time_ms=lambda t: t["time_ms"] * 1000.0)
    found = {each["benchmark"]: each for each in shuffled["benchmarks"]}
    other = {each["benchmark"]: each for each in perfcore.gate(in_ms, base="old", new="new").to_dict()["benchmarks"]}
    for each in expected["benchmarks"]:
        for same in (found[each["benchmark"]], other[each["benchmark"]]):
            assert same["outcome"] == each["outcome"]
            assert same["p_slow"] == pytest.approx(each["p_slow"], rel=1e-9)


def test_a_shift_of_all_is_said_and_not_subtracted() -> None:
    verdict = perfcore.gate(rounds({f"b{k}": 1.1 for k in range(12)}, noise=0.01))
    assert verdict.outcome == "failed"
    assert verdict.shift is not None
    assert verdict.shift.lower < 1.1 < verdict.shift.upper
    assert any("all 12 together slower" in line for line in verdict.summary())


def test_exit_status(perf, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, table in (
        ("passed", rounds({"a": 1.0})),
        ("failed", rounds({"a": 1.5})),
        ("undecided", rounds({"a": 1.0}, k=2)),
    ):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    assert perf("gate", str(tmp_path / "passed.csv")) == 0
    assert perf("gate", str(tmp_path / "failed.csv"), "--json") == 1
    assert perf("gate", str(tmp_path / "undecided.csv")) == 3
    assert perf("gate", str(tmp_path / "undecided.csv"), "--undecided", "pass") == 0
    assert perf("gate", str(tmp_path / "undecided.csv"), "--undecided", "fail") == 1
    capsys.readouterr()
    assert perf("gate", str(tmp_path / "passed.csv"), "--base", "older") == 2
    assert "unknown version in column version" in capsys.readouterr().err


def test_mistakes_are_said_in_one_line(tmp_path: Path) -> None:
    table = rounds({"a": 1.0})
    for changes, message in (
        ({"slower_than": "0.9x"}, "above 1 is expected"),
        ({"session_cv": "two"}, "a share is expected"),
        ({"errors": "none"}, "unknown --errors"),
        ({"version": "compiler"}, "unknown column"),
        ({"base": "old", "new": "old"}, "both 'old'"),
    ):
        with pytest.raises(OptionError, match=message):
            perfcore.gate(table, **changes)
    one = table[table["version"] == "old"].drop(columns="version")
    with pytest.raises(OptionError, match="what is it to be compared with"):
        perfcore.gate(one)
    plain = one.rename(columns={"time_s": "value"})
    with pytest.raises(DataError, match=r"is in s, .* in MB; convert one"):
        perfcore.gate(plain.assign(unit="s"), plain.assign(unit="MB"))
    other = hyperfine(tmp_path / "old.json", {"b": [1.0], "c": [1.0]})
    with pytest.raises(DataError, match="no benchmark in common"):
        perfcore.gate(hyperfine(tmp_path / "new.json", {"d": [1.0], "e": [1.0]}), other)
