"""Parts of a large sample as tasks: a formula as text goes there, sorted values and what divisors were come back."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt

from perf_structural.correlation import Pair
from perf_structural.drawing import Formula, Nets, draw
from perf_structural.expression import (
    Call,
    Constant,
    Expression,
    Extremum,
    Leaf,
    Product,
    Sum,
    leaves,
    ordered,
)
from perf_structural.pointwise import PointwiseEvaluation
from perfcore.base.errors import DataError
from perfcore.stochastic import from_dict

Floats = npt.NDArray[np.float64]

_KINDS: dict[str, type[Expression]] = {each.__name__: each for each in (Constant, Leaf, Sum, Product, Extremum, Call)}
_DRAWN, _REFUSED, _END = b"+", b"-", b"\n"


def prepare() -> None:
    """Load what the first task needs, while the process that asks reads the model."""
    from scipy.stats import qmc  # noqa: F401  # half a second


def packed(formula: Formula) -> str:
    """A formula as text; numbers keep all digits."""
    nodes = ordered(formula.root)
    position = {node: number for number, node in enumerate(nodes)}
    names = leaves(formula.root)
    return json.dumps(
        {
            "nodes": [
                [type(node).__name__, [position[operand] for operand in node.operands], *_content(node)]
                for node in nodes
            ],
            "values": {name: formula.values[name].to_dict() for name in names},
            "correlations": [
                [*sorted(pair), value] for pair, value in formula.correlations.items() if pair <= set(names)
            ],
        }
    )


def _content(node: Expression) -> list[Any]:
    return [getattr(node, name) for name in type(node).__slots__]


def _unpacked(message: str) -> Formula:
    content = json.loads(message)
    nodes: list[Expression] = []
    for kind, operands, *rest in content["nodes"]:
        fields = (tuple(each) if isinstance(each, list) else each for each in rest)
        nodes.append(_KINDS[kind](len(nodes), tuple(nodes[operand] for operand in operands), *fields))
    correlations: dict[Pair, float] = {frozenset(pair): value for *pair, value in content["correlations"]}
    return Formula(nodes[-1], {name: from_dict(each) for name, each in content["values"].items()}, correlations)


def sample_part(message: str, number: int, size: int, seed: int, net: int, begin: int, length: int) -> bytes:
    """Some points of one net, sorted; see `perf_structural.drawing.draw`."""
    try:
        nets = Nets(number, size, seed)
        (drawn,) = draw([_unpacked(message)], nets, range(net, net + 1), range(begin, begin + length))
    except DataError as error:
        return _REFUSED + str(error).encode()
    drawn.values.sort(axis=1)
    # Floats in JSON keep all digits, and may be infinite in Python's.
    divisors = json.dumps(drawn.pointwise.divisors_met(), default=float).encode()
    return b"".join((_DRAWN, divisors, _END, drawn.values.data))


def unpacked_part(answer: bytes, pointwise: PointwiseEvaluation) -> Floats:
    """Values of a part; what its divisors were is added to what an evaluation has seen."""
    if answer[:1] == _REFUSED:
        raise DataError(answer[1:].decode())
    end = answer.index(_END)
    pointwise.add_divisors(json.loads(answer[1:end]))
    return np.frombuffer(answer, np.float64, offset=end + len(_END))
