"""Sampling of this machine: shares from counters, by a clock that the tests move, and interrupts."""

from types import SimpleNamespace

import numpy as np
import pytest

import perfcore

pytest.importorskip("psutil")
SECOND = 1_000_000_000


class Machine:
    """Two processors whose counters rise with a clock that only sleeping moves."""

    def __init__(self, monkeypatch, busy=(0.25, 0.75), late_s=0.0):
        self.now_ns, self.busy, self.late_s, self.naps = 5 * SECOND, busy, late_s, []
        self.interrupt_after = None
        clock = SimpleNamespace(
            time=lambda: 1.7e9 + self.now_ns / 1e9,
            monotonic=lambda: self.now_ns / 1e9,
            monotonic_ns=lambda: self.now_ns,
            sleep=self.sleep,
        )
        monkeypatch.setattr("perf_experiments.measurement.time", clock)
        monkeypatch.setattr("psutil.cpu_times", self.cpu_times)
        monkeypatch.setattr("psutil.net_io_counters", self.net_io_counters)

    def sleep(self, seconds):
        if len(self.naps) == self.interrupt_after:
            raise KeyboardInterrupt
        self.naps.append(seconds)
        self.now_ns += round((seconds + self.late_s) * SECOND)

    def times(self, share):
        elapsed = self.now_ns / SECOND
        # A tenth is spent waiting for I/O, and guests are counted twice, as the kernel does.
        fields = {"user": share * elapsed, "idle": (0.9 - share) * elapsed, "iowait": 0.1 * elapsed, "guest": 3.0}
        return SimpleNamespace(_asdict=lambda: fields)

    def cpu_times(self, percpu=False):
        return [self.times(share) for share in self.busy] if percpu else self.times(sum(self.busy) / len(self.busy))

    def net_io_counters(self, pernic):
        elapsed = self.now_ns / SECOND
        return {"eth0": SimpleNamespace(bytes_recv=1000.0 * elapsed, bytes_sent=0.0)}


def test_shares_of_busy_time(monkeypatch):
    Machine(monkeypatch)
    series = perfcore.sample("cpu", for_="3s", every="1s")
    assert list(series.columns) == ["cpu all busy", "cpu 0 busy", "cpu 1 busy"]
    for name, share in zip(series.columns, (0.5, 0.25, 0.75), strict=True):
        np.testing.assert_allclose(series.columns[name], share, rtol=1e-12)
    # The first sample is about the interval that ends a second after the start.
    np.testing.assert_allclose(series.times, 1.7e9 + np.array([6.0, 7.0, 8.0]), rtol=0, atol=1e-6)


def test_bytes_per_second(monkeypatch):
    Machine(monkeypatch)
    series = perfcore.sample("network", for_="2s", every="0.5s")
    np.testing.assert_allclose(series.columns["network eth0 received B/s"], 1000.0)
    np.testing.assert_array_equal(series.columns["network eth0 sent B/s"], 0.0)


def test_an_interrupt_keeps_what_was_measured(monkeypatch):
    Machine(monkeypatch).interrupt_after = 2
    series = perfcore.sample("cpu", for_=10.0, every=1.0)
    assert len(series.times) == 2
    assert series.notes == ("interrupted after 2 of 10 samples",)
