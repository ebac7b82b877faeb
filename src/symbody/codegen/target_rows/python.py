"""The target "python": as a Kernel the interpreter of Programs, which judges others; as text a module over NumPy."""

from __future__ import annotations

from typing import Any

from symbody.codegen.kernel.grouped import GroupedKernel, compile_groups
from symbody.codegen.kernel.interpreted import InterpretedKernel
from symbody.codegen.target_row import Source, Target

TABLE = """def {p}_table(x, c, at):
    # the piece i with x[i] <= at < x[i+1]; the first and the last extend outward
    i = {m}.clip({m}.searchsorted({m}.asarray(x), at, side="right") - 1, 0, len(x) - 2)
    t = at - {m}.asarray(x)[i]
    value = {m}.asarray(c[-1])[i]
    for row in c[-2::-1]:
        value = value*t + {m}.asarray(row)[i]
    return value
"""
NEWTON = """def {p}_newton(body, guess, tolerance, limit, span):
    # Newton's iteration, for one state or many; the outcome is the number of evaluations, negative: failed
    x = tuple(guess)
    far = [span if span else 1e6*(1.0 + abs(a)) for a in x]
    status = 0
    for k in range(1, limit + 1):
        step, later = body(x)
        finite, small = True, True
        for s, a, f in zip(step, x, far):
            finite = finite & {m}.isfinite(s)
            small = small & (abs(s) <= tolerance*(1.0 + {m}.where(abs(a) < f, abs(a), f)))
        running = status == 0
        status = {m}.where(running & ~{m}.asarray(finite), -k, {m}.where(running & finite & small, k, status))
        running = status == 0
        if k == limit or not running.any():
            break
        x = tuple({m}.where(running, a + s, a) for a, s in zip(x, step))
    status = {m}.where(status == 0, -limit, status)
    return {p}_kept(status, x), status, later


def {p}_kept(status, x):
    return tuple({m}.where(status < 0, {m}.nan, a) for a in x)


def {p}_checked(status, holds, outcome):
    return {m}.where((status > 0) & {m}.logical_not(holds), outcome, status)
"""


def _emit(source: Source, *, certificate: str | None = None, project: bool = False) -> dict[str, str]:
    from symbody.codegen.target_rows.array_text import Flavour, emit_arrays

    flavour = Flavour(
        module="np",
        imports=("import math", "", "import numpy as np"),
        newton=NEWTON,
        table=TABLE,
        stack="_stacked({0})",
    )
    files = emit_arrays(source, flavour, certificate, project)
    name = next(iter(files))
    files[name] = files[name].replace("import numpy as np\n", f"import numpy as np\n{STACKED}", 1)
    return files


STACKED = """

def _stacked(values):
    # one array, components first; those that do not depend on the batch are repeated
    return np.array(np.broadcast_arrays(*values)) if values else np.zeros(0)

"""


def _build(source: Source, **options: Any) -> InterpretedKernel:
    return InterpretedKernel(source.program, **options)


def _build_groups(source: Source, **options: Any) -> GroupedKernel:
    assert source.groups is not None
    return compile_groups(source.program, source.groups, lambda p: InterpretedKernel(p, **options))


PYTHON = Target(
    name="python",
    about="a module over NumPy, for one state or a batch; as a Kernel the interpreter of Programs: floats, complex and "
    "exact numbers",
    emit=_emit,
    shown=".py",
    certificate=True,
    check=(("{python}", "test_{name}.py"),),
    build=_build,
    build_groups=_build_groups,
    bits=True,
)
