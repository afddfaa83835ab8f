"""The tests behind a gate, against closed forms and simulated truth."""

import math

import numpy as np
import pytest
from scipy import stats

from perf_statistics.gating import Outcome, benjamini_hochberg, holm, judge, paired_test, trimmed_means, unpaired_test
from perf_statistics.known_order import blocked_test

LOG = math.log(1.05)


def test_holm_and_benjamini_hochberg_agree_with_statsmodels() -> None:
    from statsmodels.stats.multitest import multipletests

    p = np.random.default_rng(1).uniform(0.0, 0.2, 30)
    np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1])
    np.testing.assert_allclose(benjamini_hochberg(p), multipletests(p, method="fdr_bh")[1])


@pytest.mark.parametrize("k", [3, 5, 7])
def test_few_rounds_of_one_benchmark_are_students_paired_test(k: int) -> None:
    rng = np.random.default_rng(k)
    first, second = rng.normal(0.0, 0.02, k), rng.normal(0.05, 0.02, k)
    found = paired_test([first], [second])
    expected = stats.ttest_1samp(second - first, LOG, alternative="greater").pvalue
    assert found.p_slow(LOG)[0] == pytest.approx(expected, rel=1e-9)
    assert found.p_not_slower(LOG)[0] == pytest.approx(1.0 - expected, rel=1e-9)


@pytest.mark.parametrize("k", [8, 10, 30])
def test_many_rounds_are_yuens_trimmed_test(k: int) -> None:
    """Wilcox, section 4.3: t = (trimmed mean - theta) / (s_w / ((1 - 2 cut) sqrt(k))), up to the factor of h and k.

    The degrees of freedom are those of `test_degrees_of_freedom_of_trimmed_means`.
    """
    rng = np.random.default_rng(k)
    differences = rng.standard_t(3, k) * 0.02
    cut = int(0.2 * k)
    h = k - 2 * cut
    winsorised = stats.mstats.winsorize(differences, limits=(cut / k, cut / k))
    error = math.sqrt((k - 1) * np.var(np.asarray(winsorised), ddof=1) / (h * (h - 1)))
    expected = stats.t.sf((stats.trim_mean(differences, 0.2) - LOG) / error, (h - 1) * (1.0 - cut / k))
    assert paired_test([np.zeros(k)], [differences]).p_slow(LOG)[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("k", [8, 10, 12, 20])
def test_degrees_of_freedom_of_trimmed_means(k: int) -> None:
    """By the moments of variances of normal values (F. E. Satterthwaite, Biometrics Bulletin 2, 1946)."""
    samples = np.random.default_rng(k).normal(size=(40_000, k))
    means, variances, freedom, kept = trimmed_means(list(samples))
    assert 2.0 * variances.mean() ** 2 / variances.var() == pytest.approx(freedom[0], rel=0.04)
    p = stats.t.sf(np.abs(means) / np.sqrt(variances / kept), freedom)
    assert (p <= 0.0005).mean() <= 0.001


@pytest.mark.parametrize("benchmarks", [1, 3, 12, 60])
@pytest.mark.parametrize("k", [3, 5, 10])
def test_false_alarms_at_the_threshold_are_within_binomial_limits_of_five_per_cent(benchmarks: int, k: int) -> None:
    """All exactly 1.05x slower, noises of 0.5 to 20 %, a common drift: any alarm is false. 99.9 % limit of 7 %."""
    rng = np.random.default_rng([benchmarks, k])
    repeated, alarms = 400, 0
    for _ in range(repeated):
        noise = np.exp(rng.uniform(np.log(0.005), np.log(0.2), benchmarks))[:, None]
        drift = np.cumsum(rng.normal(0.0, 1.0, 2 * k)) / math.sqrt(20.0)
        runs = (rng.normal(0.0, 1.0, (benchmarks, 2 * k)) + drift) * noise
        swapped = rng.random(k) < 0.5
        first = np.where(swapped, runs[:, 1::2], runs[:, ::2])
        second = np.where(swapped, runs[:, ::2], runs[:, 1::2]) + LOG
        alarms += judge(paired_test(list(first), list(second)), 1.05).outcome is Outcome.FAILED
    assert alarms <= stats.binom.ppf(0.999, repeated, 0.06)


def test_as_many_rounds_as_it_asks_for_decide() -> None:
    """Of equal versions with 3 % noise, nine in ten decide after the rounds that the rule says."""
    rng = np.random.default_rng(5)
    asked, decided = [], []
    for _ in range(200):
        first, second = rng.normal(0.0, 0.03, (2, 5))
        k = int(paired_test([first], [second]).rounds_that_decide(LOG)[0])
        asked.append(k)
    k = int(np.median(asked))
    for _ in range(400):
        first, second = rng.normal(0.0, 0.03, (2, k))
        decided.append(judge(paired_test([first], [second]), 1.05).outcome is not Outcome.UNDECIDED)
    assert np.mean(decided) > stats.binom.ppf(0.001, 400, 0.85) / 400


@pytest.mark.parametrize("phi", [0.0, 0.6, 0.9])
@pytest.mark.parametrize("k", [5, 10, 30])
def test_one_version_after_the_other_in_noise_with_memory(phi: float, k: int) -> None:
    rng = np.random.default_rng([int(10 * phi), k])
    repeated, alarms = 200, 0
    second = np.arange(2 * k) >= k
    for _ in range(repeated):
        noise = np.zeros(2 * k + 60)
        for at, shock in enumerate(rng.normal(0.0, 0.02, len(noise))):
            noise[at] = (phi * noise[at - 1] if at else 0.0) + shock
        found = blocked_test([noise[60:] + LOG * second], [second], LOG)
        alarms += bool(found.p_slow(LOG)[0] <= 0.05)
    assert alarms <= stats.binom.ppf(0.999, repeated, 0.07)


def test_two_sessions_pass_only_where_somebody_says_how_sessions_differ() -> None:
    runs = np.random.default_rng(1).normal(0.0, 0.01, 20)
    assert judge(unpaired_test([runs], [runs]), 1.05).outcome is Outcome.UNDECIDED
    assert judge(unpaired_test([runs], [runs], between=0.005), 1.05).outcome is Outcome.PASSED
    assert judge(unpaired_test([runs], [runs + math.log(1.15)]), 1.05).outcome is Outcome.UNDECIDED
    assert judge(unpaired_test([runs], [runs + math.log(1.15)], between=0.01), 1.05).outcome is Outcome.FAILED
    assert judge(unpaired_test([runs], [runs + math.log(3.0)]), 1.05).outcome is Outcome.FAILED


@pytest.mark.parametrize("k", [1, 2])
def test_fewer_than_three_rounds_decide_nothing(k: int) -> None:
    second = [np.full(k, math.log(3.0))]
    for found in (paired_test([np.zeros(k)], second), unpaired_test([np.zeros(k)], second)):
        assert judge(found, 1.05).outcome is Outcome.UNDECIDED


def test_constant_values_decide_as_far_as_their_digits_do() -> None:
    old, slower = np.log(np.full(5, 0.02)), np.log(np.full(5, 0.03))
    digits = np.array([0.25 + 0.005 / 0.03])
    assert judge(paired_test([old], [slower]), 1.05).outcome is Outcome.FAILED
    assert judge(paired_test([old], [slower], digits), 1.05).outcome is Outcome.UNDECIDED
    assert judge(paired_test([old], [old + LOG]), 1.05).outcome is Outcome.UNDECIDED
    assert judge(paired_test([old], [old]), 1.05).outcome is Outcome.PASSED
