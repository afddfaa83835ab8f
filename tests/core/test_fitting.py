"""Fitting by name: options of the fitter and of the parts that it selects, from one place."""

import contextlib
from types import SimpleNamespace

import pandas as pd
import pytest

import perfcore
from perfcore import Series, UtilizationCurve, fit
from perfcore.base import progress
from perfcore.base.errors import OptionError, UnknownNameError
from perfcore.hooks.chosen_options import option_fields
from perfcore.hooks.registry import Entry, registry
from perfcore.models import fitting
from perfcore.models.fitting import default_fitter, resolve

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


class Notes(progress.Sink):
    def __init__(self):
        self.seen = []

    def note(self, text):
        self.seen.append(text)


@contextlib.contextmanager
def notes():
    sink = Notes()
    with progress.show_with(sink):
        yield sink.seen


def registered(*entries):
    """A registry of fitters: name, distribution, and what each is the default for."""
    made = {name: Entry("fitters", name, "a:A", "", whose, default_for=kinds) for name, whose, kinds in entries}
    return lambda: SimpleNamespace(entries=lambda kind: dict(sorted(made.items())))


@pytest.mark.parametrize(
    ("data", "options", "fitter", "kind"),
    [
        (CURVE, {}, "phases", "curve"),
        (Series([0, 1, 2, 3], {"cpu": [0.5, 0.25, 0.5, 0.75]}, "s"), {}, "forecast", "series"),
        (RUNS, {}, "strohmaier", "codes x systems over p"),
        # What the options say of the columns and rows counts.
        (RUNS, {"where": "system=a"}, "scaling", "timings over p"),
    ],
)
def test_without_a_name_the_kind_of_data_chooses_and_a_note_says_so(data, options, fitter, kind):
    with notes() as seen:
        model = fit(data, **options)
    assert model.origin.fitter == fitter
    assert seen[0] == f"fitter {fitter}: {kind}; --fitter names another"


def test_options_are_checked_against_the_fitter_that_is_chosen():
    with notes() as seen, pytest.raises(UnknownNameError, match="unknown option of phases 'terms'"):
        fit(CURVE, terms=2)
    assert seen == []


def test_what_ranks_is_registered_apart_from_what_fits():
    with notes() as seen:
        assert len(perfcore.rank(RUNS, terms=1).candidates) == 8  # the seven functions, and the best of each pair
    assert seen == ["fitter individual: codes x systems over p; --fitter names another"]
    with pytest.raises(OptionError, match="no fitter can rank curve"):
        perfcore.rank(CURVE)


def test_the_fitter_that_comes_with_perfcore_goes_first(monkeypatch):
    fitters = [("mine", "abc", ("curve",)), ("theirs", "perfcore", ("curve",)), ("other", "abc", ("trace",))]
    monkeypatch.setattr(fitting, "registry", registered(*fitters))
    name, note = default_fitter(CURVE)
    assert name == "theirs"
    assert "; mine of abc is registered for it too;" in note
