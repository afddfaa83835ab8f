"""Judging: the paper's table, coverage of what is right, too narrow or beside the truth, and what is refused."""

import math
import runpy
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats

from perf_structural import Recalibration, StructuralModel, evaluate, judge, recalibrate, schedule, value
from perfcore.base.errors import DataError
from perfcore.stochastic import from_dict

RANKS = runpy.run_path("examples/sor/bin_ranks.py")


def normal(mean, std):
    return from_dict({"representation": "normal", "mean": mean, "std": std})


def histogram(edges, masses):
    return from_dict({"representation": "histogram", "edges": edges, "masses": masses})


def interval(lower, upper):
    return from_dict({"representation": "interval", "lower": lower, "upper": upper})


COVERAGES = (0.5, 0.8, 0.9, 0.95)
# Five equal intervals, as in the paper; by probability: the third, the fourth, the second, the fifth, the first.
FIVE = histogram([10.0, 20.0, 30.0, 40.0, 50.0, 60.0], [0.05, 0.2, 0.4, 0.25, 0.1])
MIDDLES_BY_RANK = [35.0, 45.0, 25.0, 55.0, 15.0, 99.0]


@pytest.mark.parametrize(
    "percent",
    # The rows of the paper's Figure 5 that sum to 100: SOR2, GA2, LU1 and LU2.
    [(18, 23, 21, 13, 14, 11), (33, 21, 20, 12, 0, 14), (55, 26, 8, 7, 4, 0), (42, 38, 0, 12, 8, 0)],
)
def test_the_papers_table(percent):
    ranks, masses = RANKS["ranked"]([FIVE], np.repeat(MIDDLES_BY_RANK, percent))
    np.testing.assert_allclose(ranks.mean(axis=0), np.array(percent) / 100)
    np.testing.assert_allclose(masses.mean(axis=0), [0.4, 0.25, 0.2, 0.1, 0.05])
    assert RANKS["rank_names"](5) == ["highest", "2nd", "3rd", "4th", "lowest"]


def test_edges_belong_to_the_bin_on_their_right_but_the_last():
    ranks = RANKS["ranked"]([FIVE], [10.0, 20.0, 60.0, 60.001, 9.999])[0]
    assert ranks.argmax(axis=1).tolist() == [4, 2, 3, 5, 5]


def test_right_predictions_cover_what_they_promise():
    rng = np.random.default_rng(6)
    means, stds = rng.uniform(50, 150, 2000), rng.uniform(1, 20, 2000)
    predictions = [normal(m, s) for m, s in zip(means.tolist(), stds.tolist(), strict=True)]
    judgement = judge(predictions, rng.normal(means, stds))
    rows = judgement.coverage()
    assert [row["interval"] for row in rows] == ["50%", "80%", "90%", "95%"]  # a normal has no bounds
    for row in rows:
        assert row["low"] <= row["promised"] <= row["high"]
        z = stats.norm.ppf(0.5 + 0.5 * row["promised"])
        assert row["width"] == pytest.approx(2 * z * stds.mean())
    # Even: a chi-squared test at one per mille.
    assert stats.chisquare(judgement.place_counts()).pvalue > 0.001
    # In expectation the score of a right normal is its standard deviation over sqrt(pi).
    assert judgement.statistics["crps"] == pytest.approx(stds.mean() / np.sqrt(np.pi), rel=0.05)


def test_narrow_predictions_are_found_out():
    rng = np.random.default_rng(7)
    judgement = judge([normal(0.0, 0.5)], rng.normal(0.0, 1.0, 500))
    assert all(row["high"] < row["promised"] for row in judgement.coverage())
    counts = judgement.place_counts()
    assert min(counts[0], counts[-1]) > 2 * counts[1:-1].mean()
    assert judgement.statistics["crps"] > judge([normal(0.0, 1.0)], rng.normal(0.0, 1.0, 500)).statistics["crps"]


def test_biased_predictions_are_found_out():
    judgement = judge([normal(10.0, 1.0)], [13.0] * 20)
    assert judgement.place_counts().tolist() == [0] * 9 + [20]
    assert judgement.statistics["mean_error"] == 3.0


def test_intervals_have_bounds_and_nothing_else():
    judgement = judge([interval(1.0, 3.0), interval(2.0, 4.0)], [2.0, 5.0])
    assert [row["interval"] for row in judgement.coverage()] == ["bounds"]
    assert judgement.coverage()[0]["observed"] == 0.5
    assert judgement.coverage()[0]["width"] == 2.0
    assert np.isnan(judgement.crps).all()
    assert judgement.statistics["crps"] is None
    assert [title for title, _, _ in judgement.report().shown_tables] == ["Coverage"]


def test_points_are_judged_by_their_absolute_errors():
    judgement = judge([from_dict({"representation": "point", "value": 5.0})], [5.0, 7.0, 2.0])
    assert judgement.crps.tolist() == [0.0, 2.0, 3.0]
    assert judgement.statistics["mean_absolute_error"] == pytest.approx(5 / 3)


def test_a_single_value_is_a_bin_of_its_own():
    value = histogram([1.0, 2.0, 2.0, 3.0], [0.3, 0.5, 0.2])
    ranks, _ = RANKS["ranked"]([value], [2.0, 1.5, 2.5, 3.0])
    assert ranks.argmax(axis=1).tolist() == [0, 1, 2, 2]
    # F rises to 0.3 below 2, and from 0.8 above it.
    assert value.crps(2.0) == pytest.approx((0.3**2 + 0.2**2) / 3)


def test_several_representations_together():
    judgement = judge([FIVE, normal(30.0, 10.0), interval(0.0, 9.0)], [35.0, 30.0, 5.0])
    assert judgement.representations == ("histogram", "normal", "interval")
    runs = {row["interval"]: row["runs"] for row in judgement.coverage()}
    assert runs == {"bounds": 2, **{f"{coverage:.0%}": 2 for coverage in COVERAGES}}
    assert judgement.place_counts().sum() == 2


def test_bins_of_one_probability_share_their_ranks():
    ranks, _ = RANKS["ranked"]([histogram([0.0, 1.0, 2.0, 3.0, 4.0], [0.25] * 4)], [2.5])
    np.testing.assert_allclose(ranks, [[0.25, 0.25, 0.25, 0.25, 0.0]])


def test_the_interval_score_is_least_for_the_true_distribution():
    """Of 1,000 exponential samples and each interval; the source's property of a proper score."""
    samples = np.random.default_rng(5).exponential(1.0, 1_000)
    scores = [
        [row["score"] for row in judge([from_dict(value)], samples).coverage() if row["interval"] != "bounds"]
        for value in ({"representation": "exponential", "start": 0.0, "delay": scale} for scale in (1.0, 0.7, 1.4))
    ]
    assert (np.array(scores[0]) < np.min(scores[1:], axis=0)).all()


def test_quantiles_are_judged():
    """Of 1,000 standard normals, 99 % are at most the true p99; the loss of a quantile 4 too low is 0.75 times 4."""
    judgement = judge([normal(0.0, 1.0)], np.random.default_rng(3).normal(size=1000), quantile="0.5,0.99")
    half, late = judgement.quantile_shares()
    assert (half["quantile"], late["quantile"]) == ("p50", "p99")
    assert late["low"] < 0.99 < late["high"]
    (row,) = judge([normal(10.0, 1e-12)], [14.0], quantile=0.75).quantile_shares()
    assert row["loss"] == pytest.approx(3.0)
    assert "Quantiles" in [title for title, _, _ in judgement.report().shown_tables]


# Predictions that are wrong in the same way each time are put right; right ones are left alone.
RNG = np.random.default_rng(12)
MEANS = RNG.uniform(50.0, 100.0, 2400)
ACTUAL = RNG.normal(MEANS + 2.0, 10.0)
PREDICTED = [normal(mean, 5.0) for mean in MEANS.tolist()]  # 2 too low, and half as wide as what happens


@pytest.fixture(scope="module")
def learned():
    return recalibrate(PREDICTED[:1200], ACTUAL[:1200])


def test_a_recalibration_mends_runs_that_it_was_not_learned_from(learned):
    predicted = PREDICTED[1200:]
    before, after = (judge(each, ACTUAL[1200:]) for each in (predicted, list(map(learned.corrected, predicted))))
    held = {row["promised"]: row["observed"] for row in after.coverage()}
    # Standard errors of 1,200 runs and of the 1,200 that taught: 0.02 together.
    assert {c: held[c] for c in COVERAGES} == pytest.approx({c: c for c in COVERAGES}, abs=0.05)
    assert after.statistics["crps"] < 0.95 * before.statistics["crps"]
    # What was said of runs left out while it was learned.
    for coverage in COVERAGES:
        assert learned.held_after[coverage] == pytest.approx(coverage, abs=0.04)


def test_a_corrected_normal_is_the_one_that_happens(learned):
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    expected = stats.norm.ppf(levels, 102.0, 10.0)
    np.testing.assert_allclose(learned.corrected(normal(100.0, 5.0)).quantile(levels), expected, atol=1.2)


@pytest.mark.parametrize("seed", range(4))
def test_predictions_much_too_narrow_are_mended_as_far_as_floats_reach(seed):
    actual = np.random.default_rng(seed).normal(0.0, 4.0, 80)  # up to quantiles of 1 - 1e-20 of what is predicted
    learned = recalibrate([normal(0.0, 1.0)] * 80, actual)
    scores = (judge([each] * 80, actual) for each in (normal(0.0, 1.0), learned.corrected(normal(0.0, 1.0))))
    before, after = (each.statistics["crps"] for each in scores)
    assert np.isfinite(after)
    assert after < before


def test_recalibration_leaves_bounds_and_what_has_no_distribution(learned):
    assert learned.corrected(histogram([0.0, 1.0, 2.0], [0.5, 0.5])).support == (0.0, 2.0)
    assert learned.corrected(interval(1, 2)) == interval(1, 2)


def test_a_recalibration_in_a_file_and_in_a_model(learned, tmp_path):
    learned.save(tmp_path / "correction.json")
    again = Recalibration.read(tmp_path / "correction.json")
    assert (again.levels, again.places) == (learned.levels, learned.places)
    model = tmp_path / "model.toml"
    model.write_text('equation = "t"\nrecalibration = "correction.json"\n[inputs]\nt = { normal = [100, 5] }\n')
    prediction = StructuralModel.read(model).predict()
    assert prediction.value.mean == pytest.approx(102.0, abs=0.7)
    assert prediction.statistics["std"] == pytest.approx(10.0, rel=0.1)
    assert "corrected by what 1200 past runs taught" in prediction.notes


def test_candidates_are_corrected_too(learned):
    """Each as if it were predicted alone, and at the same draws."""
    model = StructuralModel("t", inputs={"t": {"normal": [100, 5]}}, recalibration=learned)
    candidates = {"a": {"t": {"normal": [100, 5]}}, "b": {"t": {"normal": [130, 5]}}}
    found = schedule(model, candidates, by="quantile:0.95")
    assert found.figures["a"] == pytest.approx(model.predict().evaluation.distribution.quantile(0.95), rel=0.01)
    assert found.figures["a"] > 1.05 * schedule(replace(model, recalibration=None), candidates).figures["a"]
    assert 0.9 < found.beaten["b"] <= 1.0


@pytest.mark.parametrize(("predictions", "actual", "message"), [
    (PREDICTED[:39], ACTUAL[:39], "39 runs with a predicted distribution; a recalibration needs 40 or more"),
    ([interval(0, 100)], ACTUAL[:50], "0 runs with a predicted distribution"),
    (PREDICTED[:200], MEANS[:200] + RNG.normal(0.0, 5.0, 200), "a recalibration does not help"),
    (PREDICTED[:2], [1.0, np.nan], "at least one, and all of them finite"),
])  # fmt: skip
def test_recalibrations_that_are_refused(predictions, actual, message):
    with pytest.raises(DataError, match=message):
        recalibrate(predictions, actual)


# Measurements of any kind as values: tables, numbers, counts in buckets; their limits, supports and warnings.
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


def test_too_few_samples_for_a_quantile_is_an_answer(table):
    measured = value(table, column="ms", quantile="0.5,0.999")
    assert "too few samples for p99.9: 60; 3,688 are needed" in {note.text for note in measured.report_notes}
    assert math.isnan(measured.quantile_limits["p99.9"][1])
    assert any("95% CI p50" in line for line in measured.report().closing())


def test_the_tail_of_a_sampled_result_survives_being_written_down():
    found = evaluate("exp(x) + x", {"x": {"normal": [0, 1]}}, quantile="0.999")
    z = NormalDist().inv_cdf(0.999)
    assert float(found.value.quantile(0.999)) == pytest.approx(math.exp(z) + z, rel=0.02)


def test_a_bounded_normal_is_the_truncated_normal():
    """Johnson, Kotz and Balakrishnan, "Continuous Univariate Distributions" 1, equation 13.134, for its mean."""
    share, normal = evaluate("x", {"x": {"normal": [0.9, 0.2], "within": [0, 1]}}).value, NormalDist()
    a, b = (0.0 - 0.9) / 0.2, (1.0 - 0.9) / 0.2
    mean = 0.9 + 0.2 * (normal.pdf(a) - normal.pdf(b)) / (normal.cdf(b) - normal.cdf(a))
    assert share.mean == pytest.approx(mean, rel=1e-9)
    assert share.support == (0.0, 1.0)
    assert share.cdf([0.0, 1.0]).tolist() == [0.0, 1.0]
    assert "with probability 0.31, which is left out" in share.notes[0]


@pytest.mark.parametrize("method", ["exact", "sample"])
def test_bounds_are_kept_in_operations(method):
    found = evaluate("100*x + 3*x", {"x": {"normal": [0.9, 0.2], "within": [0, 1]}}, method="sample")
    assert 0.0 <= found.statistics["lowest"] <= found.statistics["highest"] <= 103.0
    quotient = evaluate("1/x", {"x": {"normal": [0.9, 0.2], "within": [0.1, 1]}}, method=method, quantile="0.999")
    levels = NormalDist(0.9, 0.2)
    place = levels.inv_cdf(levels.cdf(0.1) + 0.001 * (levels.cdf(1.0) - levels.cdf(0.1)))
    assert quotient.statistics["p99.9"] == pytest.approx(1.0 / place, rel=0.03)
    assert quotient.statistics["lowest"] == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize(("name", "text", "is_refused"), [
    ("x.csv", "time_s,latency_ms\n0,5\n1,-1\n2,3\n", True), ("x.csv", "host,wall_s\na,5\nb,-1\n", True),
    ("runtimes.txt", "5\n-1\n", True), ("x.csv", "host,offset_s\na,5\nb,-1\n", False),
    ("x.csv", "time_s,celsius\n0,5\n1,-1\n", False), ("x.txt", "5\n-1\n", False),
])  # fmt: skip
def test_times_are_not_negative(tmp_path, name, text, is_refused):
    """A quantity is a time by its name, or by that of a file of mere numbers, unless it is declared to be another."""
    path = tmp_path / name
    path.write_text(text)
    column = text.split("\n")[0].rpartition(",")[2] if "," in text else None
    assert value(path, "interval", column=column, support="-inf,inf").value.support[0] == -1.0
    if is_refused:
        with pytest.raises(DataError, match=r"of [23] is -1, and a time is not negative"):
            value(path, column=column)
    else:
        assert value(path, "interval", column=column).value.support[0] == -1.0


def test_a_normal_of_times_says_what_is_below_0(tmp_path):
    path = tmp_path / "runtimes.txt"
    np.savetxt(path, np.random.default_rng(3).exponential(1.0, 400))
    assert any("of the normal is below 0, where no time is" in note for note in value(path, "normal").notes)
    assert not any("no time" in note for note in value(path, "normal", support="0,inf").notes)


def test_a_tail_without_a_mean_is_said(tmp_path):
    rng = np.random.default_rng(9)
    for name, samples, is_said in (("c", rng.standard_cauchy(2000), True), ("n", rng.normal(size=2000), False)):
        np.savetxt(tmp_path / name, samples)
        assert any(note.startswith("heavy tail") for note in value(tmp_path / name).notes) == is_said
