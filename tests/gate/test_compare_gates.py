"""Gates of `perf compare`: runs where both versions have them, laws beyond, which may leave it open."""

import numpy as np
import pandas as pd
import pytest

import perfcore

P = (1, 2, 4, 8, 16)


def runs(repeated: int, seed: int, factor: float = 1.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = [
        {"p": p, "path": path, "time_s": factor * work / p * float(np.exp(rng.normal(0.0, 0.02)))}
        for p in P
        for path, work in (("solve", 8.0), ("halo", 4.0))
        for _ in range(repeated)
    ]
    return pd.DataFrame(rows)


GATES = ("slower than 1.1x at p=8", "any slower than 1.1x at p=8", "solve slower than 1.1x at p=8")


@pytest.mark.parametrize("repeated", [1, 2, 5])
@pytest.mark.parametrize("fitter", ["scaling", "modgen", "individual"])
def test_an_exact_threefold_slowdown_fails_on_tables_and_paths(repeated: int, fitter: str) -> None:
    old = runs(repeated, 1)
    gates = GATES
    if fitter == "individual":
        old, gates = old[old["path"] == "solve"].drop(columns="path"), GATES[:1]
    options = {"modgen": {"category": "path", "parameter": "p"}, "individual": {"functions": "1/p,1"}}.get(fitter, {})
    new = old.assign(time_s=3.0 * old["time_s"])
    found = perfcore.compare(old, new, fitter=fitter, fail_if=gates, **options)
    assert [verdict.outcome for verdict in found.verdicts] == ["failed"] * len(gates)
    assert found.verdicts[0].findings[0].numbers["measured"]


def test_equal_versions_pass_at_points_that_both_measured() -> None:
    found = perfcore.compare(runs(5, 1), runs(5, 2), fitter="scaling", fail_if=GATES)
    assert [verdict.outcome for verdict in found.verdicts] == ["passed"] * 3


def test_a_law_speaks_only_beyond_and_may_leave_it_open() -> None:
    beyond = "slower than 1.1x at p=4096"
    found = perfcore.compare(runs(1, 1), runs(1, 2), fitter="scaling", fail_if=[beyond, "slower than 1.001x at p=64"])
    assert not any(one.numbers["measured"] for verdict in found.verdicts for one in verdict.findings)
    assert found.verdicts[1].outcome == "open"
    assert found.verdicts[1].reason.startswith("the data leave it open")
