"""``perf plugins``: what is installed, and what is wrong with it."""

import json
import sys

import pytest

from perfcore import hookimpl
from perfcore.__main__ import main
from perfcore.hooks.registry import Registry, registry


def test_lists_everything_that_is_registered(perf):
    rows = perf("plugins").lines[3:]
    listed = {tuple(row.split()[:2]) for row in rows}
    everything = {(kind[:-1], name) for kind in registry().kinds for name in registry().entries(kind)}
    assert listed == {(kind, name.split()[0]) for kind, name in everything}  # commands of groups have two words
    facts = json.loads(perf("plugins", "--json").out)["rows"]
    assert {(fact["kind"], fact["name"]) for fact in facts} == everything
    assert all(fact["from"] and fact["help"] for fact in facts)


@pytest.mark.parametrize("name", [name for kind in registry().kinds for name in registry().entries(kind)])
def test_each_can_be_described(perf, name):
    assert name in perf("plugins", name).lines[0]
    assert ">>>" not in perf("plugins", name).out  # examples are for the documentation


def test_check(perf):
    assert perf("plugins", "check").out.endswith("implementations: all can be imported\n")


@pytest.fixture
def with_broken_plugins(monkeypatch):
    class Half:
        @staticmethod
        @hookimpl
        def register_functions(register):
            register("half", "no_such_module:Half", help="cannot be imported")

    def broken():
        raise ImportError("needs another\nversion")

    found = Registry()
    found.add_plugins(("half", "dist-half", Half))
    found.add_plugins(("broken", "dist-broken", broken))
    monkeypatch.setattr("perf_basics.cli.registry", lambda: found)
    monkeypatch.setattr("perfcore.cli.output.registry", lambda: found)


@pytest.mark.usefixtures("with_broken_plugins")
def test_check_names_everything_that_is_broken(perf):
    outcome = perf("plugins", "check", status=2)
    warning, error = outcome.err.split("\nperf: error: ")
    error = " ".join(error.split())
    assert warning.startswith("perf: warning: plugin broken of dist-broken is skipped: ImportError: needs another")
    assert "plugin broken of dist-broken is skipped" in error
    assert "function 'half' of dist-half cannot be imported" in error


@pytest.mark.usefixtures("with_broken_plugins", "folder")
def test_to_other_commands_a_broken_plugin_is_a_warning(perf, monkeypatch, capsys):
    monkeypatch.setattr("perf_basics.cli.registry", registry)  # the warning is that of every command
    monkeypatch.setattr(sys, "argv", ["perf", "info", "curve.csv"])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    assert ended.value.code == 0
    assert out.startswith("utilization curve")
    assert err == "perf: warning: plugin broken of dist-broken is skipped: ImportError: needs another version\n"
