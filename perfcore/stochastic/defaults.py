"""Which representation is taken where none is named: the registry knows, so nothing here names one."""

from __future__ import annotations

from typing import Any

from perfcore.base.errors import PluginError
from perfcore.hooks.registry import registry

PURPOSES = {
    "number": "one number, its first field",
    "moments": "a mean and a standard deviation, its first two fields",
    "bounds": "two bounds, its first two fields",
    "samples": "representation of samples",
    "distributions": "it can hold any distribution, and performs what other representations leave to it",
}


def default_name(purpose: str) -> str:
    """The name of the representation that was registered with ``default_for=(purpose,)``; it is not imported."""
    entries = [each for each in registry().entries("representations").values() if purpose in each.default_for]
    # A third party may add such a representation; it replaces the bundled one only where a user names it.
    entries.sort(key=lambda each: each.distribution != "perfcore")
    if not entries:
        raise PluginError(f"no representation is registered for {purpose} ({PURPOSES[purpose]}); see perf plugins")
    return entries[0].name


def default_representation(purpose: str) -> Any:
    """The class of the representation of `default_name`."""
    return registry().load("representations", default_name(purpose))
