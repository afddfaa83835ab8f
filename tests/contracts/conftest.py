"""Assertions of the shipped suites show the values that they met; a stranger's representation can be registered."""

import pytest

from perfcore.hooks.registry import Entry, registry

pytest.register_assert_rewrite("perfcore.testing")


@pytest.fixture
def register_representation(monkeypatch):
    """A function that registers a class as a stranger's plugin does, for one test."""

    def register_class(cls):
        target = f"{cls.__module__}:{cls.__qualname__}"
        entry = Entry("representations", cls.name, target, "of a stranger", "stranger")
        monkeypatch.setitem(registry()._entries["representations"], cls.name, entry)

    return register_class
