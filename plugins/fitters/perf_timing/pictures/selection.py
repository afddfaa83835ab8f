"""What a picture shows of a scaling model: the points, codes, systems and values of further parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_tables.points import Places
from perf_timing.joint.model import JointModel
from perf_timing.scaling_model import ScalingModel
from perf_views.colours import SERIES
from perf_views.style import MARKERS
from perfcore.base.errors import DataError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MOST_BANDS = 4  # systems in a panel whose bounds can still be told apart
MOST_FUNCTIONS = 6  # of a joint model whose parameters are drawn
_MOST_PANELS = 12
_MOST_PREDICTED = 4  # systems of a model that is drawn also where a code never ran


@dataclass(frozen=True)
class Selection:
    """Measured points, and what is drawn of them."""

    model: ScalingModel
    at: Places  # of the points: the model's own, or those of other data
    value: Floats  # in the user's unit; the spread of repeated runs is NaN for a single one
    spread: Floats
    are_own: bool  # whether the model was fitted to exactly these points
    codes: tuple[int, ...]  # one panel for each
    systems: dict[int, tuple[str, str]]  # colour and marker; points of all other systems are grey
    others: dict[str, float]  # parameters but the first, and the values at which the panels show the model
    in_panels: Bools  # points at these values
    remarks: tuple[str, ...]  # what a reader must know about the picture

    @property
    def first(self) -> str:
        """Symbol of the parameter that lines run over."""
        return next(iter(self.model.columns))


def select(model: ScalingModel, data: Any) -> Selection:
    """The codes and systems with most points, at the most frequent values of the parameters but the first."""
    places, value, spread, are_own, remarks = _measured(model, data)
    others: dict[str, float] = {}
    in_panels = np.ones(len(places), dtype=np.bool_)
    symbols = list(model.columns)[1:]
    if symbols:
        table = np.column_stack([places.points[symbol] for symbol in symbols])
        combinations, which, counts = np.unique(table, axis=0, return_inverse=True, return_counts=True)
        in_panels = which.ravel() == np.argmax(counts)
        others = dict(zip(symbols, combinations[np.argmax(counts)].tolist(), strict=True))
        text = ", ".join(f"{model.columns[symbol]}={number:g}" for symbol, number in others.items())
        remarks.append(f"lines at {text}, where {in_panels.sum():,} of {len(places):,} points are")
    codes = _most_frequent(places.code[in_panels], _MOST_PANELS)
    drawn = in_panels & np.isin(places.code, codes)
    systems = _most_frequent(places.system[drawn], len(MARKERS))
    if is_drawn_everywhere(model):
        systems = tuple(range(len(model.systems)))
    pairs = np.unique(np.column_stack([places.code[drawn], places.system[drawn]]), axis=0)
    crowded = np.unique(pairs[:, 0], return_counts=True)[1] > MOST_BANDS
    left_out = {
        "codes not shown": len(np.unique(places.code)) - len(codes),
        "systems in grey": len(np.unique(places.system[drawn])) - len(systems),
        "panels too full for bounds": int(crowded.sum()),
    }
    if isinstance(model, JointModel):
        left_out["functions whose w and r are not shown"] = len(model.functions) - MOST_FUNCTIONS
    remarks += [f"{reason}: {number:,}" for reason, number in left_out.items() if number > 0]
    styles = {s: (SERIES[k % len(SERIES)], MARKERS[k]) for k, s in enumerate(systems)}
    return Selection(model, places, value, spread, are_own, codes, styles, others, in_panels, tuple(remarks))


def is_drawn_everywhere(model: ScalingModel) -> bool:
    """Whether codes are drawn also on systems where they never ran."""
    return isinstance(model, JointModel) and len(model.systems) <= _MOST_PREDICTED


def named_places(model: ScalingModel, places: Places) -> dict[str, Any]:
    """Places as `ScalingModel.predict` takes them: columns by name, with names of codes and systems."""
    return {
        **places.points,
        "code": np.array(model.codes)[places.code],
        "system": np.array(model.systems)[places.system],
    }


def _measured(model: ScalingModel, data: Any) -> tuple[Places, Floats, Floats, bool, list[str]]:
    """Points, values, spreads, whether they are the model's own, and remarks."""
    observed = None if data is None else model.check_data(data)
    dropped = model.dropped if isinstance(model, JointModel) else ()
    if observed is not None and dropped:
        observed = observed.select(np.array([observed.describe(k) not in dropped for k in range(len(observed))]))
    remarks = [f"outliers left out of fit and picture: {len(dropped):,}"] if dropped else []
    if observed is None or observed.fingerprint() == model.origin.fingerprint:
        observations = model.observations
        spread = np.array([np.nan if s is None else s for s in observations.spread])
        return model.measured_places, np.array(observations.value), spread, True, remarks
    code, system = (
        np.array([places.get(name, -1) for name in names], dtype=np.int64)[index]
        for index, names, places in (
            (observed.code, observed.codes, {name: k for k, name in enumerate(model.codes)}),
            (observed.system, observed.systems, {name: k for k, name in enumerate(model.systems)}),
        )
    )
    kept = (code >= 0) & (system >= 0)
    if set(observed.points) != set(model.columns) or not kept.any():
        raise DataError(f"{observed.source}: no code on a system over {', '.join(model.columns)} that the model has")
    remarks.append(f"points of other data than the model's, {observed.source}")
    if not kept.all():
        remarks.append(f"{(~kept).sum():,} points are of codes or systems that the model does not have")
    points = Places({symbol: observed.points[symbol][kept] for symbol in model.columns}, code[kept], system[kept])
    return points, observed.value[kept], observed.spread[kept], False, remarks


def _most_frequent(index: Ints, most: int) -> tuple[int, ...]:
    """The numbers that occur most often, in rising order."""
    numbers, counts = np.unique(index, return_counts=True)
    return tuple(sorted(numbers[np.argsort(-counts, kind="stable")[:most]].tolist()))
