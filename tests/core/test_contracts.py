"""What the contracts give to those who inherit from them."""

import numpy as np
import pytest

from perfcore import UtilizationCurve
from perfcore.contracts import Basis, Fitter, NoOptions, Reader, Segmentation, Segmenter


class Halves(Segmenter):
    def segment(self, curve, n_phases, basis):
        return Segmentation(np.linspace(0.0, curve.duration, n_phases + 1))


def test_a_sequence_is_made_of_segments_unless_overridden():
    found = Halves().sequence(UtilizationCurve([0, 4], [1]), [1, 2], Basis())
    assert [each.breaks.tolist() for each in found] == [[0, 4], [0, 2, 4]]


def test_options_default_to_the_declared_ones():
    assert Halves().options == NoOptions()
    assert Halves("given").options == "given"


def test_a_reader_writes_only_if_it_says_so(tmp_path):
    class ReadsOnly(Reader):
        def sniff(self, source):
            return 0.0

        def read(self, source, options):
            return None

    assert not ReadsOnly.writes
    with pytest.raises(NotImplementedError):
        ReadsOnly().write(None, tmp_path / "x")


@pytest.mark.parametrize("contract", [Reader, Segmenter, Fitter])
def test_a_contract_alone_is_no_implementation(contract):
    with pytest.raises(TypeError, match="abstract"):
        contract()
