"""Gates: what is read, what is refused and where, and what a comparison of known numbers says."""

import contextlib
import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from perf_gate.compare.comparison.comparison import Comparison
from perf_gate.compare.comparison.growth import GrowthChange
from perf_gate.compare.gate.conditions import parse_gate
from perf_gate.compare.gate.judging import judge
from perfcore.base.errors import OptionError
from perfcore.models.part_draws import N_DRAWS, Drawn

PLACES = norm.ppf((np.arange(N_DRAWS) + 0.5) / N_DRAWS)


@pytest.mark.parametrize(
    ("text", "of", "part", "factor", "at", "confidence"),
    [
        ("slower than 1.1x at p=1024", "total", "", 1.1, "p=1024", 0.95),
        ("total slower than 2x", "total", "", 2.0, "", 0.95),
        ("any slower than 1.1 x at p=1024, n=1e6 with confidence 0.5", "any", "", 1.1, "p=1024, n=1e6", 0.5),
        ("main/solve a slower than .9x", "part", "main/solve a", 0.9, "", 0.95),
        ("is slower than it was slower than 1.1x", "part", "is slower than it was", 1.1, "", 0.95),
        ('"any" slower than 1x', "part", "any", 1.0, "", 0.95),
        ("x larger  than 1.1x", "part", "x", 1.1, "", 0.95),
    ],
)
def test_what_is_read(text, of, part, factor, at, confidence):
    gate = parse_gate(text)
    assert (gate.of, gate.part, gate.factor, gate.at, gate.confidence) == (of, part, factor, at, confidence)


def test_shares_and_laws():
    assert parse_gate("any slower than 1.1x").least_share == 0.01
    assert parse_gate("any of 0.1% slower than 1.1x").least_share == pytest.approx(0.001)
    law = parse_gate("any of 5% law worse with confidence 0.99")
    assert (law.of, law.word, law.least_share, law.confidence) == ("any", "", 0.05, 0.99)
    assert parse_gate("main law worse").part == "main"


@pytest.mark.parametrize(
    ("text", "place", "expected"),
    [
        ("", "at the end", "'slower than' or 'law worse' is expected"),
        ("slower then 1.1x", "at 1, 'slower then 1.1x'", "'slower than' or 'law worse' is expected"),
        ("slower than 1.1", "at 13, '1.1'", "a factor such as 1.1x is expected"),
        ("slower than 0x", "at 13, '0x'", "a factor such as 1.1x is expected"),
        ("slower than 1.1x at p", "at 21, 'p'", "NAME=LEVEL,... is expected"),
        ("slower than 1.1x for p=1", "at 18, 'for p=1'", "'at p=1024' or 'with confidence 0.95' is expected"),
        ("slower than 1.1x with confidence 1", "at 34, '1'", "above 0 and below 1"),
        ("slower than 1x with confidence 0.9 at p=1", "at 36, 'at p=1'", "nothing more is expected"),
        ("any of 1 slower than 1.1x", "at 5, 'of 1", "a share such as 'any of 1%' is expected"),
        ("any of 101% slower than 1.1x", "at 5, 'of 101%", "a share of at most 100% is expected"),
        ("total law worse", "at 7, 'law worse'", "the total has no law"),
        ("any law worse at p=2", "at 15, 'at p=2'", "'with confidence 0.95' is expected"),
    ],
)
def test_refusals_name_the_place(text, place, expected):
    with pytest.raises(OptionError) as refused:
        parse_gate(text)
    assert place in str(refused.value)
    assert expected in str(refused.value)


@given(st.text(max_size=40) | st.text("anyslowerthx=,.0123456789% \"'()", max_size=60))
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(OptionError):
        assert parse_gate(text).factor > 0.0


def comparison(ratios, spreads, sizes, growth=(), unit="s"):
    """Parts whose ratios are lognormal; the first version is known exactly."""
    sizes, ratios, spreads = map(np.asarray, (sizes, ratios, spreads))
    old = np.repeat(sizes[:, None, None], N_DRAWS, axis=2).astype(float)
    new = (sizes * ratios)[:, None, None] * np.exp(spreads[:, None, None] * PLACES)
    draws = np.stack([old, new])
    values = np.stack([sizes, sizes * ratios])[:, :, None]
    return Comparison(
        names=("old", "new"),
        unit=unit,
        along="",
        points={"p": np.array([64.0])},
        totals=Drawn(values.sum(axis=1), draws.sum(axis=1)),
        what="path",
        parts=tuple(f"f{k}" for k in range(len(sizes))),
        of_part=Drawn(values, draws),
        has=np.ones((2, len(sizes)), dtype=bool),
        crossings=(),
        growth=dict(enumerate(growth)),
        left_out=({}, {}),
        predicted=np.zeros((2, 1), dtype=bool),
        single_runs=False,
    )


def outcome(text, found):
    return judge(parse_gate(text), found, 0)


def test_confidence_is_the_probability_of_one_part():
    """1.2 over a spread of 0.05: above 1.1 with probability Phi(ln(1.2/1.1)/0.05) = 0.959."""
    found = comparison([1.2], [0.05], [1.0])
    assert outcome("f0 slower than 1.1x", found).outcome == "failed"
    assert outcome("f0 slower than 1.1x with confidence 0.97", found).outcome == "open"
    (finding,) = outcome("f0 slower than 1.1x", found).findings
    assert finding.probability == pytest.approx(norm.cdf(np.log(1.2 / 1.1) / 0.05), abs=0.002)
    assert finding.numbers["bounds"] == pytest.approx(1.2 * np.exp(0.05 * np.array([-1.96, 1.96])), rel=0.005)


def test_the_more_parts_the_surer_each_must_be():
    """0.959 is enough for one of 0.95, not for one of ten: these must be 0.995 sure."""
    found = comparison([1.2] + [1.0] * 9, [0.05] * 10, [1.0] * 10)
    verdict = outcome("any slower than 1.1x", found)
    assert verdict.outcome == "open"
    assert [one.part for one in verdict.findings] == ["f0"]
    assert verdict.reason.startswith("the data leave it open: f0 1.200x")
    assert outcome("any slower than 1.1x with confidence 0.5", found).outcome == "failed"


def test_small_parts_are_not_looked_at_unless_asked_for():
    found = comparison([2.0, 1.0], [0.01, 0.01], [0.004, 1.0])
    assert outcome("any slower than 1.1x", found).outcome == "passed"
    assert "of those with 1% of the total or more" in outcome("any slower than 1.1x", found).reason
    assert outcome("any of 0.1% slower than 1.1x", found).outcome == "failed"
    assert outcome("f0 slower than 1.1x", found).outcome == "failed"


def test_a_gate_that_looks_at_nothing_is_not_passed():
    """All of 200 like parts are below the usual 1% of the total."""
    found = comparison([2.0] * 200, [0.01] * 200, [1.0] * 200, growth=["never asked"] * 200)
    for text in ("any slower than 1.1x", "any law worse"):
        verdict = outcome(text, found)
        assert verdict.outcome == "open"
        assert verdict.reason == "no path of both has 1% of the total; ask for less with 'any of'"
    assert outcome("any of 0.1% slower than 1.1x", found).outcome == "failed"


def test_a_part_that_grew_into_its_share_is_looked_at():
    found = comparison([100.0, 1.0], [0.01, 0.01], [0.001, 1.0])
    assert outcome("any slower than 1.1x", found).outcome == "failed"


def test_a_slower_median_alone_is_no_failure_and_no_success():
    verdict = outcome("slower than 1.1x", comparison([1.3], [0.5], [1.0]))
    assert verdict.outcome == "open"
    assert verdict.reason.startswith("the data leave it open: ")
    assert outcome("slower than 1.1x with confidence 0.5", comparison([1.3], [0.5], [1.0])).outcome == "failed"


def test_laws():
    worse = GrowthChange(("1", "p"), "p", ("constant", "linear"), (0.0, 1.0), 0.999)
    same = GrowthChange(("1", "1"), "p", ("constant", "constant"), (0.0, 0.0), 0.02)
    found = comparison([1.0, 1.0], [0.1, 0.1], [1.0, 1.0], [worse, same])
    verdict = outcome("any law worse", found)
    assert verdict.outcome == "failed"
    assert verdict.reason == "f0 constant -> linear, like p^0.00 -> p^1.00, 99.9% sure to be worse"
    assert outcome("f1 law worse", found).outcome == "passed"
    with pytest.raises(OptionError, match="do not say how anything grows"):
        outcome("any law worse", comparison([1.0], [0.1], [1.0]))


def test_without_bounds_nothing_is_said():
    found = comparison([1.2, 1.0], [np.nan, np.nan], [1.0, 1.0])
    assert outcome("any slower than 1.1x", found).outcome == "open"
    assert outcome("slower than 1.05x", found).outcome == "open"
    assert outcome("f0 slower than 1.3x", found).outcome == "open"


def test_versions_with_nothing_in_common_are_no_success():
    found = comparison([1.0, 1.0], [0.1, 0.1], [1.0, 1.0])
    apart = dataclasses.replace(found, has=np.eye(2, dtype=bool))
    assert outcome("any slower than 1.1x", apart).outcome == "open"
    assert outcome("any law worse", apart).reason == "old and new have no path in common"


def test_rates_and_names_that_are_not_there():
    with pytest.raises(OptionError, match="the values are rates"):
        outcome("slower than 1.1x", comparison([1.0], [0.1], [1.0], unit="MB/s"))
    assert outcome("larger than 1.1x", comparison([1.0], [0.05], [1.0], unit="MB/s")).outcome == "passed"
    assert outcome("larger than 1.1x", comparison([1.0], [0.1], [1.0], unit="MB/s")).outcome == "open"
    with pytest.raises(OptionError, match="unknown path 'f7': did you mean"):
        outcome("f7 slower than 1.1x", comparison([1.0], [0.1], [1.0]))
    without = dataclasses.replace(comparison([1.0], [0.1], [1.0]), parts=())
    with pytest.raises(OptionError, match="have no parts"):
        outcome("any slower than 1.1x", without)
