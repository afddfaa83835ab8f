"""Compiled kernels: numba's ``njit`` that also works where nothing can be cached, and says when it compiles.

Numba is imported when the first kernel is made, not with this module. So a module of kernels imports it, and is itself
imported by who is about to call one.
"""

from __future__ import annotations

import functools
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from perfcore.base import progress

# Sums may be reordered and multiplications fused, so that loops become vector instructions; NaN and infinity keep
# their meaning. Kernels touch arrays alone, so that threads may run them side by side. A kernel that another calls
# becomes part of it. Else there are two machine codes of it, its own and one made together with the caller, which may
# add up in another order: a process that compiles takes the one, a process that finds the caller's on disk the other.
_OPTIONS: dict[str, Any] = {
    "fastmath": {"reassoc", "contract", "nsz"},
    "error_model": "numpy",
    "nogil": True,
    "forceinline": True,
}
_note_once = functools.cache(progress.note)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile on first use; keep the machine code on disk where a cache folder can be written."""
    import numba

    # Numba finds machine code on disk by this name, and does not look at the options that it was made with.
    options = json.dumps(_OPTIONS, default=sorted, sort_keys=True)
    function.__qualname__ = f"{function.__name__}_{zlib.crc32(options.encode()):08x}"
    try:
        return numba.njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:
        return numba.njit(**_OPTIONS)(function)


@functools.cache
def announce_compilation(*kernels: Any) -> None:
    """Tell the user, once in a process, if any of the kernels that are about to be called must be compiled first."""
    if not all(_is_cached(compiled) for compiled in kernels):
        _note_once("compiling numerical kernels, about 10 s, first use only")


def _is_cached(compiled: Any) -> bool:
    if compiled.signatures:
        return True
    folder = compiled.stats.cache_path
    name = f"{compiled.py_func.__module__.rpartition('.')[2]}.{compiled.py_func.__qualname__}-*.nbi"
    return folder is not None and any(Path(folder).glob(name))
