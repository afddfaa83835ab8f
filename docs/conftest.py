"""Runs every example of README.md and of these pages: ``pytest docs README.md``.

Blocks of ``python`` with prompts run as doctests. Blocks of ``console`` hold commands after ``$``, each with what it
prints: numbers may differ by a hundredth, ``...`` stands for anything, no output for "not compared". A command must
succeed, unless the page shows the error that it ends with. Each page runs in a folder of its own that has a copy of
``examples/``; ``sh`` blocks, which install things or need files that are not here, do not run.
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
from run_commands import run_command
from sybil import Example, Sybil
from sybil.parsers.myst import CodeBlockParser, PythonCodeBlockParser

_REPOSITORY = Path(__file__).parents[1]
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_ERROR = "perf: error: "
_COMPILING = "perf: compiling the kernels, once for this machine (some seconds)\n"
_PROMPT = re.compile(r"^\$ ", re.MULTILINE)
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
    """Run the commands of a console block; returns what was wrong, None where nothing was."""
    checker = doctest.OutputChecker()
    for part in _PROMPT.split(example.parsed)[1:]:
        command, _, expected = part.partition("\n")
        while command.endswith("\\"):
            more, _, expected = expected.partition("\n")
            command = command[:-1] + more.removeprefix("> ").lstrip()
        returned, printed = run_command(command)
        if _COMPILING not in expected:
            printed = printed.replace(_COMPILING, "")
        status = 2 if expected.startswith(_ERROR) else 0
        if returned != status:
            return f"$ {command}\nexit status {returned}, expected {status}\n{printed}"
        if expected.strip() and not (checker.check_output(expected, printed, _FLAGS) or agrees(expected, printed)):
            difference = checker.output_difference(doctest.Example("", expected), printed, _FLAGS)
            return f"$ {command}\n{difference}"
    return None


def agrees(expected: str, printed: str) -> bool:
    """Whether texts have the same words, and numbers that differ by a hundredth at most."""
    words = expected.split(), printed.split()
    return len(words[0]) == len(words[1]) and all(map(_alike, *words))


def _alike(word: str, other: str) -> bool:
    if word == other:
        return True
    numbers = [[float(number.replace(",", "")) for number in _NUMBER.findall(each)] for each in (word, other)]
    return _NUMBER.split(word) == _NUMBER.split(other) and all(
        math.isclose(*pair, rel_tol=_TOLERANCE) for pair in zip(*numbers, strict=True)
    )


_pages = Sybil(
    parsers=[PythonCodeBlockParser(doctest_optionflags=_FLAGS), CodeBlockParser("console", run_console)],
    path=str(_REPOSITORY),
    patterns=["README.md", "docs/*.md", "docs/**/*.md"],
    setup=enter,
    teardown=leave,
)


class _Pages:
    """Collects the pages."""

    pytest_collect_file = staticmethod(_pages.pytest())


def pytest_configure(config: pytest.Config) -> None:
    """Collect everywhere: what a conftest file itself collects lies below its folder, and README.md does not."""
    config.pluginmanager.register(_Pages(), "perfcore-pages")
