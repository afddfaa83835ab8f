"""What people read of scaling laws: shares, growth, what is not determined, and every law of one path."""

import numpy as np
import pandas as pd
import pytest

import perfcore

LEVELS = np.array([4.0, 8, 16, 32, 64])
VALUES = {"solve": 10 + 1000 / LEVELS, "exchange": 2 + 0.5 * LEVELS, "setup": np.full(5, 3.0)}


def frame(values, name="function"):
    rows = [(p, path, y) for path, own in values.items() for p, y in zip(LEVELS, own, strict=True)]
    return pd.DataFrame(rows, columns=["p", name, "time_s"])


def fitted(values=VALUES, **options):
    return perfcore.fit(frame(values), fitter="scaling", **{"at": "p=256", **options})


@pytest.fixture(scope="module")
def model():
    return fitted()


def test_the_largest_share_at_the_target_comes_first(model):
    """At p = 256: exchange 130, solve 13.9, setup 3 of 146.9."""
    title, header, rows = model.tables()[0]
    assert [row[0] for row in rows] == ["exchange", "solve", "setup"]
    shares = [float(row[1].rstrip("%")) for row in rows]
    assert shares == pytest.approx([88.5, 9.5, 2.0], abs=0.5)
    assert title == "At p = 256, 4 times the largest measured; share of the sum of all paths"
    cells = dict(zip(header, rows[0], strict=True))
    assert float(cells["predicted [s]"]) == pytest.approx(130, rel=0.03)
    low, high = map(float, cells["95% CI [s]"].strip("[]").split(", "))
    assert low <= 130 <= high
    assert cells["likeliest law"] == "2 + 0.5*p"
    assert cells["growth"].removeprefix("at least ").split(" to ")[0] in ("sublinear", "linear")


def test_rows_hold_the_same_numbers_as_the_model(model):
    band = model.band([[256.0]], 0.95)[:, 0]
    for row in model.rows:
        k = model.paths.index(row.path)
        assert [row.predicted, row.low, row.high] == pytest.approx(band[k].tolist())
        assert (row.law, row.probability) == (model.leading[k].text, model.leading[k].probability)
    assert sum(row.share for row in model.rows) == pytest.approx(1.0)


@pytest.mark.parametrize("arrow", ["->", "/"])
def test_of_inclusive_values_shares_are_of_the_outermost(arrow):
    inner = VALUES["solve"]
    model = fitted({"main": 2 * inner + 1, f"main{arrow}a": inner, f"main{arrow}b": inner, "other": inner})
    whole = model.whole
    assert whole.inclusive
    assert whole.counted.tolist() == [True, False, False, True]
    share = {row.path: row.share for row in model.rows}
    assert share["main"] + share["other"] == pytest.approx(1.0)
    assert "outermost paths, each value with all that it calls" in model.tables()[0][0]


def test_of_exclusive_values_shares_are_of_the_sum():
    model = fitted({"main": VALUES["setup"], "main->a": VALUES["solve"], "main->b": VALUES["solve"]})
    assert not model.whole.inclusive
    assert sum(row.share for row in model.rows) == pytest.approx(1.0)


def test_a_last_level_that_may_be_one_of_its_own_is_said():
    """A node of 64 processors: the one level beyond it takes ten times as long."""
    levels = 4.0 * 2.0 ** np.arange(6)
    values = np.where(levels <= 64, 5 + 0.1 * levels, 150.0)
    noise = 1 + 0.01 * np.random.default_rng(4).standard_normal((6, 5))
    rows = [(p, "f", y) for p, runs in zip(levels, values[:, None] * noise, strict=True) for y in runs]
    model = perfcore.fit(pd.DataFrame(rows, columns=["p", "function", "time_s"]), fitter="scaling")
    assert model.rows[0].deviates > 0.5
    assert "last level may deviate" in model.tables()[0][2][0][-1]
    assert any("repeat it to tell whether growth changes there" in line for line in model.summary())


def test_the_check_leaves_the_last_level_out():
    """Told from a fit of the others, by hand."""
    levels = np.append(LEVELS, 128.0)
    data = pd.DataFrame({"p": levels, "time_s": 3.0 + levels * np.where(levels == 128, 1.12, 1.0)})
    model = perfcore.fit(data, fitter="scaling")
    rest = perfcore.fit(data[data.p < 128], fitter="scaling")
    value, low, high = rest.predict({"p": [128.0]}, interval=0.95)[0]
    measured = data.time_s.iloc[-1]
    assert model.check.median_error == pytest.approx(abs(value / measured - 1), rel=1e-6)
    assert model.check.inside == float(low <= measured <= high)
    assert any(line.startswith("the last level, left out: ") for line in model.summary())
