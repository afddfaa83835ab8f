"""Sums of parts are those of the whole, bit for bit, and those that a plain loop finds."""

import errno
import itertools
import os
import tempfile
import warnings
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perfcore
from perf_traces import scratch_arrays as arrays
from perf_traces.summaries import summary_file
from perf_traces.summaries.run import ListedFile, Run
from perf_traces.summaries.summarized_trace import SummarizedTrace
from perf_traces.summaries.summary import Gathered, ordered_columns
from perf_traces.summaries.summary_file import decode, encode, load, save
from perf_worley import factor_tree
from perf_worley.factor_tree import moment_tree
from perfcore import Trace
from perfcore.base.errors import DataError, InputError

STATES = ("solve", "MPI_Wait", "assemble")
EPOCH_NS = 1_700_000_000_000_000_000


def run_of(n_files, cells=16, clocks="recorded"):
    files = tuple(ListedFile(f"rank{rank}.csv", 1, f"{rank:016x}", named=rank) for rank in range(n_files))
    return Run(files, cells, None, clocks, {})


def gathered(run, traces, positions):
    sums = Gathered(run)
    for at in positions:
        sums.add_trace(at, traces[at], ordered_columns(traces[at]))
    return sums.summary()


@st.composite
def traces(draw):
    """Small traces of up to five files with different spans, states and clocks, their intervals in any order."""
    found = []
    for _ in range(draw(st.integers(1, 5))):
        states = draw(st.permutations(STATES))[: draw(st.integers(1, 3))]
        rows = []
        for location in range(draw(st.integers(1, 2))):
            at = draw(st.integers(0, 3000))
            for gap, length in draw(
                st.lists(st.tuples(st.integers(0, 40), st.integers(0, 300)), min_size=1, max_size=6)
            ):
                rows.append((location, draw(st.integers(0, len(states) - 1)), at + gap, at + gap + length))
                at += gap + length
        location, state, start, end = zip(*draw(st.permutations(rows)), strict=True)
        facts = {"epoch_ns": draw(st.integers(0, 500))}
        markers = [("step", start[0], end[0])]
        found.append(
            Trace(location, state, start, end, ["a", "b"], states, facts=facts, markers=markers, time_unit="ns")
        )
    return found


@settings(max_examples=25, deadline=None)
@given(traces(), st.randoms(use_true_random=False), st.booleans())
def test_sums_of_parts_are_those_of_the_whole_and_those_of_a_plain_loop(traces, random, is_large):
    run = run_of(len(traces))
    with pytest.MonkeyPatch.context() as patch:
        if is_large:  # all arrays in files, looked at by few numbers
            patch.setattr(arrays, "_IN_MEMORY_BYTES", 0)
            patch.setattr(arrays, "_CHUNK", 3)
            patch.setattr(summary_file, "_PART", 5)
        whole = gathered(run, traces, range(len(traces)))
        order = list(range(len(traces)))
        random.shuffle(order)
        cuts = sorted(random.sample(range(1, len(order)), random.randint(0, len(order) - 1)))
        parts = [order[a:b] for a, b in itertools.pairwise([0, *cuts, len(order)])]
        sums = Gathered(run)
        for part in parts:
            sums.add(decode(encode(gathered(run, traces, part)), "part")[0])
        assert encode(sums.summary()) == encode(whole)

    # Every nanosecond by itself.
    first, last = whole.span_ns
    busy, by_window = np.zeros(last - first), np.zeros((last - first, len(whole.states)))
    totals: dict[tuple[int, int, str], int] = {}
    for at, trace in enumerate(traces):
        shift = trace.facts["epoch_ns"] * (len(traces) > 1) - first
        for row in range(trace.n_intervals):
            here = slice(trace.start_ns[row] + shift, trace.end_ns[row] + shift)
            state = trace.states[trace.state[row]]
            by_window[here, whole.states.index(state)] += 1
            busy[here] += state != "MPI_Wait"
            key = at, int(trace.location[row]), state
            totals[key] = totals.get(key, 0) + here.stop - here.start
    for bits, begin, sums, plain in (
        (whole.cell_bits, whole.first_cell, whole.cells, busy),
        (whole.window_bits, whole.first_window, whole.windows, by_window),
    ):
        number = (np.arange(first, last) >> bits) - begin
        expected = np.zeros(sums.shape, int)
        np.add.at(expected, number, plain.astype(int))
        assert (sums == expected).all()
    assert len(whole.cells) <= 16
    told = {
        (at, place, whole.states[state]): time
        for (at, place, state), time in zip(whole.places.tolist(), whole.times.tolist(), strict=True)
    }
    assert told == totals


def test_the_curve_is_the_mean_of_the_exact_one_in_each_cell():
    rng = np.random.default_rng(3)
    ranks = []
    for rank in range(3):
        ends = np.cumsum(rng.integers(1, 900, 400)) + rank
        state = np.arange(400) % 3
        facts = {"epoch_ns": EPOCH_NS}
        ranks.append(
            Trace([0] * 400, state, np.append(rank, ends[:-1]), ends, ["main"], STATES, facts=facts, time_unit="ns")
        )
    found = SummarizedTrace(gathered(run_of(3, 64, "auto"), ranks, range(3)), "run")
    every = [np.concatenate([getattr(rank, name) for rank in ranks]) for name in ("state", "start_ns", "end_ns")]
    exact = Trace(np.repeat([0, 1, 2], 400), *every, ["a", "b", "c"], STATES, time_unit="ns").utilization()
    curve = found.utilization()
    area = np.append(0, np.cumsum(np.diff(exact.edges) * exact.heights))
    means = np.diff(np.interp(curve.edges, exact.edges, area)) / np.diff(curve.edges)
    np.testing.assert_allclose(curve.heights, means, rtol=1e-12, atol=1e-9)
    assert (curve.start, curve.end, found.span_ns) == (exact.start, exact.end, (0, int(exact.end)))
    assert curve.integral == pytest.approx(exact.integral, rel=1e-14)
    assert found.locations == ("rank 0 / main", "rank 1 / main", "rank 2 / main")
    waiting = found.utilization(["MPI_Wait"])
    assert waiting.integral == pytest.approx(
        sum(int(t) for t in found.times_and_entries()[0][:, found.states.index("MPI_Wait")])
    )
    with pytest.raises(DataError, match="a summary holds no intervals"):
        _ = found.start_ns


# Curves whose cells, edges, heights and tree are in files are those in memory, bit for bit.
OPTIONS = (
    {"phases": "1..6"},
    {"phases": "4", "segmenter": "hill-climb", "rule": "knee", "degree": "1"},
    {"fitter": "worley", "phases": "3", "degree": "mixed", "refine": True},
    {"fitter": "worley", "phases": "2", "functions": ["exp"]},
)


@pytest.fixture
def small_parts(monkeypatch):
    """Parts and chunks of few numbers, so that a small summary has many."""
    monkeypatch.setattr(arrays, "_CHUNK", 600)
    monkeypatch.setattr(summary_file, "_PART", 256)


@pytest.fixture
def in_files(monkeypatch, small_parts):
    """All arrays are mapped from files."""
    monkeypatch.setattr(arrays, "_IN_MEMORY_BYTES", 0)


@pytest.fixture
def run(tmp_path, small_parts):
    """A summary of 1,000 to 2,000 cells of three levels."""
    rng, columns = np.random.default_rng(8), []
    for location in range(3):
        lengths = rng.integers(1, 900, 2000)
        lengths[600:1400:2] *= 3 + location
        ends = location + np.cumsum(lengths)
        columns.append((np.full(2000, location), np.arange(2000) % 2, np.append(location, ends[:-1]), ends))
    trace = Trace(*map(np.concatenate, zip(*columns, strict=True)), "abc", ("solve", "MPI_Wait"), time_unit="ns")
    sums = Gathered(Run((ListedFile("run.csv", 9, "7"),), 2048, None, "auto", {}))
    sums.add_trace(0, trace, ordered_columns(trace))
    path = tmp_path / "run.summary"
    save(sums.summary(), path)
    return path


def test_fits_are_those_in_memory_to_the_last_bit(run, monkeypatch):
    models = {}
    monkeypatch.setattr(factor_tree, "SHORT", 0)  # what holds for long curves
    for limit in (1 << 30, 0):
        monkeypatch.setattr(arrays, "_IN_MEMORY_BYTES", limit)
        data = perfcore.read(run)
        tree = moment_tree(data.utilization())
        assert isinstance(data.summary.cells.base, np.memmap) == (limit == 0)
        assert isinstance(tree.nodes.base, np.memmap) == isinstance(tree.edges.base, np.memmap) == (limit == 0)
        models[limit] = [perfcore.fit(data, **{"fitter": "phases", **options}) for options in OPTIONS]
    assert models[0] == models[1 << 30]
    assert models[0][0].n_steps > 1000
    assert len(models[0][0].breaks) >= 2


def test_parts_of_cells_that_are_damaged_missing_or_doubled_are_named(run, in_files):
    content = run.read_bytes()
    with zipfile.ZipFile(run) as archive:
        members = [(info, archive.read(info)) for info in archive.infolist()]
        place = archive.getinfo("cells-0002.npy").header_offset + 60
    run.write_bytes(content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :])
    with pytest.raises(InputError, match=r"run\.summary: the summary is damaged: .*; make it again"):
        perfcore.read(run)
    for names, problem in (
        ([info for info in members if info[0].filename != "cells-0002.npy"], "cells-0002.npy is missing"),
        ([*members, members[2]], "cells-0001.npy is there more than once"),
        ([*members, (zipfile.ZipInfo("cells-0099.npy"), b"")], "cells-0099.npy does not belong to it"),
        ([members[0], members[2], members[1], *members[3:-1], (members[-1][0], b"x")], "damaged"),
    ):
        with warnings.catch_warnings(), zipfile.ZipFile(run, "w", zipfile.ZIP_DEFLATED) as archive:
            warnings.simplefilter("ignore")  # of members that are there already
            for info, member in names:
                archive.writestr(info.filename, member)
        with pytest.raises(InputError, match=problem):
            load(run)


def test_a_full_disk_is_one_line_and_leaves_nothing(run, in_files, tmp_path, monkeypatch):
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
