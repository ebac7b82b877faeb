"""The functions of expressions, one row each: `Function` in `symbolic/expr/function_row.py` says what the columns mean.

Rows stand in the order in which messages name them. Authors add theirs through `symbody.extend`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from symbody.basics.errors import ExpressionError
from symbody.symbolic.expr import array_functions as on
from symbody.symbolic.expr.arithmetic import power
from symbody.symbolic.expr.call import call, function_node
from symbody.symbolic.expr.coefficients import is_double, negate, reciprocal_of, scale, well_held
from symbody.symbolic.expr.function_row import (
    AND,
    ANY,
    ATOM,
    COMPARE,
    NOT,
    OR,
    POWER,
    PRODUCT,
    SIGN,
    SUM,
    Function,
    Instructions,
    Notation,
    is_truth,
    list_built_in,
)
from symbody.symbolic.expr.function_texts import HELPERS, TEXTS
from symbody.symbolic.expr.node import CONST, SCALE, Node
from symbody.symbolic.expr.quotients import with_divisions

HALF = Fraction(1, 2)
INFINITE = math.inf
TURN = math.pi / 2
ZEROS = (0,)


def _inverse_root(x: Node) -> Node:
    """1 / sqrt(x)."""
    return power(x, -HALF)


# -- construction: seen from the direct arguments alone


def _abs_rule(x: Node) -> Node | None:
    return x if x.op == "abs" else None


def _not_rule(x: Node) -> Node | None:
    return x.args[0] if x.op == "not" and is_truth(x.args[0].op) else None


def _sqrt_rule(x: Node) -> Node | None:
    return power(x, HALF)


def _pow_rule(a: Node, b: Node) -> Node | None:
    return power(a, b.data) if b.op is CONST else None


def _pow_partials(n: Node, x: Node, y: Node) -> tuple[Node, Node]:
    """y x^(y-1) and x^y log x. Both end as 0 times infinity: at x = y = 0, and where x^y is 0.

    The limit there is 0, written as what has the limits of the second derivatives, infinite ones included.
    """
    by_x, by_y = y * call("pow", x, y - 1), call("log", x) * n
    if x.op is CONST and x.data != 0:
        return by_x, by_y
    at_zero = call("and", call("eq", x, 0), call("eq", y, 0))
    vanished = call("and", call("eq", n, 0), call("le", 0, x))
    falling = call("and", call("lt", 0, y), call("le", y, 1))
    return (
        call("select", at_zero, power(y, HALF), by_x),
        call("select", vanished, call("select", falling, -power(x, HALF), 0), by_y),
    )


def _same_rule(a: Node, b: Node) -> Node | None:
    return a if a is b else None


def _lt_rule(a: Node, b: Node) -> Node | None:
    # x < x is false, also for NaN; x <= x and x == x are not true for NaN
    return a.graph.number(False) if a is b else None


def _select_rule(condition: Node, a: Node, b: Node) -> Node | None:
    if a is b:
        return a
    if condition.op is CONST:
        return a if condition.data else b
    if condition.op == "not":
        return function_node("select", (condition.args[0], b, a))
    return None


def _quotient_rule(a: Node, b: Node) -> Node | None:
    if a.op is SCALE and a.data < 0:
        return negate(call("quotient", negate(a), b))
    if b.op is SCALE and b.data < 0:
        return negate(call("quotient", a, negate(b)))
    if b.op is not CONST:
        return a.graph.one if a is b else a if a.op is CONST and a.data == 0 else None
    value = b.data
    if value < 0 and a.op is not CONST:
        return negate(call("quotient", a, -value))
    if a.op is not CONST and value and well_held(value) and is_double(reciprocal_of(value)):
        return scale(reciprocal_of(value), a)
    return None


def _stepping(row: Function, count: int) -> Function:
    """The row with a rule that keeps quotients in the first `count` arguments divisions, and its own rule after it."""
    rule = row.rule

    def divided(*args: Node) -> Node | None:
        new = (*(with_divisions(a) for a in args[:count]), *args[count:])
        if new != args:
            return call(row.name, *new)
        return None if rule is None else rule(*args)

    return replace(row, steps=count, rule=divided)


# -- numbers


def _fold_sign(x: Any) -> Any:
    return x if x != x else (x > 0) - (x < 0)


def _fold_quotient(a: Any, b: Any) -> Any:
    return a / b if isinstance(a, float) or isinstance(b, float) else Fraction(a) / b


def _fold_power(a: Any, b: Any) -> Any:
    if isinstance(a, float) or isinstance(b, float):
        return math.pow(a, b)
    b = Fraction(b)
    if b.denominator != 1:
        raise ExpressionError(f"The power {b} of an exact number is not rational; use float inputs.")
    return Fraction(a) ** b.numerator


# -- LLVM


def _extremum(comparison: str) -> Callable[[Instructions, str, str], str]:
    def write(ir: Instructions, a: str, b: str) -> str:
        # a where it wins or is NaN, else b: NaN on either side comes through
        wins = ir.line(f"fcmp {comparison} {ir.double} {a}, {b}")
        nan = ir.line(f"fcmp uno {ir.double} {a}, {a}")
        first = ir.line(f"or {ir.boolean} {wins}, {nan}")
        return ir.line(f"select {ir.boolean} {first}, {ir.double} {a}, {ir.double} {b}")

    return write


def _sign(ir: Instructions, a: str) -> str:
    below = ir.line(f"fcmp olt {ir.double} {a}, {ir.number(0.0)}")
    rest = ir.line(f"select {ir.boolean} {below}, {ir.double} {ir.number(-1.0)}, {ir.double} {a}")
    above = ir.line(f"fcmp ogt {ir.double} {a}, {ir.number(0.0)}")
    return ir.line(f"select {ir.boolean} {above}, {ir.double} {ir.number(1.0)}, {ir.double} {rest}")


def _mod(ir: Instructions, a: str, b: str) -> str:
    # the remainder takes the sign of the divisor, as in Python
    kind = ir.double
    r = ir.libm_call("fmod", a, b)
    below = ir.line(f"fcmp olt {kind} {b}, {ir.number(0.0)}")
    other = ir.line(f"xor {ir.boolean} {below}, {ir.line(f'fcmp olt {kind} {r}, {ir.number(0.0)}')}")
    shifted = ir.line(f"select {ir.boolean} {other}, {kind} {ir.line(f'fadd {kind} {r}, {b}')}, {kind} {r}")
    some = ir.line(f"fcmp une {kind} {r}, {ir.number(0.0)}")
    zero = ir.intrinsic("copysign", ir.number(0.0), b)
    return ir.line(f"select {ir.boolean} {some}, {kind} {shifted}, {kind} {zero}")


# -- rows


def _plain(
    name: str, about: str, floats: Callable[[float], float], arrays: Callable[..., Any], **more: Any
) -> Function:
    """A function of one argument that the C library, SymPy and CasADi have under the same name."""
    columns: dict[str, Any] = {"c": f"{name}({{0}})", "libm": name, "sympy": name, "casadi": name, **more}
    return Function(name=name, arity=1, about=about, floats=floats, arrays=arrays, **columns)


def _steps(name: str, about: str, arrays: Callable[..., Any], fold: Callable[..., Any], **more: Any) -> Function:
    """A function of one argument that is constant between its steps."""
    return Function(
        name=name,
        arity=1,
        about=about,
        arrays=arrays,
        fold=fold,
        rational=True,
        steps=1,
        partials=lambda n, x: ZEROS,
        **more,
    )


def _comparison(name: str, sign: str, latex: str, predicate: str, sympy: str, **more: Any) -> Function:
    return Function(
        name=name, arity=2, about=f"1 where a {sign} b, else 0.", rational=True, truth=True,
        partials=lambda n, a, b: (0, 0), c=f"(double)({{0}} {sign} {{1}})", llvm=predicate, sympy=sympy, casadi=name,
        text=Notation(COMPARE, ((0, SUM), f" {sign} ", (1, SUM))),
        latex=Notation(COMPARE, ((0, SUM), f" {latex} ", (1, SUM))), **more,
    )  # fmt: skip


def _logic(name: str, strength: int, sign: str, latex: str, **more: Any) -> Function:
    return Function(
        name=name, arity=2, about=f"1 where a is not 0 {name} b is not 0, else 0.", rational=True, truth=True,
        conditions=2, commutative=True, partials=lambda n, a, b: (0, 0), llvm=name, casadi=f"logic_{name}",
        sympy=name.capitalize(), c=f"(double)({{0}} != 0.0 {sign} {{1}} != 0.0)",
        text=Notation(strength, ((0, strength), f" {name} ", (1, strength + 1))),
        latex=Notation(strength, ((0, strength), f" {latex} ", (1, strength + 1))), **more,
    )  # fmt: skip


def _extreme(name: str, about: str, sign: str, comment: str = "", **more: Any) -> Function:
    return Function(
        name=name, arity=2, about=about, rational=True, commutative=True, rule=_same_rule, latex=rf"\{name}",
        c=f"{{p}}_{name}({{0}}, {{1}})", sympy=name.capitalize(), casadi=f"f{name}",
        c_helper=f"static double {{p}}_{name}(double a, double b){comment}\n"
        f"{{{{\n    return (a {sign} b || a != a) ? a : b;\n}}}}\n", **more,
    )  # fmt: skip


ROWS = [
    _plain("exp", "e^x.", math.exp, np.exp, exact_at={0: 1}, partials=lambda n, x: (n,), weight=3,
           decimal=lambda x: x.exp(), latex=Notation(POWER, ("e^{", (0, ANY), "}"))),
    _plain("log", "Natural logarithm.", math.log, np.log, exact_at={1: 0}, partials=lambda n, x: (1 / x,), weight=3,
           decimal=lambda x: x.ln(), domain=((0.0, INFINITE),), latex=r"\ln"),
    _plain("sin", "Sine of an angle in rad.", math.sin, np.sin, exact_at={0: 0}, parity="odd", trig=True, weight=25,
           bound=1, partials=lambda n, x: (call("cos", x),), latex=r"\sin"),
    _plain("cos", "Cosine of an angle in rad.", math.cos, np.cos, exact_at={0: 1}, parity="even", trig=True, weight=25,
           bound=1, partials=lambda n, x: (-call("sin", x),), latex=r"\cos"),
    _plain("tan", "Tangent of an angle in rad.", math.tan, np.tan, exact_at={0: 0}, parity="odd", trig=True, weight=3,
           partials=lambda n, x: (1 + n**2,), domain=((-TURN, TURN),), latex=r"\tan"),
    _plain("asin", "Angle of a sine, rad, in [-pi/2, pi/2].", math.asin, np.arcsin, exact_at={0: 0}, parity="odd",
           trig=True, partials=lambda n, x: (_inverse_root(1 - x**2),), domain=((-1.0, 1.0),), latex=r"\arcsin"),
    _plain("acos", "Angle of a cosine, rad, in [0, pi].", math.acos, np.arccos, exact_at={1: 0}, trig=True,
           partials=lambda n, x: (-_inverse_root(1 - x**2),), domain=((-1.0, 1.0),), latex=r"\arccos"),
    _plain("atan", "Angle of a tangent, rad, in (-pi/2, pi/2).", math.atan, np.arctan, exact_at={0: 0}, parity="odd",
           trig=True, partials=lambda n, x: (1 / (1 + x**2),), latex=r"\arctan"),
    _plain("sinh", "Hyperbolic sine.", math.sinh, np.sinh, exact_at={0: 0}, parity="odd",
           partials=lambda n, x: (call("cosh", x),), latex=r"\sinh"),
    _plain("cosh", "Hyperbolic cosine.", math.cosh, np.cosh, exact_at={0: 1}, parity="even",
           partials=lambda n, x: (call("sinh", x),), latex=r"\cosh"),
    _plain("tanh", "Hyperbolic tangent.", math.tanh, np.tanh, exact_at={0: 0}, parity="odd",
           partials=lambda n, x: (1 - n**2,), latex=r"\tanh"),
    _plain("asinh", "Inverse of sinh.", math.asinh, np.arcsinh, exact_at={0: 0}, parity="odd",
           partials=lambda n, x: (_inverse_root(1 + x**2),)),
    _plain("acosh", "Inverse of cosh, not negative.", math.acosh, np.arccosh, exact_at={1: 0},
           domain=((1.0, INFINITE),), partials=lambda n, x: (_inverse_root(x**2 - 1),)),
    _plain("atanh", "Inverse of tanh.", math.atanh, np.arctanh, exact_at={0: 0}, parity="odd", domain=((-1.0, 1.0),),
           partials=lambda n, x: (1 / (1 - x**2),)),
    _plain("abs", "Size of a number.", abs, on.absolute, parity="even", rational=True, rule=_abs_rule,
           partials=lambda n, x: (call("sign", x),), c="fabs({0})", libm="", llvm="fabs", sympy="Abs", casadi="fabs",
           latex=Notation(ATOM, (r"\left|", (0, ANY), r"\right|"))),
    _steps("sign", "-1, 0 or 1; NaN and zeros stay as they are.", on.sign, _fold_sign, parity="odd", llvm=_sign,
           decimal=lambda x: Decimal((x > 0) - (x < 0)), sympy="sign", casadi="sign", c="{p}_sign({0})",
           c_helper="static double {p}_sign(double a)\n{{\n"
                    "    return a > 0.0 ? 1.0 : (a < 0.0 ? -1.0 : a);\n}}\n"),
    _steps("floor", "Largest integer not above x.", on.floor, math.floor, decimal=lambda x: Decimal(math.floor(x)),
           c="floor({0})", llvm="floor", sympy="floor", casadi="floor",
           latex=Notation(ATOM, (r"\left\lfloor ", (0, ANY), r"\right\rfloor "))),
    _steps("ceil", "Smallest integer not below x.", on.ceil, math.ceil, decimal=lambda x: Decimal(math.ceil(x)),
           c="ceil({0})", llvm="ceil", sympy="ceiling", casadi="ceil",
           latex=Notation(ATOM, (r"\left\lceil ", (0, ANY), r"\right\rceil "))),
    _steps("not", "1 where a condition is 0, else 0.", lambda a: on.truth(a == 0.0), lambda a: not a, truth=True,
           conditions=1, rule=_not_rule, c="(double)({0} == 0.0)", llvm="not", sympy="Not", casadi="logic_not",
           text=Notation(NOT, ("not ", (0, NOT))), latex=Notation(NOT, (r"\lnot ", (0, SUM)))),
    Function(
        name="atan2", arity=2, about="Angle of the point (x, y), rad: atan2(y, x).", trig=True, libm="atan2",
        floats=math.atan2, arrays=on.atan2, c="atan2({0}, {1})", sympy="atan2", casadi="atan2",
        domain=((-INFINITE, INFINITE), (0.0, INFINITE)),
        partials=lambda n, y, x: (x / (x**2 + y**2), -y / (x**2 + y**2)),
    ),
    Function(
        name="pow", arity=2, about="x^y; a constant y makes a power node.", rule=_pow_rule, rational=True, weight=3,
        floats=math.pow, fold=_fold_power, arrays=np.power, decimal=lambda x, y: x**y, libm="pow",
        c="pow({0}, {1})", sympy="Pow", casadi="power", domain=((0.0, INFINITE), (-INFINITE, INFINITE)),
        partials=_pow_partials,
        text=Notation(POWER, ((0, ATOM), "**", (1, POWER))), latex=Notation(POWER, ((0, ATOM), "^{", (1, ANY), "}")),
    ),
    _extreme("min", "The smaller of two; NaN in either is the result.", "<",
             " /* NaN in either operand is the result */",
             arrays=on.minimum, fold=lambda a, b: a if a != a or a <= b else b, llvm=_extremum("olt"),
             tangent=lambda n, a, d: call("select", a[0] <= a[1], d[0], d[1])),
    _extreme("max", "The larger of two; NaN in either is the result.", ">",
             arrays=on.maximum, fold=lambda a, b: a if a != a or a >= b else b, llvm=_extremum("ogt"),
             tangent=lambda n, a, d: call("select", a[1] <= a[0], d[0], d[1])),
    Function(
        name="hypot", arity=2, about="sqrt(x^2 + y^2) without overflow.", commutative=True, fold=math.hypot,
        arrays=on.hypot, decimal=lambda x, y: (x * x + y * y).sqrt(), c="hypot({0}, {1})", libm="hypot",
        sympy=lambda sympy, a, b: sympy.sqrt(a**2 + b**2), casadi="hypot", partials=lambda n, x, y: (x / n, y / n),
    ),
    Function(
        name="mod", arity=2, about="Remainder of a / b with the sign of b.", rational=True, weight=6,
        floats=lambda a, b: a % b, arrays=on.mod, decimal=lambda x, y: x - y * Decimal(math.floor(x / y)),
        partials=lambda n, x, y: (1, -call("floor", x / y)), libm="fmod", llvm=_mod, sympy="Mod",
        casadi=lambda casadi, a, b: a - b * casadi.floor(a / b),  # fmod has the sign of the dividend
        domain=((-INFINITE, INFINITE), (0.0, INFINITE)),
        latex=Notation(PRODUCT, ((0, SIGN), r" \bmod ", (1, SIGN))), c="{p}_mod({0}, {1})",
        c_helper="static double {p}_mod(double a, double b) /* with the sign of b */\n{{\n"
        "    const double r = fmod(a, b);\n    if (r == 0.0)\n        return copysign(0.0, b);\n"
        "    return ((r < 0.0) != (b < 0.0)) ? r + b : r;\n}}\n",
    ),
    Function(
        name="quotient", arity=2, about="a / b, always divided: what a/b is below floor, sign and comparisons.",
        rule=_quotient_rule, operation="div", rational=True, floats=lambda a, b: a / b, fold=_fold_quotient,
        arrays=np.divide, decimal=lambda x, y: x / y, domain=((-INFINITE, INFINITE), (0.0, INFINITE)),
        partials=lambda n, a, b: (1 / b, -n / b), c="{0} / {1}",
        llvm=lambda ir, a, b: ir.line(f"fdiv {ir.double} {a}, {b}"),
        sympy=lambda sympy, a, b: a / b, casadi=lambda casadi, a, b: a / b,
        latex=Notation(PRODUCT, (r"\frac{", (0, ANY), "}{", (1, ANY), "}")),
    ),
    _comparison("lt", "<", "<", "olt", "StrictLessThan", rule=_lt_rule, fold=lambda a, b: a < b,
                arrays=lambda a, b: on.truth(on.real(a) < on.real(b))),
    _comparison("le", "<=", r"\le", "ole", "LessThan", fold=lambda a, b: a <= b,
                arrays=lambda a, b: on.truth(on.real(a) <= on.real(b))),
    _comparison("eq", "==", "=", "oeq", "Equality", fold=lambda a, b: a == b, commutative=True,
                arrays=lambda a, b: on.truth(on.real(a) == on.real(b))),
    _comparison("ne", "!=", r"\ne", "une", "Unequality", fold=lambda a, b: a != b, commutative=True,
                arrays=lambda a, b: on.truth(on.real(a) != on.real(b))),
    _logic("and", AND, "&&", r"\land", fold=lambda a, b: bool(a and b),
           arrays=lambda a, b: on.truth((a != 0.0) & (b != 0.0))),
    _logic("or", OR, "||", r"\lor", fold=lambda a, b: bool(a or b),
           arrays=lambda a, b: on.truth((a != 0.0) | (b != 0.0))),
    Function(
        name="select", arity=3, about="a where the condition is not 0, else b; both are computed.", conditions=1,
        rational=True, rule=_select_rule, fold=lambda c, a, b: a if c else b,
        arrays=lambda c, a, b: on.choose(c != 0.0, a, b), tangent=lambda n, a, d: call("select", a[0], d[1], d[2]),
        c="{0} != 0.0 ? {1} : {2}", llvm="select", casadi="if_else",
        sympy=lambda sympy, c, a, b: sympy.Piecewise((a, c), (b, True)),
        latex=Notation(ATOM, (r"\begin{cases} ", (1, ANY), r" & \text{if } ", (0, ANY), r" \\ ", (2, ANY),
                              r" & \text{otherwise} ", r"\end{cases}")),
    ),
    _plain("sqrt", "Square root.", math.sqrt, np.sqrt, rule=_sqrt_rule, as_power=True,
           domain=((0.0, INFINITE),), libm="", llvm="sqrt", latex=Notation(ATOM, (r"\sqrt{", (0, ANY), "}"))),
]  # fmt: skip

ROWS = [replace(row, texts=TEXTS.get(row.name, {}), helpers=HELPERS.get(row.name, {})) for row in ROWS]
STEPPING = {row.name: row.arity if row.truth or row.name == "mod" else row.steps or row.conditions for row in ROWS}
ROWS = [_stepping(row, STEPPING[row.name]) if STEPPING[row.name] else row for row in ROWS]
list_built_in(ROWS)
