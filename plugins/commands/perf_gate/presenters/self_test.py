"""How a test of the machine by itself is shown."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from perf_gate.self_test.self_test import SelfTest
from perfcore.base.errors import listing
from perfcore.results import Presenter, Tables

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.axes import Axes


_DRIFTS = 1.5  # times the noise of neighbours, from which on runs apart in time differ
_MANY = 50  # rounds, above which a limit is dear
_MOST_ROWS = 40


class SelfTestPresenter(Presenter):
    """The machine's noise, how often the same version would be called slower, and the rounds that a limit needs."""

    def title(self, result: SelfTest) -> str:
        """One line over a picture."""
        return f"{result.source}: the same version against itself"

    def summary(self, result: SelfTest) -> list[str]:
        """What the machine says, and what to do."""
        chances, count = result.chances, len(result)
        limit = f"{result.limit:g}x"
        of = f" of {count} benchmarks" if count > 1 else ""
        lines = [
            f"noise {_range(chances.noise)}{of}; the same version against itself is called slower than {limit} in turn "
            f"in {chances.any_in_turn:.1%} of splits, one after the other (Welch's test) in "
            f"{chances.one_after_other.mean():.1%}",
            _advice(result),
        ]
        if _drifts(result).any():
            names = [result.benchmarks[k] for k in np.flatnonzero(_drifts(result)).tolist()]
            lines.append(
                f"runs far apart in time differ more than neighbours do ({listing(names, 4)}): measure in turn, "
                "as `perf gate --run` does"
            )
        if result.left_out:
            lines.append(f"too few runs, left out: {listing(result.left_out, 5)}")
        return lines

    def tables(self, result: SelfTest) -> Tables:
        """A row for each benchmark."""
        chances = result.chances
        header = [
            "benchmark",
            "runs",
            "noise",
            "of neighbours",
            "in turn",
            "one after other",
            f"rounds for {result.limit:g}x",
        ]
        rows = [
            [
                *(name, str(result.runs[k]), f"{chances.noise[k]:.2%}", f"{chances.next_noise[k]:.2%}"),
                *(f"{chances.in_turn[k]:.1%}", f"{chances.one_after_other[k]:.1%}", str(chances.rounds[k] or "-")),
            ]
            for k, name in enumerate(result.benchmarks[:_MOST_ROWS])
        ]
        more = f"the first {_MOST_ROWS} of {len(result)}; " if len(result) > _MOST_ROWS else ""
        return [
            (f"{more}how often the same version is called slower, and rounds that decide, 90 % likely", header, rows)
        ]

    def frame(self, result: SelfTest) -> pd.DataFrame:
        """A row for each benchmark."""
        import pandas as pd

        return pd.DataFrame(result.to_dict()["benchmarks"])

    def panels(self, result: SelfTest, data: Any = None) -> dict[str, Callable[[Axes], None]]:
        """Noise of each benchmark, of all runs and of neighbours."""
        return {"noise": partial(_draw_noise, result)}


def _drifts(result: SelfTest) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.asarray(result.chances.noise > _DRIFTS * np.maximum(result.chances.next_noise, 1e-12))


def _range(shares: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    low, high = f"{shares.min():.1%}", f"{shares.max():.1%}"
    return low if low == high else f"{low} to {high}"


def _advice(result: SelfTest) -> str:
    """How many rounds the limit needs, or which limit is within reach."""
    rounds, limit = result.chances.rounds, f"{result.limit:g}x"
    decided = rounds[rounds > 0]
    if len(decided) < len(rounds) or decided.max() > _MANY:
        worst = int(np.argmax(np.where(rounds == 0, np.iinfo(np.int64).max, rounds)))
        many = "more than 10,000" if rounds[worst] == 0 else str(rounds[worst])
        return (
            f"a limit of {limit} needs {many} rounds in turn for {result.benchmarks[worst]}: take a larger limit with "
            "--slower-than, longer runs, or a quieter machine"
        )
    worst, most = int(np.argmax(rounds)), int(rounds.max())
    named = f" ({result.benchmarks[worst]} most)" if len(rounds) > 1 else ""
    return f"{most} rounds in turn decide a limit of {limit}, 90 % likely{named}: `perf experiment run --rounds {most}`"


def _draw_noise(result: SelfTest, axes: Axes) -> None:
    places = np.arange(len(result))
    axes.barh(places - 0.2, 100.0 * result.chances.noise, 0.4, label="of all runs")
    axes.barh(places + 0.2, 100.0 * result.chances.next_noise, 0.4, label="of neighbours")
    axes.set_yticks(places, list(result.benchmarks))
    axes.invert_yaxis()
    axes.set_xlabel("noise (%)")
    axes.set_xlim(0.0, 1.3 * axes.get_xlim()[1])
    axes.legend(loc="upper right")
