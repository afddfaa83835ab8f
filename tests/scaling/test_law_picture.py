"""Pictures of scaling laws: what is drawn where, and that no data stop or spoil them."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

import perfcore
from perf_scaling.picture import draw_models, path_curve

P = (4.0, 8.0, 16.0, 32.0, 64.0)


def fitted(laws, points=P, noise=0.03, runs=4, **options):
    rng = np.random.default_rng(4)
    rows = [
        (p, path, law(p) * (1.0 + noise * rng.standard_normal()))
        for path, law in laws.items()
        for p in points
        for _ in range(runs)
    ]
    return perfcore.fit(pd.DataFrame(rows, columns=["p", "callpath", "time_s"]), fitter="scaling", **options)


def laid_out(model):
    """Places of labels and ticks are found, and warned of, only when a figure is laid out."""
    figure = Figure(layout="constrained")
    FigureCanvasAgg(figure)
    draw_models(model, figure)
    figure.draw_without_rendering()
    return figure


@pytest.fixture(scope="module")
def eight():
    return fitted({f"main->f{k}": lambda p, k=k: (k + 1.0) * (1.0 + p) for k in range(8)})


def test_means_median_bounds_and_target_are_where_the_model_has_them(eight):
    figure = laid_out(eight)
    axes, path = figure.axes[0], eight.paths.index("main->f7")
    means = next(line for line in axes.lines if line.get_marker() == "o" and len(line.get_xdata()) == len(P))
    np.testing.assert_allclose(means.get_xydata(), np.stack([P, eight.means[path]], axis=1))
    (diamond,) = (line for line in axes.lines if line.get_marker() == "D")
    (target,) = eight.predict({"p": [256.0], "path": ["main->f7"]})
    np.testing.assert_allclose(diamond.get_xydata(), [[256.0, target]])
    solid = next(line for line in axes.lines if line.get_linestyle() == "-" and line.get_marker() == "None")
    assert (solid.get_xdata()[0], solid.get_xdata()[-1]) == (4.0, 64.0)
    run, mean = (area.get_paths()[0].vertices for area in axes.collections if isinstance(area, PolyCollection))
    assert np.ptp(run[run[:, 0] == 64.0, 1]) > np.ptp(mean[mean[:, 0] == 64.0, 1]) > 0.0
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert [tick for tick in axes.get_xticks() if 4 <= tick <= 256] == [4, 8, 16, 32, 64, 128, 256]


def test_bounds_hold_the_median_and_single_runs_scatter_more(eight):
    curve = path_curve(eight, 0, "p")
    assert np.all(curve.run[:, 1] <= curve.mean[:, 1])
    assert np.all(curve.mean[:, 1] <= curve.mean[:, 0])
    assert np.all(curve.mean[:, 0] <= curve.mean[:, 2])
    assert np.all(curve.mean[:, 2] <= curve.run[:, 2])
