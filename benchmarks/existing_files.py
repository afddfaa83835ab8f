"""Commands that write, where a file is already: nothing that perf did not write may change, nor any input.

    python benchmarks/existing_files.py

Every command is run on every kind of existing file, named in several ways, within one process. Prints the situations,
those that ended as they should, and each loss; ends with status 1 if there is one.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from unittest import mock

from perfcore.__main__ import main

ROOT = Path(__file__).parents[1]
COMMANDS = (  # how each names what it writes, with the ending that it likes
    ("fit runs.csv -o {out}", ".json"),
    ("fit runs.csv --plot {out}", ".png"),
    ("convert halo.prv -o {out}", ".csv"),
    ("whatif halo.prv --network 2x -o {out}", ".prv"),
    ("whatif halo.prv --network 2x --plot {out}", ".svg"),
    ("overheads halo.prv -o {out}", ".csv"),
    ("profile halo.prv -o {out}", ".csv"),
    ("explore halo.prv -o {out}", ".html"),
    ("summarize halo.prv -o {out}", ".parquet"),
    ("stochastic summarize load.csv --column load -o {out}", ".json"),
    ("gate runs.csv other.csv --junit {out}", ".xml"),
    ("predict model.json --at p=64 --plot {out}", ".png"),
    ("validate model.json other.csv --plot {out}", ".pdf"),
    ("messages halo.prv --plot {out}", ".png"),
)


def text_file(path: Path) -> None:
    """Write somebody's notes."""
    path.write_text("def mine():\n    return 1\n")


def edited_output(path: Path) -> None:
    """Write a result of perf that somebody edited."""
    shutil.copyfile("model.json", path)
    path.write_text(path.read_text().replace('"fitter"', '"fitter" ', 1) + "\n# note\n")


def other_json(path: Path) -> None:
    """Write JSON of another program."""
    path.write_text('{"answer": 42}\n')


def database(path: Path) -> None:
    """Write a database of another program."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("create table mine (a)")
        connection.commit()


def read_only(path: Path) -> None:
    """Write a result of perf that may not be written."""
    shutil.copyfile("model.json", path)
    path.chmod(0o400)


def hard_link(path: Path) -> None:
    """Give an input a second name."""
    os.link("runs.csv", path)


def symbolic_link(path: Path) -> None:
    """Point at an input."""
    path.symlink_to("halo.prv")


def empty(path: Path) -> None:
    """Make a file without content, of somebody."""
    path.write_text(" ")


def folder(path: Path) -> None:
    """Make a folder of that name."""
    path.mkdir()


KINDS: tuple[Callable[[Path], None], ...] = (
    text_file, edited_output, other_json, database, read_only, hard_link, symbolic_link, empty, folder,
)  # fmt: skip
NAMES = ("{name}", "./{name}", "{here}/{name}", "sub/../{name}")
INPUTS = ("runs.csv", "other.csv", "load.csv", "halo.prv", "halo.pcf", "model.json")


def content(path: Path) -> object:
    """Return what must not change: bytes and mode, or the members of a folder."""
    if path.is_dir():
        return sorted(path.iterdir())
    return path.read_bytes(), path.stat().st_mode, path.is_symlink()


def run(arguments: list[str]) -> int:
    """Return the exit status of the program in this process."""
    with (
        mock.patch.object(sys, "argv", ["perf", *arguments]),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        try:
            main()
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


def main_() -> int:
    """Try every situation."""
    situations, lost, other_status = 0, [], []
    with tempfile.TemporaryDirectory() as temporary, contextlib.chdir(temporary):
        for name in ("halo.prv", "halo.pcf"):
            shutil.copyfile(ROOT / "examples" / "halo" / name, name)
        Path("sub").mkdir()
        rows = [(1, 10.2), (2, 5.3), (4, 2.9), (8, 1.68), (16, 1.12), (32, 0.86)]
        for name, factor in (("runs.csv", 1.0), ("other.csv", 1.02)):
            Path(name).write_text("p,time_s\n" + "".join(f"{p},{t * factor:.4f}\n" for p, t in rows))
        Path("load.csv").write_text("load\n" + "".join(f"{0.3 + 0.01 * (k * 7 % 13)}\n" for k in range(60)))
        assert run(["fit", "runs.csv", "-o", "model.json"]) == 0
        inputs = {name: content(Path(name)) for name in INPUTS}
        for command, ending in COMMANDS:
            for number, kind in enumerate(KINDS):
                out = Path(f"out{ending}")
                kind(out)
                before = content(out)
                named = NAMES[(situations + number) % len(NAMES)].format(name=out.name, here=temporary)
                status = run(command.format(out=named).split())
                situations += 1
                title = f"{command.format(out=named)} over {kind.__name__}"
                if content(out) != before or any(content(Path(n)) != was for n, was in inputs.items()):
                    lost.append(title)
                if status != 2:
                    other_status.append(f"{title}: status {status}")
                shutil.rmtree(out) if out.is_dir() else out.unlink()
            for name in INPUTS:  # an input as the output
                situations += 1
                status = run(command.format(out=name).split())
                if any(content(Path(n)) != was for n, was in inputs.items()):
                    lost.append(f"{command.format(out=name)}: an input")
                    inputs = {n: content(Path(n)) for n in INPUTS}
    print(f"{situations} situations, {len(lost)} losses, {len(other_status)} without a refusal")
    print("\n".join([*lost, *other_status]))
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main_())
