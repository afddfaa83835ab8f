"""What the choice of further points needs of a scaling law: its linear rows at other points, and its rivals."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perf_laws.fits import fit_path
from perf_laws.path_laws import PathLaws
from perfcore.base.errors import OptionError, listing
from perfcore.models.design_rows import DesignRows, Rival

__all__ = ["law_design_rows", "law_rivals"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_MOST_RIVALS = 12  # less likely ones differ more and mean less


def law_design_rows(model: PathLaws, at: dict[str, Floats], which: Ints) -> DesignRows:
    """The likeliest law of one path as linear in its coefficients; those at their bound of 0 are taken for known.

    Parameters
    ----------
    model : PathLaws
    at : mapping of str to (n,) float
        Parameters of the points asked for.
    which : (n,) int
        Number of the path at each.

    Raises
    ------
    OptionError
        The points are of several paths.
    """
    path = _one_path(model, which)
    own = model.data[path]
    fits = fit_path(model, path, own.laws[:1], _points(model, at))
    free = fits.coefficients[0] > 0.0
    coefficients = fits.coefficients[0, free]
    columns, asked = fits.here[0][:, free], fits.there[0][:, free]
    values = asked @ coefficients
    roots = np.array(own.root_weights)
    met = roots > 0.0
    typical = float(np.median((roots * (columns @ coefficients))[met]))
    scale = np.maximum(values, np.finfo(np.float64).tiny) / typical
    return DesignRows(
        measured=((columns * roots[:, None])[met],),
        asked=(asked / scale[:, None],),
        errors=np.array([[own.within / own.freedom]]),
        scale=scale,
        points={symbol: np.array(levels)[met] for symbol, levels in model.points.items()},
        repetitions=np.maximum(np.rint(np.array(own.counts)[met]), 1.0).astype(np.int64),
        unit=model.unit,
    )


def law_rivals(model: PathLaws, at: dict[str, Floats], which: Ints) -> tuple[Rival, ...]:
    """The other laws of one path that the data leave, likeliest first."""
    path = _one_path(model, which)
    own = model.data[path]
    laws = own.laws[1 : 1 + _MOST_RIVALS]
    if not laws:
        return ()
    values = fit_path(model, path, laws, _points(model, at)).predicted
    return tuple(
        Rival(" + ".join(model.law_text(law)) or "a constant", f"probability {probability:.1%}", value)
        for law, probability, value in zip(laws, own.probabilities[1:], values, strict=False)
    )


def _one_path(model: PathLaws, which: Ints) -> int:
    if len(several := np.unique(which)) > 1:
        names = listing((model.paths[k] for k in several.tolist()), 6)
        raise OptionError(f"points of one path are expected, not of {names}")
    return int(which[0])


def _points(model: PathLaws, at: dict[str, Floats]) -> Floats:
    return np.stack([at[symbol] for symbol in model.symbols], axis=1)
