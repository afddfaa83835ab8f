"""Two versions from files of benchmark tools: same data, same verdict; and what is refused."""

import dataclasses
import datetime
import itertools
import json
import math
import os
import statistics
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import perfcore
from perf_experiments import Run, Store
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


def noisy(seed: int, factor: float = 1.0, noise: float = 0.02, k: int = 12) -> list[float]:
    return (factor * np.random.default_rng(seed).lognormal(0.0, noise, k)).tolist()


@pytest.mark.parametrize("write", [hyperfine, google, pytest_benchmark])
def test_two_files_decide_the_plain_cases(tmp_path: Path, write) -> None:
    """12 runs: 3x and +20% fail, alone and in all; three noisy runs find little."""
    old = write(tmp_path / "old.json", {"a": noisy(1), "b": noisy(2)})
    for factors, outcome in (((3, 3), "fail"), ((1, 1.2), "fail"), ((1.2, 1.2), "fail"), ((1.08, 1), "inconclusive")):
        new = write(tmp_path / "new.json", {"a": noisy(3, factors[0]), "b": noisy(4, factors[1])})
        assert perfcore.gate(old, new).outcome == outcome
    old, new = (write(tmp_path / f"{k}.json", {"a": noisy(k + 2, 1, 0.3, 3)}) for k in range(2))
    assert "too few data to find less than" in perfcore.gate(old, new).report().answer


def test_two_files_in_two_units_are_compared_as_in_one(tmp_path: Path) -> None:
    old, new, in_ms = (tmp_path / f"{name}.csv" for name in ("old", "new", "ms"))
    for path, unit, factor, runs in (
        (old, "s", 1, noisy(1)),
        (new, "s", 1, noisy(3, 1.2)),
        (in_ms, "ms", 1000, noisy(3, 1.2)),
    ):
        path.write_text(f"time_{unit}\n" + "".join(f"{factor * run:.7g}\n" for run in runs))
    expected, found = perfcore.gate(old, new), perfcore.gate(old, in_ms)
    assert found.estimates.log_ratio == pytest.approx(expected.estimates.log_ratio, rel=1e-6)
    assert (found.outcome, found.units) == (expected.outcome, expected.units)


def test_two_columns_of_versions_are_two_sides(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text(
        "before_ms,after_ms\n" + "".join(f"{a},{b}\n" for a, b in zip(noisy(1), noisy(3, 1.3), strict=True))
    )
    assert perfcore.gate(tmp_path / "runs.csv").outcome == "fail"
    assert perfcore.info(tmp_path / "runs.csv")["next"] == [f"perf gate {tmp_path / 'runs.csv'}"]


def test_no_change_at_one_per_cent_noise_passes(tmp_path: Path) -> None:
    passed = 0
    for k in range(20):
        old, new = (
            hyperfine(tmp_path / f"{s}.json", {n: noisy(4 * k + i, 1, 0.01) for i, n in enumerate("ab", s)})
            for s in (0, 2)
        )
        passed += perfcore.gate(old, new).outcome == "pass"
    assert passed >= 18


def test_noise_and_other_machines_keep_two_files_from_failing(tmp_path: Path) -> None:
    old, new = (hyperfine(tmp_path / f"{k}.json", {"a": noisy(k, 1 + 0.2 * k, 0.06)}) for k in range(2))
    verdict = perfcore.gate(old, new)
    assert verdict.outcome == "inconclusive"
    assert any("noise above 3%" in line for line in verdict.report().closing())
    assert "rounds decide, 90% likely" in verdict.report().closing()[-1]
    files = [google(tmp_path / f"g{k}.json", {"a": noisy(k, 1 + 0.5 * k)}) for k in range(2)]
    assert perfcore.gate(*files).outcome == "fail"
    for name, values, text in (
        ("mhz_per_cpu", (2800, 3400), "machines differ (mhz_per_cpu 2800 and 3400)"),
        ("library_build_type", ("release", "debug"), "builds differ (build release and debug)"),
    ):
        for path, value in zip(map(Path, files), values, strict=True):
            content = json.loads(path.read_text())
            path.write_text(json.dumps({**content, "context": {"num_cpus": 8, name: value}}))
        verdict = perfcore.gate(*files)
        assert verdict.outcome == "inconclusive"
        assert any(text in line for line in verdict.report().closing())
    verdict = perfcore.gate(*files, session_cv="2%")
    assert (verdict.outcome, verdict.machines) == ("fail", "build release and debug")
    for path, host in zip(map(Path, files), ("n1", "n2"), strict=True):
        path.write_text(json.dumps({**json.loads(path.read_text()), "context": {"host_name": host}}))
    verdict = perfcore.gate(*files)
    assert (verdict.outcome, verdict.machines) == ("fail", "host_name n1 and n2")
    assert verdict.report().notes_by_label()["Uncertain"][0] == "machines or builds differ: host_name n1 and n2"


def test_totals_and_means_of_the_others_are_no_benchmarks() -> None:
    def version(factor: float, total: float = 0.0) -> pd.DataFrame:
        sides = zip(noisy(1, factor), noisy(2, 2.0), strict=True)
        rows = [(("a", a), ("b", b), ("Geo Mean", math.sqrt(a * b)), ("total", total or a + b)) for a, b in sides]
        return pd.DataFrame(list(itertools.chain(*rows)), columns=["benchmark", "time_s"])

    verdict = perfcore.gate(version(1.0), version(1.2))
    assert (verdict.benchmarks, verdict.computed) == (("a", "b"), ("Geo Mean", "total"))
    assert verdict.report().notes_by_label()["Left out"] == ["Geo Mean, total, which the other benchmarks give"]
    commits = pd.concat([version(1.0 + k / 100).assign(commit=f"c{k}") for k in range(8)])
    history = perfcore.gate_history(commits)
    assert ([each.series.name for each in history.judged], history.computed) == (["a", "b"], ("Geo Mean", "total"))
    assert perfcore.gate(version(1.0, 9.0), version(1.2, 9.0)).benchmarks == ("a", "b", "total")


def test_counts_are_compared_exactly_and_rates_by_their_inverse() -> None:
    rows = [("old", "a", 1000), ("old", "b", 500), ("new", "a", 1001), ("new", "b", 600)]
    verdict = perfcore.gate(pd.DataFrame(rows, columns=["version", "bench", "instructions"]))
    assert (verdict.outcome.value, set(verdict.designs)) == ("fail", {"counts"})
    np.testing.assert_allclose(np.exp(verdict.estimates.bounds()), [[1.001, 1.001], [1.2, 1.2]])
    rows = [(v, "a", x / f) for v, f, s in (("old", 1, 1), ("new", 1.3, 2)) for x in noisy(s)]
    verdict = perfcore.gate(pd.DataFrame(rows, columns=["version", "bench", "throughput_MB/s"]))
    assert verdict.outcome == "fail"
    assert verdict.report().closing()[0].startswith("Assumed: larger is better (MB/s), and ratios are old/new")


def test_summaries_count_as_their_runs(tmp_path: Path) -> None:
    for name, mean in (("old", 1.0), ("new", 1.2)):
        rows = [{"command": "a", "mean": mean, "stddev": 0.01, "median": mean}]
        (tmp_path / f"{name}.json").write_text(json.dumps({"results": rows}))
        table = pd.DataFrame({"bench": ["a"], "mean_s": [mean], "sd_s": [0.01], "n": [12]})
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    for ending in ("json", "csv"):
        verdict = perfcore.gate(*(tmp_path / f"{name}.{ending}" for name in ("old", "new")))
        assert (verdict.outcome.value, verdict.designs) == ("fail", ("sessions",))
        assert np.diff(verdict.estimates.bounds()[0])[0] < 0.1


def test_two_results_of_asv_are_two_versions(tmp_path: Path) -> None:
    columns = ["result", "params", "stats_q_25", "stats_q_75", "stats_repeat"]
    for name, factor in (("c1", 1.0), ("c2", 1.5)):
        times, low, high = ([factor * x, None] for x in (0.1, 0.099, 0.101))
        about = {
            "commit_hash": name, "env_name": "py", "date": 1, "params": {"machine": "m"}, "result_columns": columns,
        }  # fmt: skip
        results = {"b.time": [times, [["1", "2"]], low, high, [10, 10]]}
        (tmp_path / f"{name}.json").write_text(json.dumps({**about, "results": results}))
    verdict = perfcore.gate(tmp_path / "c1.json", tmp_path / "c2.json")
    assert (verdict.benchmarks, verdict.outcome.value) == (("b.time(1)",), "fail")


def test_files_in_turn_are_rounds_and_decide_like_the_table_of_the_same_runs(tmp_path: Path) -> None:
    table = rounds({"sort": 1.0, "dict": 1.3})
    for (version, number), rows in table.groupby(["version", "round"]):
        for write, folder in ((hyperfine, "hyperfine"), (pytest_benchmark, "pytest"), (google, "google")):
            (tmp_path / folder).mkdir(exist_ok=True)
            times = {name: [time] for name, time in zip(rows["bench"], rows["time_s"], strict=True)}
            name = f"{version}_{number if version == 'old' else 7 * number % 10}.json"  # not in order of time
            path = Path(write(tmp_path / folder / name, times))
            os.utime(path, (0, 4.0 * number + 1.5 * (version == "new")))  # runs take 1 to 1.3 s
    expected = perfcore.gate(table)
    assert [expected.judged.outcome_of(k).value for k in range(2)] == ["pass", "fail"]
    for folder in ("hyperfine", "pytest", "google"):
        found = perfcore.gate(tmp_path / folder / "old_*.json", tmp_path / folder / "new_*.json")
        assert set(found.designs) == {"interleaved"}
        at = [found.benchmarks.index(name) for name in expected.benchmarks]
        np.testing.assert_allclose(found.judged.p_slow[at], expected.judged.p_slow, rtol=1e-9)
    for path in (tmp_path / "hyperfine").glob("old_*.json"):
        os.utime(path, (0, path.stat().st_mtime - 86400.0))  # a day earlier
    sides = [tmp_path / "hyperfine" / name for name in ("old_*.json", "new_*.json")]
    apart = perfcore.gate(*sides)
    assert set(apart.designs) == {"sessions"}
    assert any("10 + 10 separate sessions" in line and "measured" in line for line in apart.report().closing())
    logs = np.log(table[table["bench"] == "sort"].pivot_table(index="round", columns="version", values="time_s"))
    new = logs["new"].sort_index(key=lambda number: 7 * number % 10)  # paired by names that are not in order of time
    forced = perfcore.gate(*sides, design="interleaved")
    assert set(forced.designs) == {"interleaved"}
    ratio = forced.estimates.log_ratio[forced.benchmarks.index("sort")]
    assert ratio == pytest.approx(stats.trim_mean(new.to_numpy() - logs["old"].to_numpy(), 0.2))
    (tmp_path / "google" / "new_9.json").unlink()
    fewer = [tmp_path / "google" / name for name in ("old_*.json", "new_*.json")]
    assert set(perfcore.gate(*fewer).designs) == {"sessions"}


def test_a_benchmark_without_an_argument_of_others_has_its_own_name(tmp_path: Path) -> None:
    for name in ("old", "new"):
        text = "BenchmarkDecode/size=small-8 \t 100 \t 286.5 ns/op\nBenchmarkEncode-8 \t 100 \t 99.5 ns/op\n"
        (tmp_path / f"{name}.txt").write_text(f"pkg: a/b\n{3 * text}")
    assert set(perfcore.gate(tmp_path / "old.txt", tmp_path / "new.txt").benchmarks) == {"Decode small", "Encode"}


def test_a_shift_of_all_is_said_and_not_subtracted() -> None:
    verdict = perfcore.gate(rounds({f"b{k}": 1.1 for k in range(12)}, noise=0.01))
    assert verdict.outcome == "fail"
    assert verdict.shift is not None
    assert verdict.shift.lower < 1.1 < verdict.shift.upper
    assert any("all 12 together 1." in line for line in verdict.report().closing())


def test_a_shift_of_sessions_is_weighed_by_how_they_differ() -> None:
    """By hand: Student's t of 2 degrees, scaled by 0.6 of the noise, which is the runs' own deviation."""
    runs = np.array([1.0, 1.02, 1.05, 0.97, 1.01])
    old, new = (pd.DataFrame({"bench": np.repeat(list("abc"), 5), "time_s": np.tile(f * runs, 3)}) for f in (1.0, 1.2))
    shift = perfcore.gate(old, new.assign(time_s=new["time_s"] * np.repeat([0.999, 1.0, 1.001], 5))).shift
    distance = np.log([0.999, 1.0, 1.001]).mean() + np.log(1.2)
    scale = 0.6 * runs.std(ddof=1) / np.median(runs)
    assert shift.usual == pytest.approx(2.0 * stats.t.sf(distance / scale, 2), rel=1e-6)
    spread = np.log([0.999, 1.0, 1.001]).std(ddof=1) / np.sqrt(3)
    side = np.hypot(stats.t.ppf(0.975, 2) * spread, stats.t.ppf(0.975, 2) * scale)
    assert np.log([shift.lower, shift.upper]) == pytest.approx([distance - side, distance + side], rel=1e-6)
    constant = (side.assign(time_s=side.groupby("bench")["time_s"].transform("median")) for side in (old, new))
    assert perfcore.gate(*constant).shift.usual is None  # nothing shows how sessions differ


def test_a_shift_of_rounds_is_the_mean_of_their_medians() -> None:
    table = rounds({"a": 1.1, "b": 1.1, "c": 1.1}, noise=0.01).assign(time_s=lambda t: 7.0 * t["time_s"])
    logs = np.log(table.pivot_table(index="round", columns=["version", "bench"], values="time_s"))
    medians = (logs["new"] - logs["old"]).median(axis=1)
    side = stats.t.ppf(0.975, 9) * medians.std(ddof=1) / np.sqrt(10)
    shift = perfcore.gate(table, base="old", new="new").shift
    found = np.log([shift.ratio, shift.lower, shift.upper])
    assert found == pytest.approx([medians.mean(), medians.mean() - side, medians.mean() + side], rel=1e-9)


def test_sessions_of_rates_differ_as_those_of_their_times() -> None:
    """Short benchmarks differ more from session to session, whether their time or their rate was measured."""
    times = np.array([1.0, 1.02, 1.05, 0.97, 1.01]) * 1e-6
    sides = [pd.DataFrame({"bench": "a", "time_s": factor * times}) for factor in (1.0, 1.2)]
    rates = [pd.DataFrame({"bench": "a", "speed_ops/s": 1.0 / side["time_s"]}) for side in sides]
    found = [perfcore.gate(*pair).session_cv[0] for pair in (sides, rates)]
    assert found[1] == pytest.approx(found[0], rel=0.01)  # the median of inverses is not quite the inverse


@pytest.mark.parametrize("ending", ["csv", "json"])
def test_means_are_named_by_the_numbers_that_tell_them_apart(tmp_path: Path, ending: str) -> None:
    """As of llama-bench, whose tests have the name of the model and each other numbers of tokens."""
    for name, time in (("old", 7e7), ("new", 9e7)):
        rows = {"model": "m", "n_prompt": [512, 0], "n_gen": [0, 128], "avg_ns": [time, 1e9], "stddev_ns": [1e5, 1e6]}
        table, path = pd.DataFrame(rows), tmp_path / f"{name}.{ending}"
        table.to_csv(path, index=False) if ending == "csv" else table.to_json(path, orient="records")
    gate = perfcore.gate(tmp_path / f"old.{ending}", tmp_path / f"new.{ending}")
    assert gate.benchmarks == ("n_prompt=512", "n_prompt=0")


@pytest.mark.parametrize(("slower", "outcome"), [(1.12, "fail"), (1.055, "inconclusive"), (1.01, "pass")])
def test_a_shift_beyond_the_limit_fails(slower: float, outcome: str) -> None:
    """Three benchmarks whose rounds scatter by 0.2%, with t = 2.26 of ten rounds: far from 1.05x, or 0.5% above it."""
    table = rounds(dict.fromkeys("abc", slower), noise=0.002 if slower != 1.055 else 0.03, seed=3)
    assert perfcore.gate(table, base="old", new="new").shift.outcome == outcome


def test_rows_of_one_version_behind_those_of_the_other_are_no_turns() -> None:
    """Rows 0 to 5 of a file against rows 1 to 6 of another are not taken in turn."""
    times = np.random.default_rng(8).lognormal(0.0, 0.01, 7)
    old = pd.DataFrame({"bench": list("aaaaaab"), "time_s": times})
    new = pd.DataFrame({"bench": list("baaaaaa"), "time_s": times})
    assert set(perfcore.gate(old, new).designs) == {"sessions"}


def test_files_written_sooner_than_their_runs_take_are_no_rounds(tmp_path: Path) -> None:
    """Each file is of ten rounds of a second, and they were written four seconds after one another, or twelve."""
    for gap, design in ((4.0, "sessions"), (12.0, "interleaved")):
        for at in range(6):
            stats_of_file = {"mean": 1.0 + 0.001 * at, "stddev": 0.01, "rounds": 10}
            path = tmp_path / f"{'old' if at % 2 else 'new'}_{at}.json"
            benchmarks = [{"name": "a", "stats": stats_of_file}]
            path.write_text(json.dumps({"machine_info": {"node": "ci"}, "benchmarks": benchmarks}))
            os.utime(path, (0, 1000.0 + gap * at))
        assert perfcore.gate(tmp_path / "old_*.json", tmp_path / "new_*.json").designs == (design,)


def test_no_rounds_decide_what_the_last_digits_hide() -> None:
    """1.1 and 1.2 s may be 1.15 both."""
    table = rounds({"a": 1.0}, k=5, noise=0.0).assign(time_s=lambda t: np.where(t["version"] == "new", 1.2, 1.1))
    gate = perfcore.gate(table, base="old", new="new")
    assert (gate.outcome, gate.more_rounds.tolist()) == ("inconclusive", [-1])
    assert gate.to_dict()["benchmarks"][0]["more_rounds"] is None
    assert "values of a have too few digits" in gate.report().notes_by_label()["Uncertain"]
    for more, outcome in ((0.0, "inconclusive"), (math.pi / 100.0, "pass")):  # sessions that differ by 10% hide it
        assert perfcore.gate([1.1 + more] * 3, [1.2 + more] * 3, session_cv="10%").outcome == outcome


@pytest.mark.parametrize(
    ("seconds", "noise", "source"),
    [
        (9e-7, 1e-4, "usual for times below 1 us"),
        (4e-5, 1e-4, "usual for times below 1 ms"),
        (2e-4, 1e-4, "from the run-to-run noise"),
        (1.0, 0.02, "from the run-to-run noise"),
    ],
)
def test_what_sessions_differ_by_is_said_with_its_source(seconds: float, noise: float, source: str) -> None:
    """Runs of a microsecond differ by 2.4% from session to session, and those of a second as much as their noise.

    With 0.6% at 1 ms by time^-0.2 the 1% that counts as noise is exceeded below 78 us.
    """
    values = seconds * (1.0 + noise * np.random.default_rng(4).normal(size=(2, 12)))
    gate = perfcore.gate(*(pd.DataFrame({"bench": "a", "time_s": side}) for side in values))
    assert any(source in line for line in gate.report().notes_by_label()["Assumed"])


def test_one_more_round_is_asked_for() -> None:
    """One of nine at p = 0.0103, which Holm makes 0.0927: 8 rounds would decide it alone, and there are 7.

    Of k rounds, (t_.95 + t_.9)^2 of k - 1 degrees must be at most k/7 of the squared statistic of 7.
    """
    statistic = stats.t.isf(0.0103, 6)
    assert min(
        k for k in range(3, 20) if (stats.t.ppf(0.95, k - 1) + stats.t.ppf(0.9, k - 1)) ** 2 <= k / 7 * statistic**2
    ) == 8  # fmt: skip
    table, noise = rounds(dict.fromkeys("abcdefghi", 1.0), k=7, noise=0.0), 0.01 * np.linspace(-1.0, 1.0, 7)
    logs = pd.DataFrame({"version": "new", "round": range(7), "log": noise})
    table = table.merge(logs, how="left", on=["version", "round"]).fillna({"log": 0.0})
    step = np.log(1.05) + statistic * noise.std(ddof=1) / np.sqrt(7)
    table.loc[(table["bench"] == "a") & (table["version"] == "new"), "log"] += step
    gate = perfcore.gate(table.assign(time_s=0.123456789012345 * np.exp(table.pop("log"))), base="old", new="new")
    assert gate.judged.p_slow[0] == pytest.approx(0.0927)
    assert (gate.outcome, gate.more_rounds.tolist()) == ("inconclusive", [1] + [0] * 8)
    assert [row["more_rounds"] for row in gate.to_dict()["benchmarks"]] == [1] + [0] * 8


@pytest.mark.parametrize(("old", "new", "design"), [
    ([0, 1, 2, 3, 4, 5], [15, 16, 17, 18, 19, 20], "blocked"),  # ten times the usual distance
    ([0, 1, 2, 3, 4, 5], [16, 17, 18, 19, 20, 21], "sessions"),  # eleven times
    ([15, 16, 17, 18, 19, 20], [0, 1, 2, 3, 4, 5], "blocked"),
    ([16, 17, 18, 19, 20, 21], [0, 1, 2, 3, 4, 5], "sessions"),
    ([0, 3, 4, 7, 8, 11], [1, 2, 5, 6, 9, 10], "interleaved"),  # any order within a pair
    ([0, 4, 5, 6, 7, 11], [1, 2, 3, 8, 9, 10], "blocked"),  # three of one version in turn
    ([0, 1, 2, 5, 7, 9], [3, 4, 6, 8, 10, 11], "blocked"),  # the first three
    ([0, 1, 4, 5, 8, 9], [2, 3, 6, 7, 10, 11], "interleaved"),  # two
    ([0, 2, 4, 6, 7, 8], [1, 3, 5, 9, 10, 11], "blocked"),  # the last three
    ([0, 2], [1, 3], "interleaved"),
    ([0, 2, 4, 6], [1, 3, 5], "interleaved"),
    ([0, 2, 3, 5, 6], [1, 4, 7], "blocked"),  # two more of one version
    ([0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5], "sessions"),  # at once: no clock of both
])  # fmt: skip
def test_the_order_of_runs_is_their_design(old: list[int], new: list[int], design: str) -> None:
    times = np.random.default_rng(8).lognormal(0.0, 0.01, len(old + new))
    version = np.repeat(["old", "new"], [len(old), len(new)])
    table = pd.DataFrame({"version": version, "order": old + new, "bench": "a", "time_s": times})
    assert perfcore.gate(table, base="old", new="new").designs == (design,)


def test_three_runs_of_each_version_one_after_the_other_suffice() -> None:
    times = [1.0, 1.001, 0.999, 3.0, 3.001, 2.999]
    table = pd.DataFrame({"version": ["old"] * 3 + ["new"] * 3, "order": range(6), "bench": "a", "time_s": times})
    for rows, outcome in ((table, "fail"), (table.drop(index=5), "inconclusive")):
        gate = perfcore.gate(rows, base="old", new="new", design="blocked")
        assert (gate.designs, gate.outcome) == (("blocked",), outcome)


def test_more_of_one_version_after_the_other_decides_nothing() -> None:
    times = np.random.default_rng(8).lognormal(0.0, 0.03, 12)
    table = pd.DataFrame({"version": np.repeat(["old", "new"], 6), "order": range(12), "bench": "a", "time_s": times})
    gate = perfcore.gate(table, base="old", new="new", strict=True)
    assert (gate.designs, gate.outcome.value, gate.more_rounds.tolist()) == (("blocked",), "inconclusive", [-1])


def test_the_noise_of_eight_runs_is_that_of_their_deciles() -> None:
    runs = np.random.default_rng(9).lognormal(0.0, 0.05, (2, 8))
    noise = [np.subtract(*np.percentile(own, [90, 10])) / (2.0 * stats.norm.ppf(0.9)) / np.median(own) for own in runs]
    assert perfcore.gate(*map(list, runs)).orders[0].noise == pytest.approx(noise, rel=1e-3)


def test_rounds_that_were_made_are_not_asked_for_again() -> None:
    """Fewest k with k distance^2 >= variance (t_.95 + t_.9)^2 from the limit, less the five that were made."""
    table = rounds({"a": 1.12}, k=5, noise=0.06)
    gate = perfcore.gate(table, base="old", new="new")
    assert gate.outcome == "inconclusive"
    logs = np.log(table.pivot_table(index="round", columns="version", values="time_s"))
    differences, k = logs["new"] - logs["old"], np.arange(3, 200)
    assert stats.ttest_1samp(differences, 0.0).pvalue < 0.05  # else no change is possible, at the limit's distance
    quantiles = stats.t.ppf(0.95, k - 1) + stats.t.ppf(0.9, k - 1)
    enough = k * (differences.mean() - np.log(1.05)) ** 2 >= differences.var(ddof=1) * quantiles**2
    assert gate.more_rounds[0] == k[enough.argmax()] - 5
    enough = k * LOG**2 >= np.diff(differences[:2]).item() ** 2 / 2.0 * quantiles**2  # two rounds leave no change open
    few = table[table["round"] < 2]
    assert perfcore.gate(few, base="old", new="new").more_rounds[0] == k[enough.argmax()] - 2


def test_exit_status(perf, refused, tmp_path: Path) -> None:
    tables = {"pass": rounds({"a": 1.0}), "fail": rounds({"a": 1.5}), "inconclusive": rounds({"a": 1.0}, k=2)}
    for name, table in tables.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    perf("gate", tmp_path / "pass.csv")
    perf("gate", tmp_path / "fail.csv", "--json", status=1)
    for words, status in (((), 3), (("--inconclusive", "pass"), 0), (("--inconclusive", "fail"), 1)):
        perf("gate", tmp_path / "inconclusive.csv", *words, status=status)
    assert "unknown version in column version" in refused("gate", tmp_path / "pass.csv", "--base", "older")


def test_mistakes_are_said_in_one_line(tmp_path: Path) -> None:
    table = rounds({"a": 1.0})
    for changes, message in (
        ({"slower_than": "0.9x"}, "above 1 is expected"),
        ({"session_cv": "two"}, "a share is expected"),
        ({"errors": "none"}, "unknown errors="),
        ({"version": "compiler"}, "unknown column"),
        ({"base": "old", "new": "old"}, "both 'old'"),
    ):
        with pytest.raises(OptionError, match=message):
            perfcore.gate(table, **changes)
    one = table[table["version"] == "old"].drop(columns="version")
    with pytest.raises(OptionError, match="nothing to compare with"):
        perfcore.gate(one)
    plain = one.rename(columns={"time_s": "value"})
    with pytest.raises(DataError, match=r"is in s, .* in MB. Convert one"):
        perfcore.gate(plain.assign(unit="s"), plain.assign(unit="MB"))
    twice = json.dumps({"results": [{"command": "a", "times": [1.0, 1.1]}] * 2})
    (tmp_path / "twice.json").write_text(twice)
    with pytest.raises(DataError, match="two benchmarks are called 'a'"):
        perfcore.gate(tmp_path / "twice.json", tmp_path / "twice.json")
    single = perfcore.gate(*[hyperfine(tmp_path / "single.json", {"a": [1.0]})] * 2)
    assert (single.outcome, single.more_rounds.tolist()) == ("inconclusive", [-1])  # nothing shows how much runs differ
    assert any("1 run per version, at least 3 are needed" in line for line in single.report().closing())
    other = hyperfine(tmp_path / "old.json", {"b": [1.0], "c": [1.0]})
    with pytest.raises(DataError, match="no benchmark in common"):
        perfcore.gate(hyperfine(tmp_path / "new.json", {"d": [1.0], "e": [1.0]}), other)


# The tests of a verdict: of rounds in turn, and of two sessions.
LOG = np.log(1.05)


def differences_of(table: pd.DataFrame, bench: str) -> np.ndarray:
    """Logarithms of new over old, round by round."""
    logs = np.log(table[table["bench"] == bench].pivot_table(index="round", columns="version", values="time_s"))
    return (logs["new"] - logs["old"]).to_numpy()


def test_probabilities_of_many_benchmarks_are_adjusted_as_statsmodels_does_it() -> None:
    from statsmodels.stats.multitest import multipletests

    table = rounds({f"b{k}": 1.0 + 0.01 * k for k in range(20)}, k=5, noise=0.04)
    for errors, method in (("fwer", "holm"), ("fdr", "fdr_bh")):
        verdict = perfcore.gate(table, base="old", new="new", errors=errors)
        alone = verdict.estimates.p_slow(LOG)
        np.testing.assert_allclose(verdict.judged.p_slow, multipletests(alone, method=method)[1])
        assert verdict.judged.slower.tolist() == (verdict.judged.p_slow <= 0.05).tolist()


@pytest.mark.parametrize("k", [2, 3, 5, 7])
def test_few_rounds_of_one_benchmark_are_students_paired_test(k: int) -> None:
    """Two rounds decide nothing, but have an interval."""
    table = rounds({"a": 1.05}, k=k, seed=k)
    found = perfcore.gate(table, base="old", new="new")
    expected = stats.ttest_1samp(differences_of(table, "a"), LOG, alternative="greater").pvalue
    p_values = (expected, 1.0 - expected) if k > 2 else (1.0, 1.0)
    assert (found.judged.p_slow[0], found.judged.p_not_slower[0]) == pytest.approx(p_values, rel=1e-9)
    error, t = stats.sem(differences_of(table, "a")), stats.t(k - 1).ppf
    found_with_90_per_cent = math.exp(max(LOG, t(0.95) * error) + t(0.9) * error) if k > 2 else math.inf
    assert found.resolution[0] == pytest.approx(found_with_90_per_cent)
    bounds = stats.ttest_1samp(differences_of(table, "a"), 0.0).confidence_interval(0.95)
    assert found.estimates.bounds()[0] == pytest.approx(bounds, rel=1e-9)


@pytest.mark.parametrize("k", [8, 10, 30])
def test_many_rounds_are_yuens_trimmed_test(k: int) -> None:
    """Wilcox, section 4.3: t = (trimmed mean - theta) / (s_w / ((1 - 2 cut) sqrt(k))), up to the factor of h and k.

    The degrees of freedom are those of a simulation: `test_degrees_of_freedom_of_trimmed_means`.
    """
    table = rounds({"a": 1.05}, k=k, seed=k)
    differences, cut = differences_of(table, "a"), int(0.2 * k)
    h = k - 2 * cut
    winsorised = stats.mstats.winsorize(differences, limits=(cut / k, cut / k))
    error = np.sqrt((k - 1) * np.var(np.asarray(winsorised), ddof=1) / (h * (h - 1)))
    expected = stats.t.sf((stats.trim_mean(differences, 0.2) - LOG) / error, (h - 1) * (1.0 - cut / k))
    assert perfcore.gate(table, base="old", new="new").judged.p_slow[0] == pytest.approx(expected, rel=1e-9)


def session(ratio: float, noise: float, n: int = 12, benchmarks: int = 1, time_s: float = 1.0) -> pd.DataFrame:
    """Means and standard deviations of one session, with so many digits that none of them counts."""
    mean = ratio * time_s * np.e / 2.718281
    names = [f"b{k}" for k in range(benchmarks)]
    return pd.DataFrame({"bench": names, "mean_s": mean, "sd_s": noise * mean, "n": n})


def test_rounds_would_decide_what_two_sessions_leave_open() -> None:
    """Differences of rounds have twice the variance of a run: fewest k with k limit^2 >= 2 noise^2 (t_.95 + t_.9)^2."""
    k = np.arange(3, 200)
    quantiles = stats.t.ppf(0.95, k - 1) + stats.t.ppf(0.9, k - 1)
    enough = k * LOG**2 >= 2.0 * 0.05**2 * quantiles**2
    assert perfcore.gate(session(1.0, 0.05), session(1.15, 0.05)).more_rounds.tolist() == [k[enough.argmax()]]


@pytest.mark.parametrize("benchmarks", [1, 2, 8])
def test_two_sessions_are_judged_by_their_noise(benchmarks: int) -> None:
    def verdict(ratio: float, noise: float, **options) -> str:
        sides = [session(side, noise, benchmarks=benchmarks) for side in (1.0, ratio)]
        return perfcore.gate(*sides, **options).outcome.value

    assert verdict(1.0, 0.01) == "pass"
    assert verdict(1.2, 0.01) == "fail"
    assert verdict(1.07, 0.01) == "inconclusive"
    assert verdict(1.2, 0.05) == "inconclusive"  # noisy: fails only far beyond the limit
    assert verdict(3.0, 0.1) == "fail"
    assert verdict(1.2, 0.05, session_cv=0.001) == "fail"
    assert verdict(1.0, 0.001, session_cv=0.1) == "pass"
    assert verdict(1.0, 0.001, session_cv=0.1, strict=True) == "inconclusive"


def test_two_sessions_have_the_variance_of_the_rule() -> None:
    """By hand: 0.85 of the noise, 1%, and 0.6% at 1 ms, by time^-0.2, beside pi/2 w^2/k of each median."""
    found = perfcore.gate(session(1.0, 0.02, 10, time_s=1e-6), session(1.1, 0.01, 20, time_s=1e-6)).estimates
    noise = np.sqrt((0.02**2 + 0.01**2) / 2.0)
    square = (0.85 * noise) ** 2 + 0.01**2 + (0.006 * (1e-3 / 1.05e-6) ** 0.2) ** 2  # of the mean time
    square += np.pi / 2.0 * (0.02**2 / 10 + 0.01**2 / 20)
    assert (found.log_ratio[0], found.freedom[0]) == (pytest.approx(np.log(1.1)), 4.0)
    assert found.standard_error[0] == pytest.approx(np.sqrt(square), rel=1e-5)
    assert np.diff(found.bounds()[0])[0] == pytest.approx(2.0 * stats.t.ppf(0.975, 4) * np.sqrt(square), rel=1e-5)


@pytest.mark.parametrize("runs", [(5, 7, 6), (2, 2, 3)])
def test_two_old_files_count_one_degree_beside_those_of_the_rule(tmp_path: Path, runs: tuple[int, int, int]) -> None:
    """By hand as above: the rule counts as the runs, at most 4; the files' levels differ by 2 x 0.01^2 in squares."""
    files = zip(("old_1", "old_2", "new"), (1.0, math.exp(0.02), 1.2), (0.01, 0.03, 0.02), runs, strict=True)
    for name, level, noise, n in files:
        session(level, noise, n).to_csv(tmp_path / f"{name}.csv", index=False)
    found = perfcore.gate(tmp_path / "old_*.csv", tmp_path / "new.csv").estimates
    old, new = (0.01**2 + 0.03**2) / 2.0, 0.02**2
    square = 0.85**2 * (old + new) / 2.0 + 0.01**2 + (0.006 * (1e-3 / 1.105) ** 0.2) ** 2  # of the mean time
    square = 0.5 * square + np.pi / 2.0 * (old / np.mean(runs[:2]) + new / runs[2]) / 2.0
    weight = min(np.mean(runs[:2]) + runs[2] - 2.0, 4.0)
    between = (weight * square + 2.0 * 0.01**2) / (weight + 1.0)
    assert (found.log_ratio[0], found.freedom[0]) == (pytest.approx(np.log(1.2) - 0.01), weight + 1.0)
    assert found.standard_error[0] == pytest.approx(np.sqrt(between * (1 / 2 + 1)), rel=1e-5)
    assert found.decides.all()


@pytest.mark.parametrize("ratios", [(1.0, 1.1, 1.3), (1.0, 1.02, 1.05), (1.0, 1.025, 1.05)])
def test_three_benchmarks_share_their_noise_and_their_scatter(ratios: tuple[float, ...]) -> None:
    """By hand: the median noise for 15 of 15 + 2 x 9 degrees of freedom; 1.5 times the scatter, which counts 3 of 4.

    What is more than twice the variance of the rule comes from the scatter.
    """
    noise, ratios = np.array([0.01, 0.02, 0.04]), np.array(ratios)
    sides = (session(1.0, 1.0, 10, 3, 1e-3), session(1.0, 1.0, 10, 3, 1e-3).assign(mean_s=lambda s: s.mean_s * ratios))
    gate = perfcore.gate(*(side.assign(sd_s=noise * side.mean_s) for side in sides))
    own = 0.02 ** (15 / 33) * noise ** (18 / 33)
    square = (0.85 * own) ** 2 + (0.006 * ((1.0 + ratios) / 2.0) ** -0.2) ** 2 + np.pi * own**2 / 10
    distance = np.median(np.abs(np.log(ratios / ratios[1])) / np.sqrt(square)) / 0.6745  # of normal values
    wider = (1.0 + 3.0 * distance**2 * 3 / 2) / 4.0
    np.testing.assert_allclose(gate.estimates.standard_error, np.sqrt(1.5 * wider * square), rtol=1e-5)
    assert gate.estimates.freedom.tolist() == [8.0] * 3
    assert gate.cv_sources == ("scatter" if wider > 2.0 else "noise",) * 3


@pytest.mark.parametrize(
    ("values", "expected"),
    [([1.25, 2.5, 1.5], 0.005 / 1.5), ([120.0, 130.0, 125.0], 0.5 / 125.0), ([np.pi, np.e, np.sqrt(2)], 0.0)],
)
def test_the_last_digit_of_values(values: list[float], expected: float) -> None:
    assert perfcore.gate(values, values).orders[0].rounding == pytest.approx(2.0 * expected)


@pytest.mark.parametrize("design", ["interleaved", "blocked", "sessions"])
@pytest.mark.parametrize(("k", "rounding"), [(3, 0.0), (4, 0.01 / 1.01)])
def test_the_last_digit_counts_unless_rounds_scatter_by_half_of_it(design: str, k: int, rounding: float) -> None:
    """Hundredths: both versions are off by 0.005, their ratio by 0.01; one round of k differs by 0.00985.

    The deviation of the rounds is 0.00985 / sqrt(k): above a half of 0.0099 for three rounds, below for four. So is
    that of all runs about their version's mean, with one of each version; and 1.4 times that of both sessions.
    """
    rare = [1.01] * (k - 1) + [1.02]
    times = {"old": rare if design == "blocked" else [1.01] * k, "new": rare}
    rows = [(version, at, "a", time) for version, own in times.items() for at, time in enumerate(own)]
    table = pd.DataFrame(rows, columns=["version", "round", "bench", "time_s"])
    found = perfcore.gate(table, base="old", new="new", design=design).estimates
    assert found.rounding[0] == pytest.approx(rounding)


@pytest.mark.parametrize("sides", [([1.0, 1.02, 1.05, 0.97, 1.01], [2.0, 2.02, 2.05, 1.97, 1.9]), ([1, 1.1], [2, 2.3])])
def test_the_noise_of_few_runs_is_their_sample_deviation(sides: tuple[list[float], list[float]]) -> None:
    """The rule of sessions takes it, for numbers without a unit as for runs of 1 ms: 0.6% beside 0.85 of it and 1%."""
    gate = perfcore.gate(*sides)
    noise = [statistics.stdev(side) / statistics.median(side) for side in sides]
    assert gate.orders[0].noise == pytest.approx(noise)
    square = 0.85**2 * np.mean(np.square(noise)) + 0.01**2 + 0.006**2
    square += np.pi / 2.0 * sum(own**2 / len(side) for own, side in zip(noise, sides, strict=True))
    assert gate.estimates.standard_error[0] == pytest.approx(np.sqrt(square))


# Stores of `perf experiment run` are read as rounds, where their runs lie together in time.
BEGIN = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
RUN = Run({}, 1, None, "", ("x",), 10**9, 0.1, 0.1, 0, 0, None, None, noisy=False, environment={"host": "h"})


def keep(path: Path, rows: list[tuple[str, int, float, float]], order: tuple[str, ...] = ("old", "new")) -> Path:
    """A store of runs: version, round, seconds since the beginning, wall time."""
    with Store.hold(path) as store:
        store.set_fact("versions", order)
        for version, replication, at, wall in rows:
            started = (BEGIN + datetime.timedelta(seconds=at)).isoformat(timespec="milliseconds")
            point = {"version": version, "n": 4}
            wall_ns = round(wall * 1e9)
            store.add(dataclasses.replace(RUN, point=point, replication=replication, started=started, wall_ns=wall_ns))
    return path


def in_turn(factor: float, k: int = 6, gap_after: int = 0) -> list[tuple[str, int, float, float]]:
    rng = np.random.default_rng(2)
    rows, at = [], 0.0
    for number in range(1, k + 1):
        for version in rng.permutation(["old", "new"]).tolist():
            wall = (factor if version == "new" else 1.0) * float(rng.lognormal(0.0, 0.01))
            rows.append((version, number, at, wall))
            at += wall + 0.05
        at += 3600.0 * (number == gap_after)
    return rows


def test_a_store_is_compared_round_by_round_without_being_told_more(perf, tmp_path: Path) -> None:
    path = keep(tmp_path / "s.db", in_turn(1.2))
    verdict = perfcore.gate(path)
    assert (verdict.names, verdict.designs, verdict.outcome.value) == (("old", "new"), ("interleaved",), "fail")
    assert verdict.estimates.rounds.tolist() == [6]
    assert perfcore.gate(path, base="new", new="old").outcome == "pass"
    for words in ((), ("--value", "wall_s", "--value", "user_s")):
        perf("gate", path, *words, status=1)


def test_one_version_after_the_other_is_no_turn_whatever_the_numbers_say(tmp_path: Path) -> None:
    runs = itertools.product(("old", "new"), range(6))
    rows = [(v, number, 10.0 * (number + 6 * (v == "new")), 1.0 + 0.001 * number) for v, number in runs]
    assert perfcore.gate(keep(tmp_path / "s.db", rows)).designs == ("blocked",)
    a_day_later = [(v, number, at + 86400.0 * (v == "new"), wall) for v, number, at, wall in rows]
    assert perfcore.gate(keep(tmp_path / "t.db", a_day_later)).designs == ("sessions",)


# Versions measured in rounds: order, commands, resuming, and what is refused.
PRINTS = [sys.executable, "-S", "-c", "import sys; print('t =', *sys.argv[1:])"]
COMMANDS = {"old": (*PRINTS, "1"), "new": (*PRINTS, "2")}
VALUES = ["t=t = ([0-9]+)"]


def made(store: Path) -> list:
    with Store.read(store) as opened:
        return opened.runs()


def test_every_round_has_each_version_once_in_random_order(tmp_path: Path) -> None:
    store = tmp_path / "v.db"
    done = perfcore.run(versions=COMMANDS, rounds=8, store=store, values=VALUES, max_load=1)
    assert (done.made, done.failed) == (16, 0)
    runs = made(store)
    orders = [tuple(run.point["version"] for run in runs[at : at + 2]) for at in range(0, 16, 2)]
    assert [run.replication for run in runs] == np.repeat(np.arange(1, 9), 2).tolist()
    assert set(orders) == {("old", "new"), ("new", "old")}
    assert {run.point["version"]: run.values["t"] for run in runs} == {"old": 1.0, "new": 2.0}
    # The table has the first version first, whichever happened to run first.
    assert perfcore.read(store).table["version"].tolist() == ["old", "new"] * 8


def test_a_store_of_versions_goes_on_without_being_told_them(tmp_path: Path, perf, refused, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    old = f"old={sys.executable} -S -c 'pass'"
    versions = ["--version", old, "--version", old.replace("old=", "new=")]
    perf("experiment", "run", *versions, "--rounds", 1, "--max-load", 1)
    said = perf("experiment", "run", "--rounds", 3, "--max-load", 1).out
    assert "versions.db: 4 new runs made, 6 in total" in said
    others = ["--version", "old=true", "--version", "new=true"]
    assert "its runs were made with versions old=" in refused("experiment", "run", *others, "--max-load", 1)


# Versions that the gate measures itself: rounds until it is decided, and the machine by itself.
SAYS = f"{sys.executable} -S -c \"print('t =', %s)\""
VALUE = "t=t = ([0-9.]+)"


def test_rounds_are_added_until_it_is_decided(tmp_path: Path) -> None:
    store = tmp_path / "r.db"
    versions = {"old": SAYS % "1.0", "new": SAYS % "3.0"}
    verdict = perfcore.gate_run(versions, value=[VALUE], warmup=0, store=store)
    assert verdict.outcome == "fail"
    assert verdict.estimates.rounds.tolist() == [5]  # the first look
    np.testing.assert_allclose(np.exp(verdict.estimates.log_ratio), 3.0)
    assert perfcore.gate_run(versions, value=[VALUE], warmup=0, store=store).to_dict() == verdict.to_dict()
    assert len(perfcore.runs(store).listed) == 10  # nothing was measured again
    assert perfcore.gate(store).outcome == "fail"


def drifting(k: int, noise: float, drift: float, seed: int = 1) -> pd.DataFrame:
    """Runs of one version on a machine whose level wanders."""
    rng = np.random.default_rng(seed)
    level = np.cumsum(rng.normal(0.0, drift, k))
    return pd.DataFrame({"bench": "sort", "order": np.arange(k), "time_s": np.exp(level + rng.normal(0.0, noise, k))})


def test_the_machine_by_itself(perf, tmp_path: Path) -> None:
    found = perfcore.gate_self_test(drifting(60, 0.01, 0.0))
    assert 0.008 < found.benchmarks[0]["noise"] < 0.013
    assert found.any_in_turn == 0.0
    assert 3 <= found.benchmarks[0]["rounds"] <= 5
    assert found.report().answer.startswith(f"{found.benchmarks[0]['rounds']} interleaved rounds decide 1.05x")
    assert 0.05 < found.benchmarks[0]["smallest_effect"] < 0.2
    wandering = perfcore.gate_self_test(drifting(200, 0.002, 0.06))
    assert wandering.benchmarks[0]["slower_one_after_other"] > 0.05 > wandering.benchmarks[0]["slower_in_turn"]
    assert any("runs far apart in time differ more" in line for line in wandering.report().closing())
    drifting(60, 0.3, 0.0).to_csv(tmp_path / "loud.csv", index=False)
    picture = tmp_path / "p.png"
    assert "a limit of 1.05x needs" in perf("gate", "--self-test", tmp_path / "loud.csv", "--plot", picture).out
    assert picture.stat().st_size > 1000
    with pytest.raises(DataError, match="4 runs of a benchmark, and 6 at least are needed"):
        perfcore.gate_self_test(drifting(4, 0.1, 0.0))


def test_the_machine_by_any_earlier_files(tmp_path: Path) -> None:
    paths = [hyperfine(tmp_path / f"{k}.json", {"a": noisy(k, 1.0, 0.01)}) for k in range(2)]
    found = perfcore.gate_self_test(",".join(paths))
    assert found.benchmarks[0]["runs"] == 24
    assert 0.05 < found.benchmarks[0]["smallest_effect"] < 0.12


def test_names_are_those_that_tools_print_and_the_next_command_uses_them(tmp_path: Path) -> None:
    names = ["BM_copy/512", "BM_copy/1024", "BM_init", "BM_sort/n:8/threads:4"]
    paths = [google(tmp_path / f"{k}.json", {n: noisy(9 * k + i, 1 + 0.1 * k, 0.05) for i, n in enumerate(names)})
             for k in range(2)]  # fmt: skip
    for path in map(Path, paths):
        path.write_text(json.dumps({**json.loads(path.read_text()), "context": {"executable": "./bench"}}))
    verdict = perfcore.gate(*paths)
    assert set(verdict.benchmarks) == set(names)
    assert verdict.outcome == "inconclusive"
    assert "Next: ./bench --benchmark_filter=" in verdict.report().closing()[-1]
    commands = [f"./sort -n {n}" for n in (10, 20)]
    files = [hyperfine(tmp_path / f"h{k}.json", {c: noisy(k, 1.0, 0.01) for c in commands}) for k in range(2)]
    assert list(perfcore.gate(*files).benchmarks) == commands


def test_two_lists_of_numbers_are_compared_as_two_sessions() -> None:
    gate = perfcore.gate([1.01, 1.0, 1.02, 0.99, 1.0], [1.31, 1.3, 1.33, 1.29, 1.3])
    assert (gate.outcome.value, gate.names, gate.designs) == ("fail", ("old", "new"), ("sessions",))
    with pytest.raises(DataError, match=r"row 1: value is -2; a positive number is expected"):
        perfcore.gate([1.0, -2.0], [1.0, 1.1])


def test_rows_of_two_versions_in_turn_are_rounds() -> None:
    """As Node.js's compare.js writes them, in random order within a pair; numbered repetitions prove nothing."""
    order = ["old", "new", "old", "new", "new", "old", "old", "new", "old", "new"]
    rates = {"old": iter([392.1, 391.1, 395.1, 390.1, 393.1]), "new": iter([362.1, 363.1, 360.1, 361.1, 364.1])}
    runs = pd.DataFrame({"binary": order, "rate": [next(rates[version]) for version in order], "time": 0.15})
    gate = perfcore.gate(runs, value="rate")
    assert (gate.outcome, gate.designs, gate.orders[0].reason) == ("fail", ("interleaved",), "rows alternate")
    assert np.exp(gate.estimates.log_ratio[0]) == pytest.approx(1.084, abs=0.002)
    assert perfcore.gate(runs.assign(repetition=range(10)), value="rate").designs == ("sessions",)
    assert perfcore.gate(runs[:6], value="rate").designs == ("interleaved",)  # three pairs
    mixed = pd.DataFrame({"binary": ["old", "new", "old", "old", "new", "new"], "rate": runs["rate"][:6]})
    assert perfcore.gate(mixed, value="rate").designs == ("sessions",)


def test_two_commands_of_hyperfine_are_compared_whatever_differs(tmp_path: Path) -> None:
    """One number in the command, or a parameter of the scan."""
    times = {"1": [1.0, 1.01, 0.99, 1.0], "2": [1.3, 1.31, 1.29, 1.3]}
    for parameters in ({}, {"n": ""}):
        results = [
            {"command": f"sort -n {n} x", "times": values, "parameters": dict.fromkeys(parameters, n)}
            for n, values in times.items()
        ]
        path = tmp_path / "two.json"
        path.write_text(json.dumps({"results": results}))
        gate = perfcore.gate(str(path))
        assert (gate.names, gate.outcome) == (("sort -n 1 x", "sort -n 2 x"), "fail")
        assert "sort -n 2 x against sort -n 1 x 1.300x" in gate.report().answer


def test_cells_of_numbers_that_some_benchmarks_lack_name_none(tmp_path: Path) -> None:
    """As BenchmarkDotNet prints in Markdown: collections of garbage are measured, a new one makes no new benchmark."""
    rows = "| Sort | {sort} ms | 0.1 ms | {gen} |\n| Scan | 50.0 ms | 0.1 ms | 1.0 |\n| Sum | 5.0 ms | 0.1 ms | - |\n"
    heading = "| Method | Mean | StdDev | Gen 0 |\n|---|---|---|---|\n"
    for name, sort, gen in (("old.md", 10.0, "-"), ("new.md", 15.0, "2.0")):
        (tmp_path / name).write_text(heading + rows.format(sort=sort, gen=gen))
    gate = perfcore.gate(str(tmp_path / "old.md"), str(tmp_path / "new.md"))
    assert {row["benchmark"]: row["outcome"] for row in gate.to_dict()["benchmarks"]} == {
        "Sort": "fail", "Scan": "pass", "Sum": "pass"
    }  # fmt: skip
