"""What a GPU does, against Holistic Trace Analysis on the same trace files: time, memory and what each says.

    python benchmarks/gpu_traces.py RANK0.json.gz RANK1.json.gz [--hta PYTHON]

``--hta`` names the Python of an environment in which HolisticTraceAnalysis is installed; without it only our own times
are measured. Each program runs in a process of its own, which reads the files and prints a line of JSON.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

_HTA = """
import json, logging, resource, sys, time, warnings
warnings.filterwarnings("ignore"); logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
begun = time.process_time()
files = dict(enumerate(sys.argv[1:]))
found = TraceAnalysis(trace_files=files, include_last_profiler_step=True)
parts = found.get_temporal_breakdown(visualize=False)
hidden = found.get_comm_comp_overlap(visualize=False)
idle, _ = found.get_idle_time_breakdown(ranks=list(files), visualize=False)
waits = idle.pivot_table("idle_time", "rank", "idle_category", "sum")
ranks = [
    {
        "computing_us": float(part["compute_time(us)"]), "idle_us": float(part["idle_time(us)"]),
        "hidden_communication_%": float(share),
        **{f"{name}_of_streams_us": float(waits.loc[rank, name]) for name in waits},
    }
    for rank, ((_, part), share) in enumerate(zip(parts.iterrows(), hidden["comp_comm_overlap_pctg"]))
]
usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(json.dumps({
    "cpu_s": sum(each.ru_utime + each.ru_stime for each in usage), "without_imports_s": time.process_time() - begun
    + usage[1].ru_utime + usage[1].ru_stime, "peak_mb": max(each.ru_maxrss for each in usage) / 1024, "ranks": ranks,
}))
"""


def own(files: list[str]) -> None:
    """Print what overheads says of each file."""
    import perfcore
    from perfcore import overheads

    begun = time.process_time()
    ranks = []
    for file in files:
        profile = overheads(perfcore.read(file))[0]
        [device] = profile.devices
        times = dict(zip(profile.categories, profile.by_category_ns.tolist(), strict=True))
        ranks.append(
            {
                "computing_us": device.computing_ns / 1000,
                "idle_us": device.idle_ns / 1000,
                "hidden_communication_%": 100 * device.hidden_communication_ns / max(device.communicating_ns, 1),
                "waiting_for_the_host_us": times["waiting for the host"] / 1000,
                "launched_not_started_us": times["launched, not started"] / 1000,
            }
        )
        streams = overheads(perfcore.read(file, locations="stream"))[0]
        of_streams = dict(zip(streams.categories, streams.by_category_ns.tolist(), strict=True))
        ranks[-1]["waiting_for_the_host_of_streams_us"] = of_streams["waiting for the host"] / 1000
    usage = resource.getrusage(resource.RUSAGE_SELF)
    said = {
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "without_imports_s": time.process_time() - begun,
        "peak_mb": usage.ru_maxrss / 1024,
        "ranks": ranks,
    }
    sys.stdout.write(f"{json.dumps(said)}\n")


def main() -> None:
    """Run both and print what they say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--hta", help="Python with HolisticTraceAnalysis")
    parser.add_argument("--own", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.own:
        own(given.files)
        return
    runs = {"perf": [sys.executable, str(Path(__file__)), "--own", *given.files]}
    if given.hta:
        runs["hta"] = [given.hta, "-c", _HTA, *given.files]
    for name, command in runs.items():
        begun = time.perf_counter()
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        said = json.loads(done.stdout.splitlines()[-1])
        sys.stdout.write(f"{name}: {json.dumps(said | {'wall_s': time.perf_counter() - begun}, indent=1)}\n")


if __name__ == "__main__":
    main()
