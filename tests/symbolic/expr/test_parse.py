"""Reading text: what `to_text` writes comes back as the same node, and errors show the place."""

import math
import random
from fractions import Fraction

import pytest

from helpers.random_nodes import is_settled, random_nodes
from symbody.basics.errors import NameLookupError, ParseError
from symbody.symbolic.expr.call import call
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.expr.function_row import FUNCTIONS
from symbody.symbolic.expr.functions import select, sin, sqrt, table
from symbody.symbolic.expr.graph import Graph, symbols
from symbody.symbolic.expr.infix_text import to_text
from symbody.symbolic.expr.parse import parse


@pytest.fixture(autouse=True)
def graph():
    with Graph() as g:
        yield g


@pytest.mark.parametrize("seed", range(150))
def test_text_comes_back_as_the_same_node(graph, seed):
    read = 0
    for node in random_nodes(seed, graph):
        text = to_text(node, limit=5000)
        if is_settled(node) and not text.endswith("..."):
            assert parse(text) is node, text
            read += 1
    assert read > 20


def test_precedence_is_that_of_python(graph):
    rng = random.Random(5)
    names = ["a", "b", "c"]
    nodes = dict(zip(names, symbols("a b c")))
    checked = 0
    for _ in range(400):
        signs = [rng.choice("+-*/") for _ in range(rng.randint(1, 5))]
        signs[rng.randrange(len(signs))] = "**"
        text = "".join(f"{rng.choice(['', '', '-'])}{rng.choice(names)} {sign} " for sign in signs) + rng.choice(names)
        values = {n: Fraction(rng.randint(1, 3)) for n in names}
        try:
            expected = eval(text, {}, values)  # the oracle, on texts made here
        except ZeroDivisionError:
            continue
        got = evaluate(parse(text), {nodes[n]: float(v) for n, v in values.items()})
        assert got == pytest.approx(float(expected), rel=1e-9, abs=1e-9), text
        checked += 1
    assert checked > 300


def test_operators():
    x, y, z = symbols("x y z")
    assert parse("x + y*z") is x + y * z
    assert parse("x - y") is x - y
    assert parse("-x**2") is -(x**2)
    assert parse("x**-2") is x**-2
    assert parse("x^2") is x**2
    assert parse("2^3^2").data == 512
    assert parse("x/y/z") is parse("1/y*x/z")
    assert parse("(x/y)/z") is x / y / z
    assert parse("(x + y) + z") is x + y + z
    assert parse("x < y and not (z >= 1) or x == y") is (((x < y) & ~(z >= 1)) | call("eq", x, y))
    assert parse("x != y") is call("ne", x, y)
    assert parse("--x") is x
    assert parse("2*-x") is -2 * x


def test_numbers_are_exact_where_they_are_written_so():
    assert parse("1/3").data == Fraction(1, 3)
    assert parse("7").data.__class__ is int
    assert parse("7.").data.__class__ is float
    assert parse("1e-3").data == 1e-3
    assert parse("pi").data == math.pi
    assert parse("-0.0").data.hex() == "-0x0.0p+0"
    assert parse("True").data is True
    assert parse("0xff").data == 255


def test_integers_of_thousands_of_digits_come_back(graph):
    x = symbols("x")
    node = Fraction(3**20_000, 7) * x + 10**9_000
    assert parse(to_text(node)) is node


def test_functions():
    x, y = symbols("x y")
    assert parse("sqrt(x)") is sqrt(x)
    assert parse("select(x < y, x, sin(y))") is select(x < y, x, sin(y))
    for name, row in FUNCTIONS.items():
        if name not in ("not", "and", "or"):
            args = (x, y, x + y)[: row.arity]
            assert parse(f"{name}({', '.join(to_text(a) for a in args)})") is call(name, *args)
    t = table(x, [0, 1, 3], [0, 2, -1], "cubic")
    assert parse(to_text(t)) is t


def test_names_are_found_or_made(graph):
    q = graph.symbol("q1", "coordinate", unit="rad")
    assert parse("2*q1") is 2 * q
    assert parse("new", role="parameter").data.role == "parameter"
    assert parse("u + 1", names={"u": q}) is q + 1
    assert parse("k*u", names={"u": q, "k": 3}) is 3 * q
    assert parse("`q1`*`odd name`") is q * graph.symbol("odd name")


def test_two_symbols_of_one_name_must_be_told_apart(graph):
    a, b = graph.symbol("m", "parameter", scope="left"), graph.symbol("m", "parameter", scope="right")
    with pytest.raises(ParseError, match="2 symbols are called 'm'"):
        parse("2*m")
    assert parse("2*m", names={"m": b}) is 2 * b
    assert a is not b


def test_strict_names_propose_the_nearest():
    x = symbols("x")
    with pytest.raises(NameLookupError, match=r"'bet' is unknown\. Did you mean 'beta'"):
        parse("alpha*bet", {"alpha": x, "beta": x}, strict=True)


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("", "found the end of the text, expected a number", 0),
        ("x +", "found the end of the text, expected a number", 3),
        ("x * (y + )", r"found '\)', expected a number", 9),
        ("sin(x", "is not closed", 0),
        ("(x", "is not closed", 0),
        ("sn(x)", "unknown function 'sn'. Did you mean 'sin'", 0),
        ("sin(x, y)", "takes 1 argument", 0),
        ("min(x,)", "takes 2 argument", 0),
        ("x y", "found 'y', expected an operator or the end", 2),
        ("2x", "found 'x', expected an operator", 1),
        ("x = 3", "no meaning here. Write ==", 2),
        ("a < b < c", "cannot follow each other", 6),
        ("x)", "closes nothing", 1),
        ("1/0", "division of 1 by zero", 1),
        ("9**9**9", "too large", 1),
        ("1e999", "too large for a float", 0),
        ("9" * 5000, "too long", 0),
        ("a + not b", "must stand in parentheses", 4),
        ("[1]", r"found '\['", 0),
        ("sin([1])", r"found '\['", 4),
        ("piecewise(x, [1, 0], [1])", "increasing breakpoints", 0),
        ("piecewise(x)", "piecewise takes", 0),
        ("__import__('os')", "has no meaning", 11),
        ("x and", "found the end", 5),
        ("and x", "found 'and'", 0),
    ],
)
def test_errors_show_the_place(text, message, column):
    with pytest.raises(ParseError, match=message) as caught:
        parse(text)
    _, line, caret = str(caught.value).splitlines()
    prefix = "  line 1: "
    assert line.startswith(prefix)
    assert caret.index("^") == len(prefix) + column


def test_the_line_of_an_error_is_named():
    with pytest.raises(ParseError, match=r"line 2: \+ \* y"):
        parse("x\n+ * y")


def test_nesting_and_length_are_bounded_only_by_the_size_of_the_text():
    x = symbols("x")
    assert parse("(" * 100_000 + "x" + ")" * 100_000) is x
    assert parse("-" * 100_001 + "x") is -x
    node = x
    for _ in range(20_000):
        node = sin(node) + 1
    assert parse(to_text(node)) is node
    with pytest.raises(ParseError, match="at most 1000000"):
        parse("x" + " " * 1_000_000)


@pytest.mark.parametrize("text", ["x^" + "9" * 400, "(x^67108864)^268435456", "x^(2^53)", "x^(1/" + "9" * 30 + ")"])
def test_exponents_of_too_many_bits_are_refused(text):
    """Each bit is a multiplication."""
    with Graph(), pytest.raises(ParseError, match="bits; expected 53 at most, or a float"):
        parse(text)


@pytest.mark.parametrize("exponent", [9007199254740991, -9007199254740991, 9007199254740990, 1e16, 1e300, -1e300])
def test_powers_by_large_exponents_have_the_right_sign(exponent):
    with Graph() as graph:
        x = graph.symbol("x")
        near = 1 - 2.0**-53
        found = float(evaluate(parse(f"x^{exponent}"), {x: -near}))
        if abs(exponent) > 1e20:
            expected = 0.0 if exponent > 0 else math.inf
        else:
            expected = (-1) ** (exponent % 2) * math.exp(exponent * math.log(near))
        assert found == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("text", ["1e-400", "x + 2e-324", "0." + "0" * 330 + "1", "piecewise(x, [0, 1], [1e-400])"])
def test_numbers_too_small_for_floats_are_not_read_as_zero(text):
    with pytest.raises(ParseError, match="too small for a float"):
        parse(text)


def test_small_numbers_and_zeros_are_read():
    for text in ("4.9e-324", "2.2250738585072014e-308", "0e-999", "0.000", "0e5"):
        assert float(parse(text).data) == float(text)
    with pytest.raises(ParseError, match="too large"):
        parse("piecewise(x, [0, 1e400], [1])")
    assert parse("piecewise(x, [0, 0x10], [1])").data.x == (0.0, 16.0)


@pytest.mark.parametrize("text", ["x²", "2*x² + 1", "x½", "aⁿ", "sin(x)²"])
def test_raised_characters_are_no_names(text):
    with pytest.raises(ParseError, match="has no meaning here"):
        parse(text)


def test_names_of_other_scripts_are_read_and_written():
    for name in ("θ", "x₁", "é", "名", "q_ё"):
        assert parse(name) is symbols(name)
        assert parse(to_text(symbols(name))) is symbols(name)
    squared = symbols("x²")
    assert to_text(squared) == "`x²`"
    assert parse("`x²`") is squared
