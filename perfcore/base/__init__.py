"""What everything stands on: errors, files, progress, arrays, and names that are imported when they are asked for."""

from __future__ import annotations

import importlib
import sys

__all__ = ["grouped", "lazy_names", "pd", "special"]

TYPE_CHECKING = False


class _LazyModule:
    """A module that is imported when one of its names is first asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        value = vars(self)[name] = getattr(importlib.import_module(self._name), name)
        return value


if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, TypeVar

    import pandas as pd
    from scipy import special

    Key = TypeVar("Key")
    Value = TypeVar("Value")
else:
    pd, special = _LazyModule("pandas"), _LazyModule("scipy.special")


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """Return the values of each key, keys and values as they come."""
    groups: dict[Key, list[Value]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def lazy_names(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package of lazily imported names (SPEC 1 of Scientific Python)."""

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})  # hooks are looked for among these

    return get, names
