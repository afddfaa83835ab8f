"""Models compared with one another: by which functions they are made of, and by what they are judged."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from perfcore.results import Result


class Candidate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model that was compared with others."""

    functions: tuple[str, ...]  # of which it is made
    figures: dict[str, float | int | None]  # what it is judged by
    note: str = ""  # what stands against it, such as dependent functions


@dataclass(frozen=True, repr=False)
class Ranking(Result):
    """Candidates, best first.

    Parameters
    ----------
    lines : tuple of str
        What was compared, in which scale, and by what.
    candidates : tuple of Candidate

    Examples
    --------
    >>> ranking = Ranking(("2 models of SP",), (Candidate(("1/p", "1"), {"sse": 28.06}), Candidate(("1",), {})))
    >>> ranking
    <Ranking: 1/p + 1 is the best of 2 models of SP
      2 models of SP>
    >>> float(ranking.to_frame().loc[0, "sse"])
    28.06
    """

    lines: tuple[str, ...]
    candidates: tuple[Candidate, ...]
