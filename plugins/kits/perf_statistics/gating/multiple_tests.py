"""Probabilities of many tests, so that their number does not make false alarms."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

ERRORS = ("fwer", "fdr")  # the chance of any false alarm; or the share of alarms that are false


def adjusted(probabilities: Floats, errors: str) -> Floats:
    """Probabilities adjusted for the kind of errors that are to be rare: ``"fwer"`` by Holm, ``"fdr"`` by BH."""
    return holm(probabilities) if errors == "fwer" else benjamini_hochberg(probabilities)


def holm(probabilities: Floats) -> Floats:
    """Probabilities of which those below a level have any false one among them with that probability at most.

    S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979.
    """
    order = np.argsort(probabilities, kind="stable")
    count = len(probabilities)
    adjusted = np.empty(count)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate((count - np.arange(count)) * probabilities[order]))
    return adjusted


def benjamini_hochberg(probabilities: Floats) -> Floats:
    """Probabilities of which those below a level are false by that share, on average.

    Y. Benjamini, Y. Hochberg, "Controlling the false discovery rate", Journal of the Royal Statistical Society B 57,
    1995.
    """
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(probabilities), dtype=np.float64)
