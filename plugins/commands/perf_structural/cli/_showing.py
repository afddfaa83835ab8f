"""How the commands about distributions show what they found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfcore.cli.output import print_findings, print_json

if TYPE_CHECKING:
    from perf_structural import Choice, Decomposition, Judgement, MeasuredValue, Prediction

__all__ = ["check_files", "show"]


def check_files(picture: str | None, *others: str | None) -> None:
    """Refuse files that cannot be written, before anything is computed for them.

    Raises
    ------
    OptionError
        No picture can have the ending, or a folder is not there.
    """
    from perf_pictures.picture import check_ending
    from perfcore.base.files import check_folder

    if picture is not None:
        check_ending(picture)
    for path in (picture, *others):
        if path is not None:
            check_folder(path)


def show(
    kind: str,
    result: Prediction | Choice | Decomposition | MeasuredValue | Judgement,
    as_json: bool,
    picture: str | None,
    **files: str | None,
) -> None:
    """Draw the picture that was asked for, then print tables or JSON, and name the files that were written.

    ``kind`` is what JSON calls the result.
    """
    from perf_pictures.picture import plot

    if picture is not None:
        plot(result, None, picture)
    if as_json:
        print_json(kind, result.to_dict())
    else:
        print_findings(result, **files, picture=picture)
