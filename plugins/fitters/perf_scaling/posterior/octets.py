"""Shapes of laws put together in octets of the nearest, of which one may stand for all."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perf_scaling.posterior.family import Shapes

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

OCTET = 8
_USUAL = 0.004  # of the prior: shapes that are looked at by themselves


def in_octets(shapes: Shapes, log_prior: Floats) -> tuple[Ints, int]:
    """Numbers of shapes: the usual ones, and then octets of those that are alike, the middle one of each in front.

    The next most usual fill the last octet of the usual ones, and copies of a shape the last of all. How many are usual
    is told too.
    """
    share = np.exp(shapes.log_weight) * np.exp(log_prior).sum(axis=0)[shapes.group]
    n_usual = -(-int((share >= _USUAL).sum()) // OCTET) * OCTET
    is_usual = np.zeros(len(share), dtype=np.bool_)
    is_usual[np.argsort(-share, kind="stable")[:n_usual]] = True
    at_levels = shapes.logs[:, :-1] - shapes.logs[:, :-1].mean(axis=1, keepdims=True)
    octets = []
    for octet in _neighbours(at_levels, np.flatnonzero(~is_usual)):
        farthest = ((at_levels[octet, None] - at_levels[octet]) ** 2).sum(axis=2).max(axis=1)
        octets.append(octet[np.argsort(farthest, kind="stable")])
    octets.sort(key=len, reverse=True)
    others = np.concatenate([np.empty(0, dtype=np.int64), *octets])
    filled = np.append(others, np.repeat(others[-1:], -len(others) % OCTET))
    return np.append(np.flatnonzero(is_usual), filled), int(is_usual.sum())


def _neighbours(points: Floats, chosen: Ints) -> list[Ints]:
    """Points (S, k) in eights: halves along the direction in which they are farthest apart, until there are few."""
    if len(chosen) <= OCTET:
        return [chosen] if len(chosen) else []
    about = points[chosen] - points[chosen].mean(axis=0)
    along = about @ np.linalg.eigh(about.T @ about)[1][:, -1]
    ordered = chosen[np.argsort(along, kind="stable")]
    half = -(-len(chosen) // (2 * OCTET)) * OCTET
    return _neighbours(points, ordered[:half]) + _neighbours(points, ordered[half:])
