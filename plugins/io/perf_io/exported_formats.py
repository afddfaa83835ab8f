"""Formats that are known by their first bytes and not read themselves: each with the export that is."""

from __future__ import annotations

import re
import shlex
from pathlib import PurePath

from perfcore.reading.source import Source

_HPCTOOLKIT = rb"HPCTOOLKIT|HPCRUN-profile|HPCRUN-trace|(?s:.{0,4096}?)<!DOCTYPE HPCToolkitExperiment"
_SAMPLES = (
    ", which is not read; samples say where a program was met, and not how long its calls took; read are counts, by "
    "perf stat -x, -o FILE, and traces and profiles of the tools in `perf info --formats`"
)
_PIPIT = "import sys, pipit; pipit.Trace.from_hpctoolkit(sys.argv[1]).events.to_csv('events.csv', index=False)"
_MPIP = """/^@--- MPI Time/{t=1} t&&$1=="*"{print n","($2-$3)/n","$3/n; exit} t&&$1~/^[0-9]+$/{n++}"""
_CPROFILE = (
    'import csv,pstats,sys; w=csv.writer(sys.stdout); w.writerow(["function","time_s"]); '
    'w.writerows(("%s:%d:%s"%k,v[2]) for k,v in pstats.Stats(sys.argv[1]).stats.items())'
)
_SPEEDSCOPE = (  # between two events runs the innermost frame of those that are open
    "import csv,json,sys; d=json.load(open(sys.argv[1])); t={}; "
    'h=lambda e,s: ((s[-1],b["at"]-a["at"]) for a,b in zip(e,e[1:]) '
    'if [s.append(a["frame"]) if a["type"]=="O" else s.pop()] and s); '
    '[t.update({n: t.get(n,0)+w}) for p in d["profiles"] for k,w in '
    '(h(p["events"],[]) if "events" in p else ((s[-1],w) for s,w in zip(p["samples"],p["weights"]) if s)) '
    'for n in [d["shared"]["frames"][k]["name"]]]; w=csv.writer(sys.stdout); '
    'w.writerow(["function","time_"+d["profiles"][0]["unit"]]); w.writerows(t.items())'
)
_PSTATS = r"""/ncalls/{t=1; next} t&&NF>5{n=$6; for(i=7;i<=NF;i++) n=n" "$i; print "\"" n "\"," $2}"""
_TAU = (
    r"""FNR==1{n++; u=0} / userevents/{u=1} /^"/&&!u&&$2!~/ => /{split($3,f," "); t[$2]+=f[3]} """
    r"""END{print "function,time_us"; for(k in t) print "\"" k "\"," t[k]/n}"""
)
_VITEST = '.files[].groups[]|.fullName as $g|.benchmarks[]|[$g+"/"+.name,.mean,.sd,.sampleCount]|@csv'
_K6 = ".metrics|to_entries[]|[.key,(.value.values//.value).avg]|select(.[1])|@csv"
_DXT = """BEGIN{print "rank,start_s,end_s,state"} $1~/^X_/{print $2","$7","$8","$3}"""

# How a file begins, and what to do with it; {name}, {folder}, {above}, {json} and {found} are its own.
_FORMS = {
    _HPCTOOLKIT:
        "is of a database of HPCToolkit, which is not read; its traces are as a table of events, by Pipit "
        f"(github.com/hpcgroup/pipit): python -c {shlex.quote(_PIPIT)} {{folder}} && perf info events.csv",
    # marshalled: a mapping, from triples of file, line and name
    rb"[{\xfb][)\xa9]\x03[zZ\xda\xfa]":
        "is a profile of Python's cProfile, which is not read; the own times of its functions are: "
        f"python -c {shlex.quote(_CPROFILE)} {{name}} > functions.csv && perf profile functions.csv",
    rb"\s+[0-9]+ function calls(?: \([0-9]+ primitive calls\))? in [0-9.]+ seconds":
        "is what Python's cProfile prints, which is not read; the own times of its functions are: "
        f"(echo function,time_s; awk '{_PSTATS}' {{name}}) > functions.csv && perf profile functions.csv",
    rb"[0-9]+ templated_functions":
        "is a profile of TAU, which is not read; the mean own times of its threads are: "
        f"awk -F'\"' '{_TAU}' {{folder}}/profile.* > functions.csv && perf profile functions.csv",
    rb'(?:==[A-Z]+== [^\n]*\n)*"ID","Process ID","Process Name",[^\n]*"Metric Name"':
        "is the CSV of Nsight Compute (ncu), counters by kernel, which are not read; times of kernels are, by "
        "nsys stats --report cuda_gpu_kern_sum --format csv",
    rb'\s*\{[^\0]{0,2000}?(?:"(?:https?://(?:www\.)?)?speedscope|"shared"\s*:\s*\{\s*"frames"\s*:'
    rb'|"type"\s*:\s*"(?:sampled|evented)")':
        "is a profile of speedscope, which is not read; the own times of its functions are: "
        f"python -c {shlex.quote(_SPEEDSCOPE)} {{name}} > functions.csv && perf profile functions.csv",
    rb"(?:[^\s;]+(?:;[^;\n]+)+ [0-9]+\r?\n){2}|File: [^\n]*\nType: cpu\n":
        f"is a profile of sampled stacks{_SAMPLES}",
    rb"PERFILE2": f"is the record of Linux's `perf record`{_SAMPLES}",
    rb"# To display the perf.data header info|# Overhead +Command ":
        f"is what Linux's `perf report --stdio` prints{_SAMPLES}",
    rb"Flat profile:\s+Each sample counts as": f"is a profile of gprof{_SAMPLES}",
    rb"PK\x03\x04(?s:.{0,2000}?)(?:\[Content_Types\]\.xml|xl/)":
        "is a workbook of a spreadsheet, which is not read; save the sheet of the measurements as CSV",
    rb"\S[^\n]*?\s[0-9]+(?:/[0-9]+)?\s+(?:\[[0-9]+\]\s+)?[0-9]+\.[0-9]{6}:\s+(?:[0-9]+ )?[\w:./-]+:\s":
        f"is what Linux's `perf script` prints{_SAMPLES}",
    rb"\s*Job ID: (?P<found>[0-9_]{1,20})[^\n]*\n(?:Array Job ID: [^\n]*\n)?Cluster: ":
        "is what Slurm's seff prints of a job; the same is read of any number of jobs from sacct: "
        "sacct -j {found} --parsable2 --format=JobID,JobName,State,Elapsed,NNodes,NCPUS > jobs.txt",
    rb"Linux \S+ \([^()\n]*\)[ \t]+\S+[ \t]+_\w+_[ \t]+\([0-9]+ CPU\)":
        "is what sar, mpstat or iostat print for people; the same is read as sadf -d FILE > cpu.csv, where FILE is "
        "what sar recorded (sar -o FILE, or /var/log/sa/saDD), and as mpstat -P ALL -o JSON 1 > cpu.json",
    rb'\s*\{\s*(?=[^\0]*"commit_hash"\s*:)(?=[^\0]*"results"\s*:)':
        "is a result of airspeed velocity (asv) for one commit; the folder of all is read: perf gate {above}",
    rb"@ mpiP\s":
        "is a report of mpiP, which is not read; a table of the mean times of its ranks is: "
        f"(echo p,computing_s,communication_s; awk '{_MPIP}' {{name}}) > runs.csv, with a line of awk for each run",
    rb"# darshan log version":
        "is what darshan-parser prints, counters by file, which are not read; the operations of DXT are, as a "
        f"trace: darshan-dxt-parser LOG | awk '{_DXT}' > io.csv",
    rb"(?sm)(?:-{20,}\s+)?CPU name:\s.*?^Group 1: |STRUCT,Info,|TABLE,(?:Region|Group)":
        "is what likwid-perfctr prints, counters by hardware thread, which are not read; read are tables with a "
        "row for each run, such as p,time_s with its 'Runtime (RDTSC) [s]'",
    rb"(?:Connecting to host |-{20,}\s+Server listening on )[^\n]*\n(?s:.)*?\[ ID\] Interval":
        "is what iperf3 prints for people; its JSON is read: iperf3 --json -c HOST > iperf.json",
    rb"[^\n]+: \(g=[0-9]+\): rw=":
        "is what fio prints for people; its JSON is read: fio --output-format=json --output=fio.json JOB",
    rb"(?:(?:goos|goarch|pkg|cpu): [^\n]*\n)*(?: +(?:\xe2\x94\x82|\|) [^\n]*\n +(?:\xe2\x94\x82|\|) +\S+/op\b"
    rb"|name +(?:old )?time/op\b)":
        "is a comparison by benchstat; the outputs of go test -bench that it compared are read: perf gate OLD NEW",
    rb"BenchmarkTools\.Trial:":
        "is what BenchmarkTools.jl prints; its JSON is read: BenchmarkTools.save(\"trial.json\", trial)",
    rb"<\?xml[^\n]*\n<Catch": "is the XML of Catch2; what it prints on the console is read: --reporter console",
    rb'\s*\{\s*"files"\s*:\s*\[\s*\{\s*"filepath"':
        "is JSON of vitest bench, which is not read; its means are: "
        f"(echo benchmark,mean_ms,sd_ms,n_runs; jq -r '{_VITEST}' {{name}}) > vitest.csv",
    rb'\s*\{(?=[^\0]*"metrics"\s*:)(?=[^\0]*"(?:http_reqs|iterations)"\s*:)':
        "is the JSON summary of k6, which is not read; what k6 prints at the end is, and the means are: "
        f"(echo metric,mean_ms; jq -r '{_K6}' {{name}}) > k6.csv",
}  # fmt: skip

# Of Perfetto's protos/perfetto/trace: a Trace is packets (field 1), of which each has one of these first fields,
# numbers or bytes: clock snapshots, time stamps, sequences, events, descriptors, configurations, markers.
_TAGS = sorted(
    field << 3 | wire for field in (3, 6, 8, 10, 11, 12, 13, 33, 36, 41, 42, 44, 45, 58, 59, 60, 79) for wire in (0, 2)
)
_STARTS = b"|".join(re.escape(bytes([tag] if tag < 0x80 else [tag & 0x7F | 0x80, tag >> 7])) for tag in _TAGS)
_PERFETTO = re.compile(rb"\n([\x80-\xff]{0,3}[\x01-\x7f])(?:" + _STARTS + rb")")
_OF_PERFETTO = (
    "is Perfetto's binary format, which is not read; its JSON is, by Perfetto's traceconv: "
    "traceconv json {name} {json} && perf info {json}"
)


def export_command(source: Source) -> str | None:
    """Return what to do with a file of such a format, as one line; None for any other file."""
    head, path = source.head, PurePath(source.name)
    match, text = next(((m, text) for begins, text in _FORMS.items() if (m := re.match(begins, head))), (None, ""))
    if match is None and (match := _PERFETTO.match(head)):
        end = match.end(1) + sum((byte & 0x7F) << 7 * place for place, byte in enumerate(match[1]))
        text = _OF_PERFETTO if end == len(head) or head[end : end + 1] == b"\n" else ""
    if match is None or not text:
        return None
    names = {
        "name": source.name, "folder": str(path.parent), "above": str(path.parent.parent),
        "json": f"{path.name}.json", "found": (match.groupdict().get("found") or b"").decode(),
    }  # fmt: skip
    for key, name in names.items():
        text = text.replace(f"{{{key}}}", shlex.quote(name))
    return text
