"""Makes the pictures of README.md and of the start page: ``python benchmarks/readme_pictures.py``."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

import perfcore
from perf_views.marks import draw_plot

IMAGES = Path(__file__).parents[1] / "docs" / "images"
EXAMPLES = Path(__file__).parents[1] / "examples"
TIMES = "p,time_s\n1,10.2\n2,5.3\n4,2.9\n8,1.68\n16,1.12\n32,0.86\n"  # as in README.md
LEGENDS = {  # above, within and below a panel
    "phases": {"loc": "lower left", "bbox_to_anchor": (-0.01, 0.99), "ncols": 6, "columnspacing": 1.4},
    "scaling": {"loc": "upper right", "bbox_to_anchor": (0.99, 1.0)},
    "cycles": {"loc": "upper center", "bbox_to_anchor": (0.5, -0.2), "ncols": 2},
}
LOOK = {"font.size": 8, "axes.titlesize": 9, "axes.titleweight": "bold", "legend.fontsize": 7, "savefig.dpi": 160}


def main() -> None:
    """Draw phases, a scaling model and lost time, each alone and all in one picture."""
    trace = perfcore.read(EXAMPLES / "cholesky" / "cholesky_trace.csv.gz")
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "runs.csv"
        table.write_text(TIMES)
        times = perfcore.read(table)
    halo = perfcore.read(EXAMPLES / "halo" / "halo.prv")
    results = (
        ("phases", perfcore.fit(trace, fitter="phases", degree=2), trace, "Phases of a run, with 95% intervals"),
        ("scaling", perfcore.fit(times, fitter="scaling", at="p=128"), times, "Predicted time on 128 processors"),
        ("cycles", perfcore.overheads(halo), halo, "Lost time on four ranks"),
    )
    plt.rcParams.update(LOOK)
    overview = Figure(figsize=(9.0, 5.4), layout="constrained")
    grid = overview.add_gridspec(2, 2, height_ratios=(1.0, 1.1))
    places = (grid[0, :], grid[1, 0], grid[1, 1])
    for (name, result, data, title), place in zip(results, places, strict=True):
        plot = result.report(data).plots[0]
        alone = Figure(figsize=(6.0, 3.2), layout="constrained")
        for axes in (alone.subplots(), overview.add_subplot(place)):
            draw_plot(plot, axes)
            finish(axes, name, title)
        save(alone, name)
    save(overview, "overview")


def save(figure: Figure, name: str) -> None:
    """Write a picture in few colours, which are enough for drawings."""
    written = io.BytesIO()
    figure.savefig(written)
    image = Image.open(written).convert("RGB").quantize(64, dither=Image.Dither.NONE)
    image.save(IMAGES / f"{name}.png", optimize=True)


def finish(axes: Axes, name: str, title: str) -> None:
    """Give a panel its title and a legend."""
    axes.set_title(title, loc="left", fontweight="bold", pad=22 if name == "phases" else 8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, handlelength=2.2, **LEGENDS[name])


if __name__ == "__main__":
    main()
