"""Data to a model: the contract of the hook `register_fitters`."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from perfcore.base.errors import DataError, OptionError
from perfcore.hooks.options import NoOptions, option

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from perfcore.models.model import Model
    from perfcore.models.ranking import Ranking

__all__ = ["CurveOptions", "Fitter"]


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
