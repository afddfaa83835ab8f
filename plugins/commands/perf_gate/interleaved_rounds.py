"""Rounds of two versions, added until it is decided or the budget ends."""

from __future__ import annotations

import contextlib
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perf_gate.benchmark_runs import LongTable, long_table
from perf_gate.versions import InterimAnalysis, VersionGate, next_analysis, sequential_plan
from perf_tables.arguments import parse_duration
from perfcore.base import progress
from perfcore.base.errors import DataError, OptionError

Command = str | Sequence[str]
_LONGEST = 200  # letters of a failed run's last output

Judge = Callable[[LongTable, Sequence[InterimAnalysis]], VersionGate]


@dataclass(frozen=True)
class Measuring:
    """How versions are measured; see `perf_gate.api.gate_run`."""

    versions: Mapping[str, Command]  # program and arguments of each
    points: str | os.PathLike[str] | None  # a design of points at which each is measured
    value: str | Iterable[str]  # ``NAME=REGEX``, what to find in the output; by default the wall time counts
    max_rounds: int
    budget: str | float | None  # time in all
    warmup: int  # rounds before the first, not kept
    store: str | os.PathLike[str] | None  # where runs are kept, and taken from; by default nowhere
    launcher: str
    limit: str | float | None  # longest time of a run

    @property
    def values(self) -> list[str]:
        return [self.value] if isinstance(self.value, str) else list(self.value)

    @property
    def columns(self) -> list[str]:
        """What is judged: the values by their names; none for the wall time."""
        return [text.partition("=")[0] for text in self.values]


def measured_until_decided(how: Measuring, judge: Judge) -> VersionGate:
    """Add rounds until no benchmark is undecided, or the budget ends."""
    if len(how.versions) != 2:
        raise OptionError(
            f"--run compares two versions, not {len(how.versions)}; give each with --version NAME=COMMAND, or one with "
            "--self-test"
        )
    plan: tuple[InterimAnalysis, ...] = ()
    judged_at = -1
    with _place(how.store) as store:
        for rounds in _rounds(how, store):
            if not plan:
                table = _read(store, how.columns)
                keys = [key for key in table.keys if key != "version"]
                points = len(table.labels[keys].drop_duplicates()) if keys else 1
                plan = sequential_plan(how.max_rounds, points * int(table.runs["metric"].nunique()))
            look = max((look.rounds for look in plan if look.rounds <= rounds), default=0)
            if look > judged_at:
                judged_at, verdict = look, judge(_read(store, how.columns), plan)
                if verdict.judged.is_decided or next_analysis(plan, rounds) is None:
                    return verdict
                if look:
                    progress.note(f"{rounds} rounds: {verdict.report().answer}")
        return judge(_read(store, how.columns), plan)


def measured(how: Measuring) -> LongTable:
    """All rounds of one version."""
    if len(how.versions) != 1:
        raise OptionError("--self-test measures one version against itself; give one with --version NAME=COMMAND")
    with _place(how.store) as store:
        for _ in _rounds(how, store):
            pass
        return _read(store, how.columns)


def _rounds(how: Measuring, store: Path) -> Iterator[int]:
    """Measure round after round; how many there are."""
    begun = time.monotonic()
    budget_s = math.inf if how.budget is None else parse_duration(str(how.budget)) / 1e9
    if how.warmup:
        with tempfile.TemporaryDirectory() as folder:
            _run(how, Path(folder) / "warm-up.db", how.warmup)
    with progress.bar("rounds", how.max_rounds) as advance:
        import perfcore

        runs = perfcore.runs(store).listed if store.exists() else ()
        kept = max((run.replication for run in runs), default=0)
        advance(min(kept, how.max_rounds))
        for rounds in range(max(1, min(kept, how.max_rounds)), how.max_rounds + 1):
            started = time.monotonic()
            _run(how, store, rounds)
            advance(int(rounds > kept))
            yield rounds
            now = time.monotonic()
            if now - begun + (now - started) > budget_s and rounds < how.max_rounds:
                progress.note(f"the budget ends after {rounds} round{'s' if rounds > 1 else ''}")
                return


@contextlib.contextmanager
def _place(store: str | os.PathLike[str] | None) -> Iterator[Path]:
    """The store, or one that is gone afterwards."""
    if store is not None:
        try:
            yield Path(store)
        except KeyboardInterrupt:
            progress.note(f"all runs that ended are kept in {store}; the same call goes on")
            raise
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "rounds.db"


def _run(how: Measuring, store: Path, rounds: int) -> None:
    import perfcore

    summary = perfcore.run(
        how.points,
        versions=how.versions,
        rounds=rounds,
        store=store,
        launcher=how.launcher,
        values=how.values,
        limit=how.limit,
        max_load=1.0,  # what disturbs a round disturbs all of it
    )
    if summary.failed:
        bad = perfcore.runs(store, failed=True).listed[0]
        where = "" if how.store is None else f"; `perf experiment list {how.store} --failed` lists them"
        printed = perfcore.runs(store, show=bad.number).listed[0].stderr.decode(errors="replace").strip().splitlines()
        last = f" ({printed[-1][:_LONGEST]})" if printed else ""
        raise DataError(f"{bad.point['version']}, round {bad.replication}: {bad.problem}{last}{where}")


def _read(store: Path, columns: Sequence[str]) -> LongTable:
    from perfcore.reading.recognise import read_named

    return long_table(read_named(store, reader="experiments"), list(columns))
