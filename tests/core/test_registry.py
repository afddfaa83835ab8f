"""The registry: what plugins announce, what is wrong with them; errors as users give options."""

import contextlib
import inspect
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest

import perfcore
from perfcore import UtilizationCurve, hookimpl
from perfcore.base import errors, progress
from perfcore.base.errors import (
    MissingDependencyError,
    OptionError,
    PerfError,
    PluginError,
    UnknownNameError,
    options_of_program,
)
from perfcore.contracts import Basis, FormulaFunction, Segmentation, Segmenter
from perfcore.hooks import specs as hookspecs
from perfcore.hooks.options import NoOptions
from perfcore.hooks.registry import Entry, Registry


def plugin(name="demo", **hooks):
    """A module whose hook functions register what is given as (name, target) pairs."""
    module = ModuleType(name)
    for hook, announced in hooks.items():

        def announce(register, announced=announced):
            for entry_name, target in announced:
                register(entry_name, target, help=f"what {entry_name} is")

        setattr(module, hook, hookimpl(announce))
    return module


def registry_of(**modules):
    found = Registry()
    for name, module in modules.items():
        found.add_plugins((name, f"dist-{name}", lambda module=module: module))
    return found


def test_entries_are_sorted_and_not_imported():
    found = registry_of(demo=plugin(register_fitters=[("zeta", "no_such_module:Z"), ("alpha", "no_such_module:A")]))
    assert list(found.entries("fitters")) == ["alpha", "zeta"]
    assert found.entry("fitters", "zeta").distribution == "dist-demo"
    assert found.problems == ()


def test_the_same_name_twice_names_both_distributions():
    found = registry_of(
        first=plugin("first", register_fitters=[("lca", "a:A")]),
        second=plugin("second", register_fitters=[("lca", "b:B")], register_readers=[("x", "b:X")]),
    )
    assert found.entry("fitters", "lca").target == "a:A"
    assert not found.entries("readers")  # a broken plugin is left out whole
    assert found.problems == (
        "plugin second of dist-second is skipped: fitter 'lca' is registered by dist-first and by dist-second; "
        "uninstall one of them or rename its entry",
    )


def test_one_plugin_must_not_use_a_name_twice():
    found = registry_of(demo=plugin(register_fitters=[("lca", "a:A"), ("lca", "a:B")]))
    assert "registered by dist-demo and by dist-demo" in found.problems[0]


def test_a_broken_plugin_is_named_and_skipped():
    found = registry_of(good=plugin("good", register_readers=[("x", "a:A")]))

    def broken():
        raise RuntimeError("needs another libc")

    found.add_plugins(("bad", "dist-bad", broken))
    assert found.problems == ("plugin bad of dist-bad is skipped: RuntimeError: needs another libc",)
    assert [p.name for p in found.plugins] == ["good", "bad"]
    assert list(found.entries("readers")) == ["x"]


def test_a_misspelt_hook_is_reported():
    found = registry_of(demo=plugin(register_fiters=[("lca", "a:A")], register_readers=[("x", "a:A")]))
    assert "register_fiters" in found.problems[0]
    assert "the hooks are register_kinds, register_readers, register_classifiers" in found.problems[0]
    assert not found.entries("readers")


@pytest.fixture
def broken_modules(tmp_path, monkeypatch):
    for name, text in {
        "demo_needs": "import no_such_library\n",
        "demo_other": "from math import no_such_function\n",
        "demo_syntax": "def\n",
        "demo_attribute": "import math\nmath.no_such_function\n",
    }.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in [name for name in sys.modules if name.startswith("demo_")]:
        del sys.modules[name]


@pytest.mark.usefixtures("broken_modules")
def test_a_missing_library_names_the_extra_that_brings_it():
    module = ModuleType("demo")
    options = {"help": "lca", "extra": "demo[formats]"}
    module.register_fitters = hookimpl(lambda register: register("lca", "demo_needs:Lca", **options))
    with pytest.raises(MissingDependencyError) as caught:
        registry_of(demo=module).load("fitters", "lca")
    assert str(caught.value) == "fitter 'lca' needs no_such_library: pip install 'demo[formats]'"


@pytest.mark.usefixtures("broken_modules")
@pytest.mark.parametrize(("target", "message"), [
    ("demo_needs:Lca", "fitter 'lca' of dist-demo cannot be imported: ModuleNotFoundError: .*no_such_library"),
    ("demo_other:Lca", "cannot be imported: ImportError: cannot import name 'no_such_function'"),
    ("demo_syntax:Lca", "cannot be imported: SyntaxError"),
    ("demo_attribute:Lca", "cannot be imported: AttributeError"),
    ("demo_absent:Lca", "cannot be imported: ModuleNotFoundError: No module named 'demo_absent'"),
    ("fractions:Lca", "fitter 'lca' of dist-demo names 'fractions:Lca': module 'fractions' has no attribute 'Lca'"),
])  # fmt: skip
def test_what_cannot_be_imported_is_named(target, message):
    found = registry_of(demo=plugin(register_fitters=[("lca", target)]))
    with pytest.raises(PluginError, match=message):
        found.load("fitters", "lca")


def test_a_plugin_may_bring_a_kind_that_others_then_implement():
    schedulers = plugin("schedulers", register_kinds=[("schedulers", "abc:ABC")], register_schedulers=[("lsf", "a:A")])
    other = plugin("other", register_schedulers=[("flux", "b:B")])
    found = Registry()
    found.add_plugins(*[(name, f"dist-{name}", lambda m=m: m) for name, m in (("other", other), ("own", schedulers))])
    assert found.problems == ()
    assert list(found.entries("schedulers")) == ["flux", "lsf"]
    with pytest.raises(UnknownNameError, match="unknown scheduler 'fluxx': did you mean 'flux'"):
        found.load("schedulers", "fluxx")
    with pytest.raises(UnknownNameError, match="unknown kind of plugin 'schedulrs': did you mean 'schedulers'"):
        found.entries("schedulrs")


# One hook for each kind of thing.
def test_every_kind_has_a_documented_hook_and_every_hook_a_kind():
    hooks = {name for name in vars(hookspecs) if name.startswith("register_")}
    assert hooks == {f"register_{kind}" for kind in hookspecs.KINDS}
    for hook in hooks:
        function = getattr(hookspecs, hook)
        assert list(inspect.signature(function).parameters) == ["register"]
        assert function.__doc__


# What the contracts give to those who inherit from them.
class Halves(Segmenter):
    def segment(self, curve, n_phases, basis):
        return Segmentation(np.linspace(0.0, curve.duration, n_phases + 1))


def test_a_sequence_is_made_of_segments_unless_overridden():
    found = Halves().sequence(UtilizationCurve([0, 4], [1]), [1, 2], Basis())
    assert [each.breaks.tolist() for each in found] == [[0, 4], [0, 2, 4]]


class Surface(FormulaFunction):
    name, formula, variables = "surface", "(n/p)^(2/3)", ("n", "p")


def test_a_function_is_its_formula():
    points = {"p": np.array([1.0, 8.0]), "n": np.array([64.0, 64.0]), "unused": np.zeros(2)}
    assert Surface()(points) == pytest.approx([16.0, 4.0])


# Errors are one line that says where, what, and what is accepted.
def test_all_are_the_users_mistakes():
    kinds = [each for each in vars(errors).values() if isinstance(each, type) and each.__module__ == errors.__name__]
    assert kinds
    assert all(issubclass(kind, PerfError) for kind in kinds)
    assert issubclass(UnknownNameError, OptionError)


@pytest.mark.parametrize(("name", "known", "text"), [
    ("worly", ["worley", "lca"], "unknown fitter 'worly': did you mean 'worley'? Choose from lca, worley"),
    ("Worley", ["worley", "lca"], "unknown fitter 'Worley': did you mean 'worley'? Choose from lca, worley"),
    ("hist", ["list", "histogram"], "unknown fitter 'hist': did you mean 'histogram'? Choose from histogram, list"),
    ("linear", ["interval", "normal"], "unknown fitter 'linear': choose from interval, normal"),
    ("spline", ["scaling", "point"], "unknown fitter 'spline': choose from point, scaling"),
    ("cq", ["cg", "lu"], "unknown fitter 'cq': did you mean 'cg'? Choose from cg, lu"),
    ("usl", ["equal", "point"], "unknown fitter 'usl': choose from equal, point"),
    ("x", ["worley", "lca"], "unknown fitter 'x': choose from lca, worley"),
    ("x", [], "unknown fitter 'x': choose from none"),
])  # fmt: skip
def test_the_nearest_name_is_suggested_where_one_is_near(name, known, text):
    error = UnknownNameError("fitter", name, iter(known))
    assert str(error) == text
    assert error.name == name


# The package: its public names come when they are asked for.
def test_every_public_name_exists():
    assert set(perfcore.__all__) <= set(dir(perfcore))
    for name in perfcore.__all__:
        assert getattr(perfcore, name) is not None


def test_other_names_do_not():
    with pytest.raises(AttributeError, match="module 'perfcore' has no attribute 'raed'"):
        perfcore.raed  # noqa: B018


def test_importing_it_imports_nothing_heavy():
    code = "import sys, perfcore; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "pandas", "msgspec", "pluggy", "click"} & set(done.stdout.split())


# Progress goes where the program says, and nowhere by default.
class Recorder(progress.Sink):
    def __init__(self):
        self.seen = []

    @contextlib.contextmanager
    def bar(self, label, total):
        self.seen.append((label, total))
        yield self.seen.append

    def note(self, text):
        self.seen.append(text)


def work():
    with progress.bar("reading", total=3) as advance:
        advance(1)
        advance(2)
    progress.note("done")


def test_silent_by_default(capfd):
    work()
    assert capfd.readouterr() == ("", "")


def test_an_error_ends_the_block():
    recorder = Recorder()
    with pytest.raises(ZeroDivisionError), progress.show_with(recorder):
        raise ZeroDivisionError
    work()
    assert recorder.seen == []


def test_without_announced_options_it_has_none_and_nothing_is_imported():
    entry = Entry("fitters", "plain", "no_such_module:Plain", "a fitter without options", "dist-plain")
    assert entry.load_options() is NoOptions


# Messages name options as the user gives them: typed, or as keywords.
@pytest.mark.parametrize(("text", "in_python"), [
    ("set with --fitter", "set with fitter="),
    ("use --parameter p,n to say so", "use parameter='p,n' to say so"),
    ("--break-tolerance 0: must be above 0", "break_tolerance=0: must be above 0"),
    ("choose --locations process, --locations node", "choose locations='process', locations='node'"),
    ("leave out --at p=64", "leave out at='p=64'"),
    ("`perf fit a.csv --at p=64` says more", "`perf fit a.csv --at p=64` says more"),
    ("`rocprofv3 --runtime-trace` records them", "`rocprofv3 --runtime-trace` records them"),
    ("--strict keeps what it has", "strict= keeps what it has"),
])  # fmt: skip
def test_an_option_is_named_as_the_user_gives_it(text, in_python):
    error = OptionError(text)
    assert str(error) == in_python
    with options_of_program():
        assert str(error) == text
    assert str(error) == in_python
