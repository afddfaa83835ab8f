"""Do the prediction bounds of `individual`, `strohmaier`, `lca` and `modgen` hold what was left out?

python benchmarks/bounds_of_fitters.py FOLDER                 # all tables of the folder's README; some minutes
python benchmarks/bounds_of_fitters.py FOLDER --fitters individual,strohmaier --sources npb,mlperf

Of each code on each system the largest number of processors is left out, the rest is fitted, and the runs that were
left out are compared with the bounds of a single run. For the categories of GROMACS all nodes above half of the
largest are left out, and the largest is judged. A pair counts with at least four points left (`individual`) or one
(`strohmaier`), a category with three. Widths are half of upper minus lower, over the prediction; the score is that of
an interval of 95 % on the logarithmic scale (T. Gneiting, A. E. Raftery, JASA 102, 2007, section 6.2), lower is
better.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

import perfcore
from perfcore.base.errors import PerfError

Floats = npt.NDArray[np.float64]

LEFT = {"individual": 4, "strohmaier": 1}  # points of a pair that must be left
LEVELS_LEFT = 3  # nodes that must be left of a category
LOWEST = 1e-9  # of a bound over the measured value, where logarithms are taken


class Judged(NamedTuple):
    """Runs that were left out.

    Attributes
    ----------
    measured : (n,) float
    predicted : (n, 5) float
        Value, 95 % and 80 % bounds.
    weight : (n,) float
        One for each pair or total, shared by its runs.
    """

    measured: Floats
    predicted: Floats
    weight: Floats


def joint_tables(folder: Path) -> Iterator[tuple[str, pd.DataFrame]]:
    """Sources of tables of codes on systems, with columns code, system, p and time_s."""
    runs = pd.read_csv(folder / "npb_mpi_picluster.csv")
    runs = runs[runs.nodes.notna()]
    yield (
        "npb",
        pd.DataFrame(
            {
                "code": runs.code + "." + runs["class"],
                "system": "each node " + (runs.total_processes / runs.nodes).round(2).astype(str),
                "p": runs.total_processes,
                "time_s": runs.time_s,
            }
        ),
    )
    runs = pd.read_csv(folder / "mlperf_training.csv")
    runs = runs[(runs.accelerators > 0) & (runs.division.str.lower() == "closed")]
    for _, part in runs.groupby("round"):
        names = {"benchmark": "code", "accelerator": "system", "accelerators": "p", "time_s_olympic_mean": "time_s"}
        yield "mlperf", part[list(names)].rename(columns=names).dropna()
    runs = pd.read_csv(folder / "hecbiosim_gromacs_runs.csv").dropna(subset=["cpus_per_task", "s_per_step", "nodes"])
    yield (
        "gromacs",
        pd.DataFrame(
            {
                "code": runs.atoms.astype(int).astype(str) + " atoms",
                "system": runs.cpus_per_task.astype(int).astype(str) + " threads",
                "p": runs.nodes,
                "time_s": runs.s_per_step,
            }
        ),
    )
    cases = [
        json.loads(line)
        for name in ("", "_2")
        for line in (folder / f"real_cases{name}.jsonl").read_text().splitlines()
    ]
    for source, name in (("imb-procs", "imb"), ("extrap-mpi", "extrap-mpi"), ("pangeo-dask", "pangeo")):
        tables: dict[str, list[tuple[str, str, float, float]]] = {}
        for case in (case for case in cases if case["src"] == source):
            words = case["path"].split("/")
            if name == "imb":
                table, code, system = words[2], words[1], words[0]
            elif name == "extrap-mpi":
                table, code, system = words[2], words[1], words[0]
                if table != "median":
                    continue
            else:
                table, code, system = words[3], f"{words[2]}.{words[4]}", words[1]
            rows = tables.setdefault(table, [])
            rows += [(code, system, x, y) for x, runs in zip(case["x"], case["y"], strict=True) for y in runs]
        for rows in tables.values():
            yield name, pd.DataFrame(rows, columns=["code", "system", "p", "time_s"])


def judge_pairs(fitter: str, table: pd.DataFrame) -> Judged:
    """Values at the largest number of processors of each pair, and what the fit of the rest predicts there."""
    last = table.groupby(["code", "system"]).p.transform("max") == table.p
    kept = table[~last]
    enough = kept.groupby(["code", "system"]).p.transform("nunique") >= LEFT[fitter]
    kept = kept[enough]
    if fitter == "strohmaier":
        kept = _connected(kept)
    held = table[last].merge(kept[["code", "system"]].drop_duplicates())
    if held.empty:
        return Judged(np.empty(0), np.empty((0, 5)), np.empty(0))
    model = perfcore.fit(kept, fitter=fitter, duplicates="keep")
    runs = held.groupby(["code", "system"]).p.transform("size").to_numpy(dtype=np.float64)
    return Judged(held.time_s.to_numpy(dtype=np.float64), _predicted(model, held.drop(columns="time_s")), 1.0 / runs)


def _connected(table: pd.DataFrame) -> pd.DataFrame:
    """The largest part of a table that a joint model can join: systems with several codes, and codes on several."""
    while len(table):
        pairs = table[["code", "system"]].drop_duplicates()
        good = (pairs.groupby("code").system.transform("size") > 1) & (
            pairs.groupby("system").code.transform("size") > 1
        )
        if good.all():
            break
        table = table.merge(pairs[good])
    if table.empty:
        return table
    names = {code: code for code in table.code}
    for _, codes in table.groupby("system").code:
        joined = {names[code] for code in codes}
        names = {code: min(joined) if name in joined else name for code, name in names.items()}
    part = table.code.map(names)
    joined_table: pd.DataFrame = table[part == part.value_counts().index[0]]
    return joined_table


def judge_categories(fitter: str, folder: Path) -> Iterator[tuple[str, Judged]]:
    """Totals, and single categories, of GROMACS at the most nodes, from at most half as many; one for each layout."""
    table = pd.read_csv(folder / "hecbiosim_gromacs_categories.csv")
    table["time_s"] = table.wall_s / table.steps
    for _, layout in table.groupby("cpus_per_task"):
        tables = [layout] if fitter == "modgen" else [one for _, one in layout.groupby("atoms")]
        for rows in tables:
            part = rows.groupby(["nodes", "atoms", "category"], as_index=False).time_s.median()
            everywhere = part.groupby("category").time_s.transform("size") == len(
                part[["nodes", "atoms"]].drop_duplicates()
            )
            part, most = part[everywhere], part.nodes.max()
            kept, held = part[part.nodes <= most / 2], part[part.nodes == most]
            if kept.nodes.nunique() < LEVELS_LEFT:
                continue
            names = {"nodes": "P", "atoms": "D"} if fitter == "modgen" else {"nodes": "P"}
            columns = [*names, "category", "time_s"]
            model = perfcore.fit(kept[columns].rename(columns=names), fitter=fitter, parameter=",".join(names.values()))
            held = held[columns].rename(columns=names)
            totals = held.groupby(list(names.values()), as_index=False).time_s.sum()
            for what, runs in (("totals", totals), ("categories", held[held.time_s > 0])):
                found = _predicted(model, runs.drop(columns="time_s"))
                yield what, Judged(runs.time_s.to_numpy(), found, np.ones(len(runs)))


def _predicted(model: perfcore.Model, at: pd.DataFrame) -> Floats:
    points = {name: at[name].to_numpy() for name in at if name in (*model.variables, *model.variables.values())}
    wide, narrow = model.predict_array(points, interval=0.95), model.predict_array(points, interval=0.8)
    return np.column_stack([wide, narrow[:, 1:]])


def report(title: str, judged: Judged) -> str:
    """One row: number, error, coverage, half-width and score; where there are no bounds, none hold."""
    measured, weight = judged.measured, judged.weight
    value, low, high, low80, high80 = judged.predicted.T
    inside = (low <= measured) & (measured <= high)
    inside80 = (low80 <= measured) & (measured <= high80)
    known = np.isfinite(low) & np.isfinite(high)
    figures = [f"{_median(np.abs(value / measured - 1.0), weight):.1%}"]
    figures += [f"{np.average(held, weights=weight):.1%}" for held in (inside, inside80)]
    if known.any():
        ends = np.log(np.maximum(np.column_stack([low, high])[known] / measured[known, None], LOWEST))
        score = ends[:, 1] - ends[:, 0] + 40.0 * (np.maximum(ends[:, 0], 0.0) + np.maximum(-ends[:, 1], 0.0))
        figures.append(f"{_median((high - low)[known] / 2.0 / np.abs(value[known]), weight[known]):.0%}")
        figures.append(f"{np.average(score, weights=weight[known]):.2f}")
    else:
        figures += ["-", "-"]
    return f"| {title} | {weight.sum():.0f} | {len(measured)} | {' | '.join(figures)} |"


def _median(values: Floats, weight: Floats) -> float:
    order = np.argsort(values)
    whole = np.cumsum(weight[order])
    return float(values[order][np.searchsorted(whole, 0.5 * whole[-1])])


def main() -> None:
    """Print a table in Markdown for each fitter."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="with npb_mpi_picluster.csv, mlperf_training.csv and the others")
    parser.add_argument("--fitters", default="individual,strohmaier,lca,modgen")
    parser.add_argument("--sources", default="", help="only these of the joint tables, separated by commas")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    for fitter in asked.fitters.split(","):
        found: dict[str, list[Judged]] = {}
        if fitter in LEFT:
            for source, table in joint_tables(asked.folder):
                if asked.sources and source not in asked.sources.split(","):
                    continue
                try:
                    found.setdefault(source, []).append(judge_pairs(fitter, table))
                except PerfError as error:
                    print(f"{fitter}, {source}: {error}")
        else:
            for what, judged in judge_categories(fitter, asked.folder):
                found.setdefault(what, []).append(judged)
        what = "pairs" if fitter in LEFT else "values"
        print(f"\n| {fitter} | {what} | runs | median error | 95 % hold | 80 % hold | half-width | score |")
        print("|---|--:|--:|--:|--:|--:|--:|--:|")
        for source, parts in found.items():
            judged = Judged(*(np.concatenate(column) for column in zip(*parts, strict=True)))
            if len(judged.measured):
                print(report(source, judged), flush=True)


if __name__ == "__main__":
    main()
