"""What the operating system and the scheduler count of runs: Linux's ``perf stat``, ``time`` and Slurm's ``sacct``."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from perf_io.options import SacctOptions
from perf_io.results.result_table import Found, ResultReader, Row, number_or_text, one_line
from perf_io.tables.measurement_table import numbers_of_commands
from perf_io.text import decode_document, decode_json, json_problem, numbered_lines
from perfcore.base import progress
from perfcore.base.errors import InputError, listing
from perfcore.data.measurements import Measurements
from perfcore.data.series import Series
from perfcore.data.units import same_unit
from perfcore.reading.source import Source

_PERF_JSON = re.compile(rb'\s*\{\s*(?:"[a-z-]+"\s*:\s*[^,{}]+,\s*){0,3}"counter-value"\s*:')
# An optional place or time, the count, its unit, and the event, whose name is no number.
_SEPARATORS = ",;|\t:"
_FIRST = re.compile(rb"(?:#[^\n]*\n|\s*\n)*(?P<line>[^\n]+)")
_COUNT = re.compile(r"[0-9]+(?:\.[0-9]*)?|<not (?:counted|supported)>")
_DECIMAL_COMMA = re.compile(r"([0-9]+),([0-9]+%?)")
_INTERVAL = re.compile(r"[0-9]+\.[0-9]{6,}")  # seconds since the start, of -I
_PLACE = re.compile(r"(?:[SDLCN]|CPU|Node)-?[0-9][\w-]*")
_SPREAD = re.compile(r"([0-9.]+)%")
# As printed for people: in any locale, whose groups of digits have three.
_PRINTED_RUN = re.compile(r"\s*Performance counter stats for (.+?)(?: \(([0-9]{1,9}) runs\))?:\s*")
_PRINTED_COUNT = re.compile(
    r"\s*(?P<count><not (?:counted|supported)>|[0-9][0-9.,'\u202f\xa0]*)(?: \+- \S+)?\s+"
    r"(?:(?P<unit>[A-Za-z]+)\s+)?(?P<event>[A-Za-z][\w.:/=,@-]*|time elapsed)(?P<older> \(msec\))?\s*(?:#.*?)?"
    r"(?:\(\s*\+-\s*(?P<spread>[0-9.,]+)%\s*\))?\s*(?:\((?P<running>[0-9.,]+)%\))?\s*"
)
_GROUPS = re.compile(r"[.,'\u202f\xa0](?=[0-9]{3}(?:[.,'\u202f\xa0]|$))")
_ALL_PERCENT = 99.995  # of the time counted, by two decimals
_TIME_V = re.compile(r"\t((?:[^:()]|\([^()]*\))+): (.*)")
_TIME_COLUMNS = {
    **{"Command being timed": "command", "Exit status": "exit_status"},
    **{"Elapsed (wall clock) time (h:mm:ss or m:ss)": "elapsed_s", "User time (seconds)": "user_s"},
    **{"System time (seconds)": "system_s", "Maximum resident set size (kbytes)": "max_rss [KiB]"},
}
_SHELL_TIME = re.compile(r"(real|user|sys)\s+(?:([0-9]{1,6})m)?([0-9]{1,9}[.,][0-9]{1,9})s?")
_GNU_TIME = re.compile(r"([0-9.]+)user ([0-9.]+)system ([0-9:.]+)elapsed .*")
_SHELL_COLUMNS = {"real": "elapsed_s", "user": "user_s", "sys": "system_s"}
_SHELL_COMMAND = re.compile(r"[+$] (\S.*)")  # as set -x and people write it
_SHELL_SETTINGS = re.compile(r"[\s#=*-]*((?:[A-Za-z_]\w*\s*[=:]\s*[0-9]{1,15}[,;\s]*)+)[\s#=*-]*")
_SHELL_SETTING = re.compile(r"([A-Za-z_]\w*)\s*[=:]\s*([0-9]+)")
_HEADER = re.compile(rb"\A(?=[^\n]*\b(?i:jobid(?:raw)?)\|)(?=[^\n]*\b(?i:state|elapsed(?:raw)?)\b)[\w%/.|]+\r?\n")
# Columns as wide as the dashes below their names.
_PRINTED = re.compile(rb"\A *(?i:jobid(?:raw)?) +\w[\w% ]*\r?\n *-{3,}(?: +-+)+ *\r?\n")
# What is measured of steps, by its field: the column, and the largest or the job's own (a sum).
_GIB = 1 << 30
_OF_STEPS = {
    **{"maxrss": "MaxRSS [GiB]", "averss": "AveRSS [GiB]", "maxvmsize": "MaxVMSize [GiB]", "reqmem": "ReqMem [GiB]"},
    **{"totalcpu": "TotalCPU [s]", "usercpu": "UserCPU [s]", "systemcpu": "SystemCPU [s]", "cputime": "CPUTime [s]"},
}
_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?)([KMGTP]?)([nc]?)")
# The fields that XDMoD asks sacct for, without a line of names.
_XDMOD = (
    *("jobid", "jobidraw", "cluster", "partition", "qos", "account", "group", "gid", "user", "uid", "submit"),
    *("eligible", "start", "end", "elapsed", "exitcode", "state", "nnodes", "ncpus", "reqcpus", "reqmem", "reqtres"),
    *("alloctres", "timelimit", "nodelist", "jobname"),
)
_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}|Unknown|None"
_XDMOD_LINE = re.compile(
    rb"\A[^|\n]+\|[0-9]+\|(?:[^|\n]*\|){8}(?:(?:" + _TIME.encode() + rb")\|){4}[0-9:-]+\|[0-9]+:[0-9]+\|[A-Z]"
)
_JSON = re.compile(rb'\s*\{\s*"(?:meta|jobs|metadata|errors|warnings)"\s*:')
_SLURM = re.compile(rb'"(?:allocation_nodes|Slurm|slurm|derived_exit_code)"\s*:')
_ELAPSED = re.compile(r"(?:([0-9]{1,6})-)?(?:([0-9]{1,4}):)?([0-9]{1,4}):([0-9]{1,2}(?:\.[0-9]{1,9})?)")


class _Count(msgspec.Struct, rename="kebab"):
    counter_value: str | float | None = None  # None of a line with a further metric of the event above
    event: str = ""
    unit: str = ""
    variance: float | None = None
    pcnt_running: float | None = None
    interval: float | None = None
    cpu: str | None = None
    core: str | None = None
    node: str | None = None
    socket: str | None = None


class PerfStatReader(ResultReader):
    """Read counts of events of a run, or their means over runs (``-r``), whose standard error is the column
    ``stderr``.

    Read are ``perf stat``, ``perf stat -x,`` and ``perf stat -j``. Events that were not counted, or met 0 times, are
    left out. Intervals (``-I``) are a series.

    Source: perf-stat(1); ``tools/perf/util/stat-display.c`` of Linux 6.
    """

    nothing, code = "holds no count of an event", ("command",)

    def sniff(self, source: Source) -> float:
        if b"\0" in source.head:
            return 0.0
        if b"Performance counter stats for " in source.head:
            return 0.85  # in the output of a program that may have a reader; counts in groups are no table
        match = _FIRST.match(source.head)
        line = "" if match is None else match["line"].decode("utf-8", "replace").rstrip("\r")
        return 0.95 if _PERF_JSON.match(line.encode()) or _perf_fields(line) is not None else 0.0

    def _take(self, content: Iterable[tuple[int, str]], found: Found, options: Any) -> None:
        left_out, estimated = dict[str, None](), dict[str, None]()
        is_json, run = False, Row()
        for line, text in content:
            if match := _PRINTED_RUN.fullmatch(text):
                run = {"command": one_line(match[1].strip("'"))} | ({"n_runs": int(match[2])} if match[2] else {})
                continue
            printed = _PRINTED_COUNT.fullmatch(text) if run else None
            if run and printed is None:
                continue
            is_json = is_json or (not found.rows and not left_out and text.lstrip().startswith("{"))
            if not text.strip() or text.startswith("#"):
                continue
            try:
                if is_json:
                    count: _Count | None = decode_json(text.encode(), _Count)
                else:
                    count = _printed_count(printed) if printed else _text_count(text, found, line)
            except msgspec.MsgspecError as error:
                found.refuse(f"is no count of `perf stat -j`: {json_problem(text.encode(), error)[0]}", line)
            if count is None or count.counter_value is None:
                continue
            if any((count.cpu, count.core, count.node, count.socket)):
                found.refuse("holds counts of single processors; count whole runs, without -A", line)
            value = number_or_text(count.counter_value)
            if isinstance(value, str) or (value == 0 and count.interval is None):
                left_out[count.event] = None
                continue
            row = {**run, "metric": count.event, "value": value, "unit": same_unit(count.unit) if count.unit else ""}
            if count.interval is not None:
                row["interval"] = count.interval
            if count.variance is not None:
                row["stderr"] = value * count.variance / 100.0
            if count.pcnt_running is not None and count.pcnt_running < _ALL_PERCENT:
                estimated[count.event] = None
            found.add(row, line=line)
        if run and found.rows:
            commands = [row["command"] for row in found.rows]
            series, numbers = numbers_of_commands(commands, [{}] * len(commands))
            for k, row in enumerate(found.rows):
                row.update({name: levels[k] for name, levels in numbers.items()}, command=series[k])
            found.user_columns.update(dict.fromkeys(numbers))
        if found.rows and left_out:
            progress.note(f"{found.source}: left out, not counted or 0: {listing(left_out, 5)}")
        if found.rows and estimated:
            progress.note(f"{found.source}: counted for a part of the time and extrapolated: {listing(estimated, 5)}")

    def measurements(self, found: Found) -> Any:
        if "interval" not in found.rows[0]:
            return super().measurements(found)
        names = [f"{row['metric']} [{row['unit']}]" if row["unit"] else row["metric"] for row in found.rows]
        times = sorted({row["interval"] for row in found.rows})
        columns = {name: [math.nan] * len(times) for name in names}
        place = {time: k for k, time in enumerate(times)}
        for name, row in zip(names, found.rows, strict=True):
            columns[name][place[row["interval"]]] = row["value"]
        return Series(times, columns, "s", source=found.source)


def _printed_count(match: re.Match[str]) -> _Count:
    unit = "s" if match["unit"] == "seconds" else "msec" if match["older"] else match["unit"] or ""
    spread, running = (float(_plain_number(match[group] or "nan")) for group in ("spread", "running"))
    return _Count(
        counter_value=_plain_number(match["count"]), event=match["event"], unit=unit,
        variance=None if math.isnan(spread) else spread, pcnt_running=None if math.isnan(running) else running,
    )  # fmt: skip


def _plain_number(text: str) -> str:
    """Return a number without groups of digits, with a decimal point."""
    return _GROUPS.sub("", text).replace(",", ".")


def _text_count(text: str, found: Found, line: int) -> _Count | None:
    if (fields := _perf_fields(text)) is None:
        if text.startswith(tuple(_SEPARATORS)) or not text.split(text[0], maxsplit=1)[0]:
            return None  # a further metric of the event above
        found.refuse(f"{text[:40]!r} is no count of `perf stat -x,`", line)
    place, count, unit, event, *more = fields
    spread = _SPREAD.fullmatch(more[0]) if more else None
    percent = more[2 if spread else 1] if len(more) > (2 if spread else 1) else ""
    return _Count(
        counter_value=count, event=event, unit=unit, variance=float(spread[1]) if spread else None,
        pcnt_running=float(percent) if _COUNT.fullmatch(percent) else None,
        interval=float(place) if _INTERVAL.fullmatch(place) else None,
        cpu=None if _INTERVAL.fullmatch(place) else place or None,
    )  # fmt: skip


def _perf_fields(line: str) -> Sequence[str] | None:
    """Return the place or time, count, unit, event, and what follows; None if a line is no count."""
    for separator in _SEPARATORS:
        fields = [field.strip() for field in line.split(separator)]
        if separator != ",":
            fields = [_DECIMAL_COMMA.sub(r"\1.\2", field) for field in fields]
        for skipped in range(min(3, len(fields) - 4)):
            count, unit, event = fields[skipped : skipped + 3]
            before = fields[:skipped]
            if skipped and not (_PLACE.fullmatch(before[0]) or _INTERVAL.fullmatch(before[0])):
                break
            follows = [field for field in fields[skipped + 3 :] if field][:1]
            is_event = re.fullmatch(r"[A-Za-z][\w.:/=,-]*", event) and not _COUNT.fullmatch(event)
            is_unit = re.fullmatch(r"[A-Za-z%/]*", unit)
            if _COUNT.fullmatch(count) and is_unit and is_event and follows and re.match(r"[0-9.]+%?$", follows[0]):
                return [" ".join(before), count, unit, event, *fields[skipped + 3 :]]
    return None


class TimeReader(ResultReader):
    """Read runs timed by GNU's ``time``, also with ``-v``, or by that of a shell, in any log; each is a row.

    A line before, such as ``+ mpirun -n 4 ./app``, is the command; lines of settings, such as ``=== threads=4 ===``,
    are parameters. Runs with another exit status than 0 are left out.

    Source: time(1) of GNU and of POSIX; bash(1), ``TIMEFORMAT``.
    """

    value, code, words_are_code = "elapsed_s", ("command",), True

    def _take(self, content: Iterable[tuple[int, str]], found: Found, options: Any) -> None:
        row: Row = {}
        settings: dict[str, str] = {}
        command = ""
        for line, text in content:
            if match := _TIME_V.fullmatch(text):
                if (column := _TIME_COLUMNS.get(match[1])) == "command":
                    row = {"command": match[2].strip('"')}
                elif column is not None:
                    row[column] = _clock(match[2], found, line) if column == "elapsed_s" else number_or_text(match[2])
                if column != "exit_status":
                    continue
                status, is_whole = row.pop(column), True
            elif match := _SHELL_TIME.fullmatch(text.strip()):
                row[_SHELL_COLUMNS[match[1]]] = 60.0 * int(match[2] or 0) + float(match[3].replace(",", "."))
                status, is_whole = 0, match[1] == "sys"
            elif match := _GNU_TIME.fullmatch(text.strip()):
                elapsed = _clock(match[3], found, line)
                row = {"elapsed_s": elapsed, "user_s": float(match[1]), "system_s": float(match[2])}
                status, is_whole = 0, True
            else:
                is_whole = False
                command = match[1] if (match := _SHELL_COMMAND.fullmatch(text)) else command
                if match := _SHELL_SETTINGS.fullmatch(text):
                    settings |= dict(_SHELL_SETTING.findall(match[1]))
            if not is_whole or "elapsed_s" not in row:
                continue
            if status == 0:
                found.add({**({"command": command} if command else {}), **row}, settings, line)
            else:
                found.left_out["since their exit status is not 0: {} runs"] += 1
            row = {}


def _clock(text: str, found: Found, line: int) -> float:
    """Return seconds of ``h:mm:ss`` or ``m:ss.ss``."""
    if (match := _ELAPSED.fullmatch(text)) is None:
        found.refuse(f"elapsed time {text[:40]!r} is not h:mm:ss or m:ss", line)
    return _in_seconds(match)


class _State(msgspec.Struct):
    current: str | list[str]


class _Time(msgspec.Struct):
    elapsed: float
    start: float | None = None


class _Resource(msgspec.Struct):
    type: str
    count: float | None = None


class _Resources(msgspec.Struct):
    allocated: list[_Resource] | None = None


class _Job(msgspec.Struct):
    job_id: int
    state: _State
    time: _Time
    name: str | None = None
    cluster: str | None = None
    partition: str | None = None
    account: str | None = None
    allocation_nodes: Any = None
    tres: _Resources = msgspec.field(default_factory=_Resources)


class _Document(msgspec.Struct):
    jobs: list[_Job]


class SacctReader(ResultReader):
    """Read jobs of Slurm (``sacct --parsable2`` or ``--json``); each is a row.

    Of what steps use (``MaxRSS``, ``TotalCPU``) a job has its own figure, or that of its largest step. Jobs that did
    not complete are left out, since their time is that until something stopped them.

    Source: Slurm, ``sacct`` manual page; JSON of the plugins ``dbv0.0.37`` and later.
    """

    Options = SacctOptions
    value, code, system = "elapsed_s", ("name",), ("cluster",)

    def sniff(self, source: Source) -> float:
        """Sure by the names of the fields, by XDMoD's fields, or by what only Slurm's JSON holds."""
        head = source.head
        table = _HEADER.match(head) or _PRINTED.match(head) or _XDMOD_LINE.match(head)
        return 0.95 if table or (_JSON.match(head) and b'"jobs"' in head and _SLURM.search(head)) else 0.0

    def read(self, source: Source, options: SacctOptions) -> Measurements:
        is_json = source.head.lstrip().startswith(b"{")
        jobs = list(_json_jobs(source) if is_json else _table_jobs(source, options.fields))
        completed = [(line, job) for line, job in jobs if options.failed or job["state"] == "COMPLETED"]
        if len(completed) < len(jobs):
            states = sorted({str(job["state"]) for _, job in jobs if job["state"] != "COMPLETED"})
            progress.note(
                f"{source.name}: left out, since they did not complete ({', '.join(states)[:200]}): "
                f"{len(jobs) - len(completed)} of {len(jobs)} jobs; -r failed=yes keeps them"
            )
        found = Found(source.name, self)
        for line, job in completed:
            if job["elapsed_s"]:
                found.add({column: value for column, value in job.items() if column != "own"}, line=line)
        if not found.rows:
            problem = f"none of the {len(jobs)} jobs completed after a time that was measured"
            found.refuse(f"{problem}; -r failed=yes keeps those that did not complete")
        if without_time := len(completed) - len(found.rows):
            progress.note(f"{source.name}: left out, since they ran for no time: {without_time} jobs")
        found.parameters = ["cpus" if any(row.get("cpus") for row in found.rows) else "nodes"]
        return self.measurements(found)


def _json_jobs(source: Source) -> Iterator[tuple[None, Row]]:
    for job in decode_document(source, _Document, "JSON of sacct").jobs:
        state = job.state.current
        nodes = job.allocation_nodes
        if isinstance(nodes, dict):  # versions that say whether a number is set
            nodes = nodes.get("number") if nodes.get("set") else None
        cpus = [resource.count for resource in job.tres.allocated or () if resource.type == "cpu" and resource.count]
        row = {
            "job": str(job.job_id),
            "name": job.name or "",
            "cluster": job.cluster or "",
            "partition": job.partition or "",
            "account": job.account or "",
            "state": _plain_state(state if isinstance(state, str) else next(iter(state), "")),
            "nodes": float(nodes) if isinstance(nodes, (int, float)) and nodes else None,
            "cpus": cpus[0] if cpus else None,
            "elapsed_s": job.time.elapsed,
        }
        yield None, row


def _table_jobs(source: Source, field_list: str | None) -> Iterator[tuple[int, Row]]:
    """Yield each job with what its steps used, which stand behind it."""
    job: tuple[int, Row] | None = None
    for number, fields in _table_lines(source, field_list):
        identifier = fields.get("jobid", fields.get("jobidraw", ""))
        cpus = _count(fields.get("ncpus", fields.get("alloccpus")), "CPUs", source.name, number)
        nodes = _count(fields.get("nnodes", fields.get("allocnodes")), "nodes", source.name, number)
        amounts = {column: _amount(fields.get(field, ""), nodes, cpus) for field, column in _OF_STEPS.items()}
        used = {column: amount for column, amount in amounts.items() if amount is not None}
        if "." in identifier:
            if job is not None:
                own = job[1]["own"]
                job[1].update({c: max(v, job[1].get(c, 0.0)) for c, v in used.items() if c not in own})
            continue
        if job is not None:
            yield job
        row: Row = {"job": identifier, "name": fields.get("jobname", "")}
        row |= {field: fields.get(field, "") for field in ("cluster", "partition", "account")}
        row |= {"state": _plain_state(fields.get("state", "")), "nodes": nodes, "cpus": cpus}
        job = number, {**row, "elapsed_s": _seconds(fields, source.name, number), **used, "own": set(used)}
    if job is not None:
        yield job


def _table_lines(source: Source, field_list: str | None) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield number and fields by name of each line."""
    fields: Sequence[str] = [name.strip().lower() for name in field_list.split(",")] if field_list else []
    if not fields and _XDMOD_LINE.match(source.head):
        fields = _XDMOD
    for number, text in _barred(source):
        if not text.strip():
            continue
        if not fields:
            fields = [name.partition("%")[0].strip().lower() for name in text.removesuffix("|").split("|")]
            missing = [want for want in ("jobid", "state", "elapsed") if not any(want in name for name in fields)]
            if missing:
                cure = f"the fields {', '.join(missing)} are missing; ask sacct for them, such as with --parsable2 "
                cure += "--format=JobID,JobName,State,Elapsed,NNodes,NCPUS, or name the fields with -r fields="
                raise InputError(source.name, cure, line=number)
            continue
        # The last field may be a job's name, which may hold a bar; an empty one after it is from --parsable.
        cells = text.split("|", len(fields) - 1)
        cells[-1] = cells[-1].removesuffix("|")
        if len(cells) != len(fields):
            raise InputError(source.name, f"has {len(cells)} fields, expected {len(fields)}", line=number)
        yield number, dict(zip(fields, cells, strict=True))


def _barred(source: Source) -> Iterator[tuple[int, str]]:
    """Yield numbered lines with bars between fields, also of what is printed in columns."""
    lines = numbered_lines(source)
    if not _PRINTED.match(source.head):
        yield from lines
        return
    first, (_, dashes) = next(lines), next(lines)
    bounds = [match.span() for match in re.finditer("-+", dashes)]
    for number, text in itertools.chain([first], lines):
        yield number, "|".join(text[begin:end].strip().removesuffix("+") for begin, end in bounds)


def _amount(text: str, nodes: int | None, cpus: int | None) -> float | None:
    """Return seconds of a time, GiB of a size, also per node (``4Gn``) or per CPU (``2Mc``)."""
    if match := _ELAPSED.fullmatch(text):
        return _in_seconds(match)
    if (size := _SIZE.fullmatch(text)) is None or not float(size[1]):
        return None
    per = {"": 1, "n": nodes or 1, "c": cpus or 1}[size[3]]
    return float(size[1]) * 1024.0 ** "KMGTP".find(size[2] or "-") * 1024.0 * per / _GIB


def _plain_state(text: str) -> str:
    """Return the state without who brought it about: ``CANCELLED by 1000``."""
    return text.strip().partition(" ")[0][:40] or "UNKNOWN"


def _count(text: str | None, resource: str, source: str, line: int) -> int | None:
    if not text:
        return None
    if not re.fullmatch(r"[0-9]{1,12}", text):
        raise InputError(source, f"{text[:40]!r} is no number of {resource}", line=line)
    return int(text) or None


def _seconds(job: Row, source: str, line: int) -> float:
    """Return the elapsed time; ``[days-]hours:minutes:seconds``, or a number of seconds."""
    raw = job.get("elapsedraw")
    if raw is not None and re.fullmatch(r"[0-9]{1,12}", raw):
        return float(raw)
    text = job.get("elapsed", "")
    match = _ELAPSED.fullmatch(text)
    if match is None:
        raise InputError(source, f"elapsed time {(text or raw or '')[:40]!r} is not [days-]hh:mm:ss", line=line)
    return _in_seconds(match)


def _in_seconds(match: re.Match[str]) -> float:
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
