"""Is a version slower than another, where in a history did a benchmark change, where do two models differ?"""

from __future__ import annotations

from perfcore import hookimpl
from perfcore.hooks.specs import Register


@hookimpl
def register_commands(register: Register) -> None:
    """Announce the commands."""
    register(
        "gate",
        "perf_gate.gate_command:gate_command",
        group="Model",
        function=tuple(f"perf_gate.api:{name}" for name in ("gate", "gate_history", "gate_run", "gate_self_test")),
        help="Test two versions or a history for slowdowns: pass, fail or inconclusive.",
        shows=("plot", "table"),
        default_for=("versions", "history"),  # on whose pages it stands
    )
    for name, function, text, shows in (
        ("gate record", "add_to_history", "Add a commit to a history of benchmarks, for `perf gate`.", ()),
        ("compare", "compare", "Compare two models or versions, with probabilities.", ("plot",)),
        ("validate", "validate", "Validate a model against measurements: errors and interval coverage.", ("plot",)),
    ):
        target = f"perf_gate.api:{function}"
        register(name, target, group="Model", function=target, help=text, shows=shows)
