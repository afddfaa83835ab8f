"""The package: its public names come when they are asked for."""

import subprocess
import sys

import pytest

import perfcore


def test_every_public_name_exists():
    assert set(perfcore.__all__) <= set(dir(perfcore))
    for name in perfcore.__all__:
        assert getattr(perfcore, name) is not None


def test_other_names_do_not():
    with pytest.raises(AttributeError, match="module 'perfcore' has no attribute 'raed'"):
        perfcore.raed  # noqa: B018


def test_importing_it_imports_nothing_heavy():
    code = "import sys, perfcore; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "pandas", "msgspec", "pluggy", "click"} & set(done.stdout.split())
