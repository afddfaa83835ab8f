"""Commands whose options come from a registered implementation: ``perf fit --fitter NAME --help`` shows its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import click

from perfcore.base.errors import PerfError
from perfcore.hooks.options import OptionField
from perfcore.hooks.registry import registry

__all__ = ["FitterCommand", "RepresentationCommand", "fitter_option", "key_values", "representation_option"]

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def fitter_option(default: str) -> Decorator:
    """The option ``--fitter`` of a `FitterCommand`."""
    return _choosing(FitterCommand, "fitter", default, "What fits.")


def representation_option(default: str) -> Decorator:
    """The option ``--as`` of a `RepresentationCommand`; the function gets it as ``representation``."""
    return _choosing(RepresentationCommand, "representation", default, "What the samples become.")


def _choosing(command: type[ImplementationCommand], parameter: str, default: str, text: str) -> Decorator:
    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        return [name for name in registry().entries(command.kind) if name.startswith(incomplete)]

    return click.option(
        f"--{command.flag}", parameter, default=default, show_default=True, metavar="NAME", shell_complete=complete,
        help=text,
    )  # fmt: skip


class ImplementationCommand(click.Command):
    """A command with an option that names an implementation, whose options, and those of what it selects, join its own.

    Attributes
    ----------
    kind : str
        What the option names, such as ``"fitters"``.
    flag : str
        The option, without dashes.
    """

    kind: ClassVar[str]
    flag: ClassVar[str]

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Look for the implementation's name before the arguments are parsed."""
        self._given = _peek(args)
        return super().make_context(info_name, args, parent, **extra)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Own parameters and those of the implementation."""
        return super().get_params(ctx) + [option for _, options in self._groups() for option in options]

    def _groups(self) -> list[tuple[str, list[click.Option]]]:
        from perfcore.hooks.chosen_options import option_fields

        given = getattr(self, "_given", {})
        name = given.get(self.flag) or str(next(p.default for p in self.params if f"--{self.flag}" in p.opts))
        try:
            groups = option_fields(registry().entry(self.kind, name), given)
        except PerfError:  # an unknown name is reported when the implementation is asked for
            return []
        return [(part or name, [_as_click(field) for field in fields]) for part, fields in groups.items() if fields]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Options in sections, one for each implementation."""
        own = [p.get_help_record(ctx) for p in self.params if isinstance(p, click.Option)]
        own.append(self.get_help_option(ctx).get_help_record(ctx))  # type: ignore[union-attr]
        sections = [("Options", own)]
        for name, options in self._groups():
            sections.append((f"Options of {name}", [o.get_help_record(ctx) for o in options]))
        for title, records in sections:
            with formatter.section(title):
                formatter.write_dl([record for record in records if record is not None])


class FitterCommand(ImplementationCommand):
    """A command with an option ``--fitter``."""

    kind = "fitters"
    flag = "fitter"


class RepresentationCommand(ImplementationCommand):
    """A command with an option ``--as`` that names a representation of stochastic values."""

    kind = "representations"
    flag = "as"


def _peek(args: Sequence[str]) -> dict[str, str]:
    """Values of all long options, before anything is known about them."""
    found = {}
    for at, word in enumerate(args):
        if word.startswith("--") and len(word) > 2:
            name, equals, value = word[2:].partition("=")
            if not equals:
                value = args[at + 1] if at + 1 < len(args) else ""
            found[name.replace("-", "_")] = value
    return found


_METAVARS = {int: "N", float: "X"}


def _as_click(field: OptionField) -> click.Option:
    """One declared option as the command line sees it; values stay text, `perfcore.hooks.options` checks them."""
    if field.type is bool:
        return click.Option([f"{field.flag}/--no-{field.flag[2:]}", field.name], default=None, help=field.help)
    text = field.help
    if field.choices is not None:
        text += f" [{'|'.join(field.choices)}]"
    if field.default_text:
        text += f" (default: {field.default_text})"

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        done, comma, last = incomplete.rpartition(",") if field.many else ("", "", incomplete)
        return [f"{done}{comma}{word}" for word in field.choices or () if word.startswith(last)]

    return click.Option(
        [field.flag, field.name],
        default=None,
        help=text,
        metavar=field.metavar or ("NAME" if field.choices is not None else _METAVARS.get(field.type)),
        type=str,
        shell_complete=complete,
    )


def key_values(pairs: Sequence[str], what: str) -> Mapping[str, str]:
    """``KEY=VALUE`` words as a mapping."""
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise click.UsageError(f"{what} {pair!r}: KEY=VALUE is expected")
        found[key.replace("-", "_")] = value
    return found
