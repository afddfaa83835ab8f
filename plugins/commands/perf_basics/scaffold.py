"""`perf plugins new`: a package with one plugin that works; `perf plugins check`: the contract suites of plugins."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import keyword
import os
import re
import tempfile
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from perfcore.base import pd
from perfcore.base.errors import InputError, OptionError
from perfcore.base.files import write_bytes
from perfcore.hooks.registry import Entry, registry

_SUITES = {kind: f"{kind[:-1].capitalize()}Suite" for kind in ("fitters", "segmenters", "functions", "representations")}
KINDS = ("fitter", "segmenter", "function", "representation", "reader", "command")

_PYPROJECT = """[build-system]
requires = ["hatchling>=1.24"]
build-backend = "hatchling.build"

[project]
name = "{package}"
version = "0.1.0"
description = "perfcore plugin: {kind} {name}"
requires-python = ">=3.11"
dependencies = ["perfcore"]

[project.optional-dependencies]
test = ["pytest>=8.0"]

# Named after the package, so that it cannot clash with another plugin's.
[project.entry-points.perfcore]
{module} = "{module}"

[tool.hatch.build.targets.wheel]
packages = ["{module}"]
"""
_HOOKS = '''"""A perfcore plugin: what it adds, by name; the implementation is imported when it is used."""

from perfcore import hookimpl
from perfcore.hooks.specs import Register


@hookimpl
def register_{kind}s(register: Register) -> None:
    """Announce the {kind}."""
    register("{name}", "{module}.{kind}:{target}", help="{help}"{more})
'''
_HELP = {
    "fitter": "power law", "segmenter": "phases of equal length", "function": "surface of subdomains",
    "representation": "Laplace distribution", "reader": "runs, one `p seconds` in each line",
    "command": "Predict at twice the largest measured point.",
}  # fmt: skip
_BODIES = {
    "fitter": """    name = "{name}"

    def data(self):
        p = np.array([1.0, 2, 4, 8, 16, 32])
        return Measurements(pd.DataFrame({"p": p, "time_s": 10.0 * p**-0.8 * (1 + 0.01 * np.cos(p))}), source="runs")

    def points(self):
        return np.array([2.0, 64.0])
""",
    "segmenter": "    segmenter = {target}\n    break_tolerance = 1.0\n",
    "function": "    function = {target}\n",
    "representation": "    representation = {target}\n    values = ({target}(30.0, 1.0), {target}(20.0, 0.5))\n",
    "reader": """    reader = {target}
    samples = (("runs.txt", "# example 1\\n1 10.0\\n2 5.1\\n4 2.7\\n"),)
""",
}
_COMMAND_TEST = """
def test_it_doubles_the_largest_point():
    model = perfcore.fit(pd.DataFrame({"p": [1.0, 2, 4, 8], "time_s": [8.0, 4.0, 2.0, 1.0]}))
    assert {target}(model).value == model.predict([16.0])[0]
"""
_IMPORTS = {
    "fitter": (
        "import numpy as np\nimport pandas as pd\n\nfrom perfcore import Measurements\n"
        "from perfcore.testing import FitterSuite\n"
    ),
    "command": "import pandas as pd\n\nimport perfcore\nfrom {module}.command import {target}\n",
}


def new(name: str, kind: str, folder: str | Path = ".") -> list[Path]:
    """Write a package ``perfcore-NAME`` that adds one thing of a kind, with a test, into a folder; return its files."""
    if not re.fullmatch(r"[a-z][a-z0-9-]*", name) or keyword.iskeyword(name):
        raise OptionError(f"name {name!r}: small letters, digits and hyphens are accepted, such as power-law")
    if kind not in KINDS:
        raise OptionError(f"--kind {kind!r}: choose from {', '.join(KINDS)}")
    package, module = f"perfcore-{name}", f"perfcore_{name.replace('-', '_')}"
    target = "".join(part.capitalize() for part in name.split("-"))
    target = module.removeprefix("perfcore_") if kind == "command" else target
    root = Path(folder) / package
    if root.exists():
        raise InputError(root, "exists; name another plugin, or remove it")
    code = (resources.files("perf_basics") / "templates" / f"{kind}.py").read_text(encoding="utf-8")
    code = re.sub(r"\bExample\b", target, code)
    code = re.sub(r"\bexample\b", target if kind == "command" else name, code)
    registered = "p^(-2/3)" if kind == "function" else name
    facts = {"package": package, "module": module, "kind": kind, "name": registered, "target": target}
    usual = f"from perfcore.testing import {kind.capitalize()}Suite\nfrom {module}.{kind} import {target}\n"
    asked = " This one does not look for steps." if kind == "segmenter" else ""
    suite = f'class TestContract({kind.capitalize()}Suite):\n    """What perfcore asks of every {kind}.{asked}"""\n\n'
    tests = _COMMAND_TEST if kind == "command" else f"\n{suite}{_BODIES[kind]}"
    test = f'"""The {kind} keeps its contract."""\n\n{_IMPORTS.get(kind, usual)}\n{tests}'
    for fact in ("name", "target", "module"):  # other braces stay
        test = test.replace("{" + fact + "}", facts[fact])
    more = {
        "fitter": ', options="perfcore.models.fitting:CurveOptions"',
        "reader": ', suffixes=(".txt",)',
        "command": f', group="Others", function="{module}.{kind}:{target}"',
    }
    contents = {
        "pyproject.toml": _PYPROJECT.format(**facts),
        f"{module}/__init__.py": _HOOKS.format(**facts, help=_HELP[kind], more=more.get(kind, "")),
        f"{module}/{kind}.py": code,
        f"tests/test_{kind}.py": re.sub(r"\bexample\b", name, test),
    }
    for path, text in contents.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        write_bytes(root / path, text.encode())
    return [root / path for path in contents]


def synthetic(fitter: Any) -> Any:
    """Return small data of the first type that a fitter takes."""
    import perfcore

    rng = np.random.default_rng(1)
    kind = (fitter.takes or (perfcore.Measurements,))[0]
    if kind is perfcore.UtilizationCurve or kind is perfcore.Trace:
        heights = np.repeat([2.0, 8.0, 4.0], 20) + 0.5 * rng.random(60)
        return perfcore.UtilizationCurve(np.arange(61.0), heights)
    if kind is perfcore.Series:
        return perfcore.Series(range(60), {"value": 5.0 + rng.random(60)}, source="series")
    first, *others = getattr(fitter, "variables", ("p",))
    p = np.tile([1.0, 2, 4, 8, 16, 32, 64], 3 if others else 1)
    columns = {first: p, **{name: np.repeat([1.0, 2.0, 4.0], 7) for name in others}}
    time = (5.0 + 95.0 / p) * (1.0 + 0.02 * rng.standard_normal(len(p)))
    return perfcore.Measurements(pd.DataFrame({**columns, "time_s": time}), source="runs")


def values_of(representation: Any) -> list[Any]:
    """Return two values of a representation, of positive samples."""
    samples = 40.0 + np.random.default_rng(1).gamma(4.0, 1.0, 1000)
    return [representation.from_samples(scale * samples, representation.Options()) for scale in (1.0, 2.0)]


def points_of(model: Any) -> Any:
    """Return two points within what a model was fitted to."""
    named = {name: np.array([low, high], dtype=np.float64) for name, (low, high) in model.ranges.items()}
    named |= {name: np.array([names[0]] * 2) for name, names in model.levels.items()}
    named = named or {next(iter(model.variables)): np.array([1.0, 2.0])}
    return next(iter(named.values())) if len(named) == 1 and len(model.variables) == 1 else named


def suite(kind: str, name: str) -> type:
    """The contract suite for a registered fitter, segmenter, function or representation."""
    from perfcore import testing

    thing = registry().load(kind, name)
    content: dict[str, Any] = {kind[:-1]: thing}
    if kind == "fitters":
        content = {"name": name, "data": lambda _: synthetic(thing), "points": lambda self: points_of(self.fit())}
    elif kind == "segmenters":
        content["break_tolerance"] = 1.0
    elif kind == "representations":
        loose = {"tolerance": 0.1, "mean_tolerance": 0.1, "std_tolerance": np.inf}
        content |= {"values": values_of(thing), **loose}
    return type("Suite", (getattr(testing, _SUITES[kind]),), content)


def failures(entries: list[Entry]) -> Iterator[str]:
    """Yield a line for each test of the contract suites that fails; readers and commands have none."""
    if importlib.util.find_spec("pytest") is None:
        yield "contract suites need pytest: pip install pytest"
        return
    import pytest

    chosen = {f"Test{k}": entry for k, entry in enumerate(entries) if entry.kind in _SUITES}
    if not chosen:
        return
    collected = _Collected()
    with tempfile.TemporaryDirectory(prefix="perf-check-") as folder, contextlib.redirect_stdout(io.StringIO()):
        file = Path(folder) / "test_contracts.py"
        classes = (f"{name} = suite({entry.kind!r}, {entry.name!r})\n" for name, entry in chosen.items())
        file.write_text("from perf_basics.scaffold import suite\n" + "".join(classes))
        words = [str(file), "--rootdir", folder, "-c", os.devnull, "-q", "-p", "no:cacheprovider"]
        pytest.main([*words, "--import-mode=importlib"], plugins=[collected])
    for test, problem in collected.problems:
        suite = next((part for part in test.split("::") if part in chosen), "")
        entry = chosen.get(suite)
        what = f"{entry.kind[:-1]} {entry.name!r}" if entry is not None else "contract suites"
        yield f"{what}: {test.rpartition('::')[2]}: {problem}"


class _Collected:
    """What failed, as pytest tells its plugins."""

    def __init__(self) -> None:
        self.problems: list[tuple[str, str]] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep the last line of a failure."""
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            text = crash.message if crash is not None else str(report.longrepr)
            self.problems.append((report.nodeid, text.strip().splitlines()[0][:200]))

    def pytest_collectreport(self, report: Any) -> None:
        """Keep why the tests could not be made."""
        if report.failed:
            self.problems.append((report.nodeid, str(report.longrepr).strip().splitlines()[-1][:200]))
