"""Where runs were made: host, processor, versions, and the commit of the working folder."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

import perfcore
from perf_experiments.design.constraints import available_cores


def environment(program: str) -> dict[str, Any]:
    """Facts about this machine and this moment, as JSON-ready values; what cannot be found out is None."""
    commit = _git("rev-parse", "HEAD")
    return {
        "host": platform.node(),
        "processor": _processor(),
        "cores": available_cores(),
        "memory_mib": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20,
        "system": platform.platform(),
        "python": platform.python_version(),
        "perfcore": perfcore.__version__,
        "folder": str(Path.cwd()),
        "git_commit": commit,
        "git_changed": None if commit is None else bool(_git("status", "--porcelain", "--untracked-files=no")),
        **program_fingerprint(program),
    }


def program_fingerprint(program: str) -> dict[str, str | None]:
    """The file that a command starts, and its SHA-256."""
    executable = shutil.which(program)
    if executable is None:
        return {"program": None, "program_sha256": None}
    path = Path(executable).resolve()
    try:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:  # one may run what one may not read
        return {"program": str(path), "program_sha256": None}
    return {"program": str(path), "program_sha256": digest}


def _processor() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "cpu model")))
    return next(named, platform.processor() or platform.machine() or None)


def _git(*words: str) -> str | None:
    try:
        completed = subprocess.run(  # noqa: S603 (fixed words)
            ["git", *words],  # noqa: S607 (whichever git the user has)
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return completed.stdout.strip()
