"""Intervals within intervals against a count over every moment."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from perf_io.traces.intervals import latest_running, pair_events

intervals = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 20), st.integers(0, 9)), min_size=1, max_size=12)


@settings(deadline=None)  # the first call loads the kernel
@given(rows=intervals)
def test_every_moment_belongs_to_what_began_last(rows):
    location, start, length = np.array(rows).T
    end = start + length
    piece, first, last = latest_running(location, start, end)
    assert (last > first).all()
    for where in range(3):
        for moment in range(30):
            running = [
                (start[n], -end[n], n) for n in range(len(rows)) if location[n] == where and start[n] <= moment < end[n]
            ]
            held = piece[(location[piece] == where) & (first <= moment) & (moment < last)].tolist()
            assert held == ([max(running)[2]] if running else [])


@given(rows=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 5), st.booleans()), min_size=1, max_size=12))
def test_an_end_belongs_to_the_last_beginning_that_is_open(rows):
    location, time, begins = (np.array(column) for column in zip(*rows, strict=True))
    order, partner = pair_events(location, time, begins)
    expected = np.full(len(rows), -1)
    for where in range(2):
        open_events = []
        for place, here in enumerate(order):
            if location[here] != where:
                continue
            if begins[here]:
                open_events.append(place)
            elif open_events:
                expected[place], expected[open_events[-1]] = open_events[-1], place
                open_events.pop()
    assert (partner == expected).all()
    assert (np.diff(location[order]) >= 0).all()
