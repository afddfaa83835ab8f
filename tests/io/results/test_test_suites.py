"""ReFrame, JUBE and Ramble: figures read from the files by hand."""

import json

import pytest
from format_samples import JUBE_ALIGNED, JUBE_PRETTY, RAMBLE, REFRAME_PERFLOG, REFRAME_REPORT

import perfcore
from perfcore.base.errors import DataError, InputError


@pytest.fixture
def read(tmp_path):
    def read(text, name="result.txt"):
        path = tmp_path / name
        path.write_text(text)
        return perfcore.read(path)

    return read


def test_a_report_of_reframe(read):
    data = read(REFRAME_REPORT, "report.json")
    assert data.table[["test", "n", "metric", "value", "unit"]].to_numpy().tolist() == [
        ["Pi", 10, "elapsed", 1.25, "s"],
        ["Pi", 20, "rate", 7, "op/s"],
    ]
    assert data.roles.code == ("test", "metric")
    with pytest.raises(DataError, match="several units"):
        data.observations()
    assert data.where("metric=elapsed").observations().value.tolist() == [1.25]


def test_a_log_of_reframe(read):
    data = read(REFRAME_PERFLOG)
    assert data.table[["n", "elapsed"]].to_numpy().tolist() == [[10, 1.25], [20, 2.5]]
    assert data.table["system"].tolist() == ["daint:gpu"] * 2
    assert (dict(data.roles.parameters), data.roles.unit, data.line(1)) == ({"p": "n"}, "s", 3)


def test_a_line_of_a_log_with_other_fields_is_refused(read):
    lines = REFRAME_PERFLOG.splitlines()
    with pytest.raises(InputError, match=r"result.txt:3: has 3 fields for 10 columns"):
        read("\n".join([*lines[:2], "pass|x|y"]) + "\n")
    with pytest.raises(InputError, match=r"result.txt:2: elapsed_value 'fast' is no number"):
        read("\n".join(lines).replace("1.25", "fast") + "\n")


@pytest.mark.parametrize(("text", "times"), [(JUBE_PRETTY, [8.25, 4.5]), (JUBE_ALIGNED, [2.5, 1.25])])
def test_tables_of_jube(read, text, times):
    data = read(text, "result.dat")
    assert data.table["time_s"].tolist() == times
    assert data.roles.value == "time_s"


def test_columns_of_jube_that_have_usual_names_have_roles(read):
    assert dict(read(JUBE_PRETTY, "result.dat").roles.parameters) == {"p": "ntasks"}


def test_a_table_of_jube_that_is_cut_or_goes_on_is_refused(read):
    with pytest.raises(InputError, match=r"result.dat:5: the line does not stand between bars"):
        read(JUBE_PRETTY.replace("|    4.5 |      |", "|   4.5"), "result.dat")
    with pytest.raises(InputError, match=r"result.dat:4: has 2 cells for 3 columns"):
        read(JUBE_PRETTY.replace("|   8.25 |    a |", "|   8.25 |"), "result.dat")
    with pytest.raises(InputError, match=r"result.dat:7: a second table begins"):
        read(JUBE_PRETTY + JUBE_PRETTY.removeprefix("result:\n"), "result.dat")


def test_figures_of_merit_of_ramble(read):
    data = read(RAMBLE, "results.json")
    assert data.table[["metric", "value", "unit"]].to_numpy().tolist() == [
        ["Wall Time", 21.25, "s"],
        ["Rate", 16.5, "ns/day"],
    ]
    assert data.table["n_ranks"].tolist() == [4, 4]
    assert "log_dir" not in data.table.columns
    assert data.roles.code == ("application", "workload", "metric")


def test_repeats_of_ramble_are_runs_and_their_summaries_are_none(read):
    """As Ramble 0.5 and later write three experiments for one with two repeats: itself, ``.1`` and ``.2``."""

    def experiment(name, repeat, *figures):
        return {
            **{"name": name, "RAMBLE_STATUS": "SUCCESS", "N_REPEATS": 0 if repeat else 2, "RAMBLE_RAW_VARIABLES": {}},
            "RAMBLE_VARIABLES": {"n_ranks": "4", "repeat_index": str(repeat), "application_name": "hostname"},
            "CONTEXTS": [
                {
                    **{"name": "null", "display_name": "null"},
                    "foms": [
                        {"name": fom, "value": value, "units": "s", "origin": "hostname", "origin_type": kind}
                        for fom, value, kind in figures
                    ],
                }
            ],
        }

    document = {
        "workspace_name": "test_ws",
        "experiments": [
            experiment("exp", 0, ("Experiment Summary", 2, "summary::n_total_repeats"), ("t", 29, "summary::mean")),
            experiment("exp.1", 1, ("t", 28.0, "application")),
            experiment("exp.2", 2, ("t", 30.0, "application")),
        ],
    }
    data = read(json.dumps(document), "results.json")
    assert data.table[["repetition", "t"]].to_numpy().tolist() == [[1, 28], [2, 30]]
    assert dict(data.roles.parameters) == {"p": "n_ranks"}
    assert data.observations("mean").value.tolist() == [29]


def test_one_figure_of_merit_is_the_value(read):
    document = json.loads(RAMBLE)
    foms = document["experiments"][0]["CONTEXTS"][0]["foms"]
    del foms[1:]
    data = read(json.dumps(document), "results.json")
    assert (data.roles.value, data.roles.unit) == ("Wall Time", "s")


@pytest.mark.real_data
def test_real_files(real_data):
    folder = real_data / "benchresults"
    report, log = (perfcore.read(folder / name).table for name in ("reframe_report.json", "reframe_perflog.log"))
    elapsed = {100000: 0.001767873764038086, 200000: 0.019390583038330078}
    assert report.set_index("n")["elapsed"].to_dict() == log.set_index("n")["elapsed"].to_dict() == elapsed
    flops = perfcore.read(folder / "reframe_perflog_excalibur.log")
    assert flops.table["flops"].tolist() == [0.67, 1.23, 0.67, 1.23, 1.23, 0.67, 1.23, 0.67, 1.31, 0.67, 0.67, 1.29]
    assert list(flops.roles.parameters.values()) == ["num_tasks", "num_cpus_per_task"]
    assert flops.roles.unit == "Gflop/s"
    assert perfcore.read(folder / "jube_iterations.dat").table["foo"].tolist() == [1] * 4 + [2] * 4 + [4] * 4 + [
        *(1, 1, 2, 2, 4, 4)
    ]
    assert perfcore.read(folder / "jube_statistic.dat").table.iloc[0].tolist() == [1, 1, 10, 1, 10, 55, 10, 5.5, 3.03]
    assert perfcore.read(folder / "jube_scripting_pattern.dat").table["missing_dep_pat"].tolist() == ["nan"] * 3
    with pytest.raises(InputError, match=r"ramble_results_malformed.json:\d+: is not results of Ramble"):
        perfcore.read(folder / "ramble_results_malformed.json", reader="ramble")
