"""``perf info``: what a file is."""

import json

import pytest


@pytest.mark.usefixtures("folder")
def test_a_curve_and_what_can_be_done_with_it(perf):
    lines = perf("info", "curve.csv").lines
    facts = {line[: line.index("  ")]: line.split("  ")[-1].strip() for line in lines if line[0] != " "}
    assert facts["kind"] == "utilization curve"
    assert facts["steps"] == "4"
    assert facts["mean"] == "3.4"  # (40 * 1 + 60 * 5) / 100
    assert facts["next"].startswith("perf fit curve.csv")
    assert lines[-1].strip().startswith("perf plot curve.csv")


@pytest.mark.usefixtures("folder")
def test_the_suggested_commands_work(perf):
    for command in json.loads(perf("info", "trace.csv", "--json").out)["next"]:
        program, *words = command.split()
        assert program == "perf"
        perf(*words)


@pytest.mark.usefixtures("folder")
def test_json(perf):
    facts = json.loads(perf("info", "trace.csv", "--json").out)
    assert (facts["kind"], facts["intervals"], facts["locations"]) == ("trace", 3, 2)
    assert facts["mean utilization"] == "0.700 of 2"  # (40 + 100) / 200


@pytest.mark.usefixtures("folder")
def test_options_of_the_reader(perf, refused):
    assert (
        json.loads(perf("info", "curve.csv", "--reader", "csv", "-r", "time_unit=s", "--json").out)["time unit"] == "s"
    )
    assert "unknown reader" in refused("info", "curve.csv", "--reader", "xml")


def test_a_file_of_no_known_format(refused, folder):
    (folder / "x.bin").write_bytes(b"\x7fELF\x02\x01\x01")
    message = refused("info", "x.bin")
    assert message.startswith("x.bin: not in a format that is known here (csv, ")
    assert "--reader" in message
