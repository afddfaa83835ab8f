"""What every fitter and its model promise."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from matplotlib.figure import Figure

import perfcore
from perfcore.base.errors import PerfError, UnknownNameError
from perfcore.base.files import MODEL_SCHEMA
from perfcore.hooks.registry import registry
from perfcore.models.model import Model, Parameter, Points
from perfcore.testing._options import check_options

__all__ = ["FitterSuite"]


def _each(points: Points, change: Callable[[npt.NDArray[Any]], Any]) -> Any:
    if isinstance(points, Mapping):
        return {name: change(np.asarray(values)) for name, values in points.items()}
    return change(np.asarray(points))


def _length(points: Points) -> int:
    return len(np.asarray(next(iter(points.values())) if isinstance(points, Mapping) else points))


class FitterSuite:
    """Tests of one fitter, by its registered name: model files are loaded through the registry.

    Attributes
    ----------
    name : str
        What the fitter is registered as.
    options : mapping
        Options to fit with.
    """

    name: str
    options: Mapping[str, Any] = MappingProxyType({})

    def data(self) -> Any:
        """Small data that the fitter takes; override it."""
        raise NotImplementedError

    def points(self) -> Points:
        """At least two points at which the model can predict, an array or a mapping of arrays; override it."""
        raise NotImplementedError

    def fit(self) -> Model:
        """The model of the suite's data."""
        return perfcore.fit(self.data(), fitter=self.name, **self.options)

    def test_options(self) -> None:
        """Options can be listed and accept their defaults."""
        check_options(registry().load("fitters", self.name).Options)

    def test_unknown_option(self) -> None:
        """Refused, and the message names the fitter."""
        with pytest.raises(UnknownNameError, match=self.name):
            perfcore.fit(self.data(), fitter=self.name, **{**self.options, "no_such_option": 1})

    def test_data_of_another_type(self) -> None:
        """Refused in one line."""
        with pytest.raises(PerfError) as caught:
            perfcore.fit(object(), fitter=self.name, **self.options)
        assert len(str(caught.value).splitlines()) == 1

    def test_model_is_of_the_announced_type(self) -> None:
        """The type by which its file is read."""
        fitter, model = registry().load("fitters", self.name), self.fit()
        assert type(model) is fitter.class_of_models()
        assert model.kind
        assert model.variables

    def test_model_is_frozen(self) -> None:
        """No field can be set."""
        model = self.fit()
        for name in model.__struct_fields__:
            with pytest.raises(AttributeError):
                setattr(model, name, getattr(model, name))

    def test_model_says_where_it_comes_from(self) -> None:
        """Fitter, version, data, and every option with its value."""
        origin = self.fit().origin
        assert origin.fitter == self.name
        assert origin.version
        assert origin.source
        assert origin.fingerprint
        assert set(self.options) <= set(origin.options)

    def test_fits_are_reproducible(self) -> None:
        """The same data give the same numbers."""
        assert self.fit().parameters == self.fit().parameters

    def test_predicts_arrays(self) -> None:
        """Array in, array out, of the same length; a list will do."""
        model, points = self.fit(), self.points()
        values = model.predict(points)
        assert values.shape == (_length(points),)
        assert values.dtype == np.float64
        assert np.isfinite(values).all()
        np.testing.assert_array_equal(model.predict(_each(points, np.ndarray.tolist)), values)
        np.testing.assert_array_equal(model.predict(_each(points, np.flip)), values[::-1])
        assert len(model.remarks(points)) in (0, len(values))

    def test_predicts_bounds(self) -> None:
        """Value, lower and upper bound; a higher coverage is wider; a coverage is above 0 and below 1."""
        model, points = self.fit(), self.points()
        value, lower, upper = model.predict_array(points, interval=0.5).T
        np.testing.assert_array_equal(value, model.predict(points))
        assert (lower <= value).all()
        assert (value <= upper).all()
        _, lowest, uppermost = model.predict_array(points, interval=0.99).T
        assert (lowest <= lower).all()
        assert (upper <= uppermost).all()
        for coverage in (0.0, 1.0, -1.0, math.nan):
            with pytest.raises(PerfError):
                model.predict_array(points, interval=coverage)

    def test_draws_part_by_part(self) -> None:
        """One key for each name; draws at each point ascend around values, or are NaN for lack of bounds."""
        model, points = self.fit(), self.points()
        named = points if isinstance(points, Mapping) else {next(iter(model.variables)): points}
        part_draws = model.part_draws({name: np.asarray(levels) for name, levels in named.items()})
        if part_draws is None:  # a comparison takes the bounds of `predict`
            return
        assert len(part_draws.keys) == len(set(part_draws.keys)) == len(part_draws.names)
        assert bool(part_draws.what) == bool(part_draws.names)
        for drawn, n_parts in ((part_draws.parts, (len(part_draws.names),)), (part_draws.total, ())):
            if drawn is None:
                continue
            assert drawn.values.shape == (*n_parts, _length(points))
            assert drawn.draws.shape[:-1] == drawn.values.shape
            assert drawn.draws.shape[-1] % 64 == 0
            assert not (np.diff(drawn.draws) < 0.0).any()
            assert np.isnan(drawn.draws).all(axis=-1).sum() == np.isnan(drawn.draws).any(axis=-1).sum()
            assert not (drawn.values < drawn.draws[..., 0]).any()
            assert not (drawn.values > drawn.draws[..., -1]).any()

    def test_parameters(self) -> None:
        """Finite numbers under different names; a standard error is a number or None."""
        parameters = self.fit().parameters
        assert parameters
        assert len({parameter.name for parameter in parameters}) == len(parameters)
        for parameter in parameters:
            assert isinstance(parameter, Parameter)
            assert math.isfinite(parameter.estimate)
            assert parameter.standard_error is None or parameter.standard_error >= 0.0

    def test_statistics(self) -> None:
        """Named numbers and words; a determination coefficient says of which kind it is."""
        for name, value in self.fit().statistics.items():
            assert isinstance(value, (int, float, str, type(None)))
            assert not isinstance(value, float) or math.isfinite(value), f"{name} is {value}"
            assert not name.startswith("r2") or name.endswith(("uncentered", "centered")), name

    def test_texts(self) -> None:
        """Title, summary, formula and tables can be printed as they are; a formula may be empty."""
        model = self.fit()
        assert isinstance(model.formula, str)
        assert len(model.title.splitlines()) == 1
        assert model.report().lines
        assert all(len(line.splitlines()) == 1 for line in model.report().lines)
        for _, header, rows in model.report().shown_tables:
            assert all(len(row) == len(header) for row in rows)

    def test_file_is_strict_json_that_says_what_it_is(self) -> None:
        """Schema, kind and origin with the model; NaN and infinity are not JSON."""
        model = self.fit()
        text = json.dumps(model.to_dict(), allow_nan=False)
        content = json.loads(text)
        assert content["schema"] == MODEL_SCHEMA
        assert content["kind"] == model.kind
        assert set(content) == {
            *("schema", "kind", "model", "fitter", "options"),
            *("source", "fingerprint", "version"),
        }

    def test_saved_and_loaded_it_is_the_same(self, tmp_path: Path) -> None:
        """Equal as a value, equal in what it predicts, and equal in its content."""
        model = self.fit()
        model.save(tmp_path / "model.json")
        loaded = perfcore.load(tmp_path / "model.json")
        assert loaded == model
        assert loaded.to_dict() == model.to_dict()
        np.testing.assert_array_equal(loaded.predict(self.points()), model.predict(self.points()))

    def test_draws_itself_with_and_without_its_data(self, tmp_path: Path) -> None:
        """A picture is written; without data all plots are made, and the first is drawn."""
        model, file = self.fit(), tmp_path / "with.svg"
        perfcore.plot(model, self.data(), file)
        assert b"<svg" in file.read_bytes()
        axes = Figure().add_subplot()
        perfcore.plot(model, ax=axes, panels=[plot.name for plot in model.report().plots][:1])
        assert axes.has_data()
