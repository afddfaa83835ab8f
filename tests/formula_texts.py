"""Texts that are, or nearly are, formulas, for tests that search; and the points at which they are evaluated."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from scipy import special

QUICK = settings(max_examples=120, deadline=None, derandomize=True)

ONE_ARGUMENT = {
    "log": np.log, "log2": np.log2, "log10": np.log10, "exp": np.exp, "sqrt": np.sqrt, "cbrt": special.cbrt,
    "abs": np.abs, "floor": np.floor, "ceil": np.ceil,
}  # fmt: skip
TWO_ARGUMENTS = {"min": np.minimum, "max": np.maximum}
FUNCTIONS = ONE_ARGUMENT | TWO_ARGUMENTS
POINTS = {
    "p": np.array([1.0, 2.0, 64.0, 0.5, 0.0, -3.0]),
    "n_2": np.array([2.0, 0.0, 3.0, -1.5, np.inf, np.nan]),
    "_Q": np.array([7.0, -2.0, 64.0, 0.5, -np.inf, 1e300]),
}
INFIX = ["+", "-", "*", "/", "%", "^", "**", "<", "<=", ">", ">=", "==", "!=", "and", "or"]
LEAVES = [*POINTS, "0", "1", "2", "3.5", ".25", "1e-3", "2.", "1E+200"]


def token_lists(leaf):
    """Tokens joined without the parentheses that a tree needs, so that precedence groups them; most are formulas."""

    def grown(part):
        return st.one_of(
            st.tuples(part, st.sampled_from(INFIX), part).map(lambda t: [*t[0], t[1], *t[2]]),
            st.tuples(part, st.sampled_from(INFIX[:7]), part).map(lambda t: [*t[0], t[1], *t[2]]),
            st.tuples(st.sampled_from(["-", "- -", "+", "not"]), part).map(lambda t: [*t[0].split(), *t[1]]),
            part.map(lambda p: ["(", *p, ")"]),
            st.tuples(st.sampled_from(sorted(ONE_ARGUMENT)), part).map(lambda t: [t[0], "(", *t[1], ")"]),
            st.tuples(st.sampled_from(["min", "max"]), part, part).map(lambda t: [t[0], "(", *t[1], ",", *t[2], ")"]),
        )

    return st.recursive(leaf.map(lambda token: [token]), grown, max_leaves=10).filter(lambda found: len(found) < 60)


TOKENS = token_lists(st.sampled_from(LEAVES))

# E. Strohmaier, "Statistical Performance Modeling: Case Study of the NPB 2.1 Results", equation 3.
EQUATION_3 = {
    "1/p^2": lambda p: p**-2.0, "1/p": lambda p: 1 / p, "log(p)/p": lambda p: np.log(p) / p,
    "1/sqrt(p)": lambda p: p**-0.5, "1": np.ones_like, "log(p)": np.log, "p": lambda p: p,
}  # fmt: skip
