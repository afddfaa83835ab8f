"""Writes what type checkers see of `perfcore`: its own names, and the public functions of bundled plugins.

At run time these functions are found through the registry, which no type checker follows, and the core names no
plugin. So the types stand in a partial stub package (PEP 561) next to the plugins: it has `perfcore` itself, and all
modules below keep their own annotations.

    python plugins/stubs/write_stubs.py
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

import perfcore
from perfcore.hooks.options import OptionField, describe
from perfcore.hooks.registry import Entry, registry
from perfcore.hooks.specs import GROUP

HEAD = (
    '"""Written by plugins/stubs/write_stubs.py."""',
    "",
    "from concurrent.futures import Executor",
    "from typing import Any, Literal, overload",
    "",
)
STUB = Path(__file__).parent / "perfcore-stubs" / "__init__.pyi"


def stub_text() -> str:
    """Return the stub: imports of every name of `perfcore`, sorted by module, and `fit` and `rank` for each fitter."""
    tree = ast.parse(Path(str(perfcore.__file__)).read_text(encoding="utf-8"))
    guarded = [node for node in tree.body if isinstance(node, ast.If)]
    origins = {
        alias.name: str(node.module)
        for block in guarded
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name in perfcore.__all__
    }
    for entry in (each for kind in ("commands", "models") for each in registry().entries(kind).values()):
        for name, target in entry.functions.items() if entry.distribution == GROUP else ():
            origins.setdefault(name, target.partition(":")[0])
    fitters = {n: e for n, e in registry().entries("fitters").items() if e.distribution == GROUP}
    models = {name: entry.load().class_of_models() for name, entry in fitters.items()}
    origins |= {model.__name__: model.__module__ for model in models.values()}
    origins["Ranking"] = "perfcore.models.ranking"
    del origins["fit"], origins["rank"]
    lines = [f"from {module} import {name} as {name}" for module, name in sorted((m, n) for n, m in origins.items())]
    lines += ["", "__version__: str", ""]
    for name, entry in fitters.items():
        lines += overload("fit", f'fitter: Literal["{name}"]', parameters(entry), models[name].__name__)
    lines += overload("fit", "fitter: str | None = None", ["**options: Any"], "Model")
    for name in (name for name, entry in fitters.items() if entry.ranks_for):
        lines += overload("rank", f'fitter: Literal["{name}"]', parameters(fitters[name]), "Ranking")
    lines += overload("rank", "fitter: str | None = None", ["**options: Any"], "Ranking")
    return "\n".join([*HEAD, *lines, ""])


def parameters(entry: Entry) -> list[str]:
    """Return the options of a fitter, and of what it selects, as keyword parameters."""
    fields = {field.name: field for field in describe(entry.load_options())}
    for field in [*fields.values()]:
        for part in registry().entries(field.selects).values() if field.selects else ():
            fields |= {own.name: own for own in describe(part.load_options()) if own.name not in fields}
    return [f"{field.name}: {type_of(field)} = ..." for field in fields.values()]


def type_of(field: OptionField) -> str:
    """Return the annotation of an option; what is parsed comes in several forms."""
    if field.parse is not None or field.many or (field.type is str and field.choices is None):
        return "Any"
    if field.choices is not None and not field.selects:
        return f"Literal[{', '.join(map(repr, field.choices))}] | None".replace("'", '"')
    return f"{field.type.__name__} | None"


def overload(name: str, fitter: str, options: Sequence[str], result: str) -> list[str]:
    """Return the lines of one overload."""
    first = "executor: Executor | None = None"
    given = "".join(f"    {parameter},\n" for parameter in ("data: Any", "*", fitter, first, *options))
    return ["@overload", f"def {name}(\n{given}) -> {result}: ..."]


if __name__ == "__main__":
    STUB.write_text(stub_text(), encoding="utf-8")
