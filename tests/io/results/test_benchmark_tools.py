"""Benchmark tools by their console, CSV and JSON: names, values, units and spreads as printed."""

import json

import pytest

import perfcore
from perfcore.base.errors import InputError


def table(tmp_path, text, name="bench.txt", **options):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return perfcore.read(path, **options)


def test_libtest_and_bencher_lines(tmp_path):
    data = table(
        tmp_path,
        "running 2 tests\ntest sort/100 ... bench:         135 ns/iter (+/- 24)\n"
        "test sort/1000 ... bench:      18,149.5 ns/iter (+/- 755)\ntest result: ok.\n",
    )
    assert data.table["time_ns"].tolist() == [135.0, 18_149.5]
    assert data.table["stddev_ns"].tolist() == [24.0, 755.0]
    assert data.roles.parameters == {"p": "arg1"}
    assert data.roles.unit == "ns"


def test_console_of_criterion(tmp_path):
    data = table(
        tmp_path,
        "sort/100                time:   [26.0 us 26.2 us 26.8 us]\n                        change: [-1% +0% +2%]\n"
        "a very long name of a benchmark/1000\n                        time:   [1.00 ms 1.10 ms 1.30 ms]\n",
    )
    assert data.table["time_ns"].tolist() == pytest.approx([26_200.0, 1_100_000.0])
    assert data.table["ci95_ns"].tolist() == pytest.approx([400.0, 150_000.0])
    assert data.table["benchmark"].tolist() == ["sort", "a very long name of a benchmark"]
    assert data.table["printed name"].tolist() == ["sort/100", "a very long name of a benchmark/1000"]


def test_console_of_google_benchmark(tmp_path):
    data = table(
        tmp_path,
        "2024-05-01T10:00:00+00:00\nRunning ./bench\n" + "-" * 60 + "\n"
        "Benchmark                  Time             CPU   Iterations\n" + "-" * 60 + "\n"
        "BM_Sort/1024            10245 ns        10240 ns        68000\n"
        "BM_Sort/8192             105.5 us        104990 ns         6700 items_per_second=1.2M/s\n"
        "BM_Sort_BigO             12.1 NlgN        12.0 NlgN\n",
    )
    assert data.table["real_time_ns"].tolist() == [10_245.0, 105_500.0]
    assert data.table["arg1"].tolist() == [1024, 8192]


@pytest.mark.parametrize(("point", "head"), [(".", "99.9%"), (",", "99,9%")])
def test_csv_of_jmh_in_any_locale(tmp_path, point, head):
    """The error is half of a 99.9 % interval of 5 samples: Student's t of 4 degrees of freedom is 8.610."""
    rows = [("0.12", "0.0861", 1000), ("1.5", "NaN", 10000)]
    lines = [
        f'"o.Sort.merge","avgt",1,5,"{score.replace(".", point)}","{error.replace(".", point)}","ms/op",{n}'
        for score, error, n in rows
    ]
    header = f'"Benchmark","Mode","Threads","Samples","Score","Score Error ({head})","Unit","Param: n"'
    data = table(tmp_path, "\n".join([header, *lines]) + "\n", "jmh.csv")
    assert data.table["average_time"].tolist() == [0.12, 1.5]
    assert data.table["stddev"][0] == pytest.approx(0.0861 * 5**0.5 / 8.610, rel=1e-4)
    assert (data.roles.parameters, data.roles.unit) == ({"p": "n"}, "ms/op")


def test_csv_of_pytest_benchmark(tmp_path):
    data = table(
        tmp_path,
        "name,min,max,mean,stddev,median,iqr,outliers,ops,rounds,iterations\n"
        "test_sort[10],0.9,1.4,1.0,0.02,1.0,0.01,1;0,1.0,50,1\ntest_sort[20],1.9,2.4,2.0,0.05,2.0,0.01,1;0,.5,30,1\n",
        "bench.csv",
    )
    assert data.table[["time_s", "stddev_s", "n_runs", "arg1"]].to_numpy().tolist() == [
        [1.0, 0.02, 50, 10],
        [2.0, 0.05, 30, 20],
    ]


def test_markdown_of_hyperfine(tmp_path):
    data = table(
        tmp_path,
        "| Command | Mean [ms] | Min [ms] | Max [ms] | Relative |\n|:---|---:|---:|---:|---:|\n"
        "| `sort 100` | 102.5 ± 0.5 | 101.0 | 104.0 | 1.00 |\n| `sort 200` | 205.0 ± 1.5 | 203.0 | 209.0 | 2.00 |\n",
        "bench.md",
    )
    assert data.table["time_s"].tolist() == pytest.approx([0.1025, 0.205])
    assert data.table["stddev_s"].tolist() == pytest.approx([0.0005, 0.0015])
    assert data.table["sort"].tolist() == [100.0, 200.0]


def test_csv_of_compare_js_is_a_rate_by_version(tmp_path):
    lines = [f'"{v}","buffers/a.js","n=6 b=1",{rate},0.15' for v, rate in (("old", 392.5), ("new", 362.5))]
    data = table(tmp_path, '"binary","filename","configuration","rate","time"\n' + "\n".join(lines) + "\n", "r.csv")
    assert (data.roles.value, data.roles.unit) == ("rate", "ops/s")
    assert data.table["binary"].tolist() == ["old", "new"]


def test_csv_of_benchmark_dot_net(tmp_path):
    data = table(
        tmp_path,
        "Method,Job,WarmupCount,N,Mean,Error,StdDev\nSort,DefaultJob,Default,100,1.500 us,0.02 us,12.0 ns\n"
        'Sort,DefaultJob,Default,1000,"2,300.0 us",20.0 us,1.5 us\n',
        "report.csv",
    )
    assert data.table["time_ns"].tolist() == pytest.approx([1_500.0, 2_300_000.0])
    assert data.table["stddev_ns"].tolist() == pytest.approx([12.0, 1_500.0])
    assert data.roles.parameters == {"p": "N"}


def test_json_of_pyperf(tmp_path):
    runs = [{"values": [0.1, 0.2]}, {"metadata": {}}, {"values": [0.3]}]
    content = {"benchmarks": [{"metadata": {"name": "sort", "unit": "second"}, "runs": runs}], "version": "1.0"}
    assert table(tmp_path, json.dumps(content), "p.json").table["time_s"].tolist() == [0.1, 0.2, 0.3]


def test_json_of_benchmark_tools_jl(tmp_path):
    trial = ["Trial", {"times": [10.0, 20.0], "params": ["Parameters", {}]}]
    group = ["BenchmarkGroup", {"tags": [], "data": {"sort": ["BenchmarkGroup", {"data": {"100": trial}}]}}]
    data = table(tmp_path, json.dumps([{"Julia": "1.9", "BenchmarkTools": "1.0"}, [group]]), "b.json")
    assert data.table[["benchmark", "arg1", "time_ns"]].to_numpy().tolist() == [
        ["sort", 100, 10.0],
        ["sort", 100, 20.0],
    ]


def test_what_is_no_number_is_refused_with_its_line(tmp_path):
    text = "Method,Job,N,Mean,Error,StdDev\nSort,DefaultJob,1,abc,1 ns,1 ns\n"
    with pytest.raises(InputError, match=r"r.csv:2: 'abc' is no number or time"):
        table(tmp_path, text, "r.csv")
