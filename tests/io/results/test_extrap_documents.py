"""Extra-P's JSON: the means and medians are those of Extra-P 4.2.5's own readers."""

import pytest
from format_samples import EXTRAP_JSON, EXTRAP_JSON_OLDER

import perfcore
from perfcore.base.errors import InputError


@pytest.fixture
def read(tmp_path):
    def read(text, name):
        path = tmp_path / name
        path.write_text(text)
        return perfcore.read(path)

    return read


def test_the_present_kind(read):
    data = read(EXTRAP_JSON, "runs.json")
    assert data.table[["x", "y", "callpath", "repetition", "time"]].to_numpy().tolist() == [
        [1, 10, "main->a", 1, 1.5],
        [1, 10, "main->a", 2, 2],
        [2, 10, "main->a", 1, 3],
    ]


def test_the_older_kind_by_its_identifiers(read):
    swapped = EXTRAP_JSON_OLDER.replace('"coordinate_id": 1', '"coordinate_id": 3').replace(
        '{"id": 1, "parameter_value_pairs"', '{"id": 3, "parameter_value_pairs"'
    )
    for text in (EXTRAP_JSON_OLDER, swapped):
        assert read(text, "runs.json").table[["x", "time"]].to_numpy().tolist() == [[4, 3.5], [8, 5]]


@pytest.mark.parametrize(
    ("text", "old", "new", "message"),
    [
        (EXTRAP_JSON, "[1, 10]", "[1]", r"the point at .*'main->a'.*\[0\]` has 1 coordinates for 2 parameters"),
        (EXTRAP_JSON_OLDER, '"metric_id": 1, "value": 5', '"metric_id": 7, "value": 5', r"measurements\[1\]` .* 7,"),
        (EXTRAP_JSON_OLDER, '"value": 5', '"value": "5"', r"Expected `float`, got `str` - at `\$.measurements"),
    ],
)
def test_documents_that_are_refused(read, text, old, new, message):
    with pytest.raises(InputError, match=message):
        read(text.replace(old, new), "runs.json")


@pytest.mark.real_data
def test_real_files(real_data):
    folder = real_data / "benchresults" / "extrap"
    sweep = perfcore.read(folder / "input_1.JSON").table.groupby("x")["time"]
    assert sweep.mean().to_dict() == {4: 3.5, 8: 5.5, 16: 9.5, 32: 17.5, 64: 33.5}
    assert sweep.size().unique().tolist() == [5]
