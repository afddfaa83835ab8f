"""Which registered opener a file belongs to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from perfcore.base.errors import OptionError, PerfError
from perfcore.hooks.options import NoOptions
from perfcore.hooks.registry import registry


def opener_of(path: str) -> tuple[str, Opener] | None:
    """Name and opener of a file; None where it holds data or a fitted model, or is no file."""
    file = Path(path)
    if not file.is_file():  # a folder, a pattern, standard input; whoever reads it says when there is nothing
        return None
    best: tuple[float, str, Opener] | None = None
    for name, entry in registry().entries("openers").items():
        if entry.suffixes and file.suffix.lower() not in entry.suffixes:
            continue
        try:
            opener: Opener = entry.load()()
        except PerfError:  # one that lacks its library must not hide the others
            continue
        sure = opener.sniff(file)
        if sure > 0.0 and (best is None or sure > best[0]):
            best = sure, name, opener
    return best and best[1:]


class Opener(ABC):
    """Opens files of a kind of its own for ``perf predict``, ``perf validate`` and ``perf explore``.

    Its module imports nothing heavy before `open` is called: help asks every opener for its options.
    """

    Options: ClassVar[type] = NoOptions  # dataclass of options (`perfcore.hooks.options`)
    predicts: ClassVar[bool] = False  # it has `predict`
    parts: ClassVar[str | None] = None
    takes_data: ClassVar[bool] = False  # the data file that follows on the command line belongs to it
    Validation: ClassVar[type | None] = None  # dataclass of the options of `validate`, where it has that

    @abstractmethod
    def sniff(self, path: Path) -> float:
        """How sure it is, 0 to 1, that an existing file is one of its own."""

    @abstractmethod
    def open(self, path: str, options: Any, data: str | None = None) -> Any:
        """What the file holds: a result that a presenter shows."""

    def predict(self, path: str, options: Any) -> Any:
        """What the file predicts: a result with ``to_dict``, shown by its presenter."""
        raise OptionError(f"{path} predicts nothing")

    def validate(self, path: str, data: str, options: Any, output: str | None) -> Any:
        """What the file predicts beside what happened: a result with ``to_dict``, shown by its presenter."""
        raise OptionError(f"{path} predicts nothing")
