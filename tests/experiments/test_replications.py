"""How many replications a precision needs: a textbook's example, a simulation, and the paper's step from two runs."""

import numpy as np

from perf_experiments.replications import needed_replications, runs_for_precision
from perf_experiments.run_records import Run


def run(point, replication, value=None, problem=None):
    return Run(
        point=point, replication=replication, problem=problem, started="", command=(), wall_ns=10**9, user_s=0.0,
        system_s=0.0, peak_memory_kib=0, exit_status=0, signal=None, busy_before=None, noisy=False,
        values={} if value is None else {"t": value},
    )  # fmt: skip


def test_the_example_of_jain():
    """R. Jain (1991), example 13.10: mean 20 s, standard deviation 5 s, known to 5 % with 95 %: 97 runs."""
    assert runs_for_precision(5.0 / 20.0, 1e9, 0.05, 1000) == 97


def test_two_runs_of_many_points_tell_how_many_more():
    rng = np.random.default_rng(3)
    runs = [run({"n": n}, k, n * (1 + 0.03 * rng.normal())) for n in range(1, 41) for k in (1, 2)]
    found = needed_replications(runs, 0.05)
    # (2.57 * 0.03 / 0.05)^2 = 2.4 with the five degrees of freedom that a point then has.
    assert 2 <= np.median([each.needed for each in found]) <= 4
    assert all(each.replications == 2 for each in found)
    # By themselves two runs would need (12.7 * 0.03 / 0.05)^2 = 58.
    assert max(each.needed for each in found) < 15


def test_a_point_that_spreads_more_needs_more():
    quiet = [run({"n": n}, k, 1.0 + 0.01 * (-1) ** k) for n in range(10) for k in (1, 2)]
    wild = [run({"n": 99}, k, 1.0 + 0.2 * (-1) ** k) for k in (1, 2)]
    found = {each.point["n"]: each for each in needed_replications([*quiet, *wild], 0.05)}
    assert found[99].needed > found[0].needed
    assert found[99].precision > found[0].precision


def test_what_was_asked_for_is_reached():
    rng = np.random.default_rng(5)
    first = [run({"n": n}, k, 1 + 0.05 * rng.normal()) for n in range(20) for k in (1, 2)]
    means = [
        np.mean([1 + 0.05 * rng.normal() for _ in range(each.needed)]) for each in needed_replications(first, 0.03)
    ]
    assert np.mean(np.abs(np.array(means) - 1) <= 0.03) >= 0.9
