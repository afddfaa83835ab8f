"""Models made of models: sums, multiples, products, fractions, and the largest of several."""

from __future__ import annotations

from perfcore import hookimpl
from perfcore.hooks.specs import Register

__all__ = ["register_models", "register_presenters"]


@hookimpl
def register_models(register: Register) -> None:
    """Announce the model that operators and `perfcore.max_` make."""
    register(
        "composed",
        "perf_structural.composed_models.composed:ComposedModel",
        help="sums, products and the largest of models",
        default_for=("composition",),
        function="perf_structural.composed_models.composed:max_",
    )


@hookimpl
def register_presenters(register: Register) -> None:
    """Announce how such models are shown."""
    register(
        "perf_structural.composed_models.composed:ComposedModel",
        "perf_structural.composed_models.presenter:ComposedPresenter",
        help="sums, products and the largest of models",
    )
