"""Objects behind addresses, such as ``s3://bucket/runs.parquet``, copied to a temporary folder by fsspec."""

from __future__ import annotations

import importlib
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from perfcore.base.errors import InputError, MissingDependencyError

_VERSION = ("ETag", "etag", "generation", "LastModified", "Last-Modified", "mtime", "updated", "size")
_folders: list[TemporaryDirectory[str]] = []  # removed when the program ends: data may be read from them until then


def local_copy(address: str) -> Path:
    """Return a copy of an object that stayed the same while it was read."""
    needs = f"{address}: an address needs fsspec; pip install 'perfcore[remote]' brings it"
    try:
        fsspec: Any = importlib.import_module("fsspec")
    except ImportError:
        raise MissingDependencyError(needs) from None
    folder = TemporaryDirectory(prefix="perfcore-")
    _folders.append(folder)
    copy = Path(folder.name) / (PurePosixPath(address.partition("?")[0].partition("#")[0]).name or "object")
    try:
        system, path = fsspec.core.url_to_fs(address)
        before = _version(system, path)
        system.get_file(path, str(copy))
        after = _version(system, path)
    except ImportError as error:
        raise MissingDependencyError(f"{needs} ({error})") from None
    except FileNotFoundError:
        raise InputError(address, "there is no such object") from None
    except Exception as error:  # those of any library for any kind of storage
        problem = str(error).strip().partition("\n")[0] or type(error).__name__
        raise InputError(address, f"cannot be read: {problem}") from None
    if before != after or before.get("size", copy.stat().st_size) not in (None, copy.stat().st_size):
        raise InputError(address, "changed while it was read; read it again when it is complete")
    return copy


def _version(system: Any, path: str) -> dict[str, Any]:
    """Return what tells one version of an object from another."""
    system.invalidate_cache()
    described = system.info(path)
    return {key: described[key] for key in _VERSION if key in described}
