"""The list of formats, and what `perf info` says of a data set."""

import json
import shlex
import sys

import pytest
from format_samples import SAMPLES, TRACE
from trace_samples import PROJECTIONS_LOGS, PROJECTIONS_STS, otf2_files

import perfcore
from perfcore.__main__ import main
from perfcore.hooks.registry import registry

_listed = []


@pytest.fixture
def listed(perf):
    """What ``perf info --formats`` says, asked once."""
    _listed[:] = _listed or json.loads(perf("info", "--formats", "--json").out)["rows"]
    return _listed


def test_every_format_is_listed_with_an_example(listed):
    assert [fact["name"] for fact in listed] == list(registry().entries("readers"))
    for fact in listed:
        assert fact["problem"] is not None or fact["example"].startswith("perf ")
        assert fact["help"]


# Formats of several files, as the example names them.
SEVERAL_FILES = {
    "projections": {"run.sts": PROJECTIONS_STS.encode()}
    | {f"run.{processor}.log": log.encode() for processor, log in enumerate(PROJECTIONS_LOGS)},
    "otf2": {name.removeprefix("run/").replace("traces", "run"): content for name, content in otf2_files().items()},
}


@pytest.mark.parametrize("name", [*SAMPLES, "parquet"])
def test_each_example_runs_as_it_is_printed(listed, tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    (example,) = (fact["example"] for fact in listed if fact["name"] == name)
    file = shlex.split(example)[2]
    if name == "parquet":
        (tmp_path / "t.csv").write_text(TRACE)
        perfcore.write(perfcore.read("t.csv"), file)
    else:
        first = SAMPLES[name][0][1]
        content = first if isinstance(first, bytes) else first.encode()
        for path, part in SEVERAL_FILES.get(name, {file: content}).items():
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_bytes(part)
    monkeypatch.setattr(sys, "argv", shlex.split(example))
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0, capsys.readouterr().err
