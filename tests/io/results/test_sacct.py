"""Jobs of Slurm: figures computed from the fields by hand."""

import json

import pytest
from format_samples import SACCT, SACCT_JSON, SACCT_XDMOD

import perfcore
from perfcore.base import progress
from perfcore.base.errors import InputError

A_DAY_AND_MORE = 26 * 3600 + 3 * 60 + 4  # 1-02:03:04


class Notes(progress.Sink):
    def __init__(self):
        self.texts = []

    def note(self, text):
        self.texts.append(text)


@pytest.fixture
def read(tmp_path):
    def read(text, **options):
        path = tmp_path / "jobs.txt"
        path.write_text(text)
        return perfcore.read(path, **options)

    return read


def test_jobs_without_their_steps(read):
    notes = Notes()
    with progress.show_with(notes):
        data = read(SACCT)
    assert data.table[["job", "nodes", "cpus", "elapsed_s"]].to_numpy().tolist() == [
        ["17", 2, 64, A_DAY_AND_MORE],
        ["19", 1, 16, 30],
    ]
    assert (dict(data.roles.parameters), data.roles.code) == ({"p": "cpus"}, ("name",))
    assert data.roles.unit == "s"
    assert data.line(1) == 5
    assert notes.texts[0].endswith(
        "left out, since they did not complete (CANCELLED): 1 of 3 jobs; -r failed=yes keeps them"
    )


def test_jobs_that_failed_are_kept_where_they_are_wanted(read):
    assert read(SACCT, failed=True).table["state"].tolist() == ["COMPLETED", "CANCELLED", "COMPLETED"]


def test_bars_at_the_ends_of_lines(read):
    parsable = "".join(f"{line}|\n" for line in SACCT.splitlines())
    assert read(parsable).table.equals(read(SACCT).table)


def test_a_name_with_a_bar_may_come_last(read):
    text = "JobID|State|Elapsed|NCPUS|JobName\n1|COMPLETED|00:00:10|4|a|b\n"
    assert read(text).table["name"].tolist() == ["a|b"]


def test_fields_without_names(read):
    data = read("7|COMPLETED|00:02:00|8\n", reader="sacct", fields="jobid,state,elapsed,ncpus")
    assert data.table[["cpus", "elapsed_s"]].to_numpy().tolist() == [[8, 120]]
    xdmod = read(SACCT_XDMOD)
    assert xdmod.table[["name", "nodes", "cpus", "elapsed_s"]].to_numpy().tolist() == [["job|x", 4, 48, 50449]]


def test_json_of_old_and_new_versions(read):
    data = read(SACCT_JSON)
    assert data.table["nodes"].tolist() == [2, 4]
    assert data.table["cpus"].tolist()[0] == 8
    assert data.table["elapsed_s"].tolist() == [60, 40]
    assert data.roles.system == ("cluster",)


def test_jobs_of_one_cluster_without_its_name_can_be_modelled(read):
    data = read(SACCT.replace("17|solver", "17|"))
    assert (data.roles.code, data.roles.system) == (("name",), ())
    assert data.observations().codes == ("unnamed", "a")


def test_json_of_slurm_21_08_says_null_where_nothing_is_known(read):
    """``sacct --json`` of the plugin dbv0.0.37: metadata first, and null for a missing text or list."""
    job = {
        **{"job_id": 17, "name": None, "cluster": "hpc", "partition": None, "account": None, "allocation_nodes": 2},
        **{"derived_exit_code": {"status": "SUCCESS", "return_code": 0}, "state": {"current": "COMPLETED"}},
        **{"time": {"elapsed": 217, "start": 1686088321, "limit": 4320}, "tres": {"allocated": None}},
    }
    release = {"version": {"major": 21, "micro": 8, "minor": 8}, "release": "21.08.8-2"}
    document = {"metadata": {"plugin": {"type": "openapi/dbv0.0.37"}, "Slurm": release}, "errors": [], "jobs": [job]}
    data = read(json.dumps(document))
    assert data.table[["nodes", "elapsed_s"]].to_numpy().tolist() == [[2, 217]]
    assert dict(data.roles.parameters) == {"p": "nodes"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("1-02:03:04|2", "tomorrow|2", r"jobs.txt:2: elapsed time 'tomorrow' is not"),
        ("|2|64", "|two|64", r"jobs.txt:2: 'two' is no number of nodes"),
        ("|2|64", "|2", r"jobs.txt:2: has 6 fields, expected 7"),
        ("Elapsed", "Start", r"jobs.txt:1: the fields elapsed are missing"),
    ],
)
def test_what_is_refused(read, old, new, message):
    with pytest.raises(InputError, match=message):
        read(SACCT.replace(old, new))


@pytest.mark.real_data
def test_real_files(real_data):
    logs = real_data / "benchresults"
    data = perfcore.read(logs / "slurm_sacct_accounting-logs.log")
    assert data.table[["cpus", "nodes", "elapsed_s"]].to_numpy().tolist() == [[48, 4, 14 * 3600 + 49]]
    everything = perfcore.read(logs / "slurm_sacct_accounting-logs.log", failed=True).table
    assert everything["state"].tolist() == ["TIMEOUT", "CANCELLED", "COMPLETED"]  # the fourth ran for no time
    assert everything["elapsed_s"].tolist()[:2] == [3 * 86400, 2 * 86400 + 22 * 3600 + 3 * 60 + 4]
    arrays = logs / "slurm_sacct_accounting-logs-with-job-arrays.log"
    with pytest.raises(InputError, match="none of the 6 jobs completed"):
        perfcore.read(arrays)
    assert "4103947_[9-11,13,16-20]" in perfcore.read(arrays, failed=True).table["job"].tolist()
    with pytest.raises(InputError, match="not in a format that is known here"):
        perfcore.read(logs / "slurm_sacct.json")  # a table of a tool's own tests, not what sacct prints
