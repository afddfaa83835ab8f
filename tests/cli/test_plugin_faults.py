"""A third party's plugin that raises: one line that names it, its method and its line; a traceback on request."""

import importlib
import re

import pytest

from perfcore.hooks.registry import registry

SOURCE = '''
from dataclasses import dataclass
from typing import Annotated, ClassVar

import typer

from perf_statistics.curve_fitter import CurveFitter
from perfcore import hookimpl
from perfcore.contracts import Function, Reader, Segmenter
from perfcore.stochastic import StochasticValue


class Broken(Reader):
    def sniff(self, source):
        return 1.0 if source.suffix == ".broken" else 0.0

    def read(self, source, options):
        return {}["column"]  # read


class Curve(CurveFitter):
    coefficients = ("a",)

    def estimate(self, points, values, options):
        return [values.mean()]

    def curve(self, coefficients, points):
        if points["p"].max() > 100:
            raise ValueError("too\\nlarge")  # curve
        return coefficients[0] + 0 * points["p"]


class Bent(Curve):
    def estimate(self, points, values, options):
        return (1.0, 2.0, 3.0)


class Halves(Segmenter):
    def segment(self, curve, n_phases, basis):
        return 1 / 0  # segment


class Power(Function):
    name = formula = "power"
    variables = ("p",)

    def __call__(self, points):
        raise TypeError("power")  # __call__


@dataclass(frozen=True, eq=False, repr=False)
class Dice(StochasticValue):
    name: ClassVar[str] = "dice"
    generality: ClassVar[int] = 1
    sides: float

    @classmethod
    def from_samples(cls, samples, options=None):
        raise IndexError("dice")

    def quantile(self, q):
        raise OSError("no dice")  # quantile


def roll(times: Annotated[str, typer.Argument(metavar="TIMES", help="How often.")]) -> None:
    """Roll dice."""
    raise AttributeError("roll")  # roll


@hookimpl
def register_readers(register):
    register("broken", "raising:Broken", help="a format", suffixes=(".broken",))


@hookimpl
def register_fitters(register):
    register("raising-curve", "raising:Curve", options="perfcore.models.fitting:CurveOptions", help="a mean")
    register("bent", "raising:Bent", options="perfcore.models.fitting:CurveOptions", help="three numbers for one")


@hookimpl
def register_segmenters(register):
    register("halves", "raising:Halves", help="halves")


@hookimpl
def register_functions(register):
    register("power", "raising:Power", help="a power")


@hookimpl
def register_representations(register):
    register("dice", "raising:Dice", help="dice")


@hookimpl
def register_commands(register):
    register("roll", "raising:roll", help="Roll dice.")
'''


@pytest.fixture
def plugin(folder, monkeypatch):
    """The plugin, in the registry of this process until the test ends."""
    (folder / "raising.py").write_text(SOURCE)
    (folder / "a.broken").write_text("any")
    (folder / "runs.csv").write_text("p,time_s\n1,8.1\n2,4.2\n4,2.1\n8,1.1\n16,0.6\n")
    monkeypatch.syspath_prepend(folder)
    known = registry()
    installed = [*known.plugins]
    known.add_plugins(("raising", "dist-raising", lambda: importlib.import_module("raising")))
    assert not known.problems
    yield known
    known._skip("raising", "dist-raising", "the test has ended")
    known.plugins[:] = installed


@pytest.mark.usefixtures("plugin")
def test_whatever_raises_is_named_with_its_line(perf):
    perf("fit", "runs.csv", "--fitter", "raising-curve", "-o", "model.json")
    for line, method, error in (
        ("fit a.broken", "Broken.read", "KeyError: 'column'"),
        ("gate a.broken a.broken", "Broken.read", "KeyError: 'column'"),
        ("predict model.json --at p=200", "Curve.curve", "ValueError: too large"),
        ("fit curve.csv --segmenter halves --phases 2", "Halves.segment", "ZeroDivisionError: division by zero"),
        ("fit runs.csv --fitter individual --functions power,1", "Power.__call__", "TypeError: power"),
        ("stochastic eval x+1 --with x=dice:6", "Dice.quantile", "OSError: no dice"),
        ("roll twice", "roll", "AttributeError: roll"),
    ):
        name = method.rpartition(".")[2]
        number = next(k for k, text in enumerate(SOURCE.splitlines(), 1) if text.endswith(f"# {name}"))
        place = f"plugin dist-raising: {method} failed at raising.py:{number}: {error}"
        outcome = perf(*line.split(), status=2, short=True)
        assert " ".join(re.sub(r"^perf: \w+: ", "", outcome.err).split()) == f"{place} fix: -v shows the traceback"
        assert "Traceback" not in outcome.err


@pytest.mark.usefixtures("plugin")
def test_a_fitter_without_faults_of_its_own_names_what_is_wrong(perf, refused):
    """As the user's, or as that of the plugin whose coefficients have another shape."""
    assert perf("fit", "runs.csv", "--fitter", "raising-curve", "--at", "16").lines[0].startswith("At p=16: 3.22 s")
    said = refused("fit", "runs.csv", "--fitter", "raising-curve", "--at", "q=16")
    assert said == "--at 'q=16': NAME=NUMBER is expected, with a name of p"
    said = refused("fit", "runs.csv", "--fitter", "bent")
    assert "Bent.estimate returned an array of shape (3,); (1,) is expected" in said


@pytest.mark.usefixtures("plugin")
def test_the_traceback_is_there_on_request(perf):
    err = perf("fit", "a.broken", "-v", status=2, short=True).err
    assert "Traceback (most recent call last):" in err
    assert '{}["column"]  # read' in err
