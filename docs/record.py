"""Write what the commands of README.md and of these pages print into the pages: ``python docs/record.py [PAGE...]``.

Blocks of ``console`` whose output still agrees (as in ``pytest docs``) stay as they are, with their ``...``. Pictures
are copied to ``docs/images/`` where a page shows them and they are not there yet, or with ``--pictures``.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from conftest import _COMPILING, _FLAGS, _REPOSITORY, agrees, enter, leave
from run_commands import run_command, split_commands

_BLOCK = re.compile(
    r"^```(?:console|python)\n(.*?)^```\n(?:\n!\[[^]]*\]\((?:\.\./)*(images/[\w-]+\.png)\))?", re.M | re.S
)
_MOST_LINES = 45


def main(arguments: list[str]) -> None:
    """Record the pages that are named, or all."""
    named = [Path(name).resolve() for name in arguments if not name.startswith("-")]
    every = [_REPOSITORY / "README.md", *sorted((_REPOSITORY / "docs").rglob("*.md"))]
    for page in named or [page for page in every if not {"generated", "_build"} & set(page.parts)]:
        text = page.read_text(encoding="utf-8")
        new = record(text, "--pictures" in arguments)
        if new != text:
            page.write_text(new, encoding="utf-8")
            sys.stdout.write(f"{page.relative_to(_REPOSITORY)}\n")


def record(text: str, pictures: bool) -> str:
    """Return a page with what its commands print now."""
    namespace: dict[str, Any] = {}
    enter(namespace)
    try:
        return _BLOCK.sub(lambda found: _recorded(found, pictures, namespace), text)
    finally:
        leave(namespace)


def _recorded(found: re.Match[str], pictures: bool, namespace: dict[str, Any]) -> str:
    block, text = found.group(0), found.group(1)
    if block.startswith("```python"):  # may write files that later commands read
        test = doctest.DocTestParser().get_doctest(text, namespace, "page", None, 0)
        doctest.DocTestRunner(optionflags=_FLAGS).run(test, out=lambda _: None, clear_globs=False)
        namespace.update(test.globs)
        return block
    typed = re.split(r"^\$ ", text, flags=re.M)[1:]  # with its continued lines
    new = "".join(_with_output(part, *pair) for part, pair in zip(typed, split_commands(text), strict=True))
    picture = found.group(2)
    if picture and (pictures or not (_REPOSITORY / "docs" / picture).exists()):
        made = re.findall(r"\S+\.png", text)
        shutil.copyfile(made[-1], _REPOSITORY / "docs" / picture)
    return block.replace(text, new, 1)


def _with_output(typed: str, command: str, expected: str) -> str:
    _, printed = run_command(command)
    printed = _COMPILING.sub("", printed)
    if expected.strip() and (
        doctest.OutputChecker().check_output(expected, printed, _FLAGS) or agrees(expected, printed)
    ):
        return f"$ {typed}"
    lines = [line.rstrip() for line in printed.rstrip().splitlines()]
    shown = lines if len(lines) <= _MOST_LINES else [*lines[:_MOST_LINES], "..."]
    return "\n".join([f"$ {typed.removesuffix(expected).rstrip()}", *shown, ""])


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    main(sys.argv[1:])
