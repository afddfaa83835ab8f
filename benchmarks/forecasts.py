"""Forecasts against what then came, beside AutoETS, AutoARIMA and Theta of statsforecast.

``python benchmarks/forecasts.py SERIES.csv ...`` prints tables like those of docs/benchmarks-quantities.md; the
interpreter that ``--rivals PYTHON`` names has statsforecast. Each series is forecast from origins in its later half,
with all that came before, by what the fitter `forecast` does; rivals take the last 1,500 samples, choose their model
anew at every fifteenth origin, go on with it between, and are told of no season. What is not known when a forecast is
made has no say in it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_forecast.fitter import distributions_ahead
from perf_forecast.levels import LEVELS
from perf_forecast.seasons import find_seasons
from perf_forecast.support import support_of
from perfcore.stochastic import as_value, from_dict

HORIZONS = (1, 12)
COVERAGES = (0.5, 0.8, 0.95)
RIVALS = ("AutoETS", "AutoARIMA", "AutoTheta")
RIVALS_SAMPLES = 1500
REFITTED = 15
Floats = npt.NDArray[np.float64]

# Runs in the rivals' interpreter, which has no perfcore: series and origins as JSON in, normal forecasts as JSON out.
RIVAL = """
import json, sys, warnings
import numpy as np
from statsforecast import models
warnings.filterwarnings("ignore")
values, origins, name, samples, refitted, horizons = json.load(sys.stdin)
values, found, model = np.array(values), [], None
for number, origin in enumerate(origins):
    known = values[max(0, origin - samples):origin]
    if number % refitted == 0:
        model = getattr(models, name)(season_length=1)
        model.fit(known)
    ahead = model.forward(known, h=max(horizons), level=[95])
    half = (ahead["hi-95"] - ahead["lo-95"]) / 2 / 1.959964
    found.append([[float(ahead["mean"][h - 1]), float(half[h - 1])] for h in horizons])
json.dump(found, sys.stdout)
"""


def read(path: Path) -> Floats:
    """The column ``value`` of a table."""
    lines = path.read_text().splitlines()
    place = lines[0].split(",").index("value")
    return np.array([float(line.split(",")[place]) for line in lines[1:]])


def origins_of(values: Floats, count: int) -> list[int]:
    """Numbers of samples that are known: evenly over the later half."""
    return np.linspace(len(values) // 2, len(values) - max(HORIZONS) - 1, count).astype(int).tolist()


def ours(path: Path, origins: list[int]) -> dict[str, Any]:
    """Scores, coverage and processor time of what the fitter does, at the horizons that are judged."""
    values = read(path)
    rows, outside, start = [], 0, time.process_time()
    for origin in origins:
        known = values[:origin]
        (lower, upper), _ = support_of(known, "auto", path.name)
        seasons = find_seasons(known)
        for steps, ahead in zip(HORIZONS, distributions_ahead(known, HORIZONS, seasons, (lower, upper)), strict=True):
            actual, at = values[origin + steps - 1], np.array(ahead.quantiles)
            inside = [low <= actual <= high for low, high in (central(at, coverage) for coverage in COVERAGES)]
            outside += not lower <= at[0] <= at[-1] <= upper
            value = as_value(at[0]) if at[0] == at[-1] else from_dict(histogram_of(at))
            rows.append((value.crps(actual), *inside))
    cost = (time.process_time() - start) / len(origins)
    rows = np.reshape(rows, (len(origins), len(HORIZONS), 4))
    return {"rows": rows, "outside": outside, "seasons": seasons, "cost": cost}


def central(quantiles: Floats, coverage: float) -> Floats:
    """Central interval (2,)."""
    return np.interp([0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage], LEVELS, quantiles)


def histogram_of(quantiles: Floats) -> dict[str, Any]:
    """As `perf_forecast.model.ForecastModel.value` makes it."""
    return {"representation": "histogram", "edges": quantiles.tolist(), "masses": np.diff(LEVELS).tolist()}


def rival(interpreter: str, values: Floats, origins: list[int], name: str) -> Floats:
    """Scores and coverage of a normal forecast (origins, horizons, 4)."""
    from scipy.stats import norm

    given = json.dumps([values.tolist(), origins, name, RIVALS_SAMPLES, REFITTED, HORIZONS])
    done = subprocess.run([interpreter, "-c", RIVAL], input=given, capture_output=True, text=True, check=True)
    mean, spread = np.moveaxis(np.array(json.loads(done.stdout)), -1, 0)
    actual = np.array([[values[origin + steps - 1] for steps in HORIZONS] for origin in origins])
    spread = np.maximum(spread, 1e-12 * (1.0 + np.abs(mean)))
    z = (actual - mean) / spread
    score = spread * (z * (2.0 * norm.cdf(z) - 1.0) + 2.0 * norm.pdf(z) - 1.0 / np.sqrt(np.pi))
    inside = [np.abs(2.0 * norm.cdf(z) - 1.0) <= coverage for coverage in COVERAGES]
    return np.stack([score, *inside], axis=-1)


def judged(path: Path, count: int, interpreter: str | None) -> dict[str, Any]:
    """One series: ours, and each rival."""
    values = read(path)
    origins = origins_of(values, count)
    found = ours(path, origins)
    found["rivals"] = {name: rival(interpreter, values, origins, name) for name in RIVALS if interpreter is not None}
    return found


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("series", nargs="+", type=Path)
    parser.add_argument("--origins", type=int, default=60)
    parser.add_argument("--rivals", metavar="PYTHON")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    with ProcessPoolExecutor(given.processes) as pool:
        count = len(given.series)
        found = []
        for each in pool.map(judged, given.series, [given.origins] * count, [given.rivals] * count):
            found.append(each)
            print(f"{len(found)} of {count}", file=sys.stderr, flush=True)
    print_series(given.series, found)
    print_pooled(found)


def print_series(paths: list[Path], found: list[dict[str, Any]]) -> None:
    """Scores by series."""
    rivals = list(found[0]["rivals"])
    print("| series | seasons | steps | 50 / 80 / 95 % held | CRPS |", *(f"{r} |" for r in rivals), "time of both |")
    print("|---|---|---|---|---|" + "---|" * (len(rivals) + 1))
    for path, each in zip(paths, found, strict=True):
        for place, steps in enumerate(HORIZONS):
            score, *held = each["rows"][:, place].mean(axis=0)
            ratios = [score / each["rivals"][name][:, place, 0].mean() for name in rivals]
            shares = " / ".join(f"{100 * share:.0f}" for share in held)
            seasons = ", ".join(map(str, each["seasons"])) or "-"
            shown = "".join(f" {ratio:.2f} |" for ratio in ratios)
            print(f"| {path.stem} | {seasons} | {steps} | {shares} | {score:.4g} |{shown} {each['cost']:.2f} s |")


def print_pooled(found: list[dict[str, Any]]) -> None:
    """Coverage over all series, median ratios of scores, and values outside of their support."""
    print("\n| method | steps | 50 % held | 80 % held | 95 % held | median of our CRPS over its |")
    print("|---|---|---|---|---|---|")
    for name in ("forecast", *found[0]["rivals"]):
        for place, steps in enumerate(HORIZONS):
            tables = [each["rows"] if name == "forecast" else each["rivals"][name] for each in found]
            held = np.concatenate([table[:, place, 1:] for table in tables]).mean(axis=0)
            ratios = [
                each["rows"][:, place, 0].mean() / t[:, place, 0].mean() for each, t in zip(found, tables, strict=True)
            ]
            shown = "-" if name == "forecast" else f"{np.median(ratios):.2f}"
            print(f"| {name} | {steps} |", *(f"{share:.1%} |" for share in held), f"{shown} |")
    print(f"\nForecasts with a value outside of their support: {sum(each['outside'] for each in found)}")


if __name__ == "__main__":
    sys.exit(main())
