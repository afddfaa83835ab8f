"""Command lines of `perf` in a process of their own: how each ended, what it printed, what is imported by then."""

import contextlib
import io
import json
import os
import subprocess
import sys
from typing import NamedTuple


class Ended(NamedTuple):
    """How a command line ended."""

    status: int
    out: str  # of both streams
    modules: list[str]


def run_lines(lines, folder=None, **environment) -> list[Ended]:
    """Run lists of words, one after the other."""
    done = subprocess.run(
        [sys.executable, __file__, json.dumps(lines)], cwd=folder, capture_output=True, text=True, check=False,
        env=os.environ | environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return [Ended(*each) for each in json.loads(done.stdout)]


def _run(words) -> Ended:
    from perfcore.__main__ import main

    sys.argv, status = ["perf", *words], 0
    out = io.TextIOWrapper(io.BytesIO(), write_through=True)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            main()
        except SystemExit as ended:
            status = ended.code or 0
    return Ended(status, out.buffer.getvalue().decode(), sorted(sys.modules))


if __name__ == "__main__":
    print(json.dumps([_run(words) for words in json.loads(sys.argv[1])]))
