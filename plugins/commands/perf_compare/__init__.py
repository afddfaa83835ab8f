"""Two models, or a model and measurements: compare, verify, gate."""

from __future__ import annotations

from perfcore import hookimpl
from perfcore.hooks.specs import Register

__all__ = ["register_commands"]


@hookimpl
def register_commands(register: Register) -> None:
    """Announce the commands."""
    register(
        "compare",
        "perf_compare.cli.compare:command",
        group="Model",
        help="Where two models or versions differ, and how sure that is; a gate.",
    )
    register(
        "verify", "perf_compare.cli.verify:command", group="Model", help="A model at points that it was not fitted to."
    )
