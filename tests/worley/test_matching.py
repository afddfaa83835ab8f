"""Phases of two runs are matched in order, and compared pair by pair."""

import itertools

import numpy as np
import pytest

import perfcore
from perf_worley.comparison import Shape, match_phases
from perfcore import UtilizationCurve


def run(levels, lengths, seed=0, unit="us", processors=16):
    rng = np.random.default_rng(seed)
    heights = np.concatenate(
        [np.full(n, level) + rng.normal(0, 0.5, n) for level, n in zip(levels, lengths, strict=True)]
    )
    return UtilizationCurve(
        np.arange(len(heights) + 1.0), np.clip(heights, 0, processors), unit, n_locations=processors
    )


def shapes_of(shapes):
    def joined(i, j):
        part = shapes[i:j]
        share = sum(s.share for s in part)
        return Shape(share, sum(s.share * s.level for s in part) / share, part[-1].level - part[0].level)

    return joined


def all_matchings(n, m):
    """Every order-preserving matching of spans of up to three with one, or of one with none."""
    if n == 0 and m == 0:
        yield []
    for k, q in [(1, 0), (0, 1), (1, 1), (1, 2), (1, 3), (2, 1), (3, 1)]:
        if k <= n and q <= m:
            for earlier in all_matchings(n - k, m - q):
                yield [*earlier, (range(n - k, n), range(m - q, m))]


@pytest.mark.parametrize("seed", range(6))
def test_no_matching_is_cheaper(seed):
    rng = np.random.default_rng(seed)
    runs = []
    for n in (4, 3):
        shares = rng.dirichlet(np.ones(n))
        runs.append([Shape(float(s), float(level), 0.0) for s, level in zip(shares, rng.uniform(0, 1, n), strict=True)])
    shapes = tuple(map(shapes_of, runs))

    def price(pairs):
        total = 0.0
        for one, other in pairs:
            if not one or not other:
                which, span = (0, one) if one else (1, other)
                total += 0.5 * runs[which][span[0]].share
                continue
            a, b = shapes[0](one[0], one[-1] + 1), shapes[1](other[0], other[-1] + 1)
            apart = abs(a.level - b.level) + 0.5 * abs(a.rise - b.rise) + 0.15 * abs(np.log(a.share / b.share))
            total += (apart + 0.03 * (len(one) + len(other) - 2)) * (a.share + b.share)
        return total

    pairs, cost = match_phases((4, 3), shapes)
    assert cost == pytest.approx(min(price(each) for each in all_matchings(4, 3)))
    assert price(pairs) == pytest.approx(cost)
    assert list(itertools.chain.from_iterable(pair.first for pair in pairs)) == [0, 1, 2, 3]


def test_a_phase_that_became_longer():
    old, new = (
        perfcore.fit(run([3, 12, 6], lengths, seed)) for seed, lengths in enumerate([(400,) * 3, (400, 800, 400)])
    )
    comparison = perfcore.compare(old, new)
    assert comparison.alike
    ratios = [second.duration / first.duration for first, second in comparison.pairs]
    assert ratios == pytest.approx([1.0, 2.0, 1.0], abs=0.02)
    assert [first.level for first, _ in comparison.pairs] == pytest.approx([3, 12, 6], abs=0.2)
    for first, second in comparison.pairs:
        assert first.duration_within[0] <= 400 <= first.duration_within[1]
        assert second.level_within[0] <= second.level <= second.level_within[1]
    assert [side.duration_within for side in comparison.totals] == [None, None]  # of one run each


def test_a_phase_that_is_gone():
    old, new = perfcore.fit(run([3, 12, 6, 14], (400,) * 4)), perfcore.fit(run([3, 6, 14], (400,) * 3, 1))
    pairs = [(a and list(a.phases), b and list(b.phases)) for a, b in perfcore.compare(old, new).pairs]
    assert pairs == [([0], [0]), ([1], None), ([2], [1]), ([3], [2])]
    assert "only in A: phase 2" in perfcore.compare(old, new, names=("A", "B")).summary()


def test_other_units_and_degrees():
    old = perfcore.fit(run([3, 12, 6], (400,) * 3))
    new = perfcore.fit(run([3, 12, 6], (400,) * 3, 1, "ms"), degree=1, phases=3)
    comparison = perfcore.compare(old, new)
    assert comparison.time_unit == "us"
    assert [b.duration / a.duration for a, b in comparison.pairs] == pytest.approx([1000] * 3, rel=0.02)


def test_runs_that_do_not_look_alike():
    old, new = perfcore.fit(run([15, 14], (600, 600))), perfcore.fit(run([1, 9, 2, 7], (300,) * 4))
    comparison = perfcore.compare(old, new)
    assert not comparison.alike
    assert "these runs do not look alike" in comparison.summary()[-1]
    assert len(comparison.tables()[0][2]) == 1
    assert comparison.to_dict()["phases"] == []


def test_two_runs_are_a_data_frame_of_numbers():
    curves = [perfcore.UtilizationCurve([0, 4 * k, 10 * k], [2, 8], time_unit="us") for k in (1, 2)]
    comparison = perfcore.compare(*(perfcore.fit(curve, phases=2, degree=0) for curve in curves))
    frame = comparison.to_frame()
    assert frame.columns.is_unique
    total = frame.iloc[-1]
    assert total["phases_first"] == "all"
    assert (total["duration_us_first"], total["duration_us_second"], total["ratio"]) == (10.0, 20.0, 2.0)
    assert total["level_first"] == total["level_second"] == pytest.approx(5.6)
    with_named = comparison.tables()[0][2]
    assert len(frame) == len(with_named)
