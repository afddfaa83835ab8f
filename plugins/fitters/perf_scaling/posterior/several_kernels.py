"""Compiled weighing of laws of several parameters, whose exponents and shares are continuous.

A law is ``c (floor + sum_t e^b_t prod_p (x_p / top_p)^a_tp)``, with all numbers but c in a vector theta that has a
normal prior. Around the theta that explains a path best its logarithm is nearly linear, so that with covariance S of
the means the evidence is that of a normal distribution (D. MacKay, "Information theory, inference, and learning
algorithms", 2003, chapter 27). Draws of theta are weighed by what the law itself says of the data over what its linear
form says.
"""

from __future__ import annotations

import math

import numpy as np

from perf_scaling.posterior.covariances import drift_covariance, factor_and_solve, inverse_of, projected
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


_LOG_2PI = math.log(2.0 * math.pi)
_ITERATIONS = 40
_LEAST, _MOST = 0.3, 4.0  # exponents with which the search begins
_FARTHER, _FAR = 1.5, 15.0  # a cost of so many times the least and this more: no scatter or drift makes up for that


@kernel
def _cost(residuals, weights, theta, middle, precision, size):  # type: ignore[no-untyped-def]
    """Half of weighted squares about their mean, with the prior; leaves the residuals centred."""
    total, sums = 0.0, 0.0
    for i in range(len(residuals)):
        total += weights[i]
        sums += weights[i] * residuals[i]
    cost = 0.0
    for i in range(len(residuals)):
        residuals[i] -= sums / total
        cost += 0.5 * weights[i] * residuals[i] ** 2
    for j in range(size):
        cost += 0.5 * precision[j] * (theta[j] - middle[j]) ** 2
    return cost


@kernel
def weigh_forms(  # type: ignore[no-untyped-def]
    points, base_logs, logs, noise, floors, uses, free, fixed, logarithms, sizes, slopes, scales, middle, precision,
    log_form, settings, log_setting, drifting, deviating, reference, normals, theta_out, form_out, setting, level,
    weight,
):  # fmt: skip
    """Components of each path: draws of a law, a noise, and which level deviates.

    `points` and `base_logs` (n, q) are logarithms of the levels over the largest, natural and to base 2; `logs` and
    `noise` (K, n) logarithms of the means, NaN where there is none, and their variances by the noise of runs. Forms of
    laws are as of `law_gradient`, with so many numbers in theta (`sizes`), whose prior has `middle` and `precision`
    (F, P) and each form `log_form`; the search for exponents begins at `slopes` (K, q) times `scales`, with a variance
    `reference` of a level. `settings` (H, 3) are scatter, drift and its length, with their prior, and the further
    variance of a level that deviates, which one does with the probability `drifting` for each level, at most 1/2 in
    all. `normals` (N, P) are standard normal. Written are theta_out (K, N, P), form_out, setting, level, weight (K, N).
    """
    n_paths, n = logs.shape
    n_forms, n_settings, n_draws = len(sizes), len(settings), len(normals)
    most, q_count = middle.shape[1], points.shape[1]
    measured, costs, chosen = np.empty(n, dtype=np.int64), np.empty(n_forms), np.empty((n_draws, 3), dtype=np.int64)
    factor, reduced_right = np.empty((most, most)), np.empty(most)
    for path in range(n_paths):
        k = 0
        for i in range(n):
            if not math.isnan(logs[path, i]):
                measured[k] = i
                k += 1
        log_means, weights = np.empty(k), np.empty(k)
        of_logs, base_points = np.empty((k, q_count)), np.empty((k, q_count))
        for i in range(k):
            log_means[i] = logs[path, measured[i]]
            weights[i] = 1.0 / (reference + noise[path, measured[i]])
            for p in range(q_count):
                of_logs[i, p] = points[measured[i], p]
                base_points[i, p] = base_logs[measured[i], p]
        values, gradients = np.empty((n_forms, k)), np.zeros((n_forms, k, most))
        best_theta, least = np.zeros((n_forms, most)), np.inf
        theta, trial = np.empty(most), np.empty(most)
        value, gradient, trial_gradient = np.empty(k), np.zeros((k, most)), np.zeros((k, most))
        residuals, trial_residuals = np.empty(k), np.empty(k)
        normal, right, step = np.empty((most, most)), np.empty(most), np.empty(most)
        for f in range(n_forms):
            size = sizes[f]
            costs[f] = np.inf
            for start in range(len(scales) if free[f] else 1):
                for a in range(most):
                    theta[a] = 0.0
                place = size
                for t in range(uses.shape[1] - 1, -1, -1):
                    for p in range(uses.shape[2] - 1, -1, -1):
                        if free[f] and uses[f, t, p]:
                            place -= 1
                            slope = scales[start] * slopes[path, p]
                            theta[place] = math.copysign(min(max(abs(slope), _LEAST), _MOST), slope)
                law_gradient(
                    of_logs, theta, floors[f], uses[f], free[f], fixed[f], logarithms[f], base_points, value, gradient
                )
                for i in range(k):
                    residuals[i] = log_means[i] - value[i]
                cost, damping = _cost(residuals, weights, theta, middle[f], precision[f], size), 1e-2
                for _ in range(_ITERATIONS if size else 0):
                    for a in range(size):
                        mean, total = 0.0, 0.0
                        for i in range(k):
                            mean += weights[i] * gradient[i, a]
                            total += weights[i]
                        for i in range(k):
                            gradient[i, a] -= mean / total
                    for a in range(size):
                        right[a] = -precision[f, a] * (theta[a] - middle[f, a])
                        for i in range(k):
                            right[a] += weights[i] * gradient[i, a] * residuals[i]
                    improved = False
                    for _ in range(8):
                        for a in range(size):
                            for b in range(a + 1):
                                summed = 0.0
                                for i in range(k):
                                    summed += weights[i] * gradient[i, a] * gradient[i, b]
                                normal[a, b] = summed
                            normal[a, a] += precision[f, a]
                            normal[a, a] *= 1.0 + damping
                        factor_and_solve(normal, size, right, step)
                        for a in range(size):
                            trial[a] = theta[a] + min(max(step[a], -2.0), 2.0)
                        law_gradient(
                            of_logs, trial, floors[f], uses[f], free[f], fixed[f], logarithms[f], base_points, value,
                            trial_gradient,
                        )  # fmt: skip
                        for i in range(k):
                            trial_residuals[i] = log_means[i] - value[i]
                        trial_cost = _cost(trial_residuals, weights, trial, middle[f], precision[f], size)
                        if trial_cost < cost:
                            improved = cost - trial_cost > 1e-6 * (1.0 + cost)
                            cost = trial_cost
                            theta, trial = trial, theta
                            gradient, trial_gradient = trial_gradient, gradient
                            residuals, trial_residuals = trial_residuals, residuals
                            damping = max(0.2 * damping, 1e-9)
                            break
                        damping *= 6.0
                    if not improved:
                        break
                if cost < costs[f]:
                    costs[f] = cost
                    for a in range(size):
                        best_theta[f, a] = theta[a]
            least = min(least, costs[f])
            law_gradient(
                of_logs, best_theta[f], floors[f], uses[f], free[f], fixed[f], logarithms[f], base_points, values[f],
                gradients[f],
            )  # fmt: skip
        probability = min(0.5, drifting * k)
        log_none, log_one = math.log(1.0 - probability), math.log(probability / k)
        masses = np.zeros((n_settings, n_forms, k + 1))
        top = -np.inf
        covariance, inverse, work = np.empty((k, k)), np.empty((k, k)), np.empty((k, k))
        projection, sums = np.empty((k, k)), np.empty(k)
        along, linear, q = np.empty((k, most)), np.empty(k), np.empty(k)
        solution, column, solved = np.empty(most), np.empty(most), np.empty(most)
        drifts = np.zeros((2, k, k))
        lengths = np.zeros(2)
        # First what each combination explains, then draws of those that count.
        filled, place = 0, 0
        for turn in range(2):
            for h in range(n_settings):
                if turn == 1 and (place >= filled or chosen[place, 0] != h):
                    continue
                tau, kappa, length = settings[h, 0], settings[h, 1], settings[h, 2]
                scale = 0.5 * kappa * kappa * length
                drift_number = 0
                if scale > 0.0:
                    while drift_number < 1 and lengths[drift_number] != length and lengths[drift_number] > 0.0:
                        drift_number += 1
                    if lengths[drift_number] != length:
                        lengths[drift_number] = length
                        for i in range(k):
                            for j in range(i + 1):
                                drifts[drift_number, i, j] = drift_covariance(
                                    of_logs[i], of_logs[j], of_logs[0], length
                                )
                for i in range(k):
                    for j in range(i + 1):
                        covariance[i, j] = scale * drifts[drift_number, i, j]
                    covariance[i, i] += tau * tau + noise[path, measured[i]]
                determinant = inverse_of(covariance, k, inverse, work)
                total = projected(inverse, k, sums, projection)
                common = log_setting[h] - 0.5 * (determinant + math.log(total) + (k - 1) * _LOG_2PI) + log_none
                for f in range(n_forms):
                    if turn == 1 and (place >= filled or chosen[place, 0] != h or chosen[place, 1] != f):
                        continue
                    if costs[f] > _FARTHER * least + _FAR:
                        for i in range(k + 1):
                            masses[h, f, i] = -np.inf
                        continue
                    size = sizes[f]
                    prior = 0.0
                    for i in range(k):
                        linear[i] = log_means[i] - values[f, i]
                        for a in range(size):
                            linear[i] += gradients[f, i, a] * (best_theta[f, a] - middle[f, a])
                    squares = 0.0
                    for i in range(k):
                        q[i] = 0.0
                        for a in range(size):
                            along[i, a] = 0.0
                        for j in range(k):
                            q[i] += projection[i, j] * linear[j]
                            for a in range(size):
                                along[i, a] += projection[i, j] * gradients[f, j, a]
                        squares += q[i] * linear[i]
                    for a in range(size):
                        right[a] = 0.0
                        for i in range(k):
                            right[a] += along[i, a] * linear[i]
                        for b in range(a + 1):
                            normal[a, b] = 0.0
                            for i in range(k):
                                normal[a, b] += gradients[f, i, a] * along[i, b]
                        normal[a, a] += precision[f, a]
                        prior += math.log(precision[f, a])
                    if turn == 0:
                        of_theta = factor_and_solve(normal, size, right, solution)
                        for a in range(size):
                            squares -= right[a] * solution[a]
                        none = common + log_form[f] - 0.5 * (squares + of_theta - prior)
                        masses[h, f, 0] = none
                        top = max(top, none)
                        for i in range(k):
                            diagonal = projection[i, i]
                            residual = q[i]
                            for a in range(size):
                                residual -= along[i, a] * solution[a]
                                column[a] = along[i, a]
                            for a in range(size):  # forward substitution by the factor
                                part = column[a]
                                for b in range(a):
                                    part -= normal[a, b] * solved[b]
                                solved[a] = part / normal[a, a]
                                diagonal -= solved[a] ** 2
                            spread = 1.0 + deviating[h] * max(diagonal, 0.0)
                            more = -0.5 * math.log(spread) + 0.5 * deviating[h] * residual * residual / spread
                            masses[h, f, i + 1] = none + log_one - log_none + more
                            top = max(top, masses[h, f, i + 1])
                        continue
                    while place < filled and chosen[place, 0] == h and chosen[place, 1] == f:
                        i_far = chosen[place, 2] - 1
                        first = place
                        while (
                            place < filled
                            and chosen[place, 0] == h
                            and chosen[place, 1] == f
                            and chosen[place, 2] - 1 == i_far
                        ):
                            place += 1
                        # The precision and the right side with a level of less weight.
                        shrink = 0.0
                        if i_far >= 0:
                            shrink = deviating[h] / (1.0 + deviating[h] * projection[i_far, i_far])
                        for a in range(size):
                            reduced_right[a] = right[a]
                            if i_far >= 0:
                                reduced_right[a] -= shrink * along[i_far, a] * q[i_far]
                            for b in range(a + 1):
                                factor[a, b] = normal[a, b]
                                if i_far >= 0:
                                    factor[a, b] -= shrink * along[i_far, a] * along[i_far, b]
                        factor_and_solve(factor, size, reduced_right, solution)
                        base_cost = 0.0
                        for number in range(first, place):
                            for a in range(size - 1, -1, -1):  # backward substitution
                                part = normals[number, a]
                                for b in range(a + 1, size):
                                    part -= factor[b, a] * (theta[b])
                                theta[a] = part / factor[a, a]
                            linear_cost = 0.0
                            for a in range(size):
                                linear_cost += 0.5 * normals[number, a] ** 2
                                theta[a] += solution[a] + middle[f, a]
                            law_gradient(
                                of_logs, theta, floors[f], uses[f], free[f], fixed[f], logarithms[f], base_points,
                                value, gradient,
                            )  # fmt: skip
                            exact, base_cost = 0.0, 0.0
                            for turn_of in range(2):
                                for i in range(k):
                                    if turn_of == 0:
                                        residuals[i] = log_means[i] - value[i]
                                    else:
                                        residuals[i] = linear[i]
                                        for a in range(size):
                                            residuals[i] -= gradients[f, i, a] * solution[a]
                                summed, far = 0.0, 0.0
                                for i in range(k):
                                    row = 0.0
                                    for j in range(k):
                                        row += projection[i, j] * residuals[j]
                                    summed += row * residuals[i]
                                    if i == i_far:
                                        far = row
                                summed -= shrink * far * far
                                if turn_of == 0:
                                    exact = 0.5 * summed
                                    for a in range(size):
                                        exact += 0.5 * precision[f, a] * (theta[a] - middle[f, a]) ** 2
                                else:
                                    base_cost = 0.5 * summed
                                    for a in range(size):
                                        base_cost += 0.5 * precision[f, a] * solution[a] ** 2
                            for a in range(size):
                                theta_out[path, number, a] = theta[a]
                            form_out[path, number] = f
                            setting[path, number] = h
                            level[path, number] = measured[i_far] if i_far >= 0 else -1
                            weight[path, number] = math.exp(min(max(base_cost + linear_cost - exact, -30.0), 2.0))
            if turn == 0:
                summed = 0.0
                for h in range(n_settings):
                    for f in range(n_forms):
                        for i in range(k + 1):
                            masses[h, f, i] = math.exp(masses[h, f, i] - top)
                            summed += masses[h, f, i]
                passed = 0.5
                for h in range(n_settings):
                    for f in range(n_forms):
                        for i in range(k + 1):
                            passed += masses[h, f, i] / summed * n_draws
                            while passed >= 1.0 and filled < n_draws:
                                chosen[filled, 0], chosen[filled, 1], chosen[filled, 2] = h, f, i
                                filled += 1
                                passed -= 1.0
        mass = 0.0
        for number in range(filled):
            mass += weight[path, number]
        for number in range(n_draws):
            weight[path, number] = weight[path, number] / mass if number < filled else 0.0
