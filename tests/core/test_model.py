"""The model file: written whole, read back equal, and refused in one line where it is not what it should be."""

import json
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

import perfcore
from perfcore import Series, UtilizationCurve, fit
from perfcore.base import progress
from perfcore.base.errors import ModelFileError, OptionError, UnknownNameError
from perfcore.base.files import MODEL_SCHEMA
from perfcore.hooks.registry import Entry, option_fields, registry
from perfcore.models import fitting
from perfcore.models.fitting import default_fitter, resolve


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


def test_the_file_can_be_read_by_a_person(model, tmp_path):
    model.save(tmp_path / "model.json")
    lines = (tmp_path / "model.json").read_text().splitlines()
    assert lines[2].strip() == f'"schema": "{MODEL_SCHEMA}",'
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


@pytest.mark.parametrize(
    "damaged", [b"", b"\x89PNG\r\n\x1a\n", b"\xff\xfe", b'{"schema": NaN}', b"{", b"[" * 100_000, b"1e999"]
)
def test_what_is_not_json(refused, damaged):
    assert refused(damaged).startswith("not a model file")


@pytest.mark.parametrize("schema", ["perfcore-model/99", 1, None])
def test_another_version(refused, content, schema):
    message = refused(content | {"schema": schema})
    assert message == f"schema {schema!r} is not known here ({MODEL_SCHEMA!r} is); use the version that wrote it"


@pytest.mark.parametrize(("changed", "message"), [
    ({"fitter": "worly"}, "unknown fitter 'worly': did you mean 'worley'"),
    ({"fitter": None}, "unknown fitter 'None'"),
    ({"kind": "scaling law"}, "kind 'scaling law' does not belong to fitter 'phases'"),
    ({"colour": "red"}, "unknown field 'colour'"),
    ({"options": 3}, "Expected `object`, got `int` - at `$.origin.options`"),
])  # fmt: skip
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


# Fitting by name: options of the fitter and of the parts that it selects, from one place.
CURVE = UtilizationCurve([0, 4, 10], [2, 8])


@pytest.fixture(scope="module")
def phases():
    return registry().entry("fitters", "phases")


def test_a_path_is_read_first(tmp_path):
    perfcore.write(CURVE, tmp_path / "x.csv")
    model = fit(tmp_path / "x.csv", phases=2, degree=0)
    assert [(phase.start, phase.end) for phase in model.phases] == [(0, 4), (4, 10)]
    assert fit(str(tmp_path / "x.csv"), phases=2, degree=0) != fit(CURVE, phases=2, degree=0)  # by their source


def test_options_of_the_selected_part_are_accepted_beside_the_fitters_own(phases):
    chosen, parts = resolve(phases, {"segmenter": "hill-climb", "start": "equal", "degree": 1})
    assert (chosen.degree, chosen.segmenter) == ("1", "hill-climb")
    assert type(parts["segmenter"]).__name__ == "HillClimb"
    assert parts["segmenter"].options.start == "equal"


def test_option_fields_groups_by_who_takes_them(phases):
    groups = option_fields(phases, {"segmenter": "hill-climb"})
    assert list(groups) == ["", "hill-climb"]
    assert "segmenter" in [field.name for field in groups[""]]
    assert [field.name for field in groups["hill-climb"]] == ["start"]
    assert list(option_fields(phases, {"segmenter": "no such"})) == [""]


RUNS = pd.DataFrame(
    [(c, s, p, (16 / p + k) / (1 + j)) for k, c in enumerate("xy") for j, s in enumerate("ab") for p in (1, 2, 4, 8)],
    columns=["code", "system", "p", "time_s"],
)


def registered(*entries):
    """A registry of fitters: name, distribution, and what each is the default for."""
    made = {name: Entry("fitters", name, "a:A", "", whose, default_for=kinds) for name, whose, kinds in entries}
    return lambda: SimpleNamespace(entries=lambda kind: dict(sorted(made.items())))


@pytest.mark.parametrize(("data", "options", "fitter", "kind"), [
    (CURVE, {}, "phases", "curve"),
    (Series([0, 1, 2, 3], {"cpu": [0.5, 0.25, 0.5, 0.75]}, "s"), {}, "forecast", "series"),
    (RUNS, {}, "strohmaier", "codes x systems"),
    # What the options say of the columns and rows counts.
    (RUNS, {"where": "system=a"}, "scaling", "timings"),
])  # fmt: skip
def test_without_a_name_the_kind_of_data_chooses_and_a_note_says_so(data, options, fitter, kind):
    with progress.collected() as seen:
        model = fit(data, **options)
    assert model.origin.fitter == fitter
    assert seen[0] == f"fitter: {fitter} (for {kind}; set with --fitter)"


def test_options_are_checked_against_the_fitter_that_is_chosen():
    with progress.collected() as seen, pytest.raises(UnknownNameError, match="unknown option of phases 'terms'"):
        fit(CURVE, terms=2)
    assert seen == []


def test_what_ranks_is_registered_apart_from_what_fits():
    with progress.collected() as seen:
        assert len(perfcore.rank(RUNS, terms=1).candidates) == 8  # the seven functions, and the best of each pair
    assert seen == ["fitter: individual (for codes x systems; set with --fitter)"]
    with pytest.raises(OptionError, match="no fitter can rank curve"):
        perfcore.rank(CURVE)


def test_the_fitter_that_comes_with_perfcore_goes_first(monkeypatch):
    fitters = [("mine", "abc", ("curve",)), ("theirs", "perfcore", ("curve",)), ("other", "abc", ("trace",))]
    monkeypatch.setattr(fitting, "registry", registered(*fitters))
    name, note = default_fitter(CURVE)
    assert name == "theirs"
    assert "; mine of abc is registered for it too;" in note
