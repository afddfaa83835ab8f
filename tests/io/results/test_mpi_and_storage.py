"""NPB, IMB, OSU, IOR and fio: figures read from the files by hand."""

import json

import pytest
from format_samples import FIO, IMB, IOR, NPB, OSU

import perfcore
from perfcore.errors import InputError


@pytest.fixture
def read(tmp_path):
    def read(text, name="run.out", **options):
        path = tmp_path / name
        path.write_text(text)
        return perfcore.read(path, **options)

    return read


def test_each_completed_run_of_npb_is_a_row(read):
    serial = NPB.replace(" Total processes =                        4\n", "").replace("LU", "CG")
    data = read(NPB + serial)
    assert data.table[["benchmark", "class", "processes", "time_s"]].to_numpy().tolist() == [
        ["LU", "S", 4, 0.25],
        ["CG", "S", 1, 0.25],
    ]
    assert (dict(data.roles.parameters), data.roles.code) == ({"p": "processes"}, ("benchmark", "class"))


def test_runs_of_npb_that_are_no_measurement(read):
    wrong = NPB.replace("SUCCESSFUL", "UNSUCCESSFUL")
    assert len(read(wrong + NPB).table) == 1
    with pytest.raises(InputError, match="no benchmark was completed"):
        read(NPB.split(" LU Benchmark Completed.")[0])
    with pytest.raises(InputError, match=r"run.out:5: LU has no 'Time in seconds'; cut short\?"):
        read(NPB.split(" Time in seconds")[0])
    with pytest.raises(InputError, match=r"run.out:9: time_s 'long' is no number"):
        read(NPB.replace("0.25", "long"))


def test_tables_of_imb(read):
    data = read(IMB)
    columns = ["benchmark", "processes", "bytes", "metric", "value", "unit"]
    assert data.table[columns].to_numpy().tolist() == [
        ["PingPong", 2, 8, "t", 2.5, "us"],
        ["Allreduce", 4, 4, "t_avg", 2.5, "us"],
    ]
    assert set(data.roles.parameters.values()) == {"processes"}  # bytes say no more in these two rows
    assert read(IMB, empty=True).table["bytes"].tolist() == [0, 8, 4]
    with pytest.raises(InputError, match=r"run.out:7: 4 numbers \(#bytes, #repetitions, t\[usec\], Mbytes/sec\)"):
        read(IMB.replace("2.50         3.20", "2.50"))


def test_tables_of_osu(read):
    data = read(OSU)
    assert data.table[["test", "bytes", "metric", "value", "unit"]].to_numpy().tolist() == [
        ["MPI Allreduce Latency Test", 1, "avg_latency", 86.56, "us"],
        ["MPI Allreduce Latency Test", 2, "avg_latency", 87.98, "us"],
        ["MPI Bandwidth Test", 1, "bandwidth", 3.45, "MB/s"],
    ]
    with pytest.raises(InputError, match=r"run.out:4: 5 numbers"):
        read(OSU.replace("86.56             21.32", "86.56"))


def test_the_number_of_processes_of_osu_comes_from_the_name(read):
    latencies = OSU.split("\n\n")[0]
    data = read(latencies, name="osu_p16.out", from_name="osu_p{p:int}.out")
    assert data.table["p"].tolist() == [16, 16]
    assert set(data.roles.parameters.values()) == {"p", "bytes"}


def test_repetitions_of_ior(read):
    data = read(IOR, name="ior.json")
    assert data.table[["operation", "tasks", "nodes", "bandwidth", "total_s"]].to_numpy().tolist() == [
        ["write", 8, 2, 512.5, 1.61],
        ["read", 8, 2, 1024, 0.86],
    ]
    assert (data.roles.value, data.roles.unit, data.roles.code) == ("bandwidth", "MiB/s", ("operation",))
    broken = IOR.replace('"bwMiB": 512.5', '"bwMiB": "x"')
    with pytest.raises(InputError, match=r"is not JSON of IOR: Expected `float`, got `str`"):
        read(broken, name="ior.json")


def test_jobs_of_fio(read):
    data = read(FIO, name="fio.json")
    (row,) = data.table.to_dict("records")
    assert (row["operation"], row["bandwidth"], row["bs_bytes"], row["size_bytes"]) == ("write", 1000, 65536, 4 << 20)
    assert (row["numjobs"], row["iodepth"], row["latency_ns"]) == (4, 2, 15.5)
    assert data.roles.unit == "B/s"
    document = json.loads(FIO)
    document["jobs"][0]["error"] = 5
    with pytest.raises(InputError, match="holds no job that moved data"):
        read(json.dumps(document), name="fio.json")


@pytest.mark.real_data
def test_real_files(real_data):
    folder = real_data / "benchresults"
    (lu,) = perfcore.read(folder / "npb/lu-D-16-16.out").table.to_dict("records")
    assert (lu["benchmark"], lu["class"], lu["processes"], lu["time_s"]) == ("LU", "D", 16, 2166.09)
    # NPB's operation count of LU: 1984.77 n^3 - 10923.3 n^2 + 27770.9 n - 144010 for each iteration, n = 408.
    operations = 300 * (1984.77 * 408**3 - 10923.3 * 408**2 + 27770.9 * 408 - 144010)
    assert operations / lu["time_s"] / 1e6 == pytest.approx(lu["mops_total"], rel=1e-5)
    (imb_file,) = folder.glob("imb_*.out")
    imb = perfcore.read(imb_file)
    assert imb.table["bytes"].tolist() == [2**k for k in range(16)]
    assert imb.table["processes"].unique().tolist() == [16384]
    assert imb.table["t_avg"].iloc[[0, -1]].tolist() == [214.81, 1437044.06]
    assert len(perfcore.read(imb_file, empty=True).table) == 17
    (fio,) = perfcore.read(folder / "fio.json").table.to_dict("records")
    assert (fio["bandwidth"], fio["iops"], fio["runtime_ms"], fio["io_bytes"]) == (4194304000, 64000, 1, 4194304)
    # 64 blocks of 64 KiB are the 4 MiB that were written, in the millisecond that fio counts.
    assert fio["bs_bytes"] * 64 == fio["size_bytes"] == fio["io_bytes"]
