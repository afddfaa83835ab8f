"""The least tolerance of the mixed basis, whose feasible tolerances have gaps."""

import numpy as np
import pytest

from perf_worley.moment_tree import MomentTree
from perf_worley.segmenters.minimax import Minimax, Mixed, Uniform, least_tolerance, partition
from perfcore.contracts import Basis


@pytest.mark.parametrize("seed", range(4))
def test_no_tolerance_of_a_scan_is_smaller(noisy, seed):
    """The scan steps by 0.2 % from the answer down to a bound; it cannot see what lies between its own steps."""
    curve = noisy(300, seed=seed)
    tree = MomentTree(curve)
    for n in (2, 5, 8):
        found = Minimax().segment(curve, n, Basis(mixed=True)).statistics["tolerance"]
        assert partition(tree, n, found, Mixed()).objective >= 0.0
        bound, _, _ = least_tolerance(tree, n, Uniform(2), Uniform(2).finish(tree, 0.0, 0).error)
        scan = np.arange(bound.tolerance, found * 0.998, 0.002 * found)
        smaller = [t for t in scan if partition(tree, n, t, Mixed()).objective >= 0.0]
        assert len(smaller) <= 1  # islands narrower than the grid


@pytest.mark.parametrize("seed", range(4))
def test_the_answer_does_not_depend_on_what_else_is_asked_for(noisy, seed):
    curve = noisy(300, seed=seed)
    together = Minimax().sequence(curve, range(1, 10), Basis(mixed=True))
    tolerances = [found.statistics["tolerance"] for found in together]
    assert tolerances == sorted(tolerances, reverse=True)
    for n, found in enumerate(together, 1):
        alone = Minimax().segment(curve, n, Basis(mixed=True))
        assert alone.statistics["tolerance"] == found.statistics["tolerance"]
        assert alone.breaks.tolist() == found.breaks.tolist()
