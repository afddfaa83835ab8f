"""Sums of parts are those of the whole, and those that a plain loop finds."""

import errno
import os
import tempfile
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perfcore
from perf_traces import scratch_arrays as arrays
from perf_worley import factor_tree
from perf_worley.factor_tree import moment_tree
from perfcore import Trace
from perfcore.base.errors import DataError, InputError

STATES = ("solve", "MPI_Wait", "assemble")
EPOCH_NS = 1_700_000_000_000_000_000
# Curves whose cells, edges, heights and tree are in files are those in memory, bit for bit.
OPTIONS = (
    {"phases": "1..6"},
    {"phases": "4", "segmenter": "hill-climb", "rule": "knee", "degree": "1"},
    {"fitter": "worley", "phases": "3", "degree": "mixed", "refine": True},
    {"fitter": "worley", "phases": "2", "functions": ["exp"]},
)


def write(path, rows):
    lines = (f"{location},{state},{start},{end}" for location, state, start, end in rows)
    path.write_text("\n".join(["location,state,start_ns,end_ns", *lines]) + "\n")


def numbers(run):
    """All that a summary says."""
    curve, (times, entries) = run.utilization(), run.times_and_entries()
    arrays = [*run.windows(), times, entries, curve.edges, curve.heights]
    return run.locations, run.states, run.busy_states, run.span_ns, run.notes, [array.tolist() for array in arrays]


@st.composite
def runs(draw):
    """Rows of up to five files with different spans, states and clocks, their intervals in any order."""
    files = []
    for _ in range(draw(st.integers(1, 5))):
        states = draw(st.permutations(STATES))[: draw(st.integers(1, 3))]
        rows = []
        for location in range(draw(st.integers(1, 2))):
            at = draw(st.integers(0, 3000))
            for gap, length in draw(
                st.lists(st.tuples(st.integers(0, 40), st.integers(0, 300)), min_size=1, max_size=6)
            ):
                rows.append(("ab"[location], draw(st.sampled_from(states)), at + gap, at + gap + length))
                at += gap + length
        files.append([*draw(st.permutations(rows)), ("a", "solve", 5000, 5001)])
    return files


@settings(max_examples=6, deadline=None)
@given(runs(), st.integers(1, 5), st.booleans())
def test_sums_of_parts_are_those_of_the_whole_and_those_of_a_plain_loop(files, n_parts, is_large):
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        if is_large:  # all arrays in files, looked at by few numbers
            patch.setattr(arrays, "_IN_MEMORY_BYTES", 0)
            patch.setattr(arrays, "_CHUNK", 5)
        patch.chdir(folder)
        for rank, rows in enumerate(files):
            write(Path(f"rank{rank}.csv"), rows)
        options = {"cells": 16, "clocks": "recorded"}
        n_parts = min(n_parts, len(files))
        for part in range(n_parts):
            perfcore.summarize("rank*.csv", f"p{part}", part=f"{part + 1}/{n_parts}", **options)
        whole = perfcore.summarize("rank*.csv", "whole", **options)
        joined = perfcore.summarize([f"p{part}" for part in reversed(range(n_parts))])
        assert numbers(joined) == numbers(whole) == numbers(perfcore.read("whole"))

    # Every nanosecond by itself.
    first = min(start for rows in files for *_, start, _ in rows)
    zero = first if len(files) > 1 else 0  # times of one file stay as they are
    last = 5001
    busy, by_window = np.zeros(last - first), np.zeros((last - first, len(whole.states)))
    totals = np.zeros((len(whole.locations), len(whole.states)))
    for rank, rows in enumerate(files):
        for name, state, start, end in rows:
            by_window[start - first : end - first, whole.states.index(state)] += 1
            busy[start - first : end - first] += state != "MPI_Wait"
            location = f"rank {rank} / {name}" if len(files) > 1 else name
            totals[whole.locations.index(location), whole.states.index(state)] += end - start
    edges, windows = whole.windows()
    np.testing.assert_array_equal(
        windows, [by_window[a - first : b - first].sum(axis=0) for a, b in np.array([edges[:-1], edges[1:]]).T + zero]
    )
    curve = whole.utilization()
    scale = {"ns": 1, "us": 1000}[curve.time_unit]
    for start, end, height in zip(curve.edges[:-1] * scale + zero, curve.edges[1:] * scale + zero, curve.heights,
                                  strict=True):  # fmt: skip
        assert height == pytest.approx(busy[round(start) - first : round(end) - first].mean())
    assert curve.n_steps <= 16
    np.testing.assert_array_equal(whole.times_and_entries()[0], totals)


def test_the_curve_is_the_mean_of_the_exact_one_in_each_cell(tmp_path):
    rng = np.random.default_rng(3)
    columns = []
    for rank in range(3):
        ends = np.cumsum(rng.integers(1, 900, 400)) + rank
        starts, state = np.append(rank, ends[:-1]), np.arange(400) % 3
        columns.append((state, starts, ends))
        rows = ("main", *zip(state, starts + EPOCH_NS, ends + EPOCH_NS, strict=True))
        write(tmp_path / f"rank{rank}.csv", [("main", STATES[code], start, end) for code, start, end in rows[1:]])
    run = perfcore.summarize(tmp_path / "rank*.csv", cells=64)
    every = [np.concatenate(each) for each in zip(*columns, strict=True)]
    exact = Trace(np.repeat([0, 1, 2], 400), *every, ["a", "b", "c"], STATES, time_unit=run.time_unit).utilization()
    curve = run.utilization()
    area = np.append(0, np.cumsum(np.diff(exact.edges) * exact.heights))
    means = np.diff(np.interp(curve.edges, exact.edges, area)) / np.diff(curve.edges)
    np.testing.assert_allclose(curve.heights, means, rtol=1e-12, atol=1e-9)
    assert (curve.start, curve.end, run.span_ns) == (exact.start, exact.end, (0, int(every[2].max())))
    assert curve.integral == pytest.approx(exact.integral, rel=1e-14)
    assert run.locations == ("rank 0 / main", "rank 1 / main", "rank 2 / main")
    with pytest.raises(DataError, match="a summary holds no intervals"):
        _ = run.start_ns


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A summary of 500 to 1,000 cells of three levels, in several tables."""
    monkeypatch.setattr(arrays, "_CHUNK", 300)
    rng, rows = np.random.default_rng(8), []
    for location in range(3):
        lengths = rng.integers(1, 900, 2000)
        lengths[600:1400:2] *= 3 + location
        ends = location + np.cumsum(lengths)
        states = np.array(["solve", "MPI_Wait"])[np.arange(2000) % 2]
        rows += zip("abc"[location] * 2000, states, np.append(location, ends[:-1]), ends, strict=True)
    write(tmp_path / "run.csv", rows)
    perfcore.summarize(tmp_path / "run.csv", tmp_path / "run.summary", cells=1024)
    return tmp_path / "run.summary"


def test_fits_are_those_in_memory_to_the_last_bit(run, monkeypatch):
    models = {}
    monkeypatch.setattr(factor_tree, "SHORT", 0)  # what holds for long curves
    for limit in (1 << 30, 0):
        monkeypatch.setattr(arrays, "_IN_MEMORY_BYTES", limit)
        data = perfcore.read(run)
        tree = moment_tree(data.utilization())
        assert isinstance(data.summary.cells.base, np.memmap) == (limit == 0)
        assert isinstance(tree.arrays[-1].base, np.memmap) == isinstance(tree.edges.base, np.memmap) == (limit == 0)
        models[limit] = [perfcore.fit(data, **{"fitter": "phases", **options}) for options in OPTIONS]
    assert models[0] == models[1 << 30]
    assert models[0][0].n_steps > 500
    assert len(models[0][0].breaks) >= 2


def test_tables_that_are_damaged_missing_or_doubled_are_named(run):
    content = run.read_bytes()
    with zipfile.ZipFile(run) as archive:
        members = [(info, archive.read(info)) for info in archive.infolist()]
        assert {info.date_time[0] for info, _ in members} == {1980}  # the bytes are the same at any time
        place = archive.getinfo("sums-0002.parquet").header_offset + 60
    run.write_bytes(content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :])
    with pytest.raises(InputError, match=r"run\.summary: the summary is damaged: .*; make it again"):
        perfcore.read(run)
    for chosen, problem in (
        ([info for info in members if info[0].filename != "sums-0002.parquet"], "sums-0002.parquet is missing"),
        ([*members, members[2]], "damaged: it has other members"),
        ([*members, (zipfile.ZipInfo("sums-0099.parquet"), b"")], "damaged: it has other members"),
        ([*members[:-1], (members[-1][0], b"x")], "damaged"),
    ):
        with warnings.catch_warnings(), zipfile.ZipFile(run, "w") as archive:
            warnings.simplefilter("ignore")  # of members that are there already
            for info, member in chosen:
                archive.writestr(info.filename, member)
        with pytest.raises(InputError, match=problem):
            perfcore.read(run)


def test_a_full_disk_is_one_line_and_leaves_nothing(run, tmp_path, monkeypatch):
    monkeypatch.setattr(arrays, "_IN_MEMORY_BYTES", 0)
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    data = perfcore.read(run)
    data.utilization()
    assert not list(folder.iterdir())  # what is mapped has no name

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with pytest.raises(InputError, match=r"of working space cannot be had: No space left on device; make room, or"):
        perfcore.fit(data, fitter="phases")
    assert not list(folder.iterdir())
