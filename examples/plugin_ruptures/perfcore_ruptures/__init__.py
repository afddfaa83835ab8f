"""A perfcore plugin: what it adds, by name; the implementations are imported when they are used."""

from perfcore import hookimpl
from perfcore.hooks.specs import Register

__all__ = ["register_readers", "register_segmenters"]


@hookimpl
def register_readers(register: Register) -> None:
    """Announce the reader."""
    register(
        "loadlog",
        "perfcore_ruptures.load_log:LoadLogReader",
        options="perfcore_ruptures.options:LoadLogOptions",
        help="load logs: one line of `epoch_seconds load` for each sample",
        suffixes=(".load",),
    )


@hookimpl
def register_segmenters(register: Register) -> None:
    """Announce the segmenter."""
    register(
        "ruptures",
        "perfcore_ruptures.segmenter:RupturesSegmenter",
        options="perfcore_ruptures.options:RupturesOptions",
        help="bottom-up and exact segmentation by the ruptures library",
        extra="perfcore-ruptures",
    )
