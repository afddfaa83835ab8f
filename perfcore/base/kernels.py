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
from pathlib import Path
from typing import Any

import numpy as np

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
_lock = threading.Lock()  # one thread compiles


class _Interpreting(threading.local):
    is_on = False


_interpreting = _Interpreting()
_COMPILING = "compiling numerical kernels, a few seconds, first use only"
_note_once = functools.cache(progress.note)


class Kernel:
    """A function over arrays that is compiled on first use, or left to Python where all arrays are small."""

    def __init__(self, function: Callable[..., Any], small: int = 0) -> None:
        functools.update_wrapper(self, function)
        self._function, self.small, self._is_ready = function, small, False
        # Numba finds machine code on disk by this name, and does not look at the options that it was made with.
        options = json.dumps(_OPTIONS, default=sorted, sort_keys=True)
        function.__qualname__ = f"{function.__name__}_{zlib.crc32(options.encode()):08x}"

    def __call__(self, *args: Any) -> Any:
        """Call the function; kernels that it calls are compiled where it is, and otherwise not."""
        if _interpreting.is_on:
            return self._function(*args)
        if all(np.size(value) < self.small for value in args):
            return self.interpreted(*args)
        compiled = self.compiled
        if not self._is_ready:
            if not _is_cached(compiled):
                _note_once(_COMPILING)
            self._is_ready = True
        return compiled(*args)

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
        """Numba's dispatcher; the machine code is kept on disk where a cache folder can be written."""
        with _lock:
            if "compiled" in self.__dict__:
                return self.__dict__["compiled"]
            numba, cache = _numba()
            compiled = numba.njit(**_OPTIONS)(self._function)
            with contextlib.suppress(RuntimeError):  # no folder can be written
                compiled._cache = cache(self._function)
            return compiled


def kernel(function: Callable[..., Any] | None = None, *, small: int = 0) -> Any:
    """Decorate a kernel. Calls whose arrays all have fewer than `small` elements are left to Python."""
    return functools.partial(Kernel, small=small) if function is None else Kernel(function, small)


@functools.cache
def _numba() -> tuple[Any, Any]:
    """Numba, and its cache that leaves out what it cannot read or write."""
    import numba
    from numba.core.caching import FunctionCache
    from numba.extending import typeof_impl

    class Cache(FunctionCache):
        def load_overload(self, sig: Any, target_context: Any) -> Any:
            try:
                found = super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
            except Exception:  # whatever unpacking a damaged file raises
                _note_once(_COMPILING)
                with contextlib.suppress(OSError):
                    self.flush()  # type: ignore[no-untyped-call]
                return None
            # Two processes that compile at once may give their files the same name.
            return found if found is not None and found.signature.args == tuple(sig) else None

        def save_overload(self, sig: Any, data: Any) -> None:
            with contextlib.suppress(Exception):  # a full disk, or a damaged index that cannot be replaced
                super().save_overload(sig, data)  # type: ignore[no-untyped-call]

    typeof_impl.register(Kernel)(lambda kernel, _: numba.typeof(kernel.compiled))  # type: ignore[no-untyped-call]
    return numba, Cache


def _is_cached(compiled: Any) -> bool:
    folder = compiled.stats.cache_path
    name = f"{compiled.py_func.__module__.rpartition('.')[2]}.{compiled.py_func.__qualname__}-*.nbi"
    return folder is not None and any(Path(folder).glob(name))
