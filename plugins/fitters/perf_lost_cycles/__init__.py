"""Lost cycles: models of overheads by category, and of the application as their sum."""

from __future__ import annotations

from perfcore import hookimpl
from perfcore.base import lazy_names
from perfcore.hooks.specs import Register

_PUBLIC = ("DefaultModel", "find_models", "models_for", "read_models", "write_models")
__getattr__, __dir__ = lazy_names(__name__, dict.fromkeys(_PUBLIC, "perf_lost_cycles.default_models"))


@hookimpl
def register_kinds(register: Register) -> None:
    """Announce the kind of default models."""
    register(
        "default_models",
        "perf_lost_cycles.default_models:DefaultModel",
        help="formulas that categories are usually fitted with: a sequence of these, or a TOML file",
    )


@hookimpl
def register_fitters(register: Register) -> None:
    """Announce the bundled fitters of tables by category."""
    register(
        "lca",
        "perf_lost_cycles.lca:LcaFitter",
        options="perf_lost_cycles.options:LcaOptions",
        help="default models of every category over one factor, the best of each; their sum is the application",
    )
    register(
        "modgen",
        "perf_lost_cycles.generate:ModgenFitter",
        options="perf_lost_cycles.options:ModgenOptions",
        help="models of every category over several factors, made of default models; their sum is the application",
    )


@hookimpl
def register_default_models(register: Register) -> None:
    """Announce the bundled default models."""
    register(
        "standard",
        "perf_lost_cycles.default_models:STANDARD_MODELS",
        help="the usual overheads over processors, data size and any other factor",
    )
