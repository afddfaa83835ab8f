"""Options of the reader of stores."""

from __future__ import annotations

from dataclasses import dataclass

from perfcore.hooks.options import option


@dataclass(frozen=True)
class ExperimentStoreOptions:
    """Which runs count."""

    noisy: bool = option(True, "keep runs before which others used the machine")
