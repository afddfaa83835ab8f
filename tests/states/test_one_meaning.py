"""`perf info`, `perf fit` and `perf overheads` count the same states and locations, whatever the format and level."""

import pytest
from format_samples import SAMPLES

import perfcore
from perf_basics.describe import describe
from perf_traces.levels import located
from perf_traces.options import LEVELS
from perf_traces.states import CLASSES, COMPUTING, OTHER, class_of
from perfcore import Trace, overheads
from perfcore.base.errors import DataError, PerfError


def check(trace):
    """Busy shares that are printed for one trace, and that every state is in a class."""
    busy = tuple(state for state in trace.states if class_of(state) in (COMPUTING, OTHER))
    assert trace.busy_states == busy
    assert all(class_of(state) in (*CLASSES, OTHER) for state in trace.states)
    [profile] = overheads(trace)
    computing = profile.class_cycles_ns[profile.classes.index(COMPUTING)].sum()
    assert computing == profile.by_category_ns[0]
    assert profile.cycles_ns.sum() == profile.elapsed_ns * len(trace.locations)
    facts = describe(trace, "x")
    assert facts["busy"] == list(busy)
    if busy:
        share = computing / profile.total_ns
        assert facts["mean utilization"] == f"{share:.3f} of {len(trace.locations)}"
        assert trace.utilization().mean / len(trace.locations) == pytest.approx(share, rel=1e-9)
        efficiencies = profile.efficiencies()
        assert efficiencies.parallel[0] == pytest.approx(share, rel=1e-9)
        assert trace.utilization(busy).integral == pytest.approx(trace.utilization().integral)
    else:
        assert computing == 0
        assert facts["curve"].startswith("none")


def levels_of(trace):
    """The trace with locations of each level that is known."""
    for level in LEVELS:
        try:
            yield level, located(trace, level)
        except DataError as error:
            assert "leave out --locations " in str(error)  # noqa: PT017 - not every level is known
            assert level not in ("auto", "stream", "thread", "both")


@pytest.mark.parametrize("name", sorted({*SAMPLES} - {"summary"}))  # which has no intervals to tell it from
def test_of_every_sample(name, tmp_path):
    for file, content in SAMPLES[name]:
        path = tmp_path / file
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        data = perfcore.read(path, reader=name)
        if isinstance(data, Trace):
            check(data)
            for _, trace in levels_of(getattr(data, "recorded", data)):
                check(trace)


def real_traces(folder):
    for path in sorted((folder / "traces").rglob("*")):
        if path.is_file() and path.suffix in (".gz", ".json", ".prv", ".otf2", ".trf", ".trace", ".csv", ".sts"):
            try:
                data = perfcore.read(path)
            except PerfError:  # parts of other files
                continue
            if isinstance(data, Trace):
                yield path, data


@pytest.mark.real_data
def test_of_every_real_trace(real_data):
    assert len([check(trace) for _, trace in real_traces(real_data)]) >= 14


@pytest.mark.real_data
def test_of_every_level_of_real_traces(real_data):
    known = set()
    for _, data in real_traces(real_data):
        for level, trace in levels_of(getattr(data, "recorded", data)):
            check(trace)
            known.add(level)
    assert {"auto", "stream", "thread", "device", "process"} <= known
