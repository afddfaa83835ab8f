"""Two models, or a model and measurements: compare, verify."""

from __future__ import annotations

from perfcore import hookimpl
from perfcore.hooks.specs import Register

__all__ = ["register_commands", "register_presenters"]


@hookimpl
def register_commands(register: Register) -> None:
    """Announce the commands."""
    register(
        "compare",
        "perf_gate.compare.cli.compare:command",
        group="Model",
        function="perf_gate.compare.api:compare",
        help="Where two models or versions differ, and how sure that is.",
    )
    register(
        "validate",
        "perf_gate.compare.cli.validate:command",
        group="Model",
        function="perf_gate.compare.api:verify",
        help="Predictions of a model beside measurements: errors, and how often bounds hold.",
        former=("verify", "judge"),
    )


@hookimpl
def register_presenters(register: Register) -> None:
    """Announce how a comparison and a verification are shown."""
    register(
        "perf_gate.compare.comparison.comparison:Comparison",
        "perf_gate.compare.comparison.presenter:ComparisonPresenter",
        help="both models at the points, and what differs",
    )
    register(
        "perf_gate.compare.verification.verification:Verification",
        "perf_gate.compare.verification.presenter:VerificationPresenter",
        help="figures of each group of points, the worst first",
    )
