"""Equality of formulas modulo a prime: what is equal is proved, what differs is named, what neither is said is said."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

import symbody as sb
from helpers.random_nodes import random_nodes  # type: ignore[import-not-found]
from symbody.basics.errors import ShapeError
from symbody.mechanics.proof.degree import Degrees
from symbody.mechanics.proof.field_tape import tape_of
from symbody.mechanics.proof.points import RandomPoint, Relations
from symbody.mechanics.proof.prime_field import (
    ORDER,
    P,
    circle,
    is_square,
    multiple,
    residue,
    root,
    rotation,
    turned,
    unit_quaternion,
)
from symbody.mechanics.proof.prove import Formulas, Proof, prove_equal
from symbody.mechanics.proof.tape_values import values_at
from symbody.symbolic.expr.arithmetic import add_all, multiply_all
from symbody.symbolic.expr.call import call
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols, rebuild, topological
from symbody.symbolic.system.system import System


def system_of(*nodes: Node) -> System:
    symbols = {s.data.name: s for s in free_symbols(nodes)}
    graph = nodes[0].graph
    for name in "abxyz":  # the same arguments on both sides, read or not
        symbols.setdefault(name, graph.symbol(name))
    given = {n: s for n, s in symbols.items() if s.data.role == "parameter"}
    inputs = {n: s for n, s in symbols.items() if n not in given}
    return System("f", inputs=inputs, parameters=given, outputs={"f": np.array(nodes, dtype=object)})


def compared(left: str, right: str, **details: object) -> Proof:
    """Two texts over the symbols a, b, x, y, z."""
    made = []
    for text in (left, right):
        with Graph(exact=True) as graph:
            names = {n: graph.symbol(n) for n in "abxyz"}
            made.append(system_of(sb.parse(text, names)))
    return prove_equal(*made, **details)  # type: ignore[arg-type]


EQUAL = [
    ("(x + y)^2", "x^2 + 2*x*y + y^2"),
    ("(x^2 - y^2)/(x - y)", "x + y"),
    ("1/(1/x + 1/y)", "x*y/(x + y)"),
    ("0.1*x*y", "x*y/10"),
    ("sin(x)^2 + cos(x)^2", "1"),
    ("sin(x + y)", "sin(x)*cos(y) + cos(x)*sin(y)"),
    ("cos(3*x)", "4*cos(x)^3 - 3*cos(x)"),
    ("sin(x)", "2*sin(x/2)*cos(x/2)"),
    ("sin(x/2)", "2*sin(x/4)*cos(x/4)"),
    ("cos(x/3)", "4*cos(x/9)^3 - 3*cos(x/9)"),
    ("sin(x + 0.3)", "sin(x + 0.1)*cos(0.2) + cos(x + 0.1)*sin(0.2)"),
    ("cos(0.35*x)", "cos(0.3*x)*cos(0.05*x) - sin(0.3*x)*sin(0.05*x)"),
    ("tan(x)*cos(x)", "sin(x)"),
    ("sin(a*x)^2 + cos(a*x)^2", "1"),
    ("sin(a*x - b*y)", "sin(a*x)*cos(b*y) - cos(a*x)*sin(b*y)"),
    ("exp(x*(y + z))", "exp(x*y + x*z)"),
    ("atan2(x*x - y*y, z)", "atan2((x - y)*(x + y), z)"),
    ("abs(x - y)", "abs(y - x)"),
    ("sign(x - y)", "-sign(y - x)"),
    ("atan(x - y)", "-atan(y - x)"),
    ("max(x, y)", "x + y - min(x, y)"),
    ("max(x + z, y + z)", "max(x, y) + z"),
    ("max(-x, -y)", "-min(x, y)"),
    ("select(x < y, a, b)", "select(y <= x, b, a)"),
    ("select(x - y < 0, a, b) + select(x < y, b, a)", "a + b"),
    ("sqrt(x)^3/x", "sqrt(x)"),
    ("sqrt(x^2*cos(y)^2 + x^2*sin(y)^2)", "abs(x)"),
    ("(sqrt(x + y)*a)*(sqrt(x + y)*b)", "(x + y)*a*b"),
    ("1/(sqrt(x) + sqrt(y))", "(sqrt(x) - sqrt(y))/(x - y)"),
    ("x^(2/3)*x^(1/3)", "x"),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right"), EQUAL)
def test_equal_formulas_are_proved(left, right):
    proof = compared(left, right)
    assert proof.proved, str(proof)
    assert proof.log2_chance < -40


DIFFERENT = [
    ("(x + y)^2", "x^2 + 2*x*y - y^2"),
    ("sin(x)", "cos(x)"),
    ("sin(x + y)", "sin(x)*cos(y) - cos(x)*sin(y)"),
    ("sin(x)", "2*sin(x/2)*cos(x/4)"),
    ("0.1*x", "0.1000000000001*x"),
    ("x/y", "y/x"),
    ("abs(x)", "x"),
    ("max(x, y)", "max(x, z)"),
    ("sqrt(x + y)*sqrt(x + y)*a", "(x - y)*a"),
    ("exp(x)", "exp(-x)"),
]


@pytest.mark.parametrize(("left", "right"), DIFFERENT)
def test_different_formulas_are_named(left, right):
    proof = compared(left, right)
    assert (proof.verdict, proof.entries) == ("different", ("f[0]",)), str(proof)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("abs(2*x)", "2*abs(x)"),
        ("sqrt(4*x)", "2*sqrt(x)"),
        ("exp(x + y)", "exp(x)*exp(y)"),
        ("atan(tan(x/10))", "x/10"),
        ("select(x < 1 + x, a, b)", "a"),
    ],
)
def test_properties_of_functions_that_the_field_does_not_know_are_said(left, right):
    """Equal in numbers, so not called different; not proved, so not called equal."""
    proof = compared(left, right)
    assert proof.verdict == "not provable", str(proof)
    assert "does not know" in proof.reason


@pytest.mark.parametrize("part", [Fraction(1, 10**15), Fraction(-1, 10**15), Fraction(1, 10**30)])
def test_a_coefficient_changed_by_one_part_in_1e15_is_caught(part):
    with Graph() as graph:
        x, y = graph.symbol("x"), graph.symbol("y")
        right = system_of(3 * x * y + x / 7)
        wrong = system_of(3 * (1 + part) * x * y + x / 7)
    assert prove_equal(right, wrong).verdict == "different"


def test_the_seed_draws_other_points_and_the_same_seed_the_same():
    relations = Relations()
    with Graph() as graph:
        tape = tape_of(system_of(graph.symbol("x") * call("sin", graph.symbol("y"))))
    one, same, other = (values_at(tape, RandomPoint(seed, relations)) for seed in (0, 0, 1))
    assert one == same != other


def test_a_quaternion_has_length_one_where_it_is_said_to():
    keys = tuple((n, 0) for n in "abxy")
    text = "a^2 + b^2 + x^2 + y^2"
    assert compared(text, "1", relations=Relations(quaternions=(keys,))).proved  # type: ignore[arg-type]
    assert compared(text, "1").verdict == "different"
    assert compared("sqrt(a^2 + b^2 + x^2 + y^2)", "1", relations=Relations(quaternions=(keys,))).proved  # type: ignore[arg-type]


def test_a_cosine_and_a_sine_that_are_parameters_lie_on_the_circle():
    pair = (("a", 0), ("b", 0))
    assert compared("(a*x + b*y)^2 + (a*y - b*x)^2", "x^2 + y^2", relations=Relations(circles=(pair,))).proved


def test_a_divisor_that_is_zero_everywhere_is_said():
    proof = compared("x/(sin(y)^2 + cos(y)^2 - cos(y - y)*1 + (z - a)*0 + (x + a)^2 - x^2 - 2*a*x - a^2)", "x")
    assert proof.verdict == "not provable"
    assert "divisor" in proof.reason


def test_systems_of_different_outputs_are_refused():
    with Graph() as graph:
        x = graph.symbol("x")
        with pytest.raises(ShapeError, match="expected equal ones"):
            prove_equal(system_of(x), system_of(x, x))


def test_angles_with_many_digits_take_more_points():
    """The finest part of the angle counts in the degree: 1.5707963267948966 is 10^16 parts of itself."""
    proof = compared("cos(x + 1.5707963267948966)", "cos(x)*cos(1.5707963267948966) - sin(x)*sin(1.5707963267948966)")
    assert proof.proved
    assert proof.points > 2
    assert proof.log2_chance < -40


def test_implicit_blocks_are_equal_where_residual_step_and_guess_are():
    def block(factor: int, guess: int) -> System:
        with Graph() as graph:
            p, g = graph.symbol("p", "parameter"), graph.symbol("g")
            u = graph.symbol("u")
            solved = sb.solve([(u**2 - p) * factor], [u], [g * guess]).x[0]
            return System("s", inputs={"g": g}, outputs={"x": p * solved + solved**2})

    assert prove_equal(block(1, 1), block(1, 1)).proved
    assert not prove_equal(block(1, 1), block(1, 2)).proved
    assert not prove_equal(block(1, 1), block(2, 1)).proved


# -- random formulas


def shuffled(node: Node, rng: random.Random) -> Node:
    """The same value by other nodes: terms and factors in another order, sums and products opened or nested."""
    graph = node.graph
    new: dict[Node, Node] = {}
    for n in topological([node]):
        args = [new[a] for a in n.args]
        if n.op == "add":
            rng.shuffle(args)
            new[n] = sum(args[1:], args[0]) if rng.random() < 0.5 else add_all(args, graph)
        elif n.op == "mul":
            rng.shuffle(args)
            z = graph.symbol("z")
            if rng.random() < 0.2 and args[0].op == "add":  # distributed
                new[n] = add_all([multiply_all([t, *args[1:]], graph) for t in args[0].args], graph)
            elif rng.random() < 0.3:
                new[n] = (args[0] + z) * multiply_all(args[1:], graph) - z * multiply_all(args[1:], graph)
            else:
                new[n] = multiply_all(args, graph, open_products=True)
        else:
            new[n] = rebuild(n, tuple(args)) if args else n
    return new[node]


FUNCTIONS = ("sin", "cos", "tan", "exp", "atan", "abs", "sign", "atan2", "min", "max", "hypot", "lt", "le", "select")


@pytest.mark.parametrize("seed", range(12))
def test_nothing_equal_is_called_different(seed):
    rng = random.Random(seed)
    with Graph() as graph:
        nodes = [n for n in random_nodes(seed, graph, 40, FUNCTIONS)[-24:] if n.op != "const"]
        for node in nodes:
            proof = prove_equal(system_of(node), system_of(shuffled(node, rng)))
            assert proof.verdict != "different", f"{node}\n{shuffled(node, rng)}\n{proof}"


@pytest.mark.parametrize("seed", range(12))
def test_equal_rational_and_trigonometric_formulas_are_proved(seed):
    rng = random.Random(seed)
    with Graph() as graph:
        pool = [graph.symbol(n) for n in "abxyz"]
        angles = [pool[0], pool[1] / 2, 3 * pool[2] - pool[0], pool[3] / 3 + pool[1]]
        for _ in range(30):
            u, v, w = rng.choice(pool), rng.choice(pool), rng.choice(angles)
            pool.append(rng.choice([u + v, u * v, u - 3 * v, call("sin", w) * v, call("cos", w), u / (v * v + 2)]))
        for node in pool[-10:]:
            other = shuffled(node, rng)
            assert prove_equal(system_of(node), system_of(other)).proved
            assert prove_equal(system_of(node), system_of(other + Fraction(1, 10**15) * pool[0])).verdict == "different"


# -- the field


def test_points_of_the_circle_form_a_group_of_order_two_to_the_61():
    a, b = circle(12345), circle(67890)
    assert (a[0] ** 2 + a[1] ** 2) % P == 1
    assert multiple(a, ORDER) == (1, 0)
    assert turned(multiple(a, 5), multiple(b, 1)) == turned(b, turned(multiple(a, 2), multiple(a, 3)))
    assert multiple(multiple(a, pow(7, -1, ORDER)), 7) == a


def test_every_element_or_its_negative_has_a_root():
    for x in (2, 3, 5, 7, 123456789):
        assert is_square(x) != is_square(-x)
        good = x if is_square(x) else -x % P
        assert root(good) ** 2 % P == good


def test_numbers_are_what_their_text_says():
    assert residue(0.1) * 10 % P == 1
    assert residue(-2.5e-3) * 400 % P == P - 1


def test_rotations_of_the_field_are_orthonormal():
    r = np.array(rotation(unit_quaternion((3, 5, 7))), dtype=object).reshape(3, 3)
    assert np.all((r @ r.T) % P == np.eye(3, dtype=int))


def test_degrees_bound_those_of_polynomials_and_quotients():
    """x^3 y over a variable that counts 2 has degree 8; what is divided by and multiplied again cancels."""
    with Graph() as graph:
        x, y = graph.symbol("x"), graph.symbol("y")
        power = Degrees(Formulas(system_of(x**3 * y)).tape, {})
        pivot = x * x + y
        quotient = Degrees(Formulas(system_of((x / pivot) * pivot + y / pivot)).tape, {})
    assert (power.numerator, power.denominator) == (8, 0)
    assert quotient.denominator == 4
    assert quotient.numerator <= 6


def test_external_functions_of_one_name_are_not_taken_for_one() -> None:
    x = Graph().symbol("x")
    one, two = (sb.External("curve", 1, function=lambda u, k=k: k * u) for k in (1, 2))
    f, g = (system_of(sb.extern(e, x) ** 2) for e in (one, two))
    assert prove_equal(f, system_of(sb.extern(one, x) * sb.extern(one, x))).proved
    assert prove_equal(f, g).verdict == "not provable"
    assert "'curve'" in prove_equal(f, g).reason
    both = system_of(sb.extern(one, x) - sb.extern(two, x))
    assert not prove_equal(both, system_of(0 * x)).proved
