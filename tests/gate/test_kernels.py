"""The kernels behind a gate, against closed forms, published levels and simulated truth."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats
from scipy.linalg import toeplitz
from scipy.signal import lfilter
from statsmodels.tsa.arima_process import arma_acovf

from perf_gate.change_detection import detect, scan
from perf_gate.versions import InterimAnalysis, _levels, judge_sequentially, next_analysis, sequential_plan
from perf_statistics.gating import (
    GRID,
    Estimates,
    Judged,
    Outcome,
    Sessions,
    _prior,
    blocked_test,
    first_variance,
    judge,
    moderated,
    paired_test,
    session_test,
    trimmed_means,
    whitened,
)

LOG = math.log(1.05)


def noise(rng: np.random.Generator, count: int, phi: float, spread: float = 0.02) -> np.ndarray:
    """AR(1) of a given marginal spread."""
    shocks = rng.normal(0.0, spread * np.sqrt(1.0 - phi * phi), count + 100)
    return lfilter([1.0], [1.0, -phi], shocks)[100:]


@pytest.mark.parametrize(("phi", "theta"), [(0.5, 0.0), (0.7, 0.3), (0.95, 0.836)])
def test_whitened_rows_are_the_innovations_of_the_process(phi: float, theta: float) -> None:
    """As a recursive filter finds them, and the variance of statsmodels."""
    rows, variance = np.random.default_rng(2).normal(size=(2, 40)), arma_acovf([1.0, -phi], [1.0, -theta], 1)[0]
    shocks = np.column_stack([rows[:, 0] / math.sqrt(variance), rows[:, 1:] - phi * rows[:, :-1]])
    expected = lfilter([1.0], [1.0, -theta], shocks)
    np.testing.assert_allclose(whitened(rows, phi, theta), expected, rtol=1e-9, atol=1e-9)
    of_pairs = whitened(rows, np.full(2, phi), np.full(2, theta))
    np.testing.assert_allclose(of_pairs, [expected] * 2, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("k", [8, 10, 12, 20])
def test_degrees_of_freedom_of_trimmed_means(k: int) -> None:
    """By the moments of variances of normal values (F. E. Satterthwaite, Biometrics Bulletin 2, 1946)."""
    means, variances, freedom, kept = trimmed_means(list(np.random.default_rng(k).normal(size=(40_000, k))))
    assert 2.0 * variances.mean() ** 2 / variances.var() == pytest.approx(freedom[0], rel=0.04)
    assert (stats.t.sf(np.abs(means) / np.sqrt(variances / kept), freedom) <= 0.0005).mean() <= 0.001


@pytest.mark.parametrize("benchmarks", [1, 12, 60])
@pytest.mark.parametrize("k", [3, 10])
def test_false_alarms_at_the_threshold_are_within_binomial_limits_of_five_per_cent(benchmarks: int, k: int) -> None:
    """All exactly 1.05x slower, noises of 0.5 to 20 %, a common drift: any alarm is false. 99.9 % limit of 7 %."""
    rng = np.random.default_rng([benchmarks, k])
    repeated, alarms = 400, 0
    for _ in range(repeated):
        spread = np.exp(rng.uniform(np.log(0.005), np.log(0.2), benchmarks))[:, None]
        drift = np.cumsum(rng.normal(0.0, 1.0, 2 * k)) / math.sqrt(20.0)
        runs = (rng.normal(0.0, 1.0, (benchmarks, 2 * k)) + drift) * spread
        swapped = rng.random(k) < 0.5
        first = np.where(swapped, runs[:, 1::2], runs[:, ::2])
        second = np.where(swapped, runs[:, ::2], runs[:, 1::2]) + LOG
        alarms += judge(paired_test(list(first), list(second)), 1.05).outcome is Outcome.FAILED
    assert alarms <= stats.binom.ppf(0.999, repeated, 0.06)


@pytest.mark.parametrize("phi", [0.0, 0.9])
@pytest.mark.parametrize("k", [5, 30])
def test_one_version_after_the_other_in_noise_with_memory(phi: float, k: int) -> None:
    rng = np.random.default_rng([int(10 * phi), k])
    repeated, alarms = 200, 0
    second = np.arange(2 * k) >= k
    for _ in range(repeated):
        found = blocked_test([noise(rng, 2 * k, phi) + LOG * second], [second], LOG)
        alarms += bool(found.p_slow(LOG)[0] <= 0.05)
    assert alarms <= stats.binom.ppf(0.999, repeated, 0.07)


def test_one_version_after_the_other_in_white_noise_is_least_squares() -> None:
    """Errors that alternate have no memory: of 2 x 6 runs off by 1% the residual variance is 12/9 of its square."""
    second = np.arange(12) >= 6
    found = blocked_test([0.01 * (-1.0) ** np.arange(12) + LOG * second], [second], LOG)
    assert (found.log_ratio[0], found.freedom[0]) == (pytest.approx(LOG), 9.0)
    assert found.standard_error[0] == pytest.approx(0.01 * math.sqrt(12 / 9 * (1 / 6 + 1 / 6)))
    few = np.arange(6) >= 3  # three runs of each are enough
    assert np.isfinite(blocked_test([0.01 * (-1.0) ** np.arange(6)], [few], LOG).standard_error).all()


@pytest.mark.parametrize("step", [0.15, 0.08])
def test_one_version_after_the_other_is_a_likelihood_ratio_of_dense_covariances(step: float) -> None:
    """The profile likelihoods of least squares at each pair of the grid, with and without the step of the limit."""
    assert ((GRID[:, 1] >= 0.0) & (GRID[:, 1] <= GRID[:, 0]) & (GRID[:, 0] < 1.0)).all()
    second, n = np.arange(12) >= 6, 12
    y = noise(np.random.default_rng(3), n, 0.7) + step * second
    found = []
    for phi, theta in GRID.tolist():
        root = np.linalg.cholesky(toeplitz(arma_acovf([1.0, -phi], [1.0, -theta], n)))
        free, fixed, *white = np.linalg.solve(root, np.stack([y, y - LOG * second, np.ones(n), second])[..., None])[
            ..., 0
        ]
        size, rest = np.linalg.lstsq(np.stack(white, axis=1), free, rcond=None)[:2]
        squares = rest[0], np.linalg.lstsq(white[0][:, None], fixed, rcond=None)[1][0]
        found.append([-0.5 * n * math.log(s) - np.log(np.diag(root)).sum() for s in squares] + [size[1]])
    with_step, without, sizes = np.array(found).T
    best, other = with_step.argmax(), without.argmax()
    gain = max((1.0 - theta) / (1.0 - phi) for phi, theta in GRID[[best, other]].tolist())
    statistic = math.sqrt(math.expm1(2.0 * (with_step[best] - without[other]) / n) * (n - 3.0))
    one = blocked_test([y], [second], LOG)
    assert one.log_ratio[0] == pytest.approx(sizes[best])
    assert one.standard_error[0] == pytest.approx((1.0 + 0.2 * math.log(gain)) * (sizes[best] - LOG) / statistic)


@pytest.mark.parametrize("seconds", [1e-6, 1e-12])
def test_noise_of_one_session_is_taken_for_that_of_the_other(seconds: float) -> None:
    """Ten runs and one: 0.85 of the noise, 1%, 0.6% at 1 ms, at most 25% in all, and pi/2 w^2/k of the medians."""
    sides = [Sessions([np.zeros(1)], np.array([own]), np.array([runs])) for own, runs in ((0.02, 10.0), (np.nan, 1.0))]
    square = min((0.85 * 0.02) ** 2 + 0.01**2 + (0.006 * (1e-3 / seconds) ** 0.2) ** 2, 0.25**2)
    square += math.pi / 2.0 * 0.02**2 * (1 / 10 + 1)
    assert session_test(*sides, np.full(1, seconds))[0].standard_error[0] == pytest.approx(math.sqrt(square))


@pytest.mark.real_data
@pytest.mark.parametrize(("file", "alarms", "passes"), [("dedicated", 0.08, 0.6), ("hosted_ci", 0.12, 0.4)])
def test_consecutive_sessions_of_public_benchmarks(real_data: Path, file: str, alarms: float, passes: float) -> None:
    """Gates of 8 benchmarks, versions unchanged or hardly changed, and one of them 20% slower."""
    table = pd.read_csv(real_data / "sessions" / f"{file}.csv.gz")
    rng, found = np.random.default_rng(1), []
    for _, environment in table.groupby("environment"):
        dates = np.sort(environment["date"].unique())
        for k in rng.choice(len(dates) - 1, 60):
            days = (environment[environment["date"] == date].drop_duplicates("benchmark") for date in dates[k : k + 2])
            one, other = (day.set_index("benchmark") for day in days)
            chosen = rng.choice(one.index.intersection(other.index), 8, replace=False)
            a, b = one.loc[chosen], other.loc[chosen]
            for slower in (1.0, 1.2):
                levels = [np.log(side["median_s"].to_numpy())[:, None] for side in (a, b)]
                levels[1][0] += math.log(slower)
                sides = [
                    Sessions(list(level), side["within_sd"].to_numpy(), side["repeats"].to_numpy(dtype=float))
                    for level, side in zip(levels, (a, b), strict=True)
                ]
                estimates, _ = session_test(*sides, a["median_s"].to_numpy())
                judged, (low, high) = judge(estimates, 1.05), estimates.bounds()[1:].T
                found.append(
                    (judged.slower.any(), judged.slower[0], judged.not_slower.mean(), ((low < 0) & (high > 0)).mean())
                )
    unchanged, slow = np.array(found)[::2].mean(axis=0), np.array(found)[1::2].mean(axis=0)
    assert unchanged[0] <= alarms
    assert unchanged[2] >= passes
    assert slow[1] >= 0.55
    assert 0.88 <= unchanged[3] <= 0.98


@pytest.mark.parametrize("spread", [0.001, 0.03])
def test_several_old_sessions_measure_how_they_vary(spread: float) -> None:
    rng = np.random.default_rng(1)
    covered = []
    for _ in range(400):
        levels = rng.normal(0.0, spread, (1, 9))
        one_run = [Sessions(list(x), np.full(1, np.nan), np.ones(1)) for x in (levels[:, :8], levels[:, 8:])]
        found = session_test(*one_run, np.ones(1))[0]
        lower, upper = found.bounds()[0]
        covered.append(lower <= 0.0 <= upper)
    assert abs(np.mean(covered) - 0.95) < 3.3 * math.sqrt(0.95 * 0.05 / 400)
    assert found.freedom[0] == 7.0


def test_constant_values_decide_as_far_as_their_digits_do() -> None:
    old, slower = np.log(np.full(5, 0.02)), np.log(np.full(5, 0.03))
    digits = np.array([0.25 + 0.005 / 0.03])
    assert judge(paired_test([old], [slower]), 1.05).outcome is Outcome.FAILED
    assert judge(paired_test([old], [slower], digits), 1.05).outcome is Outcome.UNDECIDED
    assert judge(paired_test([old], [old + LOG]), 1.05).outcome is Outcome.UNDECIDED
    assert judge(paired_test([old], [old]), 1.05).outcome is Outcome.PASSED


# Adding rounds until it is decided: levels of published tables, errors at simulated truth.
def until_decided(first: np.ndarray, second: np.ndarray, plan: tuple[InterimAnalysis, ...]) -> tuple[Judged, int]:
    """The verdict, and after how many rounds."""
    rounds: int | None = 0
    while (rounds := next_analysis(plan, rounds)) is not None:
        sides = list(first[:, :rounds]), list(second[:, :rounds])
        judged = judge_sequentially(*sides, 1.05, plan, is_strict=True)[1]
        if judged.is_decided:
            return judged, rounds
    return judged, plan[-1].rounds


def test_levels_are_those_that_lan_and_demets_print() -> None:
    """Spending alpha t at five equal looks, one-sided .025, as they print them."""
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
    first, second = np.random.default_rng(3).normal(0.0, 0.01, (2, 3, 40))
    plan = sequential_plan(40, 3)
    for shift, outcome in ((0.0, Outcome.PASSED), (math.log(1.5), Outcome.FAILED)):
        judged, rounds = until_decided(first, second + shift, plan)
        assert judged.outcome is outcome
        assert rounds <= 8


def test_rounds_between_two_looks_change_nothing() -> None:
    first, second = np.random.default_rng(4).normal(0.0, 0.05, (2, 2, 11))
    plan = sequential_plan(40, 2)
    assert [look.rounds for look in plan] == [5, 8, 12, 18, 27, 40]
    judged = [judge_sequentially(list(first[:, :k]), list(second[:, :k]), 1.05, plan)[1] for k in (8, 11)]
    np.testing.assert_array_equal(judged[0].p_slow, judged[1].p_slow)
    look = plan[0]
    estimates, at_first = judge_sequentially(list(first[:1, :5]), list(second[:1, :5]), 1.05, plan)
    p = stats.ttest_1samp(second[0, :5] - first[0, :5], LOG, alternative="greater").pvalue
    assert (at_first.p_slow[0], at_first.p_not_slower[0]) == pytest.approx(
        (min(1.0, 0.05 / look.slower * p), min(1.0, 0.05 / look.not_slower * (1.0 - p)))
    )
    assert estimates.sure == 1.0 - look.not_slower
    assert not judge_sequentially(list(first[:, :4]), list(second[:, :4]), 1.05, plan)[1].is_decided


def test_the_first_verdict_of_a_benchmark_holds_and_it_need_not_be_measured_on() -> None:
    rng = np.random.default_rng(5)
    clear, noisy = rng.normal(0.0, 0.001, (2, 5)), rng.normal(0.0, 0.05, (2, 12))
    plan = sequential_plan(40, 2)
    judged = judge_sequentially([clear[0], noisy[0]], [clear[1], noisy[1]], 1.05, plan)[1]
    assert judged.outcome_of(0) is Outcome.PASSED
    later = np.concatenate([clear[1], np.full(7, 1.0)])
    longer = judge_sequentially([np.r_[clear[0], np.zeros(7)], noisy[0]], [later, noisy[1]], 1.05, plan)[1]
    assert longer.outcome_of(0) is Outcome.PASSED


@pytest.mark.parametrize("counts", [(1, 1), (2, 3)])
def test_a_given_variation_of_sessions_adds_up_with_that_of_runs(counts: tuple[int, int]) -> None:
    """By hand: Var = (cv'^2 + pi/2 noise^2 / runs) (1/n1 + 1/n2), cv' of the logarithm; Satterthwaite's freedom."""
    noise, runs = 0.02, 10.0
    sides = [Sessions([np.zeros(n)], np.array([noise]), np.array([runs])) for n in counts]
    found, level = session_test(*sides, np.ones(1), session_cv=0.05)
    inner, between = math.pi / 2.0 * noise**2 / runs, math.log(1.05) ** 2
    shares = 1.0 / counts[0] + 1.0 / counts[1]
    assert found.standard_error[0] == pytest.approx(math.sqrt((inner + between) * shares), rel=1e-12)
    assert found.freedom[0] == pytest.approx(2.0 * (runs - 1.0) * (1.0 + between / inner) ** 2, rel=1e-12)
    assert math.expm1(level.cv[0]) == pytest.approx(0.05, rel=0.05)


def test_shared_variances_lie_between_and_count_for_more() -> None:
    """Of normal values: the prior (Smyth 2004) pulls variances up to it only, and adds the same freedom to each."""
    rng = np.random.default_rng(4)
    variances, freedom = rng.chisquare(5, 80) / 5 * rng.gamma(10, 0.1, 80), np.full(80, 5.0)
    found, counted = moderated(variances, freedom)
    added = counted - freedom
    assert np.ptp(added) < 1e-9
    assert 1.0 < added[0] <= 0.75 * 20.0
    assert (found >= variances).all()
    assert found.min() > 2.0 * variances.min()
    assert found.max() == variances.max()
    scaled, same = moderated(1e-6 * variances, freedom)  # in any unit
    assert scaled == pytest.approx(1e-6 * found, rel=1e-9)
    assert same == pytest.approx(counted, rel=1e-9)
    for n, degrees in ((9, 0.0), (10, 10.0), (49, 10.0), (50, 15.0)):  # equal variances: 20 degrees, half or 3/4 count
        few = moderated(np.ones(n), freedom[:n])
        own = math.exp(math.log(2.5) - special.digamma(2.5))  # Smyth, section 6.2
        assert few[0] == pytest.approx((degrees > 0.0) * (20.0 * own + 5.0) / 25.0 or 1.0)
        assert few[1] == pytest.approx(5.0 + degrees)
    assert moderated(np.append(variances, 0.0), np.full(81, 5.0))[0][:80] == pytest.approx(found)  # 0 shows nothing
    three = rng.normal(size=(12, 3))  # as few rounds as decide anything
    shared = moderated(three.var(axis=1, ddof=1), np.full(12, 2.0))[0]
    assert paired_test(list(np.zeros((12, 3))), list(three)).standard_error ** 2 == pytest.approx(shared / 3.0)


def test_intervals_are_wider_by_the_last_digit_on_both_sides() -> None:
    one = np.ones(1)
    plain = Estimates(0.1 * one, 0.01 * one, 10.0 * one, 0.0 * one, np.array([11]), np.array([True]))
    low, high = plain.bounds()[0]
    assert (low, high) == pytest.approx(0.1 + 0.01 * stats.t.ppf([0.025, 0.975], 10))
    assert replace(plain, rounding=0.02 * one).bounds()[0] == pytest.approx([low - 0.02, high + 0.02])
    # Of a variance of 11 the fewest k with k 0.049^2 >= 11 (1.645 + 1.282)^2 are 40,000.
    assert replace(plain, standard_error=one).rounds_that_decide(LOG).tolist() == [0]


def test_the_prior_of_variances_is_the_one_they_are_drawn_from() -> None:
    """Limma's moments: variances s0^2 d0 / chi^2(d0), each estimated with 8 degrees of freedom."""
    rng, prior, scale = np.random.default_rng(1), 6.0, 4.0
    true = scale * prior / rng.chisquare(prior, 20_000)
    variances, freedom = true * rng.chisquare(8, 20_000) / 8, np.full(20_000, 8.0)
    assert _prior(variances, freedom) == pytest.approx((prior, scale), rel=0.05)
    found, level = _prior(variances[:12], freedom[:12])  # Smyth's equations of moments
    logs = np.log(variances[:12]) - special.digamma(4.0) + math.log(4.0)
    assert special.polygamma(1, found / 2.0) == pytest.approx(logs.var(ddof=1) - special.polygamma(1, 4.0))
    assert math.log(level) == pytest.approx(logs.mean() + special.digamma(found / 2.0) - math.log(found / 2.0))


def test_files_of_one_run_each_are_students_test_of_two_samples() -> None:
    """Nothing but the files shows how sessions differ: variances are pooled, with n1 + n2 - 2 degrees of freedom."""
    logs = np.array([0.0, 0.01, -0.02, 0.015]), np.array([0.05, 0.08, 0.04])
    sides = [Sessions([own], np.array([math.nan]), np.array([1.0])) for own in logs]
    expected = stats.ttest_ind(logs[1], logs[0]).confidence_interval(0.95)
    np.testing.assert_allclose(session_test(*sides, np.ones(1))[0].bounds()[0], expected, rtol=1e-9)


# Changes in histories.
def test_the_scan_is_the_profile_likelihood_of_least_squares() -> None:
    """Each place by an explicit regression on whitened columns, at each pair of the grid."""
    rng = np.random.default_rng(1)
    n, steps, outliers = 40, np.array([15]), np.array([7, 30])
    y = noise(rng, n, 0.5) + 0.05 * (np.arange(n) >= 15)
    dense = np.stack([np.ones(n), np.resize([0.0, 1.0], n)])
    with_step, with_outlier, _, without, _ = scan(y, dense, steps, outliers, GRID, 3)

    def likelihood(more: list[np.ndarray]) -> float:
        columns = [*dense, *(np.arange(n) >= 15.0,), *(np.arange(n) == at for at in outliers), *more]
        best = -np.inf
        for phi, theta in GRID.tolist():
            white = whitened(np.stack([*columns, y]).astype(float), phi, theta)
            rest = white[-1] - white[:-1].T @ np.linalg.lstsq(white[:-1].T, white[-1], rcond=None)[0]
            best = max(best, -0.5 * n * np.log(rest @ rest) - 0.5 * np.log(first_variance(phi, theta)))
        return best

    assert without == pytest.approx(likelihood([]), abs=1e-6)
    for place in (5, 20, 36):
        assert with_step[place] == pytest.approx(likelihood([np.arange(n) >= place]), abs=1e-6)
        assert with_outlier[place] == pytest.approx(likelihood([np.arange(n) == place]), abs=1e-6)


@pytest.mark.parametrize("phi", [0.0, 0.6, 0.9])
@pytest.mark.parametrize("count", [30, 120])
def test_series_without_a_change_seldom_alarm(count: int, phi: float) -> None:
    rng = np.random.default_rng([count, int(10 * phi)])
    alarms = sum(bool(detect(noise(rng, count, phi)).steps) for _ in range(150))
    assert alarms <= stats.binom.ppf(0.999, 150, 0.05)


@pytest.mark.parametrize(("phi", "least"), [(0.0, 0.9), (0.3, 0.8), (0.9, 0.8)])
def test_five_per_cent_at_two_per_cent_noise_is_seen_after_ten_commits(phi: float, least: float) -> None:
    rng = np.random.default_rng(int(10 * phi))
    seen = 0
    for _ in range(60):
        found = detect(noise(rng, 120, phi) + np.log(1.05) * (np.arange(120) >= 110))
        seen += any(step.first <= 113 and step.last >= 107 for step in found.steps)
    assert seen >= stats.binom.ppf(0.001, 60, least)


def test_large_shocks_that_die_away_are_no_steps() -> None:
    """Innovations of Student's t_3: a normal likelihood finds steps in 89 % of such series."""
    rng = np.random.default_rng(9)
    alarms = 0
    for _ in range(12):
        values = lfilter([1.0], [1.0, -0.9], rng.standard_t(3, 600))
        alarms += bool(detect(0.02 * values[100:]).steps)
    assert alarms <= stats.binom.ppf(0.999, 12, 0.05)


def test_bounds_hold_the_size_and_the_place() -> None:
    rng = np.random.default_rng(4)
    held = []
    for _ in range(120):
        found = detect(noise(rng, 120, 0.3) + 0.08 * (np.arange(120) >= 70))
        held += [(s.lower <= 0.08 <= s.upper, s.first <= 70 <= s.last) for s in found.steps if abs(s.place - 70) < 5]
    assert len(held) > 110
    assert (np.mean(held, axis=0) > 0.88).all()


@pytest.mark.real_data
def test_the_steps_of_a_real_history(real_data: Path) -> None:
    """As Apache Otava sees them, but 117, and one at 131 instead; 10 and 363 are outliers."""
    values = pd.read_csv(real_data / "timeseries" / "otava_tigerbeetle_requests.csv")["requests"]
    found = detect(np.log(values.to_numpy()))
    assert [step.place for step in found.steps] == [15, 61, 71, 95, 131, 192, 212]
    assert found.outliers == (10, 363)
