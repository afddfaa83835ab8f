"""What the contracts give to those who inherit from them."""

import numpy as np
import pytest

from perf_formulas.formula import FormulaFunction
from perfcore import UtilizationCurve
from perfcore.contracts import Basis, Reader, Segmentation, Segmenter


class Halves(Segmenter):
    def segment(self, curve, n_phases, basis):
        return Segmentation(np.linspace(0.0, curve.duration, n_phases + 1))


def test_a_sequence_is_made_of_segments_unless_overridden():
    found = Halves().sequence(UtilizationCurve([0, 4], [1]), [1, 2], Basis())
    assert [each.breaks.tolist() for each in found] == [[0, 4], [0, 2, 4]]


def test_a_reader_writes_only_if_it_says_so(tmp_path):
    class ReadsOnly(Reader):
        def sniff(self, source):
            return 0.0

        def read(self, source, options):
            return None

    assert not ReadsOnly.writes
    with pytest.raises(NotImplementedError):
        ReadsOnly().write(None, tmp_path / "x")


class Surface(FormulaFunction):
    name, formula, variables = "surface", "(n/p)^(2/3)", ("n", "p")


def test_a_function_is_its_formula():
    points = {"p": np.array([1.0, 8.0]), "n": np.array([64.0, 64.0]), "unused": np.zeros(2)}
    assert Surface()(points) == pytest.approx([16.0, 4.0])


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 4)])
def test_a_function_keeps_the_shape_of_its_points_also_where_it_is_constant(shape):
    class Constant(FormulaFunction):
        name, formula, variables = "2", "2", ()

    points = {"p": np.full(shape, 8.0), "n": np.full(shape, 64.0)}
    for function, value in ((Surface(), 4.0), (Constant(), 2.0)):
        found = function(points)
        assert found == pytest.approx(np.full(shape, value))
        assert found.shape == shape
        assert not np.shares_memory(found, points["p"])


def test_a_function_that_no_formula_expresses_overrides_the_call():
    class Steps(FormulaFunction):
        name, formula, variables = "nodes", "ceil(p/16)", ("p",)

        def __call__(self, points):
            return np.ceil(points["p"] / 16.0)

    assert Steps()({"p": np.array([1.0, 16.0, 17.0])}).tolist() == [1.0, 1.0, 2.0]
