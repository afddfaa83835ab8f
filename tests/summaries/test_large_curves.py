"""Curves whose cells, edges, heights and tree are in files are those in memory, bit for bit."""

import errno
import os
import tempfile
import warnings
import zipfile

import numpy as np
import pytest

import perfcore
from perf_traces.summaries import summary_file
from perf_traces.summaries.run import ListedFile, Run
from perf_traces.summaries.summary import Gathered, ordered_columns
from perf_traces.summaries.summary_file import load, save
from perf_worley.factor_tree import moment_tree
from perfcore import Trace
from perfcore.base import scratch_arrays as arrays
from perfcore.base.errors import InputError

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
    with pytest.raises(InputError, match=r"run\.summary: the summary is damaged: .*; make it anew"):
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
