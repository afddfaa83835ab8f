"""Readers of the traces that tracing tools write, one file for each format."""

from perfcore.hooks.specs import Register

__all__ = ["register_traces"]

_FORMATS = "perfcore[formats]"


def register_traces(register: Register) -> None:
    """Announce the readers of this package."""
    register(
        "chrome",
        "perf_io.traces.chrome:ChromeReader",
        options="perf_io.traces.options:ChromeOptions",
        help="Chrome and Perfetto JSON, PyTorch's profiler",
        suffixes=(".json",),
    )
    register(
        "otf2",
        "perf_io.traces.otf2:Otf2Reader",
        help="OTF2, by Score-P and others, also as tar",
        extra=_FORMATS,
        suffixes=(".otf2", ".tar"),
    )
    register(
        "projections",
        "perf_io.traces.projections:ProjectionsReader",
        help="Projections of Charm++, also as tar",
        suffixes=(".sts", ".tar"),
    )
    register(
        "nsight",
        "perf_io.traces.nsight:NsightReader",
        options="perf_io.traces.options:NsightOptions",
        help="Nsight Systems, its SQLite export",
        suffixes=(".sqlite", ".db"),
    )
    register(
        "caliper-trace",
        "perf_io.traces.caliper_trace:CaliperTraceReader",
        help="event traces of Caliper",
        extra=_FORMATS,
        suffixes=(".cali",),
    )
