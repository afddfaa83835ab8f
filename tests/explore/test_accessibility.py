"""Every kind of view that presenters give, on one page: contrast, labels, headings, width; light, dark and narrow."""

from pathlib import Path

import numpy as np
import pandas as pd

import perfcore
from perf_explore import blocks
from perf_explore.blocks import Writer
from perf_explore.opening import open_subjects
from perf_explore.page import address, document
from perf_explore.svg import DrawnChart
from perf_stochastic.normal.normal import Normal
from perf_structural import StructuralModel
from perf_structural.judging.recalibration import learn_recalibration
from perfcore.hooks.registry import registry

from .conftest import accessibility_problems

STORE, HALO = "examples/study/recorded/sor.db", "examples/halo/halo.prv"
SOR, PREDICTED = "examples/structural/sor.toml", "examples/sor/recorded/predictions-normal.json"
AVAILABILITY = "examples/sor/recorded/availability.csv"
SVG = '<svg role="img" aria-label="a chart" viewBox="0 0 720 324"></svg>'
RNG = np.random.default_rng(1)


def golden(name):
    return perfcore.load(f"tests/golden/models/{name}.json")


def versions(**options):
    """Two versions in turn, of which the second is slower."""
    rows = [
        (version, k, "b", slow * time)
        for version, slow in (("old", 1.0), ("new", 1.3))
        for k, time in enumerate(RNG.lognormal(0.0, 0.02, 8))
    ]
    return perfcore.gate(pd.DataFrame(rows, columns=["version", "round", "bench", "time_s"]), **options)


def history():
    """Two benchmarks over 40 commits; one becomes slower."""
    times = RNG.lognormal(0.0, 0.01, (2, 40)) * np.where(np.arange(40) < 30, 1.0, [[1.4], [1.0]])
    rows = [(f"c{k}", name, value) for name, values in zip("ab", times, strict=True) for k, value in enumerate(values)]
    return perfcore.gate(pd.DataFrame(rows, columns=["commit", "bench", "time_s"]), commit="commit")


# What is shown, by the name of the class that a presenter is registered for.
KINDS = {
    "Facts": lambda: perfcore.info("examples/npb/timings.csv"),
    "Listing": perfcore.formats,
    "Predictions": lambda: perfcore.predict(golden("modgen"), ["P=16,64", "D=256", "category=total"], interval=0.95),
    "Comparison": lambda: perfcore.compare(golden("modgen"), golden("modgen"), at=["P=16,64", "D=256"]),
    "Verification": lambda: perfcore.verify(golden("modgen"), "tests/golden/by_category.csv"),
    "ComposedModel": lambda: golden("individual") + golden("individual"),
    "Advice": lambda: perfcore.next_points(golden("individual"), {"p": 1024, "code": "LU", "system": "T3D"}),
    "Replications": lambda: perfcore.next_points(STORE, precision="1%"),
    "Design": lambda: perfcore.design({"p": [1, 2], "D": [64]}),
    "Run": lambda: perfcore.runs(STORE, show=1).listed[0],
    "Runs": lambda: perfcore.runs(STORE),
    "ForecastModel": lambda: golden("forecast"),
    "VersionGate": versions,
    "SelfTest": lambda: versions(self_test=True),
    "HistoryGate": history,
    "LawModel": lambda: golden("scaling"),
    "LcaModel": lambda: golden("lca"),
    "ModgenModel": lambda: golden("modgen"),
    "OverheadRuns": lambda: perfcore.overheads([HALO, HALO]),
    "OverheadProfile": lambda: perfcore.overheads(HALO)[0],
    "Efficiencies": lambda: next(iter(perfcore.overheads(HALO))).efficiencies(),
    "Profiles": lambda: perfcore.profile(HALO),
    "Decomposition": lambda: perfcore.schedule(
        StructuralModel("0", inputs={"row": [{"normal": [1, 0.1]}, {"normal": [2, 0.1]}]}), divide=9, unit_time="row"
    ),
    "Judgement": lambda: perfcore.judge(PREDICTED, "examples/sor/recorded/runs.csv", column="time_s"),
    "Recalibration": lambda: learn_recalibration([Normal(0.0, 1.0)] * 80, RNG.normal(0.0, 4.0, 80)),
    "MeasuredValue": lambda: perfcore.value(AVAILABILITY, "normal", column="cpu 0 available"),
    "Prediction": lambda: perfcore.evaluate("a*b", {"a": "normal:120,3", "b": "interval:0.1,0.3"}),
    "Decision": lambda: perfcore.decide([1.0, 1.1, 1.2, 1.05], [1.5, 1.6, 1.55, 1.7]),
    "Solution": lambda: perfcore.solve("work/n", "n=1..10", 40, 0.95, inputs={"work": "normal:100,10"}),
    "Choice": lambda: perfcore.schedule(SOR),
    "StructuralModel": lambda: SOR,
    "IndividualModel": lambda: golden("individual"),
    "JointModel": lambda: golden("strohmaier"),
    "Answers": lambda: perfcore.whatif(HALO, network="0"),
    "MessageTable": lambda: perfcore.messages(HALO),
    "Iterations": lambda: perfcore.iterations("examples/iterations/steps.json"),
    "PhaseComparison": lambda: perfcore.compare(golden("worley"), golden("worley")),
    "PhaseModel": lambda: golden("worley"),
    "UtilizationCurve": lambda: "examples/step.csv",
    "Measurements": lambda: "examples/npb/timings.csv",
    "Series": lambda: AVAILABILITY,
    "Trace": lambda: HALO,
}
# What is shown as another is: phases as benchmarks, a line of counts, several tables of messages, a notebook's cell.
AS_ANOTHER = {"PartsGate", "Summary", "MessageRuns", "Inline", "Model"}


def sections():
    """The first view of each sort, of each kind, with its forms."""
    for kind, make in KINDS.items():
        subject, seen = open_subjects([make()]), set()
        for number, path in enumerate(subject.paths()):
            if (sort := path[:1] if path[:1] != ("fit",) else path[:3]) in seen:
                continue
            seen.add(sort)
            view = subject.view(path, {})
            writer = Writer(address, name=f"{kind}{number}-", level=3)
            yield f"<section><h2>{kind} {number}</h2>{writer.view(view)}</section>"


def test_every_kind_of_view_can_be_read(tab, tmp_path, monkeypatch):
    kinds = {name.rpartition(":")[2].partition("#")[0] for name in registry().entries("presenters")}
    assert kinds - AS_ANOTHER <= set(KINDS), "a kind of result whose views nobody looks at"
    monkeypatch.setattr(blocks, "drawn_chart", lambda chart, name, places, width: DrawnChart(SVG, [], False))
    (tmp_path / "kinds.html").write_text(document("kinds", f"<main><h1>kinds</h1>{''.join(sections())}</main>"))
    tab.goto(Path(tmp_path / "kinds.html").as_uri())
    assert accessibility_problems(tab) == []
