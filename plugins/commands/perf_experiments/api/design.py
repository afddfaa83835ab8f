"""`design`: which runs to make."""

from __future__ import annotations

from collections.abc import Sequence

from perf_experiments.advice.costs import costs_by_model, costs_by_runs, within_budget
from perf_experiments.api.arguments import Levels, PathLike, levels_of, model_of, seconds_of
from perf_experiments.design.design import Design, make_design
from perf_experiments.design.design_file import write_design
from perf_experiments.design.factors import Point
from perf_experiments.runs.store import Store
from perfcore.base.errors import OptionError
from perfcore.base.files import check_folder
from perfcore.models.model import Model


def design(
    factors: Levels,
    kind: str = "factorial",
    *,
    constraints: Sequence[str] = (),
    replications: int = 2,
    seed: int = 0,
    centre: Point | None = None,
    fraction: int | None = None,
    points: int | None = None,
    model: Model | PathLike | None = None,
    runs: PathLike | None = None,
    budget: str | float | None = None,
    output: PathLike | None = None,
) -> Design:
    """Design an experiment: which points to measure, how often, in which order (``perf experiment design``).

    Parameters
    ----------
    factors : mapping of str to sequence or str
        Levels of each factor, also as the command takes them: ``"1..64*2"``.
    kind : {"factorial", "one-at-a-time", "fractional", "latin-hypercube", "sobol"}
    constraints : sequence of str
        Formulas that every point meets, such as ``"D % p == 0"``.
    replications : int, >= 1
        Runs of each point.
    seed : int, >= 0
        Of the random order and points.
    centre : mapping of str to level, optional
        Of one-at-a-time; by default the middle levels.
    fraction : int, >= 2, optional
        Of fractional: one in so many combinations; by default 2.
    points : int, >= 1, optional
        Of latin-hypercube and sobol: how many points.
    model : Model or path, optional
        Predicts the time of a run.
    runs : path, optional
        The store whose runs tell the time instead.
    budget : str, or float in seconds, optional
        Leave out the dearest points until the rest takes less: ``"2h"``. It needs ``model`` or ``runs``.
    output : path, optional
        TOML file to write.

    Returns
    -------
    Design
        A `perf_experiments.advice.costs.Budgeted` with the costs, where ``model`` or ``runs`` tell them.

    Raises
    ------
    OptionError
        A value that is not accepted, or no point is left.
    InputError
        A file cannot be read.

    Examples
    --------
    >>> import perfcore
    >>> perfcore.design({"p": "1..8*2", "D": [64, 96]}, constraints=["D % p == 0", "p > 1"])
    <Design: 6 points of p, D, 2 replications: 12 runs; p > 1 refuses 2>
    """
    if output is not None:
        check_folder(output)
    if model is not None and runs is not None:
        raise OptionError("--model and --runs both tell the time of a run; give one")
    if budget is not None and model is None and runs is None:
        raise OptionError("--budget needs the time of a run: --model MODEL, or --runs STORE once some were made")
    if fraction is not None and kind != "fractional":
        raise OptionError("--fraction belongs to fractional")
    if points is not None and kind not in ("latin-hypercube", "sobol"):
        raise OptionError("--points belongs to latin-hypercube and sobol")
    budget_s = None if budget is None else seconds_of(budget)
    planned = make_design(
        levels_of(factors),
        kind,
        constraints=constraints,
        replications=replications,
        seed=seed,
        centre=centre,
        part=fraction or 2,
        count=points,
    )
    if model is not None or runs is not None:
        chosen = planned.chosen()
        if model is not None:
            costs = costs_by_model(model_of(model), chosen)
        else:
            assert runs is not None
            costs = costs_by_runs(_measured_times(runs, chosen[0]), chosen)
        planned = within_budget(planned, costs, budget_s)
    if output is not None:
        write_design(planned, output)
    return planned


def _measured_times(path: PathLike, point: Point) -> list[tuple[Point, float]]:
    """Wall times in seconds of the runs that have the factors of a point."""
    with Store.read(path) as store:
        runs = store.runs()
    return [(run.point, run.wall_ns / 1e9) for run in runs if run.succeeded and set(run.point) == set(point)]
