"""Scaling laws of thousands of call paths: generic terms, averaged by how well each explains the data."""

from __future__ import annotations

from perfcore import hookimpl
from perfcore.hooks.specs import Register

__all__ = ["register_fitters", "register_models"]


@hookimpl
def register_fitters(register: Register) -> None:
    """Announce the fitter."""
    register(
        "scaling",
        "perf_scaling.fitter:ScalingFitter",
        options="perf_scaling.options:ScalingOptions",
        help="scaling models n^i log2(n)^j of each call path, averaged by probability",
        default_for=("timings", "categories"),
    )


@hookimpl
def register_models(register: Register) -> None:
    """Announce files with a model of each of many series."""
    register(
        "series",
        "perf_scaling.many:SeriesFile",
        help="scaling models of many series in Parquet",
        suffixes=(".parquet",),
        default_for=("fit",),
    )
