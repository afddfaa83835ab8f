"""Readers of the formats in which traces, curves, series and tables come."""

from perf_io.results import register_results
from perf_io.traces import register_traces
from perfcore import hookimpl
from perfcore.hooks.specs import Register

__all__ = ["register_class_tables", "register_classifiers", "register_joins", "register_kinds", "register_readers"]


@hookimpl
def register_kinds(register: Register) -> None:
    """Announce the kind of tables that say what a location does while it is in a state."""
    register(
        "class_tables",
        "perf_traces.states:ClassTable",
        help="classes of states by name: the path of a TOML file, asked before the standard one",
    )


@hookimpl
def register_class_tables(register: Register) -> None:
    """Announce the bundled table."""
    register("states", "perf_traces.states:STANDARD", help="states of the tracers and libraries that are known here")


@hookimpl
def register_classifiers(register: Register) -> None:
    """Announce which states compute."""
    register("class-tables", "perf_traces.states:computing_states", help="computing by the tables of classes")


@hookimpl
def register_joins(register: Register) -> None:
    """Announce what makes one table of measurements in several files."""
    register(
        "perfcore.data.measurements:Measurements",
        "perf_io.shared.joining:join_measurements",
        help="tables with what the names of the files say as further columns",
    )
    register(
        "perfcore.data.trace:Trace",
        "perf_traces.joining:join_traces",
        options="perf_traces.options:TraceOptions",
        help="which locations and which part of a run; of several runs what their curves are together",
    )


@hookimpl
def register_readers(register: Register) -> None:
    """Announce the bundled readers."""
    register(
        "csv",
        "perf_io.tables.csv:CsvReader",
        options="perf_io.tables.options:TextTableOptions",
        help="tables of text: curves, traces, time series",
        suffixes=(".csv", ".tsv", ".txt"),
    )
    register(
        "parquet",
        "perf_io.tables.parquet:ParquetReader",
        options="perf_io.tables.options:TableOptions",
        help="Parquet: curves, traces, time series",
        suffixes=(".parquet", ".pq"),
    )
    register(
        "pj_dump",
        "perf_io.traces.pj_dump:PjDumpReader",
        options="perf_io.traces.options:PjDumpOptions",
        help="states printed by pj_dump or StarVZ",
        suffixes=(".csv",),
    )
    register(
        "paje",
        "perf_io.traces.paje:PajeReader",
        options="perf_io.traces.options:PajeOptions",
        help="Pajé traces",
        suffixes=(".trace", ".paje"),
    )
    register(
        "paraver",
        "perf_io.traces.paraver:ParaverReader",
        help="Paraver traces, with their .pcf",
        suffixes=(".prv",),
    )
    register(
        "picl",
        "perf_io.traces.picl:PiclReader",
        help="PICL traces, new and old format",
        suffixes=(".trf", ".picl"),
    )
    register(
        "mpstat",
        "perf_io.monitors.mpstat:MpstatReader",
        options="perf_io.monitors.options:CpuOptions",
        help="processors, by mpstat -o JSON",
        suffixes=(".json",),
    )
    register(
        "sadf",
        "perf_io.monitors.sadf:SadfReader",
        options="perf_io.monitors.options:CpuOptions",
        help="processors, by sadf -j or sadf -d of sysstat",
        suffixes=(".json", ".txt", ".csv"),
    )
    register(
        "prometheus",
        "perf_io.monitors.prometheus:PrometheusReader",
        help="answers of Prometheus to range queries",
        suffixes=(".json",),
    )
    register(
        "extrap",
        "perf_io.results.extrap_text:ExtrapTextReader",
        help="text format of Extra-P",
        suffixes=(".extrap", ".txt"),
    )
    register(
        "extrap-lines",
        "perf_io.results.extrap_lines:ExtrapLinesReader",
        help="JSON Lines of Extra-P",
        suffixes=(".jsonl",),
    )
    register_results(register)
    register_traces(register)
