"""Compiled kernels where nothing can be cached."""

import ast
import math
import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np

from perfcore.base import kernels

PROGRAM = """
import numba.core.caching as caching
caching.CacheImpl._locator_classes = []   # what numba finds where no folder can be written
import perfcore
from perfcore.base import progress

class Sink(progress.Sink):
    def note(self, text):
        print(text)

with progress.show_with(Sink()):
    model = perfcore.fit(perfcore.UtilizationCurve([0, 3, 10], [1, 5]), fitter="worley", phases=2, degree=0)
print(model.breaks, model.epsilon)
"""


def test_fits_without_a_cache_folder_and_says_that_it_compiles():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["compiling the kernels, once for this machine (some seconds)", "(3.0,) 0.0"]


def test_says_that_it_compiles_only_while_there_is_something_to_compile(tmp_path):
    """Kernels that no command has called yet are no reason to announce anything."""
    (tmp_path / "curve.csv").write_text("start,end,value\n0,1,1\n1,3,5\n3,4,2\n")
    command = [sys.executable, "-m", "perfcore", "fit", str(tmp_path / "curve.csv"), "--fitter", "worley"]
    command += ["--phases", "2", "--degree", "0"]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    first, second = (
        subprocess.run(command, capture_output=True, text=True, check=True, env=environment) for _ in range(2)
    )
    assert first.stderr == "perf: compiling the kernels, once for this machine (some seconds)\n"
    assert second.stderr == ""
    assert first.stdout == second.stdout


def _weighted(values, weights, power):
    total = 0.0
    for k in range(len(values)):
        total += weights[k] * math.exp(-values[k]) * abs(values[k]) ** power
    for k in range(len(values)):
        total -= math.log(1.0 + values[k] * values[k]) * math.sin(weights[k] * total)
    return total


def test_a_kernel_that_another_calls_becomes_part_of_it():
    """Else it has two machine codes, and a process that compiles takes the one, a process that loads the other."""
    inner = numba.njit(**kernels._OPTIONS)(_weighted)

    @numba.njit(**kernels._OPTIONS)
    def outer(values, weights):
        return inner(values, weights, 1.5) + inner(weights, values, 2.5)

    outer(np.ones(3), np.ones(3))
    (text,) = outer.inspect_llvm().values()
    assert not [line for line in text.splitlines() if "call " in line and "_weighted" in line]


def test_no_kernel_assigns_an_array_to_a_slice():
    """Two seconds of compilation each time, for the text of an error about shapes."""
    slow = [
        f"{file.name}:{node.lineno}: {ast.unparse(node)}"
        for file in sorted((Path(__file__).parents[2] / "plugins").rglob("*.py"))
        for function in ast.walk(ast.parse(file.read_text()))
        if isinstance(function, ast.FunctionDef) and "kernel" in map(ast.unparse, function.decorator_list)
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and not isinstance(node.value, ast.Constant | ast.Compare)
        for target in node.targets
        if isinstance(target, ast.Subscript)
        if any(isinstance(part, ast.Slice) for part in (target.slice, *getattr(target.slice, "elts", ())))
    ]
    assert slow == []


def test_machine_code_of_other_options_is_not_taken_from_disk(tmp_path, monkeypatch):
    (tmp_path / "doubles.py").write_text("def double(value):\n    return value + value\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    double = __import__("doubles").double

    def found_on_disk() -> int:
        compiled = kernels.kernel(double)
        assert compiled(2) == 4
        return sum(compiled.stats.cache_hits.values())

    assert (found_on_disk(), found_on_disk()) == (0, 1)
    monkeypatch.setitem(kernels._OPTIONS, "fastmath", {"contract"})
    assert (found_on_disk(), found_on_disk()) == (0, 1)
