"""How long a page of phases takes after a slider was moved or a stretch was chosen.

    python benchmarks/explore.py [--steps 1000000 10000000]

Each time is that of the whole answer: fit, drawing and HTML, as the browser waits for it. Phase counts are new ones,
so that no fit is remembered; the median of several is printed. Last, windows of all widths anywhere in the curve, from
the change until the page that Chromium shows is the new one and has been painted.
"""

import argparse
import shutil
import statistics
import time

import numpy as np
from playwright.sync_api import sync_playwright
from timeline import told, windows_of

import perfcore
from perf_explore.page import Frame
from perf_explore.server import served
from perf_explore.session import Session

DRAWN = """query => new Promise(done => {
  const began = performance.now();
  document.addEventListener("shown", () => requestAnimationFrame(() => setTimeout(
    () => done(performance.now() - began))), { once: true });
  document.dispatchEvent(new CustomEvent("go", { detail: { address: `${location.pathname}?${query}`, isStep: true } }));
})"""
DEGREES = ("0", "1", "2")


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


def in_browser(views, windows):
    """Seconds until each window is painted."""
    with served(views) as link, sync_playwright() as driver:
        tab = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"]).new_page()
        tab.set_viewport_size({"width": 1600, "height": 1000})
        tab.goto(link)
        tab.wait_for_selector("main")
        queries = ("&".join(f"{name}={value}" for name, value in window.items()) for window in windows)
        return [tab.evaluate(DRAWN, query) / 1e3 for query in queries]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, nargs="+", default=[1_000_000, 10_000_000])
    arguments = parser.parse_args()
    perfcore.fit(curve_of(1000), phases=2).views(curve_of(1000)).view((), {})  # compile
    for n_steps in arguments.steps:
        curve = curve_of(n_steps)
        began = time.perf_counter()
        views = perfcore.fit(curve, phases=4).views(curve)
        session = Session(views)
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
        told("window, answer and drawing in Chromium", in_browser(views, windows_of(curve.duration, 60)))


if __name__ == "__main__":
    main()
