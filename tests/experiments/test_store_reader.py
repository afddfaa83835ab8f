"""A store as a table: columns, roles and rows, and what is refused."""

import dataclasses

import pytest
from format_samples import SAMPLES

import perfcore
from perf_experiments import Store
from perfcore.base.errors import InputError


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "runs.db"
    file.write_bytes(SAMPLES["experiments"][0][1])
    return file


def test_columns_and_roles(path):
    data = perfcore.read(path)
    assert dict(data.roles.parameters) == {"p": "p"}
    assert (data.roles.value, data.roles.code, data.roles.system) == ("time", ("solver",), ())
    # What the sample says: wall time 2,500,000,000 ns, 2,048 KiB; the run that failed is no measurement.
    assert data.table[["p", "time", "wall_s", "peak_memory_mib", "noisy"]].to_numpy().tolist() == [
        [1, 2.25, 2.5, 2.0, 0],
        [2, 1.5, 2.5, 2.0, 1],
    ]


def test_without_values_the_wall_time_counts(path):
    with Store.read(path) as store:
        runs = store.runs()
    with Store.hold(path.with_name("wall.db")) as store:
        for run in runs:
            store.add(dataclasses.replace(run, values={}, environment={"host": f"node{run.number}"}))
    data = perfcore.read(path.with_name("wall.db"))
    assert (data.roles.value, data.roles.unit, data.roles.system) == ("wall_s", "s", ("host",))


def test_a_store_without_measurements_is_refused(tmp_path, path):
    with Store.read(path) as store:
        failed = store.runs()[2]
    with Store.hold(tmp_path / "failed.db") as store:
        store.add(failed)
    with pytest.raises(InputError, match=r"failed.db: holds no run that counts \(1 runs, 1 failed\)"):
        perfcore.read(tmp_path / "failed.db")
