"""The core's own plugin: how its results are shown, registered as anyone else registers theirs."""

from __future__ import annotations

from perfcore.hooks.specs import Register, hookimpl


@hookimpl
def register_presenters(register: Register) -> None:
    """Announce how models are shown that have no presenter of their own."""
    register("perfcore.models.model:Model", "perfcore.models.presenter:ModelPresenter", help="any fitted model")
