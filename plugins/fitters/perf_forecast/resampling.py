"""What may come, from what came in the past: samples of a distribution around a forecast.

Three things can be carried over from an earlier origin: the error that the predictor made there, that error in units
of how large errors were at the time, or the value that followed. It is carried over from the last origins, or from
those of them at which the forecast was most like the one of now: what follows a burst follows bursts.

Sources: the Network Weather Service's forecasts with their past errors, here whole and not as one spread; S. Yakowitz,
"Nearest-neighbour methods for time series analysis" (1987) for what followed alike forecasts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

_SCALE_GAIN = 0.05  # of the smoothing of absolute errors: the last twenty count most
_LEAST_SCALE = 1e-3  # of the mean absolute error, so that a still stretch is no division by nothing


@dataclass(frozen=True)
class Resampling:
    """Which earlier origins count, and what is carried over from them."""

    carried: str
    window: int  # how many origins count, from the last one on
    nearest: int | None = None  # how many of these, by the distance of their forecasts; all if not given

    @property
    def name(self) -> str:
        """In words."""
        if self.nearest is None:
            return f"{self.carried} of the last {self.window}"
        carried_text = "what followed" if self.carried == "values" else self.carried
        return f"{carried_text} at the {self.nearest} most alike forecasts of {self.window}"

    def samples(self, forecasts: Floats, values: Floats, origins: Places, steps: int, first: int) -> Floats:
        """Samples of what comes some steps after each origin, from what was known there."""
        window = min(self.window, int(origins.min()) - steps - first + 1)
        earlier = (origins - steps)[:, None] - np.arange(window)
        origin_forecasts = forecasts[origins][:, None]
        if self.nearest is not None and self.nearest < window:
            distance = np.abs(forecasts[earlier] - origin_forecasts)
            # Of equally alike ones the later: the term is smaller than any other difference that counts.
            distance += np.arange(window) * (1e-12 * float(np.ptp(forecasts[first:])) + np.finfo(float).tiny)
            chosen = np.argpartition(distance, self.nearest - 1, axis=1)[:, : self.nearest]
            earlier = np.take_along_axis(earlier, chosen, axis=1)
        followed: Floats = values[earlier + steps]
        if self.carried == "values":
            return followed
        errors: Floats = followed - forecasts[earlier]
        if self.carried == "scaled errors":
            scales = _scales(forecasts, values, steps, first)
            errors *= scales[origins][:, None] / scales[earlier]
        samples: Floats = origin_forecasts + errors
        return samples


def _scales(forecasts: Floats, values: Floats, steps: int, first: int) -> Floats:
    """How large absolute errors were lately, as it was known at each origin (n,)."""
    import pandas as pd

    misses = pd.Series(np.abs(values[first + steps :] - forecasts[first : len(values) - steps]))
    lately = misses.ewm(alpha=_SCALE_GAIN).mean() + _LEAST_SCALE * misses.expanding().mean()
    scales = np.full(len(values), lately.iloc[0])  # before the first error: the same for all
    scales[first + steps :] = lately
    return np.where(scales > 0.0, scales, 1.0)  # nothing was missed until then


RESAMPLINGS = (
    *(Resampling("errors", window) for window in (50, 300, 1000)),
    Resampling("scaled errors", 1000),
    *(
        Resampling(carried, window, nearest)
        for carried in ("errors", "values")
        for window in (300, 1000)
        for nearest in (30, 100)
    ),
)


def crps_of_samples(samples: Floats, actual: Floats) -> Floats:
    """Continuous ranked probability score of equally probable samples."""
    count = samples.shape[1]
    ranks = 2.0 * np.arange(1, count + 1) - count - 1.0
    between = np.sort(samples, axis=1) @ ranks / count**2
    score: Floats = np.abs(samples - actual[:, None]).mean(axis=1) - between
    return score
