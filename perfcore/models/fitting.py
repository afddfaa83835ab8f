"""Data to a model: the contract of the hook `register_fitters`, and what finds and runs a fitter.

Which fitter takes a kind of data when none is named, fitters say themselves where they register (``default_for`` and
``ranks_for``).
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from perfcore.base import progress
from perfcore.base.errors import DataError, OptionError, PerfError
from perfcore.data import kind_in_words, kind_of
from perfcore.data.measurements import Measurements
from perfcore.hooks.options import NoOptions, describe, option
from perfcore.hooks.registry import Entry, build_options, registry
from perfcore.hooks.specs import GROUP
from perfcore.reading.recognise import read, read_frame

if TYPE_CHECKING:
    from collections.abc import Iterable

    from perfcore.models.model import Model
    from perfcore.models.ranking import Ranking

NO_PARTS = "{} works in one process and has no parts for --parallel (executor); leave it out"
# Options of fitters that say what the columns of a table are, and which rows count: the kind of data hangs on them.
_ROLES = {"parameter": "parameters", "value": "value", "code": "code", "system": "system", "unit": "unit"}


@dataclass(frozen=True)
class CurveOptions:
    """Options of a fitter of one curve (`perf_statistics.curve_fitter`); a derived class declares further ones."""

    at: str | None = option(None, "point to predict, such as p=64 (default: the largest measured)", metavar="NAME=...")


class Fitter(ABC):
    """Turns data into a model.

    `takes` are the types of data that it fits; a file that could be read as several is read as one of them.
    `model_type` is the class of its models, or ``"package.module:Class"`` if only a fit has to import it.
    """

    Options: ClassVar[type] = NoOptions
    model_type: ClassVar[type[Model] | str]
    takes: ClassVar[tuple[type, ...]] = ()
    takes_executor: ClassVar[bool] = False  # ``executor`` of `fit` and `rank`; any number of workers changes nothing

    @abstractmethod
    def fit(self, data: Any, options: Any, **parts: Any) -> Any:
        """Fit, and return the `Model`.

        Parameters
        ----------
        data : Trace, UtilizationCurve, Series or Measurements
        options : instance of `Options`
        **parts
            For each option declared with ``selects=KIND`` the selected implementation, constructed with the options
            that it declares itself.
        """

    def rank(self, data: Any, options: Any, **parts: Any) -> Ranking:
        """Compare the models that the fitter can make; arguments as for `fit`.

        Raises
        ------
        OptionError
            It makes one model only.
        """
        raise OptionError(f"{type(self).__name__} makes one model and has none to rank; use `perf fit`")

    @classmethod
    def class_of_models(cls) -> type[Model]:
        """Return `model_type`, imported if it is named."""
        if not isinstance(cls.model_type, str):
            return cls.model_type
        module, _, name = cls.model_type.partition(":")
        found: type[Model] = getattr(importlib.import_module(module), name)
        return found

    @classmethod
    def join_runs(cls, parts: Iterable[tuple[Path, Any]], fields: Sequence[Mapping[str, Any]], name: str) -> Any:
        """Return curves of several runs as one data set; asked of the default fitter of curves.

        Arguments are those of `perfcore.reading.recognise.join`.
        """
        raise DataError(f"{name}: curves of several runs cannot be put together; fit each separately")

    @classmethod
    def facts(cls, data: Any) -> dict[str, Any]:
        """What this fitter sees in data that it takes, for `perf info`; without any option, and without fitting.

        Returns
        -------
        dict
            By the name under which it is printed, JSON-ready. ``next`` are suggestions: options of ``perf fit FILE``
            (where there are none, the fitter's name and a picture).
        """
        return {}

    @classmethod
    def suits(cls, data: Any) -> bool:
        """Whether it can be expected to fit data that it takes without any option: `perf info` suggests it then."""
        return True


def fit(data: Any, *, fitter: str | None = None, executor: Executor | None = None, **options: Any) -> Model:
    """Fit a model.

    Parameters
    ----------
    data : Trace, UtilizationCurve, Series, Measurements, pandas.DataFrame, str or path
        A path is read first.
    fitter : str, optional
        Name of the fitter (``perf plugins`` lists them); by default the one that is registered for this kind of data
        (`perfcore.data.kind_of`), which is printed as a note (`perfcore.base.progress`).
    executor : concurrent.futures.Executor, optional
        What does parts of the work, where the fitter has such; any number of workers gives the same model.
    **options
        Options of the fitter and of the parts that they select (``perf plugins NAME`` lists them).

    Raises
    ------
    UnknownNameError
        No such fitter or option; the nearest name is suggested.
    OptionError
        A value is not accepted, no fitter is named or registered for this kind of data, or it has no parts for others.

    Examples
    --------
    >>> import perfcore
    >>> curve = perfcore.UtilizationCurve([0, 4, 10], [2, 8])
    >>> model = perfcore.fit(curve, phases=2, degree=0)
    >>> [(phase.start, phase.end) for phase in model.phases], model.epsilon
    ([(0.0, 4.0), (4.0, 10.0)], 0.0)
    """
    implementation, data, chosen, parts = _prepared(data, fitter, options, executor, ranking=False)
    model: Model = implementation.fit(data, chosen, **parts)
    return model


def rank(data: Any, *, fitter: str | None = None, executor: Executor | None = None, **options: Any) -> Ranking:
    """Rank the candidate models of a fitter.

    Of a file of many series it ranks these (`by`, `at`, `top`). Parameters and errors are those of `fit`; the default
    is the fitter that is registered to rank this kind of data.

    Examples
    --------
    >>> import pandas as pd
    >>> runs = pd.DataFrame({"p": [1, 2, 4, 8, 16], "time_s": [8.2, 4.4, 2.4, 1.45, 0.93]})
    >>> rank(runs, terms=2).candidates[0].functions
    ('1/p', '1')
    """
    from perfcore.models.model import model_file_entry

    if isinstance(data, (str, os.PathLike)) and (entry := model_file_entry(data, is_fitted=True)) is not None:
        series: Ranking = entry.load().rank(Path(data), **options)
        return series
    if fitter is not None and not _ranks(fitter):
        raise OptionError(f"{fitter} makes one model and has none to rank; use `perf fit --fitter {fitter}`")
    implementation, data, chosen, parts = _prepared(data, fitter, options, executor, ranking=True)
    ranking: Ranking = implementation.rank(data, chosen, **parts)
    return ranking


def default_fitter(
    data: Any, options: Mapping[str, Any] = MappingProxyType({}), *, ranking: bool = False
) -> tuple[str, str]:
    """Return the fitter of data when none is named, one of perfcore before others, and a line that says which."""
    data = coerce(data, options)
    kind, task = kind_of(data), "rank" if ranking else "fit"
    entries = registry().entries("fitters").values()
    claiming = [entry for entry in entries if kind in (entry.ranks_for if ranking else entry.default_for)]
    if not claiming:
        able = [name for name in _that_take(data) if not ranking or _ranks(name)]
        if not able:
            raise OptionError(f"{data.source}: no fitter can {task} {kind}; `perf info` says what can be done with it")
        raise OptionError(
            f"{data.source}: no fitter is the default to {task} {kind}; name one with --fitter: {', '.join(able)}"
        )
    chosen, *others = sorted(claiming, key=lambda entry: entry.distribution != GROUP)
    if not ranking and (only := _only_with(options, data, chosen)) is not None:
        chosen, others = only, []
    also = "".join(f"; {entry.name} of {entry.distribution} is registered for it too" for entry in others)
    return chosen.name, f"fitter: {chosen.name} (for {kind_in_words(data)}{also}; set with --fitter)"


def _only_with(options: Mapping[str, Any], data: Any, default: Entry) -> Entry | None:
    """The one fitter of such data that has all options that are given, if the default lacks one of them."""
    given = {name for name, value in options.items() if value is not None and name not in _ROLES and name != "where"}
    entries = [registry().entry("fitters", name) for name in _that_take(data)] if given else []
    having = [each for each in entries if given <= {field.name for field in describe(each.load_options())}]
    if len(having) > 1 and default not in having:
        names = " or ".join(each.name for each in having)
        raise OptionError(f"{', '.join(sorted(given))}: options that {default.name} lacks; use --fitter {names}")
    return having[0] if len(having) == 1 and having[0].name != default.name else None


def types_to_read(
    fitter: str | None, options: Mapping[str, Any] = MappingProxyType({}), *, ranking: bool = False
) -> tuple[type, ...]:
    """Types to prefer for a file that can be read as several; empty for the reader's default.

    Options that name what was varied or measured say that the file holds measurements.
    """
    if fitter is not None:
        return tuple(registry().load("fitters", fitter).takes)
    if not ranking:
        if options.get("column"):
            from perfcore.data.series import Series

            return (Series,)
        return (Measurements,) if any(options.get(name) for name in (*_ROLES, "path")) else ()
    entries = registry().entries("fitters").values()
    return tuple({accepted: None for entry in entries if entry.ranks_for for accepted in entry.load().takes})


def coerce(data: Any, options: Mapping[str, Any]) -> Any:
    """Return measurements with the roles and rows that options name; as they are if these fail, as the fitter says."""
    data = _from_frame(data, options)
    if not isinstance(data, Measurements):
        return data
    try:
        chosen = data.with_roles(**{role: options[name] for name, role in _ROLES.items() if options.get(name)})
        return chosen.where(options["where"]) if options.get("where") else chosen
    except PerfError:
        return data


def _from_frame(data: Any, options: Mapping[str, Any], wanted: Sequence[type] = ()) -> Any:
    """Return what a file of a table of pandas would hold; its columns as they are if options name what these are."""
    pandas = sys.modules.get("pandas")  # which a table's owner has imported
    if pandas is None or not isinstance(data, pandas.DataFrame):
        return data
    return Measurements(data, source="table") if any(map(options.get, _ROLES)) else read_frame(data, wanted)


def _prepared(
    data: Any, name: str | None, options: Mapping[str, Any], executor: Executor | None, *, ranking: bool
) -> tuple[Any, Any, Any, dict[str, Any]]:
    """An instance of the fitter, the data, read where they are a path, its options, and what else it is given."""
    note = None
    if getattr(data, "ndim", 0) == 1:  # an array: samples without times
        from perfcore.data.series import Series

        data = Series(range(len(data)), {"value": data}, source="array")
    data = _from_frame(data, options, types_to_read(name, options, ranking=ranking))
    if name is None:  # the kind of the data must be known
        if isinstance(data, (str, os.PathLike)):
            data = read(data, wanted=types_to_read(None, options, ranking=ranking))
        name, note = default_fitter(data, options, ranking=ranking)
    entry = registry().entry("fitters", name)
    chosen, parts = resolve(entry, options)
    implementation = entry.load()
    if executor is not None and not implementation.takes_executor:
        raise OptionError(NO_PARTS.format(name))
    if isinstance(data, (str, os.PathLike)):
        data = read(data, wanted=implementation.takes)
    data = _as_fitter_takes(data, name, implementation.takes)
    if note is not None:
        progress.note(note)
    return implementation(), data, chosen, parts if executor is None else {**parts, "executor": executor}


def _as_fitter_takes(data: Any, name: str, takes: tuple[type, ...]) -> Any:
    """Return data of a type that the fitter takes, or raise DataError."""
    if not takes or isinstance(data, takes):
        return data
    if not hasattr(data, "data_kind"):
        raise DataError(f"{name} fits {' or '.join(one.__name__ for one in takes)}, not {type(data).__name__}")
    others = _that_take(data)
    hint = f"; use --fitter {' or '.join(others)}" if others else ""
    raise DataError(f"{data.source} contains {type(data).__name__}, but fitter {name} needs other data{hint}")


def _that_take(data: Any) -> list[str]:
    names = []
    for name, entry in registry().entries("fitters").items():
        with contextlib.suppress(PerfError):  # one that lacks its library must not hide the others
            if isinstance(data, entry.load().takes):
                names.append(name)
    return names


def _ranks(name: str) -> bool:
    """Whether a fitter has several models to compare."""
    return registry().load("fitters", name).rank is not Fitter.rank


def resolve(entry: Entry, given: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The fitter's options, and the parts that they select, each constructed with its own options."""
    chosen, parts = build_options(entry, given)
    return chosen, {name: part.load()(options) for name, (part, options) in parts.items()}
