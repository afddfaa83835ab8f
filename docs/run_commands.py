"""Commands of these pages, run as a reader runs them: each in a shell, or in this process where that gives the same."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import sysconfig
from unittest import mock

from perfcore.__main__ import main

__all__ = ["run_command", "split_commands"]

_LIMIT_S = 120
_COLUMNS = "100"
# What needs no shell, and starts neither programs nor a server.
_PLAIN = re.compile(r"perf (?!experiment\b|explore\b|gate\b)[^|&;<>$`*?~#()\[\]{}\n]+")
_PROMPT = re.compile(r"^\$ ", re.MULTILINE)


def split_commands(text: str) -> list[tuple[str, str]]:
    """Return the commands after ``$``, continued lines joined, each with the text below it."""
    found = []
    for part in _PROMPT.split(text)[1:]:
        command, _, printed = part.partition("\n")
        while command.endswith("\\"):
            more, _, printed = printed.partition("\n")
            command = command[:-1] + more.removeprefix("> ").lstrip()
        found.append((command, printed))
    return found


def run_command(command: str) -> tuple[int, str]:
    """Exit status of a command in the folder where we are, and what it prints."""
    return _run_here(command) if _PLAIN.fullmatch(command) else _run_in_shell(command)


def _run_in_shell(command: str) -> tuple[int, str]:
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    done = subprocess.run(  # noqa: S603 (the commands are these pages' own)
        ["/bin/bash", "-o", "pipefail", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_LIMIT_S,
        check=False,
        env={**os.environ, "COLUMNS": _COLUMNS, "PATH": path},
    )
    return done.returncode, done.stdout


def _run_here(command: str) -> tuple[int, str]:
    """Without the second that a new process would take."""
    content = io.BytesIO()
    printed = io.TextIOWrapper(content, encoding="utf-8", write_through=True)
    status = 0
    with (
        mock.patch.dict(os.environ, {"COLUMNS": _COLUMNS}),
        mock.patch.object(sys, "argv", shlex.split(command)),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
    ):
        try:
            main()
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return status, content.getvalue().decode()
