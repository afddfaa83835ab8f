"""Formulas that a user types, such as ``p^(2/3)*log2(p)`` or ``idle > 0 and waiting == 0``.

A text becomes a tree of numbers, variables and the operations of `perf_formulas.tree`, and nothing else: there is
no way from a formula to Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from perf_formulas.parser import MAX_LENGTH, SPACE, Parser, excerpt, fail
from perf_formulas.tree import Node, replaced, value_of, variables, written
from perfcore.base.errors import DataError, UnknownNameError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, repr=False)
class Formula:
    """A formula in named variables; equal to another if both have the same canonical text."""

    text: str = field(compare=False)  # as given, without surrounding space
    canonical: str = field(init=False)  # written with the fewest parentheses; ``Formula(canonical)`` is this formula
    names: tuple[str, ...] = field(init=False, compare=False)  # variables in order of first appearance
    tree: Node = field(init=False, compare=False)  # see `perf_formulas.tree`

    def __post_init__(self) -> None:
        text = self.text.strip(SPACE)
        tree = Parser(text).formula()
        canonical = written(tree)
        if len(canonical) > MAX_LENGTH:
            fail(text, 0, f"written out it has {len(canonical):,} characters; at most {MAX_LENGTH:,} are accepted")
        values = {"text": text, "canonical": canonical, "names": tuple(dict.fromkeys(variables(tree))), "tree": tree}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        return self.canonical

    def __repr__(self) -> str:
        return f"Formula({self.canonical!r})"

    def evaluate(self, values: Mapping[str, npt.ArrayLike]) -> npt.NDArray[np.float64]:
        """Values of the formula, point by point."""
        import numpy as np

        for name in self.names:
            if name not in values:
                raise UnknownNameError("variable of the formula", name, map(str, values))
        shapes = [np.shape(array) for array in values.values()]
        try:
            shape = np.broadcast_shapes(*shapes)
        except ValueError:
            shapes_text = ", ".join(map(str, dict.fromkeys(shapes)))
            problem = f"the shapes of the values, {shapes_text}, do not broadcast"
            raise DataError(f"formula {excerpt(self.text, 0)}: {problem}") from None
        arrays = {name: np.asarray(values[name], dtype=np.float64) for name in self.names}
        with np.errstate(all="ignore"):
            # A copy: the formula `p` must not hand out the array that it was given.
            return np.array(np.broadcast_to(value_of(self.tree, arrays), shape))

    __call__ = evaluate

    def substituted(self, mapping: Mapping[str, Formula]) -> Formula:
        """The formula with variables replaced by formulas, all at once."""
        return Formula(written(replaced(self.tree, {name: formula.tree for name, formula in mapping.items()})))


def split_formulas(text: str) -> list[str]:
    """Split a list of formulas at the commas outside parentheses, without checking them."""
    parts, begin, depth = [], 0, 0
    for position, character in enumerate(text):
        if character == "(":
            depth += 1
        elif character == ")":
            depth = max(depth - 1, 0)
        elif character == "," and depth == 0:
            parts.append(text[begin:position])
            begin = position + 1
    return [part.strip(SPACE) for part in (*parts, text[begin:])]
