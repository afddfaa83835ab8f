"""Compiled classes of growth of single draws."""

from __future__ import annotations

from perfcore.base.kernels import kernel


@kernel
def classes_of_slopes(slopes, component, law, setting, is_free, of_law, limits, classes, draw_classes):  # type: ignore[no-untyped-def]
    """Class of each draw: that of its law, or of its slope where it drifts freely from it."""
    n_paths, n_draws = slopes.shape
    for path in range(n_paths):
        for draw in range(n_draws):
            draw_component = component[path, draw]
            if not is_free[setting[path, draw_component]]:
                draw_classes[path, draw] = of_law[law[path, draw_component]]
                continue
            slope, place = slopes[path, draw], 0
            while place < len(limits) and (slope > limits[place] or (place % 2 == 0 and slope == limits[place])):
                place += 1
            draw_classes[path, draw] = classes[place]


@kernel
def count_classes(classes, share):  # type: ignore[no-untyped-def]
    """Share of the draws (K, N) of each path in each class (K, C), written."""
    n_paths, n_draws = classes.shape
    for path in range(n_paths):
        for number in range(share.shape[1]):
            share[path, number] = 0.0
        for draw in range(n_draws):
            share[path, classes[path, draw]] += 1.0
        for number in range(share.shape[1]):
            share[path, number] /= n_draws
