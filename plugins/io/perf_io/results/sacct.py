"""Jobs of Slurm: ``sacct --parsable2`` and ``sacct --json``.

Source: Slurm, ``sacct`` manual page, sections "--format" and "Job State Codes"; JSON of the plugins ``dbv0.0.37`` and
later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from perf_io.results.options import SacctOptions
from perf_io.results.result_table import Row, results
from perf_io.shared.json_document import decode_document
from perf_io.shared.numbered_lines import numbered_lines
from perfcore.base import progress
from perfcore.base.errors import InputError
from perfcore.contracts import Reader
from perfcore.data.measurements import Measurements
from perfcore.reading.source import Source

_HEADER = re.compile(rb"\A(?=[^\n]*\b(?i:jobid(?:raw)?)\|)(?=[^\n]*\b(?i:state|elapsed(?:raw)?)\b)[\w%/.|]+\r?\n")
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


class SacctReader(Reader):
    """Jobs as Slurm accounts for them; each job is a row, its steps are left out.

    The value is the elapsed time, the parameter the number of CPUs, or of nodes where CPUs are not given; the job's
    name is the code and the cluster the system. Jobs that did not complete (``FAILED``, ``TIMEOUT``, ...) are left out
    and counted in a note, since their time is that until something stopped them.
    """

    Options = SacctOptions

    def sniff(self, source: Source) -> float:
        """Sure by the names of the fields, by XDMoD's fields, or by what only Slurm's JSON holds."""
        head = source.head
        table = _HEADER.match(head) or _XDMOD_LINE.match(head)
        return 0.95 if table or (_JSON.match(head) and b'"jobs"' in head and _SLURM.search(head)) else 0.0

    def read(self, source: Source, options: SacctOptions) -> Measurements:
        """Read all jobs that count.

        Raises
        ------
        InputError
            Neither a table nor JSON of sacct, or no job that counts; with line or place.
        """
        jobs = list(_json(source) if source.head.lstrip()[:1] == b"{" else _table(source, options.fields))
        complete = [options.failed or row["state"] == "COMPLETED" for _, row in jobs]
        if not all(complete):
            states = sorted({str(row["state"]) for (_, row), good in zip(jobs, complete, strict=True) if not good})
            count = len(complete) - sum(complete)
            listed = ", ".join(states)[:200]
            progress.note(
                f"{source.name}: left out, since they did not complete ({listed}): {count} of {len(jobs)} jobs; "
                "-r failed=yes keeps them"
            )
        kept = [job for job, good in zip(jobs, complete, strict=True) if good and job[1]["elapsed_s"]]
        if not kept:
            problem = f"none of the {len(jobs)} jobs completed after a time that was measured"
            raise InputError(source.name, f"{problem}; -r failed=yes keeps those that did not complete")
        if len(kept) < sum(complete):
            progress.note(f"{source.name}: left out, since they ran for no time: {sum(complete) - len(kept)} jobs")
        counts = "cpus" if any(row.get("cpus") for _, row in kept) else "nodes"
        lines = [line for line, _ in kept if line is not None]
        return results(
            [row for _, row in kept],
            source.name,
            parameters=[counts],
            value="elapsed_s",
            code=["name"],
            system=["cluster"],
            lines=lines or None,
        )


def _json(source: Source) -> Iterator[tuple[None, Row]]:
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


def _table(source: Source, field_list: str | None) -> Iterator[tuple[int, Row]]:
    fields: Sequence[str] = [name.strip().lower() for name in field_list.split(",")] if field_list else []
    if not fields and _XDMOD_LINE.match(source.head):
        fields = _XDMOD
    for number, text in numbered_lines(source):
        if not text.strip():
            continue
        if not fields:
            fields = _names(text, source.name, number)
            continue
        # The last field may be a job's name, which may hold a bar; an empty one after it is from --parsable.
        cells = text.split("|", len(fields) - 1)
        cells[-1] = cells[-1].removesuffix("|")
        if len(cells) != len(fields):
            raise InputError(source.name, f"has {len(cells)} fields, expected {len(fields)}", line=number)
        job = dict(zip(fields, cells, strict=True))
        identifier = job.get("jobid", job.get("jobidraw", ""))
        if "." not in identifier:
            yield number, _job(job, identifier, source.name, number)


def _names(text: str, source: str, line: int) -> list[str]:
    """Names of the fields from the first line."""
    names = [name.partition("%")[0].strip().lower() for name in text.removesuffix("|").split("|")]
    missing = [want for want in ("jobid", "state", "elapsed") if not any(want in name for name in names)]
    if missing:
        problem = f"the fields {', '.join(missing)} are missing; ask sacct for them, or name the fields with -r fields="
        raise InputError(source, problem, line=line)
    return names


def _job(job: Row, identifier: str, source: str, line: int) -> Row:
    nodes = job.get("nnodes", job.get("allocnodes"))
    cpus = job.get("ncpus", job.get("alloccpus"))
    return {
        "job": identifier,
        "name": job.get("jobname", ""),
        "cluster": job.get("cluster", ""),
        "partition": job.get("partition", ""),
        "account": job.get("account", ""),
        "state": _plain_state(job.get("state", "")),
        "nodes": _count(nodes, "nodes", source, line),
        "cpus": _count(cpus, "CPUs", source, line),
        "elapsed_s": _seconds(job, source, line),
    }


def _plain_state(text: str) -> str:
    """The state without who brought it about: ``CANCELLED by 1000``."""
    return text.strip().partition(" ")[0][:40] or "UNKNOWN"


def _count(text: str | None, resource: str, source: str, line: int) -> int | None:
    if not text:
        return None
    if not re.fullmatch(r"[0-9]{1,12}", text):
        raise InputError(source, f"{text[:40]!r} is no number of {resource}", line=line)
    return int(text) or None


def _seconds(job: Row, source: str, line: int) -> float:
    """Elapsed time; ``[days-]hours:minutes:seconds``, or a number of seconds."""
    raw = job.get("elapsedraw")
    if raw is not None and re.fullmatch(r"[0-9]{1,12}", raw):
        return float(raw)
    text = job.get("elapsed", "")
    match = _ELAPSED.fullmatch(text)
    if match is None:
        raise InputError(source, f"elapsed time {(text or raw or '')[:40]!r} is not [days-]hh:mm:ss", line=line)
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
