"""OTF2: regions, gaps, archives, what is missing, and writing."""

import re

import numpy as np
import pytest
from trace_samples import otf2_files

otf2 = pytest.importorskip("otf2")

import perfcore  # noqa: E402
from perfcore.base.errors import InputError  # noqa: E402


@pytest.fixture
def folder(tmp_path):
    for name, content in otf2_files().items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path / "run"


def test_the_innermost_region_counts(folder):
    trace = perfcore.read(folder / "traces.otf2")
    assert trace.locations == ("Rank 0", "Rank 1")
    assert trace.levels["process"] == ["Rank 0", "Rank 1"]
    assert trace.busy_states == ("main",)
    curve = trace.utilization()
    assert curve.edges.tolist() == [0, 3, 4, 5, 9]
    assert curve.heights.tolist() == [2, 1, 0, 2]


def test_damage_is_one_line_and_nothing_is_printed(folder, capfd):
    """Behind a cut OTF2's library may find what it read before: then the cut is not seen, and nothing is missing."""
    whole = perfcore.read(folder / "traces.otf2").utilization()
    events = folder / "traces" / "0.evt"
    content = events.read_bytes()
    lengths = range(1, len(content), 7)
    refused = []
    for length in lengths:
        events.write_bytes(content[:length])
        try:
            found = perfcore.read(folder / "traces.otf2").utilization()
        except InputError as error:
            refused.append(str(error))
        else:
            assert found.edges.tolist() == whole.edges.tolist()
    known = re.compile(r"the library of OTF2 cannot|cannot be opened|of 4 events; its")
    assert all(known.search(line) for line in refused)
    assert len(refused) >= len(lengths) - 2
    assert capfd.readouterr() == ("", "")


def changes(path, unit_ns):
    """Changes of the number of ranks outside of MPI, each until its last call, by the library's merged reader."""
    found = []
    with otf2.reader.open(str(path)) as reader:
        clock = reader.definitions.clock_properties
        inside, since = {}, {}
        for location, event in reader.events:
            if not isinstance(event, (otf2.events.Enter, otf2.events.Leave)):
                continue
            ticks = event.time - clock.global_offset
            time = round(ticks * 1e9 / clock.timer_resolution) if unit_ns else ticks
            stack = inside.setdefault(location, [])
            if isinstance(event, otf2.events.Enter):
                if event.region.name.startswith("MPI_") and location in since:
                    found += [(since.pop(location), 1), (time, -1)]
                stack.append(event.region.name)
                if not event.region.name.startswith("MPI_"):
                    since.setdefault(location, time)
            elif stack.pop().startswith("MPI_"):
                since[location] = time
    times, steps = np.array(sorted(found)).T
    level = np.cumsum(steps)[np.searchsorted(times, np.unique(times), "right") - 1]
    return 1 + np.count_nonzero(np.diff(level))


@pytest.mark.real_data
def test_ten_ranks(real_data):
    path = real_data / "traces" / "otf2" / "sst-10rank" / "traces.otf2"
    # An independent parser: 13,990 changes and 0.001 of 10. Its times are ticks of half a nanosecond.
    assert changes(path, unit_ns=False) == 13_990
    curve = perfcore.read(path).utilization()
    # No rank computes when the trace begins and when it ends: one step more than changes.
    assert curve.n_steps == changes(path, unit_ns=True) + 1
    assert curve.mean / 10 == pytest.approx(0.001, abs=5e-4)


@pytest.mark.real_data
def test_ping_pong(real_data):
    path = real_data / "traces" / "otf2" / "ping-pong-otf2" / "traces.otf2"
    # An independent parser: 80 changes and 0.013 of 2; it counts the time until a rank's last call of MPI.
    assert changes(path, unit_ns=True) == 80
    trace = perfcore.read(path)
    curve = trace.utilization()
    # Here both ranks also leave MPI_Finalize and then main; and one step more than changes, as above.
    assert curve.n_steps == 80 + 2 * 2 + 1
    assert curve.mean / 2 == pytest.approx(0.013, abs=5e-4)
    assert trace.locations == ("MPI Rank 0", "MPI Rank 1")
