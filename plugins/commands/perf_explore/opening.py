"""Files to what can be shown: models, data, predictions with what happened, structural models, values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from perf_explore.data_views import DataViews
from perf_explore.shelf import Shelf
from perf_structural.judging.judge import judge
from perf_structural.judging.prediction_files import read_actual, read_predictions
from perf_structural.views.structural import StructuralViews
from perfcore.base.errors import DataError, OptionError, PerfError
from perfcore.hooks.registry import registry
from perfcore.models.model import COMPOSED, load
from perfcore.reading.recognise import read
from perfcore.views.contents import Viewable
from perfcore.views.drawable import DrawableViews

__all__ = ["Opening", "open_subjects"]


def _read(path: str, wanted: Sequence[type]) -> Any:
    return read(path, wanted=wanted)


@dataclass(frozen=True)
class Opening:
    """How files are read.

    Parameters
    ----------
    read : callable
        Reads data: takes what the user calls them and what they are for; see `perfcore.read`.
    column, at : str, optional
        Columns of the table that predictions are judged by: the measured values, and their times.
    """

    read: Callable[[str, Sequence[type]], Any] = _read
    column: str | None = None
    at: str | None = None


def open_subjects(paths: Sequence[str], how: Opening | None = None) -> Viewable:
    """What files show.

    Parameters
    ----------
    paths : sequence of str
        Files, or folders and patterns with data of many files. Data that follow a model are what it was fitted to; a
        table that follows predictions is what happened.
    how : Opening, optional

    Returns
    -------
    Viewable
        Of several subjects a `Shelf`.

    Raises
    ------
    PerfError
        A file cannot be read, or data do not belong to the model before them.

    Examples
    --------
    >>> open_subjects(["examples/step.csv"]).title
    'step.csv'
    """
    how = how or Opening()
    left, found = list(paths), dict[str, Viewable]()
    while left:
        path = left.pop(0)
        kind = _kind(path)
        follower = left.pop(0) if kind in ("model", "predictions") and left and _kind(left[0]) == "data" else None
        name = Path(path).name or path
        name = path if name in found else name
        if name in found:
            raise OptionError(f"{path} is given twice")
        found[name] = _opened(path, kind, follower, how)
    return next(iter(found.values())) if len(found) == 1 else Shelf(found)


def _opened(path: str, kind: str, follower: str | None, how: Opening) -> Viewable:
    if kind == "model":
        model = load(path)
        if follower is None:
            return model.views(None, Path(path))
        # Of a composed model it is what the components were fitted to, of any type.
        wanted = () if model.kind == COMPOSED else registry().load("fitters", model.origin.fitter).takes
        data = how.read(follower, wanted)
        if wanted and not isinstance(data, wanted):
            raise DataError(
                f"{follower} holds {type(data).__name__}, which {path} was not fitted to; give it before the model to "
                "see it by itself"
            )
        return model.views(data, Path(path))
    if kind == "predictions":
        if follower is None:
            raise OptionError(f"{path} holds predictions; give the table of what happened after it")
        name, values, places = read_actual(follower, how.column, how.at)
        found = judge(read_predictions(path), values, at=places, at_name=how.at or "run", name=name)
        return DrawableViews(found)
    if kind == "structural model":
        return StructuralViews.read(path)
    return DataViews(how.read(path, ()), path)


def _kind(path: str) -> str:
    """What a file holds: a model, predictions, a structural model, or data."""
    if not Path(path).is_file():  # a folder, a pattern, standard input; whoever reads it says when there is nothing
        return "data"
    suffix = Path(path).suffix.lower()
    if suffix == ".toml":
        return "structural model"
    if suffix != ".json":
        return "data"
    try:
        content = msgspec.json.decode(Path(path).read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        content = None  # whoever reads it says what is wrong; several values one after another are no single document
    if isinstance(content, dict) and "schema" in content and "model" in content:
        return "model"
    try:
        read_predictions(path)
    except PerfError:
        return "data" if content is not None else "model"
    return "predictions"
