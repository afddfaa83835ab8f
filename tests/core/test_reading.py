"""Which reader is chosen, how its options are checked, and writing whole or not at all."""

import subprocess
import sys
from dataclasses import dataclass
from types import ModuleType

import pytest

import perfcore.reading.recognise
from perfcore import UtilizationCurve, hookimpl, read, write
from perfcore.base.errors import InputError, OptionError, UnknownNameError
from perfcore.contracts import Reader
from perfcore.hooks.options import option
from perfcore.hooks.registry import Registry
from perfcore.reading.recognise import recognise
from perfcore.reading.source import Source

CURVE = UtilizationCurve([0, 1], [2])


@dataclass(frozen=True)
class DemoOptions:
    scale: float = option(1.0, "factor of the heights", above=0)


class Alpha(Reader):
    """Knows files that begin with A; a little less sure than `Beta` of those that go on with B."""

    Options = DemoOptions
    writes = True

    def sniff(self, source):
        return 0.5 if source.head.startswith(b"A") else 0.0

    def read(self, source, options):
        return UtilizationCurve([0, 1], [2 * options.scale], source=f"{source.name} by alpha")

    def write(self, data, path):
        path.write_bytes(b"half")
        if data is not CURVE:
            raise OptionError("only the curve can be written")
        path.write_bytes(b"whole")


class Beta(Reader):
    def sniff(self, source):
        return 0.9 if source.head.startswith(b"AB") else 0.0

    def read(self, source, options):
        return UtilizationCurve([0, 1], [1], source=f"{source.name} by beta")


class Deep(Reader):
    def sniff(self, source):
        return 1.0 if source.head.startswith(b"(((") else 0.0

    def read(self, source, options):
        return self.read(source, options)


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    """A registry with three readers only."""
    module = ModuleType("demo_readers")
    module.Alpha, module.Beta, module.Deep = Alpha, Beta, Deep
    monkeypatch.setitem(sys.modules, "demo_readers", module)

    @hookimpl
    def register_readers(register):
        register("alpha", "demo_readers:Alpha", help="alpha", suffixes=(".a",))
        register("beta", "demo_readers:Beta", help="beta", suffixes=(".b", ".bb"))
        register("deep", "demo_readers:Deep", help="deep")
        register("absent", "demo_absent:Absent", help="not importable", suffixes=(".z",))

    module.register_readers = register_readers
    found = Registry()
    found.add_plugins(("demo", "demo", lambda: module))
    assert not found.problems
    monkeypatch.setattr(perfcore.reading.recognise, "registry", lambda: found)


@pytest.fixture
def put(tmp_path):
    def put(name, content):
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    return put


def chosen(path):
    with Source(path) as source:
        return recognise(source)[0]


def test_the_ending_decides_who_is_asked_first_and_the_content_who_it_is(put):
    assert chosen(put("x.a", b"A")) == "alpha"
    assert chosen(put("x.b", b"AB")) == "beta"
    # alpha claims the ending and knows the content: nobody else is asked, nor imported.
    assert chosen(put("y.a", b"AB")) == "alpha"
    # beta claims the ending but declines.
    assert chosen(put("y.b", b"AC")) == "alpha"


def test_an_unknown_format_is_refused_with_all_that_are_known_and_what_could_not_be_asked(put):
    with pytest.raises(InputError) as caught:
        read(put("x.z", b"?"))
    message = str(caught.value)
    assert "x.z: not in any of the 4 known formats; `perf info --formats` lists them" in message
    assert "reader 'absent' of demo cannot be imported" in message


@pytest.mark.parametrize("version", [b"1", b"0"])
def test_a_model_is_no_data_and_says_what_reads_it(put, version):
    with pytest.raises(InputError, match=r"x\.json: is a model, no data; `perf predict`, .* read it"):
        read(put("x.json", b'{\n "schema": "perfcore-model/%b",\n "kind": "phases"}' % version))


def test_options_reach_the_reader_checked(put):
    path = put("x.a", b"A")
    assert read(path, scale="3").heights.tolist() == [6.0]
    with pytest.raises(OptionError, match="alpha: scale=0: must be greater than 0"):
        read(path, scale=0)
    with pytest.raises(UnknownNameError, match="unknown option of alpha 'scal': did you mean 'scale'"):
        read(path, scal=1)


def test_writing_is_whole_or_not_at_all(tmp_path):
    write(CURVE, tmp_path / "x.A")
    assert (tmp_path / "x.A").read_bytes() == b"whole"
    with pytest.raises(OptionError, match="only the curve"):
        write([1], tmp_path / "x.A")
    assert (tmp_path / "x.A").read_bytes() == b"whole"
    assert [path.name for path in tmp_path.iterdir()] == ["x.A"]


def test_a_table_imports_no_reader_of_another_format(tmp_path):
    """Formats are known by their signatures, so that recognizing a file imports the reader that it needs."""
    (tmp_path / "x.csv").write_text("p,time_s\n1,8.0\n2,4.1\n4,2.2\n8,1.2\n")
    code = (
        "import sys, perfcore; perfcore.fit(perfcore.read('x.csv'), fitter='scaling');"
        "print(*(name for name in sys.modules if name.startswith('perf_io.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    tables = {"columns", "csv", "duck", "measurement_table", "read_table", "table"}
    needed = {"perf_io.tables", "perf_io.text", "perf_io.options"}
    assert set(done.stdout.split()) <= needed | {f"perf_io.tables.{name}" for name in tables}
