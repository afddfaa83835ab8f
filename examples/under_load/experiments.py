"""Record the runs of the three programs under load by `perf experiment run`, and predict each beforehand.

``python experiments.py record`` makes the runs, some 12 minutes on a machine that does nothing else, and predicts them;
``python experiments.py predict`` only predicts: for each case and equation it writes a file of predictions beside the
table of runs, for `perf validate`, and prints the figures. Both work in the folder ``recorded`` beside this file.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import perfcore
from perf_structural import StructuralModel
from perf_structural.judging import Judgement, judge
from perf_structural.measured_value import represent
from perf_structural.samples import read_actual, read_predictions
from perf_tables.series import take_window
from perfcore.base.errors import PerfError
from perfcore.stochastic import StochasticValue

__all__ = [
    "CASES",
    "EQUATIONS",
    "equations_of",
    "judged",
    "model_of",
    "predict",
    "predict_run",
    "read_predictions",
    "record",
    "shares_before",
]

HERE = Path(__file__).resolve().parent
RECORDED = HERE / "recorded"
PROGRAMS = ("sor", "genetic", "lu")
CASES = tuple(f"{program}-{load}" for program in PROGRAMS for load in ("mixed", "both"))
# The model of each equation: the paper's, or with the wait for others. The exponent of that was measured beforehand or,
# of SOR alone, is the one that suited the recorded runs of examples/sor.
EQUATIONS: dict[str, tuple[str, dict[str, float]]] = {
    "paper": ("{}-paper.toml", {}),
    "barrier": ("{}.toml", {}),
    "earlier": ("{}.toml", {"exponent": 0.75}),
}
BINS = 5  # the paper's section 3.2
WINDOW = "60s"
DEDICATED = ("idle_s", "benchmark_us", "contended_us", "exchange_us", "share", "exponent")
LOADED = ("time_s", "until_s", "start_s", "compute_s")


def record(folder: Path, words: Sequence[str] = ()) -> None:
    """Make all runs in a folder of their own, and keep their stores and tables.

    Parameters
    ----------
    folder : Path
        Where they are kept; it is made.
    words : sequence of str
        Further arguments of measure.py.
    """
    scripts = [sysconfig.get_path("scripts"), str(Path(sys.executable).parent)]
    environment = {**os.environ, "PATH": os.pathsep.join([*scripts, os.environ["PATH"]])}
    with tempfile.TemporaryDirectory(prefix="perfcore-under-load-") as place:
        for name in ("sor", HERE.name):
            shutil.copytree(HERE.parent / name, Path(place, name), ignore=shutil.ignore_patterns("recorded", "*cache*"))
        for what, names, factors in (
            ("dedicated", DEDICATED, ["{program}"]),
            ("loaded", LOADED, ["{program}", "{load}"]),
        ):
            values = [word for name in names for word in ("--value", f"{name}=^{name} ([0-9.]+)$")]
            command = ["env", "python3", f"{HERE.name}/measure.py", what, *factors, *words]
            run = ["perfcore", "run", f"{HERE.name}/{what}.toml", "--store", f"{what}.db", "--limit", "60s"]
            done = subprocess.run([*run, *values, "--", *command], cwd=place, env=environment, check=False)
            if done.returncode > 1:  # 1: some runs failed, which `perf experiment run` has told; the others count
                raise SystemExit(done.returncode)
        folder.mkdir(exist_ok=True)
        for path in [*Path(place).glob("*.db"), *Path(place).glob("*.csv")]:
            shutil.copy(path, folder)


def shares_before(folder: Path, case: str, bins: int = BINS) -> list[list[StochasticValue]]:
    """For each run of a case the shares of the processors, from the samples of the last minute before it."""
    samples = perfcore.read(folder / f"{case}-samples.csv")
    _, until_s, _ = read_actual(folder / f"{case}-runs.csv", "until_s")
    return [
        [
            represent(take_window(samples, WINDOW, column, until), "histogram", bins=bins, rule="width").value
            for column in samples.columns
        ]
        for until in until_s
    ]


def predict_run(model: StructuralModel, cpu: Sequence[StochasticValue], bins: int = BINS) -> StochasticValue:
    """The distribution of one run's time, from the shares of the processors before it."""
    return model.with_inputs({"cpu": list(cpu)}).predict(bins=bins).value


def predict(folder: Path, case: str, equation: str) -> list[StochasticValue]:
    """Predictions of all runs of a case.

    Parameters
    ----------
    folder : Path
        What `record` made; it stands beside the models and is called recorded.
    case : str
        One of `CASES`.
    equation : str
        One of `equations_of` the case.
    """
    model = model_of(folder, case, equation)
    return [predict_run(model, cpu) for cpu in shares_before(folder, case)]


def model_of(folder: Path, case: str, equation: str) -> StructuralModel:
    """The model that predicts a case, all but the shares of the processors."""
    file, inputs = EQUATIONS[equation]
    return StructuralModel.read(folder.parent / file.format(case.split("-", maxsplit=1)[0])).with_inputs(inputs)


def equations_of(case: str) -> list[str]:
    """The equations that predict the runs of a case."""
    return [equation for equation in EQUATIONS if equation != "earlier" or case.startswith("sor")]


def judged(folder: Path, case: str, predictions: Sequence[StochasticValue]) -> Judgement:
    """Predictions against the runs of a case."""
    return judge(predictions, folder / f"{case}-runs.csv", column="time_s", at="start_s")


def write_and_judge(folder: Path) -> None:
    """Write the predictions of all cases, and print how good they are."""
    for case in CASES:
        for equation in equations_of(case):
            made = predict(folder, case, equation)
            lines = "".join(json.dumps(value.to_dict()) + "\n" for value in made)
            (folder / f"{case}-{equation}.json").write_text(lines)
            found = judged(folder, case, made)
            low, high = found.support.T
            outside, figures = np.mean((found.actual < low) | (found.actual > high)), found.statistics
            error, mean_s = figures["mean_error"], found.actual.mean()
            print(
                f"{case:14}{equation:9}{figures['runs']:3} runs: {outside:4.0%} outside, "
                f"mean error {error:+.3f} s of {mean_s:.3f} s, CRPS {figures['crps']:.3f} s"
            )


def main() -> None:
    """Run as a program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["record", "predict"])
    parser.add_argument("words", nargs="*", help="further arguments of measure.py, after --")
    given = parser.parse_args()
    if given.what == "record":
        record(RECORDED, given.words)
    try:
        write_and_judge(RECORDED)
    except PerfError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
