"""A model by category generated again from the observations that it keeps, with other default models."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from perf_lost_cycles.default_models.sets import DefaultModel
from perf_lost_cycles.lca.categories import fit_categories
from perf_lost_cycles.lca.model import LcaModel
from perf_lost_cycles.lca.options import LcaOptions
from perf_lost_cycles.modgen.generation import generate_model
from perf_lost_cycles.modgen.model import ModgenModel
from perf_lost_cycles.modgen.options import ModgenOptions
from perf_lost_cycles.views.subject import LcaSubject, ModgenSubject
from perf_tables.categories.table import CategoryTable
from perfcore.hooks.options import build


def refitted(
    model: ModgenModel | LcaModel, names: Sequence[str], models: Sequence[DefaultModel]
) -> ModgenModel | LcaModel:
    """The model that the fitter would make of the same observations."""
    new_model = _modgen(model, models) if isinstance(model, ModgenModel) else _lca(model, models)
    options = {**model.origin.options, "models": list(names)}
    return msgspec.structs.replace(new_model, origin=msgspec.structs.replace(model.origin, options=options))


def _modgen(model: ModgenModel, models: Sequence[DefaultModel]) -> ModgenModel:
    subject, options = ModgenSubject(model), build(ModgenOptions, model.origin.options, "modgen")
    table = CategoryTable(
        points=subject.points,
        columns=model.columns,
        categories=model.names,
        values=subject.values.T,
        repetitions=np.array(model.observations.repetitions),
        spread=np.full(subject.values.T.shape, np.nan),
        total=subject.total,
        unit=model.unit,
        value_name=model.value_name,
        source=model.origin.source,
    )
    new_model = generate_model(table, models, options, np.array(model.root_weights), ~subject.fitted)
    return msgspec.structs.replace(new_model, notes=tuple(dict.fromkeys([*model.notes, *new_model.notes])))


def _lca(model: LcaModel, models: Sequence[DefaultModel]) -> LcaModel:
    subject, options = LcaSubject(model), build(LcaOptions, model.origin.options, "lca")
    table = CategoryTable(
        points=subject.points,
        columns=dict(model.factors),
        categories=model.names,
        values=subject.values.T,
        repetitions=model.fitted_repetitions,
        spread=np.array([fit.spread for fit in model.fits], dtype=np.float64).T,
        total=subject.total,
        unit=model.unit,
        value_name=model.value_name,
        source=model.origin.source,
    )
    fitted = fit_categories(table, model.factor, models, options, np.array(model.root_weights), "category")
    return msgspec.structs.replace(model, fits=fitted.categories())
