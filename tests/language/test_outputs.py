"""Default outputs fit a screen, begin with a figure, and use the field's words; so do texts that users read."""

import ast
import itertools
import re
import shlex
import shutil
from pathlib import Path

import golden_cases
import pytest

import perfcore
from perfcore.cli import output
from perfcore.hooks.registry import registry

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
GLOSSARY = (ROOT / "plugins/kits/perf_views/glossary.md").read_text(encoding="utf-8")
TERMS = {name for names in re.findall(r"^(.+)\n: ", GLOSSARY, re.MULTILINE) for name in names.split(", ")}
FILES = (
    "cholesky/cholesky_trace.csv.gz", "halo/halo.prv", "halo/halo.pcf", "iterations/steps.csv", "iterations/steps.json",
    "npb/codes.csv", "npb/systems.csv", "npb/timings.csv", "step.csv", "structural/sor.toml", "structural/lu.toml",
    "study/recorded/sor.db", "sor/recorded/availability.csv",
)  # fmt: skip
LINES, COLUMNS = 25, 100
NAMES_OF_DATA = {"", "p", "D", "n", "total", "compute", "code", "started", "system"}  # columns of a file
COMMANDS = """
info halo.prv
info steps.csv
info timings.csv
info sor.db
info --formats
plugins
fit halo.prv
fit steps.csv --fitter worley
fit timings.csv --operations codes.csv --peak systems.csv
fit timings.csv --fitter individual
fit availability.csv --column cpu#0#available
predict joint.json
predict joint.json --at p=64,code=MG,system=PCArray
predict sor.toml
predict lu.toml
validate joint.json timings.csv
rank timings.csv
experiment next joint.json
experiment next sor.db
experiment list sor.db
overheads cholesky_trace.csv.gz
overheads halo.prv
profile steps.json
messages halo.prv
whatif halo.prv
iterations steps.csv
summarize halo.prv -o halo.sum
stochastic summarize availability.csv --column cpu#0#available
stochastic schedule sor.toml
stochastic solve work/n+0.01*n --for n=1..64 --below 1.0 --with work=normal:10,1
""".strip().splitlines()
# Phrases of earlier outputs. Not here are those with another meaning in the field: law (USL, Amdahl's), level (of
# confidence), gain (of decibels), path (of files), run (of a program), saved, used, picture (of a file), words.
DROPPED = re.compile(
    r"what the data leave|likeliest law|taken for true|takes? no time|every nanosecond|as it was\b|times as slow|"
    r"\bsurely\b|\bnobody\b|units of noise|what runs|break kept|time of all|held up all|who waits for whom|"
    r"far from every|in turn is surer|by arithmetic|mend it|\bat will\b|independent stretches|is taken to exist|"
    r"noise of one run|last level, left out|of single runs|where the cycles go|classes of states|same in numbers|"
    r"look there|stores? of runs|measured in turn|how sessions differ|replay of what was|to be small|finds laws|"
    r"95 % of the mean|of it sure|openness|what bounds hold|measure next|that these data do not determine|at will|"
    r"started within|longest/mean|tells it|tells of\b|same to the nanosecond|whom calls wait|contradict the rules|"
    r"what samples become|how probable a decision|handed on|points of a design|companion curves|classes? of a state|"
    r"made anew|beside the|what is left\b|goes by\b|where each surely|half as sure|far from the others",
    re.IGNORECASE,
)


def is_in_glossary(heading):
    """Whether the page explains a heading: as it is without its unit, or by the words that it begins or ends with."""
    words = re.sub(r" ?\[.*\]$", "", heading).split(" ")
    return any(" ".join(part) in TERMS for n in range(1, len(words) + 1) for part in (words[:n], words[-n:]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    for name in FILES:
        shutil.copy(EXAMPLES / name, folder)
    options = {"operations": folder / "codes.csv", "peak": folder / "systems.csv"}
    perfcore.fit(folder / "timings.csv", fitter="strohmaier", **options).save(folder / "joint.json")
    return folder


@pytest.mark.parametrize("line", COMMANDS)
def test_the_answer_first_on_one_screen(line, folder, monkeypatch, perf):
    monkeypatch.chdir(folder)
    monkeypatch.delenv("COLUMNS", raising=False)
    headings, shown = set(), output.printed
    recorded = lambda *given: (headings.update((found := shown(*given))[0][0]), found)[1]  # noqa: E731
    monkeypatch.setattr(output, "printed", recorded)
    printed = perf(*(word.replace("#", " ") for word in line.split()), short=True, status=(0,))
    lines = printed.lines
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= COLUMNS
    assert re.search(r"\d", lines[0]), lines[0]
    assert not DROPPED.findall(printed.out)
    for following in [line.removeprefix("Next: ") for line in lines if line.startswith("Next: perf ")]:
        _, *words = itertools.takewhile(lambda word: word != ">", shlex.split(following, comments=True))  # as shells do
        perf(*words, short=True, status=(0, None))
    for heading in headings - NAMES_OF_DATA:
        assert is_in_glossary(heading), heading
        assert "…" not in heading


def shown_texts(tree):
    """Constants that a user may read: not docstrings, and none of one word."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    firsts = (node.body[0] for node in ast.walk(tree) if isinstance(node, documented) and node.body)
    docstrings = {id(first.value) for first in firsts if isinstance(first, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield from [(node.lineno, node.value)] * (" " in node.value)


@pytest.mark.parametrize("name", [
    "worley", "phases", "scaling", "strohmaier", "individual", "regression", "usl", "lca", "modgen", "forecast",
])  # fmt: skip
def test_a_fitter_on_one_screen(name, perf):
    lines = perf("plugins", name, short=True).lines
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= COLUMNS
    assert not [line for line in lines if "…" in line], "a description is cut"


def test_pages_use_the_fields_words():
    pages = [ROOT / "README.md", *(page for page in (ROOT / "docs").rglob("*.md") if "generated" not in page.parts)]
    pages += [*(ROOT / "plugins").rglob("*.js"), *(ROOT / "plugins").rglob("*.md")]
    assert not [f"{page}: {match}" for page in pages for match in DROPPED.findall(page.read_text())]


def test_every_picture_is_linked():
    text = "".join(page.read_text() for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")))
    images = ROOT / "docs" / "images"
    assert not [path for path in images.rglob("*.png") if f"images/{path.relative_to(images)}" not in text]


HELPS = [*registry().entries("commands"), *(f"fit --fitter {name}" for name in registry().entries("fitters"))]
A_TYPE = re.compile(r"\b(TEXT|INTEGER|FLOAT|PATH|BOOLEAN|DIRECTORY)\b|<(str|int|float|list)\b|\.{4}")
A_RIDDLE = re.compile(r"^ +-.*?  +(?:of|what|how|which|where|its) .*", re.MULTILINE | re.IGNORECASE)


@pytest.mark.parametrize("line", HELPS)
def test_help_uses_the_fields_words(line, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    shown = golden_cases.run([*line.split(), "--help"])
    options = shown[shown.index("Options:") :]
    assert not DROPPED.findall(shown)
    assert not A_TYPE.findall(shown), "a metavar says what is expected"
    assert not A_RIDDLE.findall(options), "a help line begins with a noun or a verb"


def test_texts_use_the_fields_words():
    found = []
    for package in ("perfcore", "plugins"):
        for file in sorted((ROOT / package).rglob("*.py")):
            for number, text in shown_texts(ast.parse(file.read_text())):
                found += [f"{file.relative_to(ROOT)}:{number}: {match}" for match in DROPPED.findall(text)]
    assert not found


def test_a_short_window_falls_back_to_all_samples(folder, monkeypatch, perf):
    monkeypatch.chdir(folder)
    options = ["--column", "cpu 0 available", "--window", "10s"]
    said = perf("stochastic", "summarize", "availability.csv", *options, short=True).out
    assert "--window 10s holds only 6 samples: all 110 are used" in said
