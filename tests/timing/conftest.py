"""Joint timing models with known parameters."""

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
from formula_texts import EQUATION_3

# E. Strohmaier, "Statistical Performance Modeling: Case Study of the NPB 2.1 Results", Table 4, class A with 1/p and
# 1/sqrt(p): codes BT, LU, SP, MG; systems SP2, Paragon, T3D, PCArray.
TABLE_4 = {
    "w": np.array([[4.009, 3.506, 4.120, 3.970], [0.172, 0.319, 0.753, 0.235]]),
    "r": np.array([[1.0, 0.370, 0.410, 0.408], [1.0, 1.221, 1.106, 3.878]]),
}


def joint_data(
    functions=("1/p", "1/sqrt(p)"),
    *,
    w=TABLE_4["w"],
    r=TABLE_4["r"],
    noise=0.0,
    relative=False,
    seed=0,
    reference=0,
    processors=(2, 4, 8, 16, 32, 64),
    missing=(),
):
    """Values t' of section 3 with normal noise, which with ``relative`` is a part of each value and weighted for."""
    n_codes, n_systems = w.shape[1], r.shape[1]
    cells = [(c, s) for c in range(n_codes) for s in range(n_systems) if (c, s) not in missing]
    code, system = (np.repeat(x, len(processors)) for x in np.array(cells).T)
    p = np.tile(np.asarray(processors, dtype=float), len(cells))
    basis = np.stack([p * EQUATION_3[name](p) for name in functions], axis=1)
    exact = (basis * (w[:, code] / r[:, system]).T).sum(axis=1)
    factor = 1 / exact if relative else np.ones_like(exact)
    target = factor * exact + noise * np.random.default_rng(seed).standard_normal(len(exact))
    return SimpleNamespace(
        w=w, r=r, p=p, basis=factor[:, None] * basis, target=target, code=code, system=system, reference=reference
    )


@pytest.fixture(scope="session")
def joint() -> Callable[..., SimpleNamespace]:
    return joint_data
