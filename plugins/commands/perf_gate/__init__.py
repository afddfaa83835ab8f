"""A gate that can be trusted: is a version slower than another, or where in a history did a benchmark change?"""

from __future__ import annotations

from perfcore import hookimpl
from perfcore.hooks.specs import Register

__all__ = ["register_commands", "register_presenters"]


@hookimpl
def register_commands(register: Register) -> None:
    """Announce the commands."""
    register(
        "gate",
        "perf_gate.cli.gate:command",
        group="Model",
        function="perf_gate.api:gate",
        help="Slower or not: two versions, or a history of commits; passed, failed, undecided.",
        former=("decide", "--between=--session-cv"),
    )
    register(
        "gate record",
        "perf_gate.cli.record:command",
        group="Model",
        function="perf_gate.api:add_to_history",
        help="Add a commit to a history of benchmarks, for `perf gate`.",
        former=("history",),
    )


@hookimpl
def register_presenters(register: Register) -> None:
    """Announce how verdicts are shown."""
    register(
        "perf_gate.versions.gate:VersionGate",
        "perf_gate.presenters.versions:VersionGatePresenter",
        help="how many times as slow each benchmark is, with bounds and verdict",
    )
    register(
        "perf_gate.self_test.self_test:SelfTest",
        "perf_gate.presenters.self_test:SelfTestPresenter",
        help="noise, false alarms, and the rounds that a limit needs",
    )
    register(
        "perf_gate.history.gate:HistoryGate",
        "perf_gate.presenters.history:HistoryGatePresenter",
        help="where each benchmark changed, by how much and how surely",
    )
    register(
        "perf_gate.history.adding:Added",
        "perf_gate.presenters.added:AddedPresenter",
        help="what was added to a history",
    )
