"""Histories in the page and in reports."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import perfcore
from perf_explore.opening import open_subjects
from perf_gate.history_opener import HistoryOpener
from perf_views.contents import Chart, NoViewError, Table

RNG = np.random.default_rng(6)
VALUES = {
    "sort": np.exp(RNG.normal(0.0, 0.01, 40) + 0.1 * (np.arange(40) >= 33)),
    "dict": np.exp(RNG.normal(0.0, 0.01, 40)),
}


def history(path: Path, names: tuple[str, ...] = ("sort", "dict")) -> Path:
    rows = [
        {"commit": f"c{k}", "benchmark": name, "value": VALUES[name][k], "unit": "s"}
        for k in range(40)
        for name in names
    ]
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pd.DataFrame(rows).to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


@pytest.mark.parametrize("ending", ["jsonl", "csv", "tsv"])
def test_a_history_is_shown_with_each_benchmark_in_a_view_of_its_own(tmp_path: Path, ending: str) -> None:
    path = history(tmp_path / f"h.{ending}")
    views = open_subjects([str(path)])
    assert list(views.paths()) == [(), ("sort",), ("dict",)]  # what fails comes first
    overview, one = views.view((), {}), views.view(("sort",), {})
    assert overview.title.endswith("failed")
    links = [row[0].link.path for row in next(b for b in overview.blocks if isinstance(b, Table)).rows]
    assert links == [("sort",), ("dict",)]
    assert any(isinstance(block, Chart) for block in one.blocks)
    newest = one.blocks[-1].rows
    assert [row[0] for row in newest[:2]] == ["c39", "c38"]
    assert [row[0] for row in newest if row[3] == "changed"] == ["c33"]
    with pytest.raises(NoViewError):
        views.view(("none",), {})


def test_a_history_of_one_benchmark_is_one_view(tmp_path: Path) -> None:
    views = open_subjects([str(history(tmp_path / "h.jsonl", ("dict",)))])
    assert list(views.paths()) == [()]
    assert len(views.view((), {}).blocks[-1].rows) == 40


def test_reports_have_a_picture_of_each(tmp_path: Path) -> None:
    text = perfcore.report(history(tmp_path / "h.jsonl"))
    assert text.count("<svg") == 3
    assert perfcore.report(perfcore.gate(history(tmp_path / "g.csv"), commit="commit")).count("<svg") == 3


@pytest.mark.parametrize(
    ("name", "content", "sure"),
    [
        ("a.csv", "p,time_s\n1,2\n", False),
        ("b.csv", '# made by\n"commit","time_s"\nx,2\n', True),
        ("c.csv", "", False),
        ("d.csv", "commit;time_s\nx;2\n", True),
        ("e.jsonl", '{"params": {"p": 1}, "value": 2}\n', False),
        ("f.jsonl", "no json\n", False),
        ("g.js", "window.BENCHMARK_DATA = {}", True),
        ("h.js", "alert(1)", False),
    ],
)
def test_what_is_taken_for_a_history(tmp_path: Path, name: str, content: str, sure: bool) -> None:
    (tmp_path / name).write_text(content)
    assert (HistoryOpener().sniff(tmp_path / name) > 0.0) == sure
