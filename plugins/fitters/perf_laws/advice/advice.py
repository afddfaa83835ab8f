"""Which growth the data do not determine, and which measurement would: what to measure next."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perf_laws.advice.expected_spread import expected_spread, measurable
from perf_laws.fits import designs, fit_designs
from perf_laws.growth import SURE, class_of, class_probabilities
from perf_laws.path_laws import PathLaws

__all__ = [
    "Advice",
    "advice",
    "deciding_points",
    "expected_spread",
    "measurable",
    "next_point",
    "next_points",
    "percent",
    "point_text",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

_FARTHEST = 64.0  # times the largest measured level: nobody measures further only to name a growth
_STANDARD_ERRORS = 3.0

_INVISIBLE = 1e-4  # a relative difference that nobody measures

# Of all paths together, only the largest are looked at: the others add nothing that would be seen.
_MOST_PATHS = 500

_GAP = 3.0  # levels farther apart than by this factor have room for one between


class Advice(NamedTuple):
    """What the data of a path do not determine.

    Attributes
    ----------
    path : str
    text : str
        One sentence.
    point : dict of str to float, or None
        Where to measure to tell; None where no point within reach does.
    rivals : tuple of str
        The two laws that cannot be told apart, the likelier first.
    here, there : float
        Largest relative difference between them where the path was measured, and at `point` (NaN where that is None).
    """

    path: str
    text: str
    point: dict[str, float] | None
    rivals: tuple[str, ...]
    here: float
    there: float


def advice(model: PathLaws, paths: Sequence[int] | None = None) -> tuple[Advice, ...]:
    """For each path whose growth is not sure, the two likeliest laws of different growth and where they part.

    Growth is sure where one class has a probability of 0.9 (`perf_laws.growth.SURE`). One of the two laws is
    fitted to the data and the other to that law: what is left is what the other cannot imitate. A point tells them
    apart where this is more than three standard errors, of a mean of as many runs as now and of the imitation there.
    Points between measured levels come first, then powers of 2 times the largest level up to 64, then levels below;
    other parameters stay at their largest measured level.

    Parameters
    ----------
    model : PathLaws
    paths : sequence of int, optional
        Numbers of the paths to look at; all by default.

    Examples
    --------
    >>> import numpy as np, pandas as pd, perfcore
    >>> rng = np.random.default_rng(0)
    >>> p = np.repeat([64.0, 128, 256, 512], 5)
    >>> time_s = (1 + 0.01 * p) * (1 + 0.02 * rng.standard_normal(20))
    >>> model = perfcore.fit(pd.DataFrame({"p": p, "time_s": time_s}), fitter="scaling")
    >>> advice(model)[0].text.split(":")[0]
    'not determined by these data'
    """
    chosen = np.arange(len(model.paths)) if paths is None else np.asarray(paths, dtype=np.int64)
    tables = np.stack([class_probabilities(model, symbol)[chosen] for symbol in model.symbols])
    unsure = tables.max(axis=2).argmin(axis=0)  # the parameter whose growth is least sure
    sure = np.take_along_axis(tables.max(axis=2), unsure[None], axis=0)[0] >= SURE
    found: dict[int, Advice] = {}
    for number, symbol in enumerate(model.symbols):
        mine = np.flatnonzero(~sure & (unsure == number))
        if len(mine):
            found.update(zip(mine.tolist(), _advice_over(model, symbol, chosen[mine]), strict=True))
    return tuple(found[row] for row in sorted(found))


def _advice_over(model: PathLaws, symbol: str, paths: Ints) -> list[Advice]:
    laws = _two_laws(model, symbol, paths)
    points = deciding_points(model, symbol)
    both = [_imitated(model, paths, true, rival, points) for true, rival in (laws, laws[::-1])]
    # Where one law is a limit of the other, as a constant is, the other imitates it wholly: then only the other way
    # round is there anything to see.
    backwards = both[1].here > both[0].here
    here = np.where(backwards, both[1].here, both[0].here)
    there = np.where(backwards[:, None], both[1].there, both[0].there)
    tells = np.where(backwards[:, None], both[1].tells, both[0].tells)
    # Another law holds before a break.
    begins = np.array([model.data[path].before[-1].until if model.data[path].before else 0.0 for path in paths])
    tells &= points[:, 0] > begins[:, None]
    result = []
    for row, path in enumerate(paths.tolist()):
        names = tuple(" + ".join(model.law_text(int(law[row]))) or "a constant" for law in laws)
        text = f"not determined by these data: {names[0]} and {names[1]} differ by {percent(here[row])} here"
        point, apart = None, float("nan")
        if tells[row].any():
            place = int(tells[row].argmax())
            point = dict(zip(model.symbols, points[place].tolist(), strict=True))
            apart = float(there[row, place])
            text += f"; measure at {point_text(point)} to tell ({percent(apart)} there)"
        else:
            text += f", and too little to tell up to {_FARTHEST:g} times the largest {symbol}; more runs may"
        result.append(Advice(model.paths[path], text, point, names, float(here[row]), apart))
    return result


class _Imitated(NamedTuple):
    here: Floats  # (K,) largest relative difference at the measured points
    there: Floats  # (K, C) at other points
    tells: Booleans  # (K, C)


def _imitated(model: PathLaws, paths: Ints, true: Ints, rival: Ints, points: Floats) -> _Imitated:
    """How nearly a rival imitates a law that was fitted to the data, and where one more mean would show that."""
    runs, _, laws = model.arrays
    roots = laws.root_weights[paths]
    met = roots > 0.0
    own, other = (designs(model, law, points) for law in (true, rival))
    coefficients, _ = fit_designs(own[0], roots, np.nan_to_num(runs.means[paths]))
    law_here, law_there = (np.einsum("knm,km->kn", columns, coefficients) for columns in own)
    imitation, covariance = fit_designs(other[0], roots, law_here)
    here, there = (
        np.abs(np.einsum("knm,km->kn", columns, imitation) / np.where(law > 0.0, law, np.nan) - 1.0)
        for columns, law in zip(other, (law_here, law_there), strict=True)
    )
    noise = np.sqrt(laws.within / laws.freedom)[paths]
    typical = np.nanmedian(np.where(met, roots * law_here, np.nan), axis=1)  # root of the number of runs
    of_rival = np.einsum("kcm,kmj,kcj->kc", other[1], covariance, other[1]) / np.where(
        law_there > 0.0, law_there**2, np.nan
    )
    error = noise[:, None] * np.sqrt(1.0 / typical[:, None] ** 2 + of_rival)
    there = np.nan_to_num(there)  # noise relative to a law that is 0 there says nothing
    return _Imitated(np.where(met, np.nan_to_num(here), 0.0).max(axis=1), there, there >= _STANDARD_ERRORS * error)


def percent(share: float) -> str:
    """A relative difference as a person writes it."""
    if share < _INVISIBLE:
        return f"under {100.0 * _INVISIBLE:g} %"
    return f"{100.0 * share:.2g} %" if share < 0.995 else f"{100.0 * share:.0f} %"


def point_text(point: dict[str, float]) -> str:
    """A point as a person writes it.

    Examples
    --------
    >>> point_text({"p": 1024.0, "n": 1.5e6})
    'p = 1024, n = 1.5e+06'
    """
    return ", ".join(f"{name} = {level:.6g}" for name, level in point.items())


def _two_laws(model: PathLaws, symbol: str, paths: Ints) -> tuple[Ints, Ints]:
    """The likeliest law of each of the two likeliest classes."""
    _, _, laws = model.arrays
    of_law = np.array([class_of(law, symbol) for law in model.laws])
    kept = laws.kept[paths]
    of_kept = np.where(kept >= 0, of_law[kept], -1)
    ranked = np.argsort(-class_probabilities(model, symbol)[paths], axis=1, kind="stable")[:, :2]
    # Laws are sorted by their probability, so the first of a class is its likeliest.
    first, second = (kept[np.arange(len(kept)), (of_kept == ranked[:, [k]]).argmax(axis=1)] for k in (0, 1))
    return first, second


def deciding_points(model: PathLaws, symbol: str) -> Floats:
    """Points to measure at to tell growth over a parameter, in the order in which they are preferred (C, q)."""
    place = model.symbols.index(symbol)
    levels = np.unique(model.measured[:, place])
    between = [
        2.0 ** round(0.5 * np.log2(low * high))
        for low, high in itertools.pairwise(levels.tolist())
        if high > _GAP * low
    ]
    beyond = (levels[-1] * 2.0 ** np.arange(1, np.log2(_FARTHEST) + 1)).tolist()
    below = [levels[0] / factor for factor in (2.0, 4.0)]
    if (levels == np.round(levels)).all():  # processors come whole
        below = [level for level in below if level >= 1.0 and level == round(level)]
    points = np.tile(model.measured.max(axis=0), (len(between) + len(beyond) + len(below), 1))
    points[:, place] = [*between, *beyond, *below]
    return points


def next_points(model: PathLaws, largest: float = 2.0) -> tuple[dict[str, float], ...]:
    """For each path, the point whose measurement leaves least open at the target.

    Parameters
    ----------
    model : PathLaws
    largest : float, >= 1
        How far beyond the largest measured level a run may go, as a factor.
    """
    points = measurable(model, largest)
    best = expected_spread(model, points)[:, 1:].argmin(axis=1)
    return tuple(dict(zip(model.symbols, points[k].tolist(), strict=True)) for k in best.tolist())


def next_point(model: PathLaws, largest: float = 2.0) -> dict[str, float]:
    """The point whose measurement, of all paths together, leaves least open at the target.

    Paths count by their share of the value at the target. Source: the expected variance after a measurement is the
    criterion of sequential design (K. Chaloner and I. Verdinelli, "Bayesian experimental design: a review",
    Statistical Science 10, 1995), taken of the logarithm and with the law itself unknown.

    Parameters
    ----------
    model : PathLaws
    largest : float, >= 1
        How far beyond the largest measured level a run may go, as a factor.

    Examples
    --------
    >>> import numpy as np, pandas as pd, perfcore
    >>> rng = np.random.default_rng(0)
    >>> p = np.repeat([4.0, 8, 16, 32, 64], 5)
    >>> time_s = (1 + 0.1 * p) * (1 + 0.05 * rng.standard_normal(25))
    >>> model = perfcore.fit(pd.DataFrame({"p": p, "time_s": time_s}), fitter="scaling")
    >>> next_point(model)
    {'p': 128.0}
    """
    points = measurable(model, largest)
    place = {path: k for k, path in enumerate(model.paths)}
    rows = model.rows[:_MOST_PATHS]
    spread = expected_spread(model, points, [place[row.path] for row in rows])[:, 1:]
    best = int((np.array([row.share for row in rows]) @ spread).argmin())
    return dict(zip(model.symbols, points[best].tolist(), strict=True))
