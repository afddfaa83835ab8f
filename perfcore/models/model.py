"""What every model can do, and the file it is kept in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import msgspec
import numpy as np
import numpy.typing as npt

from perfcore.base.errors import ModelFileError, OptionError, UnknownNameError
from perfcore.base.files import MODEL_SCHEMA, write_bytes
from perfcore.hooks.registry import registry
from perfcore.views.presenter import Result

if TYPE_CHECKING:
    from perfcore.models.design_rows import DesignRows, Rival
    from perfcore.models.observed import Observed
    from perfcore.models.part_draws import GrowthDraws, PartDraws

__all__ = ["Model", "Origin", "Parameter", "Points", "load"]

Points = npt.ArrayLike | Mapping[str, Any]


class Parameter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One number of a model.

    Attributes
    ----------
    name : str
    estimate : float
    standard_error : float or None
        None where it is not defined.
    unit : str or None
    """

    name: str
    estimate: float
    standard_error: float | None = None
    unit: str | None = None


class Origin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a model comes from: fitter, options, data and version."""

    fitter: str
    options: dict[str, Any]
    source: str
    fingerprint: str
    version: str


class Model(Result, msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of all models: frozen, predicting, saved as JSON.

    A subclass is a `msgspec.Struct` of plain values, so that its file is its fields; it sets `kind` and overrides
    what is abstract here.
    """

    origin: Origin

    kind: ClassVar[str] = ""

    @property
    def variables(self) -> Mapping[str, str]:
        """What `predict` takes: each variable's name in formulas, and its name in the data."""
        raise NotImplementedError

    @property
    def unit(self) -> str | None:
        """Unit of what `predict` gives; None where it is not known."""
        return None

    @property
    def levels(self) -> Mapping[str, tuple[str, ...]]:
        """Names that a variable takes, for those that are not numbers (codes, systems)."""
        return {}

    def predict(self, points: Points, interval: float | None = None) -> npt.NDArray[np.float64]:
        """Values of the model.

        Parameters
        ----------
        points : (n,) float, or mapping of str to (n,) float or str
            Where to predict; a model of several variables takes a mapping or a DataFrame, whose single values hold
            for all points.
        interval : float, optional
            Coverage of prediction bounds, 0 to 1; then three columns come back: value, lower, upper.
        """
        raise NotImplementedError

    def observed(self, data: Any, where: str | None = None) -> Observed:
        """Measurements at points of this model, for whoever compares them with what it predicts.

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
        from perfcore.models.observed import measurements_for, observed_by_pair

        return observed_by_pair(self, measurements_for(self, data, where))

    def remarks(self, points: Points) -> list[str]:
        """What to keep in mind about the prediction at each point, such as that it is extrapolated; often empty."""
        return []

    def design_rows(self, points: Points) -> DesignRows:
        """What `perf_experiments.advice.next_points` chooses further measurements by.

        Raises
        ------
        OptionError
            Models of this kind have no covariance.
        DataError
            This one has none, for lack of data.
        """
        raise OptionError(
            f"a model of the kind {self.kind!r} does not say how sure its terms are; no point can be chosen by it"
        )

    def rivals(self, points: Points) -> tuple[Rival, ...]:
        """Models near this one in the ranking that it was chosen from; none where there was no ranking."""
        return ()

    def part_draws(self, points: Mapping[str, npt.NDArray[Any]]) -> PartDraws:
        """What the data leave open at points, part by part, for a comparison; by default from `predict`.

        Parameters
        ----------
        points : mapping of str to (n,) float or str
            By symbol, without the variable that names the parts.
        """
        from perfcore.models.part_draws import draws_by_interval

        return draws_by_interval(self, points)

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

    def to_dict(self) -> dict[str, Any]:
        """The model file's content as JSON-ready values."""
        content = msgspec.to_builtins(self)
        origin = content.pop("origin")
        return {"schema": MODEL_SCHEMA, "kind": self.kind, **origin, "model": content}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """The model of a file's content.

        Raises
        ------
        msgspec.ValidationError
            A field is missing, unknown or of the wrong type; the message has its path.
        """
        origin = {name: content[name] for name in Origin.__struct_fields__ if name in content}
        return msgspec.convert({"origin": origin, **content["model"]}, type=cls)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a JSON file, whole or not at all."""
        text = msgspec.json.format(msgspec.json.encode(self.to_dict()), indent=1)
        write_bytes(path, text + b"\n")


def load(path: str | os.PathLike[str]) -> Model:
    """Read a model file.

    Raises
    ------
    ModelFileError
        It is no model file, of a version that is not known here, or damaged; one line.

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
    try:
        content = msgspec.json.decode(Path(path).read_bytes())
    except FileNotFoundError:
        raise ModelFileError(f"{name}: there is no such file") from None
    except OSError as error:
        raise ModelFileError(f"{name}: cannot be read: {error.strerror or error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ModelFileError(f"{name}: not a model file: {error}") from None
    if not isinstance(content, dict) or "schema" not in content or not isinstance(content.get("model"), dict):
        raise ModelFileError(f"{name}: not a model file; `perf fit DATA -o {name}` makes one")
    if content["schema"] != MODEL_SCHEMA:
        raise ModelFileError(
            f"{name}: schema {content['schema']!r} is not known here ({MODEL_SCHEMA!r} is); "
            "use the version that wrote it"
        )
    try:
        fitter = registry().load("fitters", str(content.get("fitter")))
    except UnknownNameError as error:
        raise ModelFileError(f"{name}: {error}") from error
    model_type = fitter.model_type
    if content.get("kind") != model_type.kind:
        raise ModelFileError(f"{name}: kind {content.get('kind')!r} does not belong to fitter {content['fitter']!r}")
    unknown = set(content) - {"schema", "kind", "model", *Origin.__struct_fields__}
    if unknown:
        raise ModelFileError(f"{name}: unknown field {sorted(unknown)[0]!r}")
    try:
        model: Model = model_type.from_dict(content)
    except msgspec.ValidationError as error:
        raise ModelFileError(f"{name}: {error}") from None
    return model
