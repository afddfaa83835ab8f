"""What the commands about one noun give back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perfcore.results import Result

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, repr=False)
class Predictions(Result):
    """Values of a model at n points."""

    points: Mapping[str, Sequence[Any]]  # column of each variable (n,)
    values: npt.NDArray[np.float64]  # value; with bounds also lower and upper
    remarks: Sequence[str] = ()  # what to keep in mind at each point; empty where there is nothing
    meaning: str = ""  # what the bounds are of, where the model says

    @property
    def names(self) -> list[str]:
        """Names of the columns of values."""
        return ["value", "lower", "upper"][: self.values.reshape(len(self.values), -1).shape[1]]

    def to_dict(self) -> dict[str, Any]:
        """Points and values, JSON-ready, and what the bounds are of, where the model says."""
        return {**({"bounds": self.meaning.removeprefix("bounds: ")} if self.meaning else {}), "rows": self.to_dicts()}

    def to_dicts(self) -> list[dict[str, Any]]:
        """One JSON-ready mapping for each point."""
        rows = self.values.reshape(len(self.values), -1).tolist()
        return [
            {
                **{name: column[number] for name, column in self.points.items()},
                **dict(zip(self.names, row, strict=True)),
                **({"remark": self.remarks[number]} if self.remarks else {}),
            }
            for number, row in enumerate(rows)
        ]


@dataclass(frozen=True, repr=False)
class Facts(Result):
    """What a file is, how much is in it, and which commands apply; by name, in the order in which they are printed."""

    facts: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.facts[name]


@dataclass(frozen=True, repr=False)
class Listing(Result):
    """Rows of what there is, each with the same names."""

    what: str
    rows: Sequence[Mapping[str, Any]]
