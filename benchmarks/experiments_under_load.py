"""Tables of the recorded runs of examples/under_load: what was measured before, Figure 5, scores, numbers of intervals.

Run ``python benchmarks/experiments_under_load.py``; it takes a minute, and puts the tables into
docs/how-we-know.md.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import kstest

import perfcore
from perf_structural import StructuralModel
from perf_structural.judging import Judgement
from perf_structural.samples import read_actual, read_predictions

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "examples" / name) for name in ("under_load", "sor")]

import experiments  # noqa: E402 (it lies in another folder)
from bin_ranks import rank_names, ranked  # noqa: E402 (likewise)
from programs import program_named  # noqa: E402 (likewise)

__all__ = [
    "figure_5",
    "judgements",
    "measured",
    "numbers_of_intervals",
    "processor_time",
    "scores",
    "with_own_processor_time",
]

INTERVALS = (1, 2, 3, 4, 5, 7, 10, 15, 20, 25)
ROUNDS = 2


def judgements(folder: Path) -> Iterator[tuple[str, str, Judgement]]:
    """Case, equation and what `perf validate` finds, for all recorded predictions."""
    for case in experiments.CASES:
        for equation in experiments.equations_of(case):
            made = read_predictions(folder / f"{case}-{equation}.json")
            yield case, equation, experiments.judged(folder, case, made)


def _markdown(heading: Sequence[str], rows: Sequence[Sequence[str]], words: int = 2) -> str:
    """A table of which the first columns are words and the others numbers."""
    rule = ["---"] * words + ["--:"] * (len(heading) - words)
    return "\n".join(f"| {' | '.join(row)} |" for row in (heading, rule, *rows)) + "\n"


def measured(folder: Path) -> str:
    """What was measured before the runs under load: mean and standard deviation."""
    runs = perfcore.runs(folder / "dedicated.db").to_frame()
    rows = []
    for program in experiments.PROGRAMS:
        own = runs[runs["program"] == program]
        figures = own[list(experiments.DEDICATED)].astype(float)
        mean, std = figures.mean(), figures.std()
        model = StructuralModel.read(folder.parent / f"{program}-paper.toml").with_inputs({"cpu": [1.0, 1.0]})
        ratio = figures["idle_s"].mean() / model.predict().value.mean
        rows.append(
            [
                program,
                str(len(own)),
                *(f"{mean[name]:.4g} ({std[name]:.2g})" for name in ("benchmark_us", "contended_us", "exchange_us")),
                f"{mean['share']:.3f}",
                f"{mean['exponent']:.2f} ({figures['exponent'].min():.2f} to {figures['exponent'].max():.2f})",
                f"{mean['idle_s']:.3f}",
                f"{ratio:.2f}",
            ]
        )
    heading = ["program", "runs", "unit of work, us", "the same beside others, us", "exchange, us", "share"]
    return _markdown([*heading, "exponent", "without load, s", "actual / predicted"], rows, 1)


def figure_5(judged: Sequence[tuple[str, str, Judgement]]) -> str:
    """Shares of actual times in the bins of their predictions, most probable first, and what was predicted."""
    names = [*rank_names(experiments.BINS), "outside"]
    rows = []
    for case, equation, found in judged:
        ranks, masses = ranked(experiments.RECORDED / f"{case}-{equation}.json", found.actual)
        shares, promised = ranks.mean(axis=0), [*masses.mean(axis=0), 0.0]
        # A case without spread has fewer bins than the others; what is missing holds nothing.
        cells = [f"{share:.0%} ({said:.0%})" for share, said in zip(shares, promised, strict=True)]
        rows.append([case, equation, *cells[:-1], *["-"] * (experiments.BINS + 1 - len(cells)), cells[-1]])
    return _markdown(["case", "equation", *names], rows)


def _outside(found: Judgement) -> float:
    """Return the share of actual values outside of all that was predicted."""
    low, high = found.support.T
    return float(np.mean((found.actual < low) | (found.actual > high)))


def scores(judged: Sequence[tuple[str, str, Judgement]]) -> str:
    """Predicted and actual times, errors, coverage and places."""
    rows = []
    for case, equation, found in judged:
        coverage = {str(row["interval"]): row for row in found.coverage()}
        low, high = found.support.mean(axis=0)
        fifths = found.place_counts().reshape(-1, 2).sum(axis=1)
        actual, error = found.actual, found.statistics["mean_error"]
        rows.append(
            [
                case,
                equation,
                f"{found.mean.mean():.2f} ({low:.2f} to {high:.2f})",
                f"{actual.mean():.2f} ({actual.min():.2f} to {actual.max():.2f})",
                f"{error:+.3f} ({error / actual.mean():+.0%})",
                *(f"{coverage[name]['observed']:.0%}" for name in ("50%", "80%", "95%", "bounds")),
                f"{found.statistics['crps']:.3f}",
                f"{np.corrcoef(found.mean, actual)[0, 1]:+.2f}",
                " ".join(map(str, fifths)),
                f"{kstest(found.place, 'uniform').pvalue:.2g}",
            ]
        )
    heading = ["case", "equation", "predicted, s", "actual, s", "error of the mean, s", "in 50 %", "in 80 %", "in 95 %"]
    return _markdown([*heading, "in bounds", "CRPS, s", "correlation", "places by fifths", "p of evenness"], rows)


def processor_time(folder: Path) -> str:
    """Processor time of a unit of work in the runs under load, by what was measured before: means and extremes."""
    dedicated = perfcore.runs(folder / "dedicated.db").to_frame()
    rows = []
    for case in experiments.CASES:
        name = case.split("-")[0]
        own = dedicated[dedicated["program"] == name]
        _, compute_s, _ = read_actual(folder / f"{case}-runs.csv", "compute_s")
        unit_us = compute_s / program_named(name).done * 1e6
        ratios = [unit_us / own[column].astype(float).mean() for column in ("benchmark_us", "contended_us")]
        rows.append([case, *(f"{np.mean(each):.3f} ({min(each):.3f} to {max(each):.3f})" for each in ratios)])
    return _markdown(["case", "to that without load", "to that beside others"], rows, 1)


def with_own_processor_time(folder: Path) -> str:
    """What the equations would have given with each run's own processor time, which no prediction can know."""
    rows = []
    for case in experiments.CASES:
        name = case.split("-")[0]
        _, compute_s, _ = read_actual(folder / f"{case}-runs.csv", "compute_s")
        unit_us = (compute_s / program_named(name).done * 1e6).tolist()
        before = experiments.shares_before(folder, case)
        for equation in experiments.equations_of(case):
            model = experiments.model_of(folder, case, equation)
            own = [model.with_inputs({"benchmark": {"value": each, "unit": "us"}}) for each in unit_us]
            found = experiments.judged(folder, case, list(map(experiments.predict_run, own, before)))
            error = found.statistics["mean_error"]
            fifths = found.place_counts().reshape(-1, 2).sum(axis=1)
            share = f"{error / found.actual.mean():+.0%}"
            outside = f"{_outside(found):.0%}"
            crps = f"{found.statistics['crps']:.3f}"
            rows.append([case, equation, share, outside, crps, " ".join(map(str, fifths))])
    return _markdown(["case", "equation", "error of the mean", "outside", "CRPS, s", "places by fifths"], rows)


def numbers_of_intervals(folder: Path) -> str:
    """Accuracy and processor time of a prediction by the paper's equation, over all runs, by number of intervals.

    The time is that of one prediction: histograms of the samples of the last minute, then the model. The error is the
    mean of |actual - predicted mean| over the mean time of each case, and so is the score.
    """
    rows = []
    for count in INTERVALS:
        error, crps, outside, spent_s = [], [], [], []
        for case in experiments.CASES:
            model = StructuralModel.read(folder.parent / f"{case.split('-')[0]}-paper.toml")
            least_s = np.inf
            for _ in range(ROUNDS):
                before_s = time.process_time()
                before = experiments.shares_before(folder, case, count)
                made = [experiments.predict_run(model, cpu, count) for cpu in before]
                least_s = min(least_s, (time.process_time() - before_s) / len(made))
            found = experiments.judged(folder, case, made)
            mean_s = found.actual.mean()
            error.append(found.statistics["mean_absolute_error"] / mean_s)
            crps.append(found.statistics["crps"] / mean_s)
            outside.append(_outside(found))
            spent_s.append(least_s)
        shares = [f"{np.mean(figures):.1%}" for figures in (error, crps, outside)]
        rows.append([str(count), *shares, f"{1e3 * np.mean(spent_s):.2f}"])
    return _markdown(["intervals", "error of the mean", "CRPS", "outside", "ms"], rows, 0)


def tables(folder: Path) -> dict[str, str]:
    """All tables by their headings."""
    judged = list(judgements(folder))
    return {
        "Measured before": measured(folder),
        "Figure 5": figure_5(judged),
        "Scores": scores(judged),
        "Processor time of a unit of work, under load to before": processor_time(folder),
        "With the processor time of the runs themselves, which no prediction can know": with_own_processor_time(folder),
        "One to 25 intervals": numbers_of_intervals(folder),
    }


def main() -> None:
    """Print the tables."""
    print("\n".join(f"### {heading}\n\n{table}" for heading, table in tables(experiments.RECORDED).items()))


if __name__ == "__main__":
    main()
