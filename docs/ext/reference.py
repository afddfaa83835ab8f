"""Writes the reference pages from the code: commands, options, formats, Python names and model files."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from run_commands import run_command

import perfcore
from perfcore import contracts, testing
from perfcore.base.errors import PerfError
from perfcore.hooks.options import describe
from perfcore.hooks.registry import registry

_WITH_OPTIONS = ("fitters", "segmenters", "representations", "readers")
_MODEL_FILE = """`perf fit -o model.json` writes JSON. `schema` names the version of the format, `kind` the kind of
model, `fitter` and `options` how it was made, `source` and `fingerprint` the data, `version` the version of perfcore,
and `model` the fields below. A file with an unknown schema, an unknown field or a wrong type is refused."""
_TYPE_NAMES = {int: "integer", float: "number", str: "text", bool: "yes, no"}


def write_pages(folder: Path) -> None:
    """Write all pages into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in (
        ("commands", _commands()),
        ("options", _options()),
        ("tables", _tables()),
        ("formats", _formats()),
        ("python", _python()),
        ("model-file", _model_file()),
    ):
        text = "\n".join(lines) + "\n"
        page = folder / f"{name}.md"
        if not page.exists() or page.read_text() != text:
            page.write_text(text)


def _commands() -> Iterator[str]:
    yield from ("# Commands", "", "Each section is what `perf COMMAND --help` prints. Options of a fitter, segmenter,")
    yield from ("representation or reader are in [Options of plugins](options.md).", "")
    yield from ("Headings of tables are in the [Glossary](../../glossary.md#column-headings).", "")
    for name in registry().entries("commands"):
        yield from _help(name)


def _help(name: str) -> Iterator[str]:
    _, text = run_command(f"perf {name} --help")
    yield from (f"## perf {name}", "", "```text", text.strip(), "```", "")


def _options() -> Iterator[str]:
    yield from ("# Options of plugins", "", "These are options of the command line and keywords in Python.", "")
    for kind in _WITH_OPTIONS:
        yield from (f"## {kind.capitalize()}", "")
        for name, entry in registry().entries(kind).items():
            try:
                fields = describe(entry.load_options())
            except PerfError:  # an optional library is not installed
                continue
            yield from (f"### {kind[:-1]} {name}", "", _cell(entry.help.capitalize() + "."), "")
            if fields:
                yield from _table(("option", "values", "default", "meaning"), [_option_row(field) for field in fields])


def _option_row(field: Any) -> tuple[str, ...]:
    if field.choices:
        values = ", ".join(f"`{choice}`" for choice in field.choices)
    else:
        values = (field.metavar or _TYPE_NAMES.get(field.type, field.type.__name__)).replace("|", ", ")
    default = ",".join(map(str, field.default)) if isinstance(field.default, tuple) else field.default
    default = "" if default in (None, "") else f"`{default}`"
    return f"`{field.name}`", values, default, field.help


def _tables() -> Iterator[str]:
    yield from ("# Functions, state classes and default models", "")
    yield from ("## Functions", "", "Characteristic functions of p, and functions of time t.", "")
    functions = registry().entries("functions").items()
    yield from _table(("function", "models"), [(f"`{name}`", entry.help) for name, entry in functions])
    for kind, title in (("class_tables", "State classes"), ("default_models", "Default models")):
        yield from (f"## {title}", "")
        for name in registry().entries(kind):
            _, text = run_command(f"perf plugins {name}")
            yield from _prose("\n".join(line.rstrip()[:160] for line in text.splitlines()))


def _formats() -> Iterator[str]:
    yield from ("# Formats", "", "The format is detected from the content, also of gzip, bzip2, xz and zstd files.")
    yield from ("`perf info FILE` names it; `--reader NAME` overrides it.", "")
    rows, details = [], []
    for name, entry in registry().entries("readers").items():
        rows.append((f"`{name}`", " ".join(entry.suffixes), entry.help))
        try:
            text = inspect.getdoc(entry.load()) or ""
        except PerfError:
            continue
        first, _, rest = text.partition("\n\n")
        if rest:
            details += [f"## {name}", "", _cell(first), "", *_prose(rest)]
    yield from _table(("reader", "endings", "data"), rows)
    yield from details


def _python() -> Iterator[str]:
    yield from ("# Python", "", "`import perfcore` is fast: each name below loads what it needs on first use.", "")
    functions, classes = [], []
    for name in sorted(dir(perfcore)):
        value = getattr(perfcore, name)
        if name.startswith("_"):
            continue
        if inspect.isclass(value):
            classes.append(name)
        elif inspect.isfunction(value):
            functions.append(name)
    yield from _autodoc("Functions", [f".. autofunction:: perfcore.{name}" for name in functions])
    yield from _autodoc("Classes", [line for name in classes for line in _autoclass("perfcore", name)])
    lines = []
    for module in (contracts, testing):
        for name in sorted(getattr(module, "__all__", dir(module))):
            if inspect.isclass(getattr(module, name)) and not name.startswith("_"):
                lines += _autoclass(module.__name__, name)
    yield from _autodoc("Contracts for plugins", lines)
    yield from _autodoc("Errors", [".. automodule:: perfcore.base.errors", "   :members:", "   :no-index:"])


def _autodoc(title: str, lines: list[str]) -> Iterator[str]:
    yield from (f"## {title}", "", "```{eval-rst}", *lines, "```", "")


def _autoclass(module: str, name: str) -> list[str]:
    return [f".. autoclass:: {module}.{name}", "   :members:", ""]


def _model_file() -> Iterator[str]:
    yield from ("# Model file", "", _MODEL_FILE, "")
    kinds = {entry.load().class_of_models() for entry in registry().entries("fitters").values()}
    kinds |= {entry.load() for entry in registry().entries("models").values()}
    seen: set[type] = {perfcore.Model}
    for kind in sorted((k for k in kinds if isinstance(k, type)), key=lambda k: str(getattr(k, "kind", k.__name__))):
        yield from (f"## {getattr(kind, 'kind', kind.__name__)}", "")
        yield from _structs(kind, seen)


def _structs(kind: type, seen: set[type]) -> Iterator[str]:
    """The fields of a struct, then those of the structs in it."""
    if kind in seen or not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return
    seen.add(kind)
    fields = [field for field in msgspec.structs.fields(kind) if field.name != "origin"]
    yield from (f"`{kind.__name__}`: {_cell((inspect.getdoc(kind) or '').partition(chr(10) * 2)[0])}", "")
    yield from _table(
        ("field", "type"), [(f"`{field.encode_name}`", f"`{_type_name(field.type)}`") for field in fields]
    )
    for field in fields:
        for inner in _inner(field.type):
            yield from _structs(inner, seen)


def _inner(annotation: Any) -> Iterator[type]:
    if isinstance(annotation, type):
        yield annotation
    for argument in getattr(annotation, "__args__", ()):
        yield from _inner(argument)


def _type_name(annotation: Any) -> str:
    text = (
        annotation.__name__
        if isinstance(annotation, type) and not getattr(annotation, "__args__", ())
        else str(annotation)
    )
    return re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", text)


def _table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield "|" + "---|" * len(header)
    for row in rows:
        yield f"| {' | '.join(_cell(cell).replace('|', chr(92) + '|') for cell in row)} |"
    yield ""


def _cell(text: str) -> str:
    return " ".join(text.split())


def _prose(text: str) -> list[str]:
    """Docstring text as a literal block: it is plain text, not Markdown."""
    return ["```text", text.strip(), "```", ""]


def setup(app: Any) -> dict[str, bool]:
    """Write the pages before Sphinx looks for sources."""
    write_pages(Path(app.srcdir) / "reference" / "generated")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
