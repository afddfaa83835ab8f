"""Disks that fill up or fail, memory that runs out, and kill -9: what is left of stores, models and files then.

python benchmarks/faults.py                      # each call that changes a file fails, fills the disk, is the last
python benchmarks/faults.py --memory 200         # as many allocations of each command fail, small and large ones
python benchmarks/faults.py --kills 1000         # kill -9 at random moments, so many in all
python benchmarks/faults.py --most 3 fit run     # of these commands alone, three calls of each

`faults.c` stands between the program and the C library, so that SQLite, Arrow and DuckDB are reached too; it needs `cc`
and Linux. Every trial begins with the same folder. What must hold afterwards: files are the old or the new ones, whole;
a store has all runs that it had; nothing temporary is left unless the program was killed; a problem is one line and
status 2; and the same command then does what it does without a fault.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import ctypes
import importlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from perfcore.base.errors import PerfError

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "explore")]
ONCE, FULL, KILL, MEMORY = range(1, 5)
KINDS = {"fails": ONCE, "is full": FULL, "kill -9": KILL}
HANG_S = 60
_HANGS = -999
_DATE = re.compile(rb"\d{4}-\d\d-\d\d[T ][0-9:.+]+")  # when a line of a history was added
_NEVER = 1 << 60
_LARGE_BYTES = 1 << 16
_TABLE = "p,time_s\n1,8\n2,4.5\n4,2.5\n8,1.75\n"
_DESIGN = "experiment design -f p=1,2,4 --replications 2 -o design.toml"
_FEWER = "experiment design -f p=1,2 --replications 1 -o fewer.toml"
_RUN = "experiment run design.toml --max-load 1 -v t=([0-9]+) -- echo {p}"


class Plan(ctypes.Structure):
    """What `faults.c` is to do, in memory that forked processes share."""

    _fields_ = [(name, ctypes.c_long) for name in ("at", "least", "calls")] + [
        *((name, ctypes.c_int) for name in ("mode", "process", "fired")),
        ("where", ctypes.c_char * 20),
    ]


class Scenario(NamedTuple):
    """A command and what it writes.

    Parameters
    ----------
    words : str
        The command.
    before : tuple of str
        Commands that make the folder ready.
    changes : tuple of str
        Files that may be the old or the new ones, all alike.
    """

    words: str
    before: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()


_SUMMARY, _HISTORY = "summarize halo.prv -o run.summary --overwrite", "gate record history.jsonl runs.csv --commit"
SCENARIOS = {
    "fit": Scenario("fit runs.csv -o model.json", ("fit step.csv --phases 2 -o model.json",), ("model.json",)),
    "plot": Scenario("plot step.csv -o picture.svg", changes=("picture.svg",)),
    "report": Scenario("explore step.csv -o report.html", changes=("report.html",)),
    "parquet": Scenario("convert runs.csv -o t.parquet", ("convert step.csv -o t.parquet",), ("t.parquet",)),
    "json": Scenario("convert runs.csv -o t.jsonl", changes=("t.jsonl",)),
    "summary": Scenario(_SUMMARY, (f"{_SUMMARY} --cells 64",), ("run.summary",)),
    "part": Scenario(
        "summarize halo.prv second.prv -r clocks=unaligned --part 1/2 -o one.summary", changes=("one.summary",)
    ),
    "overheads": Scenario("overheads halo.prv -o table.csv", changes=("table.csv",)),
    "design": Scenario(_DESIGN, changes=("design.toml",)),
    "history": Scenario(f"{_HISTORY} b", (f"{_HISTORY} a",), ("history.jsonl",)),
    "run": Scenario(_RUN, (_DESIGN,)),
    "more runs": Scenario(_RUN, (_FEWER, _RUN.replace("design.toml", "fewer.toml --store design.db"), _DESIGN)),
}


class Trials:
    """Runs of one scenario from the same folder.

    Parameters
    ----------
    name : str
    room : Path
        A folder of its own.
    plan : Plan
    """

    def __init__(self, name: str, room: Path, plan: Plan) -> None:
        self.name, self.scenario, self.plan = name, SCENARIOS[name], plan
        self.start, self.folder, self.temporary = room / "start", room / "work", room / "temporary"
        self.said = room / "said.txt"
        self.tried, self.crashes, self.findings = 0, 0, list[str]()
        self.temporary.mkdir(parents=True)
        _fill(self.folder)
        for words in self.scenario.before:
            self._must(words)
        self.folder.rename(self.start)
        self.old, self.old_runs = self._held(self.start), _runs(self.start)
        self._fresh()
        self._must(self.scenario.words, listing=True)
        for module in json.loads((room / "modules.json").read_text()):  # so that no trial imports them anew
            with contextlib.suppress(ImportError):
                importlib.import_module(module)
        self._fresh()
        began = time.monotonic()
        self._must(self.scenario.words, ONCE, _NEVER)
        self.seconds, self.calls = time.monotonic() - began, plan.calls
        self.new, self.new_runs = self._held(self.folder), _runs(self.folder)

    def _must(self, words: str, mode: int = 0, at: int = 0, listing: bool = False) -> None:
        if status := self._perform(words, mode, at, listing=listing):
            raise SystemExit(f"{self.name}: {words}: status {status}: {self._last_words()}")

    def _held(self, folder: Path) -> dict[str, bytes]:
        files = [folder / name for name in self.scenario.changes]
        return {file.name: _content(file) for file in files if file.exists()}

    def _fresh(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.start, self.folder)
        shutil.rmtree(self.temporary)
        self.temporary.mkdir()

    def count_allocations(self, least: int) -> int:
        """How many allocations of so many bytes there are."""
        self._fresh()
        self._perform(self.scenario.words, MEMORY, _NEVER, least=least)
        return int(self.plan.calls)

    def _perform(
        self, words: str, mode: int = 0, at: int = 0, least: int = 0, kill_after_s: float = 0.0, listing: bool = False
    ) -> int:
        """The exit status of the words in a process of its own, or minus the signal that ended it."""
        plan = self.plan
        plan.mode, plan.at, plan.calls, plan.fired, plan.least, plan.where = mode, at, 0, 0, least, b""
        child = os.fork()
        if not child:
            self._child(words, listing)
        began = time.monotonic()
        limit = kill_after_s or HANG_S
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() - began > limit:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return -signal.SIGKILL if kill_after_s else _HANGS
            time.sleep(0.002)

    def _child(self, words: str, listing: bool) -> None:
        os.chdir(self.folder)
        os.environ |= {"TMPDIR": str(self.temporary), "HOME": str(self.temporary.parent)}
        tempfile.tempdir = None
        said = os.open(self.said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for stream in (1, 2):
            os.dup2(said, stream)
        os.close(said)
        sys.argv = ["perf", *words.split(" ")]
        self.plan.process = os.getpid()
        try:
            status = _program()
        except BaseException:
            self.plan.at = 0
            traceback.print_exc()
            status = 1
        atexit._run_exitfuncs()
        self.plan.at = 0
        if listing:
            (self.start.parent / "modules.json").write_text(json.dumps([*sys.modules]))
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)

    def trial(self, what: str, mode: int, at: int, least: int = 0, kill_after_s: float = 0.0) -> None:
        """One run with a fault, and what must hold afterwards."""
        self._fresh()
        status = self._perform(self.scenario.words, mode, at, least=least, kill_after_s=kill_after_s)
        if not self.plan.fired and not kill_after_s:
            return
        self.tried += 1
        where, said = self.plan.where.decode(), self.said.read_text(errors="replace")
        last = self._last_words()
        for problem in (*self._of_status(status, said), *self._of_files(status, where), *self._of_next()):
            place = f"{what} at {where or kill_after_s} (call {at})"
            self.findings.append(f"{self.name}: {place}, status {status}: {problem}: {last}")

    def _last_words(self) -> str:
        """The last line that was said; of a traceback also where in the project it was."""
        lines = [line.strip() for line in self.said.read_text(errors="replace").splitlines()] or [""]
        places = [line for line in lines if line.startswith("File") and f"{ROOT}/p" in line]
        return " ".join((*places[-1:], lines[-1]))[:400]

    def _of_status(self, status: int, said: str) -> Iterator[str]:
        if status == _HANGS:
            yield "hangs"
        elif "Traceback" in said.partition("Exception ignored in")[0]:  # which a library says as its objects go
            yield "a traceback"
        elif status in (-signal.SIGABRT, -signal.SIGSEGV) and self.plan.mode == MEMORY:
            self.crashes += 1  # of libraries in C++; files hold all the same
        elif status not in (0, 2, -signal.SIGKILL):
            yield "another status"
        elif status == 2 and said.count("perf: error: ") != 1:
            yield "not one line"

    def _of_files(self, status: int, where: str) -> Iterator[str]:
        now = self._held(self.folder)
        if now not in (self.old, self.new):
            yield "files are neither the old nor the new ones"
        elif status == 0 and now != self.new:
            yield "says that all went well, and it did not"
        if status >= 0 and not where.startswith(("unlink", "rmdir")):
            left = [path.name for path in (*self.folder.rglob(".tmp-*"), *self.temporary.rglob("*"))]
            if left:
                yield f"leaves {left}"

    def _of_next(self) -> Iterator[str]:
        """The same again without a fault."""
        try:
            before = _runs(self.folder)
        except PerfError as error:
            yield f"the store cannot be read: {error}"
            return
        if not set(self.old_runs) <= set(before):
            yield "runs are lost"
        if self._held(self.folder) == self.new and self.scenario.changes:
            return
        if (status := self._perform(self.scenario.words)) != 0:
            yield f"cannot be done again: {status}: {self._last_words()}"
        elif self._held(self.folder) != self.new:
            yield "done again, it is another file"
        elif [run[:2] for run in _runs(self.folder)] != [run[:2] for run in self.new_runs]:
            yield f"runs are not all there, each once: {_runs(self.folder)}"
        elif not set(before) <= set(_runs(self.folder)):
            yield "runs are lost when others are added"


def _content(file: Path) -> bytes:
    """What a file holds, but for dates and, of an archive, the number that OTF2 draws for each trace."""
    if file.suffix == ".tar":
        with tarfile.open(file) as archive:
            return repr([(member.name, member.size) for member in archive]).encode()
    return _DATE.sub(b"", file.read_bytes())


def _fill(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "runs.csv").write_text(_TABLE)
    shutil.copy(ROOT / "examples/step.csv", folder)
    for ending in ("prv", "pcf"):
        for name in ("halo", "second"):
            shutil.copy(ROOT / f"examples/halo/halo.{ending}", folder / f"{name}.{ending}")
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text("old")


def _runs(folder: Path) -> list[tuple[str, int, str]]:
    """Point, replication and start of every run of the store."""
    from perf_experiments.store import Store

    file = folder / "design.db"
    if not file.exists() or not file.stat().st_size:
        return []
    try:
        with Store.read(file) as store:
            return sorted((str(run.point), run.replication, run.started) for run in store.runs())
    except PerfError as error:
        if "holds nothing yet" in str(error):
            return []
        raise


def _program() -> int:
    from perfcore.__main__ import main

    try:
        main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0
    return 0


def _tried(trials: Trials, options: argparse.Namespace, generator: random.Random) -> None:
    """All trials of one scenario that were asked for."""
    if options.kills:
        for _ in range(options.kills // len(options.names or SCENARIOS)):
            trials.trial("kill -9", 0, 0, kill_after_s=generator.uniform(1e-3, 1.05 * trials.seconds))
    elif options.memory:
        for least in (1, _LARGE_BYTES):
            count = trials.count_allocations(least)
            for at in sorted(generator.sample(range(1, count + 1), min(options.memory, count))):
                trials.trial(f"no memory for {least} bytes", MEMORY, at, least)
    else:
        for at in sorted(generator.sample(range(1, trials.calls + 1), min(options.most, trials.calls))):
            for what, mode in KINDS.items():
                trials.trial(what, mode, at)


def _preloaded() -> None:
    """Start again with `faults.c` before the C library."""
    with tempfile.TemporaryDirectory(prefix="perf-faults-") as folder:
        library = Path(folder) / "faults.so"
        given = ["-shared", "-fPIC", "-O1", "-o", str(library), str(Path(__file__).with_suffix(".c")), "-ldl"]
        subprocess.run(["cc", *given], check=True)
        added = {"LD_PRELOAD": str(library), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "100"}
        raise SystemExit(subprocess.run([sys.executable, *sys.argv], env=os.environ | added, check=False).returncode)


def main() -> None:
    """Try what was asked for, and print what was found."""
    parser = argparse.ArgumentParser(description="What is left after faults.")
    parser.add_argument("names", nargs="*", metavar="COMMAND", choices=[[], *SCENARIOS])
    parser.add_argument("--most", type=int, default=1000, help="calls of each command at which there is a fault")
    parser.add_argument("--memory", type=int, default=0, help="allocations of each command to fail instead")
    parser.add_argument("--kills", type=int, default=0, help="kill -9 at so many random moments instead")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if "LD_PRELOAD" not in os.environ:
        _preloaded()
    library = ctypes.CDLL(os.environ["LD_PRELOAD"])
    library.faults_plan.restype = ctypes.POINTER(Plan)
    plan, findings, tried = library.faults_plan().contents, [], 0
    for name in options.names or SCENARIOS:
        room = Path(tempfile.mkdtemp(prefix="perf-faults-"))  # which no child removes as it ends
        try:
            trials = Trials(name, room, plan)
            _tried(trials, options, random.Random(options.seed))
        finally:
            shutil.rmtree(room)
        findings += trials.findings
        tried += trials.tried
        print(
            f"{name:<12}{trials.calls:>8} calls{trials.tried:>8} trials{len(trials.findings):>6} findings", flush=True
        )
        for finding in trials.findings:
            print(f"  {finding}", flush=True)
    print(f"{tried:,} trials, {len(findings)} findings")
    raise SystemExit(1 if findings else 0)


if __name__ == "__main__":
    main()
