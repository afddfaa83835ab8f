"""A perfcore plugin: what it adds, by name; the implementations are imported when they are used."""

from perfcore import hookimpl
from perfcore.hooks.specs import Register

__all__ = ["register_commands", "register_fitters", "register_readers", "register_representations"]


@hookimpl
def register_fitters(register: Register) -> None:
    """Announce the fitter."""
    register(
        "usl",
        "perfcore_usl.usl:UslFitter",
        options="perfcore.hooks.options:NoOptions",
        help="the Universal Scalability Law, with standard errors",
    )


@hookimpl
def register_representations(register: Register) -> None:
    """Announce the representation."""
    register(
        "weibull",
        "perfcore_usl.weibull:Weibull",
        options="perfcore.hooks.options:NoOptions",
        help="times to failure: scale and spread",
    )


@hookimpl
def register_readers(register: Register) -> None:
    """Announce the reader."""
    register(
        "mbw",
        "perfcore_usl.mbw:MbwReader",
        options="perfcore.hooks.options:NoOptions",
        help="what mbw prints, a benchmark of memory copies",
        suffixes=(".txt", ".out"),
    )


@hookimpl
def register_commands(register: Register) -> None:
    """Announce the command, and the function behind it."""
    register(
        "peak",
        "perfcore_usl.peak:command",
        help="The number of processors beyond which a program gets slower.",
        group="Model",
        function="perfcore_usl.peak:peak",
    )
