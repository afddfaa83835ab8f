"""The order of the house: no circle of modules, no plugin's name in the core, light help, stubs for type checkers."""

import ast
import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from child import run_lines

from perfcore.hooks.registry import registry

ROOT = Path(__file__).parents[2]
CORE = ROOT / "perfcore"

# What is chosen by name among implementations: the core must work whatever of these is installed.
NAMED_KINDS = ("fitters", "readers", "segmenters", "representations")

# Words that are a registered name by accident: file in perfcore/ and word, and what it means there.
OTHER_MEANING = {
    ("report.py", "interval"): "key of JSON",
    ("cli/output.py", "csv"): "form of a printed table, --table csv",
}

MOST_LINES = 8555  # of the core, without the suites for authors of plugins

HEAVY = ("numpy", "scipy", "pandas", "numba", "matplotlib", "statsmodels", "duckdb")


def source_files():
    """Dotted name and file of each module of the core and of the bundled plugins."""
    packages = [CORE, *sorted(folder for folder in (ROOT / "plugins").glob("*/perf_*") if folder.is_dir())]
    modules = {}
    for package in packages:
        for file in package.rglob("*.py"):
            parts = file.relative_to(package.parent).with_suffix("").parts
            modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return modules


def imported_modules(name, file, modules):
    """Modules that a file imports at run time, also in a function; not those that are imported for typing only."""
    imported, tree = set(), ast.parse(file.read_text())
    blocks = [each for each in ast.walk(tree) if isinstance(each, ast.If) and "TYPE_CHECKING" in ast.unparse(each.test)]
    for_typing = {id(node) for block in blocks for node in ast.walk(block)}
    for node in ast.walk(tree):
        if id(node) in for_typing:
            continue
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: relative import"
            members = [f"{node.module}.{alias.name}" for alias in node.names]
            imported |= {member if member in modules else node.module for member in members}
    imported = {each for each in imported if each in modules and each != name}
    if file.name == "__init__.py":  # a list of names that its modules define, loaded when they are asked for
        imported = {each for each in imported if not each.startswith(f"{name}.")}
    return imported


def reachable(start, imports):
    """Every module that a module leads to, itself only where a circle leads back."""
    met, waiting = set(), list(imports[start])
    while waiting:
        module = waiting.pop()
        if module not in met:
            met.add(module)
            waiting.extend(imports[module])
    return met


def circles(imports):
    """Sets of modules that lead to one another."""
    leads_to = {module: reachable(module, imports) for module in imports}
    return {
        tuple(sorted(other for other in reached if module in leads_to[other]))
        for module, reached in leads_to.items()
        if module in reached
    }


def test_circles_are_recognised():
    """Two circles that a bridge joins in one direction only, and a module beside them."""
    imports = {"a": {"b"}, "b": {"a", "c"}, "c": {"d"}, "d": {"e"}, "e": {"c"}, "f": {"a"}}
    assert circles(imports) == {("a", "b"), ("c", "d", "e")}


def test_no_modules_import_one_another_in_a_circle():
    modules = source_files()
    imports = {name: imported_modules(name, file, modules) for name, file in modules.items()}
    assert len(imports) > 300, "modules were not found"
    assert not sorted(circles(imports))


def texts(file):
    """Line and text of each string of a file that is no docstring, parts of f-strings included."""
    tree = ast.parse(file.read_text())
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    firsts = (node.body[0] for node in ast.walk(tree) if isinstance(node, documented))
    docstrings = {id(first.value) for first in firsts if isinstance(first, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.lineno, node.value


def test_the_core_names_no_implementation():
    """Neither as a whole text, nor within a suggested command; examples in docstrings may."""
    names = {name for kind in NAMED_KINDS for name in registry().entries(kind)}
    choice = re.compile(rf"--(?:fitter|reader|segmenter)[ =](?:{'|'.join(map(re.escape, sorted(names)))})\b")
    named, met = [], set()
    for file in sorted(CORE.rglob("*.py")):
        place = file.relative_to(CORE).as_posix()
        for line, text in texts(file):
            if (place, text) in OTHER_MEANING:
                met.add((place, text))
            elif text in names or choice.search(text):
                named.append(f"perfcore/{place}:{line}: {text!r}")
    assert not named
    assert met == set(OTHER_MEANING), "an exception is not needed any more"


@pytest.mark.parametrize("kind", ["commands", "fitters"])
def test_help_imports_nothing_that_computes_or_draws(kind):
    """In one process for all: whoever imports something first is named."""
    names = sorted(registry().entries(kind))
    lines = [[], *map(str.split, names)] if kind == "commands" else [["fit", "--fitter", name] for name in names]
    before = set()
    for words, ended in zip(lines, run_lines([[*words, "--help"] for words in lines]), strict=True):
        assert ended.status == 0, words
        assert "Usage" in ended.out, words
        assert not {*HEAVY} & ({*ended.modules} - before), words
        before |= {*ended.modules}


@pytest.mark.parametrize(("words", "most", "absent"), [
    (["fit", "runs.csv"], 84, ["pydantic", "rich", "scipy", "matplotlib", "perf_timing.options"]),
    (["gate", "old.json", "old.json"], 69, ["pydantic", "rich", "matplotlib", "perf_io.tables.csv"]),
    (["overheads", str(ROOT / "examples/halo/halo.prv")], 108, ["pydantic", "rich", "scipy", "pandas", "duckdb"]),
], ids=["fit", "gate", "overheads"])  # fmt: skip
def test_a_command_imports_what_it_needs(words, most, absent, tmp_path):
    """Files of ours that are executed, and libraries of which others have the use."""
    (tmp_path / "runs.csv").write_text("p,time\n1,10.2\n2,5.4\n4,3.1\n8,1.9\n16,1.2\n32,0.86\n")
    times = [{"command": "sort", "mean": 0.1, "times": [0.1, 0.11, 0.1, 0.12, 0.1]}]
    (tmp_path / "old.json").write_text(json.dumps({"results": times}))
    [ended] = run_lines([words], tmp_path)
    ours = [name for name in ended.modules if name.partition(".")[0].startswith("perf")]
    assert not set(absent) & set(ended.modules)
    assert len(ours) <= most


def test_the_suites_of_other_pythons_are_there():
    named = re.findall(r'"(tests/[\w/.]+)"', (ROOT / "benchmarks/pythons.py").read_text())
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_core_is_small():
    lines = [len(file.read_text().splitlines()) for file in CORE.rglob("*.py") if "testing" not in file.parts]
    assert sum(lines) <= MOST_LINES


# What recipes need is what `pyproject.toml` says.
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOWEST = {
    name: version
    for wanted in (*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["view"])
    for name, version in [re.match(r"([\w-]+)>=([\d.]+)", wanted).groups()]
}
OTHER_NAMES = {"python-duckdb": "duckdb", "matplotlib-base": "matplotlib"}  # of conda-forge


def test_conda():
    recipe = yaml.safe_load((ROOT / "recipes" / "conda" / "recipe.yaml").read_text())
    needed = dict(re.match(r"([\w-]+) >=([\d.]+)", line).groups() for line in recipe["requirements"]["run"][1:])
    needed = {OTHER_NAMES.get(name, name): version for name, version in needed.items()}
    assert needed == {name: LOWEST[name] for name in LOWEST if name not in ("bokeh", "jinja2", "starlette", "uvicorn")}
    python = PROJECT["requires-python"].removeprefix(">=")
    assert recipe["context"] == {"version": PROJECT["version"], "python_min": python}


def test_spack():
    recipe = (ROOT / "recipes" / "spack" / "package.py").read_text()
    needed = re.findall(r'depends_on\("(?:py-)?([\w-]+)(?:\+\w+)?@([\d.]+):', recipe)
    assert dict(needed) == {**LOWEST, "python": PROJECT["requires-python"].removeprefix(">="), "hatchling": "1.24"}
    assert f'version("{PROJECT["version"]}")' in recipe


@pytest.mark.parametrize(
    "path", re.findall(r"/opt/source/(\S+)", (ROOT / "recipes/apptainer/perfcore.def").read_text())
)
def test_what_a_container_copies_is_there(path):
    assert (ROOT / path).exists()


def test_the_image_installs_this_project_runs_its_program_and_is_no_root():
    words = (ROOT / "recipes" / "Containerfile").read_text().split("\n")
    instructions = [line.split(maxsplit=1) for line in words if line and not line.startswith("#")]
    [installs] = [text for kind, text in instructions if kind == "RUN" and "pip install" in text]
    source, extras = re.search(r"(/\w+)\[([\w,]+)\]", installs).groups()
    assert ["COPY", f". {source}"] in instructions
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])
    images = [text.split()[0] for kind, text in instructions if kind == "FROM"]
    assert len(set(images)) == 1  # the environment moves between images with the same Python
    python = tuple(map(int, re.search(r"python:(\d+)\.(\d+)", images[0]).groups()))
    assert python >= tuple(map(int, PROJECT["requires-python"].removeprefix(">=").split(".")))
    last = dict(instructions)
    assert json.loads(last["ENTRYPOINT"])[0] in PROJECT["scripts"]
    assert last["USER"] != "root"


# Options are known without the implementation: nothing that computes, draws or parses files is imported for them.
ENTRIES = [entry for kind in registry().kinds for entry in registry().entries(kind).values()]
WITH_OPTIONS = [entry for entry in ENTRIES if entry.options is not None and entry.distribution == "perfcore"]

_PROGRAM = """
import sys
from perfcore.hooks.options import build, describe
from perfcore.hooks.registry import registry
for word in sys.argv[1:]:
    kind, _, name = word.partition(":")
    options = registry().entry(kind, name).load_options()
    defaults = {field.name: field.default for field in describe(options)}
    assert build(options, defaults, name) == options()
    for heavy in %r:
        if heavy in sys.modules:
            sys.exit(f"options of the {kind[:-1]} {name} import {heavy}")
"""


def test_options_import_nothing_heavy():
    """In one process for all: the first that imports something heavy is named."""
    words = [f"{entry.kind}:{entry.name}" for entry in WITH_OPTIONS]
    program = [sys.executable, "-c", _PROGRAM % ((*HEAVY, "msgspec"),), *words]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", ["fitters", "segmenters", "representations"])
def test_whatever_an_option_selects_announces_its_options(kind):
    assert not [e.name for e in registry().entries(kind).values() if e.options is None and e.distribution == "perfcore"]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.kind}-{entry.name}")
def test_announced_options_are_those_of_the_implementation(entry):
    announced, implementation = entry.options, entry.load()
    if announced is not None and isinstance(implementation, type):
        assert entry.load_options() is implementation.Options
    elif entry.kind == "readers":
        assert not implementation.Options.__dataclass_fields__, "has options, which it does not announce"


# What type checkers and readers of the reference are told of `perfcore`: as much as `dir` lists.
SLIP = 'perfcore.fit(runs, fitter="scaling", parametre="p")'
PROGRAM = f"""import perfcore
runs = perfcore.read("runs.csv")
model = perfcore.fit(runs, fitter="scaling", parameter="p")
reveal_type(model)
reveal_type(perfcore.fit(runs, fitter="worley", degree=2))
reveal_type(perfcore.fit(runs))
reveal_type(model.predict([128], interval=0.95))
model.save("model.json")
{SLIP}
"""


@pytest.fixture(scope="module")
def stubs():
    """The program that writes the stubs."""
    spec = importlib.util.spec_from_file_location("write_stubs", ROOT / "plugins" / "stubs" / "write_stubs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_stubs_are_up_to_date(stubs):
    assert stubs.STUB.read_text() == stubs.stub_text(), "run `python plugins/stubs/write_stubs.py`"
    assert (stubs.STUB.parent / "py.typed").read_text() == "partial\n"


def test_every_package_with_a_function_says_that_it_is_typed(stubs):
    for name in set(re.findall(r"^from (perf\w*)", stubs.stub_text(), re.MULTILINE)):
        assert (Path(importlib.util.find_spec(name).origin).parent / "py.typed").exists(), name


@pytest.mark.slow
def test_a_type_checker_knows_every_function(stubs, tmp_path):
    pytest.importorskip("mypy")
    names = ["fit", "rank", *re.findall(r"import \w+ as (\w+)", stubs.stub_text())]
    assert {"compare", "overheads", "fit"} <= set(names)
    (tmp_path / "use.py").write_text("\n".join(["import perfcore", *(f"reveal_type(perfcore.{n})" for n in names)]))
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), "use.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    revealed = re.findall(r'^use\.py:(\d+): note: Revealed type is "(.*)"$', done.stdout, re.MULTILINE)
    assert [int(line) - 2 for line, _ in revealed] == list(range(len(names))), done.stdout + done.stderr
    assert [name for name, (_, kind) in zip(names, revealed, strict=True) if kind == "Any"] == []


@pytest.mark.slow
def test_a_strict_type_checker_accepts_a_program_and_finds_a_slip_in_an_option(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "use.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "use.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert re.findall(r'^use\.py:\d+: note: Revealed type is "(?:.*\.)?(\w+)"$', done.stdout, re.MULTILINE) == [
        "ScalingModel", "PhaseModel", "Model", "DataFrame",
    ], done.stdout + done.stderr  # fmt: skip
    errors = re.findall(r"^use\.py:(\d+): error", done.stdout, re.MULTILINE)
    assert {PROGRAM.splitlines()[int(line) - 1] for line in errors} == {SLIP}
