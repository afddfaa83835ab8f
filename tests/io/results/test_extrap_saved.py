"""Experiments that Extra-P saved: the figures are those that its own example files hold, as its readers give them."""

import struct
import time
import tracemalloc
import zipfile

import numpy as np
import pytest
from format_samples import EXTRAP_MEANS, EXTRAP_RUNS, extrap_archive, extrap_binary, extrap_values, npy

import perfcore
from perfcore.base.errors import InputError

RUNS = extrap_values([npy([1.5, 2.0]), npy([[3.0, 4.0]])])


@pytest.fixture
def read(tmp_path):
    def read(content, name="saved.extra-p", **options):
        (tmp_path / name).write_bytes(content)
        return perfcore.read(tmp_path / name, **options)

    return read


def test_means_come_with_their_spread_and_number(read):
    """The deviation over N of two runs, 1.5 and 2.0, is 0.25; that of a sample is 0.25 * sqrt(2)."""
    data = read(extrap_archive(EXTRAP_MEANS))
    assert data.roles.value == "time"
    assert data.roles.parameters == {"p": "x", "y": "y"}
    assert data.table["time"].tolist() == [1.75, 3.0]
    assert data.table["std"].tolist() == pytest.approx([0.25 * 2**0.5, float("nan")], nan_ok=True)
    assert data.table["repetitions"].tolist() == pytest.approx([2, float("nan")], nan_ok=True)
    assert "repetition" not in data.table


def test_runs_that_were_kept_are_rows(read):
    """Two runs at x = 1; at x = 2 one run of two processes, which counts by their mean."""
    data = read(extrap_archive(EXTRAP_RUNS, RUNS))
    assert data.table[["x", "callpath", "repetition", "time"]].to_numpy().tolist() == [
        [1, "main", 1, 1.5],
        [1, "main", 2, 2.0],
        [2, "main", 1, 3.5],
    ]


def test_runs_with_gaps_give_way_to_their_mean(read):
    gaps = extrap_values([npy([1.5, 2.0]), npy([[7.0, 0.0], [0.0, 0.0]])])
    assert read(extrap_archive(EXTRAP_RUNS, gaps)).table["time"].tolist() == [1.5, 2.0, 3.5]


def npy_of(header: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()


@pytest.mark.parametrize(
    ("document", "members", "message"),
    [
        (EXTRAP_RUNS, {}, r"the archive has no values/0\.indx"),
        (EXTRAP_RUNS, extrap_values([npy([1.5, 2.0])]), "no entry 1, to which experiment.json refers"),
        (EXTRAP_RUNS, {**RUNS, "values/0.vals": b"x"}, r"values/0\.vals does not begin as Extra-P writes it"),
        (EXTRAP_RUNS, {**RUNS, "values/0.vals": b"Extra-P VALUES\0\0"}, "no experiment of Extra-P, or damaged"),
        (
            EXTRAP_RUNS,
            {**RUNS, "values/0.indx": b"Extra-P INDEX\0\0\0" + b"\xff" * 8},
            "cut short: it has not 18446744073709551615 entries",
        ),
        (
            EXTRAP_RUNS,
            extrap_values([npy_of("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }\n")] * 2),
            "holds an array that is cut short",
        ),
        (
            EXTRAP_RUNS,
            extrap_values([npy_of("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n") + b"x" * 99] * 2),
            "not one of numbers",
        ),
        (
            EXTRAP_RUNS,
            extrap_values([npy_of("{'descr': '<f8', 'fortran_order': False, 'shape': (-4,-4), }\n") + b"x" * 999] * 2),
            "holds an array that is cut short",
        ),
        (
            EXTRAP_RUNS,
            extrap_values([npy_of(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({-(2**63)},2), }}\n")] * 2),
            "holds an array that is cut short",
        ),
        (EXTRAP_RUNS.replace("[2.0]", "[2.0, 3.0]"), RUNS, "has 2 coordinates for 1 parameters"),
        (EXTRAP_RUNS.replace("[0, 1]", "[0, -1]"), RUNS, "Expected `int` >= 0"),
        (EXTRAP_MEANS.replace('"mean": 3.0', '"mean": "inf"'), {}, "neither runs nor a mean that is finite"),
        (EXTRAP_MEANS.replace('"std": 0.25', '"std": [1]'), {}, r"at `\$.measurements"),
        ("{" * 100_000, {}, "experiment of Extra-P"),
    ],
)
def test_archives_that_are_refused(read, document, members, message):
    with pytest.raises(InputError, match=message):
        read(extrap_archive(document, members), reader="extrap-archive")


def test_what_is_compressed_otherwise_is_refused(read):
    """A header of LZMA may ask for gigabytes."""
    with pytest.raises(InputError, match="compressed in a way that Extra-P does not use"):
        read(extrap_archive(EXTRAP_MEANS, compression=zipfile.ZIP_LZMA))


@pytest.mark.slow
def test_a_small_archive_that_unpacks_to_a_large_one(read, monkeypatch):
    monkeypatch.setattr("perf_io.results.extrap_archive.LARGEST_DOCUMENT", 1 << 20)
    bomb = extrap_archive(EXTRAP_MEANS + " " * (200 << 20))
    tracemalloc.start()
    try:
        begin = time.process_time()
        with pytest.raises(InputError, match="larger than 1 MiB"):
            read(bomb)
        assert time.process_time() - begin < 2
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("order", ["<", ">"])
def test_an_experiment_of_extra_p_3(read, order):
    data = read(extrap_binary(order), "saved")
    assert data.roles.unit == "s"
    assert data.table[["p", "callpath", "time", "std", "repetitions"]].to_numpy().tolist() == [
        [2, "main->solve", 8, 0.5, 3],
        [4, "main->solve", 4, 0.25, 3],
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"\x04\0\0\0main", b"\xff\xff\xff\xfemain", "a text goes beyond its end"),
        (struct.pack("<qqq", 1, 1, 0), struct.pack("<qqq", 1, 7, 0), "region 7 is named"),
        (struct.pack("<qqq", 1, 1, 0), struct.pack("<qqq", 1, 1, 5), "call path 5 is named"),
        (struct.pack("<qq", 1, 1) + b"\x01\0\0\0p", struct.pack("<qq", 1, 2**60) + b"\x01\0\0\0p", "coordinates"),
        (struct.pack("<d", 8.0), struct.pack("<d", float("nan")), "the mean of a point is nan"),
        (b"ExperimentPoint", b"ExperimentPaint", None),
        (struct.pack("<d", 0.25), b"", "the file is cut short"),
    ],
)
def test_experiments_of_extra_p_3_that_are_refused(read, old, new, message):
    content = extrap_binary().replace(old, new)
    assert content != extrap_binary()
    if message is None:
        with pytest.raises(InputError, match="has no values"):
            read(content, "saved")
    else:
        with pytest.raises(InputError, match=message):
            read(content, "saved")


def test_a_chain_of_callers_makes_no_long_names(read):
    """A million calls, each of the one before, would make 10^12 characters."""

    def path(number):
        return struct.pack("<I", 8) + b"Callpath" + struct.pack("<qqq", number, 1, number - 1)

    first = struct.pack("<I", 8) + b"Callpath" + struct.pack("<qqq", 1, 1, 0)
    content = extrap_binary().replace(first, first + b"".join(path(number) for number in range(2, 200_000)))
    begin = time.process_time()
    with pytest.raises(InputError, match="more than 10,000 characters"):
        read(content, "saved")
    assert time.process_time() - begin < 2


@pytest.mark.real_data
def test_the_example_files_of_extra_p(real_data):
    folder = real_data / "benchresults" / "extrap"
    for name, runs in (("exp_only_mean_median.extra-p", None), ("two_parameter3.txt.extra-p", 5)):
        table = perfcore.read(folder / name).table
        assert len(table) == 100
        first = table[(table["callpath"] == "merge") & (table["metric"] == "time")].iloc[0]
        assert first["value"] == 0.998632604831951
        factor = 1.0 if runs is None else np.sqrt(5 / 4)
        assert first["std"] == pytest.approx(0.012125089856431601 * factor, rel=1e-14)
        assert ("repetitions" in table) == (runs is not None)
    third = perfcore.read(folder / "experiment_3")
    assert sorted(third.table["callpath"].unique()) == ["met1", "met1 #1", "met2", "met3"]
    assert third.table["p"].unique().tolist() == [1000, 2000, 4000, 8000, 16000]
    # Five runs of 3.9 to 4.1 with this mean and median are 3.9, 4.0, 4.0, 4.1, 4.1.
    assert third.table["std"].iloc[0] == pytest.approx(np.std([3.9, 4.0, 4.0, 4.1, 4.1], ddof=1), rel=1e-9)
    assert third.table["repetitions"].iloc[0] == 5
    assert len(perfcore.read(folder / "two_parameter_5.txt").table) == 25  # a tab behind DATA


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "paths", "said"),
    [
        ("exp_only_mean_median.extra-p", 4, "noise from std, their number is not said: two, the fewest"),
        ("two_parameter3.txt.extra-p", 4, "noise from std, repetitions runs each"),
        ("experiment_3", 4, "noise from std, repetitions runs each"),
        ("two_parameter_5.txt", 1, None),
    ],
)
def test_the_example_files_of_extra_p_are_fitted(real_data, name, paths, said):
    model = perfcore.fit(str(real_data / "benchresults" / "extrap" / name), fitter="scaling")
    assert len(model.paths) == paths
    assert not model.unfitted
    assert said is None or said in model.notes
