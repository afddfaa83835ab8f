"""What the choice of further points needs of a scaling law: what is open there, and the laws that disagree."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perf_scaling.leading import form_text, forms_of
from perf_scaling.path_laws import PathLaws
from perfcore.base.errors import OptionError, listing
from perfcore.models.design_rows import DesignRows, Rival


Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_MOST_RIVALS = 12  # less likely ones differ more and mean less
_LEAST = 1e-9  # share of the variance below which a direction is rounding


def law_design_rows(model: PathLaws, coordinates: dict[str, Floats], path_numbers: Ints) -> DesignRows:
    """What is open at points of one path, as directions of a normal distribution: no single law is relied on.

    Draws of the logarithm at the points have a covariance C = G G'; a measurement there is worth a row of G, over the
    noise of a run and the scatter of its level. What was measured so far is worth one row for each direction.
    """
    path = _one_path(model, path_numbers)
    draws = model.draws(_points(model, coordinates), [path])
    logs = np.log(draws.values[0])
    _, sizes, axes = np.linalg.svd(logs - logs.mean(axis=0), full_matrices=False)
    kept = sizes > _LEAST * max(float(sizes.max()), 1e-300)
    rows = (axes[kept] * sizes[kept, None]).T / np.sqrt(len(logs))
    noise = float(np.std(draws.scatter[0] + draws.noise[0]))
    path_data = model.data[path]
    measured = np.isfinite(model.means[path])
    return DesignRows(
        measured=(np.eye(int(kept.sum())),),
        asked=(rows / noise,),
        errors=np.eye(1),
        scale=np.exp(np.median(logs, axis=0)) * noise,
        points={symbol: np.array(levels)[measured] for symbol, levels in model.points.items()},
        repetitions=np.maximum(np.rint(np.array(path_data.counts)[measured]), 1.0).astype(np.int64),
        unit=model.unit,
    )


def law_rivals(model: PathLaws, coordinates: dict[str, Floats], path_numbers: Ints) -> tuple[Rival, ...]:
    """The other laws of one path that the data leave, likeliest first: what each predicts if it is true."""
    path = _one_path(model, path_numbers)
    forms, form_of_law = forms_of(model)
    posterior = model.posterior.of_paths([path])
    means = posterior.components(_points(model, coordinates))[0][0]
    form = form_of_law[posterior.law[0]]
    sums = np.bincount(form, posterior.weight[0], len(forms))
    rivals = []
    for number in np.argsort(-sums, kind="stable")[1 : 1 + _MOST_RIVALS].tolist():
        if sums[number] > 0.0:
            weight = np.where(form == number, posterior.weight[0], 0.0)
            values = np.exp(weight @ means / sums[number])
            name = form_text(forms[number], model.parameter_names, posterior.reciprocal)
            rivals.append(Rival(name, f"probability {sums[number]:.1%}", values))
    return tuple(rivals)


def _one_path(model: PathLaws, path_numbers: Ints) -> int:
    if len(distinct := np.unique(path_numbers)) > 1:
        names = listing((model.paths[k] for k in distinct.tolist()), 6)
        raise OptionError(f"points of one path are expected, not of {names}")
    return int(path_numbers[0])


def _points(model: PathLaws, coordinates: dict[str, Floats]) -> Floats:
    return np.stack([coordinates[symbol] for symbol in model.symbols], axis=1)
