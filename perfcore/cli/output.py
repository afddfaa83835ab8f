"""What the commands share: tables, JSON, and progress on standard error."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import typer

from perfcore.base import progress
from perfcore.hooks.registry import registry

_SCHEMA = "perfcore-output/1"
Table = tuple[str, Sequence[str], Sequence[Sequence[str]]]  # title or none, header, rows

# Cells of numbers, with a unit or a sign of per cent, of intervals, and of what is missing.
_NUMBER = r"[-+]?(?:[0-9][0-9.,]*(?:e[-+]?[0-9]+)?|nan|inf|open)(?: ?(?:%|[a-zµ]{1,3}))?"
_AMOUNTS = re.compile(rf"-|{_NUMBER}(?: \.\. {_NUMBER})?")


_LONGEST, _TAIL = 240, 80  # letters of a cell, and of its end; CSV and JSON have all
_JOINERS = "\u200c\u200d"  # within words of some languages, and within emojis


def _printable(text: str) -> str:
    """A name on one line: what moves the cursor, turns the direction or colours a terminal is spelt out."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() or sign in _JOINERS else ascii(sign)[1:-1] for sign in text)


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns aligned: text to the left, numbers to the right; of very long names the middle is left out."""
    header, *rows = ([_cell(text) for text in row] for row in (header, *rows))
    widths = [max(len(cell) for cell in column) for column in zip(header, *rows, strict=True)]
    numeric = [_is_numeric(column) for column in (zip(*rows, strict=True) if rows else [()] * len(header))]
    for row in (header, *rows):
        cells = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        )
        typer.echo("  ".join(cells).rstrip())


def _cell(text: str) -> str:
    line = _printable(text)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - _TAIL]}…{line[-_TAIL:]}"


def _is_numeric(column: Sequence[str]) -> bool:
    """Whether all cells but empty ones are amounts, and there are any."""
    return all(_AMOUNTS.fullmatch(cell) for cell in column if cell) and any(column)


def print_plainly(table_format: str, tables: Sequence[Table]) -> None:
    """Tables as CSV or LaTeX; several are parted by a blank line, and a title is a comment or the caption."""
    for number, (title, header, rows) in enumerate(tables):
        if number:
            typer.echo()
        lines = _csv_lines if table_format == "csv" else _latex_lines
        for line in lines(title, header, rows):
            typer.echo(line)


def _csv_lines(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """RFC 4180 but for the ends of lines, which are the system's; the title, where there is one, after ``#``."""
    import csv
    import io

    if title:
        yield f"# {title}"
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    yield text.getvalue().removesuffix("\n")


# What TeX reads as a command, and what its usual fonts show as something else.
_TEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "±": r"\(\pm\)", "µ": r"\(\mu\)"},
}


def _tex(text: str) -> str:
    """A text as TeX prints it letter for letter; two hyphens stay two, which would be a dash."""
    escaped = "".join(_TEX.get(sign, sign) for sign in " ".join(text.split()))
    return re.sub("-(?=-)", "-{}", escaped)


def _latex_lines(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    columns = list(zip(header, *rows, strict=True))
    yield r"\begin{table}"
    yield r"  \centering"
    if title:
        yield rf"  \caption{{{_tex(title)}}}"
    yield rf"  \begin{{tabular}}{{{''.join('r' if _is_numeric(column[1:]) else 'l' for column in columns)}}}"
    yield r"    \toprule"
    yield f"    {' & '.join(map(_tex, header))} \\\\"
    yield r"    \midrule"
    for row in rows:
        line = " & ".join(map(_tex, row))
        # After the end of a row, a bracket or star would be its argument.
        yield f"    {'{}' if line.startswith(('[', '*')) else ''}{line} \\\\"
    yield r"    \bottomrule"
    yield r"  \end{tabular}"
    yield r"\end{table}"


class Findings(Protocol):
    """What a command found: a model, a prediction, a comparison."""

    def summary(self) -> list[str]:
        """What is said first."""

    def tables(self) -> list[tuple[str, list[str], list[list[str]]]]:
        """Title (or none), header and rows of each table."""


def print_findings(findings: Findings, **files: str | None) -> None:
    """Summary and tables, and by what they are the files that were written."""
    summary, tables = findings.summary(), findings.tables()  # what is wrong is said before anything is printed
    for line in summary:
        typer.echo(_printable(line))
    for title, header, rows in tables:
        typer.echo()
        if title:
            typer.echo(_printable(title))
        print_table(header, rows)
    for label, path in files.items():
        if path is not None:
            typer.echo(f"{label}: {typer.format_filename(path)}")


def print_json(kind: str, content: Any) -> None:
    """One JSON document in the envelope that all share; NaN and infinity become null.

    Parameters
    ----------
    kind : str
        What it is: ``"ranking"``, ``"comparison"``.
    content : mapping or sequence
        A sequence becomes ``rows``. What has a schema of its own, as model files do, is printed as it is.
    """
    import msgspec

    if not isinstance(content, Mapping):
        content = {"rows": content}
    if "schema" not in content:
        content = {"schema": _SCHEMA, "kind": kind, **content}
    typer.echo(msgspec.json.format(msgspec.json.encode(content), indent=1))


class _Stderr(progress.Sink):
    """Bars by tqdm, only where a person looks and only for what takes over a second; each note once."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    @contextlib.contextmanager
    def bar(self, label: str, total: int | None) -> Iterator[Callable[[int], None]]:
        if not sys.stderr.isatty():
            yield lambda amount: None
            return
        from tqdm import tqdm

        with tqdm(total=total, desc=label, delay=1.0, leave=False, unit_scale=True, file=sys.stderr) as progress_bar:
            yield lambda amount: (progress_bar.update(amount), None)[1]

    def note(self, text: str) -> None:
        if text not in self._said:
            typer.echo(f"perf: {text}", err=True)
        self._said.add(text)


@contextlib.contextmanager
def reporting() -> Iterator[None]:
    """Show progress, and name plugins that were skipped."""
    for problem in registry().problems:
        typer.echo(f"perf: warning: {problem}", err=True)
    with progress.show_with(_Stderr()):
        yield
