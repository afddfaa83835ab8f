"""A file that cannot be written is refused before any work: in every command that writes one."""

import pytest

from perfcore.cli.command import build_command
from perfcore.hooks.registry import registry
from perfcore.hooks.specs import COMMAND_GROUP

# Words of each command that would succeed or fail later; the folder of what is to be written does not exist.
WORDS = {
    "compare": ["none.json", "none.json", "--at", "p=1"],
    "explore": ["none.csv"],
    "experiment design": ["-f", "p=1,2", "--model", "none.json"],
    "stochastic eval": ["a + b"],
    "fit": ["none.csv"],
    "gate": ["none.json", "none.json"],
    "iterations": ["none.csv"],
    "messages": ["none.prv"],
    "experiment next": ["none.json", "--target", "p=1"],
    "overheads": ["none.prv"],
    "plot": ["none.csv"],
    "profile": ["none.csv"],
    "project": ["none.prv", "--at", "p=4"],
    "predict": ["model.toml"],
    "convert": ["none.csv"],
    "experiment sample": ["cpu", "--for", "1h"],
    "stochastic schedule": ["none.toml"],
    "stochastic solve": ["none.toml", "--for", "n=1..2", "--below", "1"],
    "summarize": ["none.prv"],
    "stochastic summarize": ["none.csv"],
    "validate": ["none.json", "none.csv"],
    "whatif": ["none.prv", "--noise", "5%"],
}
ENDINGS = {
    "fit": "json", "explore": "html", "experiment design": "toml", "experiment next": "toml",
    "stochastic summarize": "json", "iterations": "json", "validate": "json", "whatif": "json",
    "project": "json",
}  # fmt: skip


def options_of_files():
    """Every command with -o or --plot, and the option."""
    for name, entry in registry().entries("commands").items():
        if entry.target == COMMAND_GROUP:
            continue  # a group
        flags = [flag for parameter in build_command(entry, []).params for flag in parameter.opts]
        yield from ((name, flag) for flag in flags if flag in ("--output", "--plot"))


@pytest.mark.parametrize(("name", "flag"), sorted(set(options_of_files())))
@pytest.mark.parametrize("link", [False, True])
def test_an_input_is_never_replaced(refused, folder, name, flag, link):
    """In every command that reads a file and writes one, also through a link."""
    words = [*WORDS[name], "--with", "a=none.csv"] if name == "stochastic eval" else WORDS[name]
    paths = [word.rpartition("=")[2] for word in words if word.rpartition(".")[2] in ("csv", "json", "prv", "toml")]
    if not paths:
        pytest.skip("reads no file")
    path, output = folder / paths[0], "link.csv" if link else paths[0]
    path.write_text("measured")
    if link:
        (folder / output).symlink_to(path)
    message = refused(*name.split(), *words, flag, output)
    assert message == f"{output}: is {f'the input {paths[0]}' if link else 'an input'}; name another"
    assert path.read_text() == "measured"


OTHERS = {"toml": (b"# mine", " and may be edited by hand"), "json": (b'{"mine": 1}', " and is no result of perf")}


@pytest.mark.parametrize(("name", "flag"), sorted(set(options_of_files())))
def test_what_cannot_be_made_again_is_kept(refused, perf, folder, name, flag):
    """Designs, databases, samples and files of other programs, in every command; --overwrite gets to the work."""
    path = folder / f"x.{'png' if flag == '--plot' or name == 'plot' else ENDINGS.get(name, 'csv')}"
    content, reason = OTHERS.get(path.suffix[1:], (b"SQLite format 3\0", " and is a database"))
    path.write_bytes(content)
    words = [*name.split(), *WORDS[name], flag, path.name]
    if name != "summarize":  # whose inputs are looked at first
        assert refused(*words) == f"{path.name}: exists{reason}; --overwrite replaces it"
    if name != "experiment sample":  # which would take its hour
        perf(*words, "--overwrite", status=(0, 2))
        assert path.read_bytes() == content or path.suffix == ".toml"


def test_what_is_made_again_is_replaced_with_a_line(perf, refused, folder):
    for _ in range(2):
        said = perf("fit", "curve.csv", "--phases", "2", "-o", "m.json", "--plot", "p.svg", status=(0,)).err
    assert "perf: replaced m.json\nperf: replaced p.svg\n" in said
    (folder / "m.json").write_bytes((folder / "m.json").read_bytes().replace(b'"curve.csv"', b'"other.csv"'))
    message = "m.json: exists and was edited since perf wrote it; --overwrite replaces it"
    assert refused("fit", "curve.csv", "--phases", "2", "-o", "m.json") == message
    for said in ("", "perf: replaced plot.svg\n"):
        assert perf("plot", "m.json", "--format", "svg", status=(0,)).err == said
    (folder / "m.json.bak").touch()
    message = "m.json: exists and was edited on the page of `perf explore`; --overwrite replaces it"
    assert refused("fit", "curve.csv", "--phases", "2", "-o", "m.json") == message


@pytest.mark.parametrize(("name", "flag"), sorted(set(options_of_files())))
def test_a_folder_that_does_not_exist_is_said_before_anything_else(refused, folder, name, flag):
    (folder / "model.toml").write_text('equation = "x"\n[inputs]\nx = "none.json"\n')
    ending = "png" if flag == "--plot" or name == "plot" else ENDINGS.get(name, "csv")
    message = refused(*name.split(), *WORDS[name], flag, f"no/such/x.{ending}")
    assert message == f"no/such/x.{ending}: cannot be written: there is no folder 'no/such'; make it first"
    assert sorted(path.name for path in folder.iterdir()) == ["curve.csv", "model.toml", "trace.csv"]


def test_a_file_of_a_folder_that_is_read_is_never_replaced(perf, refused, folder):
    (folder / "runs").mkdir()
    for name, first in (("a.csv", 8), ("b.csv", 9)):
        (folder / "runs" / name).write_text(f"p,time_s\n1,{first}\n2,4\n")
    before = (folder / "runs" / "a.csv").read_text()
    for words in (["-o", "runs/a.csv"], ["-o", "runs/a.csv", "--overwrite"]):
        message = "runs/a.csv: is in the folder runs, which is an input; name another"
        assert refused("convert", "runs", *words) == message
    assert (folder / "runs" / "a.csv").read_text() == before
    for _ in range(2):
        perf("plot", "runs", "-o", "runs/p.svg", status=(0,))  # which no reader takes
