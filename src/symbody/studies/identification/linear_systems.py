"""The regressor of any System whose outputs are linear in some of its parameters, by differentiation (symofros 3.10).

f(x; p) = Y(x) p + f0(x): Y is the derivative by p, f0 what is left at p = 0. That no p is left in Y is
checked, not assumed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import DefinitionError, NameLookupError, nearest
from symbody.symbolic.expr.derivative import jacobian
from symbody.symbolic.expr.walk import free_symbols, substitute
from symbody.symbolic.system.system import System, node_array


@declared
def linear_regressor(system: System, output: str, parameters: Sequence[str]) -> System:
    """(inputs) -> Y (m, p), f0 (m,) with output = Y p + f0, p the entries of the named parameters one after the other.

    A parameter in which the output is not linear is refused by name.
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
    return System(f"{system.name}_regressor", inputs=dict(system.inputs), outputs=outputs, origins=names)
