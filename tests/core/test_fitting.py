"""Fitting by name: options of the fitter and of the parts that it selects, from one place."""

import pytest

import perfcore
from perfcore import UtilizationCurve, fit
from perfcore.base.errors import OptionError, UnknownNameError
from perfcore.hooks.chosen_options import option_fields
from perfcore.hooks.registry import registry
from perfcore.models.fitting import resolve

CURVE = UtilizationCurve([0, 4, 10], [2, 8])


@pytest.fixture(scope="module")
def worley():
    return registry().entry("fitters", "worley")


def test_a_path_is_read_first(tmp_path):
    perfcore.write(CURVE, tmp_path / "x.csv")
    model = fit(tmp_path / "x.csv", phases=2, degree=0)
    assert [(phase.start, phase.end) for phase in model.phases] == [(0, 4), (4, 10)]
    assert fit(str(tmp_path / "x.csv"), phases=2, degree=0) != fit(CURVE, phases=2, degree=0)  # by their source


def test_an_unknown_fitter():
    with pytest.raises(UnknownNameError, match="unknown fitter 'worly': did you mean 'worley'"):
        fit(CURVE, fitter="worly")


def test_options_of_the_selected_part_are_accepted_beside_the_fitters_own(worley):
    chosen, parts = resolve(worley, {"segmenter": "hill-climb", "start": "equal", "degree": 1})
    assert (chosen.degree, chosen.segmenter) == ("1", "hill-climb")
    assert type(parts["segmenter"]).__name__ == "HillClimb"
    assert parts["segmenter"].options.start == "equal"


def test_options_of_a_part_that_is_not_selected_are_unknown(worley):
    with pytest.raises(UnknownNameError, match="unknown option of worley 'start'") as caught:
        resolve(worley, {"start": "equal"})
    assert "break_tolerance" in str(caught.value)  # of minimax, which is selected
    assert "refine" in str(caught.value)


def test_an_unknown_option_suggests_the_nearest_of_the_selected_part(worley):
    with pytest.raises(UnknownNameError, match="did you mean 'break_tolerance'"):
        resolve(worley, {"break_tolerence": 1})


def test_values_of_a_part_are_checked_in_its_name(worley):
    with pytest.raises(OptionError, match=r"hill-climb: --start 'eqal': .* did you mean 'equal'"):
        resolve(worley, {"segmenter": "hill-climb", "start": "eqal"})


def test_options_are_checked_before_the_data_are_read():
    with pytest.raises(OptionError, match="degree"):
        fit("no such file", degree=9)


def test_option_fields_groups_by_who_takes_them(worley):
    groups = option_fields(worley, {"segmenter": "hill-climb"})
    assert list(groups) == ["", "hill-climb"]
    assert "segmenter" in [field.name for field in groups[""]]
    assert [field.name for field in groups["hill-climb"]] == ["start"]
    assert list(option_fields(worley, {"segmenter": "no such"})) == [""]
