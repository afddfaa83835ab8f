"""Caliper and Cube: exclusive times, checked with Extra-P's own reader and with sums over the call tree."""

import io
import struct
import tarfile
import zlib

import pytest
from format_samples import CALIPER, cube
from trace_samples import sample, tarred

import perfcore
from perfcore.base.errors import InputError, PerfError, UnknownNameError

FILE = "run.cali"


def members_of(content):
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar.getmembers()}


@pytest.fixture
def read_cube(tmp_path):
    def read_cube(content, folder="results", **options):
        path = tmp_path / folder / "profile.cubex"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        return perfcore.read(path, **options)

    return read_cube


def test_records_of_single_ranks_are_averaged(read):
    by_rank = sample("caliper_ranks")
    lines = [line for line in CALIPER.splitlines() if not line.startswith("__rec=ctx")]
    assert read("\n".join(lines) + "\n" + by_rank).table["inclusive_time_s"].tolist() == [5]


def test_a_time_series_of_nanoseconds_by_rank_is_summed(read):
    """Averages are over visits, and no times of a rank; the second rank never solves, and the first does it twice."""
    table = read(sample("caliper_series")).table.set_index("callpath")
    assert table["time_s"].to_dict() == pytest.approx({"main": 5e-6, "main->solve": 7e-6})
    assert table["inclusive_time_s"].to_dict() == pytest.approx({"main": 12e-6, "main->solve": 7e-6})


def test_a_cube_and_its_folder(read_cube):
    data = read_cube(cube(), folder="mm.x10y1.5.r2")
    rows = data.table[["callpath", "time_s", "inclusive_time_s"]].to_numpy().tolist()
    assert rows == [["main", 3, 10], ["main->solve", 7, 7]]
    assert data.table[["program", "x", "y", "repetition"]].iloc[0].tolist() == ["mm", 10, 1.5, 2]
    assert (dict(data.roles.parameters), data.roles.category) == ({"p": "x", "y": "y"}, ("callpath",))
    with pytest.raises(UnknownNameError, match="unknown metric 'visits'"):
        read_cube(cube(), metric="visits")


def test_a_cube_of_a_program_with_threads_and_derived_metrics(read_cube):
    """main calls solve, which calls dot, and write; a second root has what threads ran; there are two processes."""
    members = {"anchor.xml": sample("cube_threads_anchor").encode()}
    # Call paths depth first: main, solve, dot, write, THREADS; of inclusive metrics main, solve, write, dot, THREADS.
    stored = {
        0: (">", [0, 1, 2, 4], "d", [1, 5, 2, 4, 8, 0, 0, 3]),
        2: ("<", [0, 1, 2, 3], "Q", [11, 9, 7, 5, 1, 1, 3, 3]),
        3: ("<", [0, 2], "d", [2, 3, 9, 4]),
    }
    for number, (order, rows, code, values) in stored.items():
        members[f"{number}.index"] = b"CUBEX.INDEX" + struct.pack(f"{order}ihbi{len(rows)}i", 1, 0, 1, len(rows), *rows)
        members[f"{number}.data"] = b"CUBEX.DATA" + struct.pack(f"{order}{len(values)}{code}", *values)
    archive = bytearray(tarred(members))
    archive[148] ^= 1  # a wrong checksum
    paths = ["main", "main->solve", "main->solve->dot", "main->write", "THREADS"]
    expected = {"time": ([3, 3, 4, 0, 1.5], [10, 7, 4, 0, 1.5]), "visits": ([3, 3, 3, 1, 0], [10, 6, 3, 1, 0]),
                "max_time": ([3, 0, 9, 0, 0], [3, 0, 9, 0, 0])}  # fmt: skip
    for metric, (exclusive, inclusive) in expected.items():
        data = read_cube(bytes(archive), metric=metric)
        assert data.table["callpath"].tolist() == paths
        assert data.table[data.roles.value].tolist() == exclusive
        assert data.table[f"inclusive_{data.roles.value}"].tolist() == inclusive
    with pytest.raises(UnknownNameError, match="unknown metric 'execution'"):
        read_cube(bytes(archive), metric="execution")


@pytest.mark.parametrize("name", ["../0.data", "/etc/passwd", "a/../../b"])
def test_members_that_lead_elsewhere_are_refused(read_cube, name):
    with pytest.raises(InputError, match="is no plain file of a profile"):
        read_cube(tarred({**members_of(cube()), name: b"x"}))


def test_links_are_refused(read_cube):
    archive = io.BytesIO(tarred(members_of(cube())))
    with tarfile.open(fileobj=archive, mode="a") as tar:
        link = tarfile.TarInfo("1.data")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    with pytest.raises(InputError, match=r"'1.data', which is no plain file"):
        read_cube(archive.getvalue())


@pytest.mark.slow
def test_data_that_decompress_without_end_are_refused(read_cube):
    bomb = zlib.compressobj()
    piece = b"".join([*(bomb.compress(bytes(1 << 24)) for _ in range(72)), bomb.flush()])
    data = b"ZCUBEX.DATA" + struct.pack("<qqqq", 1, 0, 0, len(piece)) + piece
    with pytest.raises(InputError, match=r"0.data decompresses to more than 1 GiB"):
        read_cube(tarred({**members_of(cube()), "0.data": data}))


def test_a_call_tree_that_declares_entities_or_never_ends_is_refused(read_cube):
    members = members_of(cube())
    laughs = members["anchor.xml"].replace(b"<cube", b'<!DOCTYPE c [<!ENTITY a "aaaa">]><cube', 1)
    with pytest.raises(InputError, match="declares entities"):
        read_cube(tarred({**members, "anchor.xml": laughs}))
    deeper = b'<cnode id="2" calleeId="1">' * 5000 + b"</cnode>" * 5002
    deep = members["anchor.xml"].replace(b"</cnode></cnode>", deeper)
    with pytest.raises(PerfError, match="nested too deeply"):
        read_cube(tarred({**members, "anchor.xml": deep}))


@pytest.mark.real_data
def test_a_real_profile_of_caliper(real_data):
    data = perfcore.read(real_data / "traces/caliper/example-profile.cali")
    # All 25 records of the file; the sum is that of the inclusive times of the paths that nothing calls.
    assert len(data.table) == 25
    assert data.table["time_s"].sum() == pytest.approx(0.001533 + 0.301407 + 0.000017 + 0.000082, abs=1e-9)
    rows = data.table.set_index("callpath")
    step = "main->lulesh.cycle->LagrangeLeapFrog"
    assert rows.loc[step, "inclusive_time_s"] == 0.292486
    assert rows.loc[step, "time_s"] == pytest.approx(0.292486 - 0.167301 - 0.122916 - 0.001978, abs=1e-12)
    assert (rows["problem_size"].iloc[0], rows["ranks"].iloc[0], rows["threads"].iloc[0]) == (30, 1, 2)


@pytest.mark.real_data
def test_a_real_series_of_cube_profiles(real_data):
    data = perfcore.read(real_data / "traces/cube")
    assert (dict(data.roles.parameters), len(data.table)) == ({"p": "x"}, 20)
    # Exclusive times in microseconds at x = 1, 10, 100, 1000, 2000, as Extra-P 4.2.5 reads them.
    expected = {
        "main": [31.883, 11.667, 12.051, 12.488, 13.075], "main->init_mat": [3.795, 3.34, 4.171, 12.865, 22.166],
        "main->zero_mat": [1.266, 1.071, 1.198, 2.228, 3.478], "main->mat_mul": [1.233, 1.069, 1.339, 3.829, 6.546],
    }  # fmt: skip
    for callpath, times in expected.items():
        rows = data.table[data.table["callpath"] == callpath]
        assert rows["x"].tolist() == [1, 10, 100, 1000, 2000]
        assert (rows["time_s"] * 1e6).tolist() == pytest.approx(times, rel=1e-9)
    # What main took with all that it called, by pycubexr, is the sum over the categories.
    totals = [38.177, 17.147, 18.759, 31.41, 45.265]
    assert (data.table.groupby("x")["time_s"].sum() * 1e6).tolist() == pytest.approx(totals, rel=1e-9)
