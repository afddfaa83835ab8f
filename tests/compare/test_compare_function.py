"""`perfcore.compare` of data: the fitter of their kind, sides of any sort, names."""

import itertools

import numpy as np
import pandas as pd
import pytest

import perfcore
from perfcore.base import progress


def timings(rest):
    p = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    return pd.DataFrame({"p": p, "time_s": 8.0 / p + rest})


def by_category(start):
    rows = [(p, name, time) for p in (1, 2, 4, 8, 16) for name, time in (("work", 64.0 / p), ("start", start * p))]
    return pd.DataFrame(rows, columns=["p", "category", "time_s"])


@pytest.fixture
def notes(monkeypatch):
    heard = []
    monkeypatch.setattr(progress, "note", heard.append)
    return heard


@pytest.mark.parametrize(("make", "kind"), [(timings, "timings over p"), (by_category, "categories over p")])
def test_the_kind_of_data_chooses_the_fitter_once(make, kind, notes):
    comparison = perfcore.compare(make(1.0), make(2.0), at="p=64")
    assert [note for note in notes if note.startswith("fitter ")] == [notes[0]]
    assert f": {kind}" in notes[0]
    expected = [make(rest)["time_s"].to_numpy() for rest in (1.0, 2.0)]
    assert (expected[1] >= expected[0]).all()
    assert comparison.ratio[0] > 1.0


def test_models_files_and_data_are_the_same(tmp_path):
    options = {"fitter": "individual", "functions": "1/p,1"}
    for name, rest in (("old", 1.0), ("new", 2.0)):
        timings(rest).to_csv(tmp_path / f"{name}.csv", index=False)
    model = perfcore.fit(tmp_path / "old.csv", **options)
    model.save(tmp_path / "old.json")
    sides = itertools.product((model, tmp_path / "old.json", tmp_path / "old.csv", timings(1.0)),
                              (tmp_path / "new.csv", timings(2.0)))  # fmt: skip
    for first, second in sides:
        comparison = perfcore.compare(first, second, at={"p": [1, 8]}, **options)
        np.testing.assert_allclose(comparison.ratio, [10.0 / 9.0, 1.5])
    assert perfcore.compare(model, tmp_path / "new.csv", at="p=1", **options).names == ("old", "new")
