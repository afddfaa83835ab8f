"""Every kind of result and data in a notebook: a frame of numbers, a short cell, a picture, a frame with pages."""

import math
import re

import pandas as pd
import pytest
from result_kinds import CELL_ELEMENTS, FURTHER_KINDS, KINDS, WITHOUT_PICTURE, Elements, cell_of, result_of

from perfcore import Model
from perfcore.report import Result, Shown

ALL_KINDS = [*KINDS, *FURTHER_KINDS]
WITHOUT_TABLE = {"Facts", "Summary", "Added", "RunSummary", "SubmittedJobs"}
# What JSON has in other words: places as a text, a start and an end, the run's own time of all locations.
COMPUTED = {
    "MessageRuns": ("locations", "messages", "bytes", "rank_pairs", "collectives", "until_all_arrived_ns"),
    "RunSummary": ("time_ns", "share", "entries"),  # of the trace that it is
    "Verification": ("P", "D", "error"),
    "OverheadRuns": ("p", "time_s"),
    "OverheadProfile": ("p", "time_s"),
    "Decomposition": ("machine",),
    "Judgement": ("at",),
    "OperatorTimes": ("time_s",),
    "MeasuredValue": ("p05", "p50", "p95", "lowest", "highest"),
    "Iterations": ("iteration", "duration_us", "over_median", "computing", "waiting", "communicating"),
    "PhaseComparison": ("lower", "upper"),
}
MOST_OF_CELL = 64_000  # letters
NUMBER = re.compile(r"[-+]?[0-9][0-9,]*(\.[0-9]+)?(e[-+]?[0-9]+)? ?%?")


def subclasses(base):
    return {base} | {kind for each in base.__subclasses__() for kind in subclasses(each)}


def test_every_kind_is_made_and_reports_itself():
    for kind in ALL_KINDS:
        assert type(result_of(kind)).__name__ == kind
    bundled = {kind for kind in subclasses(Shown) if kind.__module__.startswith("perf")}
    reporting = {kind.__name__ for kind in bundled if {"report", "reporter"} & vars(kind).keys()}
    assert reporting - {"Shown", "Model"} <= set(ALL_KINDS)  # models are of some class
    silent = {kind for kind in bundled if kind.report is Shown.report and not kind.reporter}
    assert silent == {Result, Shown}


@pytest.mark.parametrize("kind", [kind for kind in ALL_KINDS if kind != "SubmittedJobs"])  # which has one sentence
def test_a_frame_holds_numbers_and_not_their_texts(kind):
    frame = result_of(kind).to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame)
    assert len(set(frame.columns)) == len(frame.columns)
    for name in frame.columns.difference(["value"] if kind == "Facts" else []):
        texts = [each for each in frame[name] if isinstance(each, str) and each]
        assert not texts or not all(NUMBER.fullmatch(each) for each in texts), name


def numbers(value):
    """All numbers of nested lists and mappings."""
    if isinstance(value, dict):
        value = [*value.values(), *value]
    if isinstance(value, (list, tuple)):
        return {number for each in value for number in numbers(each)}
    return {float(value)} if isinstance(value, (int, float)) else set()


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_a_frame_has_the_numbers_that_json_has(kind):
    """To the last digit; those that JSON leaves to the reader are few, and named."""
    result = result_of(kind)
    # The JSON of a model is its file, of which the frame's numbers are computed; data have none.
    if isinstance(result, Model) or not hasattr(result, "to_dict"):
        return
    known = numbers(result.to_dict())
    for name, column in result.to_frame().items():
        if column.dtype.kind in "if" and name not in COMPUTED.get(kind, ()):
            assert {number for number in column.dropna() if math.isfinite(number)} <= known, name


@pytest.mark.parametrize("kind", [kind for kind in ALL_KINDS if kind != "Inline"])
def test_a_cell_is_short_and_well_formed_and_has_picture_and_table(kind):
    result = result_of(kind)
    cell = cell_of(kind)
    names = Elements(cell).names
    assert set(names) <= CELL_ELEMENTS  # no script
    assert len(cell) <= MOST_OF_CELL
    assert names.count("img") == (kind not in WITHOUT_PICTURE)
    assert names.count("table") == (kind not in WITHOUT_TABLE)
    assert "style=" not in cell.replace(' style="white-space:pre-wrap"', "")  # colours are those of the notebook
    assert len(repr(result)) <= 1000
    assert repr(result).count("\n") < 10
