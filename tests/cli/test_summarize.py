"""``perf summarize``, in this process, in several, and by Slurm with stand-ins for `sbatch` and `squeue`."""

import binascii
import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from backwards import Backwards

from perf_explore.opening import DataViews
from perf_tables import executors
from perf_tables.executors import in_order
from perf_traces.summaries import summarizing
from perfcore import Trace, overheads, profile, read, summarize
from perfcore.base.errors import InputError

RECORDED = ("-r", "clocks=recorded")


def numbers(path):
    """All that the summary in a file says."""
    run = read(path)
    curve, (times, entries) = run.utilization(), run.times_and_entries()
    arrays = [*run.windows(), times, entries, curve.edges, curve.heights]
    return run.locations, run.states, run.notes, [array.tolist() for array in arrays]


@pytest.fixture
def ranks(folder):
    """Five files of ranks, with different numbers of locations and states."""
    for rank in range(5):
        ends = np.cumsum(np.random.default_rng(rank).integers(1, 2000, 60))
        starts = [0, *ends[:-1]]
        rows = (
            f"{start},{end},cpu{row % (1 + rank % 2)},{('solve', 'MPI_Wait', 'io')[row % (2 + rank % 2)]}"
            for row, (start, end) in enumerate(zip(starts, ends, strict=True))
        )
        (folder / f"rank{rank}.csv").write_text("\n".join(["start_ns,end_ns,location,state", *rows]) + "\n")
    return folder


def test_parts_in_any_order_are_the_whole(perf, ranks):
    perf("summarize", "rank*.csv", "-o", "whole.summary", "--cells", 4096, *RECORDED)
    for part in (2, 3, 1):
        said = perf("summarize", "rank*.csv", "-o", f"part-{part}", "--part", f"{part}/3", "--cells", 4096, *RECORDED)
    assert said.lines[0].endswith("from 2 of 5 files")
    said = perf("summarize", "part-3", "part-1", "part-2", "-o", "merged.summary")
    assert "Next: perf fit merged.summary" in said.lines
    assert numbers("merged.summary") == numbers("whole.summary")
    kept = (ranks / "part-1").stat().st_mtime_ns
    said = perf("summarize", "rank*.csv", "-o", "part-1", "--part", "1/3", "--cells", 4096, *RECORDED, status=(0,))
    assert said.err == "perf: part-1: already there\n"
    assert (ranks / "part-1").stat().st_mtime_ns == kept
    facts = json.loads(perf("info", "merged.summary", "--json").out)["facts"]
    assert (facts["kind"], facts["intervals"], facts["locations"]) == ("trace", 300, 7)
    assert not any("perf convert" in line for line in facts["next"])
    assert "2 phases" in perf("fit", "merged.summary", "--phases", 2, status=(0,)).out
    perf("plot", "merged.summary", "-o", "curve.png")


def test_processes_give_the_same_numbers_and_one_that_dies_is_replaced(ranks, monkeypatch):
    alone = summarize("rank*.csv", "alone.summary", cells=1024, clocks="recorded")
    asked = executors._Process.ask
    killed = []

    def ask(process, line):
        """End the first one as soon as its answer is waited for."""
        if not killed:
            killed.append(running := process.start())
            answers = running.stdout

            def read(size):
                running.kill()
                running.stdout = answers
                return answers.read(size)

            running.stdout = SimpleNamespace(read=read)
        return asked(process, line)

    monkeypatch.setattr(executors._Process, "ask", ask)
    with executors.executor_of("local:1", "perf_traces.summaries.summarizing:prepare") as executor:
        found = summarize("rank*.csv", "several.summary", cells=1024, executor=executor, clocks="recorded")
    assert killed
    assert numbers("several.summary") == numbers("alone.summary")
    assert found.n_intervals == alone.n_intervals == 300


def test_any_executor_and_any_order_give_the_same_numbers(ranks):
    summarize("rank*.csv", "alone", cells=64, clocks="recorded")
    for at, executor in enumerate((ThreadPoolExecutor(3), Backwards())):
        summarize("rank*.csv", f"by-{at}", cells=64, executor=executor, clocks="recorded")
        assert numbers(f"by-{at}") == numbers("alone")
        executor.shutdown()
    words = [(f"{number:02}",) for number in range(40)]
    expected = [binascii.unhexlify(*each) for each in words]
    for executor in (ThreadPoolExecutor(3), Backwards(), None):
        assert list(in_order(executor, binascii.unhexlify, words)) == expected


def test_the_profile_of_a_summary_is_that_of_the_trace(ranks):
    for name, options in (("rank3.csv", {}), ("rank*.csv", {"clocks": "recorded"})):
        trace = read(name, wanted=(Trace,), **options)
        tables = [profile(each, by="location").to_frame() for each in (trace, summarize(name, cells=64, **options))]
        one, two = (table.drop(columns="file").sort_values("path", ignore_index=True) for table in tables)
        assert len(one) > 4
        assert one.equals(two)


def test_the_overheads_of_a_summary_are_those_of_the_trace_to_the_nanosecond(ranks, perf, refused):
    perf("summarize", "rank*.csv", "-o", "whole", "--cells", 64, *RECORDED)
    united = {"load imbalance": "load imbalance or insufficient parallelism"}
    united["insufficient parallelism"] = united["load imbalance"]
    sums = []
    for source, options in (("rank*.csv", RECORDED), ("whole", ())):
        said = json.loads(perf("overheads", source, "--json", *options).out)["profiles"][0]
        by_location = {}
        for each in said["categories"]:
            name = united.get(each["category"], each["category"])
            times = np.sum(each["by_location_by_phase_ns"], axis=1)
            by_location[name] = by_location.get(name, 0) + times
        sums.append({name: times.tolist() for name, times in by_location.items()})
        sums[-1]["efficiencies"] = said["efficiencies"]["run"]
    assert sums[0] == sums[1]
    assert sum(sums[0][united["load imbalance"]]) > 0
    perf("overheads", "whole", "--by", "location", "--plot", "lost.png")
    profile = overheads("whole").profiles[0]
    assert (profile.timeline_ns.sum(axis=1) == profile.by_category_ns).all()
    assert (profile.timeline_ns.sum(axis=0) == 7 * np.diff(profile.timeline_edges_ns)).all()
    page = DataViews(read("whole"), "whole", ("whole",)).view(("overheads",), {})
    assert "parallel efficiency" in page.blocks[0].text
    for words in (["--phases", 2], ["--by", "phase", "--phases", 2]):
        assert refused("overheads", "whole", *words).startswith("whole: a summary has cycles of the whole run only")
    own = perf("overheads", "--print-categories").out.replace('of = "io"', 'of = "runtime"')
    (ranks / "own.toml").write_text(own)
    said = refused("overheads", "whole", "--categories", "own.toml")
    assert "'io' is in a class that no category of own.toml takes" in said


def test_an_interrupted_call_keeps_its_sums_and_the_next_goes_on_from_them(ranks, perf, monkeypatch):
    given = ("rank*.csv", "-o", "whole", "--cells", 64, *RECORDED)
    summary_of_files, seen = summarizing.summary_of_files, []

    def adding(run, folder, positions):
        seen.extend(positions)
        if seen == [0, 1, 2, 3]:
            raise KeyboardInterrupt
        return summary_of_files(run, folder, positions)

    monkeypatch.setattr(summarizing, "summary_of_files", adding)
    said = perf("summarize", *given, status=(1, 130)).err
    assert "3 of 5 files are in whole.unfinished; the same call goes on from there" in said
    assert not (ranks / "whole").exists()
    said = perf("summarize", *given, status=(0,))
    assert said.err == "perf: going on after 3 of 5 files, from whole.unfinished\n"
    assert seen == [0, 1, 2, 3, 3, 4]
    summarize("rank*.csv", "alone", cells=64, clocks="recorded")
    assert numbers("whole") == numbers("alone")
    assert not list(ranks.glob("*.unfinished"))

    # What is damaged, or of a file that changed since, is made anew; what cannot be read leaves the others' sums.
    bad = (ranks / "rank4.csv").read_text()
    (ranks / "rank4.csv").write_text("start_ns,end_ns,location,state\n1,x,a,b\n")
    (ranks / "whole.unfinished").write_bytes(b"half")
    said = perf("summarize", *given, "--overwrite", status=(2,)).err
    assert "rank4.csv:2: the end is 'x'" in said
    assert "going on" not in said
    assert numbers("whole.unfinished")[2][0].startswith("a summary of 4 of 5 files")
    (ranks / "rank4.csv").write_text(bad)
    seen[:] = [-1]
    assert "going on" not in perf("summarize", *given, "--overwrite", status=(0,)).err
    assert seen == [-1, 0, 1, 2, 3, 4]


def test_a_full_disk_is_one_line_and_what_is_in_memory_is_still_summed_up(ranks, perf, refused, monkeypatch):
    said = refused("summarize", "rank*.csv", "-o", "/dev/full", *RECORDED)
    assert said == "/dev/full: cannot be written: No space left on device"
    monkeypatch.setattr(summarizing, "_EVERY_S", 0.0)
    save = summarizing.save

    def full(summary, path, *part):
        if str(path).endswith(".unfinished"):
            raise InputError("x", "the disk is full")
        save(summary, path, *part)

    monkeypatch.setattr(summarizing, "save", full)
    said = perf("summarize", "rank*.csv", "-o", "whole", "--cells", 64, *RECORDED, status=(0,))
    assert said.err.splitlines()[0] == "perf: what is summed up so far cannot be kept: x: the disk is full"
    assert read("whole").n_intervals == 300


def test_a_part_that_is_killed_leaves_nothing_half_written(ranks):
    code = (
        "import perfcore, perf_analysis.summarize as api, time; api.save = lambda *_: time.sleep(60); "
        "print('x', flush=True); perfcore.summarize('rank*.csv', 'part', part='1/2', clocks='recorded')"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert not (ranks / "part").exists()
    assert summarize("rank*.csv", "part", part="1/2", clocks="recorded").n_intervals == 180


def test_what_does_not_belong_together_is_named(ranks, perf, refused):
    for part in (1, 2):
        summarize("rank*.csv", f"p{part}", part=f"{part}/3", cells=64, clocks="recorded")
    summarize("rank*.csv", "fine", part="3/3", cells=128, clocks="recorded")
    summarize("rank*.csv", "unaligned", part="3/3", cells=64, clocks="unaligned")
    summarize(["rank0.csv", "rank1.csv"], "fewer", cells=64, clocks="recorded")
    for words, message in (
        (["p1", "p2"], "1 of 5 files are in none of the parts: rank2.csv; summarize the same files with "
                       "--part 3/3, or merge without them by --allow-missing"),
        (["p1", "p2", "p1"], "p1 is named twice; name each part once"),
        (["p1", "fine"], "fine does not belong to p1: --cells 128, and not 64"),
        (["p1", "unaligned"], "unaligned does not belong to p1: read with -r clocks=unaligned, and not with "
                              "-r clocks=recorded"),
        (["p1", "fewer"], "fewer does not belong to p1: not of the same files: rank2.csv, rank3.csv, rank4.csv are "
                          "listed in one only"),
        (["p1", "rank1.csv"], "rank1.csv: is no summary, and p1 is: name traces, or summaries of their parts"),
        (["p1", "none"], "none: cannot be read: No such file or directory"),
    ):  # fmt: skip
        assert refused("summarize", *words, "-o", "whole") == message
    os.utime(ranks / "rank2.csv", (1, 1))  # as a copy has another time
    again = perf("summarize", "rank*.csv", "-o", "p1", "--part", "1/3", "--cells", 64, *RECORDED, status=(0,))
    assert again.err == "perf: p1: already there\n"
    with (ranks / "rank2.csv").open("a") as file:
        file.write("900000,900001,cpu0,solve\n")
    summarize("rank*.csv", "p3", part="3/3", cells=64, clocks="recorded")
    said = refused("summarize", "p1", "p2", "p3", "-o", "whole")
    assert said == "p3 does not belong to p1: rank2.csv changed between the two"
    said = refused("summarize", "rank*.csv", "-o", "p1", "--part", "1/3", "--cells", 64, *RECORDED)
    assert (
        said == "p1: exists, and is not what is asked for: rank2.csv changed between the two; --overwrite replaces it"
    )
    assert "missing: rank2.csv" in " ".join(summarize(["p1", "p2"], allow_missing=True).notes)


@pytest.mark.slow
def test_a_cluster_of_dask_gives_the_same_numbers_and_one_that_does_not_answer_is_said(ranks, perf, refused):
    distributed = pytest.importorskip("distributed", reason="needs distributed, of the extra cluster")
    message = refused("summarize", "rank*.csv", "-o", "whole", "--parallel", "dask://127.0.0.1:9", *RECORDED)
    assert message.startswith("--parallel 'dask://127.0.0.1:9': no scheduler of Dask answers there")
    with distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None, protocol="tcp") as cluster:
        address = cluster.scheduler_address.removeprefix("tcp://")
        perf("summarize", "rank*.csv", "-o", "whole", "--parallel", f"dask://{address}", *RECORDED, status=(0,))
    summarize("rank*.csv", "alone", clocks="recorded")
    assert numbers("whole") == numbers("alone")


# ``perf summarize --parallel slurm``, with stand-ins for `sbatch` and `squeue`.
STAND_IN = Path(__file__).parent.parent / "experiments" / "stand_in_slurm.py"
GIVEN = ("rank*.csv", "-o", "whole", "--cells", 64, "-r", "clocks=recorded", "--parallel", "slurm:parts=3,time=10:00")


@pytest.fixture
def jobs(folder, tmp_path_factory, monkeypatch):
    """Five files, and where the stand-ins keep jobs."""
    for rank in range(5):
        rows = [f"{at * 10 + rank},{at * 10 + 10},cpu0,{'solve' if at % 2 else 'io'}" for at in range(9)]
        (folder / f"rank{rank}.csv").write_text("\n".join(["start_ns,end_ns,location,state", *rows]) + "\n")
    place = tmp_path_factory.mktemp("slurm")
    for name in ("sbatch", "squeue"):
        program = place / name
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -S {STAND_IN} "$0" "$@"\n')
        program.chmod(0o755)
    (place / "jobs").mkdir()
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    monkeypatch.setenv("STAND_IN_SLURM", str(place / "jobs"))
    return place / "jobs"


def end(jobs):
    for path in jobs.iterdir():
        path.write_text(json.dumps(json.loads(path.read_text()) | {"state": "COMPLETED"}))


def run_job(job, **variables):
    return subprocess.run(
        ["/bin/bash", job["script"], *job["arguments"]], check=False, env={**os.environ, **variables},
        capture_output=True, text=True,
    )  # fmt: skip


def test_an_array_of_jobs_makes_the_summary_of_one_process(jobs, folder, perf):
    said = perf("summarize", *GIVEN, status=(3,))
    assert said.lines[0] == "0 of 3 parts are done; jobs pending or running: 4000, 4001"
    array, merge = (json.loads((jobs / number).read_text()) for number in ("4000", "4001"))
    where = folder / "whole.parts"
    assert array["options"] == [
        "--parsable", "--job-name=summarize", f"--output={where}/part-%a.out", f"--chdir={folder}",
        "--ntasks=1", "--cpus-per-task=1", "--time=10:00", "--array=1-3",
    ]  # fmt: skip
    assert merge["options"][-1] == "--dependency=afterany:4000"
    assert run_job(array, SLURM_ARRAY_TASK_ID="2").returncode == 0
    assert perf("summarize", *GIVEN, status=(3,)).lines[0].startswith("1 of 3 parts are done; jobs pending")
    assert len(list(jobs.iterdir())) == 2  # as nothing was handed over again

    # The jobs of two parts are killed: they are named, and handed over again.
    assert "1.summary" in run_job(merge).stderr
    end(jobs)
    perf("summarize", *GIVEN, status=(3,))
    assert "--array=1,3" in json.loads((jobs / "4002").read_text())["options"]
    for part in (3, 1):
        perf("summarize", *GIVEN[:-2], "--part", f"{part}/3", "-o", where / f"{part}.summary")
    assert run_job(merge).returncode == 0
    summarize("rank*.csv", "alone", cells=64, clocks="recorded")
    alone = read("alone")
    for _ in range(2):
        whole = read("whole")
        assert (whole.windows()[1] == alone.windows()[1]).all()
        assert (whole.times_and_entries()[0] == alone.times_and_entries()[0]).all()
        assert perf("summarize", *GIVEN, status=(0,)).err == "perf: whole: already there\n"
        (folder / "whole").unlink()
        end(jobs)
        assert perf("summarize", *GIVEN, status=(0,)).lines[0].endswith("from 5 of 5 files")


def test_parts_of_another_run_are_refused(jobs, perf, refused):
    perf("summarize", *GIVEN, status=(3,))
    said = refused("summarize", *GIVEN[:-1], "slurm:parts=2")
    assert "holds parts of another run: 3 parts, or other files or options; --overwrite starts again" in said
    assert "jobs 4000, 4001 still work on it" in refused("summarize", *GIVEN[:-1], "slurm:parts=2", "--overwrite")
    end(jobs)
    assert perf("summarize", *GIVEN[:-1], "slurm:parts=2", "--overwrite", status=(3,)).lines[0].startswith("0 of 2")
