"""The store of `perf experiment run` as a table: one row for each run that succeeded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perf_experiments.design import VERSION
from perf_experiments.points import is_number
from perf_experiments.reader_options import ExperimentStoreOptions
from perf_experiments.run_records import Run
from perf_experiments.store import Store, is_store
from perfcore.base.errors import InputError
from perfcore.contracts import Reader
from perfcore.data.measurements import Measurements
from perfcore.reading.source import Source

_COLUMNS = (*("wall_s", "user_s", "sys_s", "peak_memory_mib"), *("run", "replication", "noisy", "host", "started"))


class ExperimentStoreReader(Reader):
    """Reads the runs that `perf experiment run` kept.

    Columns are the factors, what the runs reported, and ``wall_s``, ``user_s``, ``sys_s``, ``peak_memory_mib``. The
    factors that are numbers and were varied are the parameters, those that are words name the code. Versions of a round
    are in the order of the design. The value is the first that ``--value`` named, or else the first of the results
    file, or else ``wall_s``.
    """

    Options = ExperimentStoreOptions

    def sniff(self, source: Source) -> float:
        """Sure by the number that SQLite files carry of the program that made them."""
        return 1.0 if is_store(source.head) else 0.0

    def read(self, source: Source, options: ExperimentStoreOptions) -> Measurements:
        with source.plain_file() as path:
            try:
                with Store.read(path) as store:
                    runs, order = store.runs(), store.versions
            except InputError as error:  # the path may be that of a copy
                raise InputError(source.name, error.problem) from error
        kept = [run for run in runs if run.succeeded and (options.noisy or not run.noisy)]
        if not kept:
            failed = sum(not run.succeeded for run in runs)
            raise InputError(source.name, f"holds no run that counts ({len(runs)} runs, {failed} failed)")
        if order:  # those of a round were made in random order
            kept.sort(key=lambda run: (run.replication, order.index(str(run.point[VERSION]))))
        try:
            return _as_measurements(kept, source.name)
        except TypeError as error:  # a number that became a text
            raise InputError(source.name, f"the store is damaged: {error}") from error


def _as_measurements(runs: Sequence[Run], source: str) -> Measurements:
    import pandas as pd

    factors = list(dict.fromkeys(name for run in runs for name in run.point))
    values = list(dict.fromkeys(name for run in runs for name in run.values))
    table = pd.DataFrame([_row(run) for run in runs])[[*factors, *values, *_COLUMNS]]
    levels = {name: {run.point.get(name) for run in runs} for name in factors}
    numbers = [name for name in factors if all(level is None or is_number(level) for level in levels[name])]
    varied = [name for name in numbers if len(levels[name]) > 1]
    words = [name for name in factors if name not in numbers]
    value, system = next(iter(values), "wall_s"), "host" if table["host"].nunique() > 1 else ()
    return Measurements(table, varied or numbers, value, code=words or None, system=system, source=source)


def _row(run: Run) -> dict[str, Any]:
    return {
        **run.point,
        **run.values,
        "wall_s": run.wall_ns / 1e9,
        "user_s": run.user_s,
        "sys_s": run.system_s,
        "peak_memory_mib": run.peak_memory_kib / 1024,
        "run": run.number,
        "replication": run.replication,
        "noisy": int(run.noisy),
        "host": str(run.environment.get("host")),
        "started": run.started,
    }
