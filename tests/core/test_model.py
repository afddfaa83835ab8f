"""The model file: written whole, read back equal, and refused in one line where it is not what it should be."""

import json
from pathlib import Path

import pytest

import perfcore
from perfcore import UtilizationCurve
from perfcore.base.errors import ModelFileError
from perfcore.base.files import MODEL_SCHEMA


@pytest.fixture(scope="module")
def model():
    return perfcore.fit(UtilizationCurve([0, 4, 10, 11], [2, 8, 1]), phases="1..3", degree=0)


@pytest.fixture
def content(model):
    return json.loads(json.dumps(model.to_dict()))


@pytest.fixture
def refused(tmp_path):
    def refused(content):
        path = tmp_path / "model.json"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        with pytest.raises(ModelFileError) as caught:
            perfcore.load(path)
        message = str(caught.value)
        assert message.startswith(f"{path}: ")
        assert "\n" not in message
        return message.removeprefix(f"{path}: ")

    return refused


def test_round_trip(model, tmp_path):
    model.save(tmp_path / "model.json")
    assert perfcore.load(tmp_path / "model.json") == model
    assert perfcore.load(str(tmp_path / "model.json")) == model


def test_the_file_can_be_read_by_a_person(model, tmp_path):
    model.save(tmp_path / "model.json")
    lines = (tmp_path / "model.json").read_text().splitlines()
    assert lines[1].strip() == f'"schema": "{MODEL_SCHEMA}",'
    assert len(lines) > 20


def test_an_interrupted_save_leaves_the_old_file(model, tmp_path, monkeypatch):
    path = tmp_path / "model.json"
    model.save(path)
    old = path.read_bytes()

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.save(path)
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_read(tmp_path):
    with pytest.raises(ModelFileError, match=r"none.json: there is no such file"):
        perfcore.load(tmp_path / "none.json")
    with pytest.raises(ModelFileError, match="cannot be read: Is a directory"):
        perfcore.load(tmp_path)
    with pytest.raises(ModelFileError, match="cannot be read: File name too long"):
        perfcore.load("a" * 300)


@pytest.mark.parametrize(
    "damaged", [b"", b"\x89PNG\r\n\x1a\n", b"\xff\xfe", b'{"schema": NaN}', b"{", b"[" * 100_000, b"1e999"]
)
def test_what_is_not_json(refused, damaged):
    assert refused(damaged).startswith("not a model file")


@pytest.mark.parametrize("schema", ["perfcore-model/99", 1, None])
def test_another_version(refused, content, schema):
    message = refused(content | {"schema": schema})
    assert message == f"schema {schema!r} is not known here ({MODEL_SCHEMA!r} is); use the version that wrote it"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"fitter": "worly"}, "unknown fitter 'worly': did you mean 'worley'"),
        ({"fitter": None}, "unknown fitter 'None'"),
        ({"kind": "scaling law"}, "kind 'scaling law' does not belong to fitter 'phases'"),
        ({"colour": "red"}, "unknown field 'colour'"),
        ({"options": 3}, "Expected `object`, got `int` - at `$.origin.options`"),
    ],
)
def test_fields_around_the_model(refused, content, changed, message):
    assert refused(content | changed).startswith(message)


def test_fields_of_the_model(refused, content):
    content["model"]["colour"] = "red"
    assert "unknown field `colour`" in refused(content)
    del content["model"]["colour"]
    content["model"]["phases"][0]["start"] = "soon"
    assert "$.phases[0].start" in refused(content)
    del content["model"]["phases"]
    assert "missing required field `phases`" in refused(content)
    del content["fingerprint"]
    assert "missing required field `fingerprint`" in refused(content)


def places(value, path=()):
    """Every place in a JSON document."""
    yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*path, key))


def test_no_change_of_any_field_is_more_than_one_line(model, tmp_path):
    path = tmp_path / "model.json"
    for place in [p for p in places(model.to_dict()) if p]:
        for replacement in (None, -1, "x", [], {}):
            changed = json.loads(json.dumps(model.to_dict()))
            inner = changed
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = replacement
            path.write_text(json.dumps(changed))
            try:
                loaded = perfcore.load(path)
            except ModelFileError as error:
                message = str(error)
            else:
                assert type(loaded) is type(model)
                continue
            assert len(message.splitlines()) == 1
