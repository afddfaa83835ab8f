"""How many times as slow the second version is, of n benchmarks, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

FEWEST_ROUNDS = 3  # fewer decide nothing
SURE = 0.95  # of each bound, and of a verdict
_EXACT = 1e-12  # logarithms that differ by less, differ by rounding of the arithmetic


@dataclass(frozen=True)
class Estimates:
    """Logarithms of ratios of n benchmarks, slower is positive."""

    log_ratio: Floats
    standard_error: Floats
    freedom: Floats  # degrees of freedom of the standard error
    rounding: Floats  # by how much the values' last digits may have moved the logarithm
    rounds: Ints  # runs of each version that count
    may_pass: npt.NDArray[np.bool_]
    sure: float = SURE  # how sure either bound is: more than 95 % where it is looked at again and again

    def __len__(self) -> int:
        """How many benchmarks."""
        return len(self.log_ratio)

    def p_slow(self, log_threshold: float) -> Floats:
        """Probability of such data if no benchmark were slower than the threshold (n,); 1 of too few rounds."""
        return self._tail(self.log_ratio - self.rounding - log_threshold, self.rounds >= FEWEST_ROUNDS)

    def p_not_slower(self, log_threshold: float) -> Floats:
        """Probability of such data if a benchmark were as slow as the threshold or slower (n,)."""
        return self._tail(
            log_threshold - self.log_ratio - self.rounding, (self.rounds >= FEWEST_ROUNDS) & self.may_pass
        )

    def bounds(self) -> Floats:
        """Logarithms between which each ratio is, ``sure`` of either side (n, 2); NaN of too few rounds."""
        from scipy.stats import t

        side = t.ppf(self.sure, np.maximum(self.freedom, 1.0)) * self.standard_error + self.rounding
        limits = np.stack([self.log_ratio - side, self.log_ratio + side], axis=1)
        limits[self.rounds < FEWEST_ROUNDS] = np.nan
        return limits

    def rounds_that_decide(self, log_threshold: float, likely: float = 0.9, most: int = 10_000) -> Ints:
        """How many rounds in all decide with a probability (n,); 0 where ``most`` do not.

        k = variance (t_.95 + t_likely)^2 / distance^2. The distance is that of no change from the threshold where the
        data leave open that there is none, and of the estimate otherwise. None decide where the last digits hide it.
        """
        from scipy.stats import t

        bounds = self.bounds()
        no_change = (bounds[:, 0] <= 0.0) & (bounds[:, 1] >= 0.0)
        distance = np.where(no_change, log_threshold, np.abs(self.log_ratio - log_threshold)) - self.rounding
        variance = self.standard_error**2 * self.rounds
        ladder = np.unique(np.r_[np.arange(FEWEST_ROUNDS, 200), np.geomspace(200, most, 200).astype(np.int64)])
        quantiles = t.ppf(self.sure, ladder - 1.0) + t.ppf(likely, ladder - 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            enough = variance[:, None] * quantiles**2 <= ladder * distance[:, None] ** 2
        enough &= (distance > 0.0)[:, None]
        return np.where(enough.any(axis=1), ladder[enough.argmax(axis=1)], 0)

    def _tail(self, distance: Floats, counts: npt.NDArray[np.bool_]) -> Floats:
        """One-sided probability that chance makes a distance this large."""
        from scipy.stats import t

        statistic = distance / np.maximum(self.standard_error, _EXACT)
        return np.where(counts, t.sf(statistic, np.maximum(self.freedom, 1.0)), 1.0)
