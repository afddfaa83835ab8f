"""Fuzzing of every reader, file and text that users give: tracebacks, hangs and memory.

python benchmarks/fuzz.py                                  # a minute over all
python benchmarks/fuzz.py --seconds 3600 --seed 7          # before a release
python benchmarks/fuzz.py --seconds 3600 --guided          # steered by the lines of Python that an input reaches
python benchmarks/fuzz.py read:csv formula                 # these alone

--guided needs `atheris` (``pip install atheris``). What is found goes to the folder of --found, one file each, with the
traceback beside it; a target goes on after a finding. An input may take 20 s of processor time and 2 GiB of memory.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from types import FrameType
from typing import Any

HANG_S, MEMORY = 20, 2 << 30
KEPT = 1 << 11  # bytes of an input that is changed further
PACKAGES = (
    "perfcore",
    "perf_io",
    "perf_traces",
    "perf_traces.summaries",
    "perf_formulas",
    "perf_structural",
    "perf_gate",
)
_ROOT = Path(__file__).parents[1]
_COMPILED = re.compile(r"^@.*\b(kernel|njit|jit)\b", re.MULTILINE)


class Hang(BaseException):
    """An input took too long."""


class Trials:
    """Runs of one target: how many, and what was found, each kind once."""

    def __init__(self, name: str, target: Any, found: Path) -> None:
        self.name, self.target, self.found = name, target, found
        self.inputs = 0
        self.known: set[str] = set()

    def run(self, content: bytes) -> None:
        """Try one input; keep it where it is a finding."""
        self.inputs += 1
        signal.setitimer(signal.ITIMER_PROF, HANG_S)
        try:
            self.target.run(content)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever it is, it is a finding
            self._keep(content, traceback.format_exc(), _place(error))
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def _keep(self, content: bytes, text: str, place: str) -> None:
        if place not in self.known:
            self.known.add(place)
            stem = re.sub("[^A-Za-z0-9_-]", "_", f"{self.name}-{place}") + "-" + hashlib.sha256(content).hexdigest()[:6]
            (self.found / stem).write_bytes(content)
            (self.found / f"{stem}.txt").write_text(text)

    def counts(self) -> dict[str, int]:
        """So far."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return {"inputs": self.inputs, "findings": len(self.known), "peak_kib": peak}


def _place(error: BaseException) -> str:
    """The kind of an error and where in the project it came from."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/perf" in frame.filename]
    last = frames[-1] if frames else None
    return f"{type(error).__name__}-{Path(last.filename).stem}-{last.name}" if last else type(error).__name__


def limit() -> None:
    """Let an input have so much memory beyond what is loaded, and so much time."""
    status = Path("/proc/self/status").read_text()
    used = int(re.search(r"VmSize:\s+(\d+)", status)[1]) << 10
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))

    def too_long(number: int, frame: FrameType | None) -> None:
        raise Hang

    signal.signal(signal.SIGPROF, too_long)


def blind(names: list[str], seconds: float, found: Path, seed: int) -> bool:
    """Change the seeds of each target, all in this process; whether nothing was found."""
    from fuzz_mutations import mutated
    from fuzz_targets import targets

    all_trials = [Trials(name, targets()[name], found) for name in names]
    for trials in all_trials:
        for content in trials.target.seeds:  # what is loaded at first use is loaded here
            trials.target.run(content)
    limit()
    print("| target | inputs | inputs/s | findings | peak memory (MiB) |\n|---|--:|--:|--:|--:|", flush=True)
    for trials in all_trials:
        begun = time.monotonic()
        luck = random.Random(f"{seed} {trials.name}")  # how far others came does not change what this one is given
        corpus = list(trials.target.seeds)
        while time.monotonic() - begun < seconds / len(names):
            content = mutated(luck.choice(corpus), luck)
            trials.run(content)
            if luck.random() < 0.01 and len(corpus) < 200 and len(content) < KEPT:  # changes of changes go further
                corpus.append(content)
        _tell(trials.name, trials.counts(), time.monotonic() - begun)
    return _tell_all([trials.counts() for trials in all_trials])


def guided(names: list[str], seconds: float, found: Path, seed: int) -> bool:
    """Fuzz targets one after the other with atheris, each in its own processes; whether nothing was found."""
    print("| target | inputs | inputs/s | findings | peak memory (MiB) |\n|---|--:|--:|--:|--:|", flush=True)
    every = []
    for number, name in enumerate(names):
        counts = {"inputs": 0, "findings": 0, "peak_kib": 0}
        begun = time.monotonic()
        count = _count_file(found, name)
        attempt = 0
        while (left := seconds / len(names) - (time.monotonic() - begun)) > 0.5 or not attempt:
            attempt += 1
            count.unlink(missing_ok=True)
            words = ["--child", name, "--seconds", str(max(1.0, left)), "--found", str(found)]
            words += ["--seed", str(seed + attempt + 1000 * number)]
            with tempfile.TemporaryFile() as log:
                done = subprocess.run([sys.executable, __file__, *words], stdout=log, stderr=log, check=False)
                if done.returncode:
                    log.seek(0)
                    count.with_suffix(f".ended-{attempt}").write_bytes(log.read()[-20_000:])
                    counts["findings"] += 1
            if count.exists():
                said = json.loads(count.read_text())
                counts["inputs"] += said["inputs"]
                counts["findings"] += said["findings"]
                counts["peak_kib"] = max(counts["peak_kib"], said["peak_kib"])
        _tell(name, counts, time.monotonic() - begun)
        every.append(counts)
    return _tell_all(every)


def _tell(name: str, counts: dict[str, int], took: float) -> None:
    shown = f"{counts['inputs']:,} | {counts['inputs'] / took:.0f} | {counts['findings']} | {counts['peak_kib'] >> 10}"
    print(f"| {name} | {shown} |", flush=True)


def _tell_all(every: list[dict[str, int]]) -> bool:
    found = sum(counts["findings"] for counts in every)
    print(f"\n{sum(counts['inputs'] for counts in every):,} inputs, {found} findings")
    return found == 0


def _count_file(found: Path, name: str) -> Path:
    return found / f"{name.replace(':', '-')}.count"


def instrumented() -> tuple[list[str], list[str]]:
    """Modules to trace, and those of them that numba compiles, which cannot be."""
    include, exclude = [], []
    for package in [_ROOT / "perfcore", *_ROOT.glob("plugins/*/perf_*")]:
        if package.name in PACKAGES:
            for file in package.rglob("*.py"):
                parts = file.relative_to(package.parent).with_suffix("").parts
                name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
                (exclude if _COMPILED.search(file.read_text()) else include).append(name)
    return include, exclude


def child(name: str, seconds: float, found: Path, seed: int) -> None:
    """Fuzz one target with atheris in this process, which libFuzzer ends."""
    import atheris
    from fuzz_mutations import LONGEST

    include, exclude = instrumented()
    with atheris.instrument_imports(include=include, exclude=exclude):
        from fuzz_mutations import mutated
        from fuzz_targets import folder, targets

        trials = Trials(name, targets()[name], found)
        for content in trials.target.seeds:
            trials.target.run(content)
    corpus = folder() / "corpus"
    corpus.mkdir()
    for number, content in enumerate(trials.target.seeds):
        (corpus / str(number)).write_bytes(content)
    ends = time.monotonic() + seconds

    def one(content: bytes) -> None:
        trials.run(content)
        if trials.inputs % 50 == 0 or time.monotonic() > ends:
            _count_file(found, name).write_text(json.dumps(trials.counts()))

    def mutate(content: bytes, most: int, number: int) -> bytes:
        luck = random.Random(number)
        changed = mutated(content, luck) if luck.random() < 0.7 else atheris.Mutate(content, most)
        return changed[:most]

    words = [
        *(f"-max_total_time={max(1, round(seconds))}", f"-timeout={6 * HANG_S}", "-rss_limit_mb=0", f"-seed={seed}"),
        *("-len_control=0", f"-max_len={LONGEST}", "-verbosity=0", f"-artifact_prefix={found}/"),
    ]
    atheris.Setup([sys.argv[0], *words, str(corpus)], one, custom_mutator=mutate)
    limit()
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", help="names (default: all)")
    parser.add_argument("--seconds", type=float, default=60.0, help="for all together")
    parser.add_argument("--found", type=Path, default=Path(tempfile.gettempdir()) / "perf-fuzz-found")
    parser.add_argument("--guided", action="store_true", help="with atheris")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    warnings.simplefilter("error", RuntimeWarning)  # of NumPy, which a user would see
    given.found.mkdir(parents=True, exist_ok=True)
    found = given.found.resolve()
    from fuzz_targets import close

    with contextlib.ExitStack() as ends:
        ends.callback(close)
        if given.child:
            child(given.child, given.seconds, found, given.seed)
            return 0
        from fuzz_targets import targets

        run = guided if given.guided else blind
        return 0 if run(given.targets or list(targets()), given.seconds, found, given.seed) else 1


if __name__ == "__main__":
    sys.exit(main())
