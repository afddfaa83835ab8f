"""What the commands share: tables, JSON, and progress on standard error."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import click

from perfcore import progress
from perfcore.registry import registry

__all__ = ["print_findings", "print_json", "print_table", "reporting"]

# Cells of numbers, with a unit or a sign of per cent, of intervals, and of what is missing.
_NUMBER = r"[-+]?(?:[0-9][0-9.,]*(?:e[-+]?[0-9]+)?|nan|inf|open)(?: ?(?:%|[a-zµ]{1,3}))?"
_AMOUNTS = re.compile(rf"-|{_NUMBER}(?: \.\. {_NUMBER})?")


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns aligned: text to the left, numbers to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(header, *rows, strict=True)]
    numeric = [
        all(_AMOUNTS.fullmatch(cell) for cell in column if cell) and any(column)
        for column in (zip(*rows, strict=True) if rows else [()] * len(header))
    ]
    for row in (header, *rows):
        cells = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        )
        click.echo("  ".join(cells).rstrip())


class Findings(Protocol):
    """What a command found: a model, a prediction, a comparison."""

    def summary(self) -> list[str]:
        """What is said first."""

    def tables(self) -> list[tuple[str, list[str], list[list[str]]]]:
        """Title (or none), header and rows of each table."""


def print_findings(found: Findings, **files: str | None) -> None:
    """Summary and tables, and by what they are the files that were written."""
    for line in found.summary():
        click.echo(line)
    for title, header, rows in found.tables():
        click.echo()
        if title:
            click.echo(title)
        print_table(header, rows)
    for what, path in files.items():
        if path is not None:
            click.echo(f"{what}: {click.format_filename(path)}")


def print_json(content: Any) -> None:
    """One JSON document; NaN and infinity become null."""
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(content), indent=1))


class _Stderr(progress.Sink):
    """Bars by tqdm, only where a person looks and only for what takes over a second."""

    @contextlib.contextmanager
    def bar(self, label: str, total: int | None) -> Iterator[Callable[[int], None]]:
        if not sys.stderr.isatty():
            yield lambda amount: None
            return
        from tqdm import tqdm

        with tqdm(total=total, desc=label, delay=1.0, leave=False, unit_scale=True, file=sys.stderr) as shown:
            yield lambda amount: (shown.update(amount), None)[1]

    def note(self, text: str) -> None:
        click.echo(f"perf: {text}", err=True)


@contextlib.contextmanager
def reporting() -> Iterator[None]:
    """Show progress, and name plugins that were skipped."""
    for problem in registry().problems:
        click.echo(f"perf: warning: {problem}", err=True)
    with progress.show_with(_Stderr()):
        yield
