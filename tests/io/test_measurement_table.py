"""Tables of measurements in text and Parquet: recognised, read whole, refused by line, written and read back."""

import gzip
import io
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perfcore
from perfcore import Measurements, UtilizationCurve
from perfcore.base import progress
from perfcore.base.errors import InputError, PerfError

FILE = "runs.csv"
RUNS = "code,machine,procs,size,time_s,remark\nlu,T3D,1,64,8,\nlu,SP2,2,64,4.25,late\ncg,T3D,4,102,,\n"


@pytest.fixture(params=["csv", "csv.gz", "stdin", "parquet", "parquet.gz"])
def runs(request, write, tmp_path, monkeypatch):
    """The same table by every way in."""
    if request.param.startswith("csv"):
        text = gzip.compress(RUNS.encode()) if request.param.endswith(".gz") else RUNS
        return perfcore.read(write(text, f"runs.{request.param}"))
    if request.param == "stdin":
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(RUNS.encode())))
        return perfcore.read("-")
    perfcore.write(perfcore.read(write(RUNS)), tmp_path / "runs.parquet")
    if request.param == "parquet":
        return perfcore.read(tmp_path / "runs.parquet")
    (tmp_path / "packed.parquet.gz").write_bytes(gzip.compress((tmp_path / "runs.parquet").read_bytes()))
    return perfcore.read(tmp_path / "packed.parquet.gz")


def test_every_column_is_kept(runs):
    assert isinstance(runs, Measurements)
    assert list(runs.table.columns) == ["code", "machine", "procs", "size", "time_s", "remark"]
    assert runs.table["procs"].tolist() == [1, 2, 4]
    assert runs.table["time_s"].tolist()[:2] == [8.0, 4.25]
    assert runs.table["machine"].tolist() == ["T3D", "SP2", "T3D"]
    assert runs.table["remark"].dropna().tolist() == ["late"]


@pytest.mark.parametrize(("header", "kind"), [
    ("p,time_s", Measurements), ("procs,time_s", Measurements), ("code,procs,seconds", Measurements),
    ("Benchmark,Threads,Wall time [ms]", Measurements), ("nodes,bandwidth", Measurements),
    ("time_s,processors", UtilizationCurve), ("time_s,value", UtilizationCurve),
    ("code,processors,time_s", Measurements), ("start,end,processors", UtilizationCurve),
])  # fmt: skip
def test_curves_and_measurements_are_told_apart(write, header, kind):
    """A time and a number of processors alone may be a curve; the name of a code or another word decides."""
    rows = ["lu,1,2", "lu,2,3"] if header.count(",") == 2 and not header.startswith("start") else ["1,2,1", "2,3,1"]
    text = "\n".join([header, *(row if header.count(",") == 2 else row[:3] for row in rows)])
    assert isinstance(perfcore.read(write(text + "\n")), kind)


@pytest.mark.parametrize(("text", "varied", "measured"), [
    ("batch,time\n1,2\n2,3\n4,7\n", {"p": "batch"}, "time"),
    ("message size (bytes),time (us)\n8,2\n4,2\n8,1\n", {"p": "message size (bytes)"}, "time (us)"),
    ("batch,throughput_img_per_s\n1,9\n2,8\n", {"p": "batch"}, "throughput_img_per_s"),
    ("nodes,GFLOPS\n1,9\n2,8\n", {"p": "nodes"}, "GFLOPS"), ("n,elapsed\n3,4\n1,5\n2,6\n", {"p": "n"}, "elapsed"),
    ("processors,time_s\n1,2\n2,3\n", {"p": "processors"}, "time_s"),
    ("kernel,N,t_ms\nlu,9,4\nlu,99,5\n", {"p": "N"}, "t_ms"), ("run,time_s\n1,2.5\n2,2.4\n", {}, "time_s"),
    ("sort,round,time_s\na,1,2.5\na,2,2.4\n", {}, "time_s"), ("trial_no,time_s\n1,2.5\n2,2.4\n", {}, "time_s"),
    ("run,time_s\n1,2.5\n2,2.6\n", {}, "time_s"),
])  # fmt: skip
def test_one_number_and_then_a_time_are_what_was_varied_and_measured(write, text, varied, measured):
    path = write(text)
    roles = perfcore.read(path).roles
    assert (roles.parameters, roles.value) == (varied, measured)
    assert perfcore.read(path, kind="measurements").roles == roles
    column = text.partition(",")[0]
    assert perfcore.read(path, parameters=f"n={column}").roles.parameters == {"n": column}


BAD = {
    "code,p,time_s\nlu,1,8\nlu,2,fast\nlu,4,2\n": r":3: time_s is 'fast'; a number is expected",
    "code,p,time_s\nlu,1,8\nlu,2,4\nlu,4,2 s\n": r":4: time_s is '2 s'; a number is expected",
    "code,p,time_s\nlu,1,8\nlu,Total,4\n": r":3: p is 'Total'; a number is expected; where='p!=Total' leaves it out",
    "rank,compute_s,mpi_s\n0,9,1\n1,8,2\n": r":1: each row is one rank of one run, .*--column compute_s describes",
    "step,loss,step_time_s\n0,3,0.3\n1,2,0.4\n": r":1: each row is one step .*--column step_time_s describes",
    "code,p,time_s\nlu,1,8\nlu,many,4\nlu,4,2\n": r":3: p is 'many'; a number is expected",
    "code,p,time_s\nlu,1,8\nlu,1_000,4\nlu,4,2\n": r":3: p is '1_000'; a number is expected",
    "code,p,time_s\nlu,1,8\nlu,,4\nlu,2,4\nlu,,2\n": r":3: p is empty; a number is expected.*where='p>0'",
    "# made by hand\n\ncode,p,time_s\n\nlu,1,8\n\nlu,0,4\n": r":7: p is 0; a positive number .*where='p>0'",
    'code,p,time_s\n"l\nu",1,8\nlu,-2,4\n': r":4: p is -2; a positive number",
    "code,p,time_s\nlu,1,8\nlu,2,-2\nlu,4,-1\n": r":3: time_s is -2 \(and in 1 more row\); .*where='time_s>0'",
    "code,p,time_s\nlu,1,8\n,2,4\n": r":3: code is empty; each row needs the name of its code",
    "code,p,time_s\n"
    + 2 * "lu,1,8\nlu,2,4\nlu,4,2\n": r":5: from here on the rows repeat .* line 2 on.*-r duplicates=drop",
    "code,p,time,unit\nlu,1,8,s\nlu,2,4000,ms\n": r": column 'unit' has several units \(s, ms\)",
    "code,p,time_s\nlu,1,8\nlu,2\n": r":3: has 2 fields, but there are 3 columns",
    "code,p,time_s\n": r":1: has column names but no rows",
    "code,p,P\nlu,1,8\n": r":1: the column names 'code, p, P' must be",
    "code,p,time_s\nlu,1,\nlu,2,\n": r": column 'time_s' holds no value at all",
}


@pytest.mark.parametrize("text", BAD, ids=lambda text: text[:40].encode("unicode_escape").decode())
def test_bad_tables_are_refused_in_one_line_with_their_place(write, text):
    with pytest.raises(PerfError, match=rf"runs\.csv{BAD[text]}") as caught:
        perfcore.read(write(text)).observations()
    assert len(str(caught.value).splitlines()) == 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("written")


characters = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])
texts = st.text(characters, min_size=1, max_size=8).filter(lambda text: text.strip() == text)
values = st.one_of(st.none(), st.floats(1e-300, 1e300))
rows = st.lists(st.tuples(texts.map("x{}".format), st.integers(1, 2**53), values), min_size=1, max_size=6)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@settings(max_examples=15, deadline=None, derandomize=True)
@given(rows=rows)
def test_what_is_written_reads_back(folder, ending, rows):
    table = pd.DataFrame(rows, columns=["code", "p", "time_s"]).astype({"time_s": float})
    data = Measurements(table)
    perfcore.write(data, folder / f"runs{ending}")
    back = perfcore.read(folder / f"runs{ending}")
    assert back.roles == data.roles
    assert back.table["code"].tolist() == table["code"].tolist()
    assert back.table["p"].tolist() == table["p"].tolist()
    np.testing.assert_array_equal(back.table["time_s"], table["time_s"])


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["npb_mpi_picluster", "mlperf_training", "hecbiosim_gromacs_runs"])
def test_published_tables_are_read_whole(real_data, tmp_path, name):
    """Cell by cell as pandas reads them, and the same again by way of Parquet."""
    path = real_data / "scaling" / f"{name}.csv"
    plain = pd.read_csv(path)
    perfcore.write(perfcore.read(path), tmp_path / "copy.parquet")
    for data in (perfcore.read(path), perfcore.read(tmp_path / "copy.parquet")):
        assert list(data.table.columns) == list(plain.columns)
        for column in plain.columns:
            here, there = data.table[column], plain[column]
            assert here.isna().tolist() == there.isna().tolist()
            if there.dtype.kind in "if":
                np.testing.assert_array_equal(here.to_numpy(float), there.to_numpy(float))
            else:
                assert here.dropna().astype(str).tolist() == there.dropna().astype(str).tolist()


def test_a_file_that_was_cut_short_is_told(write):
    with progress.collected() as notes:
        perfcore.read(write("p,time_s\n1,64.25\n2,32.75\n4,16.50\n8,8."))
        perfcore.read(write("p,time_s\n1,64\n2,32\n4,16\n8,8"))
    [said] = notes
    assert said.endswith("its last number, 8., is shorter than those above: was the file cut short?")
    with pytest.raises(InputError, match="it is the last, and has no end: was the file cut short"):
        perfcore.read(write("p,size,time_s\n1,100,64.25\n2,10"))


@pytest.mark.parametrize(("column", "cells"), [
    ("State", ["COMPLETED", "CANCELLED by 100", "COMPLETED", "TIMEOUT"]),
    ("job state", ["CD", "", "finished", "crashed"]), ("exit_code", ["0", "139", "0", "1"]),
    ("ExitCode", ["0:0", "0:15", "0:0", "1:0"]),
])  # fmt: skip
def test_rows_of_runs_that_did_not_complete_are_left_out(write, column, cells):
    table = write(f"procs,time_s,{column}\n" + "".join(f"{1 << k},{8 / (1 << k)},{c}\n" for k, c in enumerate(cells)))
    with progress.collected() as notes:
        data = perfcore.read(table)
    if "CD" in cells:  # a word that is not known: the column may mean anything
        assert (len(data.table), notes) == (4, [])
        return
    assert (data.table["procs"].tolist(), data.line(1)) == ([1, 4], 4)
    assert "left out, since they did not complete" in notes[0]
    assert "2 of 4 rows" in notes[0]
    assert len(perfcore.read(table, failed=True).table) == 4
