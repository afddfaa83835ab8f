"""Set recorded predictions against recorded times: one table for all representations, and a picture of three.

It reads the folder that experiment.py writes. ``perf validate`` says more about one representation.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

from bin_ranks import rank_names, ranked
from matplotlib.figure import Figure

from perf_structural.judging import Judgement, judge
from perf_structural.samples import read_actual, read_predictions

__all__ = ["REPRESENTATIONS", "compare", "draw", "judgements", "table"]

REPRESENTATIONS = ("point", "interval", "normal", "histogram")
DRAWN = ("interval", "normal", "histogram")  # those with a spread
_HEADINGS = ("bounds", "95%", "50%")


def judgements(folder: Path) -> dict[str, Judgement]:
    """Each representation's predictions against the measured times.

    Parameters
    ----------
    folder : Path
        With predictions-NAME.json and runs.csv.

    Raises
    ------
    InputError
        A file is missing or is not what is expected.
    """
    _, time_s, start_s = read_actual(folder / "runs.csv", "time_s", "start_s")
    return {
        name: judge(
            read_predictions(folder / f"predictions-{name}.json"),
            time_s,
            at=start_s,
            at_name="start (s)",
            name="time (s)",
        )
        for name in REPRESENTATIONS
    }


def table(folder: Path, judged: Mapping[str, Judgement]) -> list[str]:
    """Coverage and scores of each representation, and the shares in the histogram's bins, as lines.

    A width is that of the bounds or, where these are infinite, of the central 95% interval.
    """
    lines = [
        f"{'':10}" + "".join(f"{f'in {heading}':>11}" for heading in _HEADINGS) + "   width/s  error/s   CRPS/s",
    ]
    for name, found in judged.items():
        # Without a spread the bounds are the point itself, and so is every interval.
        rows = {str(row["interval"]): row for row in found.coverage()} if name != "point" else {}
        shares = [f"{rows[heading]['observed']:.0%}" if heading in rows else "-" for heading in _HEADINGS]
        width = next((rows[heading]["width"] for heading in _HEADINGS if heading in rows), None)
        figures = (width, found.statistics["mean_error"], found.statistics["crps"])
        lines.append(
            f"{name:10}"
            + "".join(f"{share:>11}" for share in shares)
            + " "
            + "".join(f"{'-' if figure is None else f'{figure:.3f}':>9}" for figure in figures)
        )
    ranks, masses = ranked(folder / "predictions-histogram.json", judged["histogram"].actual)
    names = [*rank_names(masses.shape[1]), "outside"]
    lines += ["", f"{'bins':10}" + "".join(f"{name:>9}" for name in names)]
    for title, shares_in_bins in (
        ("actual", ranks.mean(axis=0)),
        ("predicted", [*masses.mean(axis=0), 0.0]),
    ):
        lines.append(f"{title:10}" + "".join(f"{share:>9.0%}" for share in shares_in_bins))
    return lines


def draw(judged: Mapping[str, Judgement], path: Path) -> None:
    """Predictions against actual times, a row for each representation that has a spread."""
    figure = Figure(figsize=(10.0, 2.6 * len(DRAWN)), layout="constrained")
    parts = figure.subfigures(len(DRAWN), 1, squeeze=False)[:, 0]
    for name, part in zip(DRAWN, parts, strict=True):
        judged[name].draw(part)
    figure.savefig(path, dpi=72)


def compare(folder: Path) -> None:
    """Print the table of a folder, and draw its picture into it."""
    judged = judgements(folder)
    print("\n".join(table(folder, judged)))
    draw(judged, folder / "judged.png")
    print(f"picture: {folder / 'judged.png'}")


def main() -> int:
    """Run as a program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="what experiment.py wrote with --out")
    compare(parser.parse_args().folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
