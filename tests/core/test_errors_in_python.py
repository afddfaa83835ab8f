"""Messages name options as the user gives them: typed, or as keywords."""

import pytest

from perfcore.base.errors import OptionError, options_of_program


@pytest.mark.parametrize(("text", "in_python"), [
    ("set with --fitter", "set with fitter="),
    ("use --parameter p,n to say so", "use parameter='p,n' to say so"),
    ("--break-tolerance 0: must be above 0", "break_tolerance=0: must be above 0"),
    ("choose --locations process, --locations node", "choose locations='process', locations='node'"),
    ("leave out --at p=64", "leave out at='p=64'"),
    ("`perf fit a.csv --at p=64` says more", "`perf fit a.csv --at p=64` says more"),
    ("`rocprofv3 --runtime-trace` records them", "`rocprofv3 --runtime-trace` records them"),
    ("--strict keeps what it has", "strict= keeps what it has"),
])  # fmt: skip
def test_an_option_is_named_as_the_user_gives_it(text, in_python):
    error = OptionError(text)
    assert str(error) == in_python
    with options_of_program():
        assert str(error) == text
    assert str(error) == in_python
