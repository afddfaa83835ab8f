"""Logs of programs that people scale: LAMMPS, GROMACS, HPL, MLPerf training, and figures that benchmarks print."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from perf_io.results.result_table import Found, ResultReader, Row, number_or_text, one_line

Lines = Iterable[tuple[int, str]]
_Figures = tuple[re.Pattern[bytes], tuple[str, str], dict[str, re.Pattern[str]]]

_LOOP = re.compile(r"Loop time of ([0-9.eE+-]+) on ([0-9]+) procs for ([0-9]+) steps with ([0-9]+) atoms")
_LAMMPS_THREADS = re.compile(r".*CPU use with ([0-9]+) MPI tasks x ([0-9]+) OpenMP threads")
_SECTION = re.compile(r"([A-Z]\w*)\s*\|\s*(?:[0-9.eE+-]+)?\s*\|\s*([0-9.eE+-]+)\s*\|[^|]*\|[^|]*\|\s*[0-9.]+\s*")
_GROMACS_RANKS = re.compile(
    r"\s*(?:On|on) ([0-9]+) MPI ranks?(?: doing P(?:P|ME))?(?:,(?: each)? using ([0-9]+) OpenMP threads)?.*"
)
_ACTIVITY = re.compile(
    r" ([A-Z][\w .,+()/&-]*?)(?P<beside> \*)?"
    r"(?:\s+([0-9]+)\s+([0-9]+)(?:\s+[0-9]+)?)?\s+(?P<time>[0-9]+\.[0-9]+)\s+[0-9.]+\s+[0-9.]+\s*"
)
_GROMACS_TIME = re.compile(r"\s*Time:\s+[0-9.]+\s+([0-9.]+)\s.*")
_GROMACS_RATE = re.compile(r"\s*Performance:\s+([0-9.]+)\s+[0-9.]+\s*")
_HPL = re.compile(r"(W[A-Z0-9]+)\s+([0-9]+)\s+([0-9]+)\s+([0-9]+)\s+([0-9]+)\s+([0-9.]+)\s+([0-9.eE+-]+)\s*")
_MLLOG = re.compile(r".*?:::MLLOG (?P<record>\{.*\})\s*")
_SETTINGS = ("global_batch_size", "seed", "submission_benchmark", "submission_platform", "submission_division")

_PLACES = {
    "#": "(?P<number>[0-9.eE+-]+)",
    "@": r"(?P<number>[0-9]+(?:\.[0-9]+)?)(?P<unit>[mnuµ]?s)\b",
    "~": r"(?:(?P<hours>[0-9]+)h *)?(?:(?P<minutes>[0-9]+)m *)?(?:(?P<number>[0-9.]+)s)?",
}


def _figures(begins: bytes, value: tuple[str, str], **columns: str) -> _Figures:
    """Return how a report begins, the column of its value with the unit, and the lines that hold its columns."""
    forms = {name: re.sub("[#@~]", lambda place: _PLACES[place[0]], line) for name, line in columns.items()}
    patterns = {column: re.compile(rf"\W*?{line}") for column, line in forms.items()}
    return re.compile(begins, re.MULTILINE), value, patterns


def _figure(match: re.Match[str]) -> Any:
    """Return the number of a line, of a time with its unit in ms, of one with minutes in s."""
    found = match.groupdict()
    scale = _MILLISECONDS.get(found.get("unit") or "", 1)
    more = 3600 * int(found.get("hours") or 0) + 60 * int(found.get("minutes") or 0)
    return number_or_text(found["number"] or "0") * scale + more


_MILLISECONDS = {"s": 1e3, "ms": 1.0, "us": 1e-3, "µs": 1e-3, "ns": 1e-6}
_GROWING = frozenset(("clock_s", "execution_s", "s_per_step"))  # printed again and again, of which the last counts
# Of each program: # is the number, @ a time with its unit, in ms, ~ one with hours and minutes, in s.
_FIGURES: dict[str, _Figures] = {
    "sysbench": _figures(
        rb"^sysbench [0-9]", ("rate", "1/s"), threads="Number of threads: #", total_time_s="total time: +#s",
        rate=r"(?:events per second: +|(?:transactions|Total operations): +[0-9]+ +\()#", mean_latency_ms="avg: +#",
    ),
    "wrk": _figures(
        rb"^Running [0-9]+\w* test @ ", ("rate", "requests/s"), threads="# threads and", rate="Requests/sec: +#",
        connections="[0-9]+ threads and # connections", mean_latency_ms="Latency +@",
    ),
    "k6": _figures(
        rb"^\W*http_req_duration\.*: avg=", ("rate", "requests/s"), rate=r"http_reqs\.*: +[0-9]+ +#/s",
        mean_latency_ms=r"http_req_duration\.*: avg=@", p95_latency_ms=r"http_req_duration\.*: .*p\(95\)=@",
        concurrency=r"vus_max\.*: +#",
    ),
    "ab": _figures(
        rb"^This is ApacheBench", ("rate", "requests/s"), concurrency="Concurrency Level: +#", failed="Failed .*: +#",
        requests="Complete requests: +#", elapsed_s="Time taken for tests: +#", rate="Requests per second: +#",
    ),
    "hey": _figures(
        rb"^ +Requests/sec:\t", ("rate", "requests/s"), rate=r"Requests/sec:\s+#",
    ),
    "pgbench": _figures(
        rb"^transaction type: ", ("rate", "transactions/s"), concurrency="number of clients: #", rate="tps = #",
        threads="number of threads: #", mean_latency_ms="latency average = #",
    ),
    "HPCG": _figures(
        rb"^HPCG-Benchmark", ("rate", "Gflop/s"), processes="Machine Summary::Distributed Processes=#",
        threads="Machine Summary::Threads per processes=#", nx="Global Problem Dimensions::Global nx=#",
        total_time_s="Benchmark Time Summary::Total=#", rate=".*VALID with a GFLOP/s rating of=#",
    ),
    "graph500": _figures(
        rb"^SCALE: +[0-9]", ("rate", "edges/s"), processes="num_mpi_processes: +#", scale="SCALE: +#",
        mean_time_s=r"(?:bfs +)?mean_time: +#", rate=r"(?:bfs +)?harmonic_mean_TEPS: +(?:! +)?#",
    ),
    "LULESH": _figures(
        rb"^Running problem size [0-9]+\^3 per domain", ("time", "s"), processes="Num processors: +#",
        threads="Num threads: +#", size_per_process="Problem size += +#", time=r"Elapsed time += +# \(s\)",
    ),
    "NAMD": _figures(
        rb"^Info: NAMD [0-9]", ("s_per_step", "s/step"), processes="Info: Running on # processors",
        nodes="Info: Running on .*, # nodes", atoms="Info: # ATOMS$",
        s_per_step="Info: Benchmark time: .*CPUs # s/step",
    ),
    "OpenFOAM": _figures(
        rb"^Exec +: \w+", ("clock_s", "s"), processes="nProcs : #", clock_s="ExecutionTime = .*ClockTime = # s",
        execution_s="ExecutionTime = # s",
    ),
    "Quantum ESPRESSO": _figures(
        rb"^ +Program [A-Z]+ v\.?[0-9.]+ starts on ", ("time", "s"), processes="Number of MPI processes: +#",
        threads="Threads/MPI process: +#", pools="K-points division: +npool += +#",
        time=r"[A-Z]+ +: .*CPU +~ *WALL\s*$",
    ),
    "serving": _figures(
        rb"^=+ Serving Benchmark Result =", ("rate", "tokens/s"), concurrency="Max(?:imum)? request concurrency: +#",
        requests="Successful requests: +#", elapsed_s=r"Benchmark duration \(s\): +#",
        failed_requests="Failed requests: +#",
        rate=r"Output token throughput \(tok/s\): +#", mean_ttft_ms=r"Mean TTFT \(ms\): +#",
        p99_ttft_ms=r"P99 TTFT \(ms\): +#", mean_tpot_ms=r"Mean TPOT \(ms\): +#",
    ),
}  # fmt: skip
_END = re.compile(r"=+\s*")  # of a report of serving; older versions print the concurrency above the next one
_ABOVE = re.compile(r"\s*Maximum request concurrency: +([0-9]+)")


class LammpsReader(ResultReader):
    """Runs of LAMMPS: the average time of each section, a row for each, over processes and atoms.

    Source: LAMMPS, documentation, "Screen and logfile output".
    """

    value, parameters, category = "time_s", ("procs", "threads", "atoms"), ("section",)
    nothing = "holds no 'Loop time of ... on ... procs': the run did not end"

    def _take(self, content: Lines, found: Found, options: Any) -> None:
        runs: list[tuple[int, Row, list[tuple[int, Row]]]] = []
        for number, text in content:
            if match := _LOOP.match(text):
                time, procs, steps, atoms = (found.number(part, "a number", number) for part in match.groups())
                run = {"run": len(runs) + 1, "procs": procs, "atoms": atoms, "steps": steps, "loop_time_s": time}
                runs.append((number, run, []))
            elif runs and (match := _LAMMPS_THREADS.match(text)):
                runs[-1][1]["threads"] = int(match[2])
            elif runs and (match := _SECTION.fullmatch(text)):
                time = found.number(match[2], "the average time", number)
                runs[-1][2].append((number, {"section": match[1], "time_s": time}))
        for number, run, sections in runs:
            for line, section in sections or [(number, {"section": "Loop", "time_s": run["loop_time_s"]})]:
                found.add({**run, **section}, line=line)


class GromacsReader(ResultReader):
    """Runs of GROMACS (``md.log``): the wall time of each activity, a row for each, over ranks and threads.

    Source: GROMACS, ``src/gromacs/timing/wallcycle.cpp``.
    """

    value, parameters, category = "time_s", ("ranks", "threads"), ("activity",)
    nothing = "holds no table of times ('R E A L   C Y C L E ...'): the run did not end"

    def _take(self, content: Lines, found: Found, options: Any) -> None:
        run: Row = {}
        rows: list[tuple[int, Row]] = []
        in_table = False
        for number, text in content:
            if "R E A L   C Y C L E" in text:
                in_table, rows, run = True, [], {}
            elif in_table and (match := _GROMACS_RANKS.fullmatch(text)):
                run = {"ranks": run.get("ranks", 0) + int(match[1]), "threads": int(match[2] or run.get("threads", 1))}
            elif in_table and (match := _ACTIVITY.fullmatch(text)) and match[1] != "Total":
                if match["beside"]:
                    found.left_out["since other ranks do them in parallel (*): {} rows of PME"] += 1
                    continue
                run = run or {"ranks": int(match[3] or 1), "threads": int(match[4] or 1)}
                rows.append((number, {"activity": match[1], "time_s": float(match["time"])}))
            elif match := _GROMACS_TIME.fullmatch(text):
                run["wall_time_s"] = float(match[1])
            elif match := _GROMACS_RATE.fullmatch(text):
                run["ns_per_day"] = float(match[1])
        for number, row in rows:
            found.add({**run, **row}, line=number)


class HplReader(ResultReader):
    """Runs of HPL: each line of results is a row, over the processes P x Q, the size N and the block size NB.

    Source: HPL, ``testing/ptest/HPL_pdtest.c``.
    """

    value, parameters, code = "time_s", ("processes", "N", "NB"), ("variant",)

    def _take(self, content: Lines, found: Found, options: Any) -> None:
        for number, text in content:
            if match := _HPL.fullmatch(text):
                size, block, rows, columns, time, rate = (number_or_text(part) for part in match.groups()[1:])
                row = {"variant": match[1], "processes": rows * columns, "N": size, "NB": block, "P": rows}
                found.add({**row, "Q": columns, "time_s": time, "gflop_per_s": rate}, line=number)


class _MlRecord(msgspec.Struct):
    time_ms: float
    event_type: str
    key: str
    value: Any = None
    metadata: dict[str, Any] = {}


class MlperfReader(ResultReader):
    """Read logs of MLPerf training: the time from ``run_start`` to a successful ``run_stop``, with blocks and
    evaluations.

    Source: MLCommons, ``mlperf_logging``, "MLLOG".
    """

    value, parameters, code = "time_to_train_s", ("global_batch_size",), ("submission_benchmark",)
    nothing = "holds no run that was completed (run_start to run_stop with status success)"

    def _take(self, content: Lines, found: Found, options: Any) -> None:
        row: Row = {}
        open_since: dict[str, float] = {}
        line, status = 0, ""
        for number, text in content:
            if (match := _MLLOG.fullmatch(text)) is None:
                continue
            try:
                record = msgspec.json.decode(match["record"].encode(), type=_MlRecord)
            except msgspec.MsgspecError as error:
                found.refuse(f"is no record of MLLOG: {one_line(str(error))}", number)
            name = record.key.rpartition("_")[0]
            if record.event_type == "INTERVAL_START":
                open_since[name] = record.time_ms
            elif record.event_type == "INTERVAL_END" and name in open_since:
                column = "time_to_train_s" if name == "run" else f"{name}_s"
                row[column] = row.get(column, 0.0) + (record.time_ms - open_since.pop(name)) / 1e3
                if name == "run":
                    line, status = number, str(record.metadata.get("status", "success"))
            elif record.key in _SETTINGS:
                row[record.key] = number_or_text(record.value)
        if "time_to_train_s" in row and status != "success":
            found.left_out[f"since they ended with status {one_line(status)}: {{}} runs"] += 1
        elif "time_to_train_s" in row:
            found.add({"status": status, **row}, line=line)


class FiguresReader(ResultReader):
    """Read figures that benchmarks and programs print, such as sysbench, HPCG and OpenFOAM: a row for each run."""

    code = ("program",)

    def _take(self, content: Lines, found: Found, options: Any) -> None:
        rows = list[tuple[int, str, Row]]()
        above: Row | None = {}  # of the next report; None within one
        for number, text in content:
            for program, (begins, *_) in _FIGURES.items():
                if begins.match(text.encode()):
                    rows.append((number, program, above or {}))
                    above = None
            if _END.fullmatch(text):
                above = {}
            elif above is not None and (match := _ABOVE.match(text)):
                above["concurrency"] = int(match[1])
            elif rows and above is None:
                row = rows[-1][2]
                for column, pattern in _FIGURES[rows[-1][1]][2].items():
                    if (column not in row or column in _GROWING) and (match := pattern.match(text)):
                        row[column] = _figure(match)
        for number, program, row in rows:
            value, unit = _FIGURES[program][1]
            if value not in row:
                found.refuse(f"the report of {program} has no {value}; was it cut short?", number)
            figure = row.pop(value)
            found.add({"program": program, **row, "metric": value, "value": figure, "unit": unit}, line=number)
        found.parameters = ["processes", "threads", "connections", "concurrency", "nx", "scale", "atoms"]
