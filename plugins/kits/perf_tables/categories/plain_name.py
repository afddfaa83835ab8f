"""Names of categories, columns and factors as they are compared, since no two tools spell them alike."""

from __future__ import annotations

import functools
import re


@functools.lru_cache(maxsize=1 << 14)  # thousands of call paths are compared with every model
def plain_name(name: str) -> str:
    """A name as it is compared: in lower case, with single blanks for ``_`` and ``-``."""
    return " ".join(re.sub(r"[_\-\s]+", " ", name).casefold().split())
