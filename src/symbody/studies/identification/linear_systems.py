"""The regressor of any System whose outputs are linear in some of its parameters, by differentiation (symofros 3.10).

f(x; p) = Y(x) p + f0(x): Y is the derivative by p, f0 what is left at p = 0. That no p is left in Y is
checked, not assumed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import DefinitionError, NameLookupError, nearest
from symbody.mechanics.formalisms.numeric_relations import greedy_relations, rounded
from symbody.symbolic.expr.derivative import jacobian
from symbody.symbolic.expr.walk import free_symbols, substitute
from symbody.symbolic.system.system import System, node_array


@declared
def linear_regressor(system: System, output: str, parameters: Sequence[str]) -> System:
    """(inputs) -> Y (m, p), f0 (m,) with output = Y p + f0, p the entries of the named parameters one after the other.

    A parameter in which the output is not linear is refused by name. What else f depends on keeps its default and unit.
    """
    f = system.output(output)
    symbols = []
    for name in parameters:
        if name not in system.parameters:
            raise NameLookupError(f"{system.name} has no parameter {name!r}. {nearest(name, system.parameters)}")
        symbols += list(system.parameters[name].flat)
    y = jacobian(f.flat, symbols)
    left = free_symbols(list(y.flat))
    curved = [s.data.name for s in symbols if s in left]
    if curved:
        raise DefinitionError(
            f"{output!r} of {system.name} is not linear in {', '.join(curved)}: they are left in its derivative. "
            f"Give values "
            "for them, take products as parameters of their own, or use fit_system."
        )
    rest = np.array(substitute(list(f.flat), dict.fromkeys(symbols, 0)), dtype=object)
    names = {f"Y[:, {k}]": s.data.name for k, s in enumerate(symbols)}
    outputs = {"Y": node_array(list(y.flat), system.graph).reshape(y.shape), "f0": rest}
    read = set(free_symbols([*outputs["Y"].flat, *outputs["f0"].flat]))
    kept = {n: a for n, a in system.parameters.items() if not read.isdisjoint(a.flat)}
    arguments = [*system.inputs, *kept]
    return System(
        f"{system.name}_regressor", inputs=dict(system.inputs), parameters=kept, outputs=outputs, origins=names,
        units={n: u for n, u in system.units.items() if n in arguments},
        defaults={n: v for n, v in system.defaults.items() if n in kept},
    )  # fmt: skip


def independent_columns(
    system: System, tolerance: float = 1e-9, states: int = 64, seed: int = 0
) -> tuple[list[int], np.ndarray]:
    """(independent columns of a System's Y from left to right, (kept, p) matrix that groups the others with them).

    At random inputs in [-1, 1] and parameters at their defaults: identities such as sin^2 + cos^2 = 1 and constants are
    seen as what they are, and coefficients that are simple fractions are rounded to them.
    """
    rng = np.random.default_rng(seed)
    kernel = system.compile("python")
    given = {n: rng.uniform(-1, 1, (states, *a.shape)) for n, a in system.inputs.items()}
    found = kernel(**given)
    y = np.asarray(found.Y if len(system.outputs) > 1 else found)
    y = np.broadcast_to(y, (states, *system.outputs["Y"].shape)).reshape(-1, system.outputs["Y"].shape[1])
    relations, _ = greedy_relations(y, tolerance)
    gone = dict(relations)
    kept = [k for k in range(y.shape[1]) if k not in gone]
    matrix = np.zeros((len(kept), y.shape[1]))
    matrix[range(len(kept)), kept] = 1.0
    for d, weights in gone.items():
        for k, w in weights.items():
            matrix[kept.index(k), d] = float(rounded(w))
    return kept, matrix
