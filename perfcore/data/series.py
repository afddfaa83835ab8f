"""A time series: one or more columns of values at increasing times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from perfcore.base import pd, progress
from perfcore.base.errors import DataError, UnknownNameError, listing
from perfcore.data.curve import UtilizationCurve
from perfcore.data.units import nanoseconds_per
from perfcore.report import Shown, cut

__all__ = ["Series"]

_MOST_NAMED = 6  # columns, in a line


def _counts(values: npt.NDArray[np.float64]) -> bool:
    """Whether each value is as far above the one before as all others are, as numbers of steps are."""
    steps = np.diff(values)
    return len(steps) > 1 and bool(steps[0] > 0.0 and (steps == steps[0]).all())


class Series(Shown):
    """Columns of values sampled at increasing times.

    Parameters
    ----------
    times : (n,) float or int
        Increasing, in ``time_unit``.
    columns : mapping of str to (n,) float
        Values; NaN marks a missing sample.
    time_unit : str
        Unit of ``times``.
    source : str
        Where it came from, for messages.
    notes : sequence of str
        What its reader has to say about it, for ``perf info``.

    Raises
    ------
    DataError
        Lengths differ, there are no columns, or the times are not finite or do not increase.

    Examples
    --------
    >>> Series([0, 1, 2], {"cpu": [0.5, 0.7, 0.2]}, time_unit="s").curve().n_steps
    3
    """

    reporter: ClassVar[str] = "perfcore.data.answers:report_of_series"
    data_kind: ClassVar[str] = "series"
    in_words: ClassVar[str] = "a series"

    def __init__(
        self,
        times: npt.ArrayLike,
        columns: Mapping[str, npt.ArrayLike],
        time_unit: str = "s",
        *,
        source: str = "series",
        notes: Sequence[str] = (),
    ) -> None:
        nanoseconds_per(time_unit)
        self.notes = tuple(notes)
        time_array = np.asarray(times)
        self.times = time_array.astype(np.int64 if time_array.dtype.kind in "iu" else np.float64)
        self.columns = {name: np.asarray(values, dtype=np.float64) for name, values in columns.items()}
        self.time_unit = time_unit
        self.source = source
        if not self.columns:
            raise DataError(f"{source}: the series has no value column")
        for name, values in self.columns.items():
            if values.shape != self.times.shape or values.ndim != 1:
                raise DataError(f"{source}: column {name!r} has {values.size} values for {self.times.size} times")
        finite = np.isfinite(self.times)
        if not finite.all():
            i = int(np.argmin(finite))
            raise DataError(f"{source}: time {self.times[i]!s} of sample {i}; times must be finite and increase")
        rising = np.diff(self.times) > 0
        if not rising.all():
            i = int(np.argmin(rising)) + 1
            raise DataError(
                f"{source}: time {self.times[i]!s} of sample {i} follows {self.times[i - 1]!s}; times must increase"
            )

    def __repr__(self) -> str:
        return cut(f"Series({len(self.times)} samples of {listing(self.columns, _MOST_NAMED)}, from {self.source})")

    def to_frame(self) -> pd.DataFrame:
        """A row for each sample, by its time."""
        return pd.DataFrame(self.columns, index=pd.Index(self.times, name=f"time_{self.time_unit}"))

    def chosen(self, column: str | None = None) -> str:
        """The column that is named, else the first with values that are no numbering; of several with a note."""
        if column is None:
            known = [name for name, values in self.columns.items() if np.isfinite(values).any()] or list(self.columns)
            column = next((name for name in known if not _counts(self.columns[name])), known[0])
            if len(self.columns) > 1:
                progress.note(f"column: {column} (of {len(self.columns)}; set with --column)")
        if column not in self.columns:
            raise UnknownNameError(f"column of {self.source}", column, self.columns)
        return column

    def curve(self, column: str | None = None) -> UtilizationCurve:
        """One column as a step function, each sample valid until the next.

        Parameters
        ----------
        column : str, optional
            By default as `chosen` says.

        Raises
        ------
        DataError
            Values are negative or not finite.
        """
        column = self.chosen(column)
        return UtilizationCurve.from_samples(
            self.times, self.columns[column], self.time_unit, source=f"{self.source} ({column})", notes=self.notes
        ).counted_from_start()
