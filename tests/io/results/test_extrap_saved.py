"""Experiments that Extra-P saved: the figures are those that its own example files hold, as its readers give them."""

import struct
import time
import tracemalloc
import zipfile

import numpy as np
import pytest
from format_samples import EXTRAP_MEANS, EXTRAP_RUNS, extrap_archive, extrap_values, npy

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
    monkeypatch.setattr("perf_io.results.extrap.LARGEST_DOCUMENT", 1 << 20)
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
    assert len(perfcore.read(folder / "two_parameter_5.txt").table) == 25  # a tab behind DATA


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "paths", "said"),
    [
        ("exp_only_mean_median.extra-p", 4, "noise from std, their number is not said: two, the fewest"),
        ("two_parameter3.txt.extra-p", 4, "noise from std, repetitions runs each"),
        ("two_parameter_5.txt", 1, None),
    ],
)
def test_the_example_files_of_extra_p_are_fitted(real_data, name, paths, said):
    model = perfcore.fit(str(real_data / "benchresults" / "extrap" / name), fitter="scaling")
    assert len(model.paths) == paths
    assert not model.unfitted
    assert said is None or said in model.notes
