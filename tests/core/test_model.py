"""The model file: written whole, read back, refused in one line; fitting by name; predictions as arrays and tables."""

import json
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import perfcore
from perfcore import Series, UtilizationCurve, fit
from perfcore.base import progress
from perfcore.base.errors import ModelFileError, OptionError, UnknownNameError
from perfcore.base.files import MODEL_SCHEMA
from perfcore.contracts import SequenceSegmenter
from perfcore.hooks.options import option
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


@dataclass(frozen=True)
class HalvingOptions:
    start: str = option("equal", "where to begin", choices=("equal", "greedy"))


class Halving(SequenceSegmenter):
    Options = HalvingOptions

    def sequence(self, curve, counts, basis):
        raise NotImplementedError


class HalvingEntry(Entry):
    """A segmenter with an option of its own, as of a plugin."""

    def load(self):
        return Halving

    def load_options(self):
        return HalvingOptions


@pytest.fixture
def halving(monkeypatch):
    monkeypatch.setitem(registry()._entries["segmenters"], "halving", HalvingEntry("segmenters", "halving", "", "", ""))


@pytest.mark.usefixtures("halving")
def test_options_of_the_selected_part_are_accepted_beside_the_fitters_own(phases):
    chosen, parts = resolve(phases, {"segmenter": "halving", "start": "greedy", "degree": 1})
    assert (chosen.degree, chosen.segmenter) == ("1", "halving")
    assert type(parts["segmenter"]) is Halving
    assert parts["segmenter"].options.start == "greedy"


@pytest.mark.usefixtures("halving")
def test_option_fields_groups_by_who_takes_them(phases):
    groups = option_fields(phases, {"segmenter": "halving"})
    assert list(groups) == ["", "halving"]
    assert "segmenter" in [field.name for field in groups[""]]
    assert [field.name for field in groups["halving"]] == ["start"]
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


# Predictions in Python: arrays for numbers, tables with intervals that are indexed by the points.
TIMES = pd.DataFrame({"p": [1, 2, 4, 8, 16], "time_s": [8.21, 4.42, 2.39, 1.46, 0.92]})
OPTIONS = {"individual": {"functions": "1/p,1"}, "regression": {"formula": "a/p + b"}}
TWO = pd.DataFrame([{"p": p, "n": n, "time_s": 1e-3 * n / p + 0.1} for p in (1, 2, 4, 8) for n in (100, 200, 400)])


@pytest.mark.parametrize("fitter", [None, "individual", "regression", "usl"])
def test_an_interval_comes_as_a_table_indexed_by_the_points(fitter):
    model = perfcore.fit(TIMES, fitter=fitter, **OPTIONS.get(fitter, {}))
    table = model.predict([32, 64], interval=0.95)
    assert list(table.columns) == ["predicted", "lower", "upper"]
    assert table.index.equals(pd.Index([32, 64], name="p"))
    np.testing.assert_array_equal(table["predicted"], model.predict([32, 64]))
    assert ((table["lower"] < table["predicted"]) & (table["predicted"] < table["upper"])).all()
    assert len(model.predict()) == 1  # at the target


def test_points_of_several_variables_are_levels_of_the_index():
    model = perfcore.fit(TWO, parameter=["p", "n"])
    table = model.predict({"p": [16, 32], "n": 400}, interval=0.5)
    assert table.index.equals(pd.MultiIndex.from_tuples([(16, 400), (32, 400)], names=["p", "n"]))
    assert table.equals(model.predict(pd.DataFrame({"p": [16, 32], "n": [400, 400]}), interval=0.5))


@pytest.mark.parametrize("fitter", [None, "regression"])
def test_the_interval_of_a_mean_is_within_that_of_a_single_run(fitter):
    model = perfcore.fit(TIMES, fitter=fitter, **OPTIONS.get(fitter, {}))
    prediction = model.prediction([8.0, 16.0])
    assert (prediction.mean["predicted"] == prediction.single_run["predicted"]).all()
    assert (prediction.single_run["lower"] < prediction.mean["lower"]).all()
    assert (prediction.mean["upper"] < prediction.single_run["upper"]).all()
    assert prediction.single_run.equals(model.predict([8.0, 16.0], interval=0.95))


@pytest.mark.parametrize(("options", "message"), [
    ({"fitter": "individual", "functions": "1/p", "value": "watt"}, "watt"),
    ({"parameter": "q"}, "q"),
])  # fmt: skip
def test_errors_in_python_name_keywords(options, message):
    with pytest.raises(perfcore.PerfError, match=message) as raised:
        perfcore.fit(TIMES, **options)
    assert "--" not in str(raised.value)


def test_tables_of_the_screen_are_frames():
    model = perfcore.fit(TIMES)
    assert list(model.table["p"]) == [1, 2, 4, 8, 16, 32, 64]
    assert model.table["measured"].iloc[0] == 8.21
    assert model.to_frame()["predicted"].iloc[-1] == pytest.approx(model.predict([64.0])[0], rel=1e-9)
    assert model.candidates["probability"].sum() == pytest.approx(1.0, abs=1e-6)
