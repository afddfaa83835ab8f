"""`next_points`: which runs would help most."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from perf_experiments.advice.next_points import Advice, advise
from perf_experiments.advice.replications import Replications, needed_replications
from perf_experiments.api.arguments import Levels, PathLike, levels_of, model_of
from perf_experiments.design.constraints import meeting
from perf_experiments.design.design import Design, make_design, read_design
from perf_experiments.design.design_file import write_design
from perf_experiments.design.factors import Point
from perf_experiments.runs.options import parse_share
from perf_experiments.runs.store import Store, is_store
from perfcore.base.errors import OptionError
from perfcore.base.files import check_folder
from perfcore.models.model import Model

__all__ = ["next_points"]


def next_points(
    source: Model | PathLike,
    target: Point | None = None,
    candidates: Levels | Sequence[Point] | Design | PathLike | None = None,
    points: int | None = None,
    *,
    constraints: Sequence[str] = (),
    per_second: bool = False,
    precision: str | float | None = None,
    most: int | None = None,
    value: str | None = None,
    output: PathLike | None = None,
) -> Advice | Replications:
    """Which runs to make next, from a model or from a store; the function behind ``perf next``.

    From a model: the points that lower the variance of its prediction at the target most. From a store: the points
    whose runs spread so much that more replications are needed.

    Parameters
    ----------
    source : Model or path
        A model, of any kind whose parameters have standard errors, or a store of runs.
    target : mapping of str to level, optional
        For a model, which needs it: where the prediction matters.
    candidates : mapping of levels, sequence of points, Design, or path of one, optional
        For a model: points that can be measured; by default all combinations of the measured levels.
    points : int, >= 1, optional
        For a model: how many to choose, each after those before; by default 4.
    constraints : sequence of str
        For a model: formulas that every candidate meets.
    per_second : bool
        For a model: choose by gain for a second of runs.
    precision : str or float, optional
        For a store: what is asked of each point's mean; by default ``"2%"``.
    most : int, >= 1, optional
        For a store: runs of one point at most; by default 30.
    value : str, optional
        For a store: what is to be precise; by default what was reported first.
    output : path, optional
        Design to write, which `run` takes; none is written where all points are precise enough.

    Raises
    ------
    PerfError
        As `perf_experiments.advice.next_points.advise` and `perf_experiments.needed_replications`.

    Examples
    --------
    >>> import pandas as pd, perfcore
    >>> times = pd.DataFrame({"p": [1, 2, 4, 8], "time_s": [8.1, 4.3, 2.5, 1.7]})
    >>> model = perfcore.fit(perfcore.Measurements(times), fitter="individual", functions="1/p,1")
    >>> perfcore.next_points(model, {"p": 64}, {"p": [4, 16, 32]}, points=1).choices[0].point
    {'p': 32}
    >>> perfcore.next_points("examples/study/recorded/sor.db", precision="50%").wanting
    ()
    """
    if output is not None:
        check_folder(output)
    from_model = {"target": target, "candidates": candidates, "points": points, "constraint": [*constraints] or None}
    from_model["per-second"] = per_second or None
    from_store = {"precision": precision, "most": most, "value": value}
    advice: Advice | Replications
    if not isinstance(source, Model) and is_store(_head(source)):
        _refuse(from_model, "a model")
        share = parse_share("2%" if precision is None else precision, "--precision")
        with Store.read(source) as store:
            advice = Replications(tuple(needed_replications(store.runs(), share, most or 30, value)), share)
    else:
        _refuse(from_store, "a store of runs")
        if target is None:
            raise OptionError("Missing option '--target': where the prediction matters, such as --target p=1024")
        count = 4 if points is None else points
        model = model_of(source)
        advice = advise(model, target, _candidates(candidates, constraints), count, per_second=per_second)
    if output is not None and advice.design is not None:
        write_design(advice.design, output)
    return advice


def _candidates(given: Any, constraints: Sequence[str]) -> list[Point] | None:
    """Points that can be measured; None for those that the model knows."""
    if given is None:
        if constraints:
            raise OptionError("--constraint needs --candidates")
        return None
    if isinstance(given, Mapping):
        return make_design(levels_of(given), constraints=constraints).chosen()
    if isinstance(given, (str, os.PathLike)):
        given = read_design(given)
    return meeting(given.chosen() if isinstance(given, Design) else list(given), constraints)[0]


def _refuse(options: Mapping[str, Any], belongs_to: str) -> None:
    given = sorted(name for name, value in options.items() if value is not None)
    if given:
        raise OptionError(f"--{given[0]} is for {belongs_to}")


def _head(path: PathLike) -> bytes:
    """The first bytes of a file; none where it cannot be read, which is said by whoever reads it."""
    try:
        with Path(path).open("rb") as stream:
            return stream.read(100)
    except OSError:
        return b""
