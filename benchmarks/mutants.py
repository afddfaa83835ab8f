"""Do the tests notice? Small changes of the numerical hearts, each judged by the tests of its part.

python benchmarks/mutants.py                        # 25 changes of each part
python benchmarks/mutants.py --most 100 --seed 2    # before a release
python benchmarks/mutants.py replay                 # this part alone

One comparison, operator, number, condition or call of a module is changed in a copy of its package, and the part's
tests and the module's own examples run on it. A change that no test notices *survives*; it is printed as the lines that
differ. Some survivors change nothing that can be seen: a bound that is never reached, a shortcut. The exit status is 1
if fewer than 85% of the changes of a part are noticed.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import doctest
import importlib
import math
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
HANG_S, AS_LONG = 900, 5  # a change that makes the tests take so many times as long is noticed
COMPARISONS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult}
# Constants that bound time, memory or rounding errors alone, and seeds: no answer shows a change of them.
SPARED = {
    *("_FEWEST_REPLAYS", "_BURSTS_IN_ALL", "_REPLAYS_AT_ONCE", "_BURSTS_AT_ONCE", "_MOST_STEPS"),  # whatif
    *("PARTS", "_MANY_MEANS", "_MOST_MEANS", "_MOST_PATHS", "_PATHS_AT_ONCE"),  # engine
    *("_ROWS_AT_ONCE", "_BLOCKS", "_SUMS"),  # comparison
    *("_NODES", "_LOWEST", "_HERMITE_NODES", "_LEGENDRE_NODES", "_REACH", "_CHUNK", "_NEGLIGIBLE", "_DRAWS", "_SEED"),
}
LEAST_NOTICED = 0.85  # of the changes of each part
LIBRARIES = ("pandas", "scipy.optimize", "scipy.stats")  # that take long to import


class Part(NamedTuple):
    """Modules that are changed, and what judges them."""

    folder: str
    package: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]


PARTS = {
    "segmentation": Part(
        "plugins/fitters",
        "perf_worley",
        ("*_tree.py", "minimax.py", "segmenters.py"),
        tuple(f"tests/worley/test_{name}.py" for name in ("kernels", "minimax", "segmenters")),
    ),
    "arithmetic": Part(
        "plugins/stochastic",
        "perf_stochastic",
        ("histogram_arithmetic.py", "normal.py"),
        tuple(f"tests/stochastic/test_{name}.py" for name in ("histogram", "kernels", "normal", "stochastic")),
    ),
    "normal": Part(
        "plugins/stochastic",
        "perf_stochastic",
        ("normal.py",),
        ("tests/stochastic/test_normal.py", "tests/stochastic/test_kernels.py"),
    ),
    "laws": Part(
        "plugins/fitters",
        "perf_scaling",
        ("growth.py", "model.py", "array_form.py", "family.py", "forms.py", "posterior.py", "several.py"),
        (
            *(f"tests/scaling/test_{name}.py" for name in ("law_growth", "law_posterior", "law_model", "internals")),
            "tests/cli/test_fit.py",
        ),
    ),
    "joint": Part(
        "plugins/fitters",
        "perf_timing",
        ("joint_solver.py",),
        ("tests/timing/test_kernels.py", "tests/timing/test_bounds.py", "tests/timing/test_strohmaier_fitter.py"),
    ),
    "gate": Part(
        "plugins/kits",
        "perf_statistics",
        ("gating.py",),
        ("tests/gate/test_versions.py", "tests/gate/test_kernels.py", "tests/compare/test_kernels.py"),
    ),
    "versions": Part(
        "plugins/commands", "perf_gate", ("versions.py",), ("tests/gate/test_versions.py", "tests/gate/test_kernels.py")
    ),
    "comparison": Part(
        "plugins/commands",
        "perf_gate",
        ("comparison.py",),
        (
            *("tests/compare/test_kernels.py", "tests/compare/test_comparison.py", "tests/cli/test_compare.py"),
            *("tests/scaling/test_law_comparison.py", "tests/scaling/test_internals.py"),
        ),
    ),
    "predictors": Part(
        "plugins/fitters",
        "perf_forecast",
        ("predictors.py",),
        ("tests/forecast/test_kernels.py", "tests/forecast/test_forecast_fitter.py"),
    ),
    "engine": Part(
        "plugins/fitters",
        "perf_scaling",
        ("engine.py",),
        tuple(f"tests/scaling/test_{name}.py" for name in ("internals", "law_tables", "law_posterior")),
    ),
    "whatif": Part(
        "plugins/commands",
        "perf_analysis",
        ("*whatif*.py",),
        ("tests/whatif/test_whatif.py", "tests/gpu/test_gpu_whatif.py", "tests/cli/test_whatif.py"),
    ),
    "project": Part("plugins/commands", "perf_project", ("model.py", "extrapolation.py"), ("tests/project",)),
    "replay": Part(
        "plugins/kits",
        "perf_traces",
        ("messages/replay.py", "messages/kernels.py", "messages/matching.py"),
        (
            *("tests/messages/test_kernels.py", "tests/messages/test_readers.py"),
            *("tests/traces/test_kineto_messages.py", "tests/whatif/test_whatif.py"),
        ),
    ),
    "readers": Part(
        "plugins/kits",
        "perf_tables",
        ("meanings.py",),
        (
            "tests/core/test_columns.py",
            "tests/io/test_table_shapes.py",
            "tests/scaling/test_law_model.py",
        ),
    ),
    "roles": Part(
        "",
        "perfcore",
        ("data/columns.py",),
        ("tests/core/test_columns.py", "tests/core/test_observations.py", "tests/io/test_table_shapes.py"),
    ),
}


class Sites(ast.NodeTransformer):
    """Places of a module that can be changed; with the number of one, it is changed there.

    Parameters
    ----------
    chosen : int or None
        Which place, in the order of the walk.
    """

    def __init__(self, chosen: int | None = None) -> None:
        self.chosen, self.count = chosen, 0

    def _here(self) -> bool:
        self.count += 1
        return self.count - 1 == self.chosen

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Enter the body alone: neither decorators nor annotations."""
        node.body = [self.visit(each) for each in node.body]
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """Spare constants: of several that are assigned at once all or none."""
        names = {each.id for each in ast.walk(node.targets[0]) if isinstance(each, ast.Name)}
        return node if names <= SPARED else self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.value = self.visit(node.value) if node.value else None
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS and self._here():
            node.ops = [COMPARISONS[type(node.ops[0])]()]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if type(node.op) in OPERATORS and self._here():
            node.op = OPERATORS[type(node.op)]()
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        if self._here():
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return node.operand if isinstance(node.op, ast.Not | ast.USub) and self._here() else node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if type(node.value) in (int, float) and self._here():
            return ast.Constant(node.value + 1)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if isinstance(node.value, ast.Constant):
            return node
        return ast.Pass() if isinstance(node.value, ast.Call) and self._here() else self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        return ast.Pass() if self._here() else self.generic_visit(node)


def main() -> int:
    """Judge a sample of the changes of each part."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help="of these alone: " + ", ".join(PARTS))
    parser.add_argument("--most", type=int, default=25, help="changes of each part")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    os.chdir(ROOT)
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # threads do not survive a fork
    for library in LIBRARIES:
        importlib.import_module(library)
    shares, table = [], ["| part | places | changes | noticed | survived |", "|---|--:|--:|--:|--:|"]
    for name in given.parts or PARTS:
        part = PARTS[name]
        places = list(_places(part))
        if missing := [file for file in part.tests if not (ROOT / file).exists()]:
            raise SystemExit(f"{name}: no such tests: {', '.join(missing)}")
        start = time.monotonic()
        if _noticed(part, places[0][0], places[0][0].read_text(), HANG_S):
            raise SystemExit(f"{name}: its tests fail without any change")
        limit_s = min(HANG_S, 60.0 + AS_LONG * (time.monotonic() - start))
        chosen = random.Random(given.seed).sample(places, min(given.most, len(places)))
        lived = [shown for module, number in chosen if (shown := _survivor(part, module, number, limit_s))]
        shares.append(1.0 - len(lived) / len(chosen))
        table.append(f"| {name} | {len(places)} | {len(chosen)} | {len(chosen) - len(lived)} | {len(lived)} |")
    print("\n".join(table))
    return 0 if min(shares) >= LEAST_NOTICED else 1


def _places(part: Part) -> Iterator[tuple[Path, int]]:
    package = ROOT / part.folder / part.package
    for pattern in part.modules:
        if not any(package.glob(pattern)):
            raise SystemExit(f"{package / pattern}: no such module")
    for module in sorted(file for pattern in part.modules for file in package.glob(pattern)):
        sites = Sites()
        sites.visit(ast.parse(module.read_text()))
        yield from ((module, number) for number in range(sites.count))


def _survivor(part: Part, module: Path, number: int, limit_s: float) -> str:
    """The lines that differ where no test notices the change; they are printed at once."""
    plain = ast.unparse(ast.parse(module.read_text()))
    changed = ast.unparse(ast.fix_missing_locations(Sites(number).visit(ast.parse(module.read_text()))))
    if _noticed(part, module, changed, limit_s):
        print(".", file=sys.stderr, flush=True)
        return ""
    lines = difflib.unified_diff(plain.splitlines(), changed.splitlines(), lineterm="", n=1)
    shown = "\n".join([f"{module.relative_to(ROOT)}, place {number}", *list(lines)[3:]])
    print(shown, end="\n\n", flush=True)
    return shown


def _noticed(part: Part, module: Path, changed: str, limit_s: float) -> bool:
    package = ROOT / part.folder / part.package
    with tempfile.TemporaryDirectory(prefix="perf-mutant-") as folder:
        stale = shutil.ignore_patterns("*.nbi", "*.nbc") if "@kernel" in changed else None  # kernels call each other
        shutil.copytree(package, Path(folder, part.package), ignore=stale)
        Path(folder, part.package, module.relative_to(package)).write_text(changed)
        process = os.fork()
        if not process:
            name = ".".join([part.package, *module.relative_to(package).with_suffix("").parts])
            os._exit(_fails(folder, name, part.tests, limit_s))
        return os.waitpid(process, 0)[1] != 0


def _fails(folder: str, name: str, tests: Sequence[str], limit_s: float) -> bool:
    """Judge in a fork, which need not import the libraries again."""
    signal.alarm(math.ceil(limit_s))
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1), os.dup2(silent, 2)
    os.environ["PYTHONPATH"] = folder
    sys.path.insert(0, folder)
    try:
        words = ["-x", "-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning", *tests]
        return pytest.main(words) != 0 or doctest.testmod(importlib.import_module(name)).failed > 0
    except BaseException:  # a change may end the process
        return True


if __name__ == "__main__":
    sys.exit(main())
