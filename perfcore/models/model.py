"""What every model can do, and the file it is kept in."""

from __future__ import annotations

import numbers
import os
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, overload

import msgspec
import numpy as np
import numpy.typing as npt

from perfcore.base import pd
from perfcore.base.errors import ModelFileError, OptionError, PerfError, PluginError, UnknownNameError
from perfcore.base.files import MODEL_SCHEMA, write_json
from perfcore.data.columns import shown_names
from perfcore.hooks.registry import Entry, registry
from perfcore.models.points import columns_of
from perfcore.report import Result
from perfcore.tables import Table

if TYPE_CHECKING:
    from perfcore.models.points import DesignRows, GrowthDraws, Observed, PartDraws, Rival

__all__ = ["Model", "Origin", "Parameter", "Points", "is_model_file", "load", "model_of"]

Points = npt.ArrayLike | Mapping[str, Any]
Floats = npt.NDArray[np.float64]

_BEGINNING = 100  # bytes of a model file, in which it says what it is


class Parameter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One number of a model."""

    name: str
    estimate: float
    standard_error: float | None = None  # None where it is not defined
    unit: str | None = None


class Origin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a model comes from: fitter, options, data and version."""

    fitter: str
    options: dict[str, Any]
    source: str
    fingerprint: str
    version: str


class Prediction(NamedTuple):
    """Predictions with both kinds of interval, each ``predicted``, ``lower`` and ``upper`` indexed by the points."""

    mean: pd.DataFrame
    single_run: pd.DataFrame


class Model(Result, msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of all models: frozen, predicting, saved as JSON.

    A subclass is a `msgspec.Struct` of plain values and arrays; its file is its fields. It sets `kind` and overrides
    what is abstract here. Models compose: ``a + b``, ``2 * a``, ``a * b``, ``a / 2`` and `perfcore.max_` are models.
    """

    origin: Origin

    kind: ClassVar[str] = ""
    reporter: ClassVar[str] = "perfcore.models.answers:report_of"
    __array_ufunc__: ClassVar[None] = None  # so that numpy's numbers leave `number * model` to this class

    @property
    def variables(self) -> Mapping[str, str]:
        """What `predict` takes: each variable's name in formulas, and its name in the data."""
        raise NotImplementedError

    @property
    def shown_names(self) -> Mapping[str, str]:
        """What texts and tables call each variable; `predict` takes these names too."""
        return shown_names(self.variables)

    @property
    def unit(self) -> str | None:
        """Unit of what `predict` gives; None where it is not known."""
        return None

    @property
    def levels(self) -> Mapping[str, tuple[str, ...]]:
        """Names that a variable takes, for those that are not numbers (codes, systems)."""
        return {}

    @property
    def variable_units(self) -> Mapping[str, str]:
        """Units of the variables that have one, from where they count included; composed models must agree in them."""
        return {}

    @property
    def ranges(self) -> Mapping[str, tuple[float, float]]:
        """Smallest and largest measured value of each variable that is a number; empty where the model cannot say.

        Both are an `int` where the model takes whole numbers only.
        """
        return {}

    @property
    def target(self) -> Mapping[str, float]:
        """Point that is predicted where none is named; by default the largest measured value of each variable."""
        return {symbol: high for symbol, (_, high) in self.ranges.items()}

    def predict_array(self, points: Points, interval: float | None = None) -> Floats:
        """Return values of the model at points; a subclass overrides it.

        Parameters
        ----------
        points : (n,) float, or mapping of str to (n,) float or str
            Where to predict; a model of several variables takes a mapping or a DataFrame, whose single values hold
            for all points.
        interval : float, optional
            Coverage of prediction bounds, 0 to 1; then three columns come back: value, lower, upper.

        Returns
        -------
        (n,) or (n, 3) float
        """
        raise NotImplementedError

    def mean_array(self, points: Points, interval: float) -> Floats:
        """Return value, lower and upper (n, 3) of the mean of many runs; arguments are those of `predict_array`."""
        raise OptionError(f"models of kind {self.kind} have no intervals of the mean")

    @overload
    def predict(self, points: Points | None = None, interval: None = None) -> Floats: ...
    @overload
    def predict(self, points: Points | None = None, *, interval: float) -> pd.DataFrame: ...
    @overload
    def predict(self, points: Points | None, interval: float) -> pd.DataFrame: ...
    def predict(self, points: Points | None = None, interval: float | None = None) -> Floats | pd.DataFrame:
        """Predict at points, with the interval of a single run if asked.

        Parameters
        ----------
        points : array_like, mapping or DataFrame, optional
            As in `predict_array`; by default `target`.
        interval : float, optional
            Coverage of the interval, 0 to 1.

        Returns
        -------
        (n,) float, or DataFrame
            With an interval: ``predicted``, ``lower`` and ``upper``, indexed by the points.

        Examples
        --------
        >>> import pandas as pd, perfcore
        >>> runs = pd.DataFrame({"p": [1, 2, 4, 8, 16], "time_s": [8.21, 4.42, 2.39, 1.46, 0.92]})
        >>> model = perfcore.fit(runs, fitter="individual", functions="1/p,1")
        >>> model.predict([32]).round(2)
        array([0.68])
        >>> model.predict([32, 64], interval=0.95).predicted.round(2).to_dict()
        {32: 0.68, 64: 0.56}
        """
        points = dict(self.target) if points is None else points
        if interval is None:
            return self.predict_array(points)
        return predicted_frame(self, points, self.predict_array(points, interval))

    def prediction(self, points: Points | None = None, interval: float = 0.95) -> Prediction:
        """Return two tables as of `predict`: of the mean of many runs (``mean``), and of one (``single_run``)."""
        points = dict(self.target) if points is None else points
        return Prediction(
            mean=predicted_frame(self, points, self.mean_array(points, interval)),
            single_run=predicted_frame(self, points, self.predict_array(points, interval)),
        )

    def observed(self, data: Any, where: str | None = None) -> Observed:
        """Measurements at points of this model, to compare with its predictions.

        Parameters
        ----------
        data : Measurements or pandas.DataFrame
            With the columns that `variables` names; the measured value is what the table says or lets guess.
        where : str, optional
            Conditions on the rows.

        Raises
        ------
        OptionError, DataError
            A column is missing, or there is nothing to compare.
        """
        from perfcore.models.points import measurements_for, observed_by_pair

        return observed_by_pair(self, measurements_for(self, data, where))

    @property
    def bounds_meaning(self) -> str:
        """One line on what the bounds of `predict` are of; empty for those of a single further measurement."""
        return ""

    def compared_with(self, other: Model, names: tuple[str, str]) -> Result | None:
        """A comparison of the model's own making; None, the default, where values at the same points are compared."""
        return None

    def remarks(self, points: Points) -> list[str]:
        """What to keep in mind about the prediction at each point, such as that it is extrapolated; often empty."""
        return []

    def design_rows(self, points: Points) -> DesignRows | None:
        """What further measurements are chosen by; None, the default, for what parameters, errors and `predict` say.

        A model whose parameters' errors are correlated has an attribute ``covariance``: (P, P), in their order.
        OptionError: models of this kind have no covariance; DataError: this one has none, for lack of data.
        """
        return None

    def rivals(self, points: Points) -> tuple[Rival, ...]:
        """Models near this one in the ranking that it was chosen from; none where there was no ranking."""
        return ()

    def part_draws(self, points: Mapping[str, npt.NDArray[Any]]) -> PartDraws | None:
        """Posterior draws of each part at points, without the variable of the parts; None where `predict` says all."""
        return None

    def growth_draws(self, point: Mapping[str, Any]) -> GrowthDraws | None:
        """Law and growth of each part of `part_draws` around a point; None where the model does not say."""
        return None

    @property
    def unfitted(self) -> Mapping[str, str]:
        """Parts of the data that nothing could be fitted to, and why; `perf fit` then ends with status 3."""
        return {}

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Every number of the model, with its standard error where one is defined."""
        raise NotImplementedError

    @property
    def statistics(self) -> dict[str, float | int | str | None]:
        """How well the model fits and what it cost."""
        return {}

    def details(self) -> dict[str, Any]:
        """What the tables say beyond the model file, its statistics and parameters, as JSON-ready values."""
        return {}

    @property
    def formula(self) -> str:
        """The model as a formula that a person can read; empty where it has none."""
        return "" if type(self).report is Model.report and self.reporter == Model.reporter else self.report().formula

    @property
    def table(self) -> pd.DataFrame:
        """Return the first table that the program prints, with all digits."""
        return next(iter(self.report().brief_tables), Table(())).frame()

    @property
    def candidates(self) -> pd.DataFrame:
        """Models that the fitter chose from, with their probabilities or scores; empty if it makes one model."""
        tables = (table for table in self.report().tables if table.title.startswith("Candidates"))
        return next(tables, Table(())).frame()

    def __add__(self, other: Model | float) -> Model:
        """Sum with a model, or with a number in the model's unit; see `Model`."""
        return _composing(self, other, "add")

    __radd__ = __add__  # the 0 that `sum` begins with changes nothing

    def __mul__(self, other: Model | float) -> Model:
        return _composing(self, other, "multiply")

    __rmul__ = __mul__

    def __truediv__(self, other: float | Model) -> Model:
        """Fraction by a number; a model is no divisor."""
        return NotImplemented if isinstance(other, Model) else _composing(self, other, "divide")

    def to_dict(self) -> dict[str, Any]:
        """The model file's content as JSON-ready values."""
        return dict(msgspec.to_builtins(self._content(), enc_hook=lambda numbers: numbers.tolist()))

    def _content(self) -> dict[str, Any]:
        content = msgspec.to_builtins(self, builtin_types=(array, np.ndarray))
        return {"schema": MODEL_SCHEMA, "kind": self.kind, **content.pop("origin"), "model": content}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """The model of a file's content.

        msgspec.ValidationError: a field is missing, unknown or of the wrong type; the message has its path.
        """
        fields = {"origin": {n: content[n] for n in Origin.__struct_fields__ if n in content}, **content["model"]}
        return msgspec.convert(fields, type=cls, dec_hook=lambda array, numbers: array("d", numbers))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a JSON file, whole or not at all."""
        write_json(path, self._content())


def predicted_frame(model: Model, points: Points, values: Floats) -> pd.DataFrame:
    """Return values, lower and upper ends (n, 3) as a table that is indexed by the points."""
    columns = {
        model.shown_names.get(name, name): np.atleast_1d(c) for name, c in columns_of(points, model.variables).items()
    }
    places = np.broadcast_arrays(*columns.values())
    index = pd.Index(places[0]) if len(places) == 1 else pd.MultiIndex.from_arrays(places)
    return pd.DataFrame(values, index=index.set_names(list(columns)), columns=["predicted", "lower", "upper"])


def load(path: str | os.PathLike[str]) -> Model:
    """Read a model file.

    Examples
    --------
    >>> import perfcore, tempfile, os
    >>> model = perfcore.fit(perfcore.UtilizationCurve([0, 4, 10], [2, 8]), phases=2, degree=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "model.json"))
    ...     perfcore.load(os.path.join(folder, "model.json")) == model
    True
    """
    name = os.fspath(path)
    if (own := model_file_entry(path, is_fitted=True)) is not None:
        return own.load().read(Path(path))  # type: ignore[no-any-return]
    try:
        content = msgspec.json.decode(Path(path).read_bytes())
    except FileNotFoundError:
        raise ModelFileError(f"{name}: there is no such file") from None
    except OSError as error:
        raise ModelFileError(f"{name}: cannot be read: {error.strerror or error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        damage = f" ({error})" if name.endswith(".json") else ""
        raise ModelFileError(f"{name}: not a model file{damage}; `perf fit DATA -o MODEL.json` makes one") from None
    if not isinstance(content, dict) or "schema" not in content or not isinstance(content.get("model"), dict):
        raise ModelFileError(f"{name}: not a model file; `perf fit DATA -o MODEL.json` makes one")
    try:
        return model_of(content)
    except ModelFileError as error:
        raise ModelFileError(f"{name}: {error}") from error


def is_model_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a model, damaged or not; formats of data are JSON too."""
    file = Path(path)
    if file.suffix.lower() != ".json" or not file.is_file():
        return model_file_entry(path, is_fitted=True) is not None
    try:
        text = file.read_bytes()
        return {"schema", "model"} <= msgspec.json.decode(text, type=dict[str, msgspec.Raw]).keys()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return b'"schema"' in text[:_BEGINNING]
    except OSError:
        return False


def model_of(content: dict[str, Any]) -> Model:
    """The model of a file's content."""
    if content.get("schema") != MODEL_SCHEMA:
        raise ModelFileError(
            f"schema {content.get('schema')!r} is not known here ({MODEL_SCHEMA!r} is); use the version that wrote it"
        )
    if not isinstance(content.get("model"), dict):
        raise ModelFileError("the field 'model' is missing, or is no object")
    model_type = _type_of(content)
    unknown = set(content) - {"schema", "digest", "kind", "model", *Origin.__struct_fields__}
    if unknown:
        raise ModelFileError(f"unknown field {sorted(unknown)[0]!r}")
    try:
        return model_type.from_dict(content)
    except msgspec.ValidationError as error:
        raise ModelFileError(f"{error}; perfcore {content.get('version')} wrote it: use that or refit") from None


def _type_of(content: dict[str, Any]) -> type[Model]:
    entries = registry().entries("models")  # without a fitter
    if str(content.get("kind")) in entries:
        model_class: type[Model] = entries[str(content["kind"])].load()
        return model_class
    try:
        fitter = registry().load("fitters", str(content.get("fitter")))
    except UnknownNameError as error:
        raise ModelFileError(str(error)) from error
    model_type: type[Model] = fitter.class_of_models()
    if content.get("kind") != model_type.kind:
        raise ModelFileError(f"kind {content.get('kind')!r} does not belong to fitter {content['fitter']!r}")
    return model_type


def _composing(model: Model, other: object, operation: str) -> Model:
    composed: Model = NotImplemented
    if not isinstance(other, (Model, numbers.Real)):
        return composed
    for entry in registry().entries("models").values():
        if "composition" in entry.default_for:
            composed = entry.load().compose(operation, model, other)
            return composed
    raise PluginError("no plugin is installed that composes models")


def model_file_entry(path: str | os.PathLike[str], *, is_fitted: bool = False) -> Entry | None:
    """Return the registered model whose file this is; None for data, models that perfcore saves, and what is no file.

    A kind of model that has files of its own is registered with their ``suffixes``. Its class has a class method
    ``read(path)`` and, if not every file with such a suffix is one, ``is_file(path)``. Registered with
    ``default_for=("prediction",)`` it predicts (``predict(**options)``), with ``("validation",)`` it is compared with
    what happened (``validate(data, output, **options)``); ``options`` are those of that method.
    """
    file = Path(path)
    if not file.is_file():  # a folder, a pattern, standard input; reading it reports when there is nothing
        return None
    for entry in registry().entries("models").values():
        if file.suffix.lower() not in entry.suffixes or ("fit" in entry.default_for) != is_fitted:
            continue
        try:
            is_file = getattr(entry.load(), "is_file", None)
        except PerfError:  # one that lacks its library must not hide the others
            continue
        if is_file is None or is_file(file):
            return entry
    return None
