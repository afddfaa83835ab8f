"""What is fuzzed: every reader, file of a model, store and summary, and every text that a user types."""

from __future__ import annotations

import contextlib
import io
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

STATUSES = (0, 1, 2, 3)
_SEPARATORS = dict.fromkeys(map(ord, "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"), " ")  # no end of a line to a terminal
_FOLDER = "/dev/shm" if Path("/dev/shm").is_dir() else None
_TABLE = "p,time_s\n1,8\n2,4.5\n4,2.5\n8,1.75\n"


class Target(NamedTuple):
    """Contents to begin with, and what is done with a changed one; what it raises is a finding."""

    seeds: tuple[bytes, ...]
    run: Callable[[bytes], None]


@cache
def folder() -> Path:
    """Where the changed file is, kept in memory where that can be."""
    made = Path(tempfile.mkdtemp(prefix="perf-fuzz-", dir=_FOLDER))
    (made / "runs.csv").write_text(_TABLE)
    (made / "actual.csv").write_text("time_s\n8\n4.5\n")
    return made


def _call(function: Callable[[Path, str], Any], suffix: str, content: bytes) -> None:
    """Give a function of Python a file with the content, and the content itself."""
    from perfcore import PerfError

    file = folder() / f"input{suffix}"
    file.write_bytes(content)
    try:
        function(file, _decoded(content))
    except PerfError as error:
        _one_line(str(error).translate(_SEPARATORS))


def _read(reader: str | None, file: Path, _: str) -> None:
    """Read a file, and use what was read."""
    import perfcore

    data = perfcore.read(file, reader=reader)
    if isinstance(data, perfcore.Trace):
        data.utilization()


def _decoded(content: bytes) -> str:
    return content.decode(errors="replace").replace("\0", "")


def _evaluate(_: Path, text: str) -> None:
    import perfcore

    str(perfcore.evaluate(text, {"x": {"normal": [3, 0.1]}, "a": 2, "p": 4, "b": 1}, samples=64).value)


def _quantity(_: Path, text: str) -> None:
    import perfcore
    from perf_structural.inputs import as_quantities

    given = as_quantities([f"x={text}"])
    if not isinstance(given["x"], dict):  # a file, whose name stands in messages as it is
        perfcore.evaluate("x+1", given, samples=64)


def _load(file: Path, _: str) -> None:
    import perfcore

    perfcore.load(file)


def _program(words: str, suffix: str, content: bytes) -> None:
    """Run the program; ``{file}`` in its words is a file with the content, ``{text}`` the content itself."""
    from perfcore.__main__ import main

    file = folder() / f"input{suffix}"
    file.write_bytes(content)
    fills = {"file": file, "text": _decoded(content), "folder": folder(), "examples": ROOT / "examples"}
    given = [word.format(**fills) for word in shlex.split(words)]
    out, err = io.StringIO(), io.StringIO()
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            mock.patch.object(sys, "argv", ["perf", *given]),
        ):
            main()
    except SystemExit as ended:
        if ended.code not in STATUSES:
            raise AssertionError(f"exit status {ended.code!r}: {err.getvalue()[:300]}") from None
        if ended.code == 2:
            said = err.getvalue().splitlines()
            _one_line("\n".join(line for line in said if line.startswith("perf: error: ")) or "\n\n")


def _one_line(message: str) -> None:
    if len(message.splitlines()) != 1:
        raise AssertionError(f"not one line: {message!r}")


def _contents(pattern: str) -> tuple[bytes, ...]:
    return tuple(file.read_bytes() for file in sorted(ROOT.glob(pattern)) if file.stat().st_size < 1 << 16)


def _texts(*texts: str) -> tuple[bytes, ...]:
    return tuple(text.encode() for text in texts)


_FORMULAS = _texts(
    *("x", "a + b*log2(p)^2", "max(x, 3) % 2 - -x^(1/3)", "if(x > 0 and not x == 2, sqrt(x), 1e-3)", "2**-x/exp(x)"),
    *("sum(i, 1, 3, x)", "min(x, a) + total(x)", "((((x))))", "x<=1 or x>=2"),
)
_QUANTITIES = _texts(
    *("100", "normal:10,2", "interval:1,2", "histogram:1,2,3", "lognormal:3,0.4", "1e-3..2", "12 +- 3", "5 s"),
    *("normal:10,2%", "gamma:2,3", "uniform:1,2", "samples:1,2,3,5", "triangular:1,2,3", "10 +- 5%"),
)
_POINTS = _texts("p=1,2,3", "p=1..1024*2", "p=0..100:10", "p=1..1e9*1.000000001", "p=4", "p=1e999", "p=1..2..3", "q=")

PROGRAMS: dict[str, tuple[str, str, tuple[bytes, ...]]] = {
    "formula": (
        "stochastic eval '{text}' --with x=normal:3,0.1 --with a=2 --with p=4 --with b=1 --samples 64",
        "",
        _FORMULAS,
    ),
    "quantity": ("stochastic eval x+1 --with 'x={text}' --samples 64", "", _QUANTITIES),
    "value-file": (
        "stochastic eval x+1 --with x={file} --samples 64",
        ".json",
        _contents("examples/sor/recorded/*.json"),
    ),
    "model": ("info {file}", ".json", _contents("tests/golden/models/*.json")),
    "model-at": ("predict {file} --at p=4 --interval 0.9", ".json", _contents("tests/golden/models/[!l]*.json")),
    "at": ("predict {examples}/../tests/golden/models/individual.json --at '{text}'", "", _POINTS),
    "constraint": ("fit {folder}/runs.csv --where '{text}'", "", _texts("p > 1", "p=2", "p >= 2 and p < 9", "p!=1")),
    "units": ("info {folder}/runs.csv --to '{text}'", "", _texts("1.5s", "10%", "3", "NAME#3", "2 min", "1e9us")),
    "structural": ("predict {file} --samples 64", ".toml", _contents("examples/structural/*.toml")),
    "design": ("experiment run {file} --dry-run -- true", ".toml", _contents("examples/study/recorded/*.toml")),
    "factors": (
        "experiment design -f '{text}'",
        "",
        _texts("p=1,2", "p=1..64*2", "D=64..256:64", "s=cg,mg", "p=1..1e9"),
    ),
    "models": (
        "fit {folder}/runs.csv --fitter modgen --parameter p --models {file}",
        ".toml",
        _contents("examples/lost_cycles/*.toml"),
    ),
    "categories": (
        "overheads {examples}/../examples/halo/halo.prv --categories {file}",
        ".toml",
        (*_contents("examples/overheads/*.toml"), *_contents("plugins/commands/perf_analysis/*.toml")),
    ),
    "store": ("experiment list {file} --show 1", ".db", ()),
    "store-info": ("info {file}", ".db", ()),
    "history": (
        "gate {file} --commit commit",
        ".jsonl",
        (
            "".join(
                f'{{"commit": "c{at}", "benchmark": "b", "value": {1 + at % 3 / 100}, "unit": "s"}}\n'
                for at in range(12)
            ).encode(),
        ),
    ),
    "judged": (
        "validate {file} {folder}/actual.csv",
        ".json",
        _contents("examples/sor/recorded/predictions-*.json"),
    ),
    "profile": ("profile {file}", ".csv", ()),
}

CALLS: dict[str, tuple[Callable[[Path, str], Any], str, tuple[bytes, ...]]] = {
    "call:formula": (_evaluate, "", _FORMULAS),
    "call:quantity": (_quantity, "", _QUANTITIES),
    "call:model": (_load, ".json", PROGRAMS["model"][2]),
}


@cache
def targets() -> dict[str, Target]:
    """Each by its name: ``read:NAME`` of readers, ``call:`` of Python, others by what the program is given."""
    from format_samples import SAMPLES

    from perfcore.hooks.registry import registry

    found = {}
    whole: list[bytes] = []
    for name in sorted(registry().entries("readers")):
        given = [(file, text if isinstance(text, bytes) else text.encode()) for file, text in SAMPLES.get(name, ())]
        seeds = tuple(content for _, content in given) or _parquet()
        suffix = "".join(Path(given[0][0] if given else "a.parquet").suffixes)
        found[f"read:{name}"] = Target(seeds, partial(_call, partial(_read, name), suffix))
        whole += seeds
    found["read:any"] = Target(tuple(whole), partial(_call, partial(_read, None), ".txt"))
    for name, (function, suffix, seeds) in CALLS.items():
        found[name] = Target(seeds, partial(_call, function, suffix))
    stores = tuple(content for _, content in SAMPLES["experiments"])
    traces = tuple(text.encode() for _, text in SAMPLES["csv"])
    for name, (words, suffix, seeds) in PROGRAMS.items():
        own = seeds or (stores if suffix == ".db" else traces)
        found[name] = Target(own, partial(_program, words, suffix))
    return found


def _parquet() -> tuple[bytes, ...]:
    import perfcore

    curve, trace = folder() / "curve.parquet", folder() / "trace.parquet"
    perfcore.write(perfcore.UtilizationCurve([0, 1, 3], [1, 2]), curve)
    perfcore.write(perfcore.Trace([0], [0], [0], [5], ["a"], ["run"]), trace)
    return curve.read_bytes(), trace.read_bytes()


def close() -> None:
    """Remove the folder."""
    shutil.rmtree(folder(), ignore_errors=True)
