"""How the commands about distributions show what they found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfcore.cli.output import print_findings, print_json

if TYPE_CHECKING:
    from perf_structural import (
        Choice,
        Decision,
        Decomposition,
        Judgement,
        MeasuredValue,
        Prediction,
        Recalibration,
        Solution,
    )


def show(
    kind: str,
    result: Prediction | Choice | Decomposition | MeasuredValue | Judgement | Recalibration | Solution | Decision,
    as_json: bool,
    picture: str | None,
    **files: str | None,
) -> None:
    """Draw the picture that was asked for, then print tables or JSON, and name the files that were written.

    ``kind`` is what JSON calls the result.
    """
    from perf_views.picture import plot

    if picture is not None:
        plot(result, None, picture)
    if as_json:
        print_json(kind, result.to_dict())
    else:
        print_findings(result, **files, picture=picture)
