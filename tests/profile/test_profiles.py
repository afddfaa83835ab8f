"""Profiles of several runs: the table that models are fitted to, what runs have in common, and what they have not."""

import json

import numpy as np
import pytest
from format_samples import cube

import perfcore
from perfcore import Measurements, Trace, profile
from perfcore.base.errors import DataError, OptionError

NO_STATE = "(no state)"
LAWS = {
    "solve": lambda p: 8.0 / p, "exchange": lambda p: 0.02 + 0.05 * np.log2(p), "assemble": lambda p: 0.1 + 2.0 / p,
    "setup": lambda p: 0.5,
}  # fmt: skip


def run_at(p, seed=0, steps=20, noise=0.01, **facts):
    """A run on p locations whose functions follow `LAWS`, in seconds, each with the noise of a run."""
    rng = np.random.default_rng((seed, p))
    each = np.array([law(p) for law in LAWS.values()]) * 1e9 / steps
    lengths = (each * (1.0 + noise * rng.standard_normal((p, steps, len(LAWS))))).astype(np.int64)
    ends = lengths.reshape(p, -1).cumsum(axis=1)
    starts = ends - lengths.reshape(p, -1)
    location = np.repeat(np.arange(p), steps * len(LAWS))
    state = np.tile(np.arange(len(LAWS)), p * steps)
    names = [f"rank {k}" for k in range(p)]
    return Trace(location, state, starts.ravel(), ends.ravel(), names, list(LAWS), source=f"run at {p}", **facts)


def test_a_row_for_each_function_of_each_run():
    found = profile([run_at(p) for p in (1, 2, 4)])
    table = found.to_frame()
    assert list(table.columns[:3]) == ["function", "p", "time_s"]
    assert len(table) == 3 * 5
    whole = table.groupby("p")["time_s"].sum()
    for run in found:
        p = run.parameters["p"]
        assert whole[p] == pytest.approx(run.elapsed_ns / 1e9, rel=1e-12)
        own = table[table["p"] == p]
        assert int(own["all_locations_ns"].sum()) == p * run.elapsed_ns
        solve = own.set_index("function").loc["solve"]
        assert solve["longest_s"] == pytest.approx(solve["imbalance"] * solve["time_s"])
        assert solve["calls"] == 20 * p
    assert kept_roles(found.measurements) == ({"p": "p"}, "time_s", (), ("function",))


def kept_roles(data: Measurements):
    roles = data.roles
    return dict(roles.parameters), roles.value, roles.code, roles.category


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_fitters_read_the_table_as_it_is(tmp_path, ending):
    """Of traces at p = 1, 2 and 4 the law of each function; the next p is predicted inside its bounds."""
    path = tmp_path / f"runs.{ending}"
    perfcore.write(profile([run_at(p) for p in (1, 2, 4)]).measurements, path)
    table = perfcore.read(path)
    model = perfcore.fit(table, fitter="scaling")
    for name, law in LAWS.items():
        [[value, low, high]] = model.predict_array({"p": [8.0], "path": [name]}, interval=0.95)
        assert low <= law(8) <= high, name
        assert value == pytest.approx(law(8), rel=0.2), name
    for fitter in ("lca", "modgen"):
        of_categories = perfcore.fit(table, fitter=fitter)
        for name, law in LAWS.items():
            found = of_categories.predict({"p": [8.0], "category": [name]})
            assert float(np.asarray(found)[0]) == pytest.approx(law(8), rel=0.05), (fitter, name)


def test_times_of_several_locations_are_their_sums(tmp_path):
    """Each of two threads is in `main` for 10 us, and in `solve` within it for 4 us."""
    events = [{"ph": "X", "pid": 0, "tid": thread, "name": name, "ts": start, "dur": duration}
              for thread in (0, 1) for name, start, duration in (("main", 0, 10), ("solve", 3, 4))]  # fmt: skip
    (tmp_path / "run.json").write_text(json.dumps({"traceEvents": events}))
    table = profile(tmp_path / "run.json").report().brief_tables[0].frame().set_index("function")
    assert table.loc["main", ["total_time_ns", "inclusive_ns"]].tolist() == [12_000, 20_000]
    assert table.loc["solve", ["total_time_ns", "inclusive_ns"]].tolist() == [8_000, 8_000]


def test_call_paths_of_a_profile(tmp_path):
    """`main` takes 10 s on the average location, `solve` 7 s of them."""
    (tmp_path / "run.cubex").write_bytes(cube())
    found = profile(tmp_path / "run.cubex")
    assert found.report().answer.startswith("run.cubex: 70.0% of the time (10 s) is main->solve")
    rows = {row["name"]: (row["own_ns"], row["total_ns"]) for row in found.to_dict()["rows"]}
    assert rows == {"main": (3 * 10**9, 10**10), "main->solve": (7 * 10**9, 7 * 10**9)}


def test_a_function_of_one_run_only_is_a_note_and_took_no_time_in_the_others():
    one = Trace([0], [0], [0], [100], ["a"], ["solve"], source="one")
    two = Trace([0, 1, 1], [0, 0, 1], [0, 0, 50], [60, 50, 60], ["a", "b"], ["solve", "MPI_Wait"], source="two")
    found = profile([one, two])
    assert found.remarks() == ["only in two: MPI_Wait; counted as 0 elsewhere"]
    times = found.to_frame().set_index(["function", "p"])["all_locations_ns"]
    assert times["MPI_Wait", 1] == 0
    assert times["MPI_Wait", 2] == 10
    assert NO_STATE not in set(found.to_frame()["function"])


def test_repeated_runs_are_told_apart_and_different_sizes_are_suspected():
    twice = profile([run_at(2, seed=1), run_at(2, seed=2), run_at(4)])
    assert twice.to_frame()["run"].unique().tolist() == [1, 2, 3]
    assert twice.remarks() == []
    assert "2 points" in "".join(perfcore.fit(twice.measurements, fitter="lca").report().lines)
    in_disorder = profile([run_at(1), run_at(8), run_at(2)]).report().answer
    assert in_disorder == profile([run_at(1), run_at(2), run_at(8)]).report().answer  # of the largest
    longer = Trace([0], [0], [0], [900], ["a"], ["solve"], source="longer")
    shorter = Trace([0], [0], [0], [100], ["a"], ["solve"], source="shorter")
    [note] = profile([longer, shorter]).remarks()
    assert note.startswith("runs of one point took from 100 ns (shorter) to 900 ns (longer): if something was varied")


def test_by_location_rank_and_marker():
    trace = run_at(4, levels={"process": ["r0", "r0", "r1", "r1"]}, markers=[("step", 0, 10**9)])
    by_location = profile(trace, by="location").to_frame()
    assert by_location["path"][0] == "rank 0->solve"
    assert "longest_s" not in by_location
    by_rank = profile(trace, by="rank").to_frame()
    assert set(by_rank["rank"]) == {"r0", "r1"}
    assert int(by_rank["all_locations_ns"].sum()) == int(by_location["all_locations_ns"].sum())
    r0 = by_location[by_location["location"].isin(["rank 0", "rank 1"])]
    solve = r0[r0["state"] == "solve"]["time_s"]
    of_rank = by_rank.set_index("path").loc["r0->solve"]
    assert of_rank["time_s"] == pytest.approx(solve.mean())
    assert of_rank["longest_s"] == pytest.approx(solve.max())
    by_marker = profile(trace, by="marker").to_frame().groupby("marker")["time_s"].sum()
    assert by_marker["step"] == pytest.approx(1.0)
    with pytest.raises(DataError, match="of which rank"):
        profile(run_at(2), by="rank")
    tasks = Trace([0, 1, 2], [0, 0, 0], [0, 0, 0], [9, 6, 3], ["1.1.1", "1.1.2", "1.2.1"], ["solve"])
    assert set(profile(tasks, by="rank").to_frame()["rank"]) == {"1.1", "1.2"}  # as Paraver numbers them


def test_by_phase(tmp_path):
    trace = Trace(
        [0, 1, 0, 1], [0, 0, 1, 1], [0, 0, 4000, 6000], [4000, 4000, 9000, 9000], ["a", "b"], ["gemm", "trsm"],
        time_unit="ns",
    )  # fmt: skip
    found = profile(trace, phases=2)
    assert found.by == "phase"
    whole = found.to_frame().groupby("phase")["all_locations_ns"].sum()
    assert int(whole.sum()) == 2 * 9000
    title, _, rows = found.report().shown_tables[1]
    assert title == "Time breakdown by phase"
    assert rows[0][3].startswith("100% gemm")
    with pytest.raises(OptionError, match="leave out one"):
        profile(trace, phases=2, by="location")
    perfcore.fit(trace, fitter="phases", phases=2).save(tmp_path / "m.json")
    with pytest.raises(OptionError, match="those of one trace"):
        profile([trace, trace], phases=str(tmp_path / "m.json"))


def test_a_folder_of_ranks_is_one_run(tmp_path):
    """Rank by rank on disk, in any order of its intervals."""
    for rank in range(2):
        rows = [f"{at},{at + 5 + rank},main,{name}\n" for at, name in ((0, "solve"), (7, "wait"), (20, "solve"))]
        (tmp_path / f"rank{rank}.csv").write_text("start_us,end_us,location,state\n" + "".join(rows[::-1]))

    [found] = profile(tmp_path, by="rank", reading={"clocks": "unaligned"})
    assert found.ranks == ("rank 0", "rank 1")
    times = dict(zip(found.functions, found.by_location_ns.tolist(), strict=True))
    assert times == {"solve": [10_000, 12_000], "wait": [5_000, 6_000], NO_STATE: [11_000, 8_000]}
    apart = profile(tmp_path, reading={"files": "runs"})
    assert [run.elapsed_ns for run in apart] == [25_000, 26_000]
