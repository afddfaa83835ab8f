"""Files of Extra-P: the figures are those of its own readers."""

import shlex
import time
import tracemalloc

import numpy as np
import pytest
from format_samples import EXTRAP_MEANS, extrap_archive
from trace_samples import proto

import perfcore
from perfcore.base.errors import InputError

FILE = "saved.extra-p"


@pytest.mark.real_data
def test_files_of_extrap_itself(real_data):
    folder = real_data / "benchresults" / "extrap"
    if not folder.is_dir():
        pytest.skip("no files of Extra-P here")
    one = perfcore.read(folder / "one_parameter_1.txt")
    assert len(one.table) == 30
    assert one.table["time"].tolist()[:2] == [82.00848518948744, 81.42023198759563]
    assert sorted(set(one.table["x"])) == [20, 30, 40, 50, 60]
    many = perfcore.read(folder / "strong_scaling_one_parameter_2.txt")
    assert "main->merge->comp1" in set(many.table["callpath"])
    assert len(perfcore.read(folder / "test1.jsonl").table) == 125


def test_means_come_with_their_spread_and_number(read):
    """The deviation over N of two runs, 1.5 and 2.0, is 0.25; that of a sample is 0.25 * sqrt(2)."""
    data = read(extrap_archive(EXTRAP_MEANS))
    assert data.roles.value == "time"
    assert data.roles.parameters == {"p": "x", "y": "y"}
    assert data.table["time"].tolist() == [1.75, 3.0]
    assert data.table["std"].tolist() == pytest.approx([0.25 * 2**0.5, float("nan")], nan_ok=True)
    assert data.table["repetitions"].tolist() == pytest.approx([2, float("nan")], nan_ok=True)
    assert "repetition" not in data.table


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


# Formats that are not read themselves: told by their bytes, with the export that is read.
def packet(*fields):
    return proto((1, proto(*fields)))


DESCRIPTOR = packet((10, 7), (60, proto((1, 300), (2, "main"))))
BEGIN = packet((8, 10**15), (10, 7), (11, proto((9, 1), (11, 300), (23, "work" * 60))))
CLOCKS = packet((6, proto((1, proto((1, 6), (2, 10**18))))), (13, 1))
PERFETTO = {
    "one": DESCRIPTOR, "events": DESCRIPTOR + BEGIN + BEGIN, "clocks": CLOCKS + BEGIN,
    "a marker": packet((36, bytes(range(16))), (3, 1)) + DESCRIPTOR,
}  # fmt: skip


@pytest.mark.parametrize("content", PERFETTO.values(), ids=PERFETTO)
def test_binary_traces_of_perfetto_name_the_conversion_to_json(write, content):
    path = write(content, "my trace.pftrace")
    with pytest.raises(InputError, match=r"is Perfetto's binary format, which is not read; its JSON is") as caught:
        perfcore.read(path)
    words = shlex.split(str(caught.value).partition("traceconv: ")[2])
    said = "traceconv", "json", str(path), "my trace.pftrace.json", "&&", "perf", "info", "my trace.pftrace.json"
    assert tuple(words) == said
    assert "\n" not in str(caught.value)


def test_a_converted_table_is_of_the_one_path_that_a_model_of_it_has(tmp_path):
    (tmp_path / "runs.csv").write_text("p,time_s\n1,8\n2,4.5\n4,2.5\n8,1.75\n")
    model, runs = perfcore.fit(tmp_path / "runs.csv"), perfcore.read(tmp_path / "runs.csv")
    perfcore.write(runs, tmp_path / "lines.jsonl")
    lines = perfcore.read(tmp_path / "lines.jsonl")
    assert (lines.roles.code, lines.roles.category, lines.data_kind) == ((), (), "timings")
    assert "of 4 training points" in perfcore.validate(model, tmp_path / "lines.jsonl").report().answer
