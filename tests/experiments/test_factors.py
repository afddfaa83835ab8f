"""Factors, templates and values: what a user may write, and what is refused."""

import pytest

from perf_experiments.design import parse_factor
from perf_experiments.measurement import cut, filled, launcher_words, parse_patterns, values_in
from perfcore.base.errors import OptionError


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("p=1,2,4", (1, 2, 4)),
        ("p=128..1024*2", (128, 256, 512, 1024)),
        ("p=0..1:0.5", (0, 0.5, 1)),
        ("p= cg , lu", ("cg", "lu")),
        ("p=-1e3", (-1000,)),
    ],
)
def test_levels(text, levels):
    assert parse_factor(text) == ("p", levels)
    assert [type(level) for level in parse_factor(text)[1]] == [type(level) for level in levels]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p", "NAME=LEVEL,LEVEL,... or NAME=FIRST..LAST"),
        ("p=", "NAME=LEVEL,LEVEL,..."),
        ("p=1,2,4o", "'4o' is no number"),
        ("p=1..8*1", "'1..8*1' is no number"),
        ("p=1,1.0", "level 1 stands there twice"),
        ("2p=1", "a name of letters, digits and _"),
        ("wall_s=1", "the name has a meaning already"),
        ("cores=1", "the name has a meaning already"),
        ("log=1", "the name has a meaning already"),
        ("p=nan", "'nan' is no number"),
    ],
)
def test_factors_that_are_refused(text, message):
    with pytest.raises(OptionError, match=message.replace("*", r"\*").replace(".", r"\.")):
        parse_factor(text)


def test_templates():
    point = {"p": 4, "D": 0.5, "solver": "cg {p}"}
    assert filled(["{p}x{D}", "{{{p}}}", "{solver}", "plain"], point) == ("4x0.5", "{4}", "cg {p}", "plain")
    assert launcher_words("local") == ()
    assert launcher_words("srun --cpu-bind 'a b' -n {p}") == ("srun", "--cpu-bind", "a b", "-n", "{p}")


def test_values():
    patterns = parse_patterns(["time=^t = *([0-9.]+)$", "rate=(?:Mop|mop)/s ([-+0-9.e]+)"], ["p"])
    assert values_in(b"x\nt =  2.5\nMop/s 1e-3\n", patterns) == {"time": 2.5, "rate": 0.001}


@pytest.mark.parametrize("most", [0, 1, 2, 7, 99, 100, 200])
def test_output_is_cut_in_the_middle(most):
    output = bytes(range(100))
    kept = cut(output, most)
    if most >= 100:
        assert kept == output
        return
    before, after = kept.split(f"\n... {100 - most} bytes left out ...\n".encode())
    assert len(before) + len(after) == most
    assert output.startswith(before)
    assert output.endswith(after)
