"""Histories of public benchmarks, commit by commit: distinct alarms without a change, and slowdowns that are found.

    python benchmarks/gates_public_histories.py DATA [--benchmarks 14] [--every 3] [--table gates-histories.csv]

DATA is the folder of `gates_sources.py`, with ``history_ruby.csv.gz`` and sessions of Kokkos and Sandmark. The gate
looks at the commits up to every third one. Alarms of a benchmark within 12 commits are one; some of them are real,
since the commits differ. A slowdown of 10% (hosted: 20%) is found if the gate fails within 12 commits and places it
within 3. How many values a step must last is chosen for each source on all others (leave one source out): the fewest
with which none of the others has more than .3 alarms in 100 commits and benchmark.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from gates_versions import SEED, heading, row

from perf_gate import change_detection
from perf_gate.history import CommitSeries, JudgedSeries, judge_all

# File, environment and kind of each source.
SOURCES = {
    "ruby": ("history_ruby", "", "dedicated"),
    "SciPy 3.7": ("dedicated", "py3.7", "dedicated"),
    "SciPy 3.9": ("dedicated", "py3.9", "dedicated"),
    "Sandmark navajo": ("sandmark", "navajo|5.4.0+trunk+sequential", "dedicated"),
    "Sandmark turing": ("sandmark", "turing|5.4.0+trunk+sequential", "dedicated"),
    "Django 3.11": ("hosted_ci", "py3.11", "hosted"),
    "Django 3.12": ("hosted_ci", "py3.12", "hosted"),
    "Kokkos g++": ("kokkos", "g++-OPENMP|3200|4", "hosted"),
    "Kokkos clang++": ("kokkos", "clang++-OPENMP|3200|4", "hosted"),
}
SIZES = {"dedicated": 1.1, "hosted": 1.2}
NEWEST, FIRST, APART, NEAR = 240, 24, 12, 3  # commits
LASTING = (3, 5, 6, 8)  # values after a step
ALLOWED = 0.3  # alarms in 100 commits and benchmark


def histories(data: Path, source: str, count: int, rng: np.random.Generator) -> tuple[list[CommitSeries], list[str]]:
    """Return benchmarks that most of the newest commits measured, and these commits."""
    file, environment, _ = SOURCES[source]
    table = pd.read_csv(data / f"{file}.csv.gz").rename(columns={"median_s": "time", "ms": "time", "day": "date"})
    table = table[(table["time"] > 0.0) & (table.get("environment", "") == environment)]
    commits = np.sort(table["date"].unique())[-NEWEST:]
    medians = table[table["date"].isin(commits)].groupby(["benchmark", "date"])["time"].median().unstack()
    often = medians[medians.notna().mean(axis=1) >= 0.6].sort_index()
    chosen = often.iloc[np.sort(rng.choice(len(often), min(count, len(often)), replace=False))]
    names = [str(commit) for commit in medians.columns]
    found = []
    for name, times in zip(chosen.index, chosen.to_numpy(), strict=True):
        found.append(series(name, names, np.flatnonzero(np.isfinite(times)), times[np.isfinite(times)]))
    return found, names


def series(name: str, commits: list[str], places: np.ndarray, times: np.ndarray) -> CommitSeries:
    own = tuple(commits[place] for place in places.tolist())
    return CommitSeries(name, own, places, times, False, "s", ("",) * len(own))


def look(all_series: list[CommitSeries], commits: list[str], at: int) -> Iterator[JudgedSeries]:
    """Judge what the gate knows after so many commits."""
    cut = [series(s.name, commits, s.places[s.places < at], s.values[s.places < at]) for s in all_series]
    live = [s for s in cut if len(s.places) >= change_detection.FEWEST_VALUES and not s.has_ended(at)]
    if live:
        judged, suite = judge_all(live, commits[:at], at - change_detection.WINDOW, 1.0)
        yield from (one for one in [*judged, *([] if suite is None else [suite])] if one.outcome == "fail")


def alarms(all_series: list[CommitSeries], commits: list[str], every: int) -> float:
    """Return distinct alarms in 100 commits and benchmark; the suite counts as a benchmark."""
    places: dict[str, list[int]] = {}
    for at in range(FIRST, len(commits) + 1, every):
        for one in look(all_series, commits, at):
            place, known = commits.index(one.commit_of(one.alarm)), places.setdefault(one.series.name, [])
            if all(abs(place - other) > APART for other in known):
                known.append(place)
    return 100.0 * sum(map(len, places.values())) / len(commits) / (len(all_series) + 1)


def found(all_series: list[CommitSeries], commits: list[str], size: float, rng: np.random.Generator) -> float:
    """Return the share of injected slowdowns that are found."""
    cases = []
    for begin in np.linspace(min(50, len(commits) // 2), len(commits) - APART - 1, 6).astype(int).tolist():
        for k in rng.choice(len(all_series), min(3, len(all_series)), replace=False).tolist():
            own = all_series[k]
            slower = series(own.name, commits, own.places, own.values * np.where(own.places >= begin, size, 1.0))
            changed = [*all_series[:k], slower, *all_series[k + 1 :]]
            looks = (one for at in (4, 8, APART) for one in look(changed, commits, begin + at))
            mine = (one for one in looks if one.series.name == own.name)
            cases.append(any(abs(commits.index(one.commit_of(one.alarm)) - begin) <= NEAR for one in mine))
    return float(np.mean(cases))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--benchmarks", type=int, default=14)
    parser.add_argument("--every", type=int, default=3)
    parser.add_argument("--lasting", default=",".join(map(str, LASTING)))
    parser.add_argument("--table", type=Path)
    given = parser.parse_args()
    lasting = [int(count) for count in given.lasting.split(",")]
    measured: dict[tuple[str, int], tuple[float, float]] = {}
    for source, (_, _, kind) in SOURCES.items():
        all_series, commits = histories(given.data, source, given.benchmarks, np.random.default_rng(SEED))
        for count in lasting:
            change_detection.FEWEST_AFTER = count
            share = found(all_series, commits, SIZES[kind], np.random.default_rng(SEED))
            measured[source, count] = alarms(all_series, commits, given.every), share
    columns = [
        "source",
        "alarms per 100 commits and benchmark",
        "slowdown",
        "found within 12 commits",
        "values after a step",
    ]
    heading(columns)
    rows = []
    for source, (_, _, kind) in SOURCES.items():
        others = [other for other in SOURCES if other != source]
        enough = (k for k in lasting if all(measured[other, k][0] <= ALLOWED for other in others))
        chosen = next(enough, lasting[-1])
        rate, share = measured[source, chosen]
        rows.append([f"{source} ({kind})", f"{rate:.2f}", f"{SIZES[kind] - 1.0:+.0%}", f"{share:.0%}", str(chosen)])
        row(rows[-1], [])
    if given.table is not None:
        with given.table.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([columns, *rows])


if __name__ == "__main__":
    main()
