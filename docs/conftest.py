"""Run every example of README.md and of these pages: ``pytest docs README.md``.

Blocks of ``python`` with prompts run as doctests. Blocks of ``console`` hold commands after ``$``,
each with an exit status of 0, or 2 where the block shows the error message. Output below a command in a ``console``
block is compared: numbers may differ by 1%, ``...`` stands for anything. Each page runs in a separate folder with a
copy of ``examples/``. Blocks of ``sh`` do not run: they install things or need files that are not here.
"""

from __future__ import annotations

import doctest
import math
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from run_commands import run_command, split_commands
from sybil import Example, Sybil
from sybil.parsers.myst import CodeBlockParser, PythonCodeBlockParser

_REPOSITORY = Path(__file__).parents[1]
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_ERROR = "perf: error: "
_COMPILING = re.compile(r"^perf: compiling.*\n", re.MULTILINE)
_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?")
_TOLERANCE = 0.01


def enter(namespace: dict[str, Any]) -> None:
    """Give the page a folder with the examples, and go there."""
    folder = tempfile.TemporaryDirectory(prefix="perfcore-docs-")
    ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(_REPOSITORY / "examples", Path(folder.name) / "examples", ignore=ignore)
    namespace["_folder"], namespace["_before"] = folder, Path.cwd()
    os.chdir(folder.name)


def leave(namespace: dict[str, Any]) -> None:
    """Go back and remove the folder."""
    os.chdir(namespace["_before"])
    namespace["_folder"].cleanup()


def run_console(example: Example) -> str | None:
    """Run the commands of a block; return the first problem."""
    checker = doctest.OutputChecker()
    for command, expected in split_commands(example.parsed):
        status, printed = run_command(command)
        printed = _COMPILING.sub("", printed)
        if status != (2 if expected.startswith(_ERROR) else 0):
            return f"$ {command}\nexit status {status}\n{printed}"
        if expected.strip() and not (checker.check_output(expected, printed, _FLAGS) or agrees(expected, printed)):
            return f"$ {command}\n" + checker.output_difference(doctest.Example("", expected), printed, _FLAGS)
    return None


def agrees(expected: str, printed: str) -> bool:
    """Whether texts have the same words, and numbers that differ by 1% at most."""
    words = expected.split(), printed.split()
    return len(words[0]) == len(words[1]) and all(map(_alike, *words))


def _alike(word: str, other: str) -> bool:
    if word == other:
        return True
    numbers = [[float(number.replace(",", "")) for number in _NUMBER.findall(text)] for text in (word, other)]
    return _NUMBER.split(word) == _NUMBER.split(other) and all(
        math.isclose(*pair, rel_tol=_TOLERANCE) for pair in zip(*numbers, strict=True)
    )


_pages = Sybil(
    parsers=[PythonCodeBlockParser(doctest_optionflags=_FLAGS), CodeBlockParser("console", run_console)],
    path=str(_REPOSITORY),
    patterns=["README.md", "docs/*.md", "docs/**/*.md"],
    excludes=["docs/reference/generated/*"],
    setup=enter,
    teardown=leave,
)


class _Pages:
    """Collects the pages."""

    pytest_collect_file = staticmethod(_pages.pytest())


def pytest_configure(config: pytest.Config) -> None:
    """Collect everywhere: what a conftest file itself collects lies below its folder, and README.md does not."""
    config.pluginmanager.register(_Pages(), "perfcore-pages")
