"""Steps in histories: where they are, how sure that is, and what noise is not taken for one."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from gate.test_kernels import noise

import perfcore
from perfcore.base.errors import DataError, InputError, OptionError


def history(values: dict[str, np.ndarray]) -> pd.DataFrame:
    rows = [(f"c{at:03d}", name, np.exp(log)) for name, own in values.items() for at, log in enumerate(own)]
    return pd.DataFrame(rows, columns=["commit", "benchmark", "time_s"])


def test_a_level_that_stays_is_a_step_also_among_shocks() -> None:
    for seed in range(3):
        values = 0.01 * np.random.default_rng(seed).standard_t(2, 300)
        logs = values + 0.05 * (np.arange(300) >= 150)
        (judged,) = perfcore.gate_history(history({"a": logs})).judged
        assert any(abs(step.place - 150) <= 3 for step in judged.changes)


def test_outliers_are_no_steps() -> None:
    values = np.random.default_rng(2).normal(0.0, 0.01, 80)
    values[[20, 50]] += 0.3
    (judged,) = perfcore.gate_history(history({"a": values})).judged
    assert judged.changes == ()
    assert judged.to_dict()["outliers"] == ["c020", "c050"]


def test_one_or_two_new_values_are_judged_with_the_others() -> None:
    """Of a benchmark that was left out of most new commits, and of a history that is asked about the newest alone."""
    logs = np.random.default_rng(5).normal(0.0, 0.02, 50)
    table = history({"kept": logs, "seldom": logs[::-1]})
    for count in (1, 2):
        is_left_out = (table["benchmark"] == "seldom") & table["commit"].between("c038", f"c{49 - count:03d}")
        assert perfcore.gate_history(table[~is_left_out]).outcome == "pass"
        assert perfcore.gate_history(table, since=f"c{50 - count:03d}").outcome == "pass"


def test_an_exact_threefold_slowdown_fails_also_without_noise() -> None:
    for values in (np.zeros(30), np.random.default_rng(1).normal(0.0, 0.02, 30)):
        verdict = perfcore.gate_history(history({"sort": values + np.log(3.0) * (np.arange(30) >= 25)}))
        assert verdict.outcome == "fail"
        assert verdict.judged[0].alarm.place == 25
        assert np.exp(verdict.judged[0].alarm.size) == pytest.approx(3.0, rel=0.05)
    assert perfcore.gate_history(history({"sort": np.zeros(30)})).outcome == "pass"


def test_a_history_that_is_too_noisy_says_so() -> None:
    """Noise of 87%: the mean of six values alone hides a step of 1.28 of its standard errors in one case of ten."""
    logs = np.random.default_rng(1).normal(0.0, 1.0, 60)
    noisy, quiet = perfcore.gate_history(history({"a": logs})), perfcore.gate_history(history({"b": 0.01 * logs}))
    answer = noisy.report().answer
    assert answer.startswith("PASS  but a is too noisy to judge (noise 8")  # standard deviation 87%
    assert float(answer.split("below ")[1].split("x ")[0]) > np.exp(1.28 * logs.std() * 6**-0.5)
    assert quiet.report().answer.startswith("PASS  no slowdown in b in the last 12 commits; +")
    both = perfcore.gate_history(history({"a": logs, "b": 0.01 * logs[::-1]})).report()
    assert any("too noisy to judge: a" in line for line in both.closing())
    assert both.answer.endswith("would be found (90%) in 1 of them")


def test_only_new_changes_to_slower_fail() -> None:
    rng = np.random.default_rng(3)
    old = {"sort": rng.normal(0.0, 0.01, 60) + 0.1 * (np.arange(60) >= 20)}
    assert perfcore.gate_history(history(old)).outcome == "pass"
    assert perfcore.gate_history(history(old), since="c010").outcome == "fail"
    faster = {"sort": rng.normal(0.0, 0.01, 60) - 0.1 * (np.arange(60) >= 52)}
    assert perfcore.gate_history(history(faster)).outcome == "pass"
    assert perfcore.gate_history(history(faster), better="larger").outcome == "fail"
    slower = {"sort": rng.normal(0.0, 0.01, 60) + 0.1 * (np.arange(60) >= 52)}
    assert perfcore.gate_history(history(slower), slower_than="1.2x").outcome == "pass"


def test_the_newest_value_has_a_verdict_of_its_own(perf, tmp_path: Path) -> None:
    """A single slow value is no step: run it again. Earlier outliers, and fast values, pass."""
    logs = np.random.default_rng(7).normal(0.0, 0.02, 40)
    logs[-1] = np.log(1.098)
    history({"sort": logs}).to_csv(tmp_path / "h.csv", index=False)
    out = " ".join(perf("gate", tmp_path / "h.csv", "--commit", "commit", status=3).out.split())
    assert out.startswith("INCONCLUSIVE newest commit c039: sort +")
    assert "sigma; run it again" in out
    assert "-0.0%" not in out
    assert perfcore.gate_history(history({"sort": np.r_[logs[:20], logs[-1], logs[20:-1]]})).outcome == "pass"
    assert perfcore.gate_history(history({"sort": -logs})).outcome == "pass"


@pytest.mark.parametrize("spread", [0.005, 0.02])
def test_gradual_drift_is_found(spread: float) -> None:
    """1% slower with each of 25 commits."""
    rise = np.log(1.24) * np.maximum(0, np.arange(40) - 15) / 24
    verdict = perfcore.gate_history(history({"sort": rise + noise(np.random.default_rng(8), 40, 0.0, spread)}))
    alarm = verdict.judged[0].alarm
    assert (verdict.outcome.value, alarm.is_gradual) == ("fail", True)
    assert alarm.lower < np.log(1.24) < alarm.upper
    assert 10 <= alarm.first <= 16 <= alarm.last + 2 <= 24


def test_dates_are_no_measurements(tmp_path: Path) -> None:
    table = pd.DataFrame({"time": 1_700_172_800 + 86_400 * np.arange(30), "commit": [f"a{k}" for k in range(30)]})
    table["metric1"] = np.random.default_rng(1).normal(100.0, 1.0, 30) * np.where(np.arange(30) < 22, 1.0, 1.1)
    table.to_csv(tmp_path / "h.csv", index=False)
    verdict = perfcore.gate_history(tmp_path / "h.csv")
    assert (verdict.judged[0].series.name, verdict.outcome.value) == ("metric1", "fail")
    table.assign(metric2=2.0).to_csv(tmp_path / "h.csv", index=False)
    with pytest.raises(OptionError, match=r"Name it with value=, one of metric1, metric2$"):
        perfcore.gate_history(tmp_path / "h.csv")
    rng = np.random.default_rng(2)
    mixed = pd.concat([history({"sort": rng.normal(0.0, 0.01, 20)}) for _ in range(3)]).reset_index(drop=True)
    with pytest.raises(DataError, match="commits are mixed and have no order"):
        perfcore.gate_history(mixed)


def test_machines_are_effects() -> None:
    rng = np.random.default_rng(5)
    table = history({"sort": rng.normal(0.0, 0.01, 60)})
    table["machine"] = np.where(np.arange(60) < 50, rng.choice(["a", "b"], 60), "b")
    table.loc[table["machine"] == "b", "time_s"] *= 1.5
    assert perfcore.gate_history(table).outcome == "pass"
    table.loc[55:, "time_s"] *= 1.2
    assert perfcore.gate_history(table).outcome == "fail"


def test_many_series_do_not_make_false_alarms() -> None:
    rng = np.random.default_rng(6)
    verdict = perfcore.gate_history(history({f"b{k}": noise(rng, 40, 0.5) for k in range(100)}))
    assert sum(each.outcome == "fail" for each in verdict.judged) <= 1


def test_folders_of_asv(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    (tmp_path / "box").mkdir()
    (tmp_path / "box" / "machine.json").write_text("{}")
    (tmp_path / "benchmarks.json").write_text(json.dumps({"b.time": {"unit": "seconds"}, "version": 2}))
    for at, value in enumerate(np.exp(rng.normal(0.0, 0.01, 30)) * np.where(np.arange(30) >= 25, 3.0, 1.0)):
        result = {"b.time": [[float(value), None], [["1", "2"]]]}
        document = {"commit_hash": f"{at:040x}", "date": 1e12 + at, "params": {"machine": "box"}, "env_name": "py"}
        columns = {"result_columns": ["result", "params"], "results": result}
        (tmp_path / "box" / f"{99 - at:08x}-py.json").write_text(json.dumps({**document, **columns}))
    verdict = perfcore.gate_history(tmp_path)
    assert verdict.outcome == "fail"
    assert verdict.judged[0].series.name == "b.time(1)"
    assert verdict.judged[0].alarm.place == 25
    (tmp_path / "box" / "broken.json").write_text("{")
    with pytest.raises(InputError, match="is not a result of asv"):
        perfcore.gate_history(tmp_path)


def test_data_of_the_benchmark_action(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    values = np.exp(rng.normal(0.0, 0.01, 30)) * np.where(np.arange(30) >= 25, 0.5, 1.0)
    tools = (
        ("pytest", "iter/sec", "fail"),
        ("customBiggerIsBetter", "points", "fail"),
        ("customSmallerIsBetter", "s", "pass"),
    )
    for tool, unit, outcome in tools:
        entries = []
        for at, value in enumerate(values):
            benches = [{"name": "q", "value": float(value), "unit": unit}]
            entries.append({"commit": {"id": f"c{at}"}, "date": at, "tool": tool, "benches": benches})
        (tmp_path / "data.js").write_text(f"window.BENCHMARK_DATA = {json.dumps({'entries': {'S': entries}})}")
        assert perfcore.gate_history(tmp_path / "data.js").outcome == outcome
    data = perfcore.read(tmp_path / "data.js")  # so that `perf info` knows it, too
    assert {"commit", "date"} <= {*data.table}


def test_a_history_grows_and_is_judged(perf, refused, tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    file = tmp_path / "history.jsonl"
    for at in range(20):
        times = (np.exp(rng.normal(0.0, 0.01, 5)) * (3.0 if at >= 16 else 1.0)).tolist()
        (tmp_path / "r.json").write_text(json.dumps({"results": [{"command": "sort", "times": times}]}))
        said = perf("gate", "record", file, tmp_path / "r.json", "--commit", f"c{at}").out
    assert "1 value of c19 added; 20 in all" in " ".join(said.split())
    verdict = perfcore.gate_history(file)
    assert verdict.outcome == "fail"
    assert verdict.judged[0].commit_of(verdict.judged[0].alarm) == "c16"
    before = file.read_bytes()
    (tmp_path / "r.csv").write_text("bench,time_ms\nsort,3\n")
    assert "sort is in s, not ms" in refused("gate", "record", file, tmp_path / "r.csv", "--commit", "c20")
    assert file.read_bytes() == before
    refused("gate", "record", tmp_path / "h.csv", tmp_path / "r.csv", "--commit", "c20")
    file.write_bytes(before + b"[1, 2]\n")
    said = refused("gate", file, "--commit", "commit")
    assert "history.jsonl:21: an object of numbers and texts is expected" in said


def test_jobs_at_once_lose_no_commit(tmp_path):
    history = tmp_path / "history.jsonl"
    rows = pd.DataFrame({"bench": ["sort"] * 2, "time_s": [1.0, 1.1]})
    with ThreadPoolExecutor(8) as jobs:
        added = jobs.map(lambda k: perfcore.add_to_history(history, rows, commit=f"c{k}", value="time_s"), range(24))
        assert len(list(added)) == 24
    lines = history.read_text().splitlines()
    assert sorted(json.loads(line)["commit"] for line in lines) == sorted(f"c{k}" for k in range(24))
    assert [path.name for path in tmp_path.iterdir()] == ["history.jsonl"]


def test_a_benchmark_that_ended_is_listed_and_not_judged() -> None:
    """+30% at its 18th value, and removed 35 commits ago: nothing of it is new."""
    rng = np.random.default_rng(12)
    table = history({"kept": rng.normal(0.0, 0.01, 60), "removed": 0.3 * (np.arange(25) >= 18) + 0.01})
    verdict = perfcore.gate_history(table)
    assert (verdict.outcome.value, verdict.ended) == ("pass", (("removed", "c024"),))
    assert any("1 ended: removed (last at c024)" in line for line in verdict.report().closing())
    assert perfcore.gate_history(table, missing="fail").outcome == "fail"


def test_what_slows_all_benchmarks_a_little_is_found() -> None:
    """+8% in all of 30 at 4% noise: twice the noise of one, and ten times that of the median."""
    rng = np.random.default_rng(13)
    slower = np.log(1.08) * (np.arange(16) >= 13)
    verdict = perfcore.gate_history(history({f"b{k}": rng.normal(0.0, 0.04, 16) + slower for k in range(30)}))
    alarm = verdict.suite.alarm
    assert (verdict.outcome.value, verdict.suite.commit_of(alarm)) == ("fail", "c013")
    assert alarm.lower < np.log(1.08) < alarm.upper
    assert verdict.report().answer.startswith("FAIL  all 30 benchmarks together +")
    same = perfcore.gate_history(history({f"b{k}": rng.normal(0.0, 0.04, 16) for k in range(30)}))
    assert same.outcome == "pass"


@pytest.mark.parametrize("phi", [0.0, 0.3])
def test_a_step_of_a_short_history_is_not_its_noise(phi: float) -> None:
    """Eight values, then six that are 20% larger, at 2% noise."""
    rng = np.random.default_rng([14, int(10 * phi)])
    for _ in range(10):
        values = noise(rng, 14, phi) + np.log(1.2) * (np.arange(14) >= 8)
        assert perfcore.gate_history(history({"lookup": values})).outcome == "fail"


def test_a_random_walk_is_not_a_clear_step() -> None:
    walks = (np.cumsum(np.random.default_rng(seed).normal(0.0, 0.03, 16)) for seed in range(30))
    outcomes = [perfcore.gate_history(history({"b": walk})).outcome for walk in walks]
    assert outcomes.count("fail") <= 2


def test_more_commits_show_a_smaller_step() -> None:
    """+6% in noise of 4%: seldom after three commits, mostly after twelve."""
    found = []
    for after in (3, 12):
        rng = np.random.default_rng(15)
        step = np.log(1.06) * (np.arange(100 + after) >= 100)
        verdicts = [perfcore.gate_history(history({"b": rng.normal(0.0, 0.04, 100 + after) + step})) for _ in range(20)]
        found.append(sum(verdict.outcome == "fail" for verdict in verdicts))
    assert found[0] < found[1] > 10


def test_units_of_one_quantity_are_joined_and_others_left_out() -> None:
    rng = np.random.default_rng(16)
    rows = []
    for at, log in enumerate(rng.normal(0.0, 0.01, 30)):
        value = float(np.exp(log))
        same = (value * 1e3, "ns") if at < 15 else (value, "us/iter")
        rows += [(f"c{at:02d}", "a", *same), (f"c{at:02d}", "b", value, "ns" if at < 15 else "MB")]
    verdict = perfcore.gate_history(pd.DataFrame(rows, columns=["commit", "bench", "value", "unit"]))
    assert (verdict.outcome.value, [each.series.name for each in verdict.judged]) == ("pass", ["a"])
    assert verdict.left_out == ("b (ns, MB)",)


@pytest.mark.parametrize("column", ["commit", "sha", "revision", "version", "date"])
def test_a_history_is_known_by_its_column(perf, tmp_path: Path, column: str) -> None:
    table = history({"sort": np.random.default_rng(17).normal(0.0, 0.01, 20)})
    dates = pd.date_range("2026-01-01", periods=20).strftime("%Y-%m-%d")
    table = table.rename(columns={"commit": column}).assign(**({"date": dates} if column == "date" else {}))
    table.to_csv(tmp_path / "h.csv", index=False)
    assert perf("gate", tmp_path / "h.csv").out.startswith("PASS  no slowdown in sort in the last 12 commits")


@pytest.mark.parametrize(("shift", "outcome"), [
    ({56: 0.3, 57: 0.3}, "pass"),  # two slow commits among the newest, which passed
    (dict.fromkeys(range(57, 60), 0.12), "inconclusive"),  # may pass yet
    (dict.fromkeys(range(55, 60), 0.12), "fail"),
    (dict.fromkeys(range(57, 60), 0.8), "fail"),  # more than twice as slow
    (dict.fromkeys(range(48, 54), 0.12), "pass"),  # undone since
])  # fmt: skip
def test_a_step_fails_if_it_lasts(shift: dict[int, float], outcome: str) -> None:
    values = np.random.default_rng(21).normal(0.0, 0.01, 60)
    values[list(shift)] += list(shift.values())
    assert perfcore.gate_history(history({"sort": values})).outcome == outcome


def test_a_step_of_all_benchmarks_counts_once() -> None:
    """All eight get 10% slower, and one of them three times that."""
    rng = np.random.default_rng(22)
    slower = np.log(1.1) * (np.arange(60) >= 52)
    logs = {f"b{k}": rng.normal(0.0, 0.01, 60) + (3.0 if k == 5 else 1.0) * slower for k in range(8)}
    verdict = perfcore.gate_history(history(logs))
    assert verdict.suite.outcome == "fail"
    assert [each.series.name for each in verdict.judged if each.outcome == "fail"] == ["b5"]


def test_workers_find_the_same() -> None:
    rng = np.random.default_rng(23)
    table = history({f"b{k}": rng.normal(0.0, 0.01, 40) + 0.1 * k * (np.arange(40) >= 33) for k in range(3)})
    table["machine"] = np.resize(["a", "b", "b"], len(table))
    assert perfcore.gate_history(table, parallel="local:2").to_dict() == perfcore.gate_history(table).to_dict()
    with pytest.raises(OptionError, match="local:N, for N processes"):
        perfcore.gate_history(table, parallel="somewhere")
