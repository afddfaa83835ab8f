"""Files of models that no fitter makes: structural models, and predictions to be judged."""

from __future__ import annotations

import os
from pathlib import Path

from perfcore.base.errors import PerfError
from perfcore.hooks.registry import Entry, registry


def model_file_entry(path: str | os.PathLike[str]) -> Entry | None:
    """Return the registered model whose file this is; None for data, fitted models and what is no file.

    A kind of model that has files of its own is registered with their ``suffixes``. Its class has a class method
    ``read(path)`` and, if not every file with such a suffix is one, ``is_file(path)``. Registered with
    ``default_for=("prediction",)`` it predicts (``predict(**options)``), with ``("validation",)`` it is compared with
    what happened (``validate(data, output, **options)``); ``options`` are those of that method.
    """
    file = Path(path)
    if not file.is_file():  # a folder, a pattern, standard input; reading it reports when there is nothing
        return None
    for entry in registry().entries("models").values():
        if file.suffix.lower() not in entry.suffixes or "fit" in entry.default_for:
            continue
        try:
            is_file = getattr(entry.load(), "is_file", None)
        except PerfError:  # one that lacks its library must not hide the others
            continue
        if is_file is None or is_file(file):
            return entry
    return None
