"""How many phases: persistence of breaks and the rules that choose."""

import numpy as np
import pytest

import perfcore
from perf_worley.search import knee, penalty, persistence


def test_persistence_counts_following_models_with_the_break():
    models = [[], [50.0], [30.0, 50.9], [30.0, 70.0], [29.5, 50.0, 70.5]]
    # Within 1 % of a run of 100: 50 stays in the third and the last model, 30 in both that follow it.
    assert persistence(models, 100.0) == [[], [2], [2, 1], [1, 1], [0, 0, 0]]


def test_knee_of_a_curve_with_a_corner():
    counts = list(range(1, 11))
    errors = [100 - 24 * (n - 1) if n <= 5 else 4 - 0.5 * (n - 5) for n in counts]
    assert knee(counts, errors, 1000) == 5


def test_knee_without_fall_takes_the_fewest():
    assert knee([1, 2, 3], [0.0, 0.0, 0.0], 10) == 1
    assert knee([4, 5], [3.0, 1.0], 10) == 5


def test_penalty_stops_where_a_phase_gains_less_than_it_costs():
    # At 1000 steps a phase costs 2 log(1000) = 13.8: a factor of exp(-0.0138) = 0.9863 of the error.
    counts = [1, 2, 3, 4]
    assert penalty(counts, [100.0, 90.0, 88.6, 87.0], 1000) == 4
    assert penalty(counts, [100.0, 90.0, 89.0, 88.5], 1000) == 2


@pytest.mark.parametrize("seed", range(5))
def test_refined_penalty_finds_the_true_number_on_independent_noise(seed):
    """Straight pieces with independent normal noise, for which the criterion is derived."""
    rng = np.random.default_rng(seed)
    n_steps, n_true = 4000, int(rng.integers(3, 9))
    cuts = np.sort(rng.choice(np.arange(1, 20), n_true - 1, replace=False)) * (n_steps // 20)
    pieces = np.split(np.arange(n_steps), cuts)
    heights = np.concatenate(
        # Neighbours are at least 20 apart at their break, five times the noise.
        [60 + 80 * (i % 2) + rng.uniform(-20, 20) * np.linspace(-1, 1, len(piece)) for i, piece in enumerate(pieces)]
    )
    curve = perfcore.UtilizationCurve(np.arange(n_steps + 1.0), np.abs(heights + rng.normal(0, 4, n_steps)))
    model = perfcore.fit(curve, phases="1..14", degree=1, refine=True, rule="penalty")
    assert len(model.phases) == n_true
    assert model.breaks == pytest.approx(cuts, abs=0.01 * n_steps)
