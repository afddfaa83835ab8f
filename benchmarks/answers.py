"""What commands answer, recorded and compared: terminal text, ``--json`` and ``--table csv``.

``python benchmarks/answers.py record FOLDER`` runs the commands below and writes their outputs; with PERFCORE_DATA set,
those over real data too. ``python benchmarks/answers.py compare BEFORE AFTER`` lists each number that differs by more
than 1e-9 (relative), and each text that differs.
"""

from __future__ import annotations

import difflib
import json
import math
import os
import shlex
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
TOLERANCE = 1e-9
# {d} is PERFCORE_DATA; {m} the models of the golden tests.
COMMANDS = """
info examples/cholesky/cholesky_trace.csv.gz
info examples/npb/timings.csv
info examples/scaling_laws/runs.jsonl
info examples/halo/halo.prv
info examples/step.csv
info examples/sor/recorded/availability.csv
info examples/study/recorded/sor.db
info {d}/scaling/mlperf_training.csv
info {d}/timeseries/ec2_cpu_utilization_24ae8d.csv
info {d}/benchresults/hyperfine.json
info {d}/traces/chrome/rank0.json.gz
fit examples/cholesky/cholesky_trace.csv.gz --degree 2
fit examples/cholesky/cholesky_trace.csv.gz --fitter worley --phases 4 --degree 2
fit examples/step.csv
fit examples/npb/timings.csv
fit examples/npb/timings.csv --fitter strohmaier --operations examples/npb/codes.csv --peak examples/npb/systems.csv
fit examples/scaling_laws/runs.jsonl --at n=512,m=64
fit tests/golden/by_category.csv --fitter lca --parameter P --where D=256
fit tests/golden/by_category.csv --fitter modgen --parameter P,D
fit examples/sor/recorded/availability.csv --fitter forecast --column 'cpu 0 available'
fit {d}/scaling/hecbiosim_gromacs_categories.csv --fitter scaling
fit {d}/scaling/chinchilla_runs.csv
fit {d}/timeseries/rds_cpu_utilization_cc0c53.csv
fit {d}/traces/paje/qr_trace.csv.gz
rank examples/npb/timings.csv --terms 2 --top 5
rank examples/npb/timings.csv --fitter strohmaier --terms 2 --top 3
predict {m}/phases.json --at t=1000000,3000000 --interval 0.95
predict {m}/strohmaier.json --at p=16,64 --at code=MG --at system=PCArray --interval 0.95
predict {m}/modgen.json --at P=64 --at D=512 --at category=total --interval 0.95
predict {m}/scaling.json --at n=512 --at m=64 --interval 0.95
predict examples/structural/sor.toml --bins 5
predict examples/structural/lu.toml
compare {m}/modgen.json {m}/modgen.json --at P=16..256*2 --at D=256
validate {m}/modgen.json tests/golden/by_category.csv
validate examples/sor/recorded/predictions-normal.json examples/sor/recorded/runs.csv --column time_s
overheads examples/cholesky/cholesky_trace.csv.gz
overheads examples/halo/halo.prv
overheads examples/halo/scaling
overheads {d}/traces/chrome/rank0.json.gz
overheads {d}/traces/chrome/two_ranks
overheads {d}/traces/paraver/epoch
overheads {d}/traces/otf2/sst-10rank/traces.otf2
whatif examples/halo/halo.prv
whatif examples/halo/halo.prv --network 0
whatif {d}/traces/chrome/rank0.json.gz
profile examples/cholesky/cholesky_trace.csv.gz
profile examples/halo/halo.prv
profile {d}/traces/chrome/rank0.json.gz
profile {d}/traces/chrome/rank0.json.gz --by operator
messages examples/halo/halo.prv
project examples/halo/scaling --at p=16
project {d}/traces/paraver/epoch --at p=16
gate {d}/benchresults/hyperfine.json {d}/benchresults/hyperfine.json
gate {d}/benchresults/google_benchmark_repetitions.json {d}/benchresults/google_benchmark_repetitions.json
gate {d}/timeseries/otava_tigerbeetle_requests.csv
stochastic summarize {d}/timeseries/ec2_cpu_utilization_24ae8d.csv
stochastic eval 'work*(1 + busy)' --with work=normal:120,3 --with busy=interval:0.1,0.3
experiment next {m}/individual.json --target p=1024 --target code=LU --target system=T3D
experiment next examples/study/recorded/sor.db --precision 1%
plugins
"""


def commands() -> list[list[str]]:
    """The commands that can run here, as words."""
    data = os.environ.get("PERFCORE_DATA", "")
    lines = [line for line in COMMANDS.strip().splitlines() if data or "{d}" not in line]
    return [shlex.split(line.format(d=data, m="tests/golden/models")) for line in lines]


def run(words: list[str]) -> str:
    """Standard output, and the status if it is not 0."""
    command = [sys.executable, "-m", "perfcore", *words]
    environment = {**os.environ, "COLUMNS": "100"}
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, env=environment, check=False)
    return done.stdout + ("" if done.returncode == 0 else f"status {done.returncode}: {done.stderr[-600:]}\n")


def record(folder: Path) -> None:
    """Write the outputs of all commands."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, words in enumerate(commands(), 1):
        for name, more in (("txt", []), ("json", ["--json"]), ("csv", ["--table", "csv"])):
            output = f"$ perf {shlex.join([*words, *more])}\n{run([*words, *more])}"
            (folder / f"{number:02}.{name}").write_text(output)


def differing(before: object, after: object, path: str = "") -> list[str]:
    """Numbers and words of two JSON documents that are in both and differ, and what is in one only."""
    if isinstance(before, dict) and isinstance(after, dict):
        lines = [f"{path}/{name}: gone" for name in before.keys() - after.keys()]
        lines += [f"{path}/{name}: new" for name in after.keys() - before.keys()]
        for name in before.keys() & after.keys():
            lines += differing(before[name], after[name], f"{path}/{name}")
        return lines
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [line for k in range(len(before)) for line in differing(before[k], after[k], f"{path}[{k}]")]
    if isinstance(before, (int, float)) and isinstance(after, (int, float)):
        is_same = math.isclose(before, after, rel_tol=TOLERANCE, abs_tol=1e-12)
    else:
        is_same = before == after
    return [] if is_same else [f"{path}: {before!r} -> {after!r}"[:300]]


def compare(before: Path, after: Path) -> int:
    """Print what differs; the number of outputs that do."""
    count = 0
    for file in sorted(before.iterdir()):
        old, new = file.read_text(), (after / file.name).read_text() if (after / file.name).exists() else ""
        if old == new:
            continue
        count += 1
        print(f"== {file.name}  {old.splitlines()[0]}")
        try:
            lines = differing(*(json.loads(text.partition("\n")[2]) for text in (old, new)))
        except ValueError:
            lines = list(difflib.unified_diff(old.splitlines()[1:], new.splitlines()[1:], lineterm="", n=0))[2:]
        print("\n".join(lines))
    print(f"{count} outputs differ")
    return count


if __name__ == "__main__":
    action, *folders = sys.argv[1:]
    if action == "record":
        record(Path(folders[0]).resolve())
    else:
        compare(*map(Path, folders))
