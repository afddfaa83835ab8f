"""Compiled kernels where nothing can be cached."""

import ast
import functools
import importlib
import math
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core import caching

from perf_statistics import kernels
from perfcore.base import progress


@pytest.fixture
def double(tmp_path, monkeypatch):
    """A function in a file of its own, whose machine code is kept beside it."""
    (tmp_path / "doubles.py").write_text("def double(value):\n    return value + value\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")  # which the environment may set
    yield importlib.import_module("doubles").double
    del sys.modules["doubles"]


def announced(compiled) -> list[str]:
    kernels._note_once.cache_clear()
    with progress.collected() as notes:
        assert compiled(2) == 4
    return notes


COMPILES = ["compiling numerical kernels, a few seconds, first use only"]


def test_says_that_it_compiles_only_while_there_is_something_to_compile(double):
    first = kernels.kernel(double)
    assert announced(first) == COMPILES
    assert announced(first) == []
    assert announced(kernels.kernel(double)) == []  # found on disk


def test_works_without_a_cache_folder_and_says_that_it_compiles(double, monkeypatch):
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])  # what numba finds where no folder can be written
    assert announced(kernels.kernel(double)) == COMPILES


def test_small_arrays_are_left_to_python_and_what_is_called_with_them(double):
    inner = kernels.kernel(double)

    @functools.partial(kernels.kernel, small=3)
    def outer(values):
        return inner(values)

    assert outer(np.array([1.0, 2.0])).tolist() == [2.0, 4.0]
    assert "compiled" not in vars(outer)
    assert "compiled" not in vars(inner)
    assert outer(np.arange(3.0)).tolist() == [0.0, 2.0, 4.0]
    assert outer.compiled.signatures
    assert inner.compiled.signatures


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
        if isinstance(function, ast.FunctionDef)
        and any(ast.unparse(decorator).startswith("kernel") for decorator in function.decorator_list)
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and not isinstance(node.value, ast.Constant | ast.Compare)
        for target in node.targets
        if isinstance(target, ast.Subscript)
        if any(isinstance(part, ast.Slice) for part in (target.slice, *getattr(target.slice, "elts", ())))
    ]
    assert slow == []


def test_machine_code_of_other_options_is_not_taken_from_disk(double, monkeypatch):
    def found_on_disk() -> int:
        compiled = kernels.kernel(double)
        assert compiled(2) == 4
        return sum(compiled.compiled.stats.cache_hits.values())

    assert (found_on_disk(), found_on_disk()) == (0, 1)
    monkeypatch.setitem(kernels._OPTIONS, "fastmath", {"contract"})
    assert (found_on_disk(), found_on_disk()) == (0, 1)


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_a_damaged_cache_is_made_again(double, tmp_path, suffix):
    assert kernels.kernel(double)(2) == 4
    (file,) = tmp_path.rglob(f"*{suffix}")
    whole = file.read_bytes()
    for damaged in (b"", b"not machine code", whole[: len(whole) // 2]):
        file.write_bytes(damaged)
        assert announced(kernels.kernel(double)) == COMPILES
        assert announced(kernels.kernel(double)) == []


def test_machine_code_of_other_arguments_is_not_taken(double, tmp_path):
    """Two processes that compile at once may give their files the same name."""
    compiled = kernels.kernel(double)
    assert (compiled(2), compiled(0.5)) == (4, 1.0)
    one, other = sorted(tmp_path.rglob("*.nbc"))
    one.write_bytes(other.read_bytes())
    assert (kernels.kernel(double)(2), kernels.kernel(double)(0.5)) == (4, 1.0)


def test_without_numba_kernels_run_in_python(monkeypatch):
    """Those that call each other, too; a note names it once."""
    monkeypatch.setattr(kernels, "_numba", lambda: None)
    kernels._note_once.cache_clear()
    half = kernels.kernel(lambda values: 0.5 * values)
    both = kernels.kernel(lambda values: half(values) + values.sum())
    with progress.collected() as notes:
        assert both(np.array([2.0, 4.0])).tolist() == [7.0, 8.0]
        assert half(np.array([2.0])).tolist() == [1.0]
    [note] = notes
    assert "numba is not installed" in note
    assert not kernels.can_compile()
