"""NPB, IMB, OSU, IOR and fio: figures read from the files by hand.

The forms of OSU 5 to 7 and of IOR 3.0 to 4.0 are those of outputs that sites publish in their documentation.
"""

import json

import pytest
from format_samples import FIO, IMB, IOR, IOR_CSV, IOR_TEXT, NPB, OSU, OSU_OTHERS

import perfcore
from perfcore.base.errors import InputError


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


def test_other_tables_of_osu(read):
    table = read(OSU_OTHERS).table
    assert table[["test", "metric", "value", "unit"]].to_numpy().tolist() == [
        ["MPI Init Test", "average", 68, "ms"],
        ["MPI Barrier Latency Test", "avg_latency", 8.63, "us"],
        ["MPI Multiple Bandwidth / Message Rate Test", "bandwidth", 8.36, "MB/s"],
        ["MPI Non-blocking Barrier Latency Test", "overall", 11.09, "us"],
    ]
    assert table["processes"].iloc[0] == 4
    assert table.iloc[2][["pairs", "window", "datatype", "bytes", "messages_s"]].tolist() == [
        *(4, 64, "MPI_CHAR", 1, 8361985.11)
    ]
    assert table.iloc[3][["compute", "pure_comm", "overlap"]].tolist() == [6.10, 5.18, 3.46]


def test_sizes_of_osu_whose_validation_failed_are_left_out(read):
    checked = (
        "# OSU MPI Allreduce Latency Test v7.5\n# Datatype: MPI_INT.\n"
        "# Size       Avg Latency(us)        Validation\n4   7.93   Pass\n8   7.94   Fail\n"
    )
    data = read(checked)
    assert (data.table["bytes"].tolist(), data.roles.value, data.roles.unit) == ([4], "avg_latency", "us")
    with pytest.raises(InputError, match=r"run.out:4: 3 numbers"):
        read(checked.replace("7.93", "x"))


def test_what_osu_says_of_a_table_is_in_its_columns(read):
    """Version 7.1 has the data type below the heading; old ones of MVAPICH2 had no version in the title."""
    data = read(
        "# OSU MPI-CUDA Bandwidth Test v7.1\n# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)\n"
        "# Size      Bandwidth (MB/s)\n# Datatype: MPI_CHAR.\n1     1.47\n\n"
        "# OSU MPI_Put Latency Test v5.8\n# Window creation: MPI_Win_allocate\n# Synchronization: MPI_Win_flush\n"
        "# Size          Latency (us)\n1     39.13\n"
    )
    columns = ["send_buffer", "receive_buffer", "datatype", "window_creation", "synchronization"]
    assert data.table[columns].fillna("").to_numpy().tolist() == [
        ["device", "host", "MPI_CHAR", "", ""],
        ["", "", "", "MPI_Win_allocate", "MPI_Win_flush"],
    ]
    data = read("# OSU MPI_Put latency Test\n# Size            Latency (us)\n1    7.33\n")
    assert data.table["latency"].tolist() == [7.33]


def test_pairs_of_osu_are_a_parameter(read):
    one = OSU_OTHERS[OSU_OTHERS.index("# OSU MPI Multiple") : OSU_OTHERS.index("# OSU MPI Non-blocking")]
    data = read(one + one.replace("pairs: 4", "pairs: 8"))
    assert dict(data.roles.parameters) == {"p": "pairs"}


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


def test_what_ior_prints_for_people_says_the_same(read):
    data = read(IOR_TEXT)
    assert data.table[["operation", "tasks", "nodes", "repetition", "bandwidth", "total_s"]].to_numpy().tolist() == [
        ["write", 8, 2, 1, 512.5, 1.61],
        ["read", 8, 2, 1, 1024, 0.86],
        ["write", 8, 2, 2, 500, 1.71],
    ]
    assert [data.line(row) for row in range(3)] == [20, 21, 23]
    of_json = read(IOR, name="ior.json").table
    assert list(data.table.columns) == list(of_json.columns)
    assert data.table.iloc[0][["block_kib", "open_s", "close_s"]].tolist() == [1024, 0.1, 0.01]


def test_several_runs_of_ior_in_one_log(read):
    """Version 3.0, as its source writes it: neither IOPS nor latency, and other lines of the setup."""
    older = (
        "IOR-3.0.1: MPI Coordinated Test of Parallel I/O\nSummary:\n\tapi                = POSIX\n"
        "\tclients            = 16 (8 per node)\n\taccess             = single-shared-file\n\n"
        "access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter\n"
        "------    ---------  ---------- ---------  --------   --------   --------   --------   ----\n"
        "write     158.39     204800     20480      0.003322   1.47       20.06      20.20      0   \n\n"
        "Max Write: 158.39 MiB/sec (166.09 MB/sec)\n"
    )
    data = read("start\n" + older + "done\n" + IOR_TEXT)
    assert data.table["tasks"].tolist() == [16, 8, 8, 8]
    assert data.table["bandwidth"].tolist() == [158.39, 512.5, 1024, 500]
    assert data.table["tasks_per_node"].tolist() == [8, 4, 4, 4]
    assert set(data.roles.parameters.values()) >= {"tasks"}


def test_the_table_of_ior_as_csv(read):
    """The example of the pull request that added it, hpc/ior 260."""
    data = read(IOR_CSV, name="ior.csv")
    assert data.table[["operation", "bandwidth", "iops"]].to_numpy().tolist() == [
        ["write", 436.5474, 228841.8502],
        ["read", 2367.9204, 1220176.2821],
    ]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("512.50     2050 ", "512.50 ", r"run.out:20: has 10 fields, expected access, bw\(MiB/s\)"),
        ("512.50     2050 ", "fast       2050 ", r"run.out:20: bw\(MiB/s\) 'fast' is no number"),
        ("512.50     2050 ", "-          2050 ", "run.out:20: the write has no bandwidth"),
    ],
)
def test_damaged_tables_of_ior(read, old, new, problem):
    with pytest.raises(InputError, match=problem):
        read(IOR_TEXT.replace(old, new, 1))


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
