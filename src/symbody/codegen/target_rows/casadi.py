"""The target "casadi": a module of functions of CasADi's symbols or numbers. Solve blocks are unrolled."""

from __future__ import annotations

from symbody.codegen.target_row import Source, Target, needs_module
from symbody.codegen.target_rows.array_text import Flavour, emit_arrays

TABLE = """def {p}_table(x, c, at):
    # the piece i with x[i] <= at < x[i+1]; the first and the last extend outward
    value = 0.0
    for i in range(len(x) - 1):
        t = at - x[i]
        piece = c[-1][i]
        for row in c[-2::-1]:
            piece = piece*t + row[i]
        value = piece if i == 0 else ca.if_else(at < x[i], value, piece)
    return value
"""
NEWTON = """def {p}_newton(body, guess, tolerance, limit, span):
    # Newton's iteration, unrolled; the outcome is the number of evaluations, negative: failed
    x = tuple(guess)
    far = [span if span else 1e6*(1.0 + ca.fabs(a)) for a in x]
    status = 0
    for k in range(1, limit + 1):
        step, later = body(x)
        finite, small = 1, 1
        for s, a, f in zip(step, x, far):
            finite = finite*(ca.fabs(s) <= 1.7976931348623157e308)
            small = small*(ca.fabs(s) <= tolerance*(1.0 + ca.fmin(ca.fabs(a), f)))
        now = ca.if_else(finite, ca.if_else(small, k, -k if k == limit else 0), -k)
        status = now if k == 1 else ca.if_else(status == 0, now, status)
        if k < limit:
            x = tuple(ca.if_else(status == 0, a + s, a) for a, s in zip(x, step))
    return {p}_kept(status, x), status, later


def {p}_kept(status, x):
    return tuple(ca.if_else(status < 0, math.nan, a) for a in x)


def {p}_checked(status, holds, outcome):
    return ca.if_else((status > 0)*(1 - holds), outcome, status)
"""


def _adapt(text: str) -> str:
    """Functions that have other names in CasADi, to which a != a is 0: it compares symbols before there are numbers."""
    text = text.replace("ca.where(", "ca.if_else(").replace("ca.abs(", "ca.fabs(")
    return text.replace("(a != a)", "(1.0 - (a <= math.inf))")


def _emit(source: Source, *, certificate: str | None = None, project: bool = False) -> dict[str, str]:
    flavour = Flavour(
        module="ca",
        imports=("import math", "", "import casadi as ca"),
        newton=NEWTON,
        table=TABLE,
        stack="ca.vertcat(*{0})",
        adapt=_adapt,
        failed="ca.if_else({0}, math.nan, {1})",
        status="ca.vertcat({0})",
        array="ca.DM({0})",
    )
    return emit_arrays(source, flavour, certificate, project, test="import casadi as ca")


CASADI = Target(
    name="casadi",
    about="a module of functions of CasADi's symbols (SX, MX) or numbers (DM)",
    emit=_emit,
    shown=".py",
    certificate=True,
    lacks=needs_module("casadi"),
    check=(("{python}", "test_{name}.py"),),
)
