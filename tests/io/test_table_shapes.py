"""Tables of text as people and tools write them: what becomes of their lines, columns and cells."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import perfcore
from perfcore import Measurements, Series
from perfcore.base.errors import InputError, PerfError
from perfcore.data.units import seconds_per

TIMES = [8.0, 4.5, 2.5]
TABLE = "p,time_s\n1,8\n2,4.5\n4,2.5\n"
SHAPES = {
    "separator": ("sep=;\np;time_s\n1;8\n2;4.5\n4;2.5\n", "csv"),
    "decimal commas": ("p;time_s\n1;8,0\n2;4,5\n4;2,5\n", "csv"),
    "empty columns and rows": ("\ufeffp,time_s,,\r\n1,8,,\r\n,,,\r\n2,4.5,,\r\n4,2.5,,\r\n,,,\r\n", "csv"),
    "blanks": ("# of a cluster\n\np   time_s\n1   8\n2  4.5\n4  2.5\n", "txt"),
    "heading behind a mark": ("# of a cluster\n#\n#p time_s\n1 8\n2 4.5\n4 2.5\n", "dat"),
    "unit in brackets": ("p  time [s]\n-  --------\n1  8\n2  4.5\n4  2.5\n", "txt"),
    "Markdown": ("| p | time |\n|--:|:----|\n| 1 | 8 s |\n| 2 | **4.5 s** |\n| 4 | 2.5 s |\n", "md"),
    "box of a console": ("│ p │ kind │ time │\n├───┼──────┼──────┤\n│ 1 │ 'a' │ '8 ± 1%' │\n│ 2 │ 'a' │ '4.5 ± 1%' │\n"
        "│ 4 │ 'a' │ '2.5' │\n", "txt"),
    "Markdown without outer bars": ("`p` | wall time\n--- | ---\n1 | 0m8s\n2 | 0m4.5s\n4 | 0m2.5s\n", "md"),
    "database": (" p | time_s\n---+--------\n 1 | 8\n 2 | 4.5\n 4 | 2.5\n", "txt"),
    "box": ("┌───┬──────┐\n│ p │ time_s │\n├───┼──────┤\n│ 1 │ 8 │\n│ 2 │ 4.5 │\n│ 4 │ 2.5 │\n└───┴──────┘\n", "txt"),
    "line of units": ("p,time\n,s\n1,8\n2,4.5\n4,2.5\n", "csv"),
    "line of units, one of them unknown": ("p,time,energy\n-,s,kJ\n1,8,2\n2,4.5,3\n4,2.5,4\n", "csv"),
    "title of a spreadsheet": ("Runs;;\n;;\nMonday;;\np;time;\n;[s];\n1;8,0;\n2;4,5;\n4;2,5;\n", "csv"),
    "groups of columns": ("p,time,\n,mean,sd\n1,8,0.1\n2,4.5,0.1\n4,2.5,0.1\n", "csv"),
    "title above": ("Runs of Monday\n\np   time_s\n1   8\n2   4.5\n4   2.5\n", "txt"),
    "prose around": ("# Results\n\n| p | time_s |\n|---|---|\n| 1 | 8 |\n| 2 | 4.5 |\n| 4 | 2.5 |\n\nThanks.\n", "md"),
    "R": ('"p" "mean_s"\n"1" 1 8\n"2" 2 4.5\n"3" 4 2.5\n', "txt"),
    "spread": ("| p | time |\n|---|---|\n| 1 | 8 ± 0.1 s |\n| 2 | 4.5±0.1 s |\n| 4 | 2.5 +- 0.2 s |\n", "md"),
    "minutes and hours": ("nodes,elapsed\n1,1:00:08\n2,30:04.5\n4,15:02.5\n", "csv"),
    "key=value": ("10:00 p=1 n=5 time_s=8\n10:01 p=2 n=5 time_s=4.5\n10:02 p=4 n=5 time_s=2.5\nbye\n", "log"),
    "words and units": ("go\np=1: took 8 s.\np=2: took 4.5 s.\np=4: took 2.5 s.\n", "log"),
    "a number behind pairs": ("tasks  size  seconds\np=1  n=5  8\np=2  n=5  4.5\np=4  n=5  2.5\n", "txt"),
    "key: value": ("p: 1, n: 5, time: 8s\np: 2, n: 5, time: 4.5s\np: 4, n: 5, time: 2.5s\n", "txt"),
    "key: value with decimal commas": ("p: 1, time: 8,00\np: 2, time: 4,5\np: 4, time: 2,5\n", "txt"),
    "processors in prose": ("".join(f"Run on {p} processes\nmesh of 99 nodes\nstep 1 time: .1 s\nFinished in {t} sec\n"
        for p, t in zip((1, 2, 4), TIMES, strict=True)), "log"),
    "levels and times in sentences": ("Threads in use: 4\n" + "".join(f"Elapsed (parallel, {p} thread{'s' * (p > 1)}): "
        f"{t} sec.\nIt is {8 / t:.2f} times as fast\n" for p, t in zip((1, 2, 4), TIMES, strict=True)), "log"),
    "pairs before a time": ("N = 7, p = 1: 8 s (1x)\nN = 7, p = 2: 4.5 s (2x)\nN = 7, p = 4: 2.5 s (3x)\n", "log"),
    "commands of a shell": ("+ mpirun -np 1 ./a\nElapsed: 8 s\n+ mpirun -np 2 ./a\nElapsed: 4.5 s\n"
        "+ srun --ntasks=4 ./a\nElapsed: 2.5 s\n", "log"),
    "counts with a word": ("|Setup|Time|\n|--|--|\n|1 GPU|~8 s|\n|2 GPUs|4.5 s|\n|4 GPUs|2.5 s|\n", "md"),
    "counts of a column": ("cores,Time (9 frames),Gain\n1 core,8 s,1x\n2 cores,4.5 s,2x\n4 cores,2.5 s,3x\n", "csv"),
    "counts in names": ('{"threads_1": {"mean": 8}, "threads_2": {"mean": 4.5}, "threads_4": {"mean": 2.5}}', "json"),
    "a rate in camel case": ("gpus,SamplesPerSec\n1,8\n2,4.5\n4,2.5\n", "csv"),
    "a part and the whole in prose": ("".join(f"Run on {p} processes\nReading done in .1 s\nTotal time = {t} (s)\n"
        for p, t in zip((1, 2, 4), TIMES, strict=True)), "log"),
    "names and units behind marks": ("#  p  walltime  memory\n#   [-]  [s]  [GB]\n"
        "  1  8  1.2\n  2  4.5  1.5\n  4  2.5  2.1\n",
        "dat"),
    "means with deviations in bold": ("|Nodes|Throughput Mean ± SD|Speedup|\n|-:|-:|-:|\n|1|**8 ± 0.5** inf/s|1.00x|\n"
        "|2|**4.5 ± 0.9** inf/s|2.03x|\n|4|**2.5 ± 1.1** inf/s|3.00x|\n", "md"),
    "about": ("p,time_s\n1,~8\n2,≈4.5\n4,2.5\n", "csv"),
    "hours and minutes": ("threads,took\n1,1h 8s\n2,30 min 4.5 s\n4,15m2.5s\n", "csv"),
    "a line of blanks": ("p,time_s\n1,8\n2,4.5\n   \n4,2.5\n  \n", "csv"),
    "first column without a name": (",time_s\n1,8\n2,4.5\n4,2.5\n", "csv"),
    "numbers of rows": (",p,time_s\n0,1,8\n2,2,4.5\n5,4,2.5\n", "csv"),
    "flags of failures": ("p,ok,time_s\n1,true,8\n2,false,0.1\n2,true,4.5\n4,true,2.5\n", "csv"),
    "counts of failures": ("p,failed,time_s\n1,0,8\n2,1,0.1\n2,0,4.5\n4,0,2.5\n", "csv"),
    "verified runs": ("p,verified,time_s\n1,yes,8\n2,UNSUCCESSFUL,0.1\n2,yes,4.5\n4,yes,2.5\n", "csv"),
    "constant number": ("gpus,batch_per_gpu,images_per_sec\n1,64,8\n2,64,4.5\n4,64,2.5\n", "csv"),
    "levels in columns": ("size,p=1,p=2,p=4\n10,8,4.5,2.5\n", "csv"),
    "columns of two levels": (",time_s,time_s\n,mean,std\np,,\n1,8,0.1\n2,4.5,0.1\n4,2.5,0.1\n", "csv"),
    "rows are columns": ("p,1,2,4\ntime [s],8,4.5,2.5\nspeedup,1,1.78,3.2\n", "csv"),
    "LaTeX": (
        "\\caption{Runs}\\begin{tabular}{rr}\n\\textbf{p} & time [s] \\\\ \\hline\n1 & $8$ \\\\\n"
        "2 & \\num{4.5} \\\\ % again\n4 & 2.5 \\\\\n\\end{tabular}\n", "tex"),
    "corner": ("n\\threads,1,2,4\n10,8,4.5,2.5\n", "csv"),
    "blocks of lines": ("Threads : 1\nWall time : 8 s\n---\nThreads : 2\nWall time : 4.5 s\n---\nThreads : 4\n"
        "Wall time : 2.5 s\n", "txt"),
    "blocks of pairs": ("n=5 p=1\nmin=7.9s max=8.1s\nmean=8s\nn=5 p=2\nmin=4.4s max=4.6s\nmean=4.5s\nn=5 p=4\n"
        "min=2.4s max=2.6s\nmean=2.5s\n", "txt"),
    "a number and a time": ("1: 8s\n2: 4.5s\n4: 2.5s\n", "txt"),
    "keys that differ in case": ("N = 7 | p = 1 | n = 3 | t_s = 8\nN = 7 | p = 2 | n = 3 | t_s = 4.5\n"
        "N = 7 | p = 4 | n = 3 | t_s = 2.5\n", "txt"),
    "broken lines in cells": ("|MPI<br>ranks|Wall<br/>time|\n|--|--|\n|1|8|\n|2|4.5|\n|4|2.5|\n", "md"),
    "levels whose cells have a unit": ("| size | p=1 | p=2 | p=4 |\n|--|--|--|--|\n| 10 | 8s | 4.5s | 2.5s |\n", "md"),
    "columns in JSON": ('{"code": "lu", "runs": {"p": [1, 2, 4], "time_s": [8, 4.5, 2.5]}}', "json"),
    "objects in JSON": ('{"serial": 8, "x": {"1": {"time_s": 8}, "2": {"time_s": 4.5}, "4": {"time_s": 2.5}}}', "json"),
}  # fmt: skip


def rows(data):
    table = data.table.sort_values(list(data.roles.parameters.values()))
    return table[data.roles.value].tolist()


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_of_tables(tmp_path, shape):
    text, ending = SHAPES[shape]
    (tmp_path / f"runs.{ending}").write_text(text, newline="")
    data = perfcore.read(tmp_path / f"runs.{ending}")
    assert isinstance(data, Measurements)
    least = 900 * np.array([4, 2, 1]) if shape in ("minutes and hours", "hours and minutes") else 0
    assert rows(data) == pytest.approx(np.array(TIMES) + least)
    assert list(data.table[data.roles.parameters.get("p", "threads")]) == [1, 2, 4]


def test_empty_cells_of_merged_rows(tmp_path):
    """Of a problem that is named once for each block of rows; what has a name in any row is none, nor what repeats."""
    lines = "size,p,time_s\n10,1,8\n,2,4.5\n,4,2.5\n20,1,16\n,2,9\n,4,5\n"
    (tmp_path / "runs.csv").write_text(lines)
    data = perfcore.read(tmp_path / "runs.csv")
    assert data.table["size"].tolist() == [10, 10, 10, 20, 20, 20]
    assert "assumed: an empty cell of size is as the one above" in data.notes
    for text in (lines.replace("20", "10"), lines.replace("\n,", "\n30,", 1), lines.replace("10,1", ",1")):
        (tmp_path / "runs.csv").write_text(text)
        assert perfcore.read(tmp_path / "runs.csv").table["size"].isna().any()


def test_processors_by_size_in_json(tmp_path):
    (tmp_path / "runs.json").write_text('{"1024": {"1": 8, "2": 4.5}, "2048": {"1": 64, "2": 33}}')
    data = perfcore.read(tmp_path / "runs.json")
    assert data.roles.parameters == {"n": "n", "p": "p"}
    assert data.table[["n", "p", "value"]].to_numpy().tolist() == [
        [1024, 1, 8], [1024, 2, 4.5], [2048, 1, 64], [2048, 2, 33],
    ]  # fmt: skip


def test_a_serial_run_beside_counts_with_a_word_is_refused_with_the_option_that_leaves_it_out(read):
    data = read("|Workers|Time (s)|\n|--|--|\n|Sequential|8|\n|1 worker|8|\n|2 workers|4.5|\n|4 workers|2.5|\n", "a.md")
    with pytest.raises(
        InputError, match=r"a.md:3: Workers is 'Sequential'.*; where='Workers!=Sequential' leaves it out"
    ):
        perfcore.fit(data)
    assert perfcore.fit(data, where="Workers!=Sequential").measured.ravel().tolist() == [1, 2, 4]


def test_hosts_of_one_cluster_with_a_run_each_are_no_systems(tmp_path):
    rows = [("c101-001", 4, 12.3), ("c101-002", 8, 6.5), ("c105-017", 16, 3.6)]
    for names, systems in ((("c101-001", "c101-002", "c105-017"), ()), (("ada", "bob", "cyd"), ("host",))):
        text = "".join(f"{name},{p},{time}\n" for name, (_, p, time) in zip(names, rows, strict=True))
        (tmp_path / "runs.csv").write_text(f"host,ranks,elapsed\n{text}")
        assert perfcore.read(tmp_path / "runs.csv").roles.system == systems


def test_utf_16(tmp_path):
    (tmp_path / "runs.csv").write_bytes(TABLE.encode("utf-16"))
    assert rows(perfcore.read(tmp_path / "runs.csv")) == TIMES


@pytest.mark.parametrize("header", [
    "p,t1,t2,t3", "p,run 1 [s],run 2 [s],run 3 [s]", "p,time,time,time", "p,rep_0,rep_1,rep_2", "p,Test1,Test2,Test3",
])  # fmt: skip
def test_columns_of_repetitions_become_rows(tmp_path, header):
    """The mean follows from the runs; three parts of a run that differ are no repetitions of it."""
    (tmp_path / "runs.csv").write_text(f"{header},avg\n1,8,8.1,7.9,8\n2,4.5,4.4,4.6,4.5\n4,2.5,2.4,2.6,2.5\n")
    data = perfcore.read(tmp_path / "runs.csv")
    seen = data.observations()
    assert (seen.repetitions.tolist(), seen.value.tolist()) == ([3, 3, 3], TIMES)
    assert data.line(3) == 3
    assert "3 repetitions of each row; avg follows from them" in data.notes[0]
    (tmp_path / "parts.csv").write_text("p,t1,t2,t3\n1,8,0.1,1\n2,4,0.1,1\n4,2,0.1,1\n")
    assert list(perfcore.read(tmp_path / "parts.csv").table.columns) == ["p", "t1", "t2", "t3"]


@pytest.mark.parametrize("mark", ["N/A", "-", "#N/A", "OOM", "FAILED", "timeout", "-1", "0", "inf", ""])
def test_marks_of_failed_runs_are_left_out_and_counted(tmp_path, mark):
    (tmp_path / "runs.csv").write_text(TABLE + f"8,{mark}\n16,1\n")
    seen = perfcore.read(tmp_path / "runs.csv").observations()
    assert seen.value.tolist() == [*TIMES, 1.0]
    assert seen.notes == (f"left out, without time_s: 1 of 5 rows: {mark or 'empty'} (line 5)",)


@pytest.mark.parametrize("mark", ["0", "N/A", ""])
def test_rows_without_a_level_are_left_out_and_counted(read, mark):
    seen = read(TABLE + f"{mark},3\n16,1\n", "runs.csv").observations()
    assert seen.value.tolist() == [*TIMES, 1.0]
    assert seen.notes == (f"left out, without p: 1 of 5 rows: {mark or 'empty'} (line 5)",)
    with pytest.raises(InputError, match="p is 0"):
        read("p,time_s\n0,8\n1,4.5\n2,2.5\n", "runs.csv").observations()  # these count from 0


def test_rounded_runs_are_kept_and_joined_files_refused(tmp_path):
    (tmp_path / "rounded.csv").write_text("p,time_s\n1,8.0\n1,8.1\n1,8.0\n2,4\n2,4\n4,2\n")
    seen = perfcore.read(tmp_path / "rounded.csv").observations()
    assert seen.repetitions.tolist() == [3, 2, 1]
    assert seen.notes[0].startswith("2 rows repeat earlier ones in every column (line 4, 6)")
    (tmp_path / "joined.csv").write_text(TABLE + TABLE.partition("\n")[2])
    with pytest.raises(PerfError, match=r"joined.csv:5: from here on the rows repeat those from line 2 on"):
        perfcore.read(tmp_path / "joined.csv").observations()


ASKED = "throughput_tok_s,ttft_p50_ms,ttft_p99_ms\n1,210,32,55\n2,418,33,61\n4,829,36,80\n"
FREQUENCIES = "1.2,70.1,4952", "2.0,50.3,7300", "3.2,38.8,17185"
PARTS = "1,100.5,1.5,5.2,3.25\n2,50.5,2.1,5.2,3.5\n4,25.9,3.1,5.1,3.9\n"
BY_PROCESSORS = {"parameters": {"p": "p"}, "category": ("category",)}
# Name, text, what was varied, and what was measured; as in published tables.
PUBLISHED = {
    "steps that were given": ("p,steps,total_s,step_ms\n1,10,8,800\n2,100,45,450\n4,100,25,250\n", "p", "step_ms"),
    "steps that a solver took": ("p,steps,total_s,step_ms\n1,10,8,800\n2,12,5.4,450\n4,15,3.75,250\n", "p", "total_s"),
    "steps that are the same": ("p,steps,total_s,step_ms\n1,10,8,800\n2,10,4.5,450\n4,10,2.5,250\n", "p", "total_s"),
    "moments of runs": ("timestamp,server,clients,time_s,errors\n2026-01-01,a,1,9,0\n2026-01-03,b,9,8,1\n", "clients",
        "time_s"),
    "a time that was given": ("p,window_s,runs,rx_mpps,sd_mpps\n1,20,3,24,1\n2,20,3,45,2\n", "p", "rx_mpps"),
    "a duration that was given": ("threads,duration,ops_rate,hit_rate\n1,60.1,9e5,.8\n4,60.3,3e6,.8\n8,84,5e6,.8\n",
        "threads", "ops_rate"),
    "a time over its unit": ("p,t/s\n1,8\n2,4.5\n", "p", "t [s]"),
    "time of an operation": ("relative,ns/op,op/s,total,name\n100,50,2e7,1.2,sort\n50,100,1e7,1.3,scan\n", "", "ns/op"),
    "means before medians": ("task,latency mean (ns),latency median (ns),n\na,5,4,9\nb,7,6,8\n", "n",
        "latency mean (ns)"),
    "a mean of two texts": ("method,warm,min_ms,mean_ms,gen\na,no,7,8,-\na,yes,4,5,1\nb,no,2,3,-\nb,yes,1,2,1\n", "",
        "mean_ms"),
    "a unit behind a word": ("Tamanho,Modo,TempoMS\n100,a,5\n200,a,9\n400,a,17\n", "Tamanho", "TempoMS"),
    "runs in another language": ("threads,repetição,tempo\n1,1,5\n1,2,5.1\n2,1,2.6\n2,2,2.7\n", "threads", "tempo"),
    "times that go back": ("engine,run,time_s,mb\na,1,.9,7\na,2,.8,7\nb,1,.4,7\nb,2,.5,7\n", "", "time_s"),
    "factors": ("cores,speed-up,kind\n4,3.72x,a\n8,4.77\u00d7,b\n16,5.21x,c\n", "cores", "speed-up"),
    "points of a grid": ("nodes,npoints,grid_x,total_s\n1,64,8,1\n1,512,16,9\n", "npoints", "total_s"),
    "parallelism": ("rows,parallelism,time_s\n9,1,4\n9,2,3\n9,4,2\n", "parallelism", "time_s"),
    "a checksum": ("impl,N,time_s,checksum\nx,512,1,3\nx,1024,8,9\nx,2048,9,7\n", "N", "time_s"),
    "texts that name runs": ("method,time_ms,error,speedup\na,8,1e-5,1\nb,4,2e-4,2\nc,5,1e-4,1.6\n", "", "time_ms"),
    "means in another language": ("Procesos,Puntos,Repeticiones,Tiempo promedio,Tiempo leer\n1,9,5,8,1\n2,9,5,4.5,1\n",
        "Procesos", "Tiempo promedio"),
    "threads in another language": ("dims,hilos,tempo\n2,1,8\n2,2,5\n3,1,9\n3,2,6\n", "hilos", "tempo"),
    "symbols behind names": ("tasks (p),cells (N),time\n1,9,8\n2,9,4.5\n", "tasks (p)", "time"),
    "a time that half of the runs have": ("n,wall_ms,gpu_ms,tflops\n1,,2,1\n2,,3,2\n4,5,4,3\n8,,9,4\n", "n", "gpu_ms"),
    "a time that was given to clients": ("readers,elapsed_s,qps,p99_ms\n1,60.1,90,3\n2,60.2,80,4\n", "readers", "qps"),
    "processors of each machine": ("machine,cores,n,time_s\na,8,10,2\na,8,20,4\nb,64,10,1\nb,64,20,2\n", "n", "time_s"),
    "runs on one day": ("model,date,gpus,tok_s\na,2026-07-17,1,9\na,2026-07-17,2,17\n", "gpus", "tok_s"),
    "tokens": ("clients,total_tok_s\n1,10\n2,19\n4,30\n", "clients", "total_tok_s"),
    "shares": ("GPUs,Total (img/s),Per-GPU,Efficiency\n1,400,400,1\n2,760,380,.95\n", "GPUs", "Total (img/s)"),
    "commas above blanks": ('"MPI ranks","nodes","zones/cpu_second"\n1 1 8\n2 1 15\n4 2 29\n', "MPI ranks",
        "zones/cpu_second"),
}  # fmt: skip
# Text, roles, and cells of columns.
ROLES = {
    "nodes x tasks x threads": ("nodes,tasks per node,OMP_NUM_THREADS,time_s\n1,4,2,9\n2,4,2,5\n",
        {"parameters": {"p": "processors"}, "value": "time_s", "code": ()}, {}),
    "a grid of processes": ("N,P,Q,time_s\n9,1,1,9\n9,1,2,5\n9,2,2,3\n",
        {"parameters": {"p": "processors"}, "value": "time_s"}, {"processors": [1, 2, 4]}),
    "ends of an interval": ("p,time_s,ci_lower,ci_upper\n1,8,7.5,8.5\n2,4.5,4.25,4.75\n4,2.5,2.25,2.75\n",
        {"value": "time_s"}, {"ci95": [0.5, 0.25, 0.25]}),
    "means beside the largest": ("node,nprocs,Avg time/rank,Max time/rank\na,1,8,9\na,2,4.5,5\n",
        {"parameters": {"p": "nprocs"}, "value": "Avg time/rank"}, {}),
    "what was completed is no moment": ("clients,completed,duration,requests_per_s\n1,9,8,1.1\n2,18,8.1,2.2\n",
        {"parameters": {"p": "clients"}, "value": "duration"}, {}),
    "a row for each rank": ("ranks,run,rank,time_s\n2,1,0,8\n2,1,1,12\n2,2,0,16\n2,2,1,24\n1,1,0,20\n",
        {"parameters": {"p": "ranks"}}, {"time_s": [12, 24, 20]}),
    "rows of ranks, one missing": ("ranks,run,rank,time_s\n2,1,0,8\n2,1,1,12\n2,2,0,16\n1,1,0,20\n", {},
        {"time_s": [8, 12, 16, 20]}),
    "a number in commands": ("command,time_s\n./a -n 1,9\n./a -n 2,5\n",
        {"parameters": {"p": "n"}, "value": "time_s", "code": ()}, {}),
    "percentiles": ("replicas  rps  p50  p99\n1  1203.1  8ms  21ms\n2  2310.4  8ms  24ms\n",
        {"parameters": {"p": "replicas"}, "value": "rps", "code": ()}, {}),
    "processes x threads": ("np,threads,time_s\n2,4,9\n4,8,5\n6,10,3\n",
        {"parameters": {"p": "processors"}}, {"processors": [8, 32, 60]}),
    "one other layout": ("ranks,threads,time_s\n1,8,9\n2,4,8\n4,2,7\n8,2,5\n",
        {"parameters": {"p": "ranks", "threads": "threads"}}, {}),
    "numbers alone": ("9 1 0.87 0\n9 2 0.45 0\n8 1 0.7 0\n8 2 0.4 0\n",
        {"parameters": {"p": "column1", "column2": "column2"}, "value": "column3"}, {}),
    "ways to run as a path": ("n,path,time_s\n1,naive,9\n1,tuned,5\n2,naive,19\n2,tuned,9\n", {"category": ()}, {}),
    "a size in another script": ("\u89c4\u6a21,T(t = 1),T(t = 2)\n10,8,4.5\n20,15,8\n",
        {"parameters": {"n": "\u89c4\u6a21", "p": "t"}}, {}),
    "times of runs alone": ("wall_s\n12.5\n12.25\n12.75\n", {"parameters": {}, "value": "wall_s"}, {}),
    "hosts": ("host,time_s\na,1.2\na,1.3\nb,1.25\n", {"parameters": {}, "value": "time_s", "code": ()}, {}),
    "versions": ("query,version,run,elapsed_ms\nq1,3.4,1,1200\nq1,3.4,2,1180\nq1,3.5,1,1010\n",
        {"parameters": {}, "value": "elapsed_ms", "code": ()}, {}),
    "commits": ("timestamp,commit,mean_ns,stddev_ns\n2026-01-01,c1,9,1\n2026-01-01,c2,8,1\n",
        {"parameters": {}, "value": "mean_ns", "code": ()}, {}),
    "dates are not measured": ("p,time,cost\n1,1700000000,8\n2,1700000100,4\n4,1700000200,2\n", {"value": "cost"}, {}),
    # Two words above two columns of numbers are names only if neither is a number.
    "a comment with a number": ("# benchmark of solver v2\n# date 2024\n1 12.1\n2 6.2\n# node crashed\n4 3.3\n8 1.9\n",
        {}, {"p": [1, 2, 4, 8], "time": [12.1, 6.2, 3.3, 1.9]}),
    "times with spreads beside processors": ("np;t;sigma\n1;100,5;0,3\n2;51,2;0,2\n4;26,9;0,4\n",
        {"parameters": {"p": "np"}, "value": "t"}, {"t": [100.5, 51.2, 26.9]}),
    "configurations in rows do not add up": ("config,1,2,4\nbase,100,52,28\nfast,80,42,23\n",
        {"code": (), "system": ("config",)}, {}),
    "functions in rows do": ("function,1,2,4\nsolve,100,52,28\nio,80,42,23\n", {"code": ("function",)}, {}),
    "ways to run in columns": ("n,quicksort,mergesort\n1000,0.11,0.13\n2000,0.24,0.28\n4000,0.52,0.61\n",
        {"parameters": {"p": "n"}, "value": "value", "system": ("column",)},
        {"column": ["quicksort", "mergesort"] * 3, "value": [0.11, 0.13, 0.24, 0.28, 0.52, 0.61]}),
    "ways to run, hundreds of times apart": ("n,bubble,quick\n100,.11,.0013\n200,.45,.0028\n400,1.9,.0061\n",
        {"parameters": {"p": "n"}, "system": ("column",)}, {}),
    "ways to run, one of them called as a size is": ("Size;Classic;Batch;Lazy\n10;.04;.11;.03\n20;.09;.2;.04\n"
        "40;.2;.43;.05\n", {"system": ("column",)}, {"column": ["Classic", "Batch", "Lazy"] * 3}),
    "levels behind a name": ("tasks,MPI time (s) N=100,MPI time (s) N=1000\n1,4,30\n2,2.1,18\n4,1.2,11\n",
        {"parameters": {"p": "tasks", "N": "N"}, "value": "MPI time (s)"}, {"N": [100, 1000] * 3}),
    "ways to run, some too slow to measure": ("n,quick,bubble\n100,.11,1.1\n200,.24,4.4\n400,.52,\n",
        {"parameters": {"p": "n"}, "system": ("column",)}, {"column": ["quick", "bubble"] * 3}),
    "calls of functions": ("function,calls,time\nsolve,10,5\nexchange,40,2\nio,2,1\n",
        {"parameters": {}, "value": "time", "category": ("function",)}, {}),
    "iterations that each case took": ("case,iterations,residual,time_s\na,102,.1,3.1\nb,204,.2,6.2\nc,155,.1,4.8\n",
        {"parameters": {}, "value": "time_s"}, {}),
    "points that each solver found": ("solver,points,time_ms\na,1000,12\na,1402,17\nb,1000,4\nb,1403,6\nb,1201,5\n",
        {"parameters": {}, "value": "time_ms"}, {}),
    "a time and its parts": ("Function,CPU Time,CPU Time:Spin Time,Module\nsolve,23,2,a\ninit,1,0,a\n",
        {"value": "CPU Time", "category": ("Function",)}, {}),
    "fractions of a node": ("nodes,time_s\n1/4,40\n1/2,21\n1,11\n2,6\n", {"parameters": {"p": "nodes"}},
        {"nodes": [0.25, 0.5, 1, 2]}),
    "milliseconds of Java": ("algorithm,n,checks,millis\na,3,207,.02\na,4,2985,.1\nb,3,15,.01\nb,4,584,.12\n",
        {"value": "millis", "unit": "ms"}, {}),
    "nodes of a search": ("algorithm,nodes,time_ms\na,153,.2\na,1663,.1\na,18285,.9\nb,123,.1\nb,2471,.2\nb,18031,.9\n",
        {"parameters": {}, "value": "time_ms"}, {}),
    "rates in columns": ("size_mb,bw_GBps_read,bw_GBps_write\n1,1.2,0.8\n10,3.4,2.2\n100,5.1,3.9\n1000,5.6,4.2\n",
        {"value": "rate"}, {"rate": [1.2, 0.8, 3.4, 2.2, 5.1, 3.9, 5.6, 4.2]}),
    "what was varied comes again": ("n,m,cost\n1,10,3.5\n2,10,3\n2,20,2.5\n1,20,3.1\n",
        {"parameters": {"p": "n", "m": "m"}}, {}),
    "before and after, whatever their unit": ("benchmark,before_ms,after_ms\na,1.5,1.6\nb,2.5,2.4\n",
        {"value": "value_ms"}, {"version": ["before", "after"] * 2}),
    **{f"varied before a time, energy behind {order}": ("\n".join(["freq_ghz,time_s,energy_j", *FREQUENCIES[::order]]),
        {"parameters": {"p": "freq_ghz"}, "value": "time_s"}, {}) for order in (1, -1)},
    **{f"{asked} of a server": (f"{asked},{ASKED}", {"parameters": {"p": asked}, "value": "throughput_tok_s"}, {})
       for asked in ("concurrency", "request_rate", "clients")},
    "texts without a name": (",p,time_s\nsort,1,8\nsort,2,4.5\nparse,1,3\nparse,2,2\n", {},
        {"name": ["sort", "sort", "parse", "parse"]}),
    # Where one part is as much a part as the others, the sum would lack it.
    "parts that idle": (f"p,compute,mpi,io,idle\n{PARTS}", BY_PROCESSORS,
        {"category": ["compute", "mpi", "io", "idle"] * 3}),
    "parts in seconds": (f"p,setup_s,solve_s,pme_s,output_s\n{PARTS}", BY_PROCESSORS,
        {"category": ["setup", "solve", "pme", "output"] * 3}),
    "parts, and what is no time": (f"p,compute,comm,temperature,power_w\n{PARTS}", BY_PROCESSORS,
        {"category": ["compute", "comm"] * 3}),
    **{name: (text, {"parameters": {"p": varied} if varied else {}, "value": value, "code": ()}, {})
       for name, (text, varied, value) in PUBLISHED.items()},
}  # fmt: skip


@pytest.mark.parametrize("name", ROLES)
def test_what_columns_are_taken_for(read, name):
    text, roles, cells = ROLES[name]
    data = read(text, "runs.dat" if text[0] == "#" else "runs.csv")
    assert {role: getattr(data.roles, role) for role in roles} == roles
    assert {column: data.table[column].tolist() for column in cells} == cells


def test_named_columns_say_what_a_table_is(tmp_path):
    rows = "".join(f"{k},{n},{3 * n}\n" for k, n in enumerate([1, 2, 4, 8]))
    (tmp_path / "runs.csv").write_text(f"Time,Size,Cost\n{rows}")
    assert perfcore.fit(tmp_path / "runs.csv", parameter="Size", value="Cost").paths == ("Cost",)


def test_series_without_times_and_of_several_devices(tmp_path):
    (tmp_path / "one.txt").write_text("1.5\n-2\nN/A\n3\n")
    series = perfcore.read(tmp_path / "one.txt")
    np.testing.assert_equal((series.times, series.columns["value"]), ([0, 1, 2, 3], [1.5, -2, np.nan, 3]))
    samples = "0,10.00,45 %\n1,10.01,50 %\n0,11.00,85 %\n1,11.01,[N/A]\n"
    (tmp_path / "two.csv").write_text(f"index, timestamp, use [%]\n{samples}")
    series = perfcore.read(tmp_path / "two.csv")
    assert isinstance(series, Series)
    np.testing.assert_equal(series.columns, {"use [%] (index 0)": [45, 85], "use [%] (index 1)": [50, np.nan]})
    assert series.notes[0] == "index separates 2 series, each of 2 samples"
    assert perfcore.fit(np.arange(40) % 7, fitter="worley", phases=1).breaks == ()


OPTIONS = "-x=y " * 20  # of a launcher, which take no longer than few


@pytest.mark.parametrize(
    ("commands", "parameters", "series", "numbers"),
    [
        (["mpirun -n 1 ./a", "mpirun -n 2 ./a"], [{}, {}], {"mpirun -n {processes} ./a"}, {"processes": [1, 2]}),
        (["mpirun ./a -n 1", "mpirun ./a -n 2"], [{}, {}], {"mpirun ./a -n {n}"}, {"n": [1, 2]}),
        ([f"mpirun {OPTIONS}./a -n {n}" for n in (1, 2)], [{}, {}], {f"mpirun {OPTIONS}./a -n {{n}}"}, {"n": [1, 2]}),
        (["make -j1", "make -j8"], [{}, {}], {"make -j{j}"}, {"j": [1, 8]}),
        ([f"{c} {n}" for n in (10, 20) for c in ("sort", "grep")], [{"n": n} for n in (10, 10, 20, 20)],
         {"sort {n}", "grep {n}"}, {}),
        (["./app1 -n 1", "./app1 -n 2"], [{"n": 1}, {"n": 2}], {"./app# -n {n}"}, {}),
        (["gcc a", "clang a"], [{}, {}], {"gcc a", "clang a"}, {}),
        (["a 1 2", "a 2 4"], [{}, {}], {"a 1 2", "a 2 4"}, {}),
    ],
)  # fmt: skip
def test_numbers_in_commands(read, commands, parameters, series, numbers):
    """As of hyperfine, which keeps what it was told to vary; other numbers of its commands are read from them."""
    results = [
        {"command": command, "times": [1.5], "parameters": {name: str(value) for name, value in told.items()}}
        for command, told in zip(commands, parameters, strict=True)
    ]
    data = read(json.dumps({"results": results}), "runs.json")
    varied = {**numbers, **({"n": [told["n"] for told in parameters]} if parameters[0] else {})}
    assert set(data.table["command"]) == series
    assert {name: data.table[name].tolist() for name in data.table if name in ("n", "j", "processes")} == varied
    assert data.roles.code == (("command",) if len(series) > 1 else ())


def test_benchmarks_of_a_suite_have_parameters_of_their_own(tmp_path):
    """One has n, one has procs, one has none."""
    rows = [f"sort,{n},,{n}" for n in (1, 2, 4, 8)] + [f"par,,{p},{8 / p}" for p in (1, 2, 4, 8)] + ["init,,,3"]
    (tmp_path / "suite.csv").write_text("benchmark,n,procs,time_s\n" + "\n".join(rows) + "\n")
    facts = perfcore.info(tmp_path / "suite.csv", parameters=["procs", "n"])
    assert facts["series"] == ["sort: n 1, 2, 4, 8; 1 repetitions", "par: procs 1, 2, 4, 8; 1 repetitions"]
    assert facts["rows to know about"] == ["left out, measured at one point: init"]


@pytest.mark.parametrize(("cells", "options", "expected"), [
    ("512,4K,1M", {}, [512, 4096, 1048576]), ("10k,50k,1M", {}, [10_000, 50_000, 1_000_000]),
    ("1K,4K,1M", {"kilo": "1000"}, [1000, 4000, 1_000_000]),
])  # fmt: skip
def test_magnitudes(tmp_path, cells, options, expected):
    rows = "".join(f"{cell},{k}\n" for k, cell in enumerate(cells.split(","), start=1))
    (tmp_path / "runs.csv").write_text(f"n,time_s\n{rows}")
    data = perfcore.read(tmp_path / "runs.csv", **options)
    assert data.table["n"].tolist() == expected
    assert bool(data.notes) == (not options)


@pytest.mark.parametrize(("heading", "row", "kind"), [
    ("mode,p,N_total,time_s", "weak,{p},{p}00,{t}", "weak"), ("mode,p,N_total,time_s", "x,{p},{p}00,{t}", "weak"),
    ("mode,p,N_total,time_s", "x,{p},900,{t}", "strong"), ("p,N,time_s", "{p},{side},{t}", "weak"),
    ("p,time_s,zones_per_s", "{p},{t},{weak}", "weak"), ("p,time_s,zones_per_s", "{p},{t},{strong}", "strong"),
    ("p,time_s,efficiency", "{p},{t},{strong}", ""),
])  # fmt: skip
def test_scaling_told_by_the_table(tmp_path, heading, row, kind):
    times = {p: 10 + p / 9 for p in (1, 2, 4, 8)}
    lines = [row.format(p=p, t=t, weak=5e6 * p / t, strong=5e6 / t, side=90 * p**0.5) for p, t in times.items()]
    (tmp_path / "runs.csv").write_text("\n".join([heading, *lines, ""]))
    assert perfcore.fit(tmp_path / "runs.csv", fitter="scaling").scaling == kind


@pytest.mark.parametrize(("rows", "kind"), [
    ("{p},104,{gflops},{long}", "weak"), ("{p},104,4,{long}", "strong"), ("{p},{cells},,{short}", ""),
])  # fmt: skip
def test_a_rate_times_the_time_tells_how_the_work_grows(read, rows, kind):
    """HPCG's sizes are those of each rank, and no name says it; a batch may grow though the work does not."""
    lines = [rows.format(p=p, gflops=40 * p, cells=9 * p, long=60 + p / 9, short=1 + 8 / p) for p in (1, 2, 4, 8)]
    data = read("ranks,n,GFLOP/s,time_s\n" + "\n".join(lines) + "\n", "runs.csv")
    assert perfcore.fit(data, fitter="scaling").scaling == kind


def test_parameters_that_follow_from_others_are_named(tmp_path):
    """Of weak and strong runs in one table, and of layouts with as many threads in all, the message says what to do."""
    rows = [(n, 8 // t, t, 10 / n + t / 9) for n in (1, 2, 4) for t in (1, 2, 4)]
    table = pd.DataFrame(rows, columns=["nodes", "tasks", "threads", "time_s"])
    with pytest.raises(PerfError, match=r"tasks x threads = 8 at every point.*parameter='nodes,threads'"):
        perfcore.fit(Measurements(table), fitter="scaling", parameter="nodes,tasks,threads")
    both = table.assign(kind=["weak"] * 4 + ["strong"] * 5)
    with pytest.raises(PerfError, match=r"where='kind=weak' or where='kind=strong'"):
        perfcore.fit(Measurements(both), fitter="scaling", parameter="nodes,threads")


TWICE = "load,throughput\n" + 2 * "1,64.9\n18,995.9\n36,1652.4\n72,1853.2\n108,1828.9\n144,1775.0\n216,1702.2\n"
OF_TWICE = ("--parameter", "load", "--value", "throughput")


@pytest.mark.parametrize("words", [
    ("fit", "twice.csv", *OF_TWICE), ("fit", "twice.csv", *OF_TWICE, "--fitter", "usl"),
    ("fit", "twice.csv", *OF_TWICE, "--fitter", "regression", "--formula", "a + b*load"),
    ("gate", "twice.csv", "once.csv", "--value", "throughput"),
    ("stochastic", "summarize", "twice.csv", "--column", "throughput"),
    ("validate", "model.json", "twice.csv"),
])  # fmt: skip
def test_a_file_joined_with_itself_is_refused_by_every_command_that_takes_runs(perf, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    for name, text in (("twice.csv", TWICE), ("once.csv", TWICE[: len(TWICE) // 2 + 8])):
        Path(name).write_text(text)
    perfcore.fit("once.csv", parameter="load", value="throughput").save("model.json")
    for option, status in (("", (2,)), ("drop", (0, 3)), ("keep", (0, 3))):
        said = perf(*words, *(("-r", f"duplicates={option}") if option else ()), status=status).err
        assert ("twice.csv:9: from here on the rows repeat those from line 2" in said) == (not option)


@pytest.mark.parametrize(
    ("name", "seconds"), [("time_ks", 1e3), ("time_ps", 1e-12), ("time_d", 86400), ("time_min", 60), ("time_Ms", 1e6)]
)
def test_units_of_times_are_what_the_standard_prefixes_say(read, name, seconds):
    unit = read(f"p,{name}\n1,8\n2,4\n", "runs.csv").roles.unit
    assert seconds_per(unit) == pytest.approx(seconds, rel=1e-12)


def test_points_between_thousands_are_asked_for_and_read(read):
    text = "p;time_s\n1;10.200\n2;5.300\n4;860\n"
    with pytest.raises(InputError, match=r"10\.200 may be 10200, with points between thousands; give -r decimal=,"):
        read(text, "runs.csv")
    assert read(text, "runs.csv", decimal=",").table["time_s"].tolist() == [10200, 5300, 860]
    assert read(text, "runs.csv", decimal=".").table["time_s"].tolist() == [10.2, 5.3, 860]
    mixed = read("p;time_s;x\n1;10.200;1,5\n2;860;2,5\n", "runs.csv")  # the other column shows the decimal comma
    assert mixed.table["time_s"].tolist() == [10200, 860]
    assert read("p;time_s\n1;10.200,00\n2;5.300,50\n", "runs.csv").table["time_s"].tolist() == [10200, 5300.5]


def test_moments_in_whole_minutes_since_1970_are_dates_also_over_months(read):
    series = read("time,a,b\n" + "".join(f"{1_700_000_000 + 86400 * k},{k},1\n" for k in range(60)), "runs.csv")
    assert series.time_unit == "s"


@pytest.mark.parametrize(("text", "line", "heading"), [
    ("p,time_s\n1,8\n2,4\n\np,memory_MB\n1,100\n2,60\n", 5, "p memory_MB"),
    ("## Strong\n\n| p | time |\n|---|---|\n| 1 | 8 |\n| 2 | 4 |\n\n| p | time |\n|---|---|\n| 1 | 8 |\n", 8, "p time"),
    ("1 8\n2 4\n4 3\n\n\n1 9\n2 5\n4 4\n", 6, "1 9"),
    ("# a\n1 8\n2 4\n4 3\n# b\n1 9\n2 5\n4 4\n", 6, "1 9"),
    ("Strong scaling\np  time_s\n1  8\n2  4\n\nWeak scaling\np  time_s\n1  8\n2  8\n", 6, "Weak scaling"),
])  # fmt: skip
def test_a_second_table_in_a_text_is_refused_with_its_line(read, text, line, heading):
    with pytest.raises(InputError, match=rf"runs\.txt:{line}: a second table begins here \('{heading}'\)"):
        read(text, "runs.txt")


def test_column_names_that_come_again_are_left_out_with_a_note(read):
    data = read("p,time_s\n1,8\n2,4\np,time_s\n4,2\n", "runs.csv")
    assert data.table["time_s"].tolist() == [8, 4, 2]
    assert data.notes == ("the line of column names comes again, first in line 4: left out there",)
    assert [data.line(row) for row in range(3)] == [2, 3, 5]


def test_info_says_what_each_column_is_and_the_option_that_overrides_it(tmp_path):
    (tmp_path / "runs.csv").write_text(
        "benchmark,commit,run,workers,clients,requests,time_s,old_time_s,speedup,sd_s,status\n"
        + "".join(
            f"a,c1,{run},{p},{n},{50 * n},{time},{old},{old / time:.4f},0.1,ok\n"
            for run, p, n, time, old in [
                (1, 1, 2, 9.1, 20.3),
                (2, 2, 3, 5.2, 31.4),
                (1, 2, 4, 8.7, 25.5),
                (2, 4, 5, 3.3, 44),
            ]
        )
    )
    facts = perfcore.info(tmp_path / "runs.csv")
    assert facts["roles"] == [
        "benchmark: code (--path)", "commit: version (perf gate --version)", "run: repetition",
        "workers: parameter p (--parameter)", "clients: size (--value, --parameter)",
        "requests: derived, 50 * clients: not used", "time_s: value [s], smaller is better (--value)",
        "old_time_s: time (--value, --parameter)", "speedup: derived, old_time_s/time_s: not used",
        "sd_s: spread of runs (deviation)", "status: outcome of the run",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["day", "date"])
def test_days_of_eight_digits_are_a_history_and_no_parameter(tmp_path, name):
    days = [20250700 + day for day in range(8, 28)]
    rows = [(bench, day, ms) for day in days for bench, ms in (("sort", 650.0), ("grep", 92.0))]
    file = str(tmp_path / "runs.csv")
    pd.DataFrame(rows, columns=["benchmark", name, "ms"]).to_csv(file, index=False)
    facts = perfcore.info(file)
    assert f"{name}: date (perf gate)" in facts["roles"]
    assert facts["next"] == [f"perf gate {file}"]
    assert perfcore.gate_history(file, name).outcome == "pass"


def test_of_several_versions_the_next_command_names_two(tmp_path):
    rows = [(version, name, 10.0 / k) for k, version in enumerate(("serial", "2", "4"), 1) for name in "ab"]
    table = pd.DataFrame(rows, columns=["variant", "benchmark", "time_s"])
    table.to_csv(tmp_path / "runs.csv", index=False)
    file = str(tmp_path / "runs.csv")
    assert perfcore.info(file)["next"] == [f"perf gate {file} --base serial --new 4"]
    assert "0.333x" in perfcore.gate(file, base="serial", new="4").report().answer


def test_benchmarks_of_pytest_are_named_as_pytest_prints_them(tmp_path):
    (tmp_path / "b.csv").write_text(
        "name,min,max,mean,stddev,rounds,iterations,ops\n"
        "test_sort[100],0.0010,0.0013,0.0011,0.00005,200,1,909.1\ntest_sort[1000],0.013,0.015,0.0136,0.0004,50,1,73.5\n"
    )
    verdict = perfcore.gate(tmp_path / "b.csv", tmp_path / "b.csv")
    assert [row["benchmark"] for row in verdict.to_dict()["benchmarks"]] == ["test_sort[100]", "test_sort[1000]"]


def test_a_spread_behind_a_mean_is_a_column_of_its_own(read):
    data = read("p,time [ms]\n1,8.1 ± 0.2\n2,4.2 ± 0.1\n", "a.csv")
    assert data.table["time [ms] std"].tolist() == [0.2, 0.1]
    assert data.notes == ("what stands behind ± in time [ms] is taken as a standard deviation",)
    shares = read("p,latency average (ms)\n1,'8.1 ± 2%'\n2,'4 ± 5%'\n", "b.csv")
    assert shares.table["latency average (ms) std"].round(3).tolist() == [0.162, 0.2]
    assert perfcore.info(shares)["spread"].startswith("noise from latency average (ms) std")


@pytest.mark.parametrize("text", ["p,time_s\n4,1.2\n4,1.3\n", "host,time_s\na,1.2\na,1.3\n"])
def test_where_nothing_was_varied_the_next_command_summarizes_the_runs(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    Path("runs.csv").write_text(text)
    assert perfcore.info("runs.csv")["next"] == ["perf stochastic summarize runs.csv --column time_s"]


def test_where_each_row_is_a_benchmark_other_runs_are_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("runs.csv").write_text("model,kind,batch,mean_ms,p99_ms\na,x,32,21.3,22\nb,x,32,23.2,24\nc,x,32,30.1,31\n")
    facts = perfcore.info("runs.csv")
    assert facts["next"] == []
    assert "compare each model with other runs: perf gate runs.csv NEW" in facts["observations"]
    with pytest.raises(PerfError, match=r"no number was varied .* perf gate compares versions and runs of benchmarks"):
        perfcore.fit("runs.csv")


def test_columns_that_add_up_to_the_total_are_its_parts(read):
    rows = "1,107.2,100.5,1.5,5.2,9\n2,57.8,50.5,2.1,5.2,8\n4,34.1,25.9,3.1,5.1,9\n"
    data = read(f"p,total_s,solver_s,mpi_s,io_s,steps\n{rows}", "a.csv")
    assert (data.roles.value, data.table["category"].unique().tolist()) == ("total_s", ["solver", "mpi", "io"])
    assert data.table.groupby("p")["total_s"].sum().round(3).tolist() == [107.2, 57.8, 34.1]
    more = read(f"p,total_s,solver_s,mpi_s,io_s,steps\n{rows.replace('34.1', '39.1')}", "b.csv")
    assert (more.roles.value, more.roles.category) == ("total_s", ())


def test_dates_of_samples_are_said_as_dates(read):
    rows = "".join(f"2024-03-01T00:00:00.{k:06},{k}\n" for k in range(6))  # closer than a float64 since 1970 can tell
    said = read(f"timestamp,load\n{rows}", "a.csv").notes[-1]
    assert said == "times count from the first, at 2024-03-01 00:00:00 UTC"


def test_a_line_of_a_log_that_lacks_a_key_is_a_row_that_is_left_out_and_named(tmp_path):
    (tmp_path / "runs.log").write_text("p=1 time_s=8\np=2 time_s=4.5\np=4 status=FAILED\np=8 time_s=1.5\np=16 ti")
    report = perfcore.fit(tmp_path / "runs.log").report()
    [left_out] = [str(note) for note in report.notes if "rows" in str(note)]
    assert "without time_s: 2 of 5 rows: empty (line 3, 5)" in left_out


def test_roles_that_were_assumed_give_way_to_those_that_are_given(read):
    rows = "".join(f"{100 / p + n},{n},{p}\n" for p in (1, 2, 4) for n in (10, 20, 40))
    data = read(f"loss,N,D\n{rows}", "a.csv")
    assert (list(data.roles.parameters.values()), data.roles.value) == (["loss", "N"], "D")
    chosen = data.with_roles(["N", "D"]).with_roles(value="loss")
    assert (list(chosen.roles.parameters.values()), chosen.roles.value) == (["N", "D"], "loss")
    with pytest.raises(PerfError, match="column 'N' is given as parameter and as value"):
        data.with_roles(["N"]).with_roles(value="N")


def test_a_table_of_numbers_needs_no_ending(read):
    assert read("N,D,loss\n1,10,3\n2,10,2.5\n1,20,2\n2,20,1.5\n", "table").roles.value == "loss"


def test_the_efficiency_of_an_efficiency_is_itself(read):
    rows = "".join(f"{p},{e}%\n" for p, e in ((1, 100), (2, 96), (4, 88), (8, 76), (16, 57), (32, 37)))
    report = perfcore.fit(read(f"p,efficiency\n{rows}", "a.csv"), at={"p": 64}).report()
    figures = {figure.name: figure.value for figure in report.figures}
    assert figures["efficiency"] == pytest.approx(figures["predicted"] / 100.0)
