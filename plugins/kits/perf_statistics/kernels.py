"""Compiled kernels: numba's ``njit`` that also works where nothing can be cached, and says when it compiles.

Numba is imported when the first kernel is compiled. Little work is left to Python, since compiling takes longer.
"""

from __future__ import annotations

import contextlib
import functools
import json
import threading
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from perfcore.base import progress
from perfcore.base.surroundings import ignore_settings_of_folder

# Sums may be reordered and multiplications fused, so that loops become vector instructions; NaN and infinity stay.
# Kernels touch arrays alone, so that threads may run them side by side. A kernel that another calls becomes part of it:
# else it has two machine codes, which may add up in another order, and a process that compiles takes the one, a process
# that finds the caller's on disk the other.
_OPTIONS: dict[str, Any] = {
    "fastmath": {"reassoc", "contract", "nsz"},
    "error_model": "numpy",
    "nogil": True,
    "forceinline": True,
}
_lock = threading.Lock()  # one thread compiles
_interpreting = threading.local()
_note_once = functools.cache(progress.note)


class Kernel:
    """A function over arrays that is compiled on first use, or left to Python where all arrays are small."""

    def __init__(self, function: Callable[..., Any], small: int = 0) -> None:
        functools.update_wrapper(self, function)
        self._function, self.small = function, small
        # Numba finds machine code on disk by this name, and does not look at the options that it was made with.
        options = json.dumps(_OPTIONS, default=sorted, sort_keys=True)
        function.__qualname__ = f"{function.__name__}_{zlib.crc32(options.encode()):08x}"

    def __call__(self, *args: Any) -> Any:
        """Call the function; kernels that it calls are compiled where it is, and otherwise not."""
        if getattr(_interpreting, "is_on", False):
            return self._function(*args)
        if self.small and all(np.size(value) < self.small for value in args):
            return self.interpreted(*args)
        return self.compiled(*args)

    def interpreted(self, *args: Any) -> Any:
        """Call the function without compiling it."""
        _interpreting.is_on = True
        try:
            with np.errstate(all="ignore"):
                return self._function(*args)
        finally:
            _interpreting.is_on = False

    @functools.cached_property
    def compiled(self) -> Any:
        """Numba's dispatcher, whose machine code is kept on disk if a folder can be written; else the Python code."""
        with _lock:
            if "compiled" in self.__dict__:
                return self.__dict__["compiled"]
            numba = _numba()
            if numba is None:
                _note_once("numba is not installed: kernels run in Python, some 100 times slower on long data")
                return self.interpreted
            compiled = numba.njit(**_OPTIONS)(self._function)
            with contextlib.suppress(RuntimeError):  # no folder can be written
                compiled.enable_caching()
            compiled._cache = _Cache(compiled._cache)
            return compiled


class _Cache:
    """Numba's cache of a kernel, less what cannot be read or written."""

    def __init__(self, files: Any) -> None:
        self._files, self.cache_path = files, files.cache_path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        with contextlib.suppress(Exception):  # whatever unpacking a damaged file raises
            found = self._files.load_overload(sig, target_context)
            # Two processes that compile at once may give their files the same name.
            if found is not None and found.signature.args == tuple(sig):
                return found
        return _note_once("compiling numerical kernels, a few seconds, first use only")

    def save_overload(self, sig: Any, data: Any) -> Any:
        for _ in range(2):  # the second time without an index that could not be read
            with contextlib.suppress(Exception):
                return self._files.save_overload(sig, data)
            with contextlib.suppress(Exception):
                self._files.flush()


def kernel(function: Callable[..., Any] | None = None, *, small: int = 0) -> Any:
    """Decorate a kernel. Calls whose arrays all have fewer than `small` elements are left to Python."""
    return functools.partial(Kernel, small=small) if function is None else Kernel(function, small)


def can_compile() -> bool:
    """Return whether numba is installed; without it, what few array operations do is faster than kernels."""
    return _numba() is not None


@functools.cache
def _numba() -> Any:
    """Return numba, which needs no kernels to be compiled; None if it is not installed."""
    ignore_settings_of_folder()
    try:
        import numba
    except ImportError:
        return None
    from numba.extending import typeof_impl

    typeof_impl.register(Kernel)(lambda kernel, _: numba.typeof(kernel.compiled))  # type: ignore[no-untyped-call]
    return numba
