"""Several runs as one table: phases of generated runs at several p, whose durations follow known laws."""

import itertools

import numpy as np
import pytest

import perfcore
from perf_worley.joining import join_runs
from perfcore import UtilizationCurve
from perfcore.base.errors import DataError, OptionError

# Seconds over p, and the share of the processors that computes.
LAWS = (
    (lambda p: 2.0 + 24.0 / p, 0.9),
    (lambda p: 3.0, 0.25),
    (lambda p: 40.0 / p, 0.7),
    (lambda p: 1.0 + 0.2 * p, 0.4),
)


def run(p, seed=0, laws=LAWS):
    """Independent samples around each level; durations vary by half a per cent."""
    rng = np.random.default_rng([seed, p])
    heights, widths = [], []
    for duration, share in laws:
        seconds = duration(p) * rng.normal(1.0, 0.005)
        n = 200
        heights.append(np.clip(rng.normal(share, 0.06, n), 0, 1) * p)
        widths.append(np.full(n, seconds / n))
    edges = np.concatenate([[0.0], np.cumsum(np.concatenate(widths))])
    return UtilizationCurve(edges, np.concatenate(heights), "s", n_locations=p, source=f"run{p}")


def joined(levels, told=False, repetitions=1, laws=LAWS):
    runs = [(p, r) for p in levels for r in range(repetitions)]
    parts = [(f"run_p{p}_r{r}.csv", run(p, r, laws)) for p, r in runs]
    return join_runs(parts, [{"p": p} if told else {} for p, _ in runs], "runs")


@pytest.mark.parametrize("told", [False, True])
def test_each_phase_has_a_row_of_each_run(told):
    data = joined((2, 4, 8), told)
    table = data.table
    assert (data.roles.parameters, data.roles.value, data.roles.unit) == ({"p": "p"}, "duration_s", "s")
    assert table.groupby("phase")["p"].apply(sorted).tolist() == [[2, 4, 8]] * 4
    for (_, rows), (duration, share) in zip(table.groupby("phase"), LAWS, strict=True):
        expected = np.array([duration(p) for p in rows["p"]])
        assert rows["duration_s"].to_numpy() == pytest.approx(expected, rel=0.05)
        assert rows["processor_time_s"].to_numpy() == pytest.approx(expected * share * rows["p"], rel=0.06)


def test_the_next_run_lies_within_the_bounds_of_each_phase():
    """A law for each phase of runs at p = 2, 4, 8, three of each, against the truth at 16."""
    model = perfcore.fit(joined((2, 4, 8), repetitions=3), fitter="scaling")
    phases = [f"phase {k}" for k in range(1, 5)]
    bounds = model.predict({"p": np.full(4, 16.0), "path": phases}, interval=0.95)
    for (_, low, high), (duration, _) in zip(bounds, LAWS, strict=True):
        assert low <= duration(16) <= high


def test_a_run_with_fewer_phases_is_fitted_with_as_many_as_the_others():
    """At p = 4 two neighbours have nearly the same level: alone they are one phase."""
    from perf_worley.joining import agreed_models

    models = [perfcore.fit(run(p), fitter="phases") for p in (2, 4, 8)]
    fewer = perfcore.fit(run(4), fitter="phases", phases=3)
    found = agreed_models(
        [models[0], fewer, models[2]], "abc", lambda k, n: perfcore.fit(run((2, 4, 8)[k]), fitter="phases", phases=n)
    )
    assert [(len(model.phases), again) for model, again in found] == [(4, False), (4, True), (4, False)]


def test_runs_of_different_programs_are_refused():
    other = tuple((duration, 1.0 - share) for duration, share in reversed(LAWS[1:]))
    parts = [("a.csv", run(4)), ("b.csv", run(8, laws=other))]
    with pytest.raises(DataError, match=r"a\.csv and b\.csv do not look like runs of one program"):
        join_runs(parts, [{}, {}], "runs")


def test_nothing_says_how_many_processors():
    curves = [UtilizationCurve(run(p).edges, run(p).heights, "s") for p in (2, 4)]
    with pytest.raises(OptionError, match=r"--from-name 'run_p\{p:int\}\.csv' takes it"):
        join_runs([("a", curves[0]), ("b", curves[1])], [{}, {}], "runs")
    with pytest.raises(OptionError, match="have a column 'phase'; call"):
        join_runs([("a", curves[0])], [{"phase": 3}], "runs")


def test_files_that_a_pattern_names_are_one_table(tmp_path):
    for p in (2, 4, 8):
        curve = run(p)
        steps = zip(itertools.pairwise(curve.edges), curve.heights, strict=True)
        lines = [f"{begin:.9f},{end:.9f},{height:.9f}" for (begin, end), height in steps]
        (tmp_path / f"run_p{p}.csv").write_text("\n".join(["start_s,end_s,value", *lines]))
    data = perfcore.read(tmp_path / "run_p*.csv", from_name="run_p{p:int}.csv")
    assert (data.roles.parameters, data.roles.code) == ({"p": "p"}, ("phase",))
    assert sorted(data.table["file"].unique()) == [str(tmp_path / f"run_p{p}.csv") for p in (2, 4, 8)]
