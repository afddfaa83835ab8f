"""The page of phases: the report over the curve, and sliders that fit it with other numbers of phases."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

import perfcore
from perf_views.contents import Field, Form, NoViewError, Query, View, ViewPath
from perf_views.drawable import model_blocks
from perf_worley.fitter import as_curve
from perf_worley.options import DEGREES, PhasesOptions
from perfcore.base.errors import OptionError
from perfcore.hooks.options import build
from perfcore.hooks.registry import option_fields, registry

if TYPE_CHECKING:
    from perf_worley.phase_model import PhaseModel

_PHASES, _DEGREE = "phases", "degree"
_OF_DATA = ("busy", "idle", "column", "phases_from", "tolerance")  # that a curve and a number of phases do without
_MOST_ON_SLIDER = 40
_MOST_FITS = 32  # that are remembered


class PhaseViews:
    """One view of a model; with its data also of models with other numbers of phases."""

    def __init__(self, model: PhaseModel, data: Any = None) -> None:
        self._model, self._curve = model, None
        if data is not None:
            chosen = {name: model.origin.options.get(name) for name in ("busy", "idle", "column")}
            options: PhasesOptions = build(PhasesOptions, {n: v for n, v in chosen.items() if v is not None}, "phases")
            # The error tree belongs to the curve with equal neighbours joined: kept here, every refit finds it.
            self._curve = as_curve(data, options).merged()
        self._fits: OrderedDict[tuple[str, str], PhaseModel] = OrderedDict()

    @property
    def title(self) -> str:
        return self._model.title

    def view(self, path: ViewPath, query: Query) -> View:
        """Return the phases that the address asks for; see `perf_views.Viewable.view`."""
        if path:
            raise NoViewError(path)
        model = self._chosen(query)
        blocks = model_blocks(model, self._curve)
        return View(model.title, blocks if self._curve is None else (*blocks, self._sliders(model)))

    def paths(self) -> Iterable[ViewPath]:
        return [()]

    def _chosen(self, query: Query) -> PhaseModel:
        options = self._model.origin.options
        usual = str(len(self._model.phases)), str(options["degree"])
        phases, degree = key = query.get(_PHASES) or usual[0], query.get(_DEGREE) or usual[1]
        if self._curve is None or key == usual:
            return self._model
        if not phases.isdecimal():
            raise OptionError(f"phases {phases!r}: a number is expected")
        if key not in self._fits:
            fitter, known = _fitter_of(self._model)
            kept = {name: value for name, value in options.items() if name in known and name not in _OF_DATA}
            fitted = perfcore.fit(self._curve, fitter=fitter, **{**kept, _PHASES: phases, _DEGREE: degree})
            self._fits[key] = fitted  # type: ignore[assignment]
            if len(self._fits) > _MOST_FITS:
                self._fits.popitem(last=False)
        return self._fits[key]

    def _sliders(self, model: PhaseModel) -> Form:
        most = str(max(_MOST_ON_SLIDER, len(model.phases)))
        count = str(len(model.phases))
        fields = [Field(_PHASES, "number of phases", count, "range", minimum="1", maximum=most, step="1")]
        if not model.functions:
            degree = str(model.origin.options["degree"])
            fields.append(Field(_DEGREE, "degree", degree, "choice", DEGREES[_fitter_of(model)[0]]))
        return Form(tuple(fields), (), "Fit")


def _fitter_of(model: PhaseModel) -> tuple[str, Collection[str]]:
    """Return a model's fitter and its options with those of the selected part; files of 0.1 name another one."""
    name = "phases" if "segmenter" in model.origin.options else model.origin.fitter
    groups = option_fields(registry().entry("fitters", name), model.origin.options)
    return name, {field.name for fields in groups.values() for field in fields}
