"""Stores of `perf experiment run` are read as rounds, where their runs lie together in time."""

import dataclasses
import datetime
from pathlib import Path

import numpy as np

import perfcore
from perf_experiments import Run, Store

BEGIN = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
RUN = Run({}, 1, None, "", ("x",), 10**9, 0.1, 0.1, 0, 0, None, None, noisy=False, environment={"host": "h"})


def keep(path: Path, rows: list[tuple[str, int, float, float]], order: tuple[str, ...] = ("old", "new")) -> Path:
    """A store of runs: version, round, seconds since the beginning, wall time."""
    with Store.hold(path) as store:
        store.set_versions(order)
        for version, replication, at, wall in rows:
            started = (BEGIN + datetime.timedelta(seconds=at)).isoformat(timespec="milliseconds")
            point = {"version": version, "n": 4}
            store.add(
                dataclasses.replace(
                    RUN, point=point, replication=replication, started=started, wall_ns=round(wall * 1e9)
                )
            )
    return path


def in_turn(factor: float, k: int = 6, gap_after: int = 0) -> list[tuple[str, int, float, float]]:
    rng = np.random.default_rng(2)
    rows, at = [], 0.0
    for number in range(1, k + 1):
        for version in rng.permutation(["old", "new"]).tolist():
            wall = (factor if version == "new" else 1.0) * float(rng.lognormal(0.0, 0.01))
            rows.append((version, number, at, wall))
            at += wall + 0.05
        at += 3600.0 * (number == gap_after)
    return rows


def test_a_store_is_compared_round_by_round_without_being_told_more(perf, tmp_path: Path) -> None:
    path = keep(tmp_path / "s.db", in_turn(1.2))
    verdict = perfcore.gate(path)
    assert (verdict.names, verdict.layouts, verdict.outcome.value) == (("old", "new"), ("turn",), "failed")
    assert verdict.estimates.rounds.tolist() == [6]
    assert perfcore.gate(path, base="new", new="old").outcome == "passed"
    assert perf("gate", path) == 1
    assert perf("gate", path, "--value", "wall_s", "--value", "user_s") == 1


def test_one_version_after_the_other_is_no_turn_whatever_the_numbers_say(tmp_path: Path) -> None:
    rows = [
        (v, number, 10.0 * (number + 100 * (v == "new")), 1.0 + 0.001 * number)
        for v in ("old", "new")
        for number in range(6)
    ]
    assert perfcore.gate(keep(tmp_path / "s.db", rows)).layouts == ("blocks",)
