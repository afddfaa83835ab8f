"""Every kind of view that presenters give, on one page: contrast, labels, headings, width; light, dark and narrow."""

from pathlib import Path

from result_kinds import FURTHER_KINDS, KINDS

from perf_explore import blocks
from perf_explore.blocks import Writer
from perf_explore.opening import open_subjects
from perf_explore.page import address, document
from perfcore.hooks.registry import registry

from .conftest import accessibility_problems

SVG = '<svg role="img" aria-label="a chart" viewBox="0 0 720 324"></svg>'
SHOWN = {**KINDS, **FURTHER_KINDS}
# A notebook's cell has views of others, and any model those of its own kind.
AS_ANOTHER = {"Inline", "Model"}


def sections():
    """The first view of each sort, of each kind, with its forms."""
    for kind, make in SHOWN.items():
        if kind in AS_ANOTHER:
            continue
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
    assert kinds - AS_ANOTHER <= set(SHOWN), "a kind of result whose views nobody looks at"
    monkeypatch.setattr(blocks, "chart_svg", lambda chart, name: SVG)
    (tmp_path / "kinds.html").write_text(document("kinds", f"<main><h1>kinds</h1>{''.join(sections())}</main>"))
    tab.goto(Path(tmp_path / "kinds.html").as_uri())
    assert accessibility_problems(tab) == []
