"""Whether the prior of laws can be learned from some sources for another; docs/how-we-know-scaling.md.

python benchmarks/learn_prior.py CASES.jsonl MORE.jsonl    # some minutes

Series are fitted with all blocks of the prior (a class of drift and a group of laws) equally likely; reweighing what
each block says of the larger levels then stands for a fit with other weights. Weights are learned by the predictive
density of the levels held out, at all three distances, sources equal, with a penalty on their logarithms, from all
sources but one, and judged on that one; so are how often, and by how much, slopes change beyond the data.
"""

from __future__ import annotations

import argparse
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from real_extrapolation import DISTANCES, Task, print_table, relative_variance, tasks_of
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from perf_scaling.engine import weigh_one_parameter
from perf_scaling.family import (
    CHANGE_OF_SLOPE,
    CHANGES,
    GROUPS,
    NOISES,
    PRIOR,
    deviating_rate,
    deviating_variance,
    shapes_of,
)

Floats = npt.NDArray[np.float64]

MOST = 60  # series of a source that are fitted: sources count alike
PARTS = 1024  # components, of which each block keeps some
PENALTIES = (0.01, 0.1, 1.0)  # times the squares of the logarithms
RATES, SLOPES = (0.0, 0.06, 0.125, 0.2, 0.3), (0.3, 0.5, 0.8)  # changes at four times, and their deviations
LEAST = 1e-12  # density and mass that nothing is below


@dataclass(frozen=True)
class Judged:
    """What each block B says of N levels held out.

    Attributes
    ----------
    tasks : sequence of Task
    mass : (N, B) float
        Evidence of each block, up to a factor for each task.
    usual : (N, B) float
        Density of the levels held out where the slope goes on, times the mass.
    changed : dict of float to (N, B) float
        The same where the slope changed, for each deviation of `SLOPES`.
    """

    tasks: Sequence[Task]
    mass: Floats
    usual: Floats
    changed: Mapping[float, Floats]

    def density(self, rate: float, slope: float) -> Floats:
        """As `usual`, with a probability of changes at four times the last level."""
        distance = np.array([np.log(task.at / task.levels[-1]) for task in self.tasks]) / np.log(4.0)
        changes = np.minimum(rate * distance**2, 0.5)[:, None]
        return (1.0 - changes) * self.usual + changes * self.changed[slope]

    def scores(self, weights: Floats, rate: float = CHANGES, slope: float = CHANGE_OF_SLOPE) -> Floats:
        """Logarithm of the predictive density (N,) with weights of the blocks."""
        return np.log((self.density(rate, slope) @ weights + LEAST) / (self.mass @ weights + LEAST))


def judged_of(tasks: Sequence[Task]) -> Judged:
    """Fit all tasks with equal blocks."""
    flat = np.ones(PRIOR.shape)
    mass, usual = np.zeros((len(tasks), PRIOR.size)), np.zeros((len(tasks), PRIOR.size))
    changed = {slope: np.zeros(usual.shape) for slope in SLOPES}
    for number, task in enumerate(tasks):
        means = np.array([[own.mean() for own in task.runs]])
        counts = np.array([[float(len(own)) for own in task.runs]])
        spread = relative_variance([task])
        found = weigh_one_parameter(task.levels, means, counts, spread, prior=flat, parts=PARTS)
        middle, variance = (one[0, :, 0] for one in found.components([[task.at]]))
        tau = found.settings[found.setting[0], 0]
        variance = variance + tau**2 + spread[0]
        block = NOISES.drift[found.setting[0]] * len(GROUPS) + shapes_of(task.levels).group[found.law[0]]
        rate = float(deviating_rate(np.array(len(task.levels))))
        rest = np.log(task.judged.mean()) - middle
        distance = np.log(task.at / task.levels[-1])

        def add(
            to: Floats, values: Floats, block: npt.NDArray[np.int64] = block, weight: Floats = found.weight[0]
        ) -> None:
            np.add.at(to, block, weight * values)

        add(mass[number], np.ones(len(block)))
        far = variance + deviating_variance(tau)
        add(usual[number], (1.0 - rate) * normal(rest, variance) + rate * normal(rest, far))
        for slope, values in changed.items():
            add(values[number], normal(rest, variance + (slope * distance) ** 2))
    return Judged(tasks, mass, usual, changed)


def normal(rest: Floats, variance: Floats) -> Floats:
    """Density of normal distributions."""
    return np.asarray(np.exp(-0.5 * rest**2 / variance) / np.sqrt(2.0 * np.pi * variance))


def equal_weights(tasks: Sequence[Task], without: str | None = None) -> Floats:
    """Weights by which distances count alike, and in each of them sources; 0 of one source."""
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for task in tasks:
        counts[task.distance, task.source] += task.source != without
    of_distance = {d: sum(1 for (own, _), count in counts.items() if own == d and count) for d in DISTANCES}
    return np.array(
        [
            0.0
            if task.source == without
            else 1.0 / counts[task.distance, task.source] / of_distance[task.distance] / len(DISTANCES)
            for task in tasks
        ]
    )


def learned(judged: Judged, share: Floats, penalty: float, start: Floats) -> Floats:
    """Weights of the blocks (B,) that foretell best, near a start as far as the penalty says."""
    density, mass = (np.log(one + LEAST) for one in (judged.density(CHANGES, CHANGE_OF_SLOPE), judged.mass))
    used = share > 0.0
    density, mass, share = density[used], mass[used], share[used]

    def cost(logs: Floats) -> tuple[float, Floats]:
        logs = logs + np.log(start)
        value = share @ (logsumexp(density + logs, axis=1) - logsumexp(mass + logs, axis=1))
        slope = share @ (softmax(density + logs, axis=1) - softmax(mass + logs, axis=1))
        away = logs - np.log(start)
        return float(penalty * (away**2).sum() - value), 2.0 * penalty * away - slope

    found = minimize(cost, np.zeros(len(start)), jac=True, method="L-BFGS-B").x
    return np.asarray(softmax(found + np.log(start)))


def left_out(judged: Judged, score: Callable[[Floats], Floats]) -> Floats:
    """Scores (N,) of each source with what was learned, given the shares (N,) of tasks, without it."""
    source = np.array([task.source for task in judged.tasks])
    found = np.empty(len(source))
    for own in sorted(set(source)):
        found[source == own] = score(equal_weights(judged.tasks, own))[source == own]
    return found


def rows_of(judged: Judged) -> Iterator[list[str]]:
    """Mean score by distance of every way to choose the prior."""
    share = equal_weights(judged.tasks)
    distance = np.array([task.distance for task in judged.tasks])
    shipped = PRIOR.ravel() / PRIOR.sum()
    flat = np.full(PRIOR.size, 1.0 / PRIOR.size)

    def row(name: str, scores: Floats) -> list[str]:
        means = [float(share[distance == d] @ scores[distance == d] * len(DISTANCES)) for d in DISTANCES]
        return [name, *(f"{mean:.3f}" for mean in means), f"{np.mean(means):.3f}"]

    yield row("weights as shipped", judged.scores(shipped))
    yield row("equal weights", judged.scores(flat))
    for (name, start), penalty in itertools.product((("equal", flat), ("shipped", shipped)), PENALTIES):

        def score(rest: Floats, penalty: float = penalty, start: Floats = start) -> Floats:
            return judged.scores(learned(judged, rest, penalty, start))

        yield row(f"learned from {name} without the source, penalty {penalty:g}", left_out(judged, score))
        yield row(f"the same, the source included, penalty {penalty:g}", score(share))
    for rate, slope in itertools.product(RATES, SLOPES):
        yield row(f"slopes change at {rate:g}, by {slope:g}", judged.scores(shipped, rate, slope))
    chosen: dict[tuple[float, float], int] = defaultdict(int)

    def best(rest: Floats) -> Floats:
        pair = max(itertools.product(RATES, SLOPES), key=lambda one: float(rest @ judged.scores(shipped, *one)))
        chosen[pair] += 1
        return judged.scores(shipped, *pair)

    scores = left_out(judged, best)
    yield row(f"changes chosen without the source: {', '.join(f'{a:g} by {b:g}' for a, b in sorted(chosen))}", scores)


def some(tasks: Sequence[Task]) -> list[Task]:
    """All tasks of at most so many series of each source, the same every time."""
    paths: dict[str, list[str]] = defaultdict(list)
    for task in tasks:
        if task.path not in paths[task.source]:
            paths[task.source].append(task.path)
    rng = np.random.default_rng(0)
    kept = {source: set(rng.permutation(own)[:MOST].tolist()) for source, own in paths.items()}
    return [task for task in tasks if task.path in kept[task.source]]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="+", type=Path, help="JSON lines of series")
    tasks = some(tasks_of(parser.parse_args().cases))
    print(f"{len(tasks)} judgements")
    print_table(("prior", *DISTANCES, "mean"), rows_of(judged_of(tasks)))


if __name__ == "__main__":
    main()
