"""Calls whose results are kept in the folder ``golden``: what must not change unless the CHANGELOG says so.

``python tests/golden_cases.py`` records them anew.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[1]
FOLDER = REPOSITORY / "tests" / "golden"

# One model of each fitter: data, options, and where to predict.
MODELS: dict[str, tuple[str, dict[str, Any], Any]] = {
    "phases": (
        "examples/cholesky/cholesky_trace.csv.gz",
        {"phases": "auto", "degree": "2", "refine": True},
        [400_000.0, 1_000_000.0, 3_000_000.0, 6_000_000.0],
    ),
    "worley": (
        "examples/cholesky/cholesky_trace.csv.gz",
        {"phases": "4", "degree": "2"},
        [400_000.0, 1_000_000.0, 3_000_000.0, 6_000_000.0],
    ),
    "individual": ("examples/npb/timings.csv", {"terms": 2}, {"p": [4, 16, 64], "code": "LU", "system": "T3D"}),
    "strohmaier": (
        "examples/npb/timings.csv",
        {"operations": "examples/npb/codes.csv", "peak": "examples/npb/systems.csv"},
        {"p": [4, 16, 64], "code": "MG", "system": "PCArray"},
    ),
    "lca": (
        "tests/golden/by_category.csv",
        {"parameter": "P", "where": "D=256"},
        {"P": [4, 16, 64], "category": "total"},
    ),
    "modgen": (
        "tests/golden/by_category.csv",
        {"parameter": "P,D", "models": "standard,examples/lost_cycles/models.toml"},
        {"P": [4, 16, 64], "D": [64, 256, 512], "category": "total"},
    ),
    "scaling": (
        "examples/scaling_laws/runs.jsonl",
        {"parameter": "n=n,m=m", "at": "n=512,m=64"},
        {"n": [128, 256, 512], "m": [16, 32, 64], "path": "correlate"},
    ),
    "forecast": ("examples/sor/recorded/availability.csv", {"column": "cpu 0 available"}, [1, 5, 30]),
}

_GOLDEN = "tests/golden/models"
# Commands with --json; "{models}" is the folder of the models above.
JSON = {
    "info-trace": ["info", "examples/cholesky/cholesky_trace.csv.gz"],
    "info-timings": ["info", "examples/npb/timings.csv"],
    "info-laws": ["info", "examples/scaling_laws/runs.jsonl"],
    "info-store": ["info", "examples/study/recorded/sor.db"],
    "rank-individual": ["rank", "examples/npb/timings.csv", "--terms", "2", "--top", "5"],
    "rank-joint": ["rank", "examples/npb/timings.csv", "--fitter", "strohmaier", "--terms", "2", "--top", "3"],
    "predict-phases": ["predict", f"{_GOLDEN}/phases.json", "--at", "t=1000000,3000000", "--interval", "0.95"],
    "predict-joint": ["predict", f"{_GOLDEN}/strohmaier.json", "--at", "p=16,64", "--at", "code=MG",
                      "--at", "system=PCArray", "--interval", "0.95"],
    "predict-modgen": ["predict", f"{_GOLDEN}/modgen.json", "--at", "P=64", "--at", "D=512", "--at",
                       "category=total", "--interval", "0.95"],
    "predict-structural": ["predict", "examples/structural/sor.toml", "--bins", "5"],
    "overheads": ["overheads", "examples/cholesky/cholesky_trace.csv.gz"],
    "whatif": ["whatif", "examples/halo/halo.prv", "--network", "0"],
    "profile": ["profile", "examples/cholesky/cholesky_trace.csv.gz"],
    "eval": ["stochastic", "eval", "work*(1 + busy)", "--with", "work=normal:120,3", "--with", "busy=interval:0.1,0.3"],
    "verify": ["validate", f"{_GOLDEN}/modgen.json", "tests/golden/by_category.csv"],
    "compare": ["compare", f"{_GOLDEN}/modgen.json", f"{_GOLDEN}/modgen.json", "--at", "P=16..256*2", "--at", "D=256"],
    "judge": ["validate", "examples/sor/recorded/predictions-normal.json", "examples/sor/recorded/runs.csv",
              "--column", "time_s"],
    "next-model": ["experiment", "next", f"{_GOLDEN}/individual.json", "--target", "p=1024", "--target", "code=LU",
                   "--target", "system=T3D"],
    "next-store": ["experiment", "next", "examples/study/recorded/sor.db", "--precision", "1%"],
    "design": ["experiment", "design", "-f", "p=1,2", "-f", "D=64,128"],
    "runs": ["experiment", "list", "examples/study/recorded/sor.db"],
    "value": ["stochastic", "summarize", "examples/sor/recorded/availability.csv", "--column", "cpu 0 available",
              "--as", "normal"],
    "plugins-worley": ["plugins", "worley"],
}  # fmt: skip
# What is said of the program; as wide as the variable COLUMNS says.
COLUMNS = "100"
HELP = {"perf": ["--help"], "plugins-list": ["plugins", "--all"], "fit-worley": ["fit", "--fitter", "worley", "--help"]}


def run(words: list[str]) -> str:
    """What the program prints on standard output."""
    from perfcore.__main__ import main

    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
    before, sys.argv = sys.argv, ["perf", *words]
    try:
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
            main()
    finally:
        sys.argv = before
    printed.flush()
    return printed.buffer.getvalue().decode()


def predictions(model: Any, points: Any) -> Any:
    """Values at points, with bounds where the model has them."""
    return model.predict_array(points, interval=0.95).tolist()


def record() -> None:
    """Write all files of this folder anew."""
    import perfcore

    os.chdir(REPOSITORY)
    os.environ["COLUMNS"] = COLUMNS
    (FOLDER / "models").mkdir(exist_ok=True)
    (FOLDER / "json").mkdir(exist_ok=True)
    for fitter, (data, options, points) in MODELS.items():
        if (FOLDER / "models" / f"{fitter}.json").exists():
            continue  # what the first version wrote stays as it is
        model = perfcore.fit(data, fitter=fitter, **options)
        model.save(FOLDER / "models" / f"{fitter}.json")
        text = json.dumps(predictions(model, points), indent=1)
        (FOLDER / "models" / f"{fitter}.predictions").write_text(text + "\n")
    (FOLDER / "help").mkdir(exist_ok=True)
    for name, words in HELP.items():
        (FOLDER / "help" / f"{name}.txt").write_text(run(words))
    for name, words in JSON.items():
        text = run([*words, "--json"])
        if not text:
            raise SystemExit(f"{name}: nothing printed")
        (FOLDER / "json" / f"{name}.json").write_text(text)


if __name__ == "__main__":
    record()
