"""Inclusive times, calls and counters of any tree of calls, entered and left one by one."""

import numpy as np
from call_trees import STATES, profiles_of_tree
from hypothesis import given, settings
from hypothesis import strategies as st

from perf_analysis.profiles import profile_of
from perf_analysis.stretches import Stretches
from perf_io.traces.intervals import NestedStates
from perf_traces.messages.bursts import FACT, Counters, Readings


@st.composite
def nested(draw):
    """A tree of calls: function, start, end and callees, some of which take no time."""

    def calls(first, last, depth):
        found, at = [], first
        for _ in range(draw(st.integers(0, 3 if depth else 0))):
            start = draw(st.integers(at, last))
            at = draw(st.integers(start, last))
            found.append((draw(st.integers(0, 2)), start, at, calls(start, at, depth - 1)))
        return found

    return calls(0, 60, 3)


@settings(max_examples=60, deadline=None)
@given(nested())
def test_inclusive_times_and_calls_are_those_of_the_tree_of_calls(tree):
    states, tree = NestedStates("tree"), [*tree, (0, 60, 70, [])]  # something that lasts

    def enter(siblings):
        for function, start, end, callees in siblings:
            states.push(0, function, start, 1)
            enter(callees)
            states.pop(0, end, 1)

    enter(tree)
    trace = states.trace(["cpu"], STATES, time_unit="ns", span_ns=(0, 70))
    ticks = Readings(np.zeros(70, np.int64), np.arange(1, 71), np.full(70, 2), every=True)
    trace.facts = {**trace.facts, FACT: Counters(trace.locations, ("ticks",), lambda names: {"ticks": ticks})}
    edges, part = np.array([0, 25, 40, 70]), np.array([0, 1, 0])
    found = profile_of(trace, Stretches(("odd", "even"), edges, part))
    profiles_of_tree(found, tree, edges, part, 1)
    np.testing.assert_array_equal(found.counted["ticks"], 2 * found.times_ns)
    np.testing.assert_array_equal(found.counted_inclusive["ticks"], 2 * found.inclusive_ns)
