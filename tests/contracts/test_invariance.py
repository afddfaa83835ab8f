"""What does not change a result: the order of rows, names of columns, codes and files, and the unit.

A renamed column of processors keeps a name that says so, as the name decides what times are multiplied by.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import perfcore
from perfcore import Measurements, Series, UtilizationCurve
from perfcore.base.errors import DataError

_SPEC = importlib.util.spec_from_file_location("fitter_cases", Path(__file__).with_name("test_fitters.py"))
_FITTER_CASES = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_FITTER_CASES)
CASES = _FITTER_CASES.CASES
TABLES = [name for name, (_, data, *_) in CASES.items() if isinstance(data, Measurements)]
CURVES = [name for name, (_, data, *_) in CASES.items() if not isinstance(data, Measurements)]
ROLES = ("code", "system", "category")
INTERVAL = 0.9  # of predictions
# Bounds that change a little with the order of rows or the unit, since their quantiles are those of draws.
DRAWN = {"sum of categories": 0.02, "forecast": 0.02}
LABELS = {"lu": "b lu", "cg": "a cg", "old": "3", "new": "2", "slow": "1", "halo": "z", "solve": "y"}


def _reversed(words):
    """Names in another order, alone and as words of a path."""
    return " ".join(LABELS.get(word, word) for word in str(words).split(" "))


def _unchanged(table, roles, options, points):
    return table, roles, options, points


def _shuffled(table, roles, options, points):
    return table.sample(frac=1.0, random_state=5), roles, options, points


def _renamed_columns(table, roles, options, points):
    names = {column: {"p": "cores"}.get(column, f"the {column}") for column in table.columns}
    roles = {
        "parameters": {symbol: names[column] for symbol, column in roles["parameters"].items()},
        "value": names[roles["value"]], "unit": roles["unit"],
        **{role: tuple(names[column] for column in roles[role]) for role in ROLES},
    }  # fmt: skip
    if "by" in options:
        options = {**options, "by": ",".join(names[column] for column in options["by"].split(","))}
        points = {names.get(name, name) if name != "p" else name: values for name, values in points.items()}
    return table.rename(columns=names), roles, options, points


def _renamed_codes(table, roles, options, points):
    columns = [column for role in ROLES for column in roles[role] if role != "category" or column == "callpath"]
    table = table.assign(**{column: table[column].map(_reversed) for column in columns})
    if "operations" in options:
        options = {**options, "operations": {_reversed(code): each for code, each in options["operations"].items()}}
    if "show" in options:
        options = {**options, "show": _reversed(options["show"])}
    if isinstance(points, dict):
        points = {
            name: [_reversed(each) for each in values] if isinstance(values[0], str) else values
            for name, values in points.items()
        }
    return table, roles, options, points


def _in_another_unit(table, roles, options, points):
    """Milliseconds instead of seconds, operations per ms instead of per second."""
    value = roles["value"]
    name, factor = ("time_ms", 1e3) if value == "time_s" else ("ops/ms", 1e-3)
    table = table.assign(**{value: factor * table[value]}).rename(columns={value: name})
    return table, {**roles, "value": name, "unit": None}, options, points


def _predicted(name, change, source):
    fitter, data, options, points = CASES[name]
    roles = {each: getattr(data.roles, each) for each in ("parameters", "value", "unit", *ROLES)}
    table, roles, options, points = change(data.table, roles, options, points)
    model = perfcore.fit(Measurements(table, **roles, source=source), fitter=fitter, **options)
    return model.predict_array(points, interval=INTERVAL)


@pytest.mark.parametrize("name", TABLES)
def test_of_measurements(name):
    """Predictions and their bounds."""
    expected = _predicted(name, _unchanged, "a.csv")
    for change in (_shuffled, _renamed_columns, _renamed_codes, _in_another_unit):
        found = _predicted(name, change, "b.csv")
        if change is _in_another_unit:
            found /= 1e-3 if name == "throughputs" else 1e3
        np.testing.assert_allclose(found[:, 0], expected[:, 0], rtol=1e-9, err_msg=change.__name__)
        np.testing.assert_allclose(found, expected, rtol=DRAWN.get(name, 1e-8), err_msg=change.__name__)


@pytest.mark.parametrize("name", CURVES)
def test_of_curves_and_series(name):
    """A thousand times the values or the times; options that are values or times change with them."""
    fitter, data, options, points = CASES[name]
    base = perfcore.fit(data, fitter=fitter, **options).predict_array(points, interval=INTERVAL)
    for values, times in ((1000.0, 1.0), (1.0, 1000.0)):
        factors = {"tolerance": values * times**0.5, "scale": times}
        changed = {key: each * factors.get(key, 1) if key in factors else each for key, each in options.items()}
        if isinstance(data, Series):
            columns = {column: values * each for column, each in data.columns.items()}
            again = Series(data.times * times, columns, "s", source="other.csv")
            changed["within"] = f"0,{values:g}"
        else:
            again = UtilizationCurve(
                data.edges * times, data.heights * values, n_locations=int(10 * values), source="other.csv"
            )
        model = perfcore.fit(again, fitter=fitter, **changed)
        steps = points if isinstance(data, Series) else points * times
        found = model.predict_array(steps, interval=INTERVAL) / values
        np.testing.assert_allclose(found[:, 0], base[:, 0], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found, base, rtol=DRAWN.get(name, 1e-9), atol=1e-9)


def test_a_copy_of_a_file_under_another_name_is_refused(tmp_path):
    """It would count every run twice; --duplicates says which of both it is."""
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("p,time_s\n1,8\n2,4.5\n4,2.5\n8,1.75\n")
    with pytest.raises(DataError, match=r"row 4 \(.*b.csv\): from here on the rows repeat .*duplicates='drop'"):
        perfcore.fit(perfcore.read(tmp_path), fitter="scaling")
