"""What a program finds where it runs: closed streams, and settings of libraries in the current folder.

A folder of data configures nothing: numba would read ``.numba_config.yaml`` there, whose ``cache_dir`` makes it
unpickle files, and matplotlib ``matplotlibrc``.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

_SETTINGS = {"matplotlib": "matplotlibrc", "numba.core.config": ".numba_config.yaml"}  # file that a module reads


def open_closed_streams() -> None:
    """Open standard streams that are closed, as cron and daemons leave them; else files would take their numbers."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the least free number
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, closefd=False))


def ignore_settings_of_folder() -> None:
    """Let no library read its settings from the current folder, for the rest of the process."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of `_SETTINGS` as others do, and hides their file from them while they are imported."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in _SETTINGS:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, _SETTINGS[fullname])
        return spec


class _Loader(importlib.abc.Loader):
    """Executes a module as another loader does, while ``os.path.exists`` says that there is no such file."""

    def __init__(self, loader: Any, file: str) -> None:
        self._loader, self._file = loader, file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        exists = os.path.exists
        os.path.exists = lambda path: path != self._file and exists(path)
        try:
            self._loader.exec_module(module)
        finally:
            os.path.exists = exists
        if hasattr(module, "_config_fname"):  # numba looks again when it is told to reload
            setattr(module, "_config_fname", os.devnull)  # noqa: B010
