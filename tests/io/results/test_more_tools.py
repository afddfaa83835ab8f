"""STREAM, nccl-tests, Go, JMH, vLLM and MLPerf: figures read from the files by hand."""

import pytest
from format_samples import BABELSTREAM, GO_BENCH, JMH, MLPERF_LOG, NCCL_TESTS, STREAM, VLLM

import perfcore
from perfcore.base.errors import InputError


@pytest.fixture
def read(tmp_path):
    def read(text, **options):
        path = tmp_path / "result.txt"
        path.write_text(text)
        return perfcore.read(path, **options)

    return read


def test_kernels_of_stream(read, capsys):
    data = read(STREAM + BABELSTREAM)
    columns = ["kernel", "threads", "elements", "bandwidth", "minimum_s", "average_s"]
    assert data.table[columns].fillna(-1).to_numpy().tolist() == [
        ["Copy", 4, 10_000_000, 28347.1, 0.005644, 0.005703],
        ["Triad", 4, 10_000_000, 21634.4, 0.011093, 0.011211],
        ["Copy", -1, -1, 1368294.603, 0.00039, 0.00039],
    ]
    assert (data.roles.value, data.roles.unit, data.roles.code) == ("bandwidth", "MB/s", ("kernel",))
    failed = STREAM.replace("Solution Validates: avg", "Failed Validation on array a[], AvgRelAbsErr")
    assert read(failed + BABELSTREAM).table["kernel"].tolist() == ["Copy"]
    with pytest.raises(InputError, match=r"txt:10: 4 numbers \(Best Rate MB/s, Avg time, Min time, Max time\)"):
        read(STREAM.replace("     0.011410", ""))


def test_places_of_nccl_tests(read):
    data = read(NCCL_TESTS)
    columns = ["processes", "bytes", "placement", "time_us", "bus_GB_s"]
    assert data.table[columns].to_numpy().tolist() == [
        [2, 1024, "out-of-place", 24.5, 0.07],  # in place the result is wrong
        [2, 1048576, "out-of-place", 60.25, 30.45],
    ]
    assert (dict(data.roles.parameters), data.roles.unit) == ({"p": "bytes"}, "us")
    assert len(read(NCCL_TESTS, empty=True).table) == 4
    for tag in ("[1,0]<stdout>:", "0: "):
        lines = "".join(f"{tag}{line}" for line in NCCL_TESTS.splitlines(keepends=True))
        assert read(lines + "2024-05-01 12:00:00 done\n").table.equals(data.table)
    with pytest.raises(InputError, match=r"txt:8: 13 fields \(size count type"):
        read(NCCL_TESTS.replace("   23.50", ""))


def test_lines_of_go(read):
    data = read(GO_BENCH)
    assert data.table[["benchmark", "n", "procs", "time"]].to_numpy().tolist() == [
        ["Sort/stable", 100, 8, 101234],
        ["Sort/stable", 100, 8, 101236],
        ["Sort/stable", 1000, 8, 1412340],
    ]
    assert (data.roles.unit, data.table["allocs/op"].tolist()[:2]) == ("ns/op", [2, 2])
    with pytest.raises(InputError, match=r"txt:7: pairs of a number and a unit"):
        read(GO_BENCH.replace("1412340 ns/op", "1412340"))


def test_iterations_of_jmh(read):
    data = read(JMH)
    assert data.table[["metric", "n", "fork", "repetition", "value"]].to_numpy().tolist() == [
        ["average_time", 100, 1, 1, 12],
        ["average_time", 100, 1, 2, 12.5],
        ["average_time", 100, 2, 1, 13],
        ["sample_time", 200, 1, 1, 25],
    ]
    assert set(data.table["unit"]) == {"us/op"}
    with pytest.raises(InputError, match=r"`\$\[0\].primaryMetric` has neither rawData nor"):
        read(JMH.replace("rawData", "data"))


def test_a_run_of_vllm_and_its_requests(read):
    data = read(VLLM)
    assert data.table[["output_tokens_per_s", "p99_ttft_ms", "request_rate"]].to_numpy().tolist() == [[2, 497.5, 4]]
    requests = read(VLLM, requests=True).table
    assert requests[["ttft_s", "request_s", "input_tokens"]].to_numpy().tolist() == [[0.25, 0.5, 10], [0.5, 0.75, 20]]
    with pytest.raises(InputError, match="run the benchmark with --save-detailed"):
        read(VLLM.replace('"ttfts"', '"times"'), requests=True)


def test_intervals_of_mlperf(read, capsys):
    data = read(MLPERF_LOG)
    columns = ["benchmark", "interval", "time_s", "global_batch_size"]
    assert data.table[columns].to_numpy().tolist() == [["resnet", "epoch", 100.5, 256], ["resnet", "run", 220, 256]]
    assert len(read(MLPERF_LOG.replace("success", "aborted")).table) == 1
    with pytest.raises(InputError, match="txt:2: is no event of MLPerf"):
        read(MLPERF_LOG.replace('"time_ms": 1592000000000, "event_type": "POINT_IN_TIME", "key": "global', '"key": "g'))


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("Job ID: 1234\nCluster: big\nState: COMPLETED (exit code 0)\n", "sacct -j 1234 --parsable2"),
        ("# JMH version: 1.36\n# VM version: JDK 17\n", "-rf json"),
        (
            "Benchmark    (n)  Mode  Cnt  Score   Error  Units\nSum.sum      100  avgt    6   12.5 ± 0.3  us/op\n",
            "json",
        ),
    ],
)
def test_texts_for_people_name_what_is_read(read, text, advice):
    with pytest.raises(InputError, match=advice):
        read(text)
