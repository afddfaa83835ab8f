"""Which predictor, with what carried over from its past, says best what comes so many steps ahead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_forecast.resampling import RESAMPLINGS, Resampling, crps_of_samples


Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

_HELD_OUT = 128  # origins that judge
_STRIDE = 8  # at most, between them: errors of neighbours are alike
_PREDICTORS = 6  # by absolute error, that are tried with every resampling
_FEWEST = 8  # errors before the first origin that judges


@dataclass(frozen=True)
class Candidate:
    """A predictor and what is carried over from its past."""

    predictor: str
    resampling: Resampling

    @property
    def name(self) -> str:
        """Both in words."""
        return f"{self.predictor}; {self.resampling.name}"

    def samples(self, forecasts: Mapping[str, Floats], values: Floats, origins: Places, steps: int) -> Floats:
        """Samples of what comes so many steps after each origin; see `Resampling.samples`."""
        forecast = forecasts[self.predictor]
        return self.resampling.samples(forecast, values, origins, steps, _first_finite(forecast))


def held_out_origins(count: int, steps: int) -> Places:
    """Origins that judge forecasts of so many steps: in the later half, each with enough errors before it (t,)."""
    last = count - steps - 1
    earliest = max(count // 2, steps + _FEWEST)
    stride = min(_STRIDE, max(1, (last - earliest) // _HELD_OUT))
    return np.arange(last, earliest - 1, -stride)[:_HELD_OUT][::-1]


def candidates_scored(
    forecasts: Mapping[str, Floats], values: Floats, steps: int, origins: Places
) -> tuple[Sequence[Candidate], Floats]:
    """The candidates and their CRPS at each origin that judges."""
    if not len(origins):
        return [Candidate("last value", Resampling("errors", 1000))], np.empty((1, 0))
    actual = values[origins + steps]
    starts = {name: _first_finite(forecast) for name, forecast in forecasts.items()}
    misses = {
        name: float(np.abs(forecast[origins] - actual).mean())
        for name, forecast in forecasts.items()
        if starts[name] + steps + _FEWEST <= origins[0]
    }
    predictors = sorted(misses, key=misses.__getitem__)[:_PREDICTORS]
    candidates = [
        Candidate(name, resampling)
        for name in dict.fromkeys([*predictors, "last value"])
        for resampling in _different(int(origins[0]) - steps - starts[name] + 1)
    ]
    scores = [crps_of_samples(each.samples(forecasts, values, origins, steps), actual) for each in candidates]
    return candidates, np.array(scores)


def _different(available: int) -> Iterable[Resampling]:
    """Of resamplings that are the same where so few earlier origins are known, the first."""
    resamplings: dict[tuple[str, int, int], Resampling] = {}
    for each in RESAMPLINGS:
        window = min(each.window, available)
        resamplings.setdefault((each.carried, window, min(each.nearest or window, window)), each)
    return resamplings.values()


def _first_finite(forecast: Floats) -> int:
    """The first origin with a forecast: what comes before is missing."""
    return int(np.isfinite(forecast).argmax())
