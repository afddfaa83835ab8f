"""What commands write: pictures, pages and data; inputs and what others wrote are kept, and refused before any work."""

import base64
import hashlib
import os
import re
import subprocess
import sys

import pytest

from perfcore.cli.command import build_command
from perfcore.hooks.registry import registry
from perfcore.hooks.specs import COMMAND_GROUP

# Words of each command that would succeed or fail later; the folder of what is to be written does not exist.
WORDS = {
    "compare": ["none.json", "none.json", "--at", "p=1"], "explore": ["none.csv"],
    "experiment design": ["-f", "p=1,2", "--model", "none.json"], "stochastic eval": ["a + b"], "fit": ["none.csv"],
    "gate": ["none.json", "none.json"], "iterations": ["none.csv"], "messages": ["none.prv"],
    "experiment next": ["none.json", "--target", "p=1"], "overheads": ["none.prv"], "plot": ["none.csv"],
    "profile": ["none.csv"], "project": ["none.prv", "--at", "p=4"], "predict": ["model.toml"],
    "convert": ["none.csv"], "experiment sample": ["cpu", "--for", "1h"], "stochastic schedule": ["none.toml"],
    "stochastic solve": ["none.toml", "--for", "n=1..2", "--below", "1"], "summarize": ["none.prv"],
    "stochastic summarize": ["none.csv"], "validate": ["none.json", "none.csv"],
    "whatif": ["none.prv", "--noise", "5%"],
}  # fmt: skip
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


WRITING = sorted(set(options_of_files()))


@pytest.mark.parametrize(("name", "flag"), WRITING)
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


OTHERS = {
    "toml": (b"# mine", " and may be edited by hand"),
    "json": (b'{"mine": 1}', " and is no result of perf"),
    "csv": (b"SQLite format 3\0", " and is a database"),
}


@pytest.mark.parametrize(("name", "flag"), WRITING)
def test_what_cannot_be_made_again_is_kept(refused, perf, folder, name, flag):
    """Designs, databases, samples and files of other programs, in every command; --overwrite gets to the work."""
    path = folder / f"x.{'png' if flag == '--plot' or name == 'plot' else ENDINGS.get(name, 'csv')}"
    content, reason = OTHERS.get(path.suffix[1:], (b"mine", " and is no result of perf"))
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
    (folder / "m.json").unlink()
    perf("fit", "curve.csv", "--phases", "2", "-o", "m.json", status=(0,))
    for said in ("", "perf: replaced plot.png\n"):
        assert perf("plot", "m.json", status=(0,)).err == said
    (folder / "m.json.bak").touch()
    message = "m.json: exists and was edited on the page of `perf explore`; --overwrite replaces it"
    assert refused("fit", "curve.csv", "--phases", "2", "-o", "m.json") == message


@pytest.mark.parametrize(("name", "flag"), WRITING)
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


@pytest.mark.parametrize("name", ["user.py", "notes.md", "t.prv", "data.txt", "plain", "page.html", "p.png", "j.xml"])
def test_a_file_that_perf_did_not_write_is_kept(refused, folder, name):
    (folder / name).write_text("mine")
    message = refused("fit", "curve.csv", "-o", name)
    assert message == f"{name}: exists and is no result of perf; --overwrite replaces it"
    assert (folder / name).read_text() == "mine"


def test_a_result_of_another_kind_is_kept(perf, refused, folder):
    (folder / "samples.csv").write_text("time_s,load\n" + "".join(f"{k},{k % 7}\n" for k in range(50)))
    perf("stochastic", "summarize", "samples.csv", "--column", "load", "-o", "value.json", status=(0,))
    before = (folder / "value.json").read_bytes()
    message = "value.json: exists and holds a value, not a model; --overwrite replaces it"
    assert refused("fit", "curve.csv", "-o", "value.json") == message
    assert (folder / "value.json").read_bytes() == before
    perf("fit", "curve.csv", "-o", "value.json", "--overwrite", status=(0,))
    message = "value.json: exists and holds a model, not a trace; --overwrite replaces it"
    assert refused("convert", "trace.csv", "-o", "value.json") == message


def test_files_that_belong_to_a_trace_are_inputs(refused, folder):
    for name in ("run.prv", "run.pcf", "run.row"):
        (folder / name).write_text("mine")
    for name in ("run.pcf", "run.row"):
        message = f"{name}: belongs to the input run.prv; name another"
        assert refused("whatif", "run.prv", "--noise", "5%", "-o", name, "--overwrite") == message


def test_the_file_behind_standard_input_is_an_input(folder):
    source = folder / "runs.csv"
    source.write_text("p,time_s\n1,10.2\n2,5.3\n4,2.9\n")
    command = [sys.executable, "-m", "perfcore", "fit", "-", "-o", "runs.csv", "--overwrite"]
    with source.open() as stdin:
        done = subprocess.run(command, cwd=folder, stdin=stdin, capture_output=True, text=True, check=False)
    assert done.stderr.endswith("runs.csv: is the file behind standard input\n  fix: name another\n")
    assert (done.returncode, source.read_text()) == (2, "p,time_s\n1,10.2\n2,5.3\n4,2.9\n")


@pytest.mark.parametrize(("mode", "status"), [(0o600, 0), (0o640, 0), (0o444, 2)])
def test_a_replaced_file_keeps_its_mode_and_a_read_only_one_is_refused(perf, folder, mode, status):
    perf("fit", "curve.csv", "--phases", "2", "-o", "m.json")
    (folder / "m.json").chmod(mode)
    before = (folder / "m.json").read_bytes()
    perf("fit", "curve.csv", "--phases", "1", "-o", "m.json", status=(status,))
    assert (folder / "m.json").stat().st_mode & 0o777 == mode
    assert ((folder / "m.json").read_bytes() == before) == (status == 2)


def test_a_circle_of_links_is_refused(refused, folder):
    (folder / "loop").symlink_to("loop")
    message = "loop: cannot be written: its links form a circle; name another file"
    assert refused("fit", "curve.csv", "-o", "loop") == message


def test_a_table_that_perf_wrote_is_replaced_until_somebody_edits_it(perf, refused, folder):
    perf("overheads", "trace.csv", "-o", "lost.csv", status=(0,))
    try:
        os.getxattr(folder / "lost.csv", "user.perfcore")
    except OSError:
        pytest.skip("this file system keeps no attributes")
    assert "perf: replaced lost.csv" in perf("overheads", "trace.csv", "-o", "lost.csv", status=(0,)).err
    with (folder / "lost.csv").open("a") as file:
        file.write("mine\n")
    message = "lost.csv: exists and is no result of perf; --overwrite replaces it"
    assert refused("overheads", "trace.csv", "-o", "lost.csv") == message


def test_neither_histories_nor_read_only_files_are_replaced_when_that_is_asked_for(perf, refused, folder):
    (folder / "runs.csv").write_text("p,time_s\n1,2.0\n1,2.1\n")
    perf("gate", "record", "h.jsonl", "runs.csv", "--commit", "a", status=(0,))
    history = (folder / "h.jsonl").read_bytes()
    (folder / "r.json").write_text("{}")
    (folder / "r.json").chmod(0o444)
    for words in (["fit", "curve.csv"], ["profile", "trace.csv"], ["summarize", "examples/halo/halo.prv"]):
        for more in ([], ["--overwrite"]):
            message = refused(*words, *more, "-o", "h.jsonl")
            assert message == "h.jsonl: is a history, which is never replaced; name another file"
        assert refused(*words, "--overwrite", "-o", "r.json") == "r.json: is read-only; name another, or allow writing"
    assert (folder / "h.jsonl").read_bytes() == history


@pytest.mark.parametrize("picture", ["same.svg", "./same.svg"])
def test_two_outputs_need_two_files(refused, folder, picture):
    message = refused("fit", "curve.csv", "--phases", "2", "-o", "same.svg", "--plot", picture)
    assert message == f"two outputs go to {folder / 'same.svg'}; name another file for one of them"
    assert not (folder / "same.svg").exists()


# What is written.
def test_data_and_models_in_one_file(perf, folder):
    perf("fit", "curve.csv", "--phases", "2", "--degree", "0", "-o", "model.json")
    said = perf("explore", "trace.csv", "model.json", "curve.csv", "-o", "both.html").out
    assert re.fullmatch(r"report: both\.html \([12]\.\d+ MB\)\n", said)
    text = (folder / "both.html").read_text()
    assert "<h1>2 subjects</h1>" in text
    assert "2 phases in curve.csv" in text
    assert text.count("<svg") + text.count('class="chart"') >= 4
    assert len(text) < 2.5e6
    for script in re.findall("<script>(.*?)</script>", text, re.DOTALL):
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"sha256-{digest}" in text[: text.index("<title>")]  # the policy lets these run, and nothing else
    assert "default-src &#39;none&#39;" in text  # nothing is fetched, whatever the scripts hold
    assert not re.search(r'(src|href)="(https?:)?//', re.sub("<script>.*?</script>", "", text, flags=re.DOTALL))
