"""Whether samples look normal."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


_FEWEST = 20  # below, the test's distribution is not the one that it assumes
_DOUBTFUL = 0.05


def doubts(samples: npt.NDArray[np.float64]) -> tuple[str, ...]:
    """What speaks against a normal: a note with the figures, or none.

    The test is D'Agostino and Pearson's of skewness and kurtosis ("Tests for Departure from Normality", Biometrika 60,
    1973). That it finds nothing is no proof, least of all with few samples.
    """
    if samples.min() == samples.max():
        return ()
    if len(samples) < _FEWEST:
        return (f"{len(samples)} samples are too few to tell whether they are normal; {_FEWEST} are needed",)
    from scipy import stats  # takes longer to import than all else here

    skewness, kurtosis = float(stats.skew(samples)), float(stats.kurtosis(samples))
    p_value = float(stats.normaltest(samples).pvalue)
    if p_value >= _DOUBTFUL:
        return ()
    return (
        f"the {len(samples)} samples do not look normal: D'Agostino and Pearson's test p = {p_value:.2g}, "
        f"skewness {skewness:.2f}, excess kurtosis {kurtosis:.2f}; a histogram keeps their shape",
    )
