"""The hooks that a plugin implements, one for each kind of thing.

A plugin is a module named by an entry point of the group ``perfcore``. It imports nothing but `perfcore`, and each
of its hook functions calls ``register`` once for each implementation::

    from perfcore import hookimpl

    @hookimpl
    def register_segmenters(register):
        register("pelt", "my_package.pelt:Pelt", help="penalised least squares", extra="my-package[pelt]")

The target is imported only when somebody uses it.
"""

from __future__ import annotations

from typing import Protocol

import pluggy

__all__ = ["GROUP", "KINDS", "Register", "hookimpl", "hookspec"]

GROUP = "perfcore"  # entry-point group, and pluggy's project name

hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)

KINDS = ("readers", "segmenters", "functions", "representations", "default_models", "fitters")


class Register(Protocol):
    """What a hook function is called with."""

    def __call__(
        self,
        name: str,
        target: str,
        *,
        help: str,
        extra: str | None = None,
        suffixes: tuple[str, ...] = (),
    ) -> None:
        """Announce one implementation.

        Parameters
        ----------
        name : str
            What the user types.
        target : str
            ``"module:attribute"``, imported on first use.
        help : str
            One line, shown by ``perf plugins``.
        extra : str, optional
            What to install when importing the target fails, for example ``"perfcore[formats]"``.
        suffixes : tuple of str, optional
            Readers only: endings of the files it reads, such as ``(".prv",)``, without ``.gz``.
        """


@hookspec
def register_readers(register: Register) -> None:
    """Announce readers: files to data (contract: `perfcore.plugins.contracts.Reader`)."""


@hookspec
def register_segmenters(register: Register) -> None:
    """Announce segmenters: a curve to phases (contract: `perfcore.plugins.contracts.Segmenter`)."""


@hookspec
def register_functions(register: Register) -> None:
    """Announce functions: bases of models (contract: `perfcore.plugins.contracts.Function`)."""


@hookspec
def register_representations(register: Register) -> None:
    """Announce representations of stochastic values."""


@hookspec
def register_default_models(register: Register) -> None:
    """Announce default models of categories (contract: `perfcore.plugins.contracts.DefaultModels`)."""


@hookspec
def register_fitters(register: Register) -> None:
    """Announce fitters: data to a model (contract: `perfcore.plugins.contracts.Fitter`)."""
