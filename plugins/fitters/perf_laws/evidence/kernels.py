"""Compiled loops over paths and hypotheses: how well each hypothesis explains each path.

A hypothesis says that the mean at point i is ``c_0 + c_1 psi_1(x_i) + ... + c_m psi_m(x_i)`` with no c below 0. Columns
psi are scaled to a largest value of 1, so that c_t is the most that term t contributes to a measured point.

Noise is relative to the mean, and weights differ from path to path; so there is one factorisation for each path and
hypothesis, of a few numbers: the constant is projected out of each column once, and two columns leave a 2 by 2 system.
"""

from __future__ import annotations

import math

import numpy as np

from perfcore.base.kernels import kernel

__all__ = ["truncated", "weigh_hypotheses"]

_LOG_2PI = math.log(2.0 * math.pi)
_ROOT_2 = math.sqrt(2.0)
_ROOT_2PI = math.sqrt(2.0 * math.pi)

# A column whose part beside the others is less than this share of it is taken for dependent on them: sixteen digits
# leave it no direction of its own.
_DEPENDENT = 1e-10

# A law whose evidence cannot reach that of the best so far by this logarithm is not weighed further: all that are left
# out have together some thousandth of the probability.
_HOPELESS = 16.0


@kernel
def truncated(mean, deviation):  # type: ignore[no-untyped-def]
    """Log probability of N(mean, deviation^2) being >= 0, and mean and variance of what is, over the deviation."""
    z = mean / deviation
    if z > 8.0:
        return 0.0, mean, deviation * deviation
    if z < -20.0:  # the tail beyond 0 is exponential with this scale
        scale = deviation / -z
        return -0.5 * z * z - math.log(-z * _ROOT_2PI), scale, scale * scale
    probability = 0.5 * math.erfc(-z / _ROOT_2)
    hazard = math.exp(-0.5 * z * z) / (_ROOT_2PI * probability)
    return math.log(probability), mean + deviation * hazard, deviation * deviation * (1.0 - hazard * (hazard + z))


@kernel
def _orthant(mean, covariance, size):  # type: ignore[no-untyped-def]
    """Log probability that a normal vector has no part below 0; `mean` becomes the mean of what is left.

    One part after the other is cut off at 0, and what is left taken for normal again (N. R. Mendell and R. C. Elston,
    Biometrics 30, 1974); the part that is most likely below 0 goes first. In up to four dimensions the error of the
    probability is some percent, unless columns are nearly dependent.
    """
    done = 0
    log_probability = 0.0
    for _ in range(size):
        worst, least = -1, 1e300
        for t in range(size):
            if not (done >> t) & 1 and covariance[t, t] > 0.0:
                z = mean[t] / math.sqrt(covariance[t, t])
                if z < least:
                    worst, least = t, z
        if worst < 0 or least > 8.0:
            break
        done |= 1 << worst
        variance = covariance[worst, worst]
        part, centre, left = truncated(mean[worst], math.sqrt(variance))
        log_probability += part
        shift, shrink = (centre - mean[worst]) / variance, (1.0 - left / variance) / variance
        for s in range(size):
            mean[s] += covariance[worst, s] * shift
        for s in range(size):
            if s != worst:
                toward = covariance[worst, s] * shrink
                for t in range(s + 1):
                    if t != worst:
                        covariance[s, t] -= toward * covariance[worst, t]
                        covariance[t, s] = covariance[s, t]
        for t in range(size):
            covariance[worst, t] *= left / variance
            covariance[t, worst] = covariance[worst, t]
    return log_probability


@kernel
def _projected(columns, f, root_weights, base, rest, beside, overlap, length, along):  # type: ignore[no-untyped-def]
    """Part of column f beside the constant, its length and its products with the constant and the values."""
    n = len(base)
    share, whole = 0.0, 0.0
    for i in range(n):
        value = columns[f, i] * root_weights[i]
        beside[f, i] = value
        share += value * base[i]
        whole += value * value
    left, product = 0.0, 0.0
    for i in range(n):
        value = beside[f, i] - share * base[i]
        beside[f, i] = value
        left += value * value
        product += value * rest[i]
    overlap[f], along[f] = share, product
    length[f] = left if left > _DEPENDENT * whole else 0.0


@kernel
def _inverted(matrix, size):  # type: ignore[no-untyped-def]
    """Invert a small positive definite matrix in place; log of its determinant, NaN where its columns are dependent."""
    if size == 1:
        value = matrix[0, 0]
        matrix[0, 0] = 1.0 / value if value > 0.0 else 0.0
        return math.log(value) if value > 0.0 else np.nan
    if size == 2:  # nearly all laws: a closed form is several times as fast as a loop
        a, b, cross = matrix[0, 0], matrix[1, 1], matrix[0, 1]
        determinant = a * b - cross * cross
        if not determinant > _DEPENDENT * a * b:
            return np.nan
        matrix[0, 0], matrix[1, 1] = b / determinant, a / determinant
        matrix[0, 1] = matrix[1, 0] = -cross / determinant
        return math.log(determinant)
    log_determinant = 0.0
    scale = np.empty(size)
    for s in range(size):
        scale[s] = matrix[s, s]
    for pivot in range(size):  # Gauss and Jordan, without exchanges: the matrix is positive definite
        value = matrix[pivot, pivot]
        if not value > _DEPENDENT * scale[pivot]:
            return np.nan
        log_determinant += math.log(value)
        matrix[pivot, pivot] = 1.0
        for t in range(size):
            matrix[pivot, t] /= value
        for s in range(size):
            if s != pivot:
                factor = matrix[s, pivot]
                matrix[s, pivot] = 0.0
                for t in range(size):
                    matrix[s, t] -= factor * matrix[pivot, t]
    return log_determinant


@kernel
def _centre(means, root_weights, base, rest):  # type: ignore[no-untyped-def]
    """Take the constant out of a path's weighted means.

    Writes the direction of the constant and what is left of the means; returns the sum of the weights, the part along
    the constant, the squares of what is left, and the number of measured points.
    """
    total, level, met = 0.0, 0.0, 0
    for i in range(len(means)):
        root = root_weights[i]
        total += root * root
        level += root * root * means[i]
        met += root > 0.0
    norm = math.sqrt(total)
    level /= norm
    squares = 0.0
    for i in range(len(means)):
        base[i] = root_weights[i] / norm
        rest[i] = means[i] * root_weights[i] - level * base[i]
        squares += rest[i] * rest[i]
    return total, level, squares, met


@kernel
def _inverse_gram(law, count, beside, length, products, gram):  # type: ignore[no-untyped-def]
    """Products of a law's columns, beside the constant, and their inverse; log of the determinant, NaN if dependent."""
    for s in range(count):
        f = law[s]
        products[s, s] = gram[s, s] = length[f]
        for t in range(s):
            g, cross = law[t], 0.0
            for i in range(beside.shape[1]):
                cross += beside[f, i] * beside[g, i]
            products[s, t] = products[t, s] = gram[s, t] = gram[t, s] = cross
    return _inverted(gram, count)


@kernel
def _least_squares(law, count, gram, along, overlap, total, level, mean):  # type: ignore[no-untyped-def]
    """Coefficients of the constant and a law's columns; returns how much less the squares become by the columns."""
    norm = math.sqrt(total)
    mean[0] = level / norm
    gain = 0.0
    for s in range(count):
        value = 0.0
        for t in range(count):
            value += gram[s, t] * along[law[t]]
        mean[s + 1] = value
        mean[0] -= overlap[law[s]] / norm * value
        gain += value * along[law[s]]
    return gain


@kernel
def _without_signs(  # type: ignore[no-untyped-def]
    law, count, products, along, overlap, total, level, gram, members, trial, solution
):
    """Least squares of a law with no coefficient below 0, where those of any sign have some; returns what it explains.

    The optimum is the unconstrained one of some part of the constant and the columns; of all parts there are few.
    `gram` (size, size), `members` and `trial` (size,) are room to work in, `solution` (size,) is written.
    """
    size = count + 1
    norm = math.sqrt(total)
    most = 0.0
    for s in range(size):
        solution[s] = 0.0
    for subset in range(1, (1 << size) - 1):
        chosen = 0
        for s in range(size):
            if (subset >> s) & 1:
                members[chosen] = s
                chosen += 1
        for s in range(chosen):
            for t in range(s + 1):
                a, b = members[s], members[t]  # b <= a
                if a == 0:
                    value = total
                elif b == 0:
                    value = overlap[law[a - 1]] * norm
                else:
                    value = overlap[law[a - 1]] * overlap[law[b - 1]] + products[a - 1, b - 1]
                gram[s, t] = gram[t, s] = value
        if not _inverted(gram, chosen) > -np.inf:
            continue
        gain, admissible = 0.0, True
        for s in range(chosen):
            value = 0.0
            for t in range(chosen):
                b = members[t]
                value += gram[s, t] * (level * norm if b == 0 else along[law[b - 1]] + overlap[law[b - 1]] * level)
            trial[s] = value
            admissible = admissible and value >= 0.0
            a = members[s]
            gain += value * (level * norm if a == 0 else along[law[a - 1]] + overlap[law[a - 1]] * level)
        if admissible and gain > most:
            most = gain
            for s in range(size):
                solution[s] = 0.0
            for s in range(chosen):
                solution[members[s]] = trial[s]
    return most


@kernel
def _covariance(law, count, gram, overlap, total, covariance):  # type: ignore[no-untyped-def]
    """Covariance of these coefficients for noise of 1."""
    norm = math.sqrt(total)
    covariance[0, 0] = 1.0 / total
    for s in range(count):
        toward = 0.0
        for t in range(count):
            covariance[s + 1, t + 1] = gram[s, t]
            toward -= gram[s, t] * overlap[law[t]] / norm
        covariance[0, s + 1] = covariance[s + 1, 0] = toward
        covariance[0, 0] -= overlap[law[s]] / norm * toward


@kernel
def weigh_hypotheses(  # type: ignore[no-untyped-def]
    means, root_weights, columns, members, log_prior, within, freedom, chosen, log_evidence, squares, fitted
):
    """Log evidence of hypotheses for each path, up to a constant of the path.

    Parameters
    ----------
    means : (K, n) float
        Mean of the runs at each point, > 0.
    root_weights : (K, n) float
        One over the standard deviation of that mean, in units of the noise of one run relative to the mean; 0 where a
        path was not measured.
    columns : (F, n) float
        Terms at the points, largest value 1.
    members : (H, M) int
        Columns of each hypothesis beside the constant; -1 after the last.
    log_prior : (H,) float
    within, freedom : (K,) float
        Squares about the means of the runs, relative, with what is known of the noise beforehand, and their degrees of
        freedom.
    chosen : (K, J) int
        Hypotheses to weigh for each path; -1 is none.
    log_evidence, squares : (K, J) float
        Written: log evidence, and weighted squares of the residuals. Evidence is -inf where it is hopelessly small (the
        squares are then those with coefficients of any sign), or the columns of a hypothesis are dependent on the
        points, or leave no degree of freedom.
    fitted : (K, n) float
        Written: mean at each point by the hypothesis of most evidence.
    """
    n_paths, n = means.shape
    n_columns, most = len(columns), members.shape[1]
    beside = np.empty((n_columns, n))
    overlap, length, along = np.empty(n_columns), np.empty(n_columns), np.empty(n_columns)
    made = np.full(n_columns, -1, dtype=np.int64)
    base, rest = np.empty(n), np.empty(n)
    mean, best = np.empty(most + 1), np.empty(most + 1)
    covariance, gram, products = np.empty((most + 1, most + 1)), np.empty((most, most)), np.empty((most, most))
    part_gram, part = np.empty((most + 1, most + 1)), np.empty(most + 1, dtype=np.int64)
    trial, solution = np.empty(most + 1), np.empty(most + 1)
    half_gammas, log_factorials = np.empty(most + 2), np.empty(most + 2)
    for size in range(most + 2):
        log_factorials[size] = math.lgamma(float(max(size, 1)))
    for k in range(n_paths):
        total, level, rest_squares, met = _centre(means[k], root_weights[k], base, rest)
        for size in range(1, most + 2):
            own = freedom[k] + met - size
            half_gammas[size] = math.lgamma(0.5 * own) + 0.5 * own * math.log(2.0) if own > 0.0 else np.nan
        most_evidence, which, log_mean = -np.inf, -1, math.log(level / math.sqrt(total))
        for j in range(chosen.shape[1]):
            h = chosen[k, j]
            log_evidence[k, j], squares[k, j] = -np.inf, np.inf
            if h < 0:
                continue
            count = 0
            while count < most and members[h, count] >= 0:
                f = members[h, count]
                if made[f] != k:
                    _projected(columns, f, root_weights[k], base, rest, beside, overlap, length, along)
                    made[f] = k
                count += 1
            size = count + 1
            own = freedom[k] + met - size
            if own <= 0.0:
                continue
            log_determinant = _inverse_gram(members[h], count, beside, length, products, gram)
            if not log_determinant > -np.inf:
                continue
            residual = rest_squares - _least_squares(members[h], count, gram, along, overlap, total, level, mean)
            residual, negative = max(residual, 0.0), False
            squares[k, j] = residual
            # The prior is flat in the logarithm of the sum of c and in the shares of it: m! / sum^(m + 1).
            alike = (
                log_prior[h]
                + log_factorials[size]
                + 0.5 * size * _LOG_2PI
                - 0.5 * log_determinant
                - 0.5 * math.log(total)
                + half_gammas[size]
            )
            # With coefficients of any sign evidence is larger; their sum is not much below the mean of the path.
            bound = alike - 0.5 * own * math.log(within[k] + residual) - size * (log_mean - math.log(2.0))
            if bound < most_evidence - _HOPELESS:
                continue
            for t in range(size):
                solution[t] = mean[t]
                negative = negative or mean[t] < 0.0
            gap = 0.0  # how much larger the least squares are where no coefficient is negative
            if negative:
                gain = _without_signs(
                    members[h], count, products, along, overlap, total, level, part_gram, part, trial, solution
                )
                gap = max(rest_squares + level * level - gain - residual, 0.0)
            squares[k, j] = residual + gap
            whole = 0.0
            for t in range(size):
                whole += solution[t]
            unsigned = alike - 0.5 * own * math.log(within[k] + residual + gap) - size * math.log(whole)
            # The integral over coefficients of any sign is larger by what the orthant cuts off: half or more where the
            # least squares have a coefficient of 0.
            if unsigned < most_evidence - _HOPELESS:
                continue
            _covariance(members[h], count, gram, overlap, total, covariance)
            # Size of the noise and evidence are those at the least squares without negative coefficients: seen from
            # there, what is integrated is of moderate size, however far away the least squares of any sign are.
            noise = (within[k] + residual + gap) / own
            for s in range(size):
                for t in range(size):
                    covariance[s, t] *= noise
            evidence = unsigned + _orthant(mean, covariance, size) + 0.5 * gap / noise
            # The prior at the mean of what is integrated, as far as that is well known.
            centre = 0.0
            for t in range(size):
                centre += mean[t]
            evidence -= size * math.log(min(max(centre / whole, 0.5), 2.0))
            log_evidence[k, j] = evidence
            if evidence > most_evidence:
                most_evidence, which = evidence, h
                best[:size] = solution[:size]
        for i in range(n):
            value = means[k, i]
            if which >= 0:
                value = best[0]
                for t in range(most):
                    if members[which, t] < 0:
                        break
                    value += best[t + 1] * columns[members[which, t], i]
            fitted[k, i] = value
