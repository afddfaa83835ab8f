"""What an implementation of each hook must be: one door for authors of plugins, who inherit from the class here.

The matching test suites are in `perfcore.testing`; the contract of representations is
`perfcore.stochastic.StochasticValue`, that of models `perfcore.Model`.
"""

from __future__ import annotations

from perfcore.hooks.options import NoOptions
from perfcore.models.fitter import Fitter
from perfcore.models.function import Function
from perfcore.models.segmenter import Basis, Segmentation, Segmenter, SequenceSegmenter
from perfcore.reading.reader import Reader

__all__ = ["Basis", "Fitter", "Function", "NoOptions", "Reader", "Segmentation", "Segmenter", "SequenceSegmenter"]
