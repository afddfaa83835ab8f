"""Projections of tables of times by category, judged at a larger scale; docs/how-we-know-scaling.md.

python benchmarks/projections.py gromacs.csv --parameter nodes --value wall_s --by machine,atoms,tasks_per_node
python benchmarks/projections.py gromacs.csv ... --largest 8 --at 16 --without "PME mesh *" --without "PME wait"
python benchmarks/projections.py real_cases.jsonl real_cases_2.jsonl --most 30    # of each source
python benchmarks/projections.py --simulated 64    # sums of known laws with noise of 1, 3 and 10 %

Each series, rows with the same values in the columns of --by, is projected from its scales up to --largest. A simulated
table is projected to twice or four times its largest scale, and judged by a further run with the same noise. Series of
.jsonl files (`src`, `path`, `x`, `y`: runs at each x) whose paths differ in one part are the categories of a table; it
is projected from its first three, four, ... scales to those nearest to twice and to four times the last of them.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

import perfcore

LAWS = (
    lambda p: 1 / p, lambda p: p**-0.7, lambda p: 1 + 0 * p, lambda p: np.log2(p) + 0.2, lambda p: p**0.5,
    lambda p: 0.3 + 1 / p, lambda p: p**-0.9 + 0.05 * p**0.5, lambda p: p,
)  # fmt: skip
SCALES = ((1, 2, 4, 8), (2, 4, 8, 16, 32), (1, 2, 3, 4, 5, 6, 7, 8), (2, 4, 8, 16))
NOISES, NEAREST = (0.01, 0.03, 0.1), 0.01  # share of the elapsed time from which a component is judged

# Which part of the path of a source's series is the category.
CATEGORIES = {"hec-amber-category": -1, "particle-mesh": 1, "imb-procs": 1, "extrap-mpi": 1, "aws-osu": 1}

Case = tuple[str, pd.DataFrame, float, float]  # source, p by category by time_s, largest fitted scale, target


def tables(arguments: argparse.Namespace) -> Iterator[Case]:
    """Series of a table that have the target."""
    frame = pd.read_csv(arguments.table[0])
    frame = frame[~frame["category"].isin(arguments.without)]
    names = {arguments.parameter: "p", arguments.value: "time_s"}
    for _, rows in frame.groupby(arguments.by.split(",")):
        table = rows.rename(columns=names).groupby(["p", "category"], as_index=False)["time_s"].mean()
        if arguments.at in set(table["p"]) and table.loc[table["p"] <= arguments.largest, "p"].nunique() > 2:
            yield arguments.table[0], table, arguments.largest, arguments.at


def series(arguments: argparse.Namespace) -> Iterator[Case]:
    """Tables of the series of several files, in random order."""
    found: dict[tuple[str, ...], dict[str, pd.Series]] = defaultdict(dict)
    for line in (line for file in arguments.table for line in Path(file).read_text().splitlines()):
        content = json.loads(line)
        parts, at = content["path"].split("/"), CATEGORIES.get(content["src"])
        if at is not None and parts[at] != "total" and "msgsize" not in parts:
            name = parts.pop(at)
            found[content["src"], *parts][name] = pd.Series([np.mean(runs) for runs in content["y"]], content["x"])
    cases: list[Case] = []
    for key, categories in found.items():
        times = pd.DataFrame(categories).dropna()
        scales = times.index.to_numpy()
        table = times.rename_axis("p").reset_index().melt("p", var_name="category", value_name="time_s")
        for last in scales[2:-1]:
            targets = {scales[np.abs(np.log(scales / last / far)).argmin()] for far in (2, 4)}
            cases += [(key[0], table, last, at) for at in targets if len(categories) > 1 and 1.5 < at / last < 6]
    counts: dict[str, int] = defaultdict(int)
    for k in np.random.default_rng(0).permutation(len(cases)):
        counts[cases[k][0]] += 1
        if counts[cases[k][0]] <= arguments.most:
            yield cases[k]


def simulated(number: int) -> Iterator[Case]:
    """Three to six categories with laws of random size."""
    for seed in range(number):
        draw = np.random.default_rng(seed)
        scales, farther = SCALES[seed % 4], (2, 4)[(seed // 4) % 2]
        noise = NOISES[(seed // 8) % 3]
        chosen = draw.choice(len(LAWS), size=draw.integers(3, 7), replace=False)
        sizes = np.exp(draw.normal(0, 1, len(chosen)))
        p = np.array([*scales, scales[-1] * farther], float)
        rows = [
            (each, f"c{k}", time * np.exp(noise * draw.normal()))
            for k, size in zip(chosen, sizes, strict=True)
            for each, time in zip(p, size * LAWS[k](p) / LAWS[k](p).mean(), strict=True)
        ]
        yield f"noise {noise:.0%}", pd.DataFrame(rows, columns=["p", "category", "time_s"]), p[-2], p[-1]


def judged(case: Case) -> tuple[list[float], list[list[float]]]:
    """True elapsed time, estimate and bounds; and those of each component."""
    _, table, largest, target = case
    at = perfcore.project(table[table["p"] <= largest], at={"p": target}).answer.at[0]
    times = table[table["p"] == target].set_index("category")["time_s"]
    parts = [
        [times[each.name], *each.time]
        for each in at.components
        if times.get(each.name, 0.0) > NEAREST * times.sum()
    ]  # fmt: skip
    return [times.sum(), *at.elapsed], parts


def summary(what: str, rows: list[list[float]]) -> str:
    """Errors, coverage and width."""
    true, estimate, low, high = np.array(rows).T
    errors, inside = np.abs(estimate / true - 1), (low <= true) & (true <= high)
    return (
        f"{what}: {len(rows)}, error median {np.median(errors):.1%}, p90 {np.quantile(errors, 0.9):.0%}, "
        f"{inside.mean():.1%} inside, width of the interval {np.median((high - low) / estimate):.0%}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", nargs="*")
    parser.add_argument("--parameter", default="nodes")
    parser.add_argument("--value", default="wall_s")
    parser.add_argument("--by", default="machine,atoms,tasks_per_node")
    parser.add_argument("--largest", type=float, default=8)
    parser.add_argument("--at", type=float, default=16)
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("--most", type=int, default=30)
    parser.add_argument("--simulated", type=int)
    arguments = parser.parse_args()
    found: dict[str, tuple[list[list[float]], list[list[float]]]] = {}
    groups: dict[str, list[list[float]]] = defaultdict(list)
    cases = series if arguments.table and arguments.table[0].endswith(".jsonl") else tables
    for case in simulated(arguments.simulated) if arguments.simulated else cases(arguments):
        whole, parts = judged(case)
        wholes, components = found.setdefault(case[0], ([], []))
        wholes.append(whole)
        components.extend(parts)
        _, table, largest, target = case
        scales = table.loc[table["p"] <= largest, "p"].nunique()
        for group in (f"{2.0 ** np.round(np.log2(target / largest)):g}x the largest scale", f"{scales} scales"):
            groups[group].append(whole)
    for group, rows in sorted(groups.items()):
        print(summary(group, rows))
    for source, (wholes, components) in found.items():
        print(source)
        print("  " + summary("elapsed", wholes))
        print("  " + summary("components", components))


if __name__ == "__main__":
    main()
