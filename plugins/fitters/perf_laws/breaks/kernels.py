"""Compiled loops behind breaks: the evidence of every segment of every path, and the dynamic programme over them.

The noise is the same in all segments of a path. Given its size, segments are independent, and the evidence of a
segmentation is the product of theirs; so everything is done for several sizes of the noise, and summed over them.
"""

from __future__ import annotations

import math

import numpy as np

from perf_laws.evidence.kernels import truncated
from perfcore.base.kernels import kernel

__all__ = ["weigh_segmentations"]

_LOG_2PI = math.log(2.0 * math.pi)

# As in `perf_laws.evidence.kernels`: a column that is constant on a segment, to all digits that count.
_DEPENDENT = 1e-10

# A law this much less likely than the best of its segment so far changes their sum in the sixth digit.
_NEGLIGIBLE = 14.0


@kernel
def _added(peak, total, value):  # type: ignore[no-untyped-def]
    """One more summand exp(value) to exp(peak) * total."""
    if value <= peak:
        return peak, total + math.exp(value - peak)
    return value, total * math.exp(peak - value) + 1.0


@kernel
def _level_evidence(prior, level, precision, squares, count, noise):  # type: ignore[no-untyped-def]
    """Log evidence of a constant, given the noise."""
    log_positive, centre, _ = truncated(level, noise / math.sqrt(precision))
    return (
        prior
        - math.log(centre)
        + 0.5 * (_LOG_2PI - math.log(precision))
        - (count - 1) * math.log(noise)
        - 0.5 * squares / (noise * noise)
        + log_positive
    )


@kernel
def _positive_pair(level, slope, level_variance, slope_variance, covariance):  # type: ignore[no-untyped-def]
    """Log probability that two normal numbers are both >= 0, and the mean of their sum where they are.

    As `perf_laws.evidence.kernels` does it, cutting off one after the other: the less likely one first.
    """
    if level * math.sqrt(slope_variance) > slope * math.sqrt(level_variance):
        level, slope, level_variance, slope_variance = slope, level, slope_variance, level_variance
    first, centre, left = truncated(level, math.sqrt(level_variance))
    slope += covariance * (centre - level) / level_variance
    rest = slope_variance - covariance * covariance / level_variance * (1.0 - left / level_variance)
    second, other, _ = truncated(slope, math.sqrt(max(rest, 1e-12 * slope_variance)))
    return first + second, centre + other


@kernel
def _segment_evidence(means, root_weights, values, log_prior, noises, peak, total):  # type: ignore[no-untyped-def]
    """Log of the evidence of every segment of one path: peak + log(total), by noise, first point and last point."""
    n, n_terms, n_noises = len(means), len(values), len(noises)
    for first in range(n - 2):
        weight, along, whole = 0.0, 0.0, 0.0
        for last in range(first, n):
            root = root_weights[last]
            weight += root * root
            along += root * root * means[last]
            whole += (root * means[last]) ** 2
            if last < first + 2:
                continue
            squares = max(whole - along * along / weight, 0.0)
            for q in range(n_noises):
                peak[q, first, last] = _level_evidence(
                    log_prior[0], along / weight, weight, squares, last - first + 1, noises[q]
                )
                total[q, first, last] = 1.0
        for f in range(n_terms):
            weight, along, whole, own, length, cross, scale = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for last in range(first, n):
                root = root_weights[last]
                square, value = root * root, values[f, last]
                weight += square
                along += square * means[last]
                whole += square * means[last] * means[last]
                own += square * value
                length += square * value * value
                cross += square * value * means[last]
                scale = max(scale, value)
                beside = length - own * own / weight
                if last < first + 2 or not beside > _DEPENDENT * length:
                    continue
                toward = cross - own * along / weight
                slope = toward / beside
                level = (along - slope * own) / weight
                squares = max(whole - along * along / weight - slope * toward, 0.0)
                # The coefficient counts for the most that the term contributes to the segment.
                occam = log_prior[f + 1] + _LOG_2PI - 0.5 * math.log(weight * beside) + math.log(scale)
                slope *= scale
                level_variance = 1.0 / weight + (own / weight) ** 2 / beside
                slope_variance = scale * scale / beside
                covariance = -scale * own / (weight * beside)
                about = -2.0 * math.log(along / weight)
                # How much worse the nearest law with coefficients >= 0 is: a bound of what cutting off costs.
                below = max(min(slope, 0.0) ** 2 / slope_variance, min(level, 0.0) ** 2 / level_variance)
                for q in range(n_noises):
                    variance = noises[q] * noises[q]
                    partial = occam - (last - first - 1) * math.log(noises[q]) - 0.5 * squares / variance
                    if partial + about - 0.5 * below / variance < peak[q, first, last] - _NEGLIGIBLE:
                        continue
                    log_positive, sum_of_both = _positive_pair(
                        level, slope, level_variance * variance, slope_variance * variance, covariance * variance
                    )
                    peak[q, first, last], total[q, first, last] = _added(
                        peak[q, first, last],
                        total[q, first, last],
                        partial + log_positive - 2.0 * math.log(sum_of_both),
                    )


@kernel
def weigh_segmentations(  # type: ignore[no-untyped-def]
    means, root_weights, columns, log_prior, noises, noise_prior, per_break, evidence, share, likeliest, begins
):
    """Log evidence of one break, of two, ..., for each path, and the best places for each number.

    Parameters
    ----------
    means, root_weights : (K, n) float
        As in `perf_laws.evidence.kernels.weigh_hypotheses`; root weights are 0 where a path was not measured.
    columns : (F, n) float
        Terms at the points, which increase.
    log_prior : (F + 1,) float
        Of the constant, and of each term with a constant, as the law of a segment.
    noises : (K, Q) float
        Sizes of the noise of one run, relative.
    noise_prior : (Q,) float
        Logarithm of their probabilities.
    per_break : float
        Logarithm of the prior density of the level behind a break, over the one before.
    evidence : (K, B) float
        Written: mean over all segmentations with 1, ..., B breaks, and over the noise; -inf where there are none.
    share, likeliest : (K, B) float, int
        Written: logarithm of the part of the evidence that belongs to the likeliest size of the noise, and its number.
    begins : (K, B, B) int
        Written: first points of the segments after the first in the best segmentation of each number of breaks,
        given that size of the noise; -1 after the last.
    """
    n_paths, n = means.shape
    n_noises, most = noises.shape[1], evidence.shape[1]
    peak, total = np.empty((n_noises, n, n)), np.empty((n_noises, n, n))
    sums, best = np.empty((most + 1, n)), np.empty((most + 1, n))
    came = np.empty((most + 1, n), dtype=np.int64)
    here, own_means, own_roots = np.empty(n, dtype=np.int64), np.empty(n), np.empty(n)
    values = np.empty((len(columns), n))
    for k in range(n_paths):
        m = 0
        for i in range(n):
            if root_weights[k, i] > 0.0:
                here[m], own_means[m], own_roots[m] = i, means[k, i], root_weights[k, i]
                for f in range(len(columns)):
                    values[f, m] = columns[f, i]
                m += 1
        _segment_evidence(own_means[:m], own_roots[:m], values[:, :m], log_prior, noises[k], peak, total)
        evidence[k, :], begins[k, :, :] = -np.inf, -1
        share[k, :], likeliest[k, :] = -np.inf, 0
        for q in range(n_noises):
            for b in range(most + 1):
                for last in range(3 * b + 2, m):
                    if b == 0:
                        best[0, last] = sums[0, last] = peak[q, 0, last] + math.log(total[q, 0, last])
                        continue
                    top, above, at_best = -np.inf, 0.0, -np.inf
                    for first in range(3 * b, last - 1):
                        segment = peak[q, first, last] + math.log(total[q, first, last]) + per_break
                        top, above = _added(top, above, sums[b - 1, first - 1] + segment)
                        if best[b - 1, first - 1] + segment > at_best:
                            at_best = best[b - 1, first - 1] + segment
                            came[b, last] = first
                    sums[b, last], best[b, last] = top + math.log(above), at_best
                if b == 0 or m < 3 * b + 3:
                    continue
                # All segmentations with b breaks share the probability of b.
                ways = math.lgamma(m - 2.0 * b - 2.0) - math.lgamma(m - 3.0 * b - 2.0) - math.lgamma(b + 1.0)
                joint = sums[b, m - 1] - ways + noise_prior[q]
                high = max(joint, evidence[k, b - 1])
                evidence[k, b - 1] = high + math.log(math.exp(joint - high) + math.exp(evidence[k, b - 1] - high))
                if joint > share[k, b - 1]:
                    share[k, b - 1], likeliest[k, b - 1], last = joint, q, m - 1
                    for s in range(b, 0, -1):
                        begins[k, b - 1, s - 1] = here[came[s, last]]
                        last = came[s, last] - 1
        for b in range(most):
            share[k, b] -= evidence[k, b] if evidence[k, b] > -np.inf else 0.0
