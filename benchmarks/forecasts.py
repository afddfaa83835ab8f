"""Forecasts against what then came, beside AutoETS, AutoARIMA and Theta of statsforecast.

``python benchmarks/forecasts.py SERIES.csv ...`` prints tables like those of docs/how-we-know.md; the
interpreter that ``--rivals PYTHON`` names has statsforecast. Each series is forecast from origins in its later half,
with all that came before, by what the fitter `forecast` does; rivals take the last 1,500 samples, choose their model
anew at every fifteenth origin, and go on with it between. Where a series has seasons, each rival forecasts both what
statsforecast's MSTL leaves after taking them out and the series as it is, and whichever scored better is compared. What
is not known when a forecast is made has no say in it.

A value that has a probability of its own, such as no bytes written, may reach across the end of an interval. Counted
plainly it is held whole; shared, it is held with the share of its probability that lies inside, so that right forecasts
hold what they say: C. Czado, T. Gneiting, L. Held, "Predictive Model Assessment for Count Data" (2009), section 2.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_forecast.model import distributions_ahead
from perf_forecast.options import LEVELS, support_of
from perf_forecast.predictors import find_seasons
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
parent, values, origins, names, seasons, samples, refitted, horizons = json.load(sys.stdin)
end_with(parent)
values = np.array(values)


def forecasts(name, seasons):
    found = []
    for number, origin in enumerate(origins):
        known = values[max(0, origin - samples):origin]
        if number % refitted == 0:
            plain = {"model": "ZZN"} if name == "AutoETS" else {}
            model = getattr(models, name)(season_length=1, **plain)
            if seasons:
                model = models.MSTL(season_length=seasons, trend_forecaster=model)
            model.fit(known)
        ahead = model.forward(known, h=max(horizons), level=[95])
        half = (ahead["hi-95"] - ahead["lo-95"]) / 2 / 1.959964
        found.append([[float(ahead["mean"][h - 1]), float(half[h - 1])] for h in horizons])
    return found


found = {name: [forecasts(name, told) for told in ([[], seasons] if seasons else [[]])] for name in names}
json.dump(found, sys.stdout)
"""


def end_with(parent: int) -> None:
    """End this process when its parent has ended, however that was: nobody asks for its results then."""
    import os
    import threading
    import time

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


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
            shares = [share_inside(at, actual, coverage) for coverage in COVERAGES]
            outside += not lower <= at[0] <= at[-1] <= upper
            value = as_value(at[0]) if at[0] == at[-1] else from_dict(histogram_of(at))
            rows.append((value.crps(actual), *inside, *shares))
    cost = (time.process_time() - start) / len(origins)
    rows = np.reshape(rows, (len(origins), len(HORIZONS), 1 + 2 * len(COVERAGES)))
    return {"rows": rows, "outside": outside, "seasons": seasons, "cost": cost}


def central(quantiles: Floats, coverage: float) -> Floats:
    """Central interval (2,)."""
    return np.interp([0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage], LEVELS, quantiles)


def share_inside(quantiles: Floats, actual: float, coverage: float) -> float:
    """How much of a value's own probability lies within a central interval; 0 or 1 for a value without any."""
    first, after = (int(quantiles.searchsorted(actual, side=side)) for side in ("left", "right"))
    if after - first < 2:
        low, high = central(quantiles, coverage)
        return float(low <= actual <= high)
    below, up_to = LEVELS[first], LEVELS[after - 1]
    inside = min(up_to, 0.5 + 0.5 * coverage) - max(below, 0.5 - 0.5 * coverage)
    return max(inside, 0.0) / (up_to - below)


def histogram_of(quantiles: Floats) -> dict[str, Any]:
    """As `perf_forecast.model.ForecastModel.value` makes it."""
    return {"representation": "histogram", "edges": quantiles.tolist(), "masses": np.diff(LEVELS).tolist()}


def rivals(interpreter: str, values: Floats, origins: list[int]) -> dict[str, Floats]:
    """Scores and coverage of normal forecasts (origins, horizons, 7), by the rival's name."""
    program = inspect.getsource(end_with) + RIVAL
    seasons = find_seasons(values[: origins[0]])
    given = json.dumps([os.getpid(), values.tolist(), origins, RIVALS, seasons, RIVALS_SAMPLES, REFITTED, HORIZONS])
    done = subprocess.run([interpreter, "-c", program], input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(
            f"{interpreter}: {done.stderr.strip()[-200:] or 'ended'}; --rivals needs one with statsforecast"
        )
    found = json.loads(done.stdout)
    actual = np.array([[values[origin + steps - 1] for steps in HORIZONS] for origin in origins])
    return {name: better([of_normals(np.array(each), actual) for each in found[name]]) for name in RIVALS}


def of_normals(forecasts: Floats, actual: Floats) -> Floats:
    """Scores and coverage (origins, horizons, 7) of means and deviations (origins, horizons, 2)."""
    from scipy.stats import norm

    mean, spread = np.moveaxis(forecasts, -1, 0)
    spread = np.maximum(spread, 1e-12 * (1.0 + np.abs(mean)))
    z = (actual - mean) / spread
    score = spread * (z * (2.0 * norm.cdf(z) - 1.0) + 2.0 * norm.pdf(z) - 1.0 / np.sqrt(np.pi))
    inside = [np.abs(2.0 * norm.cdf(z) - 1.0) <= coverage for coverage in COVERAGES]
    return np.stack([score, *inside, *inside], axis=-1)


def better(tables: list[Floats]) -> Floats:
    """At each horizon whichever has the lower mean score."""
    scores = [table[..., 0].mean(axis=0) for table in tables]
    return np.stack([tables[which][:, place] for place, which in enumerate(np.argmin(scores, axis=0))], axis=1)


def judged(path: Path, count: int, interpreter: str | None) -> dict[str, Any]:
    """One series: ours, and each rival."""
    values = read(path)
    origins = origins_of(values, count)
    found = ours(path, origins)
    found["rivals"] = {} if interpreter is None else rivals(interpreter, values, origins)
    return found


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("series", nargs="+", type=Path)
    parser.add_argument("--origins", type=int, default=60)
    parser.add_argument("--rivals", metavar="PYTHON")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    with ProcessPoolExecutor(given.processes, initializer=end_with, initargs=(os.getpid(),)) as pool:
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
            shares = " / ".join(f"{100 * share:.0f}" for share in held[: len(COVERAGES)])
            seasons = ", ".join(map(str, each["seasons"])) or "-"
            shown = "".join(f" {ratio:.2f} |" for ratio in ratios)
            print(f"| {path.stem} | {seasons} | {steps} | {shares} | {score:.4g} |{shown} {each['cost']:.2f} s |")


def print_pooled(found: list[dict[str, Any]]) -> None:
    """Coverage over all series, median ratios of scores, and values outside of their support."""
    print("\n| method | steps | 50 / 80 / 95 % held | shared | median of our CRPS over its |\n|---|---|---|---|---|")
    for name in ("forecast", *found[0]["rivals"]):
        for place, steps in enumerate(HORIZONS):
            tables = [each["rows"] if name == "forecast" else each["rivals"][name] for each in found]
            held = 100.0 * np.concatenate([table[:, place, 1:] for table in tables]).mean(axis=0)
            plain, shared = (" / ".join(f"{share:.1f}" for share in part) for part in np.split(held, 2))
            ratios = [
                each["rows"][:, place, 0].mean() / t[:, place, 0].mean() for each, t in zip(found, tables, strict=True)
            ]
            shown = "-" if name == "forecast" else f"{np.median(ratios):.2f}"
            print(f"| {name} | {steps} | {plain} | {shared} | {shown} |")
    print(f"\nForecasts with a value outside of their support: {sum(each['outside'] for each in found)}")


if __name__ == "__main__":
    sys.exit(main())
