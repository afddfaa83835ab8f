"""Runs every example of README.md and of these pages: ``pytest docs README.md``.

Blocks of ``python`` with prompts run as doctests. Blocks of ``console`` hold commands after ``$``, each with what it
prints; ``...`` stands for anything, no output for "not compared". A command must succeed, unless the page shows the
error that it ends with. Each page runs in a folder of its own that has a copy of ``examples/``; ``sh`` blocks, which
install things or need files that are not here, do not run.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

import pytest
from sybil import Example, Sybil
from sybil.parsers.myst import CodeBlockParser, PythonCodeBlockParser

_REPOSITORY = Path(__file__).parents[1]
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_ERROR = "perf: error: "
_LIMIT_S = 120
_PROMPT = re.compile(r"^\$ ", re.MULTILINE)


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
    environment = {**os.environ, "COLUMNS": "100"}
    environment["PATH"] = os.pathsep.join([sysconfig.get_path("scripts"), environment["PATH"]])
    checker = doctest.OutputChecker()
    for part in _PROMPT.split(example.parsed)[1:]:
        command, _, expected = part.partition("\n")
        while command.endswith("\\"):
            more, _, expected = expected.partition("\n")
            command = command[:-1] + more.removeprefix("> ").lstrip()
        done = subprocess.run(  # noqa: S603 (the commands are these pages' own)
            ["/bin/bash", "-o", "pipefail", "-c", command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_LIMIT_S,
            check=False,
            env=environment,
        )
        status = 2 if expected.startswith(_ERROR) else 0
        if done.returncode != status:
            return f"$ {command}\nexit status {done.returncode}, expected {status}\n{done.stdout}"
        if expected.strip() and not checker.check_output(expected, done.stdout, _FLAGS):
            difference = checker.output_difference(doctest.Example("", expected), done.stdout, _FLAGS)
            return f"$ {command}\n{difference}"
    return None


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
