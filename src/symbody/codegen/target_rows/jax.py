"""The target "jax": a module of traceable functions, for jit, vmap and grad."""

from __future__ import annotations

from symbody.codegen.target_row import Source, Target, needs_module
from symbody.codegen.target_rows.array_text import Flavour, emit_arrays
from symbody.codegen.target_rows.python import TABLE

NEWTON = """def {p}_newton(body, guess, tolerance, limit, span):
    # Newton's iteration; the outcome is the number of evaluations, negative: failed
    start = jax.lax.stop_gradient(tuple({m}.asarray(a)*1.0 for a in guess))
    far = [span if span else 1e6*(1.0 + abs(a)) for a in start]

    def iterate(state):
        k, x, status = state
        step = jax.lax.stop_gradient(body(x)[0])
        finite, small = True, True
        for s, a, f in zip(step, x, far):
            finite = finite & {m}.isfinite(s)
            small = small & (abs(s) <= tolerance*(1.0 + {m}.where(abs(a) < f, abs(a), f)))
        status = {m}.where(~finite, -k, {m}.where(small, k, {m}.where(k == limit, -k, 0)))
        x = tuple({m}.where(status == 0, a + s, a) for a, s in zip(x, step))
        return k + 1, x, status

    one = {m}.asarray(1)
    _, x, status = jax.lax.while_loop(lambda state: state[2] == 0, iterate, (one, start, one*0))
    # a last step of no length: the solution depends on what the body reads as this step does, forward and backward
    step, _ = body(x)
    x = tuple(a + (s - jax.lax.stop_gradient(s)) for a, s in zip(x, step))
    _, later = body(x)
    return {p}_kept(status, x), status, later


def {p}_kept(status, x):
    return tuple({m}.where(status < 0, {m}.nan, a) for a in x)


def {p}_checked(status, holds, outcome):
    return {m}.where((status > 0) & ~holds, outcome, status)
"""
WIDE = """
if not jax.config.jax_enable_x64:
    raise ImportError("this module is in double precision: call jax.config.update('jax_enable_x64', True) first")
"""


def _emit(
    source: Source, *, precision: str = "double", certificate: str | None = None, project: bool = False
) -> dict[str, str]:
    single = precision == "single"
    kind = "float32" if single else "float64"
    flavour = Flavour(
        module="jnp",
        imports=("import math", "", "import jax", "import jax.numpy as jnp", *(() if single else (WIDE.rstrip(),))),
        newton=NEWTON,
        table=TABLE,
        stack=f"jnp.asarray({{0}}, dtype=jnp.{kind})",
        read=f"{{0}} = jnp.asarray({{0}}, dtype=jnp.{kind})",
        status="jnp.asarray([{0}], dtype=jnp.int32)",
    )
    setting = "" if single else 'import jax\n\njax.config.update("jax_enable_x64", True)'
    return emit_arrays(source, flavour, certificate, project, precision, setting)


JAX = Target(
    name="jax",
    about="a module of functions for JAX: jit, vmap, grad",
    emit=_emit,
    shown=".py",
    certificate=True,
    precisions=("double", "single"),
    lacks=needs_module("jax"),
    check=(("{python}", "test_{name}.py"),),
)
