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
    assert lines[-2].strip().startswith("perf plot curve.csv")
    assert facts["notes"].startswith("start has no unit: its times are taken in us")


@pytest.mark.usefixtures("folder")
def test_the_suggested_commands_work(perf):
    for command in json.loads(perf("info", "trace.csv", "--json").out)["facts"]["next"]:
        program, *words = command.split()
        assert program == "perf"
        perf(*words)


@pytest.mark.usefixtures("folder")
def test_json(perf):
    facts = json.loads(perf("info", "trace.csv", "--json").out)["facts"]
    assert (facts["kind"], facts["intervals"], facts["locations"]) == ("trace", 3, 2)
    assert facts["mean utilization"] == "0.700 of 2"  # (40 + 100) / 200


@pytest.mark.usefixtures("folder")
def test_options_of_the_reader(perf, refused):
    assert (
        json.loads(perf("info", "curve.csv", "--reader", "csv", "-r", "time_unit=s", "--json").out)["facts"][
            "time unit"
        ]
        == "s"
    )
    assert "unknown reader" in refused("info", "curve.csv", "--reader", "xml")


RUNS = "code,system,procs,time_s\n" + "".join(
    f"{code},{system},{p},{100 / p + size}\n"
    for code, size in (("LU", 1), ("SP", 2))
    for system in ("SP2", "T3D")
    for p in (4, 8, 16, 32)
    if (code, system, p) != ("SP", "T3D", 32)
)


def facts_of(outcome):
    """Facts as the program prints them: the label, then its lines."""
    facts, label = {}, ""
    for line in outcome.lines:
        start, _, text = line.partition("  ")
        label = start or label
        facts.setdefault(label, []).append(text.strip())
    return facts


def test_measurements_and_their_roles(perf, folder):
    (folder / "runs.csv").write_text(RUNS)
    facts = facts_of(perf("info", "runs.csv"))
    assert facts["kind"] == ["measurements"]
    assert facts["rows"] == facts["observations"] == ["15"]
    assert facts["parameters"] == ["p=procs"]
    assert facts["value"] == ["time_s [s]"]
    assert facts["points"] == ["procs: 4 values, 4 to 32"]
    assert facts["range"] == ["4.125 to 27 s"]
    assert facts["codes"] == ["LU, SP"]
    assert facts["systems"] == ["SP2, T3D"]
    assert "never measured" not in facts
    assert "rows to know about" not in facts


def test_the_suggested_commands_for_measurements_work(perf, folder):
    for name, text in (
        ("runs.csv", RUNS),
        ("one.csv", "p,time_s\n1,8\n2,4.2\n4,2.3\n8,1.4\n"),
        ("gaps.csv", RUNS + "LU,SP2,64,\n"),
        ("copies.csv", RUNS + RUNS.splitlines()[-1] + "\n"),
    ):
        (folder / name).write_text(text)
        commands = json.loads(perf("info", name, "--json").out)["facts"]["next"]
        assert commands
        for command in commands:
            program, *words = command.split()
            assert program == "perf"
            assert perf(*words).out


def test_what_is_missing_or_repeated_is_said(perf, folder):
    kept = [line for line in RUNS.splitlines() if not line.startswith("SP,T3D")]
    (folder / "runs.csv").write_text("\n".join([*kept, kept[1], "LU,SP2,64,"]) + "\n")
    facts = facts_of(perf("info", "runs.csv"))
    assert facts["never measured"] == ["1 of 4 pairs: SP on T3D"]
    empty, repeated = facts["rows to know about"]
    assert "time_s" in empty
    assert empty.endswith("line 15")
    assert repeated == "left out, a copy of another row in every column: line 14"
    assert all("--duplicates drop" in command for command in facts["next"])


def test_roles_may_be_told_to_the_reader(perf, folder):
    (folder / "table.csv").write_text("n,cores,host,wall\n10,1,a,5\n20,1,a,9\n10,2,b,3\n")
    words = ["-r", "kind=measurements", "-r", "parameters=p=cores,n", "-r", "value=wall", "-r", "system=host"]
    facts = facts_of(perf("info", "table.csv", *words))
    assert facts["parameters"] == ["p=cores, n"]
    assert facts["points"] == ["cores: 2 values, 1 to 2", "n: 2 values, 10 to 20"]
    assert facts["systems"] == ["a, b"]


def test_measurements_that_cannot_be_fitted_say_why(perf, folder):
    (folder / "runs.csv").write_text(RUNS + "LU,T3D,64,-3\n")
    facts = facts_of(perf("info", "runs.csv"))
    assert facts["observations"][0].startswith("none: runs.csv:17: time_s is -3; a positive number is expected")


@pytest.mark.real_data
def test_a_table_of_a_cluster(perf, real_data):
    facts = json.loads(perf("info", real_data / "scaling/npb_mpi_picluster.csv", "--json").out)["facts"]
    assert (facts["rows"], facts["parameters"], facts["value"]) == (73, ["p=procs"], "time_s [s]")
    assert facts["codes"] == "BT, CG, EP, FT, IS, LU, MG, SP"
    assert "differ in nodes" in facts["observations"]  # and in classes: no two runs of a point are repetitions
    assert facts["next"] == []


def test_runs_of_several_classes_are_no_observations_and_no_fit_is_suggested(perf, refused, folder):
    """`perf fit` refuses them with the same words."""
    rows = [f"{code},{size},{p},{factor * 100 / p}" for code in ("lu", "cg") for size, factor in (("S", 1), ("A", 50))
            for p in (1, 2, 4, 8)]  # fmt: skip
    (folder / "mixed.csv").write_text("\n".join(["code,class,p,time_s", *rows]))
    facts = facts_of(perf("info", "mixed.csv"))
    [why] = facts["observations"]
    assert "so they are no repeated runs; give each its own model with --code code,class, or choose one" in why
    assert facts["codes"] == ["lu, cg"]
    assert "next" not in facts
    assert "rows to know about" not in facts
    assert why.removeprefix("none: ") in refused("fit", "mixed.csv", "--fitter", "individual")


def test_a_file_of_no_known_format(refused, folder):
    (folder / "x.bin").write_bytes(b"\x7fELF\x02\x01\x01")
    message = refused("info", "x.bin")
    assert message.startswith("x.bin: not in any of the ")
    assert "--reader" in message
