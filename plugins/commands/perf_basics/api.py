"""The functions behind the commands about one noun."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from perfcore.base.errors import OptionError, PerfError
from perfcore.hooks.registry import Entry, registry
from perfcore.report import Result

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from perfcore.models.model import Model

_TABLE = "trace, curve, series or measurements"
# What to do first with each type of data.
_EXAMPLES = {
    "Trace": "perf fit {file}", "UtilizationCurve": "perf fit {file}", "Series": "perf info {file}",
    "Measurements": "perf info {file}",
}  # fmt: skip


@dataclass(frozen=True, repr=False)
class Predictions(Result):
    """Values of a model at n points."""

    reporter: ClassVar[str] = "perf_basics.answers:predictions_report"

    points: Mapping[str, Sequence[Any]]  # column of each variable (n,)
    values: npt.NDArray[np.float64]  # value; with bounds also lower and upper
    remarks: Sequence[str] = ()  # what to keep in mind at each point; empty where there is nothing
    meaning: str = ""  # what the bounds are of, where the model says
    model: Model | None = None
    interval: float | None = None
    file: str = ""  # of the model
    assumed: Mapping[str, float] = field(default_factory=dict)  # levels of the model's target that were not named
    quantiles: Mapping[str, npt.NDArray[np.float64]] = field(default_factory=dict)  # (n,) by name, such as p95

    @property
    def table(self) -> npt.NDArray[np.float64]:
        """Values as columns (n, 1), with bounds (n, 3)."""
        return self.values.reshape(len(self.values), -1)

    @property
    def unit(self) -> str:
        return (self.model.unit if self.model is not None else "") or ""

    @property
    def names(self) -> list[str]:
        """Names of the columns of values."""
        return ["value", "lower", "upper"][: self.table.shape[1]]

    def to_dict(self) -> dict[str, Any]:
        """Return points and values, JSON-ready, and what the bounds are of, if the model says."""
        rows = []
        for number, values in enumerate(self.table.tolist()):
            row = {name: column[number] for name, column in self.points.items()}
            row |= dict(zip(self.names, values, strict=True))
            row |= {name: float(column[number]) for name, column in self.quantiles.items()}
            rows.append(row | ({"remark": self.remarks[number]} if self.remarks else {}))
        return {**({"bounds": self.meaning.removeprefix("bounds: ")} if self.meaning else {}), "rows": rows}


@dataclass(frozen=True, repr=False)
class Facts(Result):
    """What a file is, how much is in it, and which commands apply; by name, in the order in which they are printed."""

    reporter: ClassVar[str] = "perf_basics.answers:facts_report"
    json_kind: ClassVar[str] = "info"

    facts: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.facts[name]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {"facts": self.facts}


@dataclass(frozen=True, repr=False)
class Listing(Result):
    """Rows of what there is, each with the same names."""

    reporter: ClassVar[str] = "perf_basics.answers:listing_report"

    what: str
    rows: Sequence[Mapping[str, Any]]
    json_kind: str

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {"rows": self.rows}


def info(data: Any, **options: Any) -> Facts:
    """What data are, how much there is, and which commands apply.

    Parameters
    ----------
    data : str, path, Trace, UtilizationCurve, Series or Measurements
        A path is read first.
    **options
        Of the reader; see `perfcore.read`.

    Examples
    --------
    >>> info("examples/step.csv")["kind"]
    'utilization curve'
    """
    from perf_basics.describe import describe
    from perfcore.reading.recognise import read

    if isinstance(data, (str, os.PathLike)):
        return Facts(describe(read(data, **options), os.fspath(data)))
    return Facts(describe(data, getattr(data, "source", "data")))


def predict(
    model: Any, at: str | Iterable[str] | Mapping[str, Any] = (), interval: float | None = None,
    quantile: Sequence[float] = (),
) -> Predictions:  # fmt: skip
    """Values of a model at every combination of levels.

    Parameters
    ----------
    model : Model, str or path
        A fitted model, or its file. A structural model predicts by its own method.
    at : str, iterable of str, or mapping
        ``"p=1..1024*2,code=LU"``, or levels by variable; see `perf_tables.arguments.grid`. Default: the model's target.
    interval : float, optional
        Coverage of bounds, 0 to 1.
    quantile : sequence of float, optional
        Levels of quantiles, each an end of an interval.

    Raises
    ------
    PerfError
        The file is none of a model, or the points do not belong to it.

    Examples
    --------
    >>> import perfcore
    >>> model = perfcore.fit(perfcore.UtilizationCurve([0, 4, 10], [2, 8]), fitter="worley", phases=2, degree=0)
    >>> predict(model, at="t=1,5").values.tolist()
    [2.0, 8.0]
    """
    from perf_tables.arguments import grid, levels_at
    from perfcore.models.model import load

    loaded = load(model) if isinstance(model, (str, os.PathLike)) else model
    file = os.fspath(model) if isinstance(model, (str, os.PathLike)) else ""
    columns = grid(loaded, at)
    points: Any = next(iter(columns.values())) if len(loaded.variables) == 1 else columns
    meaning = "" if interval is None else loaded.bounds_meaning
    named = {loaded.shown_names[symbol]: levels for symbol, levels in columns.items()}
    values = loaded.predict_array(points, interval=interval)
    assumed = {loaded.shown_names[s]: v for s, v in loaded.target.items() if s not in levels_at(loaded, at)}
    quantiles = {f"p{100.0 * q:02.4g}": _quantile(loaded, points, q) for q in quantile}
    return Predictions(named, values, loaded.remarks(points), meaning, loaded, interval, file, assumed, quantiles)


def _quantile(model: Model, points: Any, level: float) -> npt.NDArray[np.float64]:
    if not 0.0 < level < 1.0:
        raise OptionError(f"--quantile {level:g}: levels are between 0 and 1, such as 0.05,0.95")
    if level == 0.5:
        return model.predict(points)
    return model.predict_array(points, interval=abs(2.0 * level - 1.0))[:, 1 if level < 0.5 else 2]


def formats() -> Listing:
    """The formats that can be read: name, endings, what they give, whether they are written, and an example.

    Examples
    --------
    >>> "csv" in [row["name"] for row in formats().rows]
    True
    """
    return Listing("formats", [_facts(entry) for entry in registry().entries("readers").values()], "formats")


def plugins() -> Listing:
    """What is installed: kind, name, distribution and what it is.

    Examples
    --------
    >>> {"kind": "reader", "name": "csv"}.items() <= next(r for r in plugins().rows if r["name"] == "csv").items()
    True
    """
    entries = [each for kind in registry().kinds for each in registry().entries(kind).values()]
    entries.sort(key=lambda each: each.distribution == "perfcore")  # others first
    rows = [{"kind": e.kind[:-1], "name": e.name, "from": e.distribution, "help": e.help} for e in entries]
    return Listing("implementations", rows, "plugins")


def _facts(entry: Entry) -> dict[str, Any]:
    """What a reader says of itself; one that lacks its library is listed with what to install."""
    facts: dict[str, Any] = {"name": entry.name, "endings": list(entry.suffixes), "gives": "", "writes": False}
    facts |= {"help": entry.help, "problem": None, "example": ""}
    try:
        reader = entry.load()
    except PerfError as error:
        return facts | {"problem": str(error)}
    types = re.findall(r"\w+", str(inspect.signature(reader.read).return_annotation))
    kinds = [kind for kind in _EXAMPLES if kind in types]
    name = "run" + (entry.suffixes[0] if entry.suffixes else "")
    example = _EXAMPLES[kinds[0]] if len(kinds) == 1 else "perf info {file}"
    gives = " or ".join(kind.lower().removeprefix("utilization") for kind in kinds) if kinds else _TABLE
    return facts | {"gives": gives, "writes": reader.writes, "example": example.format(file=name)}
