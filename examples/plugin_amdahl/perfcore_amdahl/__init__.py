"""A perfcore plugin: what it adds, by name; the implementations are imported when they are used."""

from perfcore import hookimpl
from perfcore.hooks.specs import Register

__all__ = ["register_commands", "register_fitters", "register_readers", "register_representations"]


@hookimpl
def register_fitters(register: Register) -> None:
    """Announce the fitter."""
    register(
        "amdahl",
        "perfcore_amdahl.amdahl:AmdahlFitter",
        options="perfcore.hooks.options:NoOptions",
        help="Amdahl's law, with standard errors",
    )


@hookimpl
def register_representations(register: Register) -> None:
    """Announce the representation."""
    register(
        "weibull",
        "perfcore_amdahl.weibull:Weibull",
        options="perfcore.hooks.options:NoOptions",
        help="times to failure: scale and spread",
    )


@hookimpl
def register_readers(register: Register) -> None:
    """Announce the reader."""
    register(
        "mbw",
        "perfcore_amdahl.mbw:MbwReader",
        options="perfcore.hooks.options:NoOptions",
        help="what mbw prints, a benchmark of memory copies",
        suffixes=(".txt", ".out"),
    )


@hookimpl
def register_commands(register: Register) -> None:
    """Announce the command, and the function behind it."""
    register(
        "limit",
        "perfcore_amdahl.limit:limit",
        help="The largest speedup of a program.",
        group="Model",
        function="perfcore_amdahl.limit:limit",
    )
