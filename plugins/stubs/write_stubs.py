"""Writes what type checkers see of `perfcore`: its own names, and the public functions of bundled plugins.

At run time these functions are found through the registry, which no type checker follows, and the core names no
plugin. So the types stand in a partial stub package (PEP 561) next to the plugins: it has `perfcore` itself, and all
modules below keep their own annotations.

    python plugins/stubs/write_stubs.py
"""

from __future__ import annotations

import ast
from pathlib import Path

import perfcore
from perfcore.hooks.registry import registry
from perfcore.hooks.specs import GROUP

STUB = Path(__file__).parent / "perfcore-stubs" / "__init__.pyi"


def stub_text() -> str:
    """The stub: imports of every name that `perfcore` gives, sorted by module."""
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
    lines = [f"from {module} import {name} as {name}" for module, name in sorted((m, n) for n, m in origins.items())]
    return "\n".join(['"""Written by plugins/stubs/write_stubs.py."""', "", *lines, "", "__version__: str", ""])


if __name__ == "__main__":
    STUB.write_text(stub_text(), encoding="utf-8")
