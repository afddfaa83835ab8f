"""Compiled kernels: intervals to the time of cells, windows and states, in whole nanoseconds."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from perfcore.base.kernels import kernel


Array = npt.NDArray[Any]


@kernel
def in_order(location: Array, start: Array, end: Array, last_end: Array) -> bool:  # pragma: no cover
    """Whether the intervals of each location follow one another; ``last_end`` (n_locations,) is overwritten."""
    for row in range(len(location)):
        if end[row] > start[row]:
            if start[row] < last_end[location[row]]:
                return False
            last_end[location[row]] = end[row]
    return True


@kernel
def add_intervals(
    columns: tuple[Array, Array, Array, Array],
    shift: int,
    code: Array,
    busy: Array,
    cell_bits: int,
    first_cell: int,
    cells: Array,
    full_cells: Array,
    window_bits: int,
    first_window: int,
    windows: Array,
    full_windows: Array,
    times: Array,
    entries: Array,
    last_end: Array,
    last_code: Array,
) -> None:  # pragma: no cover
    """Add intervals to all sums."""
    location, state, start, end = columns
    for row in range(len(location)):
        place, local_state = location[row], state[row]
        first, last = start[row], end[row]
        run_state = code[local_state]
        times[place, local_state] += last - first
        if not (last_end[place] == first and last_code[place] == run_state):
            entries[place, local_state] += 1
        if last == first:
            continue
        last_end[place], last_code[place] = last, run_state
        first += shift
        last += shift
        begin, stop = first >> window_bits, (last - 1) >> window_bits
        if begin == stop:
            windows[begin - first_window, run_state] += last - first
        else:
            windows[begin - first_window, run_state] += ((begin + 1) << window_bits) - first
            windows[stop - first_window, run_state] += last - (stop << window_bits)
            full_windows[begin + 1 - first_window, run_state] += 1
            full_windows[stop - first_window, run_state] -= 1
        if not busy[run_state]:
            continue
        begin, stop = first >> cell_bits, (last - 1) >> cell_bits
        if begin == stop:
            cells[begin - first_cell] += last - first
        else:
            cells[begin - first_cell] += ((begin + 1) << cell_bits) - first
            cells[stop - first_cell] += last - (stop << cell_bits)
            full_cells[begin + 1 - first_cell] += 1
            full_cells[stop - first_cell] -= 1
