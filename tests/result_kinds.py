"""One of every kind of result and data that a public function gives, by the name of its class."""

import functools
import json
import tempfile
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd

import perfcore
from perf_analysis.summarize import SubmittedJobs
from perf_experiments import Summary
from perf_gate.history import append_rows
from perf_scaling.many import fit_series
from perf_scaling.options import ScalingOptions
from perf_structural import StructuralModel
from perf_structural.judging import recalibrate
from perfcore.stochastic import representation_named

Normal = representation_named("normal")

STORE, HALO = "examples/study/recorded/sor.db", "examples/halo/halo.prv"
SOR, PREDICTED = "examples/structural/sor.toml", "examples/sor/recorded/predictions-normal.json"
AVAILABILITY = "examples/sor/recorded/availability.csv"
RNG = np.random.default_rng(1)


def golden(name):
    return perfcore.load(f"tests/golden/models/{name}.json")


def versions(judge=perfcore.gate):
    """Two versions in turn, of which the second is slower."""
    rows = [
        (version, k, "b", slow * time)
        for version, slow in (("old", 1.0), ("new", 1.3))
        for k, time in enumerate(RNG.lognormal(0.0, 0.02, 8))
    ]
    return judge(pd.DataFrame(rows, columns=["version", "round", "bench", "time_s"]))


def history():
    """Two benchmarks over 40 commits; one becomes slower."""
    times = RNG.lognormal(0.0, 0.01, (2, 40)) * np.where(np.arange(40) < 30, 1.0, [[1.4], [1.0]])
    rows = [(f"c{k}", name, value) for name, values in zip("ab", times, strict=True) for k, value in enumerate(values)]
    return perfcore.gate_history(pd.DataFrame(rows, columns=["commit", "bench", "time_s"]), commit="commit")


def added():
    with tempfile.TemporaryDirectory() as folder:
        row = {"commit": "c1", "benchmark": "sort", "value": 1.5, "unit": "s"}
        return append_rows(Path(folder) / "history.jsonl", [row])


def summary_of_trace(get=lambda summary, file: summary):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "halo.summary"
        return get(perfcore.summarize(HALO, file), file)


def forecasts_of_hosts():
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "hosts.csv"
        rows = [(60 * k, host, base + k % 5) for k in range(60) for host, base in (("a", 1.0), ("b", 5.0))]
        pd.DataFrame(rows, columns=["timestamp_s", "host", "load"]).to_csv(file, index=False)
        return perfcore.fit(file, fitter="forecast", by="host")


def series_fit():
    """Two series of a file, fitted into another."""
    folder = Path(tempfile.mkdtemp())
    rows = [(path, p, work / p + 1.0) for path, work in (("solve", 8.0), ("io", 2.0)) for p in (1, 2, 4, 8)]
    pd.DataFrame(rows, columns=["path", "p", "time_s"]).to_csv(folder / "runs.csv", index=False)
    return fit_series(folder / "runs.csv", folder / "models.parquet", ScalingOptions(path="path"))


def projection():
    return perfcore.project([f"examples/halo/scaling/halo_p{p}.prv.gz" for p in (2, 4, 8)], at="p=16")


# Data and structural models by their files, from which pages open them.
def gpu_trace(name, duration):
    """A trace of an operator that launches a kernel of so many microseconds."""
    host, gpu = {"pid": 100, "tid": 1}, {"pid": 0, "tid": 7}
    events = [
        {"cat": "cpu_op", "name": "aten::mm", "ts": 0, "dur": 20, **host},
        {"cat": "cuda_runtime", "name": "launch", "ts": 5, "dur": 5, "args": {"correlation": 1}, **host},
        {"cat": "kernel", "name": "gemm", "ts": 15, "dur": duration, "args": {"correlation": 1}, **gpu},
    ]
    memory = {"Device Type": 1, "Device Id": 0, "Bytes": 100, "Total Allocated": 100, "Total Reserved": 200}
    events += [{"ph": "i", "name": "[memory]", "ts": ts, "args": memory, **host} for ts in (3, 8)]
    file = Path(tempfile.mkdtemp()) / f"{name}.json"
    file.write_text(json.dumps({"traceEvents": [{"ph": "X", **event} for event in events]}))
    return file


KINDS = {
    "Facts": lambda: perfcore.info("examples/npb/timings.csv"), "Listing": perfcore.formats,
    "Predictions": lambda: perfcore.predict(golden("modgen"), ["P=16,64", "D=256", "category=total"], interval=0.95),
    "Comparison": lambda: perfcore.compare(golden("modgen"), golden("modgen"), at=["P=16,64", "D=256"]),
    "Verification": lambda: perfcore.validate(golden("modgen"), "tests/golden/by_category.csv"),
    "ComposedModel": lambda: golden("individual") + golden("individual"),
    "Recommendation": lambda: perfcore.next_points(golden("individual"), {"p": 1024, "code": "LU", "system": "T3D"}),
    "Replications": lambda: perfcore.next_points(STORE, precision="1%"),
    "Design": lambda: perfcore.design({"p": [1, 2], "D": [64]}), "Run": lambda: perfcore.runs(STORE, show=1).listed[0],
    "Runs": lambda: perfcore.runs(STORE), "ForecastModel": lambda: golden("forecast"),
    "SeriesForecasts": forecasts_of_hosts, "VersionGate": versions,
    "SelfTest": lambda: versions(perfcore.gate_self_test), "HistoryGate": history,
    "ScalingModel": lambda: golden("scaling"), "LcaModel": lambda: golden("lca"),
    "ModgenModel": lambda: golden("modgen"), "OverheadRuns": lambda: perfcore.overheads([HALO, HALO]),
    "OverheadProfile": lambda: perfcore.overheads(HALO)[0], "ProjectionModel": projection,
    "Projection": lambda: projection().answer, "Profiles": lambda: perfcore.profile(HALO),
    "Decomposition": lambda: perfcore.schedule(
        StructuralModel("0", inputs={"row": [{"normal": [1, 0.1]}, {"normal": [2, 0.1]}]}), divide=9, unit_time="row"
    ),
    "Judgement": lambda: perfcore.judge(PREDICTED, "examples/sor/recorded/runs.csv", column="time_s"),
    "Recalibration": lambda: recalibrate([Normal(0.0, 1.0)] * 80, np.random.default_rng(1).normal(0.0, 4.0, 80)),
    "MeasuredValue": lambda: perfcore.value(AVAILABILITY, "normal", column="cpu 0 available"),
    "Prediction": lambda: perfcore.evaluate("a*b", {"a": "normal:120,3", "b": "interval:0.1,0.3"}),
    "Solution": lambda: perfcore.solve("work/n", "n=1..10", 40, 0.95, inputs={"work": "normal:100,10"}),
    "Choice": lambda: perfcore.schedule(SOR), "StructuralModel": lambda: SOR,
    "IndividualModel": lambda: golden("individual"), "JointModel": lambda: golden("strohmaier"),
    "Answers": lambda: perfcore.whatif(HALO, network="0"), "MessageTable": lambda: perfcore.messages(HALO),
    "MessageRuns": lambda: perfcore.messages([HALO, "examples/halo/halo.prv"]),
    "OperatorTimes": lambda: perfcore.profile(gpu_trace("new", 30), by="operator"),
    "GpuMemory": lambda: perfcore.profile(gpu_trace("new", 30), by="memory"),
    "LaunchTimes": lambda: perfcore.overheads(gpu_trace("new", 30), by="launch"),
    "GpuDifference": lambda: perfcore.compare(gpu_trace("old", 20), gpu_trace("new", 30), by="operator"),
    "GpuAnswers": lambda: perfcore.whatif(gpu_trace("path", 30)),
    "Iterations": lambda: perfcore.iterations("examples/iterations/steps.json"),
    "PhaseComparison": lambda: perfcore.compare(golden("phases"), golden("phases")),
    "PhaseModel": lambda: golden("phases"), "UtilizationCurve": lambda: "examples/step.csv",
    "RegressionModel": lambda: perfcore.fit(
        "examples/npb/timings.csv", fitter="regression", formula="a + b/p", where="system=T3D,code=LU"
    ),
    "UslModel": lambda: perfcore.fit(
        pd.DataFrame({"p": [1, 2, 4, 8, 16], "throughput": [10.0, 19.0, 35.0, 58.0, 80.0]}), fitter="usl"
    ),
    "Ranking": lambda: perfcore.rank("examples/npb/timings.csv", fitter="individual", where="system=T3D,code=LU"),
    "Added": added, "Measurements": lambda: "examples/npb/timings.csv", "Series": lambda: AVAILABILITY,
    "Trace": lambda: HALO,
}  # fmt: skip
# What pages show as another: counts in a line, a notebook's cell.
FURTHER_KINDS = {
    "Summary": lambda: Summary(made=3, succeeded=2, failed=1, noisy=0, store=STORE),
    "SeriesFit": series_fit,
    "SeriesRanking": lambda: perfcore.rank(series_fit().output),
    "Inline": lambda: perfcore.view("examples/step.csv", views=1),
    "SubmittedJobs": lambda: SubmittedJobs(8, 3, ("17", "18"), Path("parts")),
    "RunSummary": summary_of_trace,
    "SummarizedTrace": lambda: summary_of_trace(lambda _, file: perfcore.read(file)),
}

# Rows of text, plans, and counts: a picture would say no more than the table.
WITHOUT_PICTURE = {
    *("Facts", "Listing", "Replications", "Design", "Run", "Ranking", "Recommendation", "Added", "MessageRuns"),
    *("OperatorTimes", "GpuDifference", "GpuAnswers", "LaunchTimes"),
    *("Summary", "RunSummary", "SubmittedJobs", "SeriesFit", "SeriesRanking", "Inline"),
}


@functools.cache
def result_of(kind):
    """An object of that class; of what pages open by its file, what the file holds."""
    made = {**KINDS, **FURTHER_KINDS}[kind]()
    if not isinstance(made, str):
        return made
    return StructuralModel.read(made) if kind == "StructuralModel" else perfcore.read(made)


@functools.cache
def cell_of(kind):
    """Its cell of a notebook, which draws it."""
    return result_of(kind)._repr_html_()


CELL_ELEMENTS = {"pre", "img", "table", "caption", "thead", "tbody", "tr", "th", "td", "p"}  # of a notebook's cell


class Elements(HTMLParser):
    """Whether every element is closed in its turn, and which ones there are, with their attributes."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen = [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in ("img", "br", "meta", "link", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def all(self, *tags):
        return [attributes for tag, attributes in self.seen if tag in tags]
