"""Is a version slower than another, where in a history did a benchmark change, where do two models differ?"""

from __future__ import annotations

from perfcore import hookimpl
from perfcore.hooks.specs import Register


@hookimpl
def register_commands(register: Register) -> None:
    """Announce the commands."""
    for name, function, text, shows in (
        (
            "gate",
            "gate",
            "Test two versions or a history for slowdowns: pass, fail or inconclusive.",
            ("plot", "table"),
        ),
        (
            "gate record",
            "add_to_history",
            "Add a commit to a history of benchmarks, for `perf gate`.",
            (),
        ),
        ("compare", "compare", "Compare two models or versions, with probabilities.", ("plot",)),
        (
            "validate",
            "validate",
            "Validate a model against measurements: errors and interval coverage.",
            ("plot",),
        ),
    ):
        target = f"perf_gate.api:{function}"
        kinds = ("versions", "history") if name == "gate" else ()  # on whose pages it stands
        register(name, target, group="Model", function=target, help=text, shows=shows, default_for=kinds)


@hookimpl
def register_presenters(register: Register) -> None:
    """Announce how results are shown."""
    for result_class, presenter, text in (
        ("versions:VersionGate", "presenters:VersionGatePresenter", "the ratio of each benchmark"),
        ("self_test:SelfTest", "presenters:SelfTestPresenter", "noise, false alarms, rounds that a limit needs"),
        ("history:HistoryGate", "presenters:HistoryGatePresenter", "changes of each benchmark over its history"),
        ("history:Added", "presenters:AddedPresenter", "what was added to a history"),
        ("gpu_differences:GpuDifference", "gpu_differences_presenter:GpuDifferencePresenter", "two GPU traces"),
    ):
        register(f"perf_gate.{result_class}", f"perf_gate.{presenter}", help=text)
