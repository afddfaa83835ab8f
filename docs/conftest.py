"""Runs every example of README.md and of these pages: ``pytest docs README.md``.

Blocks of ``python`` with prompts run as doctests. Blocks of ``console`` hold commands after ``$``, each with what it
prints: numbers may differ by a hundredth, ``...`` stands for anything, no output for "not compared". A command must
succeed, unless the page shows the error that it ends with. Each page runs in a folder of its own that has a copy of
``examples/``; ``sh`` blocks, which install things or need files that are not here, do not run.

What the commands print in full is kept in ``tests/golden/console``, where ``...`` stands for what differs from run to
run. It is compared where the variable ``PERFCORE_GOLDEN`` is set, on an idle machine: some figures are of its speed and
load. With ``PERFCORE_RECORD`` it is recorded instead: run twice, the second run marks what differs.
"""

from __future__ import annotations

import difflib
import doctest
import hashlib
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
_GOLDEN = _REPOSITORY / "tests" / "golden" / "console"
_RECORDING = "PERFCORE_RECORD" in os.environ
_COMPARING = _RECORDING or "PERFCORE_GOLDEN" in os.environ


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
        if _COMPARING and (different := compare_golden(Path(example.path), command, printed)) is not None:
            return different
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


def compare_golden(page: Path, command: str, printed: str) -> str | None:
    """What differs from the recorded output of the same command on the same page; None where nothing does."""
    digest = hashlib.sha256(command.encode()).hexdigest()[:10]
    page_name = str(page.relative_to(_REPOSITORY)).removesuffix(".md").replace("/", "-")
    file = _GOLDEN / page_name / f"{digest}.txt"
    title = f"$ {command}\n"
    if not file.exists():
        if _RECORDING:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(title + printed)
        return None
    recorded = file.read_text().removeprefix(title)
    if _RECORDING:
        file.write_text(title + _what_stays(recorded, printed))
        return None
    pattern = ".*".join(re.escape(" ".join(part.split())) for part in f" {recorded} ".split("..."))
    if re.fullmatch(rf"\s*{pattern}\s*", " ".join(printed.split()), re.DOTALL):
        return None
    lines = difflib.unified_diff(recorded.splitlines(), printed.splitlines(), str(file), "printed", lineterm="")
    return f"{title}differs from what was recorded\n" + "\n".join(lines)


def _what_stays(recorded: str, printed: str) -> str:
    """Lines of both; ``...`` where they differ."""
    before, after = recorded.splitlines(), printed.splitlines()
    kept: list[str] = []
    for kind, first, last, *_ in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            kept += before[first:last]
        elif kept[-1:] != ["..."]:
            kept.append("...")
    return "".join(f"{line}\n" for line in kept)


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
