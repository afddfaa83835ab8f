"""How a file is opened that is neither data nor a fitted model: structural models, predictions with what happened."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from perfcore.base.errors import OptionError
from perfcore.hooks.options import NoOptions

__all__ = ["Opener"]


class Opener(ABC):
    """Opens files of a kind of its own for ``perf predict``, ``perf explore`` and ``perf report``.

    Its module imports nothing heavy before `open` is called: help asks every opener for its options.

    Attributes
    ----------
    Options : type
        Dataclass of options (`perfcore.hooks.options`).
    predicts : bool
        It has `predict`.
    parts : str or None
        Its `predict` takes ``executor=``, a `concurrent.futures.Executor`, which changes no digit: what each process
        calls before its first part, ``"module:function"``.
    takes_data : bool
        The data file that follows on the command line belongs to it.
    """

    Options: ClassVar[type] = NoOptions
    predicts: ClassVar[bool] = False
    parts: ClassVar[str | None] = None
    takes_data: ClassVar[bool] = False

    @abstractmethod
    def sniff(self, path: Path) -> float:
        """How sure it is, 0 to 1, that an existing file is one of its own."""

    @abstractmethod
    def open(self, path: str, options: Any, data: str | None = None) -> Any:
        """What the file holds: a result that a presenter shows.

        Parameters
        ----------
        path : str
        options : instance of `Options`
        data : str, optional
            The data file that followed, where it takes one.

        Raises
        ------
        PerfError
            The file cannot be used; in one line.
        """

    def predict(self, path: str, options: Any) -> Any:
        """What the file predicts: a result with ``to_dict``, shown by its presenter.

        Raises
        ------
        OptionError
            It predicts nothing.
        """
        raise OptionError(f"{path} predicts nothing")
