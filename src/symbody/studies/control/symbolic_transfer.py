"""Transfer functions with symbols: coefficients as expressions of the parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import DefinitionError, ModelError
from symbody.studies.linear.linear_system import jacobian_matrices, names_of
from symbody.studies.linear.state_space import indices
from symbody.symbolic.expr.arrays import is_zero, matmul
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols
from symbody.symbolic.lower.optimize import optimize_system
from symbody.symbolic.system.system import System, node_array

LARGEST = 12  # states; the expressions grow quickly


@declared
def symbolic_transfer(system: System, input: Any = 0, output: Any = 0) -> System:
    """numerator (n + 1,) and denominator (n + 1,) of one channel, the highest power first, as a System of parameters.

    system   with states; or one with outputs A, B_ss, C, D, as `linearize(..., symbolic=True)` makes it. What the
             coefficients depend on besides parameters (the operating point of a nonlinear model) are its inputs.
    """
    if "B_ss" in system.outputs and "A" in system.outputs:
        matrices = {k: system.outputs[n] for k, n in zip("AB", ("A", "B_ss"))}
        graph = system.graph
        nu = matrices["B"].shape[1]
        matrices["C"] = system.outputs["C"]
        matrices["D"] = system.outputs.get("D", np.full((len(matrices["C"]), nu), graph.zero, dtype=object))
        names = {
            "inputs": tuple(f"u{k + 1}" for k in range(nu)),
            "outputs": tuple(f"y{k + 1}" for k in range(len(matrices["C"]))),
        }
    else:
        matrices, names = jacobian_matrices(system), names_of(system)
    i, o = indices(input, names["inputs"], "input"), indices(output, names["outputs"], "output")
    if len(i) != 1 or len(o) != 1:
        raise DefinitionError(f"a transfer function has one input and one output; {len(i)} and {len(o)} were chosen.")
    if len(matrices["A"]) > LARGEST:
        raise ModelError(
            f"a symbolic transfer function of {len(matrices['A'])} states was asked for; at most {LARGEST}. "
            "Take `transfer`, which computes with numbers."
        )
    above, below = leverrier(matrices["A"], matrices["B"][:, i[0]], matrices["C"][o[0]], matrices["D"][o[0], i[0]])
    outputs = {"numerator": node_array(above, system.graph), "denominator": node_array(below, system.graph)}
    used = set(free_symbols([*outputs["numerator"], *outputs["denominator"]]))
    inputs = {n: a for n, a in system.inputs.items() if any(s in used for s in a.flat)}
    made = system.replace(
        name=f"{system.name}_transfer",
        inputs=inputs,
        outputs=outputs,
        states={},
        guards={},
        resets={},
        residuals={},
        units={},
        origins=dict.fromkeys(outputs, "Faddeev-LeVerrier"),
    )
    return optimize_system(made, "standard")


def leverrier(A: np.ndarray, b: np.ndarray, c: np.ndarray, d: Any) -> tuple[list[Any], list[Any]]:
    """Coefficients of c adj(s - A) b + d det(s - A) and of det(s - A), the highest power first.

    R_1 = 1, a_k = -trace(A R_k) / k, R_(k+1) = A R_k + a_k (Faddeev-LeVerrier): divisions by whole numbers only.
    """
    n = len(A)
    graph = next((x.graph for x in A.flat if isinstance(x, Node)), None)
    if graph is None:
        raise DefinitionError("a symbolic transfer function needs nodes; take `transfer` for numbers.")
    zero, one = graph.zero, graph.one
    R = np.full((n, n), zero, dtype=object)
    for k in range(n):
        R[k, k] = one
    below, above = [one], [one * d]
    for k in range(1, n + 1):
        AR = node_array(matmul(A, R), graph).reshape(n, n)
        a = -sum((AR[j, j] for j in range(n)), zero) / k
        below.append(a)
        seen = sum((x * y for x, y in zip(c, matmul(R, b)) if not is_zero(x) and not is_zero(y)), zero)
        above.append(seen + d * a)
        R = AR.copy()
        for j in range(n):
            R[j, j] = R[j, j] + a
    return above, below
