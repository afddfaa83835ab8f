"""The options by which commands read a file."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perfcore.base.errors import OptionError
from perfcore.hooks.parameters import names_of

if TYPE_CHECKING:
    from perfcore.reading.recognise import Reading


@dataclass(frozen=True)
class HowToRead:
    """``--reader``, ``--read`` and ``--from-name`` of a command that reads data."""

    reader: Annotated[
        str | None,
        typer.Option(
            "--reader",
            metavar="NAME",
            autocompletion=names_of("readers"),
            help="Format of the file (default: detected).",
        ),
    ] = None
    read_pairs: Annotated[
        list[str] | None,
        typer.Option(
            "--read", "-r", metavar="KEY=VALUE", help="Reader option, such as -r time=t_us (see `perf plugins NAME`)."
        ),
    ] = None
    from_name: Annotated[
        str | None,
        typer.Option(
            "--from-name", metavar="PATTERN", help="Parameters in file names, such as 'run_p{p:int}_n{n}.out'."
        ),
    ] = None

    def read_file(self, path: str, wanted: Sequence[type] = ()) -> Any:
        """Read what the command line names."""
        return self.read_with_format(path, wanted).data

    def read_with_format(self, path: str, wanted: Sequence[type] = ()) -> Reading:
        """The same, with the name of the format."""
        from perfcore.reading.recognise import read_named

        return read_named(path, wanted=wanted, **self.options)

    @property
    def options(self) -> dict[str, Any]:
        """Options of reading, by the keyword of `perfcore.read`."""
        options: dict[str, Any] = dict(key_values(self.read_pairs or (), "--read"))
        for name, (flag, value) in self.named.items():
            if name in options:
                raise OptionError(f"{flag} and -r {name}= are the same; give one of them")
            options[name] = value
        return options if self.reader is None else {"reader": self.reader, **options}

    @property
    def reading(self) -> dict[str, Any]:
        """The parameter of a function that takes these options as a mapping."""
        return {"reading": self.options}

    @property
    def named(self) -> dict[str, tuple[str, Any]]:
        """Options given separately: flag and value, by the keyword of the reading function."""
        return {} if self.from_name is None else {"from_name": ("--from-name", self.from_name)}

    @property
    def flags(self) -> str:
        """The options that were given, to be repeated in a command that reads the file again."""
        pairs = [("--reader", self.reader or ()), ("-r", self.read_pairs or ()), *self.named.values()]
        each = ((flag, [values] if isinstance(values, str) else values) for flag, values in pairs)
        return "".join(f" {flag} {shlex.quote(word)}" for flag, words in each for word in words)


def key_values(pairs: Sequence[str], flag: str) -> Mapping[str, str]:
    """``KEY=VALUE`` words as a mapping.

    Raises
    ------
    OptionError
        A word has no ``=`` or no key.

    Examples
    --------
    >>> key_values(["time=t_us"], "--read")
    {'time': 't_us'}
    """
    values = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise OptionError(f"{flag} {pair!r}: KEY=VALUE is expected")
        values[key.replace("-", "_")] = value
    return values
