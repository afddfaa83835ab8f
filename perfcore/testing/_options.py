"""What every options dataclass promises."""

from __future__ import annotations

import dataclasses

import pytest

from perfcore.base.errors import UnknownNameError
from perfcore.hooks.options import build, describe, to_dict

__all__ = ["check_options"]


def check_options(options_class: type) -> None:
    """Assert that options are frozen, can be listed, accept their own defaults, and refuse what they do not have."""
    defaults = options_class()
    assert dataclasses.is_dataclass(options_class), f"{options_class.__name__} must be a dataclass"
    assert hash(defaults) == hash(options_class()), f"{options_class.__name__} must be a frozen dataclass"
    for field in describe(options_class):
        assert field.help, f"{options_class.__name__}.{field.name} has no help"
        assert field.help == field.help.strip().splitlines()[0], f"the help of {field.name} must be one line"
    assert build(options_class, to_dict(defaults), "defaults") == defaults
    with pytest.raises(UnknownNameError):
        build(options_class, {"no_such_option": 1}, "suite")
