"""Compiled logarithm of a law of several parameters, and its gradient."""

from __future__ import annotations

import math

import numpy as np

from perfcore.base.kernels import kernel


@kernel
def law_gradient(levels, theta, floor, uses, free, fixed, logarithms, logs, value, gradient):  # type: ignore[no-untyped-def]
    """Logarithm of a law at points (k,), and its gradient (k, P): shares first, exponents then."""
    k, q = levels.shape
    most = len(uses)
    terms = np.empty(most)
    for i in range(k):
        total = 1.0 if floor else 0.0
        n_terms, shift, place = 0, 0 if floor else 1, 0
        n_shares = 0
        for t in range(most):
            n_uses = 0
            for p in range(q):
                n_uses += uses[t, p]
            if n_uses == 0:
                break
            n_terms += 1
        n_shares = max(n_terms - shift, 0)
        place = n_shares
        for t in range(n_terms):
            power = theta[t - shift] if t >= shift else 0.0
            factor = 1.0
            for p in range(q):
                if uses[t, p]:
                    if free:
                        power += theta[place] * levels[i, p]
                        place += 1
                    else:
                        power += fixed[t, p] * levels[i, p]
                    for _ in range(logarithms[t, p]):
                        factor *= logs[i, p]
            terms[t] = factor * math.exp(min(power, 300.0))
            total += terms[t]
        total = max(total, 1e-300)
        value[i] = math.log(total)
        place = n_shares
        for t in range(n_terms):
            share = terms[t] / total
            if t >= shift:
                gradient[i, t - shift] = share
            if free:
                for p in range(q):
                    if uses[t, p]:
                        gradient[i, place] = share * levels[i, p]
                        place += 1
