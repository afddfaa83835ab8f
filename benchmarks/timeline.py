"""How long a window of a long trace takes: the server's answer, and until it is drawn in Chromium.

    python benchmarks/timeline.py [--intervals 10000000] [--lanes 32 1024] [--windows 60]

Windows lie anywhere and are of all widths, from the whole run down to some intervals. Of the answer also the CPU time
is printed, since other programs on the machine do not add to it.
"""

import argparse
import shutil
import time

import numpy as np
from playwright.sync_api import sync_playwright

from perf_explore.opening import DataViews
from perf_explore.server import served
from perfcore import Trace

STATES = ["solve", "MPI_Wait", "MPI_Allreduce", "MPI_Send", "dgemm", "idle"]
GO = "(query) => { history.pushState(null, '', `?${query}`); dispatchEvent(new PopStateEvent('popstate')); }"


def trace_of(n_intervals, n_lanes):
    rng = np.random.default_rng(1)
    each = n_intervals // n_lanes
    durations = rng.integers(200, 4000, (n_lanes, each))
    ends = np.cumsum(durations, axis=1)
    states = rng.choice(len(STATES), p=[0.5, 0.2, 0.1, 0.1, 0.05, 0.05], size=ends.shape)
    ranks = [f"rank {at // 4}" for at in range(n_lanes)]
    names = [f"{rank} / thread {at % 4}" for at, rank in enumerate(ranks)]
    columns = np.repeat(np.arange(n_lanes), each), states.ravel(), (ends - durations).ravel(), ends.ravel()
    levels = {"process": ranks, "node": [f"node {at // 64}" for at in range(n_lanes)]}
    return Trace(*columns, names, STATES, levels=levels, source="trace")


def windows_of(duration_us, count):
    rng = np.random.default_rng(2)
    widths = duration_us * 10 ** rng.uniform(-5, 0, count)
    starts = rng.uniform(0, duration_us - widths)
    return [
        {},
        *({"from": f"{start:.3f}", "to": f"{start + width:.3f}"} for start, width in zip(starts, widths, strict=True)),
    ]


def told(what, times):
    times = 1e3 * np.array(times)
    high, longest = np.quantile(times, 0.95), times.max()
    print(f"  {what}: median {np.median(times):.0f} ms, 95 % {high:.0f} ms, longest {longest:.0f} ms")


def in_browser(views, windows):
    """Seconds from a change of the window until it is drawn, as the page measures them."""
    with served(views) as link, sync_playwright() as driver:
        tab = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"]).new_page()
        tab.set_viewport_size({"width": 1600, "height": 1000})
        tab.set_default_timeout(120_000)
        tab.goto(link)
        tab.wait_for_url("**/")
        tab.goto(f"{tab.url}timeline", wait_until="domcontentloaded")
        host, times = tab.locator(".live"), []
        tab.wait_for_selector(".live[data-drawn]", state="attached")
        time.sleep(10)  # the phases are fitted and drawn
        for window in windows:
            before = int(host.get_attribute("data-drawn"))
            query = "&".join(f"{name}={value}" for name, value in window.items())
            tab.evaluate(GO, query)
            tab.wait_for_selector(f".live[data-drawn='{before + 1}']", state="attached")
            times.append(float(host.get_attribute("data-took")) / 1e3)
        tab.goto("about:blank")  # asks no more when its server goes
        return times


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--intervals", type=int, default=10_000_000)
    arguments.add_argument("--lanes", type=int, nargs="+", default=[32, 1024])
    arguments.add_argument("--windows", type=int, default=60)
    given = arguments.parse_args()
    for n_lanes in given.lanes:
        trace = trace_of(given.intervals, n_lanes)
        views = DataViews(trace, "trace")
        began = time.perf_counter(), time.process_time()
        views.view(("timeline",), {})
        views.feed(("timeline", "lanes"), {"columns": "1300"})
        print(f"{trace.n_intervals:,} intervals on {n_lanes} lanes: sorted, and the first window, "
              f"{time.perf_counter() - began[0]:.1f} s, {time.process_time() - began[1]:.1f} s of CPU")  # fmt: skip
        windows = windows_of((trace.span_ns[1] - trace.span_ns[0]) / 1000, given.windows)
        walls, processor = [], []
        for window in windows:
            began = time.perf_counter(), time.process_time()
            views.feed(("timeline", "lanes"), {**window, "columns": "1300"})
            walls.append(time.perf_counter() - began[0])
            processor.append(time.process_time() - began[1])
        told("answer", walls)
        told("answer, CPU time", processor)
        told("answer and drawing in Chromium", in_browser(views, windows))


if __name__ == "__main__":
    main()
