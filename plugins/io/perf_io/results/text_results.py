"""Results in text: NPB, STREAM, IMB, OSU, nccl-tests, IOR, Go, JUBE, model factors."""

from __future__ import annotations

import bisect
import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from perf_io.options import MessageOptions
from perf_io.results.result_table import SHARE, Found, ResultReader, Row, number_or_text, one_line
from perf_io.text import decode_document
from perfcore.base import pd
from perfcore.data.measurements import Measurements
from perfcore.data.units import same_unit
from perfcore.hooks.options import NoOptions
from perfcore.reading.source import Source

Lines = Iterable[tuple[int, str]]

_COMPLETED = re.compile(r"\s*(\w+)\s+Benchmark Completed\.?\s*")
# What is printed, and the column that it becomes.
_NPB_COLUMNS = {
    **{"Class": "class", "Size": "size", "Iterations": "iterations", "Time in seconds": "time_s"},
    **{"Total processes": "processes", "Active processes": "active_processes"},
    **{"Total threads": "threads", "Avail threads": "available_threads"},
    **{"Mop/s total": "mops_total", "Verification": "verification", "Version": "version"},
}
_RATES = {"Best Rate MB/s": "MB/s", "Rate (MB/s)": "MB/s", "MBytes/sec": "MB/s", "MiBytes/sec": "MiB/s"}
_TIMES = {
    **{"Avg time": "average_s", "Average": "average_s", "Average (sec)": "average_s"},
    **{"Min time": "minimum_s", "Min (sec)": "minimum_s", "Max time": "maximum_s", "Max": "maximum_s"},
    "Max (sec)": "maximum_s",
}
_STREAM_HEADING = re.compile(r"Function {2,}(" + "|".join(map(re.escape, _RATES)) + r") {2,}\S.*")
_STREAM_BEGINS = re.compile(r"STREAM version .*|BabelStream")
_STREAM_SETTINGS = (
    re.compile(r"Number of Threads (?:requested|counted)\s*=\s*(?P<threads>[0-9]{1,9}).*"),
    re.compile(r"Data are distributed across (?P<processes>[0-9]{1,9}) MPI ranks.*"),
    re.compile(r"(?:Total Aggregate )?Array size\s*=\s*(?P<elements>[0-9]{1,15})\b.*"),
)
_STREAM_ROW = re.compile(r"([A-Za-z]\w{0,30}):?((?:\s+[-+0-9.eE]+)+)")
_STREAM_FAILED = re.compile(r"Failed Validation\b.*|Validation failed\b.*")
_IMB_BENCHMARK = re.compile(r"#\s*Benchmarking\s+(?P<benchmark>\S+).*")
_IMB_PROCESSES = re.compile(r"#\s*#processes\s*=\s*(?P<processes>[0-9]{1,9}).*")
_IMB_HEADING = re.compile(r"#(?:bytes|repetitions).*")
_IMB_MEASURED = ("t_avg", "t", "t_ovrl", "bandwidth")  # what stands for a line, in this order
_OSU_TITLE = re.compile(r"# ?OSU (?P<test>.+?)(?: v[0-9][\w.]*)?")
# Comments that say how a table was measured.
_OSU_SETTINGS = (
    re.compile(r"#\s*Datatype:\s*(?P<datatype>\S.*?)\.?"),
    re.compile(r"#\s*Window creation:\s*(?P<window_creation>\S.*?)\.?"),
    re.compile(r"#\s*Synchronization:\s*(?P<synchronization>\S.*?)\.?"),
    re.compile(r"#\s*Send Buffer on (?P<send_buffer>\w+) \(\w+\) and Receive Buffer on (?P<receive_buffer>\w+) .*"),
    re.compile(r"#\s*\[ pairs: (?P<pairs>[0-9]{1,9}) \](?: \[ window size: (?P<window>[0-9]{1,9}) \])?.*"),
)
# Non-blocking collectives without messages have this heading without a #.
_OSU_HEADING = re.compile(r"#\s*(?:Size\b.*|Avg Latency ?\(us\).*)|Overall\(us\).*")
_OSU_STARTUP = re.compile(
    r"nprocs: ([0-9]{1,9}), min: ([0-9.]{1,20}) (\w+), max: ([0-9.]{1,20}) \w+, avg: ([0-9.]{1,20}) \w+"
)
_VALIDATION = "validation"
# How mpirun and srun mark the lines of a process: `[1,0]<stdout>:`, `0: `.
_TAG = re.compile(r"^(?:\[[0-9]{1,9},[0-9]{1,9}\]<stdout>: ?|[0-9]{1,9}: )")
_NCCL_TEST = re.compile(r"# Collective test starting: (?P<test>\S{1,80}).*")
_NCCL_RANK = re.compile(r"#\s+Rank\s+(?P<rank>[0-9]{1,9})\b.*")
_NCCL_HEADING = re.compile(r"#\s+size\s+count\s+type\b.*\btime\b.*\balgbw\s+busbw\b.*")
_PLACES = ("out-of-place", "in-place")
# Time in us and bandwidths in 10^9 bytes a second, as the line below the heading says in all versions.
_NCCL_MEASURED = {"time": "time_us", "algbw": "algorithm_GB_s", "busbw": "bus_GB_s"}
_IOR_TITLE = re.compile(r"IOR-\S+: MPI Coordinated Test of Parallel I/O.*")
_IOR_HEADING = re.compile(r"access(?:,| +)bw\(MiB/s\).*")
_IOR_ENDS = re.compile(r"(?:Max |Summary of all tests|Operation ).*")
# Columns that runs have, by the setting that holds them.
_IOR_SETUP = {
    **{"api": "api", "access": "file_access", "nodes": "nodes", "tasks": "tasks", "clients per node": "tasks_per_node"},
    **{"segments": "segments"},
}
_IOR_SETTINGS = (
    *(re.compile(rf"{name}\s*[:=]\s*(?P<{column}>\S.*)") for name, column in _IOR_SETUP.items()),
    re.compile(r"clients\s*[:=]\s*(?P<tasks>[0-9]{1,9}) \((?P<tasks_per_node>[0-9]{1,9}) per node\)"),
)
# The columns that headings become; removing the file has no bandwidth and is no row.
_IOR_COLUMNS = {
    **{"access": "operation", "bw(MiB/s)": "bandwidth", "IOPS": "iops", "Latency(s)": "latency_s"},
    **{"Latency": "latency_s", "block(KiB)": "block_kib", "xfer(KiB)": "transfer_kib", "open(s)": "open_s"},
    **{"wr/rd(s)": "transfer_s", "close(s)": "close_s", "total(s)": "total_s", "numTasks": "tasks"},
    **{"iter": "repetition"},
}
_IOR_ORDER = (
    *("operation", "api", "file_access", "nodes", "tasks", "tasks_per_node", "segments", "repetition"),
    *("block_kib", "transfer_kib", "bandwidth", "iops", "latency_s", "open_s", "transfer_s", "close_s", "total_s"),
)
_MDTEST_RUN = re.compile(r"\s*mdtest-\S+ was launched with ([0-9]{1,9}) total task\(s\) on ([0-9]{1,9}) node\(s\).*")
_MDTEST_RATES = re.compile(r"\s*SUMMARY(?: rate)?: \(of ([0-9]{1,9}) iterations\)\s*")
_MDTEST_ROW = re.compile(r"\s*([A-Z][a-z]+ [a-z]+)\s*:?((?:\s+[0-9]+\.[0-9]+){4})\s*")  # max, min, mean, deviation
_GO_LINE = re.compile(r"Benchmark(\S*)\s+([0-9]{1,15})\s+(\S.*)")
_GO_SETUP = re.compile(r"(pkg|cpu):\s+(\S.*)")
_GO_PROCESSORS = re.compile(r"(.+)-([0-9]{1,6})")
_BLANK = re.compile("")
_RULE = re.compile(r"(?=.*---)[-+|\s]+")
_COUNT_OF_ROWS = re.compile(r"\s*\([0-9]+ rows?\)\s*")  # below tables that databases print
_NONE = {"", "nan", "non-avail", "warning!", "n/a"}
_PER_CENT = re.compile(r".*(efficiency|scalability|balance)", re.IGNORECASE)
_PROCESSES = re.compile(r"([0-9]{1,9})(?![0-9]).*")  # of several traces with as many, a number follows


class NpbReader(ResultReader):
    """Read runs of the NAS Parallel Benchmarks; each ``Benchmark Completed`` that was not verified as wrong is a row.

    Source: NPB 3.4, ``common/print_results.f90`` of the MPI, OpenMP and serial versions.
    """

    parameters, value, code = ("processes", "threads"), "time_s", ("benchmark", "class")

    def _take(self, content: Lines, found: Found, options: Any) -> None:
        rows: list[tuple[int, Row]] = []
        in_run = False
        for number, text in content:
            if completed := _COMPLETED.fullmatch(text):
                rows.append((number, {"benchmark": completed[1]}))
                in_run = True
            elif in_run and (column := _NPB_COLUMNS.get(text.partition("=")[0].strip())):
                field = text.partition("=")[2].strip()
                if column in ("time_s", "processes", "threads", "mops_total"):
                    rows[-1][1][column] = found.number(field, column, number)
                else:
                    rows[-1][1][column] = field if column in ("class", "size", "version") else number_or_text(field)
            elif text.strip() == "Compile options:":
                in_run = False
        if not rows:
            found.refuse("no benchmark was completed; the output has no 'Benchmark Completed'")
        for line, row in rows:
            if "time_s" not in row:
                found.refuse(f"{row['benchmark']} has no 'Time in seconds'; cut short?", line)
            if "threads" not in row:
                row.setdefault("processes", 1)  # the serial version prints none
            if str(row.get("verification", "")).startswith("UNSUCC"):
                found.left_out["since they were verified as wrong: {} runs"] += 1
            else:
                found.add(row, line=line)


def _table_lines(
    content: Lines, begins: re.Pattern[str], settings: Sequence[re.Pattern[str]], heading: re.Pattern[str],
    ends: re.Pattern[str] | None = None,
) -> Iterator[tuple[int, str, Row, str, int]]:  # fmt: skip
    """Yield number, text, settings above, heading and its line, of what is neither comment nor heading nor setting.

    What begins a run forgets the settings. What ends a table counts below its first row.
    """
    setup: Row = {}
    names, begin, has_rows = "", 0, False
    for number, line in content:
        text = _TAG.sub("", line).strip()
        if match := begins.fullmatch(" ".join(text.split())):
            setup, names = _given(match), ""
        elif heading.fullmatch(text):
            names, begin, has_rows = text, number, False
        elif match := next(filter(None, (setting.fullmatch(text) for setting in settings)), None):
            setup |= _given(match)
        elif ends and ends.fullmatch(text):
            names = "" if has_rows else names
        elif text and not text.startswith("#"):
            has_rows = True
            yield number, text, setup, names, begin


def _given(match: re.Match[str]) -> Row:
    return {name: value and number_or_text(value) for name, value in match.groupdict().items()}


class StreamReader(ResultReader):
    """Read tables of STREAM and BabelStream; each kernel of each run whose validation did not fail is a row.

    Source: STREAM 5.9 and 5.10, ``stream.c`` and ``stream_mpi.c``; BabelStream 4, ``src/main.cpp``.
    """

    parameters, code = ("threads", "processes", "elements"), ("kernel",)

    def _take(self, content: Lines, found: Found, options: Any) -> None:
        lines = _table_lines(content, _STREAM_BEGINS, _STREAM_SETTINGS, _STREAM_HEADING)
        for number, text, setup, heading, begin in lines:
            if heading and (match := _STREAM_ROW.fullmatch(text)):
                row: Row = {**setup, "kernel": match[1], "metric": "bandwidth"}
                for name, value in found.numbers(match[2].split(), re.split(r" {2,}", heading)[1:], number).items():
                    if name in _RATES:
                        row |= {"value": value, "unit": _RATES[name]}
                    elif name in _TIMES:
                        row[_TIMES[name]] = value
                found.add(row, line=number)
            elif _STREAM_FAILED.match(text) and (kept := bisect.bisect(found.lines, begin)) < len(found.lines):
                found.left_out["since their validation failed: {} runs of STREAM"] += 1
                del found.rows[kept:], found.lines[kept:]


def _column_and_unit(heading: str) -> tuple[str, str]:
    if match := re.fullmatch(r"(.+?)\s*[(\[]\s*([^()\[\]]+?)\s*[)\]]", heading.strip()):
        return re.sub(r"\W+", "_", match[1].lower()).strip("_"), same_unit(match[2])
    if re.fullmatch(r"M(?:bytes|B)/s(?:ec)?", heading):
        return "bandwidth", heading
    return re.sub(r"\W+", "_", heading.strip().lower().replace("/s", "_per_s")).strip("_") or "unnamed", ""


def _columns(numbers: Row) -> dict[str, tuple[Any, str]]:
    """Return value and unit of each column by its name."""
    named = ((_column_and_unit(heading), number) for heading, number in numbers.items())
    return {column: (number, unit) for (column, unit), number in named}


def _with_metric(columns: Mapping[str, tuple[Any, str]], metric: str) -> Row:
    row = {name: value for name, (value, _) in columns.items() if name != metric}
    return {**row, "metric": metric, "value": columns[metric][0], "unit": columns[metric][1]}


class ImbReader(ResultReader):
    """Read tables of the Intel MPI Benchmarks; each message size is a row.

    The value is the average time, or else the time or the bandwidth. Sizes that lacked memory are left out.

    Source: Intel MPI Benchmarks, User Guide, "Output"; tables of IMB-MPI1, -NBC, -P2P, -RMA and -MT.
    """

    Options = MessageOptions
    nothing = "holds no table of the Intel MPI Benchmarks"
    parameters, code = ("processes", "bytes"), ("benchmark",)

    def _take(self, content: Lines, found: Found, options: MessageOptions) -> None:
        lines = _table_lines(content, _IMB_BENCHMARK, [_IMB_PROCESSES], _IMB_HEADING, _BLANK)
        for number, text, setup, heading, _ in lines:
            if setup and heading and ("out-of-mem" in text or "time-out" in text):
                found.left_out["not measured for want of memory or time: {} message sizes"] += 1
            elif setup and heading:
                columns = _columns(found.numbers(text.split(), heading.split(), number))
                metric = next((name for name in _IMB_MEASURED if name in columns), next(reversed(columns)))
                found.add({**setup, **_with_metric(columns, metric)}, line=number)


class OsuReader(ResultReader):
    """Read tables of the OSU Micro-Benchmarks; each message size is a row, its first figure the value.

    Few tests print how many processes ran: take it from the name of the file, ``--from-name 'osu_p{p:int}.out'``.
    Sizes of which the validation failed are left out.

    Source: OSU Micro-Benchmarks 3 to 7, ``README``, ``util/osu_util.c`` and ``util/osu_util_mpi.c``.
    """

    Options = MessageOptions
    nothing = "holds no table of the OSU Micro-Benchmarks"
    parameters, code = ("processes", "pairs", "bytes"), ("test",)

    def _take(self, content: Lines, found: Found, options: MessageOptions) -> None:
        for number, text, setup, heading, _ in _table_lines(content, _OSU_TITLE, _OSU_SETTINGS, _OSU_HEADING, _BLANK):
            setup |= {name: word.lower() for name, word in setup.items() if name.endswith("_buffer")}
            if match := _OSU_STARTUP.fullmatch(text):
                row = {"processes": int(match[1]), "minimum": float(match[2]), "maximum": float(match[4])}
                average = {"metric": "average", "value": float(match[5]), "unit": match[3]}
                found.add({**setup, **row, **average}, line=number)
            elif setup and heading and text[0].isdecimal():
                names = re.split(r"\s{2,}|(?<=\))\s+", heading.lstrip("# "))
                headings = [" ".join(name.split()) for name in names]
                is_text = [name for name in headings if _column_and_unit(name)[0] == _VALIDATION]
                columns = _columns(found.numbers(text.split(), headings, number, is_text))
                validation, _ = columns.pop(_VALIDATION, ("Pass", ""))
                columns = {"bytes" if name == "size" else name: column for name, column in columns.items()}
                metric = next((name for name in columns if name != "bytes"), None)
                if metric is None:
                    found.refuse("the table has sizes only", number)
                if validation == "Pass":
                    found.add({**setup, **_with_metric(columns, metric)}, line=number)
                else:
                    found.left_out["since their validation failed: {} message sizes"] += 1


class NcclTestsReader(ResultReader):
    """Read tables of nccl-tests and rccl-tests; each size with right results is a row out of place, and one in place.

    The value is the time; the bandwidths of the algorithm and of the bus are columns.

    Source: nccl-tests 2, ``src/common.cu`` and ``doc/PERFORMANCE.md``.
    """

    Options = MessageOptions
    parameters, value = ("processes", "bytes"), "time_us"
    code, system = ("test", "type", "redop"), ("placement",)  # in place or not: ways to do the same

    def _take(self, content: Lines, found: Found, options: MessageOptions) -> None:
        for number, text, setup, heading, _ in _table_lines(content, _NCCL_TEST, [_NCCL_RANK], _NCCL_HEADING):
            fields = text.split()
            if heading and fields[0].isdecimal():
                test = {"test": setup["test"].removesuffix("_perf")} if "test" in setup else {}
                ranks = {"processes": setup["rank"] + 1} if "rank" in setup else {}
                for row in _nccl_rows(fields, heading.removeprefix("#").split(), found, number):
                    if row.pop("wrong"):
                        found.left_out["since their results were wrong: {} measurements"] += 1
                    else:
                        found.add({**test, **ranks, **row}, line=number)


def _nccl_rows(fields: Sequence[str], headings: Sequence[str], found: Found, line: int) -> Iterator[Row]:
    """Yield the measurement out of place, and that in place where there is one."""
    found.cells(fields, headings, line)
    first = headings.index("time")
    setup = dict(zip(headings[:first], fields[:first], strict=True))
    width = headings[first:].index("time", 1) if "time" in headings[first + 1 :] else len(headings) - first
    for place, begin in zip(_PLACES, range(first, len(headings), width), strict=False):
        measured = dict(zip(headings[begin : begin + width], fields[begin : begin + width], strict=True))
        if measured["time"] == "N/A":  # alltoall in place, for one
            continue
        row: Row = {
            "bytes": number_or_text(setup["size"]), "type": setup["type"],
            "redop": setup.get("redop", "none").replace("none", ""), "placement": place,
        }  # fmt: skip
        row |= {column: number_or_text(measured[name]) for name, column in _NCCL_MEASURED.items() if name in measured}
        if any(isinstance(row.get(column), str) for column in ("bytes", *_NCCL_MEASURED.values())):
            found.refuse(f"numbers are expected for {', '.join(('size', *_NCCL_MEASURED))}", line)
        yield {**row, "wrong": measured.get("#wrong", "0") not in ("0", "N/A")}


class _IorResult(msgspec.Struct):
    operation: str = msgspec.field(name="access")
    bandwidth: float = msgspec.field(name="bwMiB")
    block_kib: float | None = msgspec.field(default=None, name="blockKiB")
    transfer_kib: float | None = msgspec.field(default=None, name="xferKiB")
    iops: float | None = None
    latency_s: float | None = msgspec.field(default=None, name="latency")
    open_s: float | None = msgspec.field(default=None, name="openTime")
    transfer_s: float | None = msgspec.field(default=None, name="wrRdTime")
    close_s: float | None = msgspec.field(default=None, name="closeTime")
    total_s: float | None = msgspec.field(default=None, name="totalTime")


class _IorTest(msgspec.Struct):
    parameters: dict[str, Any] = msgspec.field(default_factory=dict, name="Parameters")
    options: dict[str, Any] = msgspec.field(default_factory=dict, name="Options")
    results: list[Any] = msgspec.field(default_factory=list, name="Results")


class _IorTests(msgspec.Struct):
    tests: list[_IorTest]


class IorReader(ResultReader):
    """Read runs of IOR as text, JSON or CSV; each repetition of each access (write, read) is a row.

    The value is the bandwidth in MiB/s, with the times in seconds beside it.

    Source: IOR 3.0 to 4.0, ``src/ior-output.c``; in JSON the results of the repetitions stand in the options of
    tests.
    """

    parameters, code = ("tasks", "nodes", "block_kib", "transfer_kib"), ("operation",)
    value, unit = "bandwidth", "MiB/s"

    def read(self, source: Source, options: NoOptions) -> Measurements:
        if not source.head.lstrip().startswith(b"{"):
            return super().read(source, options)
        found = Found(source.name, self)
        found.rows = _in_order(list(_ior_rows(decode_document(source, _IorTests, "JSON of IOR"), found)))
        return self.measurements(found)

    def _take(self, content: Lines, found: Found, options: Any) -> None:
        lines = _table_lines(content, _IOR_TITLE, _IOR_SETTINGS, _IOR_HEADING, _IOR_ENDS)
        for number, text, setup, heading, _ in lines:
            fields = _ior_fields(text)
            if heading and fields[0] in ("write", "read"):
                found.add({**setup, **_ior_row(fields, _ior_fields(heading), found, number)}, line=number)
        found.rows = _in_order(found.rows)


def _in_order(rows: Sequence[Row]) -> list[Row]:
    present = [column for column in _IOR_ORDER if any(column in row for row in rows)]
    return [{column: row.get(column) for column in present} for row in rows]


def _ior_fields(text: str) -> list[str]:
    return [" ".join(field.split()) for field in text.split(",")] if "," in text else text.split()


def _ior_row(fields: Sequence[str], headings: Sequence[str], found: Found, line: int) -> Row:
    row: Row = {}
    for heading, field in found.cells(fields, headings, line).items():
        if (column := _IOR_COLUMNS.get(heading)) == "operation":
            row[column] = field
        elif column is not None:
            row[column] = None if field in ("-", "NA") else found.number(field, heading, line)
    if row.get("bandwidth") is None:
        found.refuse(f"the {row['operation']} has no bandwidth", line)
    if row.get("repetition") is not None:
        row["repetition"] += 1  # they are counted from 0
    return row


def _ior_rows(document: _IorTests, found: Found) -> Iterator[Row]:
    for index, test in enumerate(document.tests):
        settings = {**test.parameters, **test.options}
        if "numTasks" in settings:
            settings.setdefault("tasks", settings["numTasks"])
        setup = {column: number_or_text(settings[key]) for key, column in _IOR_SETUP.items() if key in settings}
        repetitions: dict[str, int] = {}
        for entry in _flat([test.results, test.options.get("Results", [])]):
            try:
                result = msgspec.structs.asdict(msgspec.convert(entry, _IorResult))
            except msgspec.ValidationError as error:
                place = str(error).replace("`$", f"`$.tests[{index}]...Results[]")
                found.refuse(f"is not JSON of IOR: {place}")
            repetitions[result["operation"]] = repetitions.get(result["operation"], 0) + 1
            yield {**setup, **result, "repetition": repetitions[result["operation"]]}


def _flat(nested: list[Any]) -> Iterator[Any]:
    """Yield results in order; some versions put those of a repetition into a list of their own."""
    for entry in nested:
        if isinstance(entry, list):
            yield from _flat(entry)
        else:
            yield entry


class MdtestReader(ResultReader):
    """Read runs of mdtest: the mean rate of each operation that ran, with its deviation over the iterations, is a
    row.

    Source: mdtest 1.9 and IOR 3.0 to 4.0, ``src/mdtest.c``.
    """

    parameters, code, value, unit = ("tasks", "nodes"), ("operation",), "rate", "ops/s"

    def _take(self, content: Lines, found: Found, options: Any) -> None:
        run, runs = Row(), 0  # runs: behind the rates of a table of them
        for number, text in content:
            if match := _MDTEST_RUN.fullmatch(text):
                run, runs = {"tasks": int(match[1]), "nodes": int(match[2])}, 0
            elif "SUMMARY" in text:
                runs = int(match[1]) if (match := _MDTEST_RATES.fullmatch(text)) else 0
            elif runs and (match := _MDTEST_ROW.fullmatch(text)):
                _, _, rate, deviation = map(float, match[2].split())
                spread = {"stddev": deviation, "n_runs": runs} if runs > 1 else {}
                if rate > 0.0:
                    found.add({**run, "operation": match[1], "rate": rate, **spread}, line=number)


class GoBenchReader(ResultReader):
    """Read benchmarks of Go's testing package (``go test -bench``); each line is a row, also of ``-count``.

    ``BenchmarkSort/n=100-8`` gives the code ``Sort`` and the parameters ``n`` and ``procs`` (``GOMAXPROCS``).

    Source: Go's design document 14313, "Proposal: Go Benchmark Data Format"; package ``testing``.
    """

    value, unit, code, system, words_are_code = "time", "ns/op", ("pkg", "benchmark"), ("cpu",), True

    def _take(self, content: Lines, found: Found, options: Any) -> None:
        setup: Row = {}
        for number, text in content:
            if match := _GO_SETUP.fullmatch(text.strip()):
                setup[match[1]] = match[2]
            elif match := _GO_LINE.fullmatch(text.strip()):
                fields = match[3].split()
                numbers = [number_or_text(field) for field in fields[::2]]
                if len(fields) % 2 or any(isinstance(value, str) for value in numbers):
                    found.refuse("pairs of a number and a unit are expected after the count of iterations", number)
                measured = dict(zip(fields[1::2], numbers, strict=True))
                if self.unit not in measured:
                    found.left_out[f"since they have no {self.unit}: {{}} lines"] += 1
                    continue
                name, processors = m.groups() if (m := _GO_PROCESSORS.fullmatch(match[1])) else (match[1], "1")
                parts = [part.partition("=") for part in name.split("/")]
                code = "/".join(key for key, equals, _ in parts if not equals)
                arguments = {key: value for key, equals, value in parts if equals and key} | {"procs": processors}
                columns = {**setup, "benchmark": code, "iterations": int(match[2]), "time": measured.pop(self.unit)}
                found.add(columns, arguments, number, measured)


class JubeReader(ResultReader):
    """Read a table that JUBE prints and keeps as ``result/NAME.dat``; each line is a row, with roles guessed by the
    names.

    Source: JUBE, documentation, "Creating a result table", styles ``pretty`` and ``aligned``; ``csv`` is read as CSV.
    """

    nothing = "holds no table of JUBE with a rule below its column names and rows"

    def sniff(self, source: Source) -> float:
        lines = source.head.split(b"\n", 3)[:-1]
        is_named = bool(lines) and lines[0].rstrip().endswith(b":") and b"|" not in lines[0]
        lines = lines[is_named:]
        is_barred = bool(lines) and lines[0].lstrip().startswith(b"|")
        if not is_named if is_barred else b"|" in b"".join(lines[1:2]):  # Markdown
            return 0.0
        ruled = len(lines) > 1 and b"|" in lines[0] and _RULE.fullmatch(lines[1].decode("latin-1"))
        return 0.9 if ruled else 0.0

    def _take(self, content: Lines, found: Found, options: Any) -> None:
        columns: list[str] = []
        previous, barred = "", False
        for number, text in content:
            if _RULE.fullmatch(text):
                if columns:
                    found.refuse("a second table begins; put each in a separate file", number)
                columns, barred = [one_line(cell) for cell in _cells(previous)], _is_barred(previous)
                if len(set(columns)) < len(columns):
                    found.refuse("the names of the columns must differ", number - 1)
            elif columns and text.strip() and not _COUNT_OF_ROWS.fullmatch(text):
                cells = _cells(text)
                if barred != _is_barred(text):
                    problem = "the line does not stand between bars as the column names do; is it cut short?"
                    found.refuse(problem, number)
                row = found.cells(cells, columns, number)
                found.add({name: number_or_text(cell) for name, cell in row.items()}, line=number)
            previous = text

    def measurements(self, found: Found) -> Measurements:
        return Measurements(pd.DataFrame(found.rows).replace({"": None}), source=found.source, lines=found.lines)


def _cells(text: str) -> list[str]:
    text = text.strip()
    return [cell.strip() for cell in (text[1:-1] if _is_barred(text) else text).split("|")]


def _is_barred(text: str) -> bool:
    text = text.strip()
    return text.startswith("|") and text.endswith("|") and len(text) > 1


class ModelFactorsReader(ResultReader):
    """Read ``modelfactors.csv`` of BSC's basicanalysis; each factor of each run is a row, named as `perf overheads`
    does.

    ``"Number of processes";2;8``, then a line for each factor with its name and its values in per cent.

    Source: basicanalysis (BSC Performance Tools), ``modelfactors.py``.
    """

    parameters = ("p",)

    def _take(self, content: Lines, found: Found, options: Any) -> None:
        processes: list[int] = []
        for number, text in content:
            if not text.strip() or text.lstrip().startswith("#"):
                continue
            try:
                name, *values = next(csv.reader([text], delimiter=";"))
            except csv.Error as error:
                found.refuse(f"is no line of a table: {error}", number)
            if not processes:
                for value in values:
                    match = _PROCESSES.fullmatch(value.strip())
                    if match is None or not int(match[1]):
                        found.refuse(f"the number of processes is {value[:40]!r}; a whole number is expected", number)
                    processes.append(int(match[1]))
                continue
            if len(values) != len(processes):
                problem = f"has {len(values)} values for {len(processes)} runs; is it cut short?"
                found.refuse(problem, number)
            label = one_line(name.strip().lstrip("-"))
            share, unit = (0.01, SHARE) if _PER_CENT.fullmatch(label) else (1.0, "")
            first, *others = label.removesuffix(" efficiency").replace("erialization", "erialisation").split(" ")
            metric = " ".join(
                [first.lower() if first[1:].islower() else first, *others]
            )  # as `perf overheads` calls it
            for run, (p, value) in enumerate(zip(processes, values, strict=True), start=1):
                if value.strip().lower() in _NONE:
                    continue
                figure = found.number(value, "the value", number) * share
                row = {"p": p, "run": run, "metric": metric, "unit": unit, "value": figure}
                found.add(row, line=number)
