"""Options of the reader and the segmenter. Help and completion import this module only."""

from __future__ import annotations

from dataclasses import dataclass

from perfcore.hooks.options import option

__all__ = ["LoadLogOptions", "RupturesOptions"]


@dataclass(frozen=True)
class LoadLogOptions:
    """Options of the reader."""

    last_s: float | None = option(
        None, "seconds that the last sample lasts; by default as long as the median one", above=0
    )


@dataclass(frozen=True)
class RupturesOptions:
    """Options of the segmenter."""

    method: str = option(
        "bottom-up",
        "bottom-up: joins neighbours greedily, any degree; kernel: exact, degree 0 only",
        choices=("bottom-up", "kernel"),
    )
    max_samples: int = option(2000, "equally wide samples that ruptures is given", minimum=2)
    min_size: int = option(1, "samples of the shortest phase", minimum=1)
