"""Files of TOML, in which formulas, categories, models and designs are kept."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from perfcore.base.errors import InputError


def read_toml(path: str | os.PathLike[str], hint: str = "") -> dict[str, Any]:
    """What a TOML file holds."""
    import tomllib  # most commands read none

    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(path, "; ".join(filter(None, ["there is no such file", hint]))) from None
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(path, f"not TOML: {error}") from None
