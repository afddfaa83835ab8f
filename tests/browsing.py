"""What one waits for and looks at in the tab of a browser."""

from pathlib import Path

from waiting import met

PORT = 8765


def settled(tab):
    """The tab, once the view that was asked for is in the place of the one before."""
    from playwright.sync_api import expect

    expect(tab.locator("main[aria-busy]")).to_have_count(0, timeout=120_000)
    return tab


def accessibility_problems(tab) -> list[str]:
    """Contrast, labels, headings and what is cut off, in light and dark, in a wide window and a narrow one."""
    script = Path(__file__).with_name("accessibility.js").read_text()
    found, problems = [], list[str]()

    def is_fine() -> bool:
        problems[:] = tab.evaluate(script)
        return not problems

    for width, scheme in ((1400, "light"), (1400, "dark"), (390, "light")):
        tab.set_viewport_size({"width": width, "height": 900})
        tab.emulate_media(color_scheme=scheme)
        met(is_fine, 10.0)  # plots follow the window after a while
        found += [f"{tab.url}, {scheme}, {width} px: {problem}" for problem in problems]
    return found


def missed_by_keyboard(tab) -> list[str]:
    """What one can click or scroll but not reach by Tab, folded parts included."""
    kinds = "a[href], button:not([hidden], :disabled), input:not([type=hidden]), select, textarea, summary"
    kinds += ", [tabindex='0']"
    tab.evaluate("document.querySelectorAll('details').forEach((part) => (part.open = true))")
    count = tab.evaluate(f"""() => {{
        const all = [...document.querySelectorAll("{kinds}")];
        window.missed = new Set(all.keys());
        all.forEach((one, at) => one.addEventListener("focus", () => window.missed.delete(at)));
        return all.length;
    }}""")
    for _ in range(2):  # twice round: where Tab begins, and what it stops at between end and beginning, is open
        for _ in range(count + 1):
            tab.keyboard.press("Tab")
        missed = tab.evaluate("[...window.missed]")
        if not missed:
            break
    return [tab.locator(kinds).nth(at).evaluate("(one) => one.outerHTML") for at in missed]
