"""The hooks that a plugin implements, one for each kind of thing.

A plugin is a module named by an entry point of the group ``perfcore``. It imports nothing but `perfcore`, and each
of its hook functions calls ``register`` once for each thing that it brings::

    from perfcore import hookimpl

    @hookimpl
    def register_segmenters(register):
        register("pelt", "my_package.pelt:Pelt", options="my_package.pelt_options:PeltOptions",
                 help="penalised least squares", extra="my-package[pelt]")

Every target is ``"module:attribute"`` and imported only when used. A plugin may announce a new kind
with `register_kinds`; plugins that offer this kind then implement ``register_KIND`` as if it stood here.
"""

from __future__ import annotations

from typing import Protocol

import pluggy

__all__ = ["COMMAND_GROUP", "GROUP", "KINDS", "Register", "hookimpl", "hookspec"]

GROUP = "perfcore"  # entry-point group, and pluggy's project name
COMMAND_GROUP = "perfcore.cli.app:CommandGroup"

hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)

# In the order in which `perf plugins` lists them. "kinds" come first, since they add hooks.
KINDS = (
    "kinds", "readers", "classifiers", "segmenters", "functions", "representations", "fitters", "models", "commands",
)  # fmt: skip


class Register(Protocol):
    """What a hook function is called with."""

    def __call__(
        self,
        name: str,
        target: str,
        *,
        help: str,
        options: str | None = None,
        extra: str | None = None,
        suffixes: tuple[str, ...] = (),
        signature: str | tuple[str, ...] = (),
        default_for: tuple[str, ...] = (),
        ranks_for: tuple[str, ...] = (),
        group: str = "",
        function: str | tuple[str, ...] | None = None,
        shows: tuple[str, ...] = (),
        saves: str = "",
    ) -> None:
        """Announce one thing.

        Parameters
        ----------
        name : str
            What the user types. A command of two words, such as ``"experiment run"``, stands in a group of the first,
            whose help is that of an entry with this name.
        target : str
            ``"module:attribute"``, imported on first use; `COMMAND_GROUP` for a group of commands.
        help : str
            One line, shown by ``perf plugins`` and, of commands and fitters, by ``--help``.
        options : str, optional
            ``"module:Options"`` of its options, in a module that imports nothing heavy, so that help and completion
            need not import the target. Without it they are the target's ``Options``.
        extra : str, optional
            What to install when importing the target fails, for example ``"perfcore[formats]"``.
        suffixes : tuple of str, optional
            Readers and models only: endings of their files, such as ``(".prv",)``, without that of a compression.
        signature : str or tuple of str, optional
            Readers only: regular expressions (of bytes, written in Latin-1) that the first bytes of every such file
            hold; without `sniff` a reader is sure of what has them all. One without is imported for each claimed file.
        default_for, ranks_for : tuple of str, optional
            Of fitters the kinds of data (`perfcore.data`) that ``perf fit``, and ``perf rank``, take it for when
            none is named; of representations the purposes (`perfcore.stochastic.PURPOSES`) for which it is taken
            then; of models ``("composition",)`` for what the operators ``+``, ``*`` and ``/`` on models make, and what
            their files are opened for (`perfcore.models.model`).
        group : str, optional
            Commands only: the heading of ``perf --help`` under which it stands.
        function : str or tuple of str, optional
            Public Python functions behind a command or a model; each becomes ``perfcore.NAME``.
        shows : tuple of str, optional
            Commands only, whose function returns a result: ``"plot"`` and ``"table"`` for a result with a picture, and
            with tables for other programs. Every such command also has ``--json``.
        saves : str, optional
            Of the same commands, the help of ``--output``, where the result has a method ``save``.
        """


@hookspec
def register_kinds(register: Register) -> None:
    """Announce kinds of things of a plugin's own; the target is the class or protocol that they must be.

    Where ``perf plugins NAME`` lists what one of them holds, the class has a class method ``rows(entry)`` that
    gives a mapping of column to text for each row.
    """


@hookspec
def register_readers(register: Register) -> None:
    """Announce readers: files to data (contract: `perfcore.contracts.Reader`)."""


@hookspec
def register_classifiers(register: Register) -> None:
    """Announce functions that take the names of a trace's states and give those in which a location computes."""


@hookspec
def register_segmenters(register: Register) -> None:
    """Announce segmenters: a curve to phases (contract: `perfcore.contracts.Segmenter`)."""


@hookspec
def register_functions(register: Register) -> None:
    """Announce functions: bases of models (contract: `perfcore.contracts.Function`)."""


@hookspec
def register_representations(register: Register) -> None:
    """Announce representations of stochastic values (contract: `perfcore.stochastic.StochasticValue`)."""


@hookspec
def register_fitters(register: Register) -> None:
    """Announce fitters: data to a model (contract: `perfcore.contracts.Fitter`)."""


@hookspec
def register_models(register: Register) -> None:
    """Announce models that no fitter makes, by the kind that their files name (contract: `perfcore.Model`).

    What operators on models make has a class method ``compose(operation, left, right)``.
    """


@hookspec
def register_commands(register: Register) -> None:
    """Announce commands: the target is a function with typer's annotations (see `perfcore.hooks.parameters`)."""
