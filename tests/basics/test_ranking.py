"""Rankings: what is kept."""

import msgspec
import pytest

from perfcore.models.ranking import Candidate, Ranking

# E. Strohmaier, "Statistical Performance Modeling: Case Study of the NPB 2.1 Results", Table 1: class A SP on the T3D.
TABLE_1 = (
    (("log(p)/p", "1/p^2"), 26.13, 0.99289),
    (("1/p", "1/sqrt(p)"), 26.40, 0.99282),
    (("1/p", "1"), 28.06, 0.99237),
    (("1/p", "log(p)/p"), 28.17, 0.99234),
    (("1/p", "log(p)"), 29.18, 0.99206),
    (("1/p", "p"), 35.41, 0.99037),
)


@pytest.fixture
def ranking():
    candidates = tuple(Candidate(names, {"sse": sse, "r2_uncentered": r2}) for names, sse, r2 in TABLE_1)
    return Ranking(("SP on T3D",), candidates)


@pytest.mark.parametrize(
    ("above", "top", "left"),
    [
        (None, None, 6), (0.99, None, 6), (0.9924, None, 2), (0.99237, None, 3), (1.0, None, 0),
        (None, 2, 2), (None, 0, 0), (None, 99, 6), (0.9923, 3, 3), (0.9928, 3, 2),
    ],
)  # fmt: skip
def test_the_best_that_reach_a_mark_are_kept_in_their_order(ranking, above, top, left):
    kept = ranking.filtered(above, top)
    assert kept.candidates == ranking.candidates[:left]
    assert kept.summary() == ranking.summary() == ["SP on T3D"]
    assert len(ranking.candidates) == 6


def test_candidates_are_kept_in_model_files():
    candidate = Candidate(("1/p", "1"), {"sse": 28.06, "n_parameters": 2, "aicc": None}, "few points")
    text = msgspec.json.encode(candidate)
    assert msgspec.json.decode(text, type=Candidate) == candidate
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"functions": [], "figures": {}, "remark": ""}', type=Candidate)
