"""Parser of formulas, and the trees of numbers, variables and operations that they become: evaluated, written out.

It climbs precedences and refuses a text as soon as a limit is passed (V. R. Pratt, "Top down operator precedence", POPL
1973). numpy is imported when a tree is evaluated, not before.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeVar

from perfcore.base import special
from perfcore.base.errors import PerfError, UnknownNameError

if TYPE_CHECKING:
    from perfcore.base.arrays import Floats

# How tightly an operation binds.
OR, AND, NOT, COMPARISON, SUM, PRODUCT, SIGN, POWER, ATOM = range(1, 10)
_COUNTS = ("no", "one", "two", "three", "four", "five")
_ONE_ARGUMENT = ("abs", "cbrt", "ceil", "exp", "floor", "log", "log10", "log2", "sqrt")
_Found = TypeVar("_Found")
# Formulas of papers have some 100 characters and nest 5 deep. The limits keep hostile texts cheap, and all recursion
# over trees below 300 calls, of which Python allows 1,000.
MAX_LENGTH = 1_000
MAX_NODES = 200
MAX_DEPTH = 32
QUANTILE = "quantile"
_PERCENTILE = re.compile("p([0-9]{2}|[0-9]{2,}[1-9])")  # p95, p999; p100 would be p10
_ASSOCIATIVE = frozenset({"max", "min"})
_EXCERPT = 60  # characters of a formula that an error shows, so that the line stays readable
SPACE = " \t\r\n"
_TOKEN = re.compile(
    r"(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<symbol>\*\*|[<>=!]=|[-+*/%^(),<>])"
    rf"|[{SPACE}]+"
)
_ACCEPTED = "accepted are numbers, names, functions, + - * / % ^ ( ) < <= > >= == != and or not"
# What people type by habit from other languages or copy from a paper.
_INSTEAD = {"=": "==", "!": "not", "&": "and", "|": "or", "\u00d7": "*", "\u00b7": "*", "\u2212": "-"}


@dataclass(frozen=True)
class Rule:
    """An operation: its symbol, the function that computes it, how it binds, how its operands must bind."""

    symbol: str
    ufunc: str  # the numpy function
    level: int
    operands: tuple[int, ...]  # one for each operand that must be there; those that may follow bind like the last
    most: int | None  # how many operands there may be at most; None where there may be any number

    @property
    def arity(self) -> str:
        """How many arguments it takes, in words."""
        least = _COUNTS[len(self.operands)]
        if self.most is None:
            return f"{least} arguments or more"
        if self.most > len(self.operands):
            return f"{least} to {_COUNTS[self.most]} arguments"
        return f"{least} argument{'s' if self.most > 1 else ''}"


def _rules(level: int, operands: tuple[int, ...], ufuncs: Mapping[str, str], most: int | None = 0) -> dict[str, Rule]:
    most = len(operands) if most == 0 else most
    return {symbol: Rule(symbol, ufunc, level, operands, most) for symbol, ufunc in ufuncs.items()}


INFIX = {
    **_rules(OR, (OR, AND), {"or": "logical_or"}),
    **_rules(AND, (AND, NOT), {"and": "logical_and"}),
    **_rules(COMPARISON, (SUM, SUM), {"<": "less", "<=": "less_equal", "==": "equal"}),
    **_rules(COMPARISON, (SUM, SUM), {">": "greater", ">=": "greater_equal", "!=": "not_equal"}),
    **_rules(SUM, (SUM, PRODUCT), {"+": "add", "-": "subtract"}),
    **_rules(PRODUCT, (PRODUCT, SIGN), {"*": "multiply", "/": "divide", "%": "mod"}),
    **_rules(POWER, (ATOM, SIGN), {"^": "power"}),
}
INFIX["**"] = INFIX["^"]
PREFIX = {**_rules(NOT, (NOT,), {"not": "logical_not"}), **_rules(SIGN, (SIGN,), {"-": "negative", "+": "positive"})}
FUNCTIONS = {
    **_rules(ATOM, (OR,), {name: name for name in _ONE_ARGUMENT}),
    **_rules(ATOM, (OR, OR), {"max": "maximum", "min": "minimum"}, most=None),
    **_rules(ATOM, (OR, OR, OR), {"if": "where"}),
}


@dataclass(frozen=True)
class Number:
    """A constant."""

    value: float


@dataclass(frozen=True)
class Variable:
    """A name."""

    name: str


@dataclass(frozen=True)
class Operation:
    """A rule applied to operands."""

    rule: Rule
    operands: tuple[Node, ...]


Node = Number | Variable | Operation


def folded(root: Node, combine: Callable[[Node, list[_Found]], _Found]) -> _Found:
    """Return what a function makes of a tree, from the leaves up; a sum of thousands of terms is as deep, so nothing
    recurses.
    """
    results: list[_Found] = []
    waiting: list[tuple[Node, bool]] = [(root, False)]
    while waiting:
        node, ready = waiting.pop()
        operands = node.operands if isinstance(node, Operation) else ()
        if operands and not ready:
            waiting.append((node, True))
            waiting += [(operand, False) for operand in reversed(operands)]
            continue
        below = results[len(results) - len(operands) :]
        del results[len(results) - len(operands) :]
        results.append(combine(node, below))
    return results.pop()


def value_of(node: Node, arrays: Mapping[str, Floats]) -> Floats:
    """Return the tree at the values of its variables; warnings are the caller's."""
    import numpy as np

    def value(node: Node, operands: list[Floats]) -> Floats:
        match node:
            case Number(value):
                return np.asarray(value)
            case Variable(name):
                return arrays[name]
        # Numpy's cube roots of whole cubes are whole on some machines only.
        function = getattr(special if node.rule.ufunc == "cbrt" else np, node.rule.ufunc)
        result = functools.reduce(function, operands) if node.rule.most is None else function(*operands)
        # Comparisons give booleans, of which a sum would be an `or`.
        return np.asarray(result, dtype=np.float64)

    return folded(node, value)


def variables(node: Node) -> Iterator[str]:
    """Yield names in order of appearance, repeated as they are."""
    waiting = [node]
    while waiting:
        match waiting.pop():
            case Variable(name):
                yield name
            case Operation(_, operands):
                waiting += reversed(operands)


def replaced(node: Node, mapping: Mapping[str, Node]) -> Node:
    """Return the tree with variables replaced by trees, all at once."""

    def replacement(node: Node, operands: list[Node]) -> Node:
        match node:
            case Variable(name) if name in mapping:
                return mapping[name]
            case Operation(rule, _):
                return Operation(rule, tuple(operands))
        return node

    return folded(node, replacement)


def written(node: Node) -> str:
    """Return the tree as text with the fewest parentheses."""
    return folded(node, assembled)


def assembled(node: Node, operands: Sequence[str]) -> str:
    """Return a node as text with the fewest parentheses, from the texts of its operands."""
    match node:
        case Number(value):
            return repr(value).removesuffix(".0").replace("e+", "e")
        case Variable(name):
            return name
    rule, parts = node.rule, []
    for number, (operand, text) in enumerate(zip(node.operands, operands, strict=True)):
        level = rule.operands[min(number, len(rule.operands) - 1)]
        loose = isinstance(operand, Operation) and operand.rule.level < level
        parts.append(f"({text})" if loose else text)
    if rule.level == ATOM:
        return f"{rule.symbol}({', '.join(parts)})"
    space = "" if rule.level >= PRODUCT else " "
    return f"{space}{rule.symbol}{space}".join(parts) if len(parts) > 1 else f"{rule.symbol}{space}{parts[0]}"


@dataclass(frozen=True)
class Limits:
    """What a text may have at most: characters; and numbers, names and operations together."""

    length: int = MAX_LENGTH
    nodes: int = MAX_NODES


class FormulaError(PerfError):
    """A text that is not a formula; one line with the formula, the column from 1 and what is accepted."""


class _Token(NamedTuple):
    kind: str
    text: str
    start: int


def _tokens(text: str) -> Iterator[_Token]:
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            instead = f"write {_INSTEAD[text[position]]!r}" if text[position] in _INSTEAD else _ACCEPTED
            fail(text, position, f"{text[position]!r} has no meaning here; {instead}")
        if match.lastgroup is not None:
            operator = match[0] in INFIX or match[0] in PREFIX
            yield _Token("symbol" if operator else match.lastgroup, match[0], position)
        position = match.end()
    # What is missing at the end is missing after the last character.
    yield _Token("end", "", max(len(text) - 1, 0))


class Parser:
    """Parses one text; refuses it as soon as a limit is passed, before anything could recurse further."""

    def __init__(self, text: str, functions: Mapping[str, Rule] = FUNCTIONS, limits: Limits = Limits()) -> None:
        if not text:
            fail(text, 0, "there is no formula; an example is p^2*log2(p)")
        if len(text) > limits.length:
            fail(text, limits.length, f"it has {len(text):,} characters; at most {limits.length:,} are accepted")
        self.text, self.functions, self.limits = text, functions, limits
        self.tokens = list(_tokens(text))
        self.at = self.nodes = self.depth = 0

    @property
    def token(self) -> _Token:
        return self.tokens[self.at]

    def take(self) -> _Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def refuse(self, problem: str, token: _Token | None = None) -> NoReturn:
        """Raise the error about a token, by default the next."""
        fail(self.text, (token or self.token).start, problem)

    def counted(self, node: Node, token: _Token) -> Node:
        """Return a new node of the tree, unless there are too many."""
        self.nodes += 1
        if self.nodes > self.limits.nodes:
            self.refuse(f"more than {self.limits.nodes:,} numbers, names and operations", token)
        return node

    def formula(self) -> Node:
        """Read the whole text."""
        tree = self.expression(OR)
        if self.token.kind != "end":
            self.refuse_after_operand()
        return tree

    def expression(self, level: int) -> Node:
        """Read operands and the operators between them that bind at least like ``level``."""
        left = self.operand(level)
        while (rule := INFIX.get(self.token.text)) is not None and rule.level >= level:
            token = self.take()
            right = self.nested(rule.operands[1], token) if rule.level == POWER else self.expression(rule.operands[1])
            left = self.counted(Operation(rule, (left, right)), token)
            following = INFIX.get(self.token.text)
            if rule.level == COMPARISON and following is not None and following.level == COMPARISON:
                self.refuse("comparisons do not chain; join two with 'and', as in a < b and b < c")
        return left

    def nested(self, level: int, token: _Token) -> Node:
        """Read an expression one level deeper, unless that is too deep."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.refuse(f"more than {MAX_DEPTH} levels of parentheses, functions, signs and exponents", token)
        node = self.expression(level)
        self.depth -= 1
        return node

    def operand(self, level: int) -> Node:
        """Read what may stand between operators that bind like ``level``."""
        token = self.token
        if token.kind == "end":
            self.refuse("the formula ends where a number, a name, a function or '(' is expected")
        self.take()
        if token.kind == "number":
            return self.number(token)
        if token.kind == "word":
            return self.word(token)
        if token.text == "(":
            node = self.nested(OR, token)
            self.close()
            return node
        if token.text not in PREFIX:
            self.refuse(f"{token.text!r} stands where a number, a name, a function or '(' is expected", token)
        rule = PREFIX[token.text]
        if rule.level < level:
            self.refuse(f"{token.text!r} must stand in parentheses here", token)
        operand = self.nested(rule.operands[0], token)
        return operand if token.text == "+" else self.counted(Operation(rule, (operand,)), token)

    def number(self, token: _Token) -> Node:
        value = float(token.text)
        if value == float("inf"):
            self.refuse("the number is too large; at most 1.7976931348623157e308 is accepted", token)
        return self.counted(Number(value), token)

    def word(self, token: _Token) -> Node:
        """Return a variable, or a function with its arguments."""
        called = self.token.text == "("
        if token.text not in self.functions and not called:
            return self.counted(Variable(token.text), token)
        name = _cut(token.text)
        if not called:
            self.refuse(f"{name!r} is a function; write {name}(...)", token)
        percentile = _PERCENTILE.fullmatch(token.text) if QUANTILE in self.functions else None
        if percentile is None and token.text not in self.functions:
            self.refuse(
                f"{UnknownNameError('function', name, self.functions)}; for a product write {name}*(...)", token
            )
        rule, arguments = self.functions[QUANTILE if percentile else token.text], self.arguments()
        if percentile is not None:
            if len(arguments) != 1:
                self.refuse(f"{name} takes one argument, not {len(arguments)}", token)
            arguments.append(self.counted(Number(float(f"0.{percentile[1]}")), token))
        elif len(arguments) < len(rule.operands) or (rule.most is not None and len(arguments) > rule.most):
            self.refuse(f"{name} takes {rule.arity}, not {len(arguments)}", token)
        if rule.symbol in _ASSOCIATIVE:  # max(max(a, b), c) is max(a, b, c)
            parts = (a.operands if isinstance(a, Operation) and a.rule is rule else (a,) for a in arguments)
            arguments = [inner for part in parts for inner in part]
        return self.counted(Operation(rule, tuple(arguments)), token)

    def arguments(self) -> list[Node]:
        """Read what stands in the parentheses after the name of a function."""
        token, nodes = self.take(), []
        if self.token.text != ")":
            nodes.append(self.nested(OR, token))
            while self.token.text == ",":
                nodes.append(self.nested(OR, self.take()))
        self.close()
        return nodes

    def close(self) -> None:
        if self.token.text != ")":
            self.refuse_after_operand()
        self.take()

    def refuse_after_operand(self) -> NoReturn:
        """Say what is wrong with a token that cannot follow an operand."""
        token, before = self.token, self.tokens[self.at - 1]
        if token.kind == "end":
            self.refuse("')' is missing")
        if token.text == ")":
            self.refuse("')' closes nothing")
        if token.text == ",":
            self.refuse("',' may only separate the arguments of a function")
        if token.kind == "word" or token.text == "(":
            self.refuse(f"an operator is missing; for a product write {_cut(before.text)}*{_cut(token.text)}")
        self.refuse(f"an operator is missing before {_cut(token.text)!r}")


def _cut(text: str) -> str:
    return text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}..."


def excerpt(text: str, position: int) -> str:
    """Return the text around a place, quoted and escaped."""
    begin = max(0, min(position - _EXCERPT // 2, len(text) - _EXCERPT))
    end = begin + _EXCERPT
    return f"{'...' * (begin > 0)}{text[begin:end]!r}{'...' * (end < len(text))}"


def fail(text: str, position: int, problem: str) -> NoReturn:
    """Raise the error about a place in a text, counted from 0."""
    raise FormulaError(f"formula {excerpt(text, position)}: column {position + 1}: {problem}")
