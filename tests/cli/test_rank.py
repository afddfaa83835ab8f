"""``perf rank``: which combinations of functions describe measurements best."""

import json

import numpy as np
import pytest
import statsmodels.api as sm

import perfcore

CODES, SYSTEMS = ("BT", "LU", "SP", "MG"), ("SP2", "Paragon", "T3D", "PCArray")
PROCESSORS = np.array([2, 4, 8, 16, 32, 64])


@pytest.fixture
def runs(folder):
    """Times by 1/p and 1/sqrt(p), printed with six digits; the errors of t p are 0.3."""
    rng = np.random.default_rng(0)
    lines = ["code,system,procs,time_s"]
    for c, code in enumerate(CODES):
        for s, system in enumerate(SYSTEMS):
            scaled = (4 + c) * (1 + s) + (1 + 0.5 * c) / (1 + s) * np.sqrt(PROCESSORS) + 0.3 * rng.standard_normal(6)
            lines += [f"{code},{system},{p},{t:.6g}" for p, t in zip(PROCESSORS, scaled / PROCESSORS, strict=True)]
    (folder / "runs.csv").write_text("\n".join(lines) + "\n")
    return folder / "runs.csv"


ONE_PAIR = ("--where", "code=SP,system=T3D", "--terms", "2")


def rows_of(lines):
    """Header and rows of the table below the summary."""
    at = lines.index("") + 1
    return lines[at], lines[at + 1 :]


def test_all_models_of_a_pair_as_in_table_1(perf, runs):
    """SSE, R^2 and both coefficients of every model of two functions; all its figures by statsmodels."""
    printed = perf("rank", "runs.csv", *ONE_PAIR, "--criterion", "sse").lines
    assert printed[1] == "21 models of SP on T3D: 6 observations of time_s"
    assert printed[2] == "response transformed to t' = t * procs"
    table = perfcore.read(runs).where("code=SP,system=T3D").table
    p, scaled = table["procs"].to_numpy(float), (table["procs"] * table["time_s"]).to_numpy()
    assert printed[3].startswith(f"total sum of squares {scaled @ scaled:.6g} ")
    header, rows = rows_of(printed)
    assert header.split()[:3] == ["functions", "parameters", "SSE"]
    assert {"c1", "c2"} <= set(header.split())
    assert len(rows) == 21
    row = next(row for row in rows if row.startswith("1/procs + 1/sqrt(procs) ")).split()
    line = sm.OLS(scaled, np.column_stack([np.ones(6), np.sqrt(p)]), hasconst=False).fit()
    assert row[3:6] == ["2", f"{line.ssr:.5g}", f"{line.rsquared:.5f}"]
    assert [float(word) for word in row[-2:]] == pytest.approx(line.params, rel=1e-4)


@pytest.mark.usefixtures("runs")
def test_one_model_for_all_pairs_as_in_table_2(perf):
    """The best of each pair stands above the models that are used for all pairs."""
    printed = perf("rank", "runs.csv", "--terms", "2", "--criterion", "sse").lines
    assert printed[1] == "21 models of 16 pairs of a code and a system: 96 observations of time_s"
    _, rows = rows_of(printed)
    assert rows[0].startswith("best of each pair ")
    assert rows[0].split()[4] == "32"
    assert len(rows) == 22
    assert rows[1].startswith("1/procs + 1/sqrt(procs) ")


def test_the_same_call_in_python(perf, runs):
    words = ["--fitter", "strohmaier", "--where", "procs>=8,code=BT|SP", "--terms", "1..2", "--criterion", "bic"]
    printed = json.loads(perf("rank", "runs.csv", *words, "--json").out)["rows"]
    options = {"where": ["procs>=8", "code=BT|SP"], "terms": range(1, 3), "criterion": "bic"}
    ranking = perfcore.rank(runs, fitter="strohmaier", **options)
    assert [candidate["functions"] for candidate in printed] == [list(c.functions) for c in ranking.candidates]
    assert [candidate["bic"] for candidate in printed] == [c.figures["bic"] for c in ranking.candidates]
