"""Colours as CSS; what they are and what they mean says `perf_views.colours`."""

from __future__ import annotations

import functools

from perf_views.colours import CLASS_COLOURS, ON_DARK, PAGE, STEPS, pale, size_colour, text_on


@functools.cache
def colour_sheet() -> str:
    """The colours of a page as properties that style sheets and scripts read, in light and dark, and those of drawings.

    A drawing names its colours in the styles of its parts; on a dark page those of `ON_DARK` are replaced there.
    """
    light = {name: colours[0] for name, colours in PAGE.items()}
    dark = {name: colours[1] for name, colours in PAGE.items()}
    for name, colour in CLASS_COLOURS.items():
        light[_class_property(name)], dark[_class_property(name)] = colour, ON_DARK.get(colour, colour)
    replaced = "\n".join(
        f'[style*="{part}: {colour}"] {{ {part}: {other} !important; }}'
        for colour, other in ON_DARK.items()
        for part in ("fill", "stroke")
    )
    return (
        f":root {{ color-scheme: light; {_properties(light)} }}\n@media screen and (prefers-color-scheme: dark) {{\n"
        f":root {{ color-scheme: dark; {_properties(dark)} }}\n{replaced}\n}}\n"
    )


def class_colour(name: str) -> str:
    """The colour of a class of states as a page names it."""
    return f"var(--{_class_property(name)})"


def _class_property(name: str) -> str:
    return f"class-{name.replace('_', '-')}"


def _properties(colours: dict[str, str]) -> str:
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


@functools.lru_cache(maxsize=1024)
def shade_style(shade: float) -> str:
    """Background and text colour of a size; of the two text colours the one that contrasts more."""
    return _style(size_colour(shade))


def step_style(step: int, *, is_sure: bool) -> str:
    """Background and text colour of a class of growth; pale, with stripes of the colour, where it is not sure."""
    if is_sure:
        return _style(STEPS[step])
    light = pale(STEPS[step])
    # The plain colour below the stripes is what a reader without pictures has, and what contrast is measured against.
    stripes = f"repeating-linear-gradient(135deg,{light} 0 5px,{pale(light)} 5px 8px)"
    return f"background:{light} {stripes};color:{text_on(light)}"


def _style(background: str) -> str:
    return f"background:{background};color:{text_on(background)}"
