"""Compiled kernels: intervals to the time of cells, windows and states, in whole nanoseconds."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from perfcore.base.kernels import kernel

__all__ = ["add_intervals", "in_order"]

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
    """Add intervals to all sums.

    Parameters
    ----------
    columns : location, state, start and end
        In the order of time for each location.
    shift : int, nanoseconds
        Added to the times.
    code, busy : (n_states_of_the_file,) and (n_states,)
        The sum that a state is added to, and whether that computes.
    cell_bits, first_cell : int
        A cell is 2^bits nanoseconds wide; cell i of the array is number ``first_cell + i`` since time 0.
    cells, full_cells : (n_cells,) int64, (n_cells + 1,) int64
        Time; and how many intervals fill a cell more than fill the one before.
    window_bits, first_window, windows, full_windows
        The same by state: (n_windows, n_states) and (n_windows + 1, n_states).
    times, entries : (n_locations, n_states_of_the_file) int64
    last_end, last_code : (n_locations,)
    """
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
