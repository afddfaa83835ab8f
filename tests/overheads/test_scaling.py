"""POP's efficiencies of several runs: their product, what limits the scaling, published figures."""

import pytest

import perfcore
from perf_analysis.scaling_efficiencies import efficiencies_of_runs
from perfcore import Trace

EPOCH = "traces/paraver/epoch/epoch_{}proc.prv.gz"
HALO = "examples/halo/halo.prv"


def run(n_locations, computing_ns, elapsed_ns):
    """Each location computes for so long, but the last one a tenth longer, and then waits."""
    rows = []
    for place in range(n_locations):
        end = computing_ns + (computing_ns // 10 if place == n_locations - 1 else 0)
        rows += [(place, 0, 0, end), (place, 1, end, elapsed_ns)]
    location, state, start, end = map(list, zip(*rows, strict=True))
    names = [f"rank {place}" for place in range(n_locations)]
    return Trace(location, state, start, end, names, ["Running", "MPI_Wait"], source=f"p{n_locations}")


def test_factors_multiply_to_the_global_efficiency():
    runs = perfcore.overheads([run(2, 1000, 1200), run(4, 600, 700)])
    small, large = efficiencies_of_runs(list(runs))
    assert small["computation scalability"] == 1.0
    assert large["computation scalability"] == pytest.approx(2100 / 2460)
    assert large["parallel"] == pytest.approx(2460 / 4 / 700)
    assert large["global"] == pytest.approx(
        large["load balance"] * large["communication"] * large["computation scalability"]
    )
    assert large["serialisation"] is None
    assert runs.summary()[1] == (
        "what limits the scaling: computation scalability, 85.37% with 4 locations, where the global efficiency is "
        "75.00%"
    )
    title, header, rows = runs.tables()[1]
    assert title == "POP efficiencies (computation scalability: against p2, if the work is the same)"
    assert header[2:] == ["global", "parallel", "load balance", "communication", "computation scalability"]
    assert [row[:2] for row in rows] == [["p2", "2"], ["p4", "4"]]
    assert runs.to_dict()["efficiencies_of_runs"] == [small, large]


@pytest.mark.real_data
def test_published_figures_of_epoch(real_data):
    runs = perfcore.overheads([real_data / EPOCH.format(p) for p in (2, 8)], pop="bsc")
    small, large = efficiencies_of_runs(list(runs))
    published = {
        "parallel": (99.378, 95.708), "load balance": (99.761, 98.281), "communication": (99.616, 97.382),
        "serialisation": (99.842, 98.282), "transfer": (99.774, 99.084),
    }  # fmt: skip
    for name, figures in published.items():
        assert [round(100 * each[name], 3) for each in (small, large)] == list(figures)
    assert large["computation scalability"] == pytest.approx(81.341 / 95.500, abs=1e-5)


def test_the_strict_definition_is_said_with_its_contradictions():
    [found] = perfcore.overheads(HALO)
    assert found.replayed.contradictions == 0
    title = found.tables()[-1][0]
    assert title.startswith("Efficiencies (by the rules that the trace shows; on a network that takes no time ")
    assert found.to_dict()["replay"]["definition"] == "strict"
    efficiencies = found.efficiencies()
    assert efficiencies.serialisation * efficiencies.transfer == pytest.approx(efficiencies.communication)


def test_own_classes_have_neither():
    """What a replay takes for computing is what the trace does; with other classes, transfer would exceed 1."""
    [found] = perfcore.overheads(HALO, classes={"computing": ["*"]})
    assert found.replayed is None
