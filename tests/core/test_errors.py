"""Errors are one line that says where, what, and what is accepted."""

import pytest

from perfcore.base import errors
from perfcore.base.errors import InputError, OptionError, PerfError, UnknownNameError


def test_all_are_the_users_mistakes():
    kinds = [each for each in vars(errors).values() if isinstance(each, type) and each.__module__ == errors.__name__]
    assert kinds
    assert all(issubclass(kind, PerfError) for kind in kinds)
    assert issubclass(UnknownNameError, OptionError)


def test_a_place_in_a_file():
    error = InputError("qr.prv", "state record has 6 fields, expected 8", line=1204)
    assert str(error) == "qr.prv:1204: state record has 6 fields, expected 8"
    assert (error.path, error.line) == ("qr.prv", 1204)
    assert str(InputError("qr.prv", "the file is empty")) == "qr.prv: the file is empty"


@pytest.mark.parametrize(
    ("name", "known", "text"),
    [
        ("worly", ["worley", "lca"], "unknown fitter 'worly': did you mean 'worley'? Known: lca, worley"),
        ("Worley", ["worley", "lca"], "unknown fitter 'Worley': did you mean 'worley'? Known: lca, worley"),
        ("hist", ["list", "histogram"], "unknown fitter 'hist': did you mean 'histogram'? Known: histogram, list"),
        ("linear", ["interval", "normal"], "unknown fitter 'linear': Known: interval, normal"),
        ("spline", ["scaling", "point"], "unknown fitter 'spline': Known: point, scaling"),
        ("cq", ["cg", "lu"], "unknown fitter 'cq': did you mean 'cg'? Known: cg, lu"),
        ("usl", ["equal", "point"], "unknown fitter 'usl': Known: equal, point"),
        ("x", ["worley", "lca"], "unknown fitter 'x': Known: lca, worley"),
        ("x", [], "unknown fitter 'x': Known: none"),
    ],
)
def test_the_nearest_name_is_suggested_where_one_is_near(name, known, text):
    error = UnknownNameError("fitter", name, iter(known))
    assert str(error) == text
    assert error.name == name
