"""Colours have one place, which says what each means."""

import ast
import itertools
import re
from pathlib import Path

import numpy as np
import pytest

from perf_explore.blocks import colour_sheet
from perf_views import colours

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "plugins" / "kits" / "perf_views" / "colours.py"
ARGUMENTS = {
    "color", "colors", "facecolor", "facecolors", "edgecolor", "edgecolors", "ecolor", "mfc", "mec", "markerfacecolor",
    "markeredgecolor", "cmap",
}  # fmt: skip
NO_COLOUR = {"none"}
OF_THE_CYCLE = {
    "C0",
    "C6",
}  # in the core, which imports no kit: `perf_views.style.drawing` says what these are
# Conversion of XYZ, and what people see who lack one kind of cones: G. Machado, M. Oliveira and L. Fernandes, "A
# Physiologically-based Model for Simulation of Color Vision Deficiency", 2009, severity 1.
XYZ = np.reshape(
    [0.4124564, 0.3575761, 0.1804375, 0.2126729, 0.7151522, 0.0721750, 0.0193339, 0.1191920, 0.9503041], (3, 3)
)
EYES = {
    "all cones": [1, 0, 0, 0, 1, 0, 0, 0, 1],
    "no red": [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
    "no green": [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881],
    "no blue": [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.303900],
}


def named_in(text):
    """Colours that a module names itself, with their lines."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if re.fullmatch(r"#[0-9a-fA-F]{6}", node.value):
                yield node.lineno, node.value
        elif isinstance(node, (ast.Call, ast.Dict)):
            given = (
                [(word.arg, word.value) for word in node.keywords]
                if isinstance(node, ast.Call)
                else [(getattr(key, "value", None), value) for key, value in zip(node.keys, node.values, strict=True)]
            )
            for name, value in given:
                for part in ast.walk(value) if name in ARGUMENTS and not isinstance(value, ast.Call) else ():
                    if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value not in NO_COLOUR:
                        yield part.lineno, part.value
        elif isinstance(node, ast.Subscript) and getattr(node.value, "attr", "") == "colormaps":
            name = node.slice
            if isinstance(name, ast.Constant):
                yield node.lineno, name.value


def test_named_colours_are_found():
    text = 'a.plot(x, color="red" if bad else INK, mec="none")\nb = "#123456"\nc = mpl.colormaps["jet"]'
    assert sorted(value for _, value in named_in(text)) == ["#123456", "jet", "red"]


@pytest.mark.parametrize("folder", ["perfcore", "plugins"])
def test_nothing_that_is_drawn_names_a_colour(folder):
    allowed = OF_THE_CYCLE if folder == "perfcore" else set()
    found = [
        f"{file.relative_to(ROOT)}:{line}: {value}"
        for file in sorted((ROOT / folder).rglob("*.py"))
        if file != PLACE
        for line, value in named_in(file.read_text())
        if value not in allowed
    ]
    assert found == []


def test_a_dark_page_replaces_paper_ink_and_greys():
    sheet = colour_sheet()
    for each in (colours.INK, colours.PAPER, colours.DARK, colours.GRID):
        assert f'[style*="stroke: {each}"]' in sheet
        assert f'[style*="fill: {each}"]' in sheet
    for text in (colours.DARK_TEXT, colours.BRIGHT_TEXT):  # and leaves these, as what lies below them stays
        assert text not in sheet
    greys = [colours.PAPER, colours.GRID, colours.FAINT, colours.LIGHT, colours.RULE, colours.DARK, colours.INK]
    dark = [colours.contrast(colours.ON_DARK[colours.PAPER], colours.ON_DARK[each]) for each in greys]
    assert dark == sorted(dark)  # in the order of how far they are from paper
    assert min(colours.contrast(colours.PAPER, each) for each in (colours.GOOD, colours.CAREFUL, colours.QUIET)) >= 4.5


@pytest.mark.parametrize("eyes", EYES)
def test_steps_of_growth_are_told_apart(eyes):
    """By the distance in CIE 1976 L*a*b*, in which 2.3 is just noticeable."""
    seen = np.array([[int(step[at : at + 2], 16) / 255 for at in (1, 3, 5)] for step in colours.STEPS])
    linear = np.where(seen <= 0.04045, seen / 12.92, ((seen + 0.055) / 1.055) ** 2.4) @ np.reshape(EYES[eyes], (3, 3)).T
    relative = np.clip(linear, 0.0, 1.0) @ XYZ.T / [0.95047, 1.0, 1.08883]
    root = np.where(relative > 0.008856, np.cbrt(relative), 7.787 * relative + 16 / 116)
    lab = np.column_stack([116 * root[:, 1] - 16, 500 * (root[:, 0] - root[:, 1]), 200 * (root[:, 1] - root[:, 2])])
    assert min(np.linalg.norm(one - other) for one, other in itertools.combinations(lab, 2)) > 18.0
