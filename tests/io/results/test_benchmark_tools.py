"""Google Benchmark, hyperfine and pytest-benchmark: figures read from the files by hand."""

import json

import pytest
from format_samples import GOOGLE_BENCHMARK, HYPERFINE, PERF_STAT, PERF_STAT_JSON, PYTEST_BENCHMARK

import perfcore
from perfcore.base.errors import InputError


@pytest.fixture
def read(tmp_path):
    def read(text, **options):
        path = tmp_path / "result.json"
        path.write_text(text if isinstance(text, str) else json.dumps(text))
        return perfcore.read(path, **options)

    return read


def test_arguments_in_names_are_parameters(read):
    data = read(GOOGLE_BENCHMARK)
    assert data.table["benchmark"].tolist() == ["BM_copy", "BM_copy"]
    assert data.table[["arg1", "n", "threads"]].to_numpy().tolist() == [[8, 2, 4], [16, 2, 4]]
    assert dict(data.roles.parameters) == {"p": "arg1"}  # the only one that differs
    assert (data.roles.value, data.roles.unit, data.roles.code) == ("real_time_us", "us", ("benchmark",))
    assert data.table["real_time_us"].tolist() == [2.5, 5]
    assert data.table["bytes_per_second"].tolist() == [3.2e6, 3.1e6]
    assert data.table["repetition"].tolist() == [1, 2]


def test_times_in_several_units_are_brought_to_one(read):
    runs = [{"name": f"BM/{n}", "real_time": 3, "cpu_time": 1, "time_unit": unit} for n, unit in ((1, "ns"), (2, "ms"))]
    data = read({"context": {"library_build_type": "release"}, "benchmarks": runs})
    assert data.table["real_time_ns"].tolist() == [3, 3e6]
    assert data.roles.unit == "ns"


def test_a_run_without_a_time_is_refused_with_its_place(read):
    runs = [{"name": "BM/1", "run_type": "iteration", "real_time": 1}, {"name": "BM/2", "run_type": "iteration"}]
    with pytest.raises(InputError, match=r"`\$.benchmarks\[1\]` \('BM/2'\) has no `real_time`"):
        read({"benchmarks": runs})


def test_a_unit_that_is_none_is_refused(read):
    with pytest.raises(InputError, match="time unit 'fortnight' is not one of ns, us, ms, s"):
        read({"benchmarks": [{"name": "BM", "real_time": 1, "time_unit": "fortnight"}]})


def test_runs_of_hyperfine_that_failed_are_left_out(read):
    data = read(HYPERFINE)
    assert data.table["time_s"].tolist() == [0.101, 0.099, 0.201]
    assert data.table["n"].tolist() == [1, 1, 2]
    assert (dict(data.roles.parameters), data.roles.code) == ({"p": "n"}, ())


def test_commands_are_codes_where_nothing_was_varied(read):
    data = read({"results": [{"command": c, "times": [1.5]} for c in ("a", "b")]})
    assert (data.table["command"].tolist(), data.roles.code) == (["a", "b"], ("command",))


def test_a_parameter_called_like_a_column_is_refused(read):
    with pytest.raises(InputError, match="'time_s' stands for two columns"):
        read({"results": [{"command": "a", "times": [1.5], "parameters": {"time_s": "1"}}]})


def test_rounds_of_pytest_benchmark(read):
    data = read(PYTEST_BENCHMARK)
    assert data.table["time_s"].tolist() == [1e-5, 3e-5, 4e-5]  # two rounds, and a mean where rounds were not kept
    assert data.table["test"].unique().tolist() == ["test_sum"]
    assert (dict(data.roles.parameters), data.roles.code) == ({"p": "n"}, ("test", "solver"))
    assert data.roles.system == ("machine",)


@pytest.mark.parametrize(
    ("values", "parameters", "code"),
    [
        (("10", "20"), {"p": "n"}, ("test",)),  # numbers that parametrize was given as texts
        (("10", 20), {"p": "n"}, ("test",)),
        (("auto", 20), {}, ("test", "n")),
        ((None, True), {}, ("test", "n")),
    ],
)
def test_what_a_parameter_of_pytest_holds(read, values, parameters, code):
    runs = [{"name": f"t[{at}]", "params": {"n": value}, "stats": {"mean": 1}} for at, value in enumerate(values)]
    data = read({"machine_info": {"node": "a"}, "benchmarks": runs}, reader="pytest-benchmark")
    assert (dict(data.roles.parameters), data.roles.code) == (parameters, code)


@pytest.mark.real_data
def test_real_files(real_data):
    folder = real_data / "benchresults"
    # The means and medians that hyperfine itself computed stand in the file.
    runs = perfcore.read(folder / "hyperfine.json").table.groupby("n")["time_s"]
    assert runs.mean().tolist() == pytest.approx([0.3937730695, 0.4159843865, 0.409136302], rel=1e-12)
    assert runs.median().tolist() == pytest.approx([0.395115109, 0.39658613100000006, 0.409290159], rel=1e-12)
    rounds = perfcore.read(folder / "pytest_benchmark.json").table.groupby("n")["time_s"]
    assert rounds.min().to_dict() == pytest.approx(
        {1000: 1.3835999652656028e-05, 10000: 0.000158105000082287}, rel=0.15
    )
    assert rounds.size().to_dict() == {1000: 50, 10000: 50}  # the file was cut to 50 rounds of each
    compared = perfcore.read(folder / "google_benchmark_1.json").table.set_index("benchmark")["real_time_ns"]
    assert (compared["BM_SameTimes"], compared["BM_100xFaster"]) == (10, 10000)
    with pytest.raises(InputError, match="has no `real_time`"):
        perfcore.read(folder / "google_benchmark_repetitions.json")


@pytest.mark.parametrize("text", [PERF_STAT, PERF_STAT.replace(",", ";"), PERF_STAT_JSON])
def test_events_of_perf_stat_are_metrics(read, text, capsys):
    data = read(text)
    assert data.table["metric"].tolist() == ["task-clock", "cycles:u"]
    assert data.table["value"].tolist() == [1200.5, 4000]
    assert data.table["unit"].tolist() == ["ms", ""]
    assert data.table["stderr"].iloc[1] == pytest.approx(4.0)  # 0.10 % of the mean


def test_counts_of_intervals_and_of_single_processors_are_refused(read):
    for line in ("1.000123456,12.5,msec,task-clock,1250,100.00,,", "CPU0,1234,,cycles,1250,100.00,,"):
        with pytest.raises(InputError, match=r"json:1: holds counts of intervals or of single processors"):
            read(f"{line}\n")
