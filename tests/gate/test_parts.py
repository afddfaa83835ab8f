"""Phases and lost cycles of several runs of two versions."""

from pathlib import Path

import numpy as np
import pytest

import perfcore
from perf_gate.parts.phases import phase_times
from perf_gate.parts.table import WHOLE
from perfcore import Trace, UtilizationCurve
from perfcore.base.errors import DataError, OptionError

LENGTHS = (40e6, 30e6, 30e6)  # ns
BUSY = (8, 4, 2)


def run(seed: int, factor: float = 1.0, slower: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> Trace:
    """Three phases on 8 ranks: all, half, a quarter of them compute, the others wait; lengths vary by 1 %."""
    rng = np.random.default_rng(seed)
    rows, at = [], 0.0
    for busy, length, more in zip(BUSY, LENGTHS, slower, strict=True):
        step = factor * more * length * float(np.exp(rng.normal(0.0, 0.01))) / 20
        for rank in range(8):
            for k in range(20):
                begin = at + k * step
                rows.append((rank, begin, begin + step * float(rng.uniform(0.94, 0.99)), int(rank >= busy)))
        at += 20 * step
    location, start, end, state = map(np.array, zip(*rows, strict=True))
    names = [f"rank {k}" for k in range(8)]
    return Trace(
        location, state, start.astype(np.int64), end.astype(np.int64), names, ["run", "MPI_Wait"], busy_states=["run"]
    )


def thrice(trace: Trace) -> Trace:
    return Trace(
        trace.location,
        trace.state,
        3 * trace.start_ns,
        3 * trace.end_ns,
        trace.locations,
        trace.states,
        busy_states=["run"],
    )


OLD = [run(seed) for seed in range(4)]
SAME = [run(seed) for seed in range(10, 14)]


@pytest.mark.parametrize("parts", ["phases", "categories"])
def test_an_exact_threefold_slowdown_fails(parts: str) -> None:
    verdict = perfcore.gate(OLD, [thrice(each) for each in OLD], parts=parts)
    assert verdict.outcome == "failed"
    assert verdict.judged.slower.all()
    np.testing.assert_allclose(np.exp(verdict.estimates.log_ratio), 3.0, rtol=1e-4)
    assert WHOLE in verdict.benchmarks


@pytest.mark.parametrize("parts", [None, "categories"])
def test_equal_versions_are_not_slower(parts: str | None) -> None:
    verdict = perfcore.gate(OLD, SAME, parts=parts, slower_than="1.2x")
    assert verdict.outcome == "passed"
    assert verdict.unmatched == ()


def test_the_phase_that_is_slower_is_named() -> None:
    verdict = perfcore.gate(OLD, [run(seed, slower=(1.0, 1.3, 1.0)) for seed in range(4)])
    outcomes = {name: verdict.judged.outcome_of(k).value for k, name in enumerate(verdict.benchmarks)}
    assert outcomes == {WHOLE: "failed", "phase 1": "passed", "phase 2": "failed", "phase 3": "passed"}


def test_fewer_than_three_runs_tell_the_ratio_and_decide_nothing() -> None:
    verdict = perfcore.gate(OLD[:2], [thrice(each) for each in OLD[:2]])
    assert (verdict.outcome.value, verdict.status) == ("undecided", 3)
    assert "3.000x, of 2 rounds: at least 3 are needed" in verdict.summary()[0]
    assert perfcore.gate(OLD[0], thrice(OLD[0])).outcome == "undecided"


def curve(levels: list[float], lengths: list[float]) -> UtilizationCurve:
    return UtilizationCurve(np.r_[0.0, np.cumsum(lengths)], levels)


def model(levels: list[float], lengths: list[float]):
    return perfcore.fit(curve(levels, lengths), phases=len(levels), degree=0)


def test_a_phase_without_partner_keeps_it_open() -> None:
    old = [model([8.0, 2.0, 6.0], [4.0, 3.0, 3.0 + 0.01 * k]) for k in range(4)]
    new = [model([8.0, 2.0, 6.0, 0.5], [4.0, 3.0, 3.0 + 0.01 * k, 0.8]) for k in range(4)]
    verdict = perfcore.gate(old, new, slower_than="1.5x")
    assert verdict.judged.outcome == "passed"
    assert (verdict.outcome.value, verdict.status) == ("undecided", 3)
    assert any(each.startswith("phase 4 of run 1 of the second version") for each in verdict.unmatched)
    assert verdict.summary()[0].startswith("undecided: of the phases that all runs have none is slower than 1.5x, but ")
    assert perfcore.gate(old, new, slower_than="1.5x", missing="fail").outcome == "failed"


def test_phases_that_one_run_joins_are_joined_in_all() -> None:
    old = [model([8.0, 2.0, 1.9], [4.0, 3.0, 3.0]) for _ in range(3)]
    new = [*old[:2], model([8.0, 1.95], [4.0, 6.0])]
    times = phase_times(old, new)
    assert [set(each) for each in (*times.first, *times.second)] == [{WHOLE, "phase 1", "phase 2-3"}] * 6
    assert {round(each["phase 2-3"], 9) for each in (*times.first, *times.second)} == {6e-6}


def test_runs_that_do_not_look_alike_are_compared_as_wholes() -> None:
    old = [model([8.0, 2.0], [4.0, 3.0]) for _ in range(3)]
    new = [model([1.0, 8.0, 1.0, 8.0, 0.5], [4.0, 1.0, 1.0, 0.5, 0.5]) for _ in range(3)]
    verdict = perfcore.gate(old, new)
    assert verdict.benchmarks == (WHOLE,)
    assert verdict.outcome == "undecided"
    assert "phases of run 1 of the second version" in verdict.unmatched


def test_files_of_models(perf, tmp_path: Path, capsys) -> None:
    for k in range(3):
        for version, factor in (("old", 1.0), ("new", 3.0)):
            lengths = [factor * each for each in (4.123457 + 0.01 * k, 3.0 + 0.01 * k)]
            model([8.0, 2.0], lengths).save(tmp_path / f"{version}_{k}.json")
    assert perf("gate", tmp_path / "old_*.json", tmp_path / "new_*.json") == 1
    out = capsys.readouterr().out
    assert "phase 1    failed" in out
    files = ",".join(str(tmp_path / f"old_{k}.json") for k in range(3))
    assert perf("gate", files, tmp_path / "old_*.json", "--json") == 0
    assert '"parts": "phase"' in capsys.readouterr().out
    assert perf("gate", tmp_path / "old_*.json") == 2
    assert "name those of the second version too" in capsys.readouterr().err
    assert perf("gate", tmp_path / "old_*.json", files, "--parts", "categories") == 2
    assert "is a model; categories need the traces" in capsys.readouterr().err


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    import pandas as pd

    table = pd.DataFrame({"bench": "a", "time_s": [1.0, 2.0]})
    with pytest.raises(OptionError, match="is a table of runs"):
        perfcore.gate(table, OLD)
    law = perfcore.fit(
        pd.DataFrame({"p": [1, 2, 4, 8], "time_s": [8.0, 4, 2, 1]}), fitter="individual", functions="1/p"
    )
    with pytest.raises(DataError, match="have no phases to match"):
        perfcore.gate([law] * 3, [law] * 3)


def test_tables_of_lost_cycles_are_runs(perf, tmp_path: Path, capsys) -> None:
    """What `perf overheads -o` writes, in which most categories are zero; as from the traces themselves."""
    for name, traces in (("old", OLD), ("new", [thrice(each) for each in OLD])):
        perfcore.overheads(traces).to_frame().to_csv(tmp_path / f"{name}.csv", index=False)
    files = tmp_path / "old.csv", tmp_path / "new.csv"
    assert perf("gate", *files) == 2
    assert "time_s is 0.0; a positive number is expected; --parts categories takes zeros" in capsys.readouterr().err
    verdict = perfcore.gate(*files, parts="categories")
    direct = perfcore.gate(OLD, [thrice(each) for each in OLD], parts="categories")
    assert verdict.outcome == "failed"
    assert verdict.benchmarks == direct.benchmarks
    np.testing.assert_allclose(np.exp(verdict.estimates.log_ratio), 3.0, rtol=1e-4)
    table = perfcore.overheads(OLD, settings={"p": [1, 2, 3, 4]}).to_frame()
    table.to_csv(files[0], index=False)
    with pytest.raises(DataError, match="runs of several p"):
        perfcore.gate(*files, parts="categories")


def test_a_category_that_appears_keeps_it_open() -> None:
    """What was never lost before has no ratio; passing would hide it."""
    import pandas as pd

    rng = np.random.default_rng(5)

    def runs(lost: float) -> pd.DataFrame:
        return pd.DataFrame(
            [
                {"p": 8, "category": name, "time_s": seconds * float(rng.lognormal(0.0, 0.002))}
                for _ in range(5)
                for name, seconds in (("pure computation", 10.0), ("contention", lost), ("other", 0.0))
            ]
        )

    verdict = perfcore.gate(perfcore.Measurements(runs(0.0)), perfcore.Measurements(runs(0.15)), parts="categories")
    assert verdict.outcome == "undecided"
    assert verdict.unmatched == ("contention (0 of 5 runs, 5 of 5)",)
