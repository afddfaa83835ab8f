"""Time and memory of laws of very many call paths: `perf fit` of a Parquet file, in a process of its own.

python benchmarks/many_paths.py 10000 100000

Every path was measured five times at each of five levels; laws are powers beside a floor, a tenth are constant, with
noise of 5 %.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd

LEVELS = np.array([4.0, 8.0, 16.0, 32.0, 64.0])
RUNS = 5
NOISE = 0.05
CONSTANTS = 0.1  # share of the paths
EXPONENTS = (-1.0, 2.0)
SHARE = (0.3, 0.99)  # of the growing term at the last level
SPREAD = 2.0  # of the logarithms of the values
PATHS_AT_ONCE = 100_000
FOLDERS = 100  # callees of each caller


def measured(first: int, count: int) -> pd.DataFrame:
    """Runs of some call paths, from a number on."""
    rng = np.random.default_rng(first)
    share = np.where(rng.random(count) < CONSTANTS, 0.0, rng.uniform(*SHARE, count))[:, None]
    laws = 1.0 - share + share * (LEVELS / LEVELS[-1]) ** rng.uniform(*EXPONENTS, count)[:, None]
    laws *= rng.lognormal(0.0, SPREAD, count)[:, None]
    values = laws[:, :, None] * np.exp(NOISE * rng.standard_normal((count, len(LEVELS), RUNS)))
    names = [f"main->caller{number // FOLDERS}->callee{number % FOLDERS}" for number in range(first, first + count)]
    each = len(LEVELS) * RUNS
    columns = {"p": np.tile(np.repeat(LEVELS, RUNS), count), "callpath": np.repeat(names, each)}
    return pd.DataFrame({**columns, "time_s": values.ravel()})


def write(file: Path, count: int) -> None:
    """A Parquet file of so many paths."""
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:
        for first in range(0, count, PATHS_AT_ONCE):
            part = measured(first, min(PATHS_AT_ONCE, count - first))  # noqa: F841 - DuckDB reads it by its name
            duckdb.sql(f"copy part to '{folder}/{first}.parquet' (format parquet)")
        duckdb.sql(f"copy (from '{folder}/*.parquet') to '{file}' (format parquet)")


def _alone(work: Callable[..., None], *given: object) -> None:
    """Work in a process of its own: one that is started from here begins with the peak of memory that was reached."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        pool.submit(work, *given).result()


def fitted(file: Path) -> tuple[float, float, float]:
    """Elapsed seconds, those of the processor, and the peak of memory in bytes."""
    table = file.parent / "laws.parquet"
    command = [sys.executable, "-m", "perfcore", "fit", str(file), "--fitter", "scaling", "-o", str(table)]
    started = time.perf_counter()
    with (file.parent / "printed.txt").open("wb") as printed:
        process = os.posix_spawn(
            command[0], command, dict(os.environ), file_actions=[(os.POSIX_SPAWN_DUP2, printed.fileno(), 1)]
        )
        _, status, used = os.wait4(process, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - started, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024.0


def main() -> None:
    """One row for each count of paths."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", type=int, nargs="+")
    print("| call paths x points x runs | elapsed s | CPU s | CPU ms a path | peak GiB |\n|---|---|---|---|---|")
    for count in parser.parse_args().paths:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "measured.parquet"
            _alone(write, file, count)
            elapsed, cpu, memory = fitted(file)
        row = (f"{count:,} x {len(LEVELS)} x {RUNS}", f"{elapsed:.1f}", f"{cpu:.1f}", f"{1e3 * cpu / count:.2f}")
        print(f"| {' | '.join(row)} | {memory / 2**30:.2f} |", flush=True)


if __name__ == "__main__":
    main()
