"""Adding rounds until it is decided: levels of published tables, errors at simulated truth."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from perf_gate.interim_analyses import InterimAnalysis, judge_sequentially, next_analysis, sequential_plan
from perf_gate.sides import opened
from perf_gate.versions import gate_versions
from perf_statistics.gating import Judged, Outcome

LOG = math.log(1.05)


def until_decided(first: np.ndarray, second: np.ndarray, plan: tuple[InterimAnalysis, ...]) -> tuple[Judged, int]:
    """The verdict, and after how many rounds."""
    rounds: int | None = 0
    while (rounds := next_analysis(plan, rounds)) is not None:
        judged = judge_sequentially(list(first[:, :rounds]), list(second[:, :rounds]), 1.05, plan)[1]
        if judged.outcome is not Outcome.UNDECIDED:
            return judged, rounds
    return judged, plan[-1].rounds


def test_levels_are_those_that_lan_and_demets_print() -> None:
    """Spending alpha t at five equal looks, one-sided .025, as they print them."""
    from perf_gate.interim_analyses import _levels

    bounds = -stats.norm.ppf(_levels([1, 2, 3, 4, 5], 0.025))
    np.testing.assert_allclose(bounds, [2.58, 2.49, 2.41, 2.34, 2.28], atol=0.005)


def test_sums_of_normal_values_cross_as_often_as_planned() -> None:
    """Less than 5 %, since statistics of Student's kind cross a little more often."""
    plan = sequential_plan(60)
    sums = np.random.default_rng(1).normal(size=(40_000, 60)).cumsum(axis=1)
    crossed = [sums[:, look.rounds - 1] / math.sqrt(look.rounds) > stats.norm.isf(look.slower) for look in plan]
    assert abs(np.any(crossed, axis=0).sum() - 0.9 * 2000) < 4.0 * math.sqrt(40_000 * 0.05 * 0.95)


@pytest.mark.parametrize(("benchmarks", "repeated"), [(1, 200), (20, 60)])
def test_false_verdicts_of_either_kind_are_rare(benchmarks: int, repeated: int) -> None:
    """All exactly at the threshold: failed is false, and so is passed. 99.9 % binomial limits of 5 %."""
    rng = np.random.default_rng(benchmarks)
    plan = sequential_plan(40, benchmarks)
    outcomes = []
    for _ in range(repeated):
        noise = np.exp(rng.uniform(np.log(0.005), np.log(0.2), benchmarks))[:, None]
        first, second = rng.normal(0.0, 1.0, (2, benchmarks, 40)) * noise
        outcomes.append(until_decided(first, second + LOG, plan)[0].outcome)
    for outcome in (Outcome.FAILED, Outcome.PASSED):
        assert outcomes.count(outcome) <= stats.binom.ppf(0.999, repeated, 0.05)


def test_clear_cases_end_early() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.normal(0.0, 0.01, (2, 3, 40))
    plan = sequential_plan(40, 3)
    for shift, outcome in ((0.0, Outcome.PASSED), (math.log(1.5), Outcome.FAILED)):
        judged, rounds = until_decided(first, second + shift, plan)
        assert judged.outcome is outcome
        assert rounds <= 8


def test_rounds_between_two_looks_change_nothing() -> None:
    rng = np.random.default_rng(4)
    first, second = rng.normal(0.0, 0.05, (2, 2, 11))
    plan = sequential_plan(40, 2)
    judged = [judge_sequentially(list(first[:, :k]), list(second[:, :k]), 1.05, plan)[1] for k in (8, 11)]
    np.testing.assert_array_equal(judged[0].p_slow, judged[1].p_slow)
    assert judge_sequentially(list(first[:, :4]), list(second[:, :4]), 1.05, plan)[1].outcome is Outcome.UNDECIDED


def test_the_first_verdict_of_a_benchmark_holds_and_it_need_not_be_measured_on() -> None:
    rng = np.random.default_rng(5)
    clear, noisy = rng.normal(0.0, 0.001, (2, 5)), rng.normal(0.0, 0.05, (2, 12))
    plan = sequential_plan(40, 2)
    judged = judge_sequentially([clear[0], noisy[0]], [clear[1], noisy[1]], 1.05, plan)[1]
    assert judged.outcome_of(0) is Outcome.PASSED
    later = np.concatenate([clear[1], np.full(7, 1.0)])
    longer = judge_sequentially([np.r_[clear[0], np.zeros(7)], noisy[0]], [later, noisy[1]], 1.05, plan)[1]
    assert longer.outcome_of(0) is Outcome.PASSED


def runs(rounds: int, factor: float) -> pd.DataFrame:
    times = np.exp(np.random.default_rng(6).normal(0.0, 0.01, (2, rounds)))
    return pd.DataFrame(
        [
            {"version": name, "round": at, "bench": "sort", "time_s": own}
            for at in range(rounds)
            for name, own in (("old", times[0, at]), ("new", factor * times[1, at]))
        ]
    )


def test_a_table_so_far_is_judged_by_its_plan() -> None:
    plan = sequential_plan(40)
    first, second, names = opened(runs(8, 1.0)).split("version", ("old", "new"))
    verdict = gate_versions(first, second, names, threshold=1.05, plan=plan)
    plain = gate_versions(first, second, names, threshold=1.05)
    assert verdict.outcome is Outcome.PASSED
    assert verdict.judged.p_not_slower[0] > plain.judged.p_not_slower[0]
    assert (verdict.estimates.bounds()[:, 1] > plain.estimates.bounds()[:, 1]).all()
    first, second, names = opened(runs(8, 3.0)).split("version", ("old", "new"))
    assert gate_versions(first, second, names, threshold=1.05, plan=plan).outcome is Outcome.FAILED
