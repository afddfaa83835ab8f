"""Pieces of an array against the whole of it."""

import io
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf_io.traces import json_array
from perf_io.traces.json_array import ArrayPieces
from perfcore.base.errors import InputError

ANY = msgspec.json.Decoder(list[dict])
values = st.recursive(
    st.integers() | st.text(alphabet='}{],["\\:a \n', max_size=12) | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["ph", "a", "},{"]), inner, max_size=3),
    max_leaves=8,
)
elements = st.lists(st.dictionaries(st.sampled_from(["ph", "b", "c"]), values, max_size=3), max_size=12)


def pieces(text, key="traceEvents"):
    array = ArrayPieces(io.BytesIO(text.encode()), "demo", key)
    found = []
    for decoded, piece in array.decoded(ANY):
        assert ANY.decode(piece) == decoded
        found += decoded
    return found


@given(
    rows=elements,
    indent=st.sampled_from([None, 0, 2]),
    before=st.dictionaries(st.text(max_size=3), values, max_size=2),
    size=st.integers(1, 200),
)
def test_all_elements_come_in_order(rows, indent, before, size):
    before.pop("traceEvents", None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_array, "_PIECE_BYTES", size)
        assert pieces(json.dumps(rows, indent=indent)) == rows
        document = {
            **before,
            "other": {"traceEvents": [{"no": 1}]},
            "traceEvents": rows,
            "tail": [{"ph": 2}, {"ph": 3}],
        }
        assert pieces(json.dumps(document, indent=indent)) == rows


@given(rows=elements.filter(bool), size=st.integers(1, 50), cut=st.floats(0, 1))
def test_an_array_that_breaks_off_is_refused_or_ends_with_a_whole_element(rows, size, cut):
    text = json.dumps(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_array, "_PIECE_BYTES", size)
        try:
            found = pieces(text[: 1 + int(cut * (len(text) - 2))])
        except InputError:
            return
    assert found == rows[: len(found)]


def test_an_element_of_unlimited_length_is_refused(monkeypatch):
    monkeypatch.setattr(json_array, "_LARGEST_BYTES", 1 << 12)
    monkeypatch.setattr(json_array, "_PIECE_BYTES", 1 << 8)
    with pytest.raises(InputError, match="an element is longer than"):
        pieces('[{"ph": "' + "a" * (1 << 14))


def test_an_error_names_the_line_in_a_later_piece(monkeypatch):
    monkeypatch.setattr(json_array, "_PIECE_BYTES", 16)
    rows = ['{"ph": 1}'] * 9
    rows[6] = '{"ph": 1 1}'
    with pytest.raises(InputError, match="demo:8: is no JSON"):
        pieces('{"traceEvents": [\n' + ",\n".join(rows) + "]}")


def test_wherever_an_open_array_is_cut_the_message_says_so():
    """Within a word, a number, an escape or a letter of two bytes; between elements it only lacks its end."""
    text = '[{"ph": "X", "tid": "r\u00e4 \\u00e9", "ts": -0.5, "dur": 1e3, "args": [null]},\n{"ph": "X"}]'.encode()
    whole = text.index(b"\n") - 1
    for end in (*range(2, whole), *range(whole + 3, len(text) - 1)):
        with pytest.raises(InputError, match=r"cut short; -r to_the_cut=yes"):
            list(ArrayPieces(io.BytesIO(text[:end]), "cut", "traceEvents").decoded(ANY))
