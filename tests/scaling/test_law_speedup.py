"""Speedup and efficiency, against the formulas of known times."""

import numpy as np
import pandas as pd
import pytest

import perfcore
from perf_scaling.speedup import speedup

LEVELS = np.array([4.0, 8, 16, 32, 64])


def fitted(values, columns=("p", "function", "time_s"), **options):
    rows = [(p, path, y) for path, own in values.items() for p, y in zip(LEVELS, own, strict=True)]
    return perfcore.fit(pd.DataFrame(rows, columns=list(columns)), fitter="scaling", **options)


def test_amdahls_law():
    """T = 10 + 1000 / p from p = 4: S = 260 / T; the efficiency is a half where 1040 / (10 p + 1000) is, at p = 108."""
    found = speedup(fitted({"solve": 10 + 1000 / LEVELS}, at="p=256"))
    assert (found.symbol, found.base) == ("p", 4.0)
    assert [at.level for at in found.levels] == [4, 8, 16, 32, 64, 256]
    assert [at.measured for at in found.levels] == [True] * 5 + [False]
    for at in found.levels:
        time = 10 + 1000 / at.level
        for name, true in (("time", time), ("speedup", 260 / time), ("efficiency", 260 / time * 4 / at.level)):
            middle, low, high = getattr(at, name)
            assert middle == pytest.approx(true, rel=0.03)
            assert low <= true * (1 + 1e-9)
            assert true <= high * (1 + 1e-9)
    assert found.half == pytest.approx(108, rel=0.05)


def test_the_first_level_is_what_others_are_compared_with():
    first = speedup(fitted({"solve": 10 + 1000 / LEVELS})).levels[0]
    assert first.speedup == first.efficiency == (1.0, 1.0, 1.0)


def test_paths_add_up():
    values = {"solve": 10 + 1000 / LEVELS, "exchange": 1 + 0.1 * LEVELS}
    model = fitted(values)
    every, one = speedup(model), speedup(model, path=0)
    for place, level in enumerate(LEVELS):
        total = values["solve"][place] + values["exchange"][place]
        assert every.levels[place].time[0] == pytest.approx(total, rel=0.02)
        assert one.levels[place].time[0] == pytest.approx(values["solve"][place], rel=0.02)
        assert level == every.levels[place].level


def test_of_inclusive_times_only_the_outermost_count():
    inner = 10 + 1000 / LEVELS
    model = fitted({"main": 2 * inner + 1, "main->a": inner, "main->b": inner})
    assert speedup(model).levels[0].time[0] == pytest.approx(2 * 260 + 1, rel=0.02)


def test_efficiency_that_stays_high_has_no_half():
    assert speedup(fitted({"solve": 1000 / LEVELS})).half is None


@pytest.mark.parametrize("columns", [("x", "function", "time_s"), ("p", "function", "bytes")])
def test_only_times_over_processors_have_a_speedup(columns):
    names = {"parameter": columns[0], "value": columns[2], "path": columns[1]}
    assert speedup(fitted({"a": 1000 / LEVELS}, columns, **names)) is None
