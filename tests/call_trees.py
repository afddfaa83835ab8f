"""Times and calls of trees of calls by their definition: a call is a function, its start, its end and its callees."""

import numpy as np

STATES = ("run", "wait", "io")
NO_STATE = "(no state)"


def by_recursion(tree, edges, part, shape):
    """Inclusive times and calls by walking the tree."""
    inclusive, calls = np.zeros(shape, np.int64), np.zeros(shape, np.int64)

    def walk(siblings, callers):
        for function, start, end, callees in siblings:
            calls[function, part[min(np.searchsorted(edges, start, "right") - 1, len(part) - 1)]] += 1
            if function not in callers:
                for k, where in enumerate(part):
                    inclusive[function, where] += max(0, min(end, edges[k + 1]) - max(start, edges[k]))
            walk(callees, {*callers, function})

    walk(tree, set())
    return inclusive, calls


def profiles_of_tree(found, tree, edges, part, scale):
    inclusive, calls = by_recursion(tree, edges, part, (len(STATES), 2))
    order = [STATES.index(name) for name in found.functions if name != NO_STATE]
    np.testing.assert_array_equal(found.inclusive_ns[:-1, 0], inclusive[order] * scale)
    np.testing.assert_array_equal(found.calls[:-1, 0], calls[order])
    assert found.has_calls
