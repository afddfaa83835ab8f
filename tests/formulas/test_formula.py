"""Formulas: Python's own parser says how they group, numpy what they give; as objects, and as functions by name."""

import ast
import re
import subprocess
import sys
import traceback

import numpy as np
import pandas as pd
import pytest
from formula_texts import EQUATION_3, FUNCTIONS, INFIX, LEAVES, POINTS, QUICK, TOKENS, TWO_ARGUMENTS
from hypothesis import given
from hypothesis import strategies as st

import perfcore
from perf_formulas import Formula
from perfcore.base.errors import DataError, PerfError, UnknownNameError
from perfcore.contracts import FormulaFunction, Function
from perfcore.hooks.registry import registry

OPERATORS = {
    ast.Add: ("+", np.add), ast.Sub: ("-", np.subtract), ast.Mult: ("*", np.multiply), ast.Div: ("/", np.divide),
    ast.Mod: ("%", np.mod), ast.Pow: ("^", np.power), ast.USub: ("-", np.negative), ast.UAdd: ("+", np.positive),
    ast.Not: ("not", np.logical_not), ast.And: ("and", np.logical_and), ast.Or: ("or", np.logical_or),
    ast.Lt: ("<", np.less), ast.LtE: ("<=", np.less_equal), ast.Gt: (">", np.greater),
    ast.GtE: (">=", np.greater_equal), ast.Eq: ("==", np.equal), ast.NotEq: ("!=", np.not_equal),
}  # fmt: skip


def values_of(text, points):
    """Values of a formula, by the class from which plugins make functions."""

    class Typed(FormulaFunction):
        name = formula = text
        variables = ()

    return Typed()(points)


class NotAFormulaError(Exception):
    """Python's tree holds what formulas do not have."""


def python_reading(tree):
    """What Python's syntax tree says: the text with all parentheses, and the value in float64."""
    match tree:
        case ast.Constant(int() | float() as value):
            return repr(value), np.float64(value)
        case ast.Name(name) if name not in FUNCTIONS:
            return name, POINTS[name]
        case ast.UnaryOp(operator, operand):
            return applied(operator, operand)
        case ast.BinOp(left, operator, right) | ast.Compare(left, [operator], [right]):
            return applied(operator, left, right)
        case ast.BoolOp(operator, [first, second]):
            return applied(operator, first, second)
        case ast.BoolOp(operator, [*several, last]):  # a or b or c is one node
            return applied(operator, ast.BoolOp(operator, several), last)
        case ast.Call(ast.Name(name), arguments, []) if name in FUNCTIONS:
            if len(arguments) == (2 if name in TWO_ARGUMENTS else 1):
                texts, values = zip(*map(python_reading, arguments), strict=True)
                return f"{name}({','.join(texts)})", FUNCTIONS[name](*values)
    raise NotAFormulaError


def applied(operator, *operands):
    symbol, function = OPERATORS[type(operator)]
    texts, values = zip(*map(python_reading, operands), strict=True)
    text = f"({texts[0]} {symbol} {texts[1]})" if len(texts) == 2 else f"({symbol} {texts[0]})"
    return text, 1.0 * function(*values)


def python_tree(tokens):
    """Python's syntax tree; NotAFormulaError for what Python refuses, or accepts where a formula must not."""
    source = " ".join("**" if token == "^" else token for token in tokens)
    bracketed = re.search(rf"\b({'|'.join(FUNCTIONS)}) (?!\()", source + " ")  # `(log)(p)` is a call to Python
    if bracketed or ", )" in source:
        raise NotAFormulaError
    try:
        return ast.parse(source, mode="eval").body
    except SyntaxError:
        raise NotAFormulaError from None


@QUICK
@given(tokens=TOKENS, data=st.data())
def test_groups_like_python_and_computes_like_numpy(tokens, data):
    if data.draw(st.booleans()):  # some damage, so that what Python refuses is refused
        at = data.draw(st.integers(0, len(tokens) - 1))
        tokens[at : at + data.draw(st.integers(0, 1))] = [data.draw(st.sampled_from([*INFIX, *LEAVES, *"(),"]))]
    text = " ".join(tokens)
    try:
        with np.errstate(all="ignore"):
            grouped, value = python_reading(python_tree(tokens))
    except NotAFormulaError:
        with pytest.raises(PerfError, match=r"^formula "):
            values_of(text, POINTS)
        return
    for same in (text, grouped):
        assert np.array_equal(values_of(same, POINTS), np.broadcast_to(value, 6), equal_nan=True)


@pytest.mark.parametrize(("text", "value"), [
    ("-2^2", -4), ("(-2)**2", 4), ("2^-1", 0.5), ("2^3^2", 512), ("8 - 3 - 2", 3), ("8/4/2", 1), ("2*-3", -6),
    ("1 - -1", 2), ("not 1 == 2", 1), ("not 0 and 0", 0), ("1 or 0 and 0", 1), ("(1 < 2) + (2 < 3)", 2),
    ("2 and 3", 1), ("9**9**9**9", np.inf), ("-1/0", -np.inf), ("log(1)", 0), ("log2(1024)", 10), ("log10(1000)", 3),
    ("cbrt(-27)", -3), ("max(2, -5)", 2), ("min(2, -5)", -5), ("floor(-1.5)", -2), ("ceil(-1.5)", -1),
    ("sqrt(abs(-16))", 4), ("exp(0)", 1), ("if(2 > 1, 5, 1/0)", 5), ("if(0, 5, 7)", 7), ("if(0/0, 5, 7)", 5),
    ("if(1 > 2 or 2 > 3, 1, if(not 0, 8, 9))", 8),
])  # fmt: skip
def test_values_known_from_mathematics(text, value):
    assert values_of(text, {}) == value


@pytest.mark.parametrize("text", ["0/0", "log(-1)", "sqrt(-4)", "(-8)^(1/3)", "max(x, 1)", "min(1, x)"])
def test_what_is_undefined_is_nan(text):
    assert np.isnan(values_of(text, {"x": np.nan}))


def test_shapes_are_broadcast_and_inputs_kept():
    row, column = np.arange(1, 4), np.array([[2], [4]], dtype=np.int32)
    assert values_of("n/p", {"n": row, "p": column}).tolist() == [[0.5, 1.0, 1.5], [0.25, 0.5, 0.75]]
    for text, shape in [("1", (2, 3)), ("n", (2, 3)), ("n < p", (2, 3))]:
        values = values_of(text, {"n": row, "p": column})
        assert (values.shape, values.dtype) == (shape, np.float64)
    point = values_of("2*p", {"p": 8})
    assert (type(point), point.shape, point.dtype) == (np.ndarray, (), np.float64)
    given_values = np.array([1.0, 2.0])
    values_of("p", {"p": given_values})[:] = 0.0
    assert given_values.tolist() == [1.0, 2.0]


def test_evaluation_says_what_is_missing():
    with pytest.raises(UnknownNameError, match="unknown variable of the formula 'procs': did you mean 'proc'"):
        values_of("1/procs", {"proc": [1, 2]})
    with pytest.raises(DataError, match=r"^formula 'n/p': the shapes of the values, \(2,\), \(3,\), do not broadcast$"):
        values_of("n/p", {"n": [1, 2], "p": [1, 2, 3]})


OPERAND = "where a number, a name, a function or '(' is expected"
ACCEPTED = "accepted are numbers, names, functions, + - * / % ^ ( ) < <= > >= == != and or not"
KNOWN = ", ".join([*sorted([*FUNCTIONS, "if"])[:5], f"... ({len(FUNCTIONS) + 1} in all)"])


@pytest.mark.parametrize(("text", "column", "problem"), [
    ("", 1, "there is no formula; an example is p^2*log2(p)"), ("p^(2/3", 6, "')' is missing"),
    ("max(p, 4", 8, "')' is missing"), ("p)", 2, "')' closes nothing"), ("p+", 2, f"the formula ends {OPERAND}"),
    ("p + * n", 5, f"'*' stands {OPERAND}"), ("()", 2, f"')' stands {OPERAND}"),
    ("and p", 1, f"'and' stands {OPERAND}"),
    ("2p", 2, "an operator is missing; for a product write 2*p"),
    ("log(2 p)", 7, "an operator is missing; for a product write 2*p"),
    ("2(p)", 2, "an operator is missing; for a product write 2*("),
    ("p 2", 3, "an operator is missing before '2'"), ("1.2.3", 4, "an operator is missing before '.3'"),
    ("p not n", 3, "an operator is missing before 'not'"), ("p + not n", 5, "'not' must stand in parentheses here"),
    ("a < b <= c", 7, "comparisons do not chain; join two with 'and', as in a < b and b < c"),
    ("1/p, p", 4, "',' may only separate the arguments of a function"),
    ("(p, n)", 3, "',' may only separate the arguments of a function"),
    ("1 + log", 5, "'log' is a function; write log(...)"), ("log(p, p)", 1, "log takes one argument, not 2"),
    ("2*max(p)", 3, "max takes two arguments or more, not 1"), ("exp()", 1, "exp takes one argument, not 0"),
    ("if(p, 1)", 1, "if takes three arguments, not 2"),
    ("lgo2(p)", 1,
        f"unknown function 'lgo2': did you mean 'log2'? Choose from {KNOWN}; for a product write lgo2*(...)"),
    ("1e400*p", 1, "the number is too large; at most 1.7976931348623157e308 is accepted"),
    ("p = 2", 3, "'=' has no meaning here; write '=='"), ("a && b", 3, "'&' has no meaning here; write 'and'"),
    ("p\u00b7n", 2, "'\u00b7' has no meaning here; write '*'"), ("p.real", 2, f"'.' has no meaning here; {ACCEPTED}"),
    ("p[0]", 2, f"'[' has no meaning here; {ACCEPTED}"),
])  # fmt: skip
def test_errors_say_where_and_what_to_do(text, column, problem):
    with pytest.raises(PerfError) as caught:
        values_of(text, {"p": 1.0})
    assert str(caught.value) == f"formula {text!r}: column {column}: {problem}"


def refusal(text):
    with pytest.raises(PerfError) as caught:
        values_of(text, {"p": 1.0})
    return str(caught.value)


@pytest.mark.parametrize("text", [
    "__import__('os')", "__import__(os)", "().__class__", "p.__class__.__base__", "lambda: 1", "lambda x: x", "f'{p}'",
    "'p'*9", "p if n else 1", "[p for p in n]", "{p: n}", "p; n", "p := 2", "p @ n", "p // n", "~p", "log(*p)",
    "log(x=p)", "eval(p)", "p\x00", "p\u2028+ 1", "p\x1b[2J", "\u202ep", "\ud800",
    "\u212f^p",  # script e, which Python's own names take for e
    "\u0440 + 1",  # a Cyrillic letter that looks like p
    "\u0663*p",  # an Arabic digit three, which float() takes
    "1_000", "0x10", "1j", "\xa0p", "(" * 10**6, "-" * 10**6, "9" * 10**6, "p" * 10**6, "\n" * 10**6 + "+",
])  # fmt: skip
def test_attacks_are_refused_in_one_short_printable_line(text):
    message = refusal(text)
    assert message.isprintable()
    assert len(message) < 400


def test_length_limit():
    assert values_of("p" * 1000, {"p" * 1000: 2.0}) == 2.0
    assert "has 1,001 characters; at most 1,000 are accepted" in refusal("p" * 1001)
    # 99 sums of 4 characters are short, but not as they are written out.
    assert "written out it has" in refusal("+".join(["1e15"] * 99))


@pytest.mark.parametrize(
    ("opening", "closing"), [("(", ")"), ("abs(", ")"), ("-", ""), ("+", ""), ("not ", ""), ("p^", "")]
)
def test_depth_limit(opening, closing):
    assert values_of(opening * 32 + "p" + closing * 32, {"p": 1.0}) in (1.0, -1.0)
    assert "more than 32 levels" in refusal(opening * 33 + "p" + closing * 33)


ANY_TEXT = st.text(st.characters(exclude_categories=()))
PIECES = [*INFIX, *LEAVES, *FUNCTIONS, *"(),. =!_e9\t\n", "not", "log(", "max(p,", "1e", "\x00", "\u00b2", "__class__"]
PIECED = st.lists(st.sampled_from(PIECES), max_size=80).map("".join)


@QUICK
@given(text=ANY_TEXT | PIECED)
def test_any_text_is_a_formula_or_an_error(text):
    """Its values come without a warning (warnings are errors), or one line."""
    message = "fine"
    try:
        assert values_of(text, POINTS).dtype == np.float64
    except PerfError as error:
        message = str(error)
    assert message.isprintable()


# Formulas as objects: their canonical text, and formulas in place of variables.
def formula_of(tokens):
    """The formula of tokens, or None."""
    try:
        return Formula(" ".join(tokens))
    except PerfError:
        return None


formulas = TOKENS.map(formula_of).filter(lambda formula: formula is not None)


@pytest.mark.parametrize(("text", "canonical"), [
    ("( (p) )**( (2/3) )*log2( p )", "p^(2/3)*log2(p)"), ("a+(b*c)-d", "a + b*c - d"), ("a-(b-c)", "a - (b - c)"),
    ("(a^b)^c", "(a^b)^c"), ("a^(b^c)", "a^b^c"), ("(-a)^2", "(-a)^2"), ("-(a^2)", "-a^2"), ("a^(-b)", "a^-b"),
    ("+a - +b", "a - b"), ("(a<=b)and(not(c or d))", "a <= b and not (c or d)"), ("(a<b)<(c<d)", "(a < b) < (c < d)"),
    ("(a or b)or(c or d)", "a or b or (c or d)"), ("(a and b)and(c and d)", "a and b and (c and d)"),
    ("max(a,b)", "max(a, b)"),
    ("2.0 + 0.50 + 1e3 + 1e-7 + 1E+30", "2 + 0.5 + 1000 + 1e-07 + 1e30"),
    ("\ta\n+\r\nb ", "a + b"),
])  # fmt: skip
def test_canonical_text(text, canonical):
    assert str(Formula(text)) == Formula(text).canonical == canonical


@QUICK
@given(formula=formulas)
def test_canonical_text_is_the_same_formula(formula):
    again = Formula(formula.canonical)
    assert again == formula
    assert hash(again) == hash(formula)
    assert again.canonical == again.text == formula.canonical
    assert again.names == formula.names
    assert np.array_equal(again(POINTS), formula(POINTS), equal_nan=True)


@QUICK
@given(formula=formulas)
def test_no_parenthesis_of_the_canonical_text_can_go(formula):
    text, opened = formula.canonical, []
    for at, character in enumerate(text):
        if character == "(":
            opened.append(at)
        elif character == ")":
            begin = opened.pop()
            without = f"{text[:begin]} {text[begin + 1 : at]} {text[at + 1 :]}"
            assert formula_of([without]) != formula


@QUICK
@given(outer=formulas, first=formulas, second=formulas)
def test_substitution_is_composition(outer, first, second):
    mapping = {"p": first, "n_2": second, "unused": first}
    try:
        found = outer.substituted(mapping)
    except PerfError:
        assert len(outer.names) > 0  # the result may pass a limit
        return
    inner = POINTS | {"p": first(POINTS), "n_2": second(POINTS)}
    assert np.array_equal(found(POINTS), outer(inner), equal_nan=True)
    assert Formula(found.canonical) == found


def test_substitution_keeps_groups_and_limits():
    assert Formula("exp(-t)").substituted({"t": Formula("(t - 5)/10")}).canonical == "exp(-((t - 5)/10))"
    assert Formula("p^2/p").substituted({"p": Formula("a*b")}).canonical == "(a*b)^2/(a*b)"
    assert Formula("p - n").substituted({"p": Formula("n"), "n": Formula("p")}).canonical == "n - p"
    long = Formula("+".join("p" * 100))
    with pytest.raises(PerfError, match="at most 1,000 are accepted"):
        long.substituted({"p": long})


def test_minimum_and_maximum_take_any_number_of_values():
    formula = Formula("max(p, 2*n, 3) - min(p, n, 3, n^2)")
    assert formula.evaluate({"p": [1.0, 9.0], "n": [0.5, 2.0]}).tolist() == [3.0 - 0.25, 9.0 - 2.0]
    assert Formula(str(formula)).canonical == formula.canonical
    assert formula.canonical == Formula("max(max(p, 2*n), 3) - min(min(min(p, n), 3), n^2)").canonical


@pytest.mark.parametrize("text", [
    "abs(1<1+1*" * 28 + "p" + ")" * 28, "abs(1+1*" * 32 + "p" + ")" * 32, "abs(" * 32 + "+".join("p" * 84) + ")" * 32,
])  # fmt: skip
def test_the_deepest_formulas_need_few_calls(text):
    """Parsing, writing, evaluating and substituting recurse less than 300 calls deep."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(traceback.extract_stack()) + 300)
    try:
        formula = Formula(text)
        formula.evaluate({"p": 1.0})
        with pytest.raises(PerfError):
            formula.substituted({"p": Formula("+".join("p" * 100))})
    finally:
        sys.setrecursionlimit(before)


def test_importing_it_does_not_import_numpy():
    code = "import sys, perf_formulas.formula as f; f.Formula('p^2').canonical; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


# Functions by name or formula: values against numpy, and what is refused.
OF_TIME = {"reciprocal": lambda t: 1 / (1 + t), "log": np.log1p, "exp": lambda t: np.exp(-t)}
PROCESSORS = np.array([1.0, 2.0, 3.0, 25.0, 1024.0, 1e6])
TIMES = np.array([0.0, 1e-3, 1.0, 7.0, 300.0])


@pytest.mark.parametrize("name", EQUATION_3)
def test_the_functions_of_equation_3(name):
    function = registry().load("functions", name)()
    np.testing.assert_allclose(function({"p": PROCESSORS}), EQUATION_3[name](PROCESSORS), rtol=1e-14)
    assert function.name == function.formula == name


@pytest.mark.parametrize("name", OF_TIME)
def test_the_functions_of_time(name):
    function = registry().load("functions", name)()
    # The sum 1 + t rounds to 2^-53 of its size.
    np.testing.assert_allclose(function({"t": TIMES}), OF_TIME[name](TIMES), rtol=1e-15, atol=2.0**-52)
    assert function.variables == ("t",)


def test_functions_are_of_processors_or_of_time():
    variables = {name: entry.load().variables for name, entry in registry().entries("functions").items()}
    assert all(issubclass(registry().load("functions", name), Function) for name in variables)
    assert variables == {
        **dict.fromkeys(EQUATION_3, ("p",)), "1": (), **dict.fromkeys(OF_TIME, ("t",)),
    }  # fmt: skip
    # A constant is no law of a number that was varied, nor is a function of another one.
    table = pd.DataFrame({"p": [1.0, 2, 4, 8, 16], "time_s": [16.1, 8.3, 4.2, 2.3, 1.4]})
    ranking = perfcore.rank(table, fitter="individual", terms=1)
    assert {name for candidate in ranking.candidates for name in candidate.functions} == set(EQUATION_3)


@pytest.mark.parametrize(("text", "values"), [
    ("p^(2/3)*log2(p)", lambda p, n: p ** (2 / 3) * np.log2(p)),
    (" 1 / p ", lambda p, n: 1 / p), ("n^3/p + sqrt(n)", lambda p, n: n**3 / p + np.sqrt(n)),
    ("max(p,4)", lambda p, n: np.maximum(p, 4)), ("2.5", lambda p, n: np.full_like(p, 2.5)),
])  # fmt: skip
def test_a_formula_is_a_function_of_a_model(text, values):
    """Times that are three times a formula are so elsewhere."""
    p, n = (each.ravel() for each in np.meshgrid([2.0, 3.0, 25.0, 1024.0], [64.0, 200.0, 408.0]))
    table = pd.DataFrame({"p": p, "n": n, "time_s": 3.0 * values(p, n)})
    parameter = "p,n" if "n" in text else "p"
    where = {} if "n" in text else {"where": "n=64"}
    model = perfcore.fit(table, fitter="individual", parameter=parameter, functions=text, **where)
    far = {"p": np.array([1.0, 7.0, 5000.0]), "n": np.array([10.0, 100.0, 1000.0])}
    points = {name: far[name] for name in model.columns}
    assert model.predict(points) == pytest.approx(3.0 * values(**far), rel=1e-12)
