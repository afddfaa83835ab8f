"""Takes the pictures of the page that the documentation shows: ``make screenshots``; needs Chromium.

Every view is shown as it is served, in light and in dark, some in a narrow window as well. A palette of few colours is
enough for pages, and keeps all pictures together below 1.5 MB.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

import perfcore
from perf_explore.opening import open_subjects
from perf_explore.server import served
from perf_views.contents import Viewable, views_of

REPOSITORY = Path(__file__).parents[1]
FOLDER = REPOSITORY / "docs" / "images" / "explore"
WIDE, NARROW = (1200, 780), (390, 780)
COLOURS = 128
MOST_BYTES, MOST_BYTES_IN_ALL = 100_000, 1_500_000


def example(*names: str, **options: str) -> Callable[[], Viewable]:
    """Files of the examples, as ``perf explore`` opens them."""
    return lambda: open_subjects([f"examples/{name}" for name in names], options=options)


def fitted(name: str, **options: Any) -> Callable[[], Viewable]:
    """A model of such a file, over its data."""

    def make() -> Viewable:
        data = perfcore.read(f"examples/{name}")
        return views_of(perfcore.fit(data, **options), data)

    return make


STEPS = example("iterations/steps.json")
SCALING = fitted("scaling_laws/runs.jsonl", fitter="scaling", parameter="n=n,m=m", at="n=512,m=64")
# Name of the picture: what is opened, which view of it, and whether it is shown in a narrow window as well.
VIEWS: dict[str, tuple[Callable[[], Viewable], str, bool]] = {
    "start": (STEPS, "", False),
    "timeline": (STEPS, "timeline", False),
    "lost-cycles": (STEPS, "overheads", False),
    "scaling": (SCALING, "", False),
}


def take(browser: Browser, name: str) -> list[Path]:
    """The pictures of one view."""
    make, place, is_narrow_too = VIEWS[name]
    context = browser.new_context()
    tab = context.new_page()
    files = []
    with served(make()) as link:
        tab.goto(link)
        tab.wait_for_url("**/")
        tab.goto(f"{tab.url}{place}")
        modes = [("light", WIDE, ""), ("dark", WIDE, "")] + [("light", NARROW, "-narrow")] * is_narrow_too
        for scheme, (width, height), ending in modes:
            tab.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            tab.set_viewport_size({"width": width, "height": height})
            if ending:  # charts are drawn for the narrow window
                tab.locator(".scrolled figure:not(.narrow)").first.wait_for(state="detached")
            tab.wait_for_load_state("networkidle")
            tab.wait_for_timeout(1000)  # a timeline draws what it asked for
            image = Image.open(io.BytesIO(tab.screenshot())).convert("RGB")
            files.append(FOLDER / f"{name}{ending or '-' + scheme}.png")
            image.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(files[-1], optimize=True)
        tab.goto("about:blank")
    context.close()
    return files


def main() -> None:
    """Take all pictures, or those of the views that are named; say how large they are."""
    os.chdir(REPOSITORY)  # so that pages name the examples as a reader does
    FOLDER.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name in sys.argv[1:] or VIEWS:
            print(name, *(f"{file.stat().st_size / 1e3:.0f} kB" for file in take(browser, name)))
    sizes = {file.name: file.stat().st_size for file in FOLDER.glob("*.png")}
    print(f"{len(sizes)} pictures, {sum(sizes.values()) / 1e6:.2f} MB")
    if max(sizes.values()) > MOST_BYTES or sum(sizes.values()) > MOST_BYTES_IN_ALL:
        raise SystemExit(f"too large: {max(sizes, key=lambda name: sizes[name])}")


if __name__ == "__main__":
    main()
