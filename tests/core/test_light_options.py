"""Options are known without the implementation: nothing that computes, draws or parses files is imported for them."""

import subprocess
import sys

import pytest

from perfcore.hooks.registry import registry

HEAVY = ("numpy", "scipy", "pandas", "numba", "matplotlib", "statsmodels", "duckdb", "msgspec")
ENTRIES = [entry for kind in registry().kinds for entry in registry().entries(kind).values()]
WITH_OPTIONS = [entry for entry in ENTRIES if entry.options is not None and entry.distribution == "perfcore"]

_PROGRAM = """
import sys
from perfcore.hooks.options import build, describe
from perfcore.hooks.registry import registry
for word in sys.argv[1:]:
    kind, _, name = word.partition(":")
    options = registry().entry(kind, name).load_options()
    defaults = {field.name: field.default for field in describe(options)}
    assert build(options, defaults, name) == options()
    for heavy in %r:
        if heavy in sys.modules:
            sys.exit(f"options of the {kind[:-1]} {name} import {heavy}")
"""


@pytest.mark.parametrize("plugin", sorted({entry.plugin for entry in WITH_OPTIONS}))
def test_options_import_nothing_heavy(plugin):
    words = [f"{entry.kind}:{entry.name}" for entry in WITH_OPTIONS if entry.plugin == plugin]
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM % (HEAVY,), *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", ["fitters", "segmenters", "representations"])
def test_whatever_an_option_selects_announces_its_options(kind):
    assert not [e.name for e in registry().entries(kind).values() if e.options is None and e.distribution == "perfcore"]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.kind}-{entry.name}")
def test_announced_options_are_those_of_the_implementation(entry):
    announced, implementation = entry.options, entry.load()
    if announced is not None and isinstance(implementation, type):
        assert entry.load_options() is implementation.Options
    elif entry.kind == "readers":
        assert not implementation.Options.__dataclass_fields__, "has options, which it does not announce"
