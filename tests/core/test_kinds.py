"""Kinds of data: by type, and measurements by what their columns name."""

from pathlib import Path

import pandas as pd
import pytest

import perfcore
from perfcore import Measurements, Series, Trace, UtilizationCurve
from perfcore.base.errors import DataError
from perfcore.data.kinds import kind_of

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = {
    "cholesky/cholesky_trace.csv.gz": "trace",
    "step.csv": "curve",
    "sor/recorded/availability.csv": "series",
    "npb/timings.csv": "codes x systems",
    "scaling_laws/runs.jsonl": "timings",
    "study/recorded/sor.db": "timings",
}


def table(codes, systems, **more):
    return pd.DataFrame({"code": codes, "system": systems, "p": 4, "time_s": 1.0, **more})


@pytest.mark.parametrize(("file", "kind"), EXAMPLES.items())
def test_the_examples(file, kind):
    assert kind_of(perfcore.read(FOLDER / file)) == kind


def test_types():
    assert kind_of(Trace([0], [0], [0], [1], ["a"], ["x"])) == "trace"
    assert kind_of(UtilizationCurve([0, 1], [1])) == "curve"
    assert kind_of(Series([0, 1], {"x": [1, 2]}, "s")) == "series"
    with pytest.raises(DataError, match="dict is no kind of data"):
        kind_of({})


@pytest.mark.parametrize(
    ("codes", "systems", "kind"),
    [
        ("xxyy", "abab", "codes x systems"),
        ("xxy", "aba", "timings"),  # nothing but x on two systems, and but a with two codes
        ("xyz", "abc", "timings"),  # each code on a system of its own
        ("xxxx", "abab", "timings"),
        ("xyxy", "aaaa", "timings"),
    ],
)
def test_codes_and_systems_must_have_pairs_in_common(codes, systems, kind):
    assert kind_of(Measurements(table(list(codes), list(systems)))) == kind


def test_a_category_goes_before_codes_and_systems():
    data = table(list("xxyy"), list("abab"), category="mpi")
    assert kind_of(Measurements(data)) == "categories"
    assert kind_of(Measurements(data, category=())) == "codes x systems"


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("scaling/hecbiosim_gromacs_categories.csv", "categories"),
        ("scaling/hecbiosim_gromacs_runs.csv", "timings"),  # one code on several machines
        ("scaling/mlperf_training.csv", "codes x systems"),  # its value must be named
        ("scaling/npb_mpi_picluster.csv", "timings"),
        ("benchresults/extrap/strong_scaling_one_parameter_2.txt", "timings"),
        ("benchresults/reframe_perflog_excalibur.log", "timings"),  # rows that repeat others
        ("timeseries/nyc_taxi.csv", "curve"),
        ("timeseries/sadf-j.json", "series"),
        ("traces/caliper/lulesh_weak/64_cores.cali", "categories"),
        ("traces/paje/qr_trace.paje.worker_state.csv.gz", "trace"),
    ],
)
def test_files_of_others(real_data, file, kind):
    assert kind_of(perfcore.read(real_data / file)) == kind
