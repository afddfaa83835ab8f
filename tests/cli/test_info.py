"""``perf info``: what a file is."""

import pytest


@pytest.mark.usefixtures("folder")
def test_a_curve_and_what_can_be_done_with_it(perf):
    lines = perf("info", "curve.csv").lines
    facts = {
        line[: line.index("  ")]: line.split("  ")[-1].strip() for line in lines if line[:1].strip() and "  " in line
    }
    assert facts["kind"] == "utilization curve"
    assert facts["steps"] == "4"
    assert facts["mean"] == "3.4"  # (40 * 1 + 60 * 5) / 100
    assert facts["next"].startswith("perf fit curve.csv")
    assert lines[-4].strip().startswith("perf plot curve.csv")
    assert facts["notes"].startswith("start has no unit: its times are taken in us")


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
    assert facts["points"] == ["procs: 4 values, 4, 8, 16, 32"]
    assert facts["range"] == ["4.125 to 27 s"]
    assert facts["codes"] == ["LU, SP"]
    assert facts["systems"] == ["SP2, T3D"]
    assert "never measured" not in facts
    assert "rows to know about" not in facts


def test_runs_of_several_classes_are_no_observations(perf, refused, folder):
    """A fitter that takes them for repeated runs refuses them with the same words."""
    rows = [f"{code},{size},{p},{factor * 100 / p}" for code in ("lu", "cg") for size, factor in (("S", 1), ("A", 50))
            for p in (1, 2, 4, 8)]  # fmt: skip
    (folder / "mixed.csv").write_text("\n".join(["code,class,p,time_s", *rows]))
    facts = facts_of(perf("info", "mixed.csv"))
    [why] = facts["observations"]
    assert "so they are no repeated runs; give each its own model with --path code,class, or choose one" in why
    assert facts["codes"] == ["lu, cg"]
    assert "--fitter scaling" in facts["next"][0]
    assert "rows to know about" not in facts
    refusal = refused("fit", "mixed.csv", "--fitter", "individual")
    assert why.removeprefix("none: ").replace("--path", "--code") in refusal
