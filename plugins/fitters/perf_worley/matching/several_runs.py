"""The same phases in several runs: each run is matched with the next, and what is matched belongs together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from perf_worley.matching.comparison import compare_phases
from perf_worley.matching.order_preserving import ALIKE
from perfcore.base.errors import DataError


def agreed_models(
    models: Sequence[Any], names: Sequence[str], with_phases: Callable[[int, int], Any]
) -> list[tuple[Any, bool]]:
    """Models with the number of phases that most runs have, where a run agrees better with the others so.

    Runs of one program have the same phases; of which one that is noisier may show fewer, or one too many.
    """
    counts = [len(model.phases) for model in models]
    usual = max(set(counts), key=lambda count: (counts.count(count), count))
    agreed = []
    for k, model in enumerate(models):
        others = [i for i, count in enumerate(counts) if count == usual and i != k]
        if counts[k] == usual or not others:
            agreed.append((model, False))
            continue
        nearest = min(others, key=lambda i: abs(i - k))
        again = with_phases(k, usual)
        costs = [compare_phases(models[nearest], each, (names[nearest], names[k])).cost for each in (model, again)]
        agreed.append((again, True) if costs[1] < costs[0] else (model, False))
    return agreed


def same_phases(models: Sequence[Any], names: Sequence[str]) -> list[list[range]]:
    """Phases of several runs that are the same, in order."""
    parent = {(run, phase): (run, phase) for run, model in enumerate(models) for phase in range(len(model.phases))}

    def root(node: tuple[int, int]) -> tuple[int, int]:
        while parent[node] != node:
            node = parent[node]
        return node

    for run in range(len(models) - 1):
        match = compare_phases(models[run], models[run + 1], (names[run], names[run + 1]))
        if not match.alike:
            raise DataError(
                f"{names[run]} and {names[run + 1]} do not look like runs of one program (cost {match.cost:.2f}, up to "
                f"{ALIKE} do), so their phases cannot be matched; fit each by itself"
            )
        for one, other in match.pairs:
            if one is None or other is None:
                continue
            together = [(run, phase) for phase in one.phases] + [(run + 1, phase) for phase in other.phases]
            for node in together[1:]:
                parent[root(node)] = root(together[0])
    groups: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for node in parent:
        groups.setdefault(root(node), []).append(node)

    def place(nodes: Sequence[tuple[int, int]]) -> float:
        """Where it lies in its runs, as a mean share of the duration."""
        shares = []
        for run, phase in nodes:
            model = models[run]
            middle = 0.5 * (model.phases[phase].start + model.phases[phase].end)
            shares.append((middle - model.start) / (model.end - model.start))
        return float(sum(shares)) / len(shares)

    ordered = sorted(groups.values(), key=place)
    result = []
    for nodes in ordered:
        each = [[phase for of, phase in nodes if of == run] for run in range(len(models))]
        result.append([range(min(phases), max(phases) + 1) if phases else range(0) for phases in each])
    return result
