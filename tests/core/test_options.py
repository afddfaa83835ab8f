"""Options: declared once, converted and checked the same from Python and from text."""

from dataclasses import dataclass

import pytest

from perfcore.base.errors import OptionError, UnknownNameError
from perfcore.hooks.options import build, describe, option


def parse_even(given):
    if int(given) % 2:
        raise ValueError("an even number is expected")
    return int(given)


@dataclass(frozen=True)
class Options:
    degree: int = option(2, "degree", minimum=0)
    scale: float | None = option(None, "scale", above=0.0)
    refine: bool = option(False, "refine")
    method: str = option("fast", "method", choices=("fast", "exact"))
    states: tuple[str, ...] = option((), "states", choices=lambda: ("run", "wait"))
    sizes: tuple[int, ...] | None = option(None, "sizes", minimum=1, metavar="N,...")
    even: int = option(0, "even", parse=parse_even)


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("degree", "3", 3),
        ("degree", 3.0, 3),
        ("scale", "1e-3", 0.001),
        ("scale", 2, 2.0),
        ("scale", None, None),
        ("refine", "yes", True),
        ("refine", "False", False),
        ("refine", True, True),
        ("method", "exact", "exact"),
        ("states", "run, wait", ("run", "wait")),
        ("states", ["wait"], ("wait",)),
        ("sizes", "1,2,3", (1, 2, 3)),
        ("sizes", range(1, 3), (1, 2)),
        ("sizes", None, None),
        ("even", "4", 4),
    ],
)
def test_accepted_values(name, given, value):
    converted = getattr(build(Options, {name: given}, "demo"), name)
    assert converted == value
    assert type(converted) is type(value)


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("degree", -1, "demo: --degree -1: must be at least 0"),
        ("degree", "two", r"--degree 'two': a number is expected \(int\)"),
        ("degree", 2.5, "--degree 2.5: a whole number is expected"),
        ("degree", "2.5", r"a number is expected \(int\)"),
        ("degree", True, "a number is expected"),
        ("degree", None, "a number is expected"),
        ("degree", float("nan"), "a number is expected"),
        ("scale", 0, "--scale 0: must be greater than 0"),
        ("scale", "nan", "a finite number is expected"),
        ("scale", float("nan"), "a finite number is expected"),
        ("scale", float("inf"), "a finite number is expected"),
        ("scale", 10**400, r"a number is expected \(float\)"),
        ("refine", "maybe", "true or false is expected"),
        ("method", "fasst", "--method 'fasst': unknown value 'fasst': did you mean 'fast'"),
        ("states", "run,wat", "did you mean 'wait'. Known: run, wait"),
        ("states", "", "unknown value ''"),
        ("sizes", "1,0", "must be at least 1"),
        ("sizes", 7, "--sizes 7"),
        ("even", 3, "--even 3: an even number is expected"),
    ],
)
def test_refused_values(name, given, message):
    with pytest.raises(OptionError, match=message) as caught:
        build(Options, {name: given}, "demo")
    assert "\n" not in str(caught.value)


def test_an_unknown_option_is_refused_with_the_nearest():
    with pytest.raises(UnknownNameError, match="unknown option of demo 'degre': did you mean 'degree'"):
        build(Options, {"degre": 2}, "demo")


def test_describe_lists_everything_in_order():
    fields = describe(Options)
    assert [f.name for f in fields] == ["degree", "scale", "refine", "method", "states", "sizes", "even"]
    by_name = {f.name: f for f in fields}
    assert by_name["states"].choices == ("run", "wait")
    assert (by_name["sizes"].type, by_name["sizes"].many, by_name["sizes"].optional) == (int, True, True)
    assert (by_name["scale"].type, by_name["scale"].many, by_name["scale"].optional) == (float, False, True)


def test_a_name_is_spelt_with_hyphens_on_the_command_line():
    @dataclass(frozen=True)
    class Long:
        break_tolerance: float = option(0.0, "tolerance")

    assert describe(Long)[0].flag == "--break-tolerance"
