"""`perf project`: runs at a few scales, whose parts follow known laws, to the run at another."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from paraver_runs import paraver_run
from scipy import stats
from scipy.optimize import nnls

import perfcore
from perfcore.base.errors import DataError, OptionError

STEPS = ("load imbalance", "serialisation", "transfer")
HALO = [f"examples/halo/scaling/halo_p{p}.prv.gz" for p in (1, 2, 4, 8)]


def trace_at(folder, p):
    """Setup on each rank, work that is shared, and a network whose time grows with the logarithm."""
    network_ns = int(100_000 * math.log2(p))
    late_ns = 200_000 * (p > 1)
    return paraver_run(folder, p, setup_ns=1_000_000, work_ns=1 << 30, steps=4, call_ns=network_ns, late_ns=late_ns)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def projection(folder):
    return perfcore.project([trace_at(folder, p) for p in (2, 4, 8, 16)], at=["p=32", "p=4096"])


@pytest.fixture(scope="module")
def halo():
    return perfcore.project(HALO[1:], at="p=16")


def table(sizes=(1, 2, 4, 8), noise=0.0, seed=0):
    draw = np.random.default_rng(seed)
    laws = {"solve": lambda p: 20 / p, "exchange": lambda p: 0.1 * p**0.5, "setup": lambda p: 0.3}
    rows = [(p, name, law(p) * math.exp(noise * draw.normal())) for p in sizes for name, law in laws.items()]
    return pd.DataFrame(rows, columns=["p", "category", "time_s"])


def test_components_sum_to_the_elapsed_time(folder):
    sources = [trace_at(folder, p) for p in (1, 2, 4, 8)]
    model = perfcore.project(sources, at="p=16")
    elapsed = [profile.elapsed_ns * 1e-9 for profile in perfcore.overheads(sources)]
    assert model.elapsed == pytest.approx(elapsed, rel=1e-12)
    assert model.measured["(begin) -> MPI_Init"] == pytest.approx([0.001] * 4)
    assert model.laws["(begin) -> MPI_Init"].endswith(")/p")  # that of all locations, over their number
    at = model.answer.at[0]
    assert sum(each.time[0] for each in at.components) == pytest.approx(at.elapsed[0], rel=1e-12)
    components, efficiencies, *_ = model.answer.report().brief_tables
    assert len(efficiencies.rows) == len(at.efficiencies)
    assert components.left_out(False) == len(components.rows) - 5 > 0  # so that efficiencies fit on a screen
    assert not model.answer.report().shown_tables[0].left_out()


def test_the_next_run_is_inside_the_bounds(folder, projection):
    near, far = projection.answer.at
    assert [each["at"] for each in projection.answer.to_dict()["projections"]] == [{"p": 32.0}, {"p": 4096.0}]
    [found] = perfcore.overheads(trace_at(folder, 32))
    value, low, high = near.elapsed
    assert low <= found.elapsed_ns * 1e-9 <= high
    assert value == pytest.approx(found.elapsed_ns * 1e-9, rel=0.05)
    true = {name.replace("_", " "): float(column[0]) for name, column in found.efficiencies().items()}
    for name, share in true.items():
        _, low, high = near.efficiencies[name]
        assert low <= share <= high
    for each in (near, far):
        value = {name: row[0] for name, row in each.efficiencies.items()}
        product = value["load balance"] * value["serialisation"] * value["transfer"] * value["computation scalability"]
        assert product == pytest.approx(value["global"], rel=1e-12)
    assert sum(each.probability_largest for each in far.components) == pytest.approx(1.0)


def test_measured_scales_are_reproduced(projection):
    for p, elapsed in zip(projection.sizes, projection.elapsed, strict=True):
        value, low, high = projection.predict_array([p], 0.95)[0]
        assert low <= elapsed <= high
        assert value == pytest.approx(elapsed, rel=0.05)


def test_the_file_is_the_model_and_composes(projection, tmp_path):
    file = tmp_path / "projection.json"
    projection.save(file)
    loaded = perfcore.load(file)
    assert loaded.to_dict() == projection.to_dict()
    assert (loaded + loaded).predict([64.0]) == pytest.approx(2 * projection.predict([64.0]))
    draws = loaded.part_draws({"p": [64.0]})
    assert draws.total.values == pytest.approx(loaded.predict([64.0]))
    bounds = np.quantile(draws.total.draws[0], [0.025, 0.975])
    assert bounds == pytest.approx(loaded.predict_array([64.0], 0.95)[0, 1:], rel=0.02)
    content = json.loads(file.read_text())
    kinds = content["model"]["kinds"]
    for changes, problem in (
        ({"law": None}, "law: a model"), ({"points": {"p": [2.0, 4.0]}}, "measured points"),
        ({"kinds": {}}, "measured points"), ({"kinds": {"other": "mean"}}, "measured points"),
        ({"kinds": dict.fromkeys(kinds, "half")}, "not known"), ({"scaling": "none"}, "not known"),
    ):  # fmt: skip
        file.write_text(json.dumps({**content, "model": {**content["model"], **changes}}))
        with pytest.raises(perfcore.PerfError, match=problem):
            perfcore.load(file)


def test_what_if_changes_its_components(folder, halo):
    sources = [trace_at(folder, p) for p in (2, 4, 8)]
    base = perfcore.project(sources, at="p=16").answer.at[0]
    model = perfcore.project(sources, at="p=16", network="0", balance="computing", compute=["2x"])
    times = {each.name: each.time[0] for each in model.answer.at[0].components}
    assert times["transfer"] == times["load imbalance"] == 0.0
    for each in base.components:
        if each.name not in STEPS:
            assert times[each.name] == pytest.approx(each.time[0] / 2)
    unchanged = halo.answer.at[0].elapsed[0]
    for change, time in (({"compute": ["2x"]}, "7.935 ms"), ({"network": "0"}, "11.87 ms")):
        checked = perfcore.project(HALO[1:], at="p=16", **change)
        assert checked.notes["What if"][1] == f"at p=8 the components give {time}, a replay of the trace {time}"
        at = checked.answer.at[0]
        assert at.baseline == pytest.approx(unchanged)
        assert at.efficiencies["computation scalability"][0] == pytest.approx(1.0, abs=0.1)  # on one machine
    with pytest.raises(OptionError, match="2x"):
        perfcore.project(sources, at="p=16", network="-1x")
    with pytest.raises(perfcore.PerfError, match="solver"):
        perfcore.project(sources, at="p=16", compute=["solver=2x"])
    with pytest.raises(OptionError, match="no transfer"):
        perfcore.project(table(), at="p=16", network="2x")


def test_other_targets_change_nothing(projection):
    alone = projection.predict_array([32.0], 0.95)[0]
    assert projection.predict_array([32.0, 48.0, 4096.0], 0.95)[0] == pytest.approx(alone, rel=1e-12)


def test_tables_and_the_holdout_check():
    model = perfcore.project(table(), at={"p": 32})
    at = model.answer.at[0]
    assert at.elapsed[0] == pytest.approx(20 / 32 + 0.1 * 32**0.5 + 0.3, rel=0.1)
    assert at.limits.name == "exchange"
    assert [each.name for each in at.components] == ["solve", "exchange", "setup"]  # 0.63, 0.57 and 0.3 s
    perfect = {name: times[0] / 32 for name, times in model.measured.items()}  # of the run on one processor
    assert at.efficiencies["scaling"][0] == pytest.approx(sum(perfect.values()) / at.elapsed[0])
    for each in at.components:
        assert each.share == pytest.approx(each.time[0] / at.elapsed[0])
        assert each.lost == pytest.approx((each.time[0] - perfect[each.name]) / at.elapsed[0])
    assert model.check.p == 8
    assert model.check.lower <= model.check.measured <= model.check.upper
    weak = table()
    weak["time_s"] *= weak["p"] ** (weak["category"] == "solve")
    assert perfcore.project(weak, at="p=16").scaling == "weak"
    two = perfcore.project(table((2, 4)), at="p=8")
    assert two.check is None
    assert any("too few scales (2)" in text for text in two.notes["Uncertain"])


def test_the_order_of_the_rows_changes_nothing():
    frame = table((2, 4, 8, 16), noise=0.05)
    other_order = frame.sample(frac=1.0, random_state=3, ignore_index=True)
    model, shuffled = (perfcore.project(rows, at="p=64") for rows in (frame, other_order))
    np.testing.assert_allclose(shuffled.answer.at[0].elapsed, model.answer.at[0].elapsed, rtol=1e-9)
    times = {each.name: each.time for each in model.answer.at[0].components}
    for each in shuffled.answer.at[0].components:
        np.testing.assert_allclose(each.time, times[each.name], rtol=1e-9)


def test_deviations_of_components_add_up_or_compensate():
    """Two components of 10/p whose runs deviate together, or one up where the other is down."""

    def spread(sign):
        off = zip((1, 2, 4, 8, 16, 32), (0.2, -0.2, 0.15, -0.15, 0.2, -0.2), strict=True)
        rows = [(p, name, 10.0 / p * math.exp(s * x)) for p, x in off for name, s in (("a", 1), ("b", sign))]
        frame = pd.DataFrame(rows, columns=["p", "category", "time_s"])
        _, low, high = perfcore.project(frame, at="p=12").answer.at[0].elapsed
        return math.log(high / low)

    assert spread(-1) < 0.6 * spread(1)


def test_many_small_components_are_one():
    frame = pd.concat([table(), *(table().assign(category=f"c{k}", time_s=1e-4) for k in range(20))])
    frame = frame.drop_duplicates()
    model = perfcore.project(frame, at="p=16")
    assert set(model.measured) == {"solve", "exchange", "setup", "20 small components"}
    assert model.elapsed == pytest.approx(frame.groupby("p")["time_s"].sum().to_numpy())


def test_call_paths_are_shown_by_their_ends():
    frame = table().assign(category="main->cycle->" + table()["category"])
    at = perfcore.project(frame, at="p=16").answer.at[0]
    assert at.labels == {f"main->cycle->{name}": name for name in ("solve", "exchange", "setup")}
    assert perfcore.project(table(), at="p=16").answer.at[0].labels["solve"] == "solve"


def test_work_that_changes_its_name_goes_on():
    """At 4 and 8 another method does what one did at 1 and 2."""
    frame = table((1, 2, 4, 8))
    frame.loc[(frame["category"] == "solve") & (frame["p"] > 2), "category"] = "solve on extra ranks"
    model = perfcore.project(frame, at="p=16")
    assert set(model.measured) == {"2 components missing at some p", "exchange", "setup"}
    assert "solve, solve on extra ranks; check that the components add up" in model.notes["Uncertain"][0]
    assert model.elapsed == pytest.approx(frame.groupby("p")["time_s"].sum().to_numpy())
    assert model.predict([16.0]) == pytest.approx([20 / 16 + 0.1 * 4 + 0.3], rel=0.1)


@pytest.mark.parametrize(("name", "rest"), [("total", 0.0), ("main", 0.0), ("total", 2.0)])
def test_the_whole_run_is_no_component_beside_its_parts(name, rest):
    parts = {"solve": lambda p: 800 / p, "halo": lambda p: 1.5 * p**0.5, "io": lambda p: 4.0}
    rows = [(p, part, time(p)) for p in (8, 16, 32, 64) for part, time in parts.items()]
    rows += [(p, name, rest + sum(time(p) for time in parts.values())) for p in (8, 16, 32, 64)]
    model = perfcore.project(pd.DataFrame(rows, columns=["p", "region", "time_s"]), at="p=128")
    assert {*model.measured} == {*parts, *(["other"] if rest else [])}
    times = [time for _, part, time in rows if part == name]
    assert np.sum([*model.measured.values()], axis=0) == pytest.approx(times)
    assert model.observed(pd.DataFrame(rows, columns=["p", "region", "time_s"])).value == pytest.approx(times)


def test_parts_that_exceed_the_whole_run_are_refused():
    rows = [(p, part, time / p) for p in (8, 16, 32) for part, time in (("total", 10), ("solve", 9), ("halo", 3))]
    with pytest.raises(DataError, match="at p=8 the components add up to more than total"):
        perfcore.project(pd.DataFrame(rows, columns=["p", "region", "time_s"]))


def test_coverage_of_known_laws():
    inside = []
    targets = np.array([20.0, 24.0, 32.0, 48.0])
    for seed in range(6):
        frame = table((2, 4, 8, 16), noise=0.03, seed=seed)
        draw = np.random.default_rng([seed, 1])  # the noise of a further run at each target
        laws = np.array([20 / targets, 0.1 * targets**0.5, np.full(4, 0.3)])
        true = (laws * np.exp(0.03 * draw.standard_normal(laws.shape))).sum(axis=0)
        _, low, high = perfcore.project(frame, at="p=32").predict_array(targets, 0.95).T
        inside += [*((low <= true) & (true <= high))]
    assert np.mean(inside) >= 0.9


@pytest.mark.parametrize(
    ("at", "text"),
    [("p=0.5", "p=0.5"), ("q=8", "'q'"), ("p=x", "numbers are expected"), ("p=1..1000:1", "1000 targets")],
)
def test_targets_are_checked(at, text):
    with pytest.raises(perfcore.PerfError, match=text):
        perfcore.project(table(), at=at)


def test_runs_are_checked(folder):
    two, four = (trace_at(folder, p) for p in (2, 4))
    with pytest.raises(DataError, match="two or more scales"):
        perfcore.project([two], at="p=8")
    with pytest.raises(DataError, match="once"):
        perfcore.project([two, two, four], at="p=8")
    with pytest.raises(DataError, match="1 distinct point"):
        perfcore.project(table((4,)), at="p=8")
    with pytest.raises(OptionError, match="tables"):
        perfcore.project([two, four], at="p=8", value="time_s")


def test_tables_of_several_files_have_one_kind(tmp_path):
    small, large = table((2, 4)), table((8, 16))
    paths = [tmp_path / "small.csv", tmp_path / "large.csv"]
    for path, frame in zip(paths, (small, large), strict=True):
        frame.to_csv(path, index=False)
    assert perfcore.project(paths, at="p=32").sizes.tolist() == [2, 4, 8, 16]
    large.assign(category="other").to_csv(paths[1], index=False)
    with pytest.raises(DataError, match=r"large\.csv has no category of .*small\.csv, such as 'solve'"):
        perfcore.project(paths, at="p=32")
    large.rename(columns={"category": "phase"}).to_csv(paths[1], index=False)
    with pytest.raises(DataError, match=r"large\.csv has other columns than .*small\.csv"):
        perfcore.project(paths, at="p=32")


def test_one_location_wastes_nothing_but_does_not_prevent_a_projection():
    """What is lost has two scales then, or one; the target is that of other fits, and both are said."""
    runs = HALO[:3]
    model = perfcore.project(runs)
    assert model.answer.at[0].point == {"p": 16}
    missing = "no scaling model of load imbalance and transfer (2 distinct points; 3 are required"
    assert missing in model.notes["Uncertain"][0]
    assert model.check.p == 4
    assert "target p=16, four times the largest scale (set with --at)" in model.notes["Assumed"]
    assert model.sizes.tolist() == [1, 2, 4]
    _, low, high = model.predict_array([16.0], 0.95)[0]
    assert low <= 8.09e-3 <= high  # as it was measured
    two = perfcore.project(runs[:2], at="p=4")
    assert "no scaling model of load imbalance and transfer (1 distinct point" in two.notes["Uncertain"][0]
    _, low, high = two.predict_array([4.0], 0.95)[0]
    assert low <= model.elapsed[2] <= high


def test_times_without_a_sum_are_refused_and_missing_ones_named():
    with pytest.raises(DataError, match=r"do not add up: .*; choose one with where="):
        perfcore.project("examples/npb/timings.csv", at="p=1024")
    one = perfcore.project("examples/npb/timings.csv", at="p=1024", where="code=LU,system=T3D")
    assert one.elapsed[-1] == pytest.approx(41.2, rel=0.01)
    rows = [(p, name, 8.0 / p) for p in (1, 2, 4, 8) for name in ("a", "b") if (p, name) != (1, "b")]
    missing = perfcore.project(pd.DataFrame(rows, columns=["p", "category", "time_s"]), at="p=16")
    assert "1 component without a time at some p took none there" in missing.notes["Assumed"]


def test_scales_that_both_have_measured_are_compared_as_measured():
    old, new = (perfcore.project(table((1, 2, 4, 8, 16)[:n]), at="p=16") for n in (4, 5))
    assert "At p=16 (measured): " in new.report().answer
    new = perfcore.project(table((1, 2, 4, 8, 16)).assign(time_s=lambda rows: 1.5 * rows["time_s"]), at="p=16")
    comparison = perfcore.compare(old, new)
    assert comparison.measured.points == ((1.0,), (2.0,), (4.0,), (8.0,))
    assert comparison.measured.ratio == pytest.approx([1.5] * 4)
    faster = perfcore.project(table(), at="p=16", compute=["solve=2x"])
    assert perfcore.compare(old, faster).measured is None  # nothing of it was measured


def gpu_run(folder, p):
    """Ranks that compute 1 ms in each of 4 steps, copy for 10 us, and gather for p - 1 times 100 us."""
    run = folder / f"p{p}"
    run.mkdir()
    group = {"Group size": p, "Process Group Name": "0", "Process Group Ranks": str(list(range(p)))}
    count = {"Collective name": "allgather", "In msg nelems": 10**6, "Out msg nelems": 10**6, "dtype": "Float"}
    times = (
        ("kernel", "gemm", 1000, {}),
        ("gpu_memcpy", "Memcpy DtoD (Device -> Device)", 10, {}),
        ("kernel", "ncclDevKernel_AllGather_RING_LL", 100 * (p - 1), {**count, **group}),
    )
    for rank in range(p):
        events, at = [], 10
        for number in range(12):
            category, name, duration, more = times[number % 3]
            launch, known = {"correlation": number}, {"device": 0, "stream": 7, "correlation": number, **more}
            cpu = {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "ts": at - 5, "dur": 2, "args": launch}
            gpu = {"cat": category, "name": name, "pid": 0, "ts": at, "dur": duration, "args": known}
            events += [{"ph": "X", "tid": 7, **cpu}, {"ph": "X", "tid": 7, **gpu}]
            at += duration
        document = {"traceEvents": events, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": p}}
        (run / f"rank{rank}.json").write_text(json.dumps(document | {"baseTimeNanoseconds": 0}))
    return run


def test_gpu_communication_is_divided_by_collective(tmp_path):
    model = perfcore.project([gpu_run(tmp_path, p) for p in (2, 4, 8)], at="p=16")
    gather, copies = "GPU communication: allgather 4 MB", "GPU communication: copies"
    assert model.measured[gather] == pytest.approx([4e-4 * (p - 1) for p in (2, 4, 8)])
    assert model.measured[copies] == pytest.approx([4e-5] * 3)
    at = model.answer.at[0]
    assert at.limits.name == gather
    assert at.elapsed[1] <= 4 * (1e-3 + 1e-5 + 1.5e-3) <= at.elapsed[2]
    value = {name: bounds[0] for name, bounds in at.efficiencies.items()}
    product = value["load balance"] * value["GPU communication"] * value["GPU orchestration"]
    assert product == pytest.approx(value["parallel"])
    faster = perfcore.project([tmp_path / f"p{p}" for p in (2, 4, 8)], at="p=16", network="0")
    assert faster.answer.at[0].elapsed[0] == pytest.approx(4e-3 + 4e-5, rel=0.02)


@pytest.mark.real_data
def test_epoch(real_data):
    """Runs on 2 and 8 ranks; on 16 the run was measured to take 2.34 s."""
    runs = [real_data / f"traces/paraver/epoch/epoch_{p}proc.prv.gz" for p in (2, 8)]
    value, low, high = perfcore.project(runs, at="p=16").predict_array([16.0], 0.95)[0]
    assert value == pytest.approx(2.34, rel=0.05)
    assert low <= 2.34 <= high
    with pytest.raises(DataError, match=r"halo\.prv computes between other calls than .*epoch_2proc"):
        perfcore.project([runs[0], "examples/halo/halo.prv"], at="p=8")


def over_two_parameters(folder, sizes, at, **times):
    runs = [
        paraver_run(folder, p, work_ns=n * 1_000_000, setup_ns=1_000_000, name=f"n{n}_p", **times)
        for n in (16, 32, 64) for p in sizes
    ]  # fmt: skip
    return perfcore.project(runs, from_name="n{n:int}_p{p:int}.prv", at=at).answer.at[0]


def test_losses_of_two_parameters_without_a_model_go_on_by_powers(tmp_path):
    """The last of two ranks is 20 us late; one rank alone never is. Exponents have a standard deviation of 0.8."""
    at = over_two_parameters(tmp_path, (1, 2), "p=8,n=64", call_ns=0, late_ns=10_000)
    loss = next(each for each in at.components if each.name == "load imbalance")
    assert loss.measured == pytest.approx(20e-6)
    assert 0.5 * math.log(loss.time[2] / loss.time[1]) == pytest.approx(1.96 * 0.8 * math.log(8 / 2), rel=0.05)


def test_names_of_traces_give_a_second_parameter(tmp_path):
    """Work grows with n; efficiencies are at the n of the target."""
    at = over_two_parameters(tmp_path, (2, 4, 8), "p=16,n=128", call_ns=10_000)
    assert at.elapsed[0] == pytest.approx(0.001 + 4 * (0.128 / 16 + 1e-5), rel=0.05)
    assert at.speedup[0] == pytest.approx(8 * (1 - 0.001 / 0.033), rel=0.2)
    first = at.speedup[0] * at.elapsed[0]
    assert at.speedup[1:] == pytest.approx((first / at.elapsed[2], first / at.elapsed[1]), rel=1e-3)
    assert sum(each.time[0] for each in at.components) == pytest.approx(at.elapsed[0], rel=1e-12)


@pytest.mark.parametrize("at", [16.0, 128.0])
def test_a_table_without_categories_is_predicted_as_by_a_fit(at):
    frame = pd.DataFrame({"p": [1, 2, 4, 8, 16, 32], "time_s": [10.2, 5.3, 2.9, 1.7, 1.1, 0.86]})
    model, fitted = perfcore.project(frame, at={"p": at}), perfcore.fit(frame, fitter="scaling")
    assert model.predict_array([at], 0.95) == pytest.approx(fitted.predict_array([at], 0.95), rel=1e-12)
    value, low, high = fitted.predict_array([at], 0.95)[0]
    found = model.answer.at[0]
    assert found.elapsed == pytest.approx((value, low, high), rel=1e-12)
    assert found.speedup == pytest.approx((10.2 / value, 10.2 / high, 10.2 / low), rel=1e-12)  # from one processor
    assert found.efficiencies["scaling"] == pytest.approx([speedup / at for speedup in found.speedup], rel=1e-12)
    assert model.report().answer == perfcore.fit(frame, fitter="scaling", at=f"p={at}").report().answer
    assert "projections" not in model.answer.to_dict()


def test_two_scales_are_said_first_and_losses_have_remedies(halo):
    two = perfcore.project(HALO[1:3], at="p=8").report()
    assert two.answer.startswith("Only two scales: at p=8 (2x the largest run): ")
    assert two.next == "measure p=3: three scales show how components grow, and can be checked"
    report = halo.report()
    assert report.next == f"perf whatif {HALO[-1]} --network 2x"
    elapsed, _, efficiency = report.figures[:3]
    assert 0.97 < elapsed.value / 8.09e-3 < 1.03  # as it was measured
    assert elapsed.interval[0] < 8.09e-3 < elapsed.interval[1]
    assert efficiency.interval[0] < efficiency.value < efficiency.interval[1]
    assert {plot.name for plot in report.plots} == {"components", "efficiency"}


def components_at(target, sizes, **times):
    rows = [(p, name, time) for name, each in times.items() for p, time in zip(sizes, each, strict=True)]
    frame = pd.DataFrame(rows, columns=["p", "category", "time_s"])
    return {each.name: each.time[0] for each in perfcore.project(frame, at={"p": target}).answer.at[0].components}


def beyond(times, sizes, target):
    """The time of a component at a target, beside one that takes next to nothing."""
    return components_at(target, sizes, work=times, rest=[1e-9] * len(sizes))["work"]


USUAL_DRIFT = 0.05  # of log times of tables, for a doubling; it counts as four scales do


def test_components_between_a_power_law_and_amdahls():
    """Of 8 + 8/p the exponent between 2 and 4 is log2(10/12), so that both forms are known in closed form."""
    expected = math.sqrt(9.0 * 10.0 * 10 / 12) * math.exp(USUAL_DRIFT)
    assert beyond([12.0, 10.0], [2, 4], 8) == pytest.approx(expected, rel=1e-6)
    expected *= math.sqrt(8.5 / 9.0 * 10 / 12) * math.exp(USUAL_DRIFT)  # another doubling
    assert beyond([12.0, 10.0], [2, 4], 16) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("sizes", [(1, 2), (1, 2, 3)])
def test_load_imbalance_tends_to_its_share_of_computation(folder, sizes):
    """Between its share of the work and its own time, which grows with two or more ranks: Amdahl's form is constant."""
    model = perfcore.project([trace_at(folder, p) for p in sizes], at={"p": 2 * sizes[-1]})
    at = {each.name: each.time[0] for each in model.answer.at[0].components}
    measured = {name: times[-1] for name, times in model.measured.items()}
    computing = [name for name in measured if name not in STEPS]
    growth = sum(at[name] for name in computing) / sum(measured[name] for name in computing)
    before, last = model.measured["load imbalance"][-2:]
    exponent = math.log(last / before) / math.log(sizes[-1] / sizes[-2]) if before else 0.0
    held = last * math.sqrt(2 ** (exponent / 2) * math.exp(0.01) * growth)
    assert at["load imbalance"] == pytest.approx(held, rel=1e-9)


@pytest.mark.parametrize(("times", "expected"), [([1.0, 1.5], 2.25), ([1.0, 4.0], 8.0), ([1.0, 0.0], 0.0)])
def test_what_grew_between_two_scales_goes_on_at_most_in_proportion(times, expected):
    assert beyond(times, [2, 4], 8) == pytest.approx(expected, rel=1e-6)


def test_what_falls_by_the_cube_goes_on_by_the_square():
    """Amdahl's form, without a negative share, goes on in inverse proportion."""
    assert beyond([64.0, 1.0], [2, 8], 32) == pytest.approx(math.sqrt(1 / 16 * 1 / 4) * math.exp(2 * USUAL_DRIFT))


def test_components_that_take_turns_are_scaled_towards_the_elapsed_time():
    """Their sum stays 4; with no third scale half of three quarters of the way, in logarithms."""
    drift = math.exp(USUAL_DRIFT)
    alone = {"a": math.sqrt(1 / 3 * 1 / 2) * drift, "b": 6.0}  # between 1 / 3 and b/p; in proportion to p
    scaled = (4.0 * drift / sum(alone.values())) ** (0.75 / 2)
    found = components_at(8, [2, 4], a=[3.0, 1.0], b=[1.0, 3.0])
    assert found == pytest.approx({name: time * scaled for name, time in alone.items()}, rel=1e-3)  # of draws


def test_the_less_scales_tell_the_more_components_are_scaled_towards_the_elapsed_time():
    """By hand what the first two say of the third: of 1.4 + 0.8/p and the same power 1.6 and 1.8 / 2.2 * 1.8."""
    times = {"a": [2.2, 1.8, 2.2], "b": [1.8, 2.2, 1.8]}
    told = math.sqrt(1.6 * 1.8 * 1.8 / 2.2) * math.exp(USUAL_DRIFT), 2.2 * 2.2 / 1.8
    error = (abs(told[0] - 2.2) + abs(told[1] - 1.8)) / 4.0
    alone = {name: beyond(each, [1, 2, 4], 8) for name, each in times.items()}
    whole = beyond([4.0] * 3, [1, 2, 4], 8)
    scaled = (whole / sum(alone.values())) ** (0.75 * error**2 / (error**2 + 0.1**2))
    found = components_at(8, [1, 2, 4], **times)
    assert found == pytest.approx({name: time * scaled for name, time in alone.items()}, rel=1e-3)  # of draws


def test_a_time_that_has_grown_goes_on_growing():
    """Of 2p the power law and a + b/p + cp are exact, and Amdahl's form is constant; at 4 it was off by a factor."""
    off = math.log(2**0.5)
    constant, growing = 1 / (0.1**2 + off**2), 0.5 / 0.1**2
    share = growing / (constant + growing)
    drift = (4 * USUAL_DRIFT + (1 - share) * off) / 5
    expected = 8 * 2 ** (share + (1 - share) / 2) * math.exp(drift)
    assert beyond([2.0, 4.0, 8.0], [1, 2, 4], 8) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("last", [2.0, 3.0])
def test_a_time_that_grows_little_lies_between_growth_and_none(last):
    """Of a power of p, by which no more than three times as long is taken as at p = 1, at twice the largest scale."""
    off = 0.25 * math.log(last)  # half of a doubling's
    expected = last * math.exp(off + (4 * USUAL_DRIFT + off) / 5)
    assert beyond([1.0, last**0.5, last], [1, 2, 4], 8) == pytest.approx(expected, rel=1e-6)


def test_a_component_drifts_as_its_scales_did():
    """Forms are exact up to 2; at 4 the time is e^.1 times theirs, so the drift is (4 * .05 + .1) / 5."""
    sizes = np.array([1.0, 2.0, 4.0])
    times = 8 / sizes * np.array([1.0, 1.0, math.exp(0.1)])
    exponent = np.polyfit(np.log(sizes), np.log(times), 1, w=sizes)[0]  # the larger scales count more
    weights = sizes / times
    (b, a), _ = nnls(np.column_stack([1 / sizes, np.ones(3)]) * weights[:, None], times * weights)
    forms = math.sqrt(2**exponent * (a + b / 8) / (a + b / 4))
    assert beyond(times, sizes, 8) == pytest.approx(times[-1] * forms * math.exp(0.3 / 5), rel=1e-6)


@pytest.mark.parametrize(
    ("sizes", "target", "doublings", "off"),
    [
        ([2, 4], 8, 1, 0),
        ([2, 4], 32, 3, 0),
        ([1, 2, 4], 8, 1, 0),
        ([1, 2, 8], 16, 1, 0.7),
        ([1, 2, 8], 16, 1, 9),
        ([1, 2, 2.5], 5, 1, 0.2),
        ([1, 2, 8], 16, 1, -9),
    ],
)
def test_bounds_grow_with_the_doublings_beyond_the_largest_run(sizes, target, doublings, off):
    """Student's t of the usual spread, which counts 20 scales, and of the checks; 1.6 times that if there are none.

    Of 8/p the one check is off by the drift, and by what the last time is off; by 1 for a doubling at most. Scales
    less than half a doubling apart count as that.
    """
    off_by = dict.fromkeys(sizes, 1.0) | {sizes[-1]: math.exp(off)}
    rows = [(p, name, off_by[p] * time / p) for p in sizes for name, time in (("work", 8.0), ("rest", 1e-9))]
    found = perfcore.project(pd.DataFrame(rows, columns=["p", "category", "time_s"]), at={"p": target}).answer.at[0]
    usual, errors = 0.22 * 1.6, []
    if len(sizes) > 2:
        apart = math.log2(sizes[-1] / sizes[-2])
        usual, errors = 0.22, [np.clip((off - USUAL_DRIFT * apart) / max(apart, 0.5), -1.0, 1.0)]
    freedom = 20 + len(errors)
    scale = math.sqrt((20 * usual**2 + sum(error**2 for error in errors)) / freedom)
    expected = scale * stats.t.ppf(0.975, freedom) * math.hypot(doublings, 0.1)
    value, low, high = found.elapsed
    assert [math.log(high / value), math.log(value / low)] == pytest.approx([expected] * 2, rel=0.02)


def test_bounds_of_traces_by_what_components_are(tmp_path):
    """Student's t of 5 scales, 1.3 times the usual spread without a check: of elapsed times 0.06, of computing 0.1.

    Of two computing components of the same size each has half of that, and the elapsed time's; of a small loss 0.4.
    """
    runs = [paraver_run(tmp_path, p, setup_ns=10**8, work_ns=4 * 10**8, steps=1, call_ns=0, late_ns=4_000_000 * (p > 1))
            for p in (1, 2)]  # fmt: skip
    at = perfcore.project(runs, at="p=4").answer.at[0]
    times = {"elapsed": at.elapsed, **{each.name: each.time for each in at.components}}
    usual = 1.3 * stats.t.ppf(0.975, 5) * math.hypot(1, 0.1)
    for name, spread, rel in (("elapsed", 0.06, 0.02), ("load imbalance", 0.4, 0.05),
                              ("(begin) -> MPI_Init", math.hypot(0.06, 0.1 / 2**0.5), 0.1)):  # fmt: skip
        _, low, high = times[name]
        assert 0.5 * math.log(high / low) == pytest.approx(usual * spread, rel=rel), name


def test_from_four_scales_on_scaling_models_count():
    """Forms of 8/p are exact at two held-out scales; the rest of the weight is that of the law, as a fit has it."""
    sizes = [1, 2, 4, 8]
    rows = [(p, name, time / p) for p in sizes for name, time in (("work", 8.0), ("rest", 1e-9))]
    model = perfcore.project(pd.DataFrame(rows, columns=["p", "category", "time_s"]), at="p=64")
    work = next(each.time[0] for each in model.answer.at[0].components if each.name == "work")
    alone = perfcore.fit(pd.DataFrame({"p": sizes, "time_s": [8.0 / p for p in sizes]}), fitter="scaling")
    law = alone.predict([64.0])[0]
    forms = 8 / 64 * math.exp(3 * 4 * USUAL_DRIFT / 6)
    assert 0.1 < model.law_weight < 0.9
    assert work == pytest.approx(forms ** (1 - model.law_weight) * law**model.law_weight, rel=0.1)


@pytest.mark.parametrize(("n", "sign", "least", "most"), [(7, -1, 0.0, 0.2), (7, 1, 1.6, 2.0), (3, -1, 0.3, 0.6)])
def test_errors_of_components_move_together_as_their_residuals_do(n, sign, least, most):
    """The variance of a sum of two alike is 1 + r times that of both; few runs shrink r, three to 2/3 of it."""
    sizes = 2.0 ** np.arange(n)
    moved = np.random.default_rng(1).normal(0.0, 0.001, n)
    rows = [(p, n, 0.02 + t) for p, x in zip(sizes, moved, strict=True) for n, t in (("a", x), ("b", sign * x))]
    found = perfcore.project(pd.DataFrame(rows, columns=["p", "category", "time_s"]), at={"p": 0.75 * sizes[-1]})
    found = found.answer.at[0]
    times = [found.elapsed, *(component.time for component in found.components)]
    widths = [value * math.log(high / low) for value, low, high in times]
    assert least <= widths[0] ** 2 / (widths[1] ** 2 + widths[2] ** 2) <= most


def test_targets_follow_the_measured_pattern():
    """LULESH runs on cubes of ranks only."""
    cubes = perfcore.project(table((8, 27, 64)))
    assert cubes.answer.at[0].point == {"p": 216}
    assert "target p=216, the cube nearest to four times the largest scale (set with --at)" in cubes.notes["Assumed"]
    assert "p=100 is no cube, and all measured scales are" in perfcore.project(table((8, 27)), at="p=100").notes[
        "Uncertain"]  # fmt: skip
    assert perfcore.project(table((27, 64)), at="p=125").report().next.startswith("measure p=125: ")
    assert perfcore.project(table((1, 4, 16))).answer.at[0].point == {"p": 64}  # powers of two
    assert perfcore.project(table((9, 25, 49))).answer.at[0].point == {"p": 196}
    assert perfcore.project(table((9, 25, 50))).answer.at[0].point == {"p": 200}


def test_over_a_batch_size_components_go_on_as_a_fit_says():
    levels = 2.0 ** np.arange(6)
    rows = [(b, name, time) for b in levels for name, time in (("mm", 10 + 3 * b), ("softmax", 2 + 0.5 * b))]
    frame = pd.DataFrame(rows, columns=["batch", "function", "time_s"])
    value, low, high = perfcore.project(frame, at="batch=128").predict_array([128.0], 0.95)[0]
    assert value == pytest.approx(460.0, rel=1e-3)
    fitted = perfcore.fit(frame, fitter="scaling", at="batch=128").report().figures[0]
    assert (value, low, high) == pytest.approx((fitted.value, *fitted.interval), rel=0.01)


def test_the_limiting_burst_is_said_in_words(tmp_path):
    """Work between two reductions that grows with the ranks, on a network that takes no time."""
    runs = [paraver_run(tmp_path, p, work_ns=640_000 * (3 + p) // 4, setup_ns=100, call_ns=0) for p in (1, 2, 4, 8)]
    answer = perfcore.project(runs, at="p=16").report().answer
    assert "limited by computing between calls of MPI_Allreduce, " in answer
