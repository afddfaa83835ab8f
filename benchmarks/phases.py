"""How well the number of phases, their breaks and intervals, and the matching of two runs are right.

Run ``python benchmarks/phases.py`` with the extra ``bench`` installed. ``--traces FILE...``
adds splices of windows of recorded traces; their names do not stand on the page.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from phases_simulated import CHANGING, NOISE, WANDERING, Run, make, make_pair

import perfcore
from perf_worley.comparison import compare_phases
from perf_worley.phase_model import PhaseModel
from perfcore import UtilizationCurve

Floats = npt.NDArray[np.float64]
_CELLS = 512
_MARGIN = 10 / _CELLS  # a break this near to a true one is right
_INTERVALS = ("on/off", "on/off, slow", "barriers", "quadratic", "AR(0.9)")


def f1(true: Sequence[float], found: Sequence[float]) -> float:
    """F1 of breaks with a margin; the start of the run counts as one (van den Burg and Williams, arXiv 2003.06222)."""
    truth, left = [0.0, *true], [0.0, *found]
    n, right = len(left), 0
    for place in truth:
        near = [other for other in left if abs(other - place) <= _MARGIN]
        if near:
            right += 1
            left.remove(min(near, key=lambda other: abs(other - place)))
    return 2.0 * right / (n + len(truth))


def shares(model: PhaseModel) -> list[float]:
    """Breaks as shares of the run."""
    return [(at - model.start) / (model.end - model.start) for at in model.breaks]


def _fit(run: Run, fitter: str = "phases", **options: object) -> list[float]:
    return shares(perfcore.fit(run.curve, fitter=fitter, **options))  # type: ignore[arg-type]


def _cells(run: Run) -> Floats:
    return run.curve.averaged(_CELLS)[1]


def _pelt(run: Run) -> list[float]:
    import ruptures

    cells = _cells(run)
    return [b / _CELLS for b in ruptures.Pelt("rbf", jump=2).fit(cells).predict(pen=2 * np.log(_CELLS))[:-1]]


def _bottom_up(run: Run) -> list[float]:
    import ruptures

    cells = _cells(run)
    noise = (np.median(np.abs(np.diff(cells))) / 0.6745) ** 2 / 2
    signal = np.column_stack([cells, np.ones(_CELLS), np.linspace(-1, 1, _CELLS)])
    found = ruptures.BottomUp("linear", jump=2).fit(signal).predict(pen=3 * max(noise, 1e-9) * np.log(_CELLS))
    return [b / _CELLS for b in found[:-1]]


def _skchange(run: Run) -> list[float]:
    from skchange.detectors import PELT
    from skchange.interval_scorers import L2Cost

    cells = _cells(run)
    noise = np.median(np.abs(np.diff(cells))) / 0.6745 / np.sqrt(2)
    samples = (cells / max(noise, 1e-9))[:, None]  # its penalty is for noise of variance 1
    return [float(b) / _CELLS for b in PELT(cost=L2Cost()).fit(samples).predict(samples)]


METHODS: dict[str, Callable[[Run], list[float]]] = {
    "rule auto": _fit,
    "rule auto, degree given": lambda run: _fit(run, degree=run.degree),
    "worley": lambda run: _fit(run, "worley"),
    "worley refined, degree given": lambda run: _fit(run, "worley", degree=run.degree, refine=True),
    "worley refined, penalty, degree given": lambda run: _fit(
        run, "worley", rule="penalty", degree=run.degree, refine=True
    ),
    "ruptures Pelt rbf": _pelt,
    "ruptures BottomUp linear": _bottom_up,
    "skchange PELT": _skchange,
}


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    print(f"| {' | '.join(header)} |")
    print(f"| --- |{' ---: |' * (len(header) - 1)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    print(flush=True)


def _percent(values: Sequence[bool]) -> str:
    return f"{100 * np.mean(values):.0f} %" if len(values) else "-"


PARTS = ("noise", "wandering", "numbers", "splices", "intervals", "matching", "speed")
OURS = ("rule auto", "rule auto, degree given")


def numbers(families: dict[str, Callable[..., Run]], seeds: int, others: int, first: int) -> None:
    """Share of runs whose number is exact, and F1, by method and family."""
    exact: dict[tuple[str, str], list[bool]] = {}
    scores: dict[tuple[str, str], list[float]] = {}
    for family in families:
        for seed in range(first, first + seeds):
            run = make(families, family, seed)
            for name, method in METHODS.items():
                if name not in OURS and seed >= first + others:
                    continue
                found = method(run)
                exact.setdefault((name, family), []).append(len(found) == len(run.breaks) - 2)
                scores.setdefault((name, family), []).append(f1(list(run.breaks[1:-1]), found))
            print(family, seed, file=sys.stderr, flush=True)
    rows = []
    for name in METHODS if others else OURS:
        cells = [_percent(exact[name, family]) for family in families]
        mean = f"{np.mean([np.mean(exact[name, family]) for family in families]):.0%}"
        score = f"{np.mean([np.mean(scores[name, family]) for family in families]):.3f}"
        rows.append([name, *cells, mean, score])
    _table(["method", *families, "all", "F1"], rows)


def intervals(seeds: int, first: int) -> None:
    """Coverage of intervals of breaks and levels where the number is found."""
    rows = []
    for family in _INTERVALS:
        holds, widths, levels, exact = [], [], [], []
        for seed in range(first, first + seeds):
            run = make(CHANGING, family, seed)
            model = perfcore.fit(run.curve, fitter="phases")
            exact.append(len(model.phases) == len(run.breaks) - 1)
            if not exact[-1]:
                continue
            for k, phase in enumerate(model.phases):
                if phase.break_interval is not None:
                    low, high = phase.break_interval
                    holds.append(low <= run.breaks[k] <= high)
                    widths.append(high - low)
                if run.levels is not None and phase.level_error is not None:
                    nodes = np.linspace(phase.start, phase.end, 2001)
                    mean = float(np.mean(model.evaluate(phase, 0.5 * (nodes[1:] + nodes[:-1]))))
                    levels.append(abs(mean - run.levels[k]) <= 1.959964 * phase.level_error)
        width = f"{100 * np.median(widths):.1f} %" if widths else "-"
        rows.append([family, _percent(exact), str(len(holds)), _percent(holds), width, _percent(levels)])
        print("intervals", family, file=sys.stderr, flush=True)
    _table(["family", "number exact", "breaks", "95 % interval holds it", "median width", "95 % of levels hold"], rows)


def matching(seeds: int, first: int) -> None:
    """Share of pairs that are matched wholly right, by true and by found phases."""
    rows = []
    for what in ("true phases", "found phases"):
        right, costs = [], []
        for seed in range(first, first + seeds):
            sides = make_pair(seed)
            models = [_model(run, what) for run, _ in sides]
            comparison = compare_phases(models[0], models[1], ("a", "b"))
            costs.append(comparison.cost)
            owners = [_owners(m, run, own) for m, (run, own) in zip(models, sides, strict=True)]
            right.append(all(_right(pair, owners) for pair in comparison.pairs))
        rows.append([what, _percent(right), f"{np.quantile(costs, 0.95):.2f}", _percent([c <= 0.25 for c in costs])])
    _table(["phases", "wholly right", "95 % of costs below", "alike"], rows)
    strangers = []
    for seed in range(first, first + seeds):
        one, other = make_pair(seed)[0][0], make_pair(seed + seeds + 1)[0][0]
        strangers.append(compare_phases(_model(one, ""), _model(other, ""), ("a", "b")).cost <= 0.25)
    print(f"Pairs of different programs that look alike: {_percent(strangers)}.\n")


def _model(run: Run, what: str) -> PhaseModel:
    if what != "true phases":
        return perfcore.fit(run.curve, fitter="phases")  # type: ignore[return-value]
    from msgspec.structs import replace

    model = perfcore.fit(run.curve, fitter="phases", phases=1, degree=0)
    means = [_mean(run.curve, a, b) for a, b in zip(run.breaks[:-1], run.breaks[1:], strict=True)]
    only = model.phases[0]
    made = tuple(
        replace(only, start=float(a), end=float(b), coefficients=(mean,), break_interval=None)
        for a, b, mean in zip(run.breaks[:-1], run.breaks[1:], means, strict=True)
    )
    return replace(model, phases=made)  # type: ignore[type-var]


def _mean(curve: UtilizationCurve, begin: float, end: float) -> float:
    widths = np.diff(np.clip(curve.edges, begin, end))
    return float(widths @ curve.heights) / (end - begin)


def _owners(model: PhaseModel, run: Run, own: Sequence[int]) -> list[int]:
    """Which phase of the program each phase of a model overlaps most."""
    found = []
    for phase in model.phases:
        overlap = [
            max(0.0, min(phase.end, b) - max(phase.start, a))
            for a, b in zip(run.breaks[:-1], run.breaks[1:], strict=True)
        ]
        found.append(own[int(np.argmax(overlap))])
    return found


def _right(pair: tuple[object, object], owners: Sequence[Sequence[int]]) -> bool:
    sets = [
        {own[k] for k in side.phases} if side is not None else set() for side, own in zip(pair, owners, strict=True)
    ]  # type: ignore[attr-defined]
    if all(sets):
        return bool(sets[0] <= sets[1] or sets[1] <= sets[0])
    alone, other = (0, 1) if sets[0] else (1, 0)
    return not sets[alone] & set(owners[other])


def splices(files: Sequence[str], n: int, first: int, names: Sequence[str]) -> None:
    """F1 on runs put together of windows of recorded ones, whose phases are where the windows meet."""
    curves = [perfcore.read(file) for file in files]
    curves = [data if isinstance(data, UtilizationCurve) else data.utilization() for data in curves]
    usable = [(c, _loads(c)) for c in curves if c.n_steps > 100]
    scores: dict[str, list[float]] = {name: [] for name in names}
    for seed in range(first, first + n):
        rng = np.random.default_rng([seed, 5, 2026])
        run = _spliced(rng, [usable[int(rng.integers(len(usable)))] for _ in range(int(rng.integers(2, 6)))])
        for name in names:
            scores[name].append(f1(list(run.breaks[1:-1]), METHODS[name](run)))
        print("splice", seed, file=sys.stderr, flush=True)
    _table(["method", "F1"], [[name, f"{np.mean(values):.3f}"] for name, values in scores.items()])


def _loads(curve: UtilizationCurve) -> Floats:
    """Utilization on 4096 cells as a share of the processors."""
    means = curve.averaged(4096)[1]
    return means / float(curve.n_locations or curve.heights.max())


def _spliced(rng: np.random.Generator, parts: Sequence[tuple[UtilizationCurve, Floats]]) -> Run:
    lengths = rng.uniform(0.5, 1.5, len(parts))
    cells = np.maximum((2048 * lengths / lengths.sum()).astype(int), 150)
    pieces: list[Floats] = []
    for (_, loads), length in zip(parts, cells, strict=True):
        for _attempt in range(50):
            at = int(rng.integers(0, len(loads) - length))
            piece = loads[at : at + length]
            if not pieces or abs(piece.mean() - pieces[-1].mean()) > 0.1:
                break
        else:
            piece = np.clip(piece + rng.choice([-0.25, 0.25]), 0.0, 1.0)
        pieces.append(piece)
    values = np.concatenate(pieces)
    breaks = np.concatenate([[0], np.cumsum([len(piece) for piece in pieces])]) / len(values)
    edges = np.arange(len(values) + 1) / len(values)
    return Run(UtilizationCurve(edges, 10.0 * values, "s", n_locations=10), breaks, 1, None)


def speed() -> None:
    """CPU seconds of whole fits, and of the rule after the tree."""
    from perf_worley.factor_tree import moment_tree
    from perf_worley.phase_maker import choose
    from perf_worley.segmenters import curve_models

    rows = []
    for n in (10_000, 1_000_000, 10_000_000):
        rng = np.random.default_rng(n)
        levels = np.repeat(rng.uniform(10, 50, 6), -(-n // 6))[:n]
        heights = np.clip(levels + np.round(rng.normal(0, 5, n)), 0, 64).round()
        seconds, rules = [], []
        for _ in range(3):
            curve = UtilizationCurve(np.arange(n + 1.0), heights, n_locations=64)
            started = time.process_time()
            model = perfcore.fit(curve, fitter="phases")
            seconds.append(time.process_time() - started)
            merged = curve.merged()
            moment_tree(merged)
            started = time.process_time()
            models = curve_models(merged)
            choose(models.cells, {d: models.of_degree(d) for d in (0, 1, 2)})
            rules.append(time.process_time() - started)
        rows.append([f"{n:,}", f"{len(model.phases)}", f"{min(seconds):.3f}", f"{1e3 * min(rules):.0f}"])
    _table(["steps", "phases", "whole default fit: CPU s", "rule after the tree: CPU ms"], rows)


def main() -> None:
    """Run as a program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20, help="runs of each family")
    parser.add_argument(
        "--others", type=int, default=20, help="runs of each family that other methods are shown; 0: ours only"
    )
    parser.add_argument("--splices", type=int, default=60, help="how many runs of spliced windows")
    parser.add_argument("--first", type=int, default=100_000, help="first seed")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="of the page")
    parser.add_argument("--traces", nargs="*", default=[], help="recorded traces for splices")
    given = parser.parse_args()
    np.seterr(all="ignore")
    shown = [
        "python benchmarks/phases.py",
        f"--seeds {given.seeds} --others {given.others}",
        *(["--traces ..."] if given.traces else []),
        *([f"--parts {' '.join(given.parts)}"] if tuple(given.parts) != PARTS else []),
    ]
    print(f"# The number of phases, their places, and how sure\n\nMade by\n\n    {' '.join(shown)}\n")
    print(
        f"on {given.seeds} runs of each family (benchmarks/phases_simulated.py), {given.others} of them for other\n"
        "methods; no constant was set on these seeds. F1 is of breaks, right within 2 % of the run, where the start\n"
        "of the run counts as one. ruptures sees means of 512 cells, Pelt with the penalty 2 log 512, BottomUp with\n"
        "3 log 512 times the variance of differences; skchange sees them in units of the noise of differences.\n"
    )
    for part in given.parts:
        if part == "noise":
            print("## Noise without phases: says one phase\n")
            numbers(NOISE, given.seeds, given.others, given.first)
        elif part == "wandering":
            print("## Noise without a scale: says one phase\n")
            numbers(WANDERING, given.seeds, given.others, given.first)
        elif part == "numbers":
            print("## Simulated utilization: the number is exact\n")
            numbers(CHANGING, given.seeds, given.others, given.first)
        elif part == "splices" and given.traces:
            print("## Windows of recorded traces, spliced\n")
            splices(given.traces, given.splices, given.first, OURS if not given.others else tuple(METHODS))
        elif part == "intervals":
            print("## Intervals, with the number that the rule finds\n")
            intervals(2 * given.seeds, given.first + 10_000)
        elif part == "matching":
            print("## Matching phases of two runs of one program\n")
            matching(2 * given.seeds, given.first)
        elif part == "speed":
            print("## Speed\n")
            speed()


if __name__ == "__main__":
    main()
