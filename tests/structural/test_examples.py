"""The shipped models of the paper's three applications, against their equations written in numpy."""

from pathlib import Path

import numpy as np
import pytest

from perf_structural import StructuralModel

FOLDER = Path(__file__).parents[2] / "examples" / "structural"
N = 400_000


def drawn(generator, *tables):
    """Independent draws of each histogram or normal, by numpy alone."""
    found = []
    for table in tables:
        if "normal" in table:
            found.append(generator.normal(*table["normal"], N))
            continue
        edges, masses = np.array(table["histogram"]["edges"]), table["histogram"]["masses"]
        bins = generator.choice(len(masses), N, p=masses)
        found.append(generator.uniform(edges[bins], edges[bins + 1]))
    return found


def inputs_of(name):
    import tomllib

    return tomllib.loads((FOLDER / name).read_text())["inputs"]


def assert_agree(prediction, sample):
    """Within four standard errors of the plain sample, and half a percent for bins."""
    found = prediction.statistics
    assert found["mean"] == pytest.approx(sample.mean(), rel=5e-3)
    assert found["std"] == pytest.approx(sample.std(), rel=1.5e-2)
    for name, q in (("p05", 0.05), ("p50", 0.5), ("p95", 0.95)):
        assert found[name] == pytest.approx(np.quantile(sample, q), rel=1e-2)


def test_genetic():
    given = inputs_of("genetic.toml")
    generator = np.random.default_rng(2)
    cpu = drawn(generator, *given["cpu"][2:])
    bandwidth, master = drawn(generator, given["bandwidth"], given["master"])
    # The first two machines: correlated normal scores through the histograms' quantiles.
    scores = generator.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], N).T
    from scipy.special import ndtr

    for score, table in zip(scores, given["cpu"][:2], strict=True):
        cumulative = np.concatenate([[0.0], np.cumsum(table["histogram"]["masses"])])
        cpu.append(np.interp(ndtr(score), cumulative, table["histogram"]["edges"]))
    tour, rate = 400 * 4, bandwidth * 1e6
    broadcast = 4 * (1e-3 + 500 * tour / rate)
    breed = (500 * 0.9e-3 / np.array(cpu)).max(axis=0)
    collect = 4 * 1e-3 + 2000 * tour / rate
    select = 2000 * np.log2(2000) * 250e-9 / master
    prediction = StructuralModel.read(FOLDER / "genetic.toml").predict()
    assert prediction.evaluation.method.startswith("quasi-Monte Carlo")
    assert_agree(prediction, 50 * (broadcast + breed + collect + select))


def ten_million(time, tables):
    """Draw 10^7 times of independent histograms, a million at once."""
    generator, pieces = np.random.default_rng(7), []
    levels = [np.concatenate([[0.0], np.cumsum(table["histogram"]["masses"])]) for table in tables]
    for _ in range(10):
        edges = (table["histogram"]["edges"] for table in tables)
        draws = [np.interp(generator.random(10**6), level, places) for level, places in zip(levels, edges, strict=True)]
        pieces.append(time(*draws))
    return np.concatenate(pieces)


def assert_close(prediction, sample):
    """A tenth of what bins may cost elsewhere; the sample's own error is a hundredth of that."""
    found = prediction.statistics
    assert found["mean"] == pytest.approx(sample.mean(), rel=1e-3)
    assert found["std"] == pytest.approx(sample.std(), rel=5e-3)
    quantiles = np.quantile(sample, [0.05, 0.5, 0.95], overwrite_input=True)
    assert [found[name] for name in ("p05", "p50", "p95")] == pytest.approx(quantiles.tolist(), rel=2e-3)


def test_sor_against_ten_million_draws():
    given = inputs_of("sor.toml")

    def time(bandwidth, *cpu):
        return 200 * ((500 * 2000 / 2 * 12e-9 / np.min(cpu, axis=0)) + 2 * (90e-6 + 8e3 / (bandwidth * 1e6)))

    prediction = StructuralModel.read(FOLDER / "sor.toml").predict()
    assert prediction.evaluation.method == "arithmetic"
    assert prediction.notes == ()
    assert_close(prediction, ten_million(time, [given["bandwidth"], *given["cpu"]]))


def test_lu_with_measured_loads_against_ten_million_draws():
    """The load of a processor is in its right-hand sides and in its blocks, so that formulas alone can't be exact."""
    loads = inputs_of("sor.toml")["cpu"]

    def time(*cpu):
        slowest = np.min(cpu, axis=0)
        block = 32**2 * 1.6e-6 / slowest + 2 * (150e-6 + 5 * 8 * 32 / 9e6)
        return 250 * (32**2 * 64 * 1.1e-6 / slowest + 2 * (64 + 2) * block)

    prediction = StructuralModel.read(FOLDER / "lu.toml").predict({"cpu": loads})
    assert prediction.evaluation.method.startswith("quasi-Monte Carlo")
    assert_close(prediction, ten_million(time, loads))
