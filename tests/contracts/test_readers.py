"""Every registered reader, whoever registered it, keeps the contract on small samples of its format."""

import pytest
from format_samples import CURVE, SAMPLES, TRACE

import perfcore
from perfcore.base.errors import MissingDependencyError
from perfcore.hooks.registry import registry
from perfcore.reading.recognise import recognise
from perfcore.reading.source import Source
from perfcore.testing import ReaderSuite


def parquet(text: str, folder) -> bytes:
    """The same table in Parquet, by the library's own conversion."""
    (folder / "table.csv").write_text(text)
    perfcore.write(perfcore.read(folder / "table.csv"), folder / "table.parquet")
    return (folder / "table.parquet").read_bytes()


class TestReaders(ReaderSuite):
    @pytest.fixture(autouse=True, params=registry().entries("readers"))
    def choose(self, request, tmp_path_factory):
        entry = registry().entry("readers", request.param)
        try:
            self.reader = entry.load()
        except MissingDependencyError as error:
            pytest.skip(str(error))
        if entry.name == "parquet":
            folder = tmp_path_factory.mktemp("parquet")
            self.samples = [("curve.parquet", parquet(CURVE, folder)), ("trace.pq", parquet(TRACE, folder))]
        elif entry.name in SAMPLES:
            self.samples = SAMPLES[entry.name]
        elif entry.distribution == "perfcore":
            pytest.fail(f"reader {entry.name!r} has no sample here; add one to SAMPLES in tests/format_samples.py")
        else:
            pytest.skip(f"reader {entry.name!r} of {entry.distribution} brings its own samples, in its own tests")

    def read(self, path):
        """A summary has no intervals that could be compared; its curve has."""
        data = super().read(path)
        return data.utilization() if hasattr(data, "summary") else data

    def test_is_chosen_for_its_samples(self, request, tmp_path):
        """No other reader is surer."""
        chosen = request.node.callspec.params["choose"]
        for path, _ in self.files(tmp_path):
            with Source(path) as source:
                assert recognise(source)[0] == chosen
