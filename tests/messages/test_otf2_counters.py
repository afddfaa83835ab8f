"""Counters of OTF2 archives, in every mode that counts."""

import re

import pytest

import perfcore

otf2 = pytest.importorskip("otf2")

from otf2_runs import MODES, otf2_run  # noqa: E402

from perfcore import overheads, profile  # noqa: E402

# Computing of two ranks: each 1,000 ns and 4 x 32,000 ns, of two instructions and four cycles a nanosecond.
COMPUTING = 2 * (1000 + 4 * 32_000)


@pytest.mark.parametrize(("mode", "value_type", "exponent"), [
    (MODES.ACCUMULATED_START, otf2.Type.UINT64, 0), (MODES.ACCUMULATED_POINT, otf2.Type.INT64, 0),
    (MODES.ACCUMULATED_LAST, otf2.Type.DOUBLE, 3), (MODES.ACCUMULATED_START, otf2.Type.INT64, -2),
    (MODES.ABSOLUTE_POINT, otf2.Type.UINT64, 0), (MODES.RELATIVE_LAST, otf2.Type.UINT64, 0),
])  # fmt: skip
def test_every_mode_counts_the_same(tmp_path, mode, value_type, exponent):
    trace = perfcore.read(otf2_run(tmp_path, 2, mode=mode, value_type=value_type, exponent=exponent))
    found = overheads(trace)[0].bursts
    assert (int(found.instructions.sum()), int(found.cycles.sum())) == (2 * COMPUTING, 4 * COMPUTING)
    assert profile(trace).table().instructions.sum() == 2 * COMPUTING + 2 * 4 * 100  # of the calls one a nanosecond


def test_factors_of_archives_and_counters_of_some_ranks(tmp_path):
    runs = overheads([otf2_run(tmp_path, p) for p in (1, 2, 4)])
    factors = runs.to_dict()["efficiencies_of_runs"]
    total = [1000 * p + 4 * 64_000 for p in (1, 2, 4)]  # as many instructions and cycles, so IPC and frequency stay
    scalability = [row["instruction scalability"] for row in factors]
    assert scalability == pytest.approx([total[0] / each for each in total], rel=1e-12)
    assert [row["IPC scalability"] for row in factors] == pytest.approx([1.0] * 3)
    found = overheads(otf2_run(tmp_path / "some", 2, counted=[0]))[0].bursts
    assert found.instructions is None
    assert "PAPI_TOT_INS was read at 1 of 2 locations that compute, not at Rank 1" in found.notes[0]


def test_a_total_that_falls_is_refused(tmp_path):
    # Written as what was counted since the last reading, and announced as a running total.
    path = otf2_run(tmp_path, 1, names=("PAPI_TOT_INS", "PAPI_TOT_CYC"), falls=True)
    found = overheads(path)[0].bursts
    assert found.instructions is None
    assert re.search(r"PAPI_TOT_INS falls from \d+ to \d+ at tick \d+", found.notes[0])


@pytest.mark.parametrize("by", ["function", "location"])
def test_counters_by_function_sum_to_those_of_the_trace(tmp_path, by):
    runs = profile([otf2_run(tmp_path, p) for p in (1, 2, 4)], by=by)
    table = runs.table()
    for number, p in enumerate((1, 2, 4), start=1):  # two a nanosecond of computing, of the calls one
        assert table[table.run == number].instructions.sum() == 2 * (1000 * p + 4 * 64_000) + p * 4 * 100
    ends = table.iloc[:, 0] if by == "function" else table.state
    found = table.groupby([ends, "p"])[["instructions", "cycles"]].sum()
    assert found.loc[("work", 2)].tolist() == [2 * 4 * 64_000, 4 * 4 * 64_000]
    assert found.loc[("MPI_Allreduce", 2)].tolist() == [2 * 400, 2 * 400]
    if by == "function":
        perfcore.write(runs.measurements, tmp_path / "runs.csv")
        model = perfcore.fit(tmp_path / "runs.csv", fitter="scaling", value="instructions")
        assert model.predict({"p": 8, "path": "work"}) == pytest.approx(2 * 4 * 64_000, rel=0.01)
