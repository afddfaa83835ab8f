"""How long a page of phases takes after a slider was moved or a stretch was chosen.

    python benchmarks/explore.py [--steps 1000000 10000000]

Each time is that of the whole answer: fit, drawing and HTML, as the browser waits for it. Phase counts are new ones,
so that no fit is remembered; the median of several is printed.
"""

import argparse
import statistics
import time

import numpy as np

import perfcore
from perf_explore.page import Frame
from perf_explore.session import Session

DEGREES = ("0", "1", "2", "mixed")


def curve_of(n_steps):
    """A run of four stretches, noisy: no two neighbouring steps have the same height."""
    rng = np.random.default_rng(1)
    at = np.linspace(0.0, 4.0, n_steps, endpoint=False)
    shape = 30.0 + 20.0 * np.sin(3.0 * at) * (at > 2.0) + 10.0 * np.floor(at)
    edges = np.concatenate([[0.0], np.cumsum(rng.uniform(0.5, 1.5, n_steps))])
    return perfcore.UtilizationCurve(edges, np.abs(shape + rng.normal(0.0, 5.0, n_steps)), source="curve")


def answer(session, query):
    """Seconds until the page of a state is written, and its length."""
    began = time.perf_counter()
    page = Frame("curve", session.version, None).view(session.view((), query))
    return time.perf_counter() - began, len(page)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--steps", type=int, nargs="+", default=[1_000_000, 10_000_000])
    perfcore.fit(curve_of(1000), phases=2).views(curve_of(1000)).view((), {})  # compile
    for n_steps in arguments.parse_args().steps:
        curve = curve_of(n_steps)
        began = time.perf_counter()
        session = Session(perfcore.fit(curve, phases=4).views(curve))
        first, size = answer(session, {})
        print(f"{n_steps:,} steps: first page {time.perf_counter() - began:.2f} s ({first * 1e3:.0f} ms of it drawing),"
              f" {size / 1e3:.0f} kB")  # fmt: skip
        for degree in DEGREES:
            times = [answer(session, {"phases": str(n), "degree": degree})[0] for n in (3, 6, 9, 13, 18, 24, 31, 40)]
            print(f"  degree {degree:>5}: refit and page {statistics.median(times) * 1e3:4.0f} ms, "
                  f"slowest {max(times) * 1e3:4.0f} ms")  # fmt: skip
        for share in (0.5, 0.05, 0.0005):
            middle = 0.37 * curve.duration
            stretch = {"from": str(middle), "to": str(middle + share * curve.duration)}
            print(f"  stretch of {share:.2%}: {answer(session, stretch)[0] * 1e3:4.0f} ms")


if __name__ == "__main__":
    main()
